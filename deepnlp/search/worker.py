"""One process of a study: ``python -m deepnlp.search.worker``.

The first line of standard input is a JSON object: ``folder``, of the study; ``backend``. On
standard output it writes a line for each trial that has ended; an error begins with ERROR.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from deepnlp.errors import DeepNLPError, DivergedError
from deepnlp.reproduce.processes import FAILED, INTERRUPTED, read_job, told_to_stop
from deepnlp.search.declaration import Search
from deepnlp.search.study import Study, Taken
from deepnlp.search.trials import FINISHED, Trial, best_of, read_trial, read_trials
from deepnlp.training import train
from deepnlp.training.result import figure_text

ERROR = "deepnlp: error: "


def work(folder: Path, say: Callable[[str], None] = print) -> bool:
    """Run trials until all of the study have ended; false if this process was interrupted."""
    study = Study(folder)
    while not told_to_stop.is_set():
        with study.take() as taken:
            if taken is None:
                return True
            try:
                ended = run(study, taken)
            except (DeepNLPError, ValueError, TypeError, OSError) as error:
                said = " ".join(str(error).split()) or type(error).__name__
                raise DeepNLPError(f"{taken.run.path}: {said}") from error
            if ended is None:
                return False
            study.tell(ended)
        say(_line(study, ended))
    return False


def run(study: Study, taken: Taken) -> Trial | None:
    """Train a trial, or go on with it; None if it was interrupted."""
    search = study.search
    trial = read_trial(search, study.folder, taken.number)
    if trial is None:
        _train(search, taken)
        trial = read_trial(search, study.folder, taken.number)
    if trial is not None:  # else it was interrupted; what was killed may not have been reported
        taken.hook.report(taken.run.read_metrics())
    return trial


def _train(search: Search, taken: Taken) -> None:
    """Train a trial from its last checkpoint on; its result.json says how it ended."""
    resume = taken.run.config.exists()
    try:
        train(
            search.options(taken.values),
            taken.run.path,
            resume=resume,
            overwrite=not resume,
            progress=False,
            hooks=[taken.hook],
            test=False,  # of the split on which the best options are measured, later
        )
    except DivergedError:
        pass  # result.json says so
    except MemoryError as error:
        epochs = len(taken.run.read_metrics())
        taken.run.write_result({"status": "out of memory", "epochs": epochs, "error": str(error)})


def _line(study: Study, trial: Trial) -> str:
    """What is said of a trial that has ended."""
    search = study.search
    best = best_of(search, read_trials(search, study.folder))
    how = "" if trial.status == FINISHED else f"{trial.status} "
    epochs = f"{len(trial.curve)} epoch{'' if len(trial.curve) == 1 else 's'}"
    line = f"trial {trial.number}: {how}after {epochs}, {search.metric} {figure_text(trial.best)}"
    known = "" if best is None else f"; best: {figure_text(best.best)}, trial {best.number}"
    return f"{line} ({trial.said()}){known}; {study.ended()} of {search.trials} have ended"


def main() -> int:
    """Work as the parent says; gives the exit code."""
    job = read_job()
    from deepnlp import backend

    try:
        backend.use(job["backend"])
        return 0 if work(Path(job["folder"]), _say) else INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except (DeepNLPError, ValueError, TypeError, OSError) as error:
        _say(ERROR + (" ".join(str(error).split()) or type(error).__name__))
        return FAILED


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
