"""The trials of a search that have ended, read from their run folders or from their logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepnlp.errors import DeepNLPError
from deepnlp.studies.logs import FINISHED, Logs, Run
from deepnlp.studies.parameter import text
from deepnlp.studies.search import Search, trial_name
from deepnlp.training import TrainConfig


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


def read_trial(search: Search, folder: Path, number: int) -> Trial | None:
    """A trial, None where it has not ended; an error where it is not one of the search."""
    run = Logs(search, folder).read(trial_name(number))
    return None if run is None else trials_of(search, [run])[0]


def read_trials(search: Search, folder: Path) -> list[Trial]:
    """All trials that have ended, in their order; an error if their texts were not the same."""
    return trials_of(search, Logs(search, folder).read_all())


def trials_of(search: Search, runs: Sequence[Run]) -> list[Trial]:
    """Runs as trials of a search."""
    trials = []
    for run in runs:
        figures = [row.get(f"valid_{search.metric}") for row in run.history]
        curve = [float(figure) for figure in figures if isinstance(figure, int | float)]
        if len(curve) < len(figures):
            raise DeepNLPError(
                f"{run.folder.metrics} is damaged: an epoch has no valid_{search.metric}"
            )
        number, best = search.run_names.index(run.name), search.better(curve, default=None)
        trials.append(Trial(number, search.values(run.config), curve, best, run))
    return trials


def begun_trials(search: Search, folder: Path) -> list[tuple[int, dict[str, Any], int]]:
    """Number, values and finished epochs of the trials that have begun and not ended."""
    logs, begun = Logs(search, folder), []
    for number, name in enumerate(search.run_names):
        if logs.of(name).config.exists() and logs.read(name) is None:
            values = search.values(TrainConfig.load(logs.of(name).config))
            begun.append((number, values, len(logs.of(name).read_metrics())))
    return begun


def best_of(search: Search, trials: Sequence[Trial]) -> Trial | None:
    """The best of the trials that ran all their epochs; of two that are as good the first."""
    finished = [trial for trial in trials if trial.status == FINISHED]
    best: Trial | None = search.better(finished, key=lambda trial: trial.best or 0.0, default=None)
    return best
