"""A run of a model that is counted in one pass over its text: no updates, nothing to resume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any, Literal

from deepnlp.options import to_toml
from deepnlp.tasks import Task
from deepnlp.training.progress import Clock, Progress
from deepnlp.training.result import Result
from deepnlp.training.runfolder import RunFolder


@dataclass
class CountedRun:
    """What a ``Trainer`` is to other models, with the same files except for checkpoints.

    ``fit`` counts the training split and measures the model on the others. A run that was stopped
    is counted again from the beginning.
    """

    model: Any
    task: Task
    _: KW_ONLY
    config: Mapping[str, Any]
    out: RunFolder | str | PathLike[str] | Literal[False] | None = None
    name: str | None = None
    overwrite: bool = False
    progress: bool = True
    test: bool = True

    def fit(self, resume: bool = False) -> Result:
        """Count, measure and write ``config.toml``, ``metrics.jsonl`` and ``result.json``."""
        if self.out is False:
            return self._count(None)
        folder = RunFolder.of(self.out, self.name or self.task.name)
        with folder.held(resume=resume, overwrite=self.overwrite and not resume):
            return self._count(folder)

    def _count(self, folder: RunFolder | None) -> Result:
        clock, task = Clock(), self.task
        task.fit(self.model)
        figures = (task.final if self.test else task.on_validation)(self.model)
        valid = figures[task.metric]["valid"]
        with Progress(0, 0, self.progress) as progress:
            progress.line(f"{task.describe()}\ncounted: validation {task.metric} {valid:,.2f}")
        result = Result(
            status="finished",
            epochs=1,
            steps=0,
            best_epoch=1,
            figures=figures,
            parameters=self.model.size(),
            **clock.times(),
        )
        if folder is not None:
            folder.clear()  # of a run that is replaced, or counted again
            folder.write_config(to_toml(self.config))
            row = {"epoch": 1, "step": 0, f"valid_{task.metric}": valid, "best": True}
            folder.write_metrics([{**row, **clock.times()}])
        return result.keep(task, folder)
