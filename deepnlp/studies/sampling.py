"""Optuna: the folder of a search's study, which trials there are, and what is tried next.

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
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import left_by_writers, locked, replacing
from deepnlp.studies.journal import open_journal, require_optuna
from deepnlp.studies.logs import FINISHED
from deepnlp.studies.parameter import Parameter
from deepnlp.studies.search import Search, load_search, trial_name
from deepnlp.studies.trials import Trial
from deepnlp.training import Hook, RunFolder

DECLARED, JOURNAL, LOCK = "search.toml", "journal.log", "study.lock"
POLL = 0.2  # seconds between two looks whether a trial of another process is left
ATTEMPTS = 50  # draws until one is new
FEWEST = 5  # finished trials from which importance can be estimated


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


class SampledTrial(Hook):
    """A trial that this process runs: its values, and what Optuna is told of it and decides.

    As a hook of the trainer it reports the validation after each epoch, and ends the run if Optuna
    says so. What was reported before the run was killed is in the journal, the decision to end it
    too.
    """

    def __init__(self, study: SampledStudy, trial: Any) -> None:
        self.number, search = trial.number, study.search
        self.values = {parameter.name: trial.params[parameter.name] for parameter in search.space}
        self.run = RunFolder(study.folder / trial_name(trial.number))
        self._trial, self._figure = study.optuna_trial(trial), f"valid_{search.metric}"

    def report(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Report those epochs that were not."""
        known = self._trial.storage.get_trial(self._trial._trial_id).intermediate_values
        for row in history:
            if row["epoch"] - 1 not in known:
                self._trial.report(row[self._figure], row["epoch"] - 1)  # Optuna counts from 0

    def ends(self, history: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the pruner ends the run after the last epoch of the history."""
        self.report(history)
        if "pruned" not in self._trial.user_attrs and self._trial.should_prune():
            self._trial.set_user_attr("pruned", len(history))
        return "pruned" in self._trial.user_attrs


class SampledStudy:
    """A study as one of its processes sees it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.search = load_search(str(folder / DECLARED))
        self._optuna = require_optuna()
        with locked(folder / LOCK, math.inf):
            self._study = _optuna_study(
                self.search,
                self._optuna.samplers.RandomSampler(),  # values are drawn in _values
                storage=open_journal(folder / JOURNAL),
                study_name="search",
                pruner=_pruner(self.search),
                load_if_exists=True,
            )

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
    def take(self) -> Iterator[SampledTrial | None]:
        """A trial to run: one that was left, or a new one; None when all trials have ended.

        While others run the last trials it waits, since one of them may be left.
        """
        while True:
            with contextlib.ExitStack() as held:
                with locked(self.folder / LOCK, math.inf):
                    trial = self._next(held)
                if trial is not None or self.is_over():
                    yield None if trial is None else SampledTrial(self, trial)
                    return
            time.sleep(POLL)

    def tell(self, trial: Trial) -> None:
        """Write into the journal that a trial has ended."""
        states = self._optuna.trial.TrialState
        if trial.status == FINISHED:
            self._study.tell(trial.number, trial.best, states.COMPLETE)
        else:
            self._study.tell(trial.number, state=states.PRUNED)

    def optuna_trial(self, trial: Any) -> Any:
        """A trial of the journal as Optuna reports on it."""
        return self._optuna.Trial(self._study, trial._trial_id)

    def _next(self, held: contextlib.ExitStack) -> Any:
        """The first trial that has not ended and that nobody runs, with its lock.

        After all that were begun comes a new one, unless there are enough.
        """
        trials = self._trials()
        for number in range(min(len(trials) + 1, self.search.trials)):
            if number < len(trials) and trials[number].state.is_finished():
                continue
            path = self.folder / f"{trial_name(number)}.lock"
            if not held.enter_context(locked(path, patience=0)):
                continue
            if number == len(trials):
                self._add(number, trials)
            trial = self._trials()[number]
            if not trial.state.is_finished():  # nor just before the lock
                return trial
        return None

    def _add(self, number: int, trials: Sequence[Any]) -> None:
        """Write a new trial into the journal."""
        spaces = _spaces(self.search)
        values, state = self._values(number, trials, spaces), self._optuna.trial.TrialState.RUNNING
        self._study.add_trial(
            self._optuna.trial.create_trial(state=state, params=values, distributions=spaces)
        )

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
            study = _optuna_study(
                self.search, _sampler(self.search, int(seeds.generate_state(1)[0]))
            )
            study.add_trials([trial for trial in trials if trial.state.is_finished()])
            drawn = study.ask(dict(spaces)).params
            values = {p.name: p.tidy(drawn[p.name]) for p in self.search.space}
            if values not in tried:
                return values
        return next(point for point in self.search.points() if point not in tried)


def can_estimate_importance(search: Search, trials: Sequence[Trial]) -> bool:
    """Whether there are several parameters, and trials enough."""
    finished = [trial for trial in trials if trial.status == FINISHED]
    return len(search.space) > 1 and len(finished) >= FEWEST


def importances(search: Search, trials: Sequence[Trial]) -> dict[str, float]:
    """How much of the difference between trials each parameter makes, 1 together; {} if too few.

    Optuna estimates it (PED-ANOVA: Watanabe et al. 2023).
    """
    if not can_estimate_importance(search, trials):
        return {}
    optuna = require_optuna()
    study, spaces = _optuna_study(search, optuna.samplers.RandomSampler()), _spaces(search)
    for trial in trials:
        if trial.status == FINISHED:
            made = {"params": dict(trial.values), "distributions": spaces, "value": trial.best}
            study.add_trial(optuna.trial.create_trial(**made))
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    shares: dict[str, float] = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return shares


def _optuna_study(search: Search, sampler: Any, **options: Any) -> Any:
    direction = "maximize" if search.higher_is_better else "minimize"
    return require_optuna().create_study(direction=direction, sampler=sampler, **options)


def _spaces(search: Search) -> dict[str, Any]:
    """The values of each parameter as Optuna writes them."""
    return {parameter.name: _distribution(parameter) for parameter in search.space}


def _distribution(parameter: Parameter) -> Any:
    distributions, v = require_optuna().distributions, parameter
    if v.choices:
        return distributions.CategoricalDistribution(v.choices)
    if parameter.kind is int:
        return distributions.IntDistribution(v.low, v.high, log=v.log, step=v.step or 1)
    return distributions.FloatDistribution(v.low, v.high, log=v.log, step=v.step)


def _sampler(search: Search, seed: int) -> Any:
    """What draws the values of one trial."""
    samplers = require_optuna().samplers
    if search.sampler == "random":
        return samplers.RandomSampler(seed=seed)
    return samplers.TPESampler(seed=seed, n_startup_trials=search.startup_trials)


def _pruner(search: Search) -> Any:
    """What ends the trials that are not promising."""
    pruners, warmup = require_optuna().pruners, search.warmup_epochs
    if search.pruner == "median":
        return pruners.MedianPruner(n_startup_trials=search.startup_trials, n_warmup_steps=warmup)
    if search.pruner == "halving":
        return pruners.SuccessiveHalvingPruner(min_resource=max(1, warmup), reduction_factor=3)
    return pruners.NopPruner()
