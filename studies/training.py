"""One process of a study, which trains one run; a trial is judged after each epoch.

``running.run_worker`` begins it: ``python -m studies.training BACKEND FOLDER``. A line on
standard input stands for Ctrl-C. The process ends when its standard input does, so that it does not
outlive a parent that was killed.
"""

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepnlp import backend
from deepnlp.errors import DeepNLPError, DivergedError
from deepnlp.files.writing import locked
from deepnlp.training import Hook, RunFolder, TrainConfig, train
from deepnlp.training.result import FINISHED, OUT_OF_MEMORY
from studies.logs import ENDED, Logs, Run
from studies.search import DECLARED, Search, begun_search

HALVING = 3  # successive halving keeps one of so many trials
CODES = {"finished": 0, "pruned": 0, "interrupted": 130, "busy": 75}  # busy: in another process
FAILED = 2
PATIENCE = 1.0  # seconds to wait for a process that only tests the lock of a run


class Judge(Hook):
    """Ends a trial that is not worth its remaining epochs, compared with the other trials."""

    def __init__(self, search: Search, run: RunFolder) -> None:
        self.search, self.run = search, run

    def ends(self, history: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether the trial ends after the last epoch of the history."""
        search, logs = self.search, Logs(self.search, self.run.path.parent)
        others = [run for run in logs.all_begun() if run.name != self.run.path.name]
        return is_pruned(search, Run(self.run, search.config, history, {}).curve, others)


def is_pruned(search: Search, curve: Sequence[float], others: Sequence[Run]) -> bool:
    """Return whether a trial with these validations is not worth its remaining epochs.

    ``others`` are the other trials that have begun.
    """
    last = len(curve) - 1
    if last < search.warmup_epochs:
        return False
    if search.pruner == "median":
        others = [other for other in others if other.status == FINISHED]
    then = [other.curve[last] for other in others if len(other.curve) > last]
    if search.pruner == "median":
        if not then or len(others) < search.startup_trials:
            return False
        figure, bound = search.better(curve), float(np.median(then))
    else:
        rung = max(1, search.warmup_epochs)
        while rung < last:
            rung *= HALVING
        if rung != last:
            return False
        ranked = sorted([*then, curve[last]], reverse=search.better is max)
        figure, bound = curve[last], ranked[max(len(ranked) // HALVING, 1) - 1]
    return search.better(figure, bound) != figure


def train_run(folder: str) -> str:
    """Train a run of a study, from its last checkpoint on: its status, or ``"busy"``."""
    run, options = RunFolder(folder), dict[str, Any]()
    is_trial = (run.path.parent / DECLARED).exists()
    with locked(run.path.with_name(f"{run.path.name}.lock"), PATIENCE) as held:
        if not held:
            return "busy"
        if (run.read_result() or {}).get("status") in ENDED:
            return FINISHED
        if is_trial:  # the test split is kept for the best options
            search = begun_search(run.path.parent)
            hooks = [] if search.pruner == "none" else [Judge(search, run)]
            options = {"progress": False, "test": False, "hooks": hooks}
        try:
            return train(TrainConfig.load(run.config), run, resume=True, **options).status
        except DivergedError as error:  # also a result
            print(f"{folder}: {error}", file=sys.stderr)
        except MemoryError as error:
            if not is_trial:
                raise
            epochs = len(run.read_metrics())
            run.write_result({"status": OUT_OF_MEMORY, "epochs": epochs, "error": str(error)})
    return FINISHED


def main(backend_name: str, folder: str) -> int:
    """Train a run as the parent says; gives the exit code."""
    # only the training itself has to be ended in order
    signal.signal(signal.SIGINT, lambda *_: os._exit(CODES["interrupted"]))
    threading.Thread(target=_listen, daemon=True).start()
    try:
        backend.use(backend_name)
        return CODES[train_run(folder)]
    except KeyboardInterrupt:
        return CODES["interrupted"]
    except (DeepNLPError, ValueError, TypeError, OSError, MemoryError) as error:
        message = " ".join(str(error).split()) or type(error).__name__
        print(f"deepnlp: error: {folder}: {message}", file=sys.stderr)
        return FAILED


def _listen() -> None:
    """Interrupt this process for each line of standard input, and end it with the parent."""
    while os.read(0, 4096):
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(FAILED)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
