"""The hook that writes the report of a run while it trains."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from deepnlp.backend import xp
from deepnlp.evaluation import evaluating
from deepnlp.training import Hook, RunFolder

SHARE = 0.1  # of the time between two pages that one of them may take
SHORT = 20.0  # seconds: a run that is over sooner has no page unless one is asked for


class Reporter(Hook):
    """Keep norms of gradients by layer and samples in ``steps.jsonl``, and write the page.

    The page is written at the end of an epoch where that takes less than a tenth of the time since
    the last one.

    Parameters
    ----------
    trainer : Trainer
    every : int, optional
        Updates between two samples; by default one is made with each page.
    """

    def __init__(self, trainer: Any, every: int | None = None) -> None:
        self.trainer, self.every = trainer, every
        self.rows: list[dict[str, Any]] = []
        self.begun = self.written = time.monotonic()
        self.cost = SHARE * SHORT

    def after_backward(self, model: Any, step: int) -> None:
        """Record norms, at each of the first updates and then more and more seldom, and samples."""
        row: dict[str, Any] = {}
        if step % (1 << max(0, step.bit_length() - 7)) == 0:  # 64 times while step doubles
            row["norms"] = norms_by_layer(model)
        if self.every and step % self.every == 0:
            row["sample"] = self._sample()
        self.rows += [{"step": step, **row}] if row else []

    def _sample(self) -> str:
        with evaluating(self.trainer.model) as model:
            return self.trainer.task.sample(model) or ""

    def save(self, folder: RunFolder) -> None:
        """Write ``steps.jsonl``."""
        folder.write_steps(self.rows)

    def go_on(self, folder: RunFolder, step: int) -> None:
        """Read it, up to the update that the run continues from."""
        self.rows = [row for row in folder.read_steps() if row["step"] < step]

    def draw(self, folder: RunFolder) -> None:
        """Write the page, if it is time, with a sample."""
        if self.cost <= SHARE * (time.monotonic() - self.written):
            if not self.every:
                self.rows.append({"step": self.trainer.state.step, "sample": self._sample()})
                self.save(folder)
            self._write(folder, sentences=1)

    def end(self) -> Path | None:
        """Write the page of a run that has ended, unless it was short, and say where it is."""
        folder = self.trainer.folder
        if folder is None or not (folder.report.exists() or time.monotonic() - self.begun > SHORT):
            return None
        with suppress(ImportError, ValueError):  # matplotlib refuses its settings
            self._write(folder)
        return folder.report if folder.report.exists() else None

    def _write(self, folder: RunFolder, **how: Any) -> None:
        from deepnlp.reports.run import write_report  # matplotlib takes a second to import

        begin, trainer = time.monotonic(), self.trainer
        write_report(folder, trainer.model, trainer.task, trainer.baselines, **how)
        self.written = time.monotonic()
        self.cost = self.written - begin


def norms_by_layer(model: Any) -> dict[str, float]:
    """The norm of the gradient of each layer of a model, by the beginning of its path."""
    squares: dict[str, float] = {}
    for name, parameter in model.named_parameters():
        layer = ".".join(name.split(".")[:-1][:2]) or name
        square = float(xp.sum(xp.square(parameter.grad.astype("float64"))))
        squares[layer] = squares.get(layer, 0.0) + square
    return {layer: square**0.5 for layer, square in squares.items()}
