"""The folder of a study: which trials there are, who runs them, and what is tried next.

============================  ==========================================================
``search.toml``               the search, with all options
``journal.log``               Optuna's journal of the trials
``trial-000/``, ...           the run folder of each trial
``*.lock``                    locks of the journal, of the study and of each trial
============================  ==========================================================

A trial is created whole, with its values, while the lock of the study is held, so that there are
never more trials than were asked for. Whoever runs a trial holds its lock. The system frees a lock
when its process ends, so a trial that has not ended and whose lock is free was left by a process
that is no more, and the next one who looks takes it up.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import left_by_writers, locked, replacing
from deepnlp.search.declaration import Search, load_search
from deepnlp.search.journal import open_journal, require_optuna
from deepnlp.search.parameter import Parameter
from deepnlp.search.reporting import Reporting
from deepnlp.search.trials import FINISHED, Trial, folder_of
from deepnlp.training import RunFolder

DECLARED, JOURNAL, LOCK = "search.toml", "journal.log", "study.lock"
POLL = 0.2  # seconds between two looks whether a trial of another process is left
ATTEMPTS = 50  # draws until one is new


def begin_study(folder: Path, search: Search) -> None:
    """Write down the search in a new folder, or check that it is that of the folder.

    The number of trials may have grown.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file: name a folder for the study")
    declared = folder / DECLARED
    begun = {folder / LOCK, *left_by_writers(declared)}  # what others may have written of a study
    if not declared.exists() and folder.exists() and {*folder.iterdir()} - begun:
        raise DeepNLPError(
            f"{folder} holds no study: it has no {DECLARED}; name a new or an empty folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / LOCK, math.inf):
        if declared.exists():
            then = load_search(str(declared))
            changes = search.differences(then)
            if changes:
                raise DeepNLPError(
                    f"{folder} holds a study with other options ({'; '.join(changes)}): bring back "
                    "its options, or name another folder"
                )
            if search.trials == then.trials:
                return
        with replacing(declared) as file:
            file.write(search.to_toml().encode("utf-8"))


@dataclass(frozen=True)
class Taken:
    """A trial that this process runs."""

    number: int
    values: Mapping[str, Any]
    run: RunFolder
    hook: Reporting


class Study:
    """A study as one of its processes sees it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.search = load_search(str(folder / DECLARED))
        self._optuna = require_optuna()
        with locked(folder / LOCK, math.inf):
            self._study = self._optuna.create_study(
                storage=open_journal(folder / JOURNAL),
                study_name="search",
                direction=self._direction,
                sampler=self._optuna.samplers.RandomSampler(),  # values are drawn in _values
                pruner=pruner_of(self.search),
                load_if_exists=True,
            )

    @property
    def _direction(self) -> str:
        return "maximize" if self.search.higher_is_better else "minimize"

    def _trials(self) -> list[Any]:
        """All trials, as the journal has them now."""
        trials: list[Any] = self._study.get_trials(deepcopy=False)
        return trials

    def ended(self) -> int:
        """How many trials have ended."""
        return sum(trial.state.is_finished() for trial in self._trials())

    def is_over(self) -> bool:
        """Whether all trials have ended."""
        return self.ended() >= self.search.trials

    @contextlib.contextmanager
    def take(self) -> Iterator[Taken | None]:
        """A trial to run: one that was left, or a new one; None when all trials have ended.

        While others run the last trials it waits, since one of them may be left.
        """
        while True:
            with contextlib.ExitStack() as held:
                with locked(self.folder / LOCK, math.inf):
                    found = self._left(held) or self._new(held)
                if found is not None or self.is_over():
                    yield None if found is None else self._taken(found)
                    return
            time.sleep(POLL)

    def tell(self, trial: Trial) -> None:
        """Write into the journal that a trial has ended."""
        states = self._optuna.trial.TrialState
        if trial.status == FINISHED:
            self._study.tell(trial.number, trial.best, states.COMPLETE)
        else:
            self._study.tell(trial.number, state=states.PRUNED)

    def _left(self, held: contextlib.ExitStack) -> Any:
        """A trial that nobody runs and that has not ended, with its lock."""
        for trial in self._trials():
            if trial.state.is_finished() or not self._lock(trial.number, held):
                continue
            if not self._trials()[trial.number].state.is_finished():  # nor just before the lock
                return trial
        return None

    def _new(self, held: contextlib.ExitStack) -> Any:
        """A new trial with its lock, unless there are enough."""
        trials = self._trials()
        number = len(trials)
        if number >= self.search.trials or not self._lock(number, held):
            return None
        spaces = spaces_of(self.search)
        running = self._optuna.trial.TrialState.RUNNING
        values = self._values(number, trials, spaces)
        self._study.add_trial(
            self._optuna.trial.create_trial(state=running, params=values, distributions=spaces)
        )
        return self._trials()[number]

    def _lock(self, number: int, held: contextlib.ExitStack) -> bool:
        path = folder_of(self.folder, number).path
        return held.enter_context(locked(path.with_suffix(".lock"), patience=0))

    def _values(
        self, number: int, trials: Sequence[Any], spaces: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The values of a new trial: a function of its number and of the trials that have ended.

        The journal is not written meanwhile, so that a trial is there with all its values or not
        at all. Values that were tried are drawn again, with another seed; where the sampler gives
        no others, the first point of the space that was not tried is taken.
        """
        if self.search.sampler == "grid":
            return next(itertools.islice(self.search.points(), number, None))
        tried = [trial.params for trial in trials]
        for attempt in range(ATTEMPTS):
            seeds = np.random.SeedSequence((self.search.sampler_seed, number, attempt))
            study = self._optuna.create_study(
                direction=self._direction,
                sampler=sampler_of(self.search, int(seeds.generate_state(1)[0])),
            )
            study.add_trials([trial for trial in trials if trial.state.is_finished()])
            drawn = study.ask(dict(spaces)).params
            values = {one.name: one.tidy(drawn[one.name]) for one in self.search.space}
            if values not in tried:
                return values
        return next(point for point in self.search.points() if point not in tried)

    def _taken(self, trial: Any) -> Taken:
        own = self._optuna.Trial(self._study, trial._trial_id)
        values = {one.name: trial.params[one.name] for one in self.search.space}
        run = folder_of(self.folder, trial.number)
        return Taken(trial.number, values, run, Reporting(own, f"valid_{self.search.metric}"))


def spaces_of(search: Search) -> dict[str, Any]:
    """The values of each parameter as Optuna writes them."""
    return {one.name: _distribution(one) for one in search.space}


def _distribution(one: Parameter) -> Any:
    distributions, v = require_optuna().distributions, one.values
    if v.choices:
        return distributions.CategoricalDistribution(v.choices)
    if one.kind is int:
        return distributions.IntDistribution(v.low, v.high, log=v.log, step=v.step or 1)
    return distributions.FloatDistribution(v.low, v.high, log=v.log, step=v.step)


def sampler_of(search: Search, seed: int) -> Any:
    """What draws the values of one trial."""
    samplers = require_optuna().samplers
    if search.sampler == "random":
        return samplers.RandomSampler(seed=seed)
    return samplers.TPESampler(seed=seed, n_startup_trials=search.startup_trials)


def pruner_of(search: Search) -> Any:
    """What ends the trials that are not promising."""
    pruners, warmup = require_optuna().pruners, search.warmup_epochs
    if search.pruner == "median":
        return pruners.MedianPruner(n_startup_trials=search.startup_trials, n_warmup_steps=warmup)
    if search.pruner == "halving":
        return pruners.SuccessiveHalvingPruner(min_resource=max(1, warmup), reduction_factor=3)
    return pruners.NopPruner()
