"""The trials of a search that have ended, read from their run folders or from their logs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepnlp.errors import DeepNLPError
from deepnlp.reproduce.logs import copy_logs, differences, whole_result
from deepnlp.search.declaration import Search
from deepnlp.search.parameter import text
from deepnlp.training import RunFolder, TrainConfig

FINISHED, PRUNED = "finished", "pruned"
FAILED = ("diverged", "out of memory")
ENDED = (FINISHED, PRUNED, *FAILED)


@dataclass(frozen=True)
class Trial:
    """A trial that has ended: its values, and the validation figure after each epoch."""

    number: int
    values: Mapping[str, Any]
    curve: Sequence[float]
    best: float | None
    result: Mapping[str, Any]

    @property
    def status(self) -> str:
        """One of :data:`ENDED`."""
        return str(self.result["status"])

    @property
    def best_epoch(self) -> int | None:
        """The epoch of the best validation."""
        return None if self.best is None else 1 + self.curve.index(self.best)

    def said(self) -> str:
        """The values in words."""
        return ", ".join(f"{name} {text(value)}" for name, value in self.values.items())


def folder_of(folder: Path, number: int) -> RunFolder:
    """The run folder of a trial, in that of its study or of its logs."""
    return RunFolder(folder / f"trial-{number:03d}")


def read_trial(search: Search, folder: Path, number: int) -> Trial | None:
    """A trial, None where it has not ended; an error where it is not one of the search."""
    run = folder_of(folder, number)
    if (run.read_result() or {}).get("status") not in ENDED:
        return None
    result = whole_result(run, ENDED)
    config = TrainConfig.load(run.config)
    changes = changed_options(search, config)
    if changes:
        raise DeepNLPError(
            f"{run.path} was run with other options than the search states ({'; '.join(changes)}): "
            "bring back its options, or take the trials of another study"
        )
    said = [row.get(f"valid_{search.metric}") for row in run.read_metrics()]
    curve = [float(value) for value in said if isinstance(value, int | float)]
    if len(curve) < len(said):
        raise DeepNLPError(f"{run.metrics} is damaged: an epoch has no valid_{search.metric}")
    better = max if search.higher_is_better else min
    return Trial(number, search.values(config), curve, better(curve, default=None), result)


def read_trials(search: Search, folder: Path) -> list[Trial]:
    """All trials that have ended, in their order; an error if their texts were not the same."""
    found = (read_trial(search, folder, number) for number in range(search.trials))
    trials = [trial for trial in found if trial is not None]
    corpora = [(trial, trial.result["corpus"]) for trial in trials if "corpus" in trial.result]
    for trial, corpus in corpora:
        first, expected = corpora[0]
        # the vocabulary may be what is searched, and then the fingerprint differs with it
        if _kind(corpus) == _kind(expected) and corpus["fingerprint"] != expected["fingerprint"]:
            raise DeepNLPError(
                f"trials {first.number} and {trial.number} in {folder} were run on different texts "
                f"of the name {corpus['name']}: begin another study"
            )
    return trials


def begun(search: Search, folder: Path) -> list[tuple[int, dict[str, Any], int]]:
    """Number, values and finished epochs of the trials that have begun and not ended."""
    found = []
    for number in range(search.trials):
        run = folder_of(folder, number)
        if run.config.exists() and read_trial(search, folder, number) is None:
            values = search.values(TrainConfig.load(run.config))
            found.append((number, values, len(run.read_metrics())))
    return found


def best_of(search: Search, trials: Sequence[Trial]) -> Trial | None:
    """The best of the trials that ran all their epochs; of two that are as good the first."""
    finished = [trial for trial in trials if trial.status == FINISHED]
    better = max if search.higher_is_better else min
    return better(finished, key=lambda trial: trial.best or 0.0, default=None)


def changed_options(search: Search, config: TrainConfig) -> list[str]:
    """The options of a trial that are not those of the search, each as a text."""
    changes = differences(config, search.config.task, search.fixed())
    if config.task != search.config.task:
        return changes
    for one in search.space:
        changes += [
            f"{name} was {config[name]!r}, is one of {one.said()}"
            for name in one.options
            if not one.contains(config[name]) or config[name] != config[one.options[0]]
        ]
    return changes


def take(search: Search, study: Path, results: Path) -> list[int]:
    """Copy the logs of the ended trials of a study to ``RESULTS/search-NAME``; their numbers."""
    trials = read_trials(search, study)
    if not trials:
        raise FileNotFoundError(
            f"{study} holds no ended trial of search {search.name}: expected folders such as "
            f"{folder_of(study, 0).path.name}"
        )
    for trial in trials:
        copy_logs(folder_of(study, trial.number), folder_of(logs_of(search, results), trial.number))
    return [trial.number for trial in trials]


def logs_of(search: Search, results: Path) -> Path:
    """The folder of the logs of a search."""
    return results / f"search-{search.name}"


def _kind(corpus: Mapping[str, Any]) -> str:
    return json.dumps([corpus["name"], corpus.get("vocabulary")])
