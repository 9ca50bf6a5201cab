"""What a worker does: it trains a run of a table, or trials of a search until all have ended."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from deepnlp.errors import DeepNLPError, DivergedError
from deepnlp.files.writing import locked
from deepnlp.studies.logs import FINISHED, OUT_OF_MEMORY
from deepnlp.studies.sampling import SampledStudy, SampledTrial
from deepnlp.studies.trials import Trial, best_of, read_trial, read_trials
from deepnlp.training import Result, RunFolder, TrainConfig, train
from deepnlp.training.result import figure_text


def train_run(config: TrainConfig, folder: Path, **options: Any) -> Result:
    """Train a run, from its last checkpoint on where it was begun."""
    resume = RunFolder(folder).config.exists()
    return train(config, folder, resume=resume, overwrite=not resume, **options)


def run_row(config: Mapping[str, Any], folder: Path, patience: float) -> str:
    """Train a run of a table: ``"finished"``, ``"interrupted"``, or ``"busy"`` elsewhere."""
    with locked(folder.with_name(f"{folder.name}.lock"), patience) as held:
        if not held:
            return "busy"
        try:
            return train_run(TrainConfig(**config), folder).status
        except DivergedError as error:  # also a result
            print(f"{folder}: {error}", file=sys.stderr)
            return FINISHED


def run_trials(folder: Path, stopping: Callable[[], bool], report: Callable[[str], None]) -> str:
    """Run trials until all of the study have ended: ``"finished"``, or ``"interrupted"``."""
    study = SampledStudy(folder)
    while not stopping():
        with study.take() as taken:
            if taken is None:
                return FINISHED
            try:
                ended = run_trial(study, taken)
            except (DeepNLPError, ValueError, TypeError, OSError) as error:
                message = " ".join(str(error).split()) or type(error).__name__
                raise DeepNLPError(f"{taken.run.path}: {message}") from error
            if ended is None:
                break
            study.tell(ended)
        report(_line(study, ended))
    return "interrupted"


def run_trial(study: SampledStudy, taken: SampledTrial) -> Trial | None:
    """Train a trial from its last checkpoint on; None if it was interrupted."""
    search, run = study.search, taken.run
    if read_trial(search, study.folder, taken.number) is None:
        try:  # without the test split, on which the best options are measured later
            options: dict[str, Any] = {"progress": False, "hooks": [taken], "test": False}
            train_run(search.options(taken.values), run.path, **options)
        except DivergedError:
            pass  # result.json says so
        except MemoryError as error:
            epochs = len(run.read_metrics())
            run.write_result({"status": OUT_OF_MEMORY, "epochs": epochs, "error": str(error)})
    trial = read_trial(search, study.folder, taken.number)
    if trial is not None:  # else it was interrupted; what was killed may not have been reported
        taken.report(trial.run.history)
    return trial


def _line(study: SampledStudy, trial: Trial) -> str:
    """What is reported of a trial that has ended."""
    search = study.search
    best = best_of(search, read_trials(search, study.folder))
    how = "" if trial.status == FINISHED else f"{trial.status} "
    epochs = f"{len(trial.curve)} epoch{'' if len(trial.curve) == 1 else 's'}"
    line = f"trial {trial.number}: {how}after {epochs}, {search.metric} {figure_text(trial.best)}"
    known = "" if best is None else f"; best: {figure_text(best.best)}, trial {best.number}"
    return f"{line} ({trial.describe()}){known}; {study.ended()} of {search.trials} have ended"
