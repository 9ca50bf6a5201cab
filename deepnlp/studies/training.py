"""What a worker does: it trains one run of a study; a trial is judged after each epoch."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deepnlp.errors import DivergedError
from deepnlp.files.writing import locked
from deepnlp.studies.logs import ENDED, FINISHED, OUT_OF_MEMORY, status_of
from deepnlp.studies.search import Search, begun_search
from deepnlp.studies.trials import is_pruned, validations
from deepnlp.training import Hook, RunFolder, TrainConfig, train

PATIENCE = 1.0  # seconds to wait for who looks whether the lock of a run is free


class Judge(Hook):
    """Ends a trial that is not worth its remaining epochs, compared with the other trials."""

    def __init__(self, search: Search, run: Path) -> None:
        self.search, self.run = search, run

    def ends(self, history: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the trial ends after the last epoch of the history."""
        search, others = self.search, []
        for name in search.run_names:
            other = RunFolder(self.run.with_name(name))
            if other.path != self.run:
                others.append((status_of(other), validations(search, other.read_metrics())))
        return is_pruned(search, validations(search, history), others)


def train_run(config: Mapping[str, Any], folder: str, search: str = "") -> str:
    """Train a run, from its last checkpoint on where it was begun: its status, or ``"busy"``.

    ``search`` is the folder of a search, of which the run is a trial.
    """
    run, options = RunFolder(folder), dict[str, Any]()
    with locked(run.path.with_name(f"{run.path.name}.lock"), PATIENCE) as held:
        if not held:
            return "busy"
        if status_of(run) in ENDED:
            return FINISHED
        if search:  # without the test split, on which the best options are measured later
            hooks = [Judge(begun_search(Path(search)), run.path)]
            options = {"progress": False, "test": False, "hooks": hooks}
        resume = run.config.exists()
        try:
            result = train(
                TrainConfig(**config), run, resume=resume, overwrite=not resume, **options
            )
        except DivergedError as error:  # also a result
            print(f"{folder}: {error}", file=sys.stderr)
        except MemoryError as error:
            if not search:
                raise
            epochs = len(run.read_metrics())
            run.write_result({"status": OUT_OF_MEMORY, "epochs": epochs, "error": str(error)})
        else:
            return result.status
    return FINISHED
