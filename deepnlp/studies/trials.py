"""The trials of a search that have ended, read from their run folders or from their logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.errors import DeepNLPError
from deepnlp.studies.logs import FINISHED, Logs, Run
from deepnlp.studies.parameter import text
from deepnlp.studies.search import Search

HALVING = 3  # of so many trials successive halving lets one go on
Begun = tuple[str | None, Sequence[float]]  # status and validations of a trial


@dataclass(frozen=True)
class Trial:
    """A trial that has ended: its values, and the validation figure after each epoch."""

    number: int
    values: Mapping[str, Any]
    curve: Sequence[float]
    best: float | None
    run: Run

    @property
    def status(self) -> str:
        """How it ended."""
        return str(self.run.result["status"])

    @property
    def best_epoch(self) -> int | None:
        """The epoch of the best validation."""
        return None if self.best is None else 1 + self.curve.index(self.best)

    def describe(self) -> str:
        """The values in words."""
        return ", ".join(f"{name} {text(value)}" for name, value in self.values.items())


def read_trials(search: Search, folder: Path) -> list[Trial]:
    """All trials that have ended, in their order; an error if their texts were not the same."""
    return trials_of(search, Logs(search, folder).read_all())


def trials_of(search: Search, runs: Sequence[Run]) -> list[Trial]:
    """Runs as trials of a search."""
    trials = []
    for run in runs:
        curve = validations(search, run.history)
        if len(curve) < len(run.history):
            raise DeepNLPError(
                f"{run.folder.metrics} is damaged: an epoch has no valid_{search.metric}"
            )
        number, best = search.run_names.index(run.name), search.better(curve, default=None)
        trials.append(Trial(number, search.values(run.config), curve, best, run))
    return trials


def validations(search: Search, history: Sequence[Mapping[str, Any]]) -> list[float]:
    """The validation figure of each epoch that has one."""
    figures = [row.get(f"valid_{search.metric}") for row in history]
    return [float(figure) for figure in figures if isinstance(figure, int | float)]


def best_of(search: Search, trials: Sequence[Trial]) -> Trial | None:
    """The best of the trials that ran all their epochs; of two that are as good the first."""
    finished = [trial for trial in trials if trial.status == FINISHED]
    best: Trial | None = search.better(finished, key=lambda trial: trial.best or 0.0, default=None)
    return best


def is_pruned(search: Search, curve: Sequence[float], others: Sequence[Begun]) -> bool:
    """Whether a trial with these validations so far is not worth its remaining epochs.

    ``others`` are the other trials that have begun: status and validations of each.
    """
    last = len(curve) - 1
    if search.pruner == "none" or last < search.warmup_epochs:
        return False
    if search.pruner == "median":
        finished = [other for status, other in others if status == FINISHED]
        there = [other[last] for other in finished if len(other) > last]
        if not there or len(finished) < search.startup_trials:
            return False
        best, bound = search.better(curve), float(np.median(there))
    else:
        rung = max(1, search.warmup_epochs)
        while rung < last:
            rung *= HALVING
        there = [other[last] for _, other in others if len(other) > last]
        ranked = sorted([*there, curve[last]], reverse=search.higher_is_better)
        best, bound = curve[last], ranked[max(len(ranked) // HALVING, 1) - 1]
        if rung != last:
            return False
    return search.better(best, bound) != best
