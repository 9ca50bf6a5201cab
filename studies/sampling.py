"""Which values a new trial of a search tries, and how much each parameter matters: by Optuna.

Optuna's study is made anew in memory from the trials that have ended, so there is no other record
of a search than the folders of its runs.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepnlp.errors import required
from deepnlp.training.result import FINISHED
from studies.logs import Run
from studies.search import Search

ATTEMPTS = 50  # draws until one is new
FEWEST = 5  # finished trials from which importance can be estimated


def require_optuna() -> Any:
    """The module, told to be quiet; an error that says how to install it where it is missing."""
    optuna = required("optuna", "a search needs Optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def draw_values(
    search: Search, number: int, ended: Sequence[Run], tried: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The values of a new trial: a function of its number and of the trials that have ended.

    Values that were tried are drawn again, with another seed; where the sampler gives no others,
    the first point of the space that was not tried is taken.
    """
    if search.sampler == "grid":
        return next(itertools.islice(search.points(), number, None))
    for attempt in range(ATTEMPTS):
        seeds = np.random.SeedSequence((search.sampler_seed, number, attempt))
        study = _optuna_study(search, ended, int(seeds.generate_state(1)[0]))
        drawn = study.ask(_distributions(search)).params
        values = {p.name: p.tidy(drawn[p.name]) for p in search.space}
        if values not in tried:
            return values
    return next(point for point in search.points() if point not in tried)


def can_estimate_importance(search: Search, trials: Sequence[Run]) -> bool:
    """Return whether there are several parameters, and trials enough."""
    finished = [trial for trial in trials if trial.status == FINISHED]
    return len(search.space) > 1 and len(finished) >= FEWEST


def importances(search: Search, trials: Sequence[Run]) -> dict[str, float]:
    """How much of the difference between trials each parameter makes, 1 together; {} if too few.

    Optuna estimates it (PED-ANOVA: Watanabe et al. 2023).
    """
    if not can_estimate_importance(search, trials):
        return {}
    importance = require_optuna().importance
    study, evaluator = _optuna_study(search, trials), importance.PedAnovaImportanceEvaluator()
    shares: dict[str, float] = importance.get_param_importances(study, evaluator=evaluator)
    return shares


def _optuna_study(search: Search, trials: Sequence[Run], seed: int = 0) -> Any:
    """The trials that have ended as Optuna knows them, and a sampler for one more."""
    optuna = require_optuna()
    study = optuna.create_study(
        direction="maximize" if search.better is max else "minimize",
        sampler=optuna.samplers.RandomSampler(seed)
        if search.sampler == "random"
        else optuna.samplers.TPESampler(n_startup_trials=search.startup_trials, seed=seed),
    )
    state = optuna.trial.TrialState
    for trial in trials:
        finished = trial.status == FINISHED
        made = optuna.trial.create_trial(
            state=state.COMPLETE if finished else state.PRUNED,
            value=trial.best if finished else None,
            params=search.values(trial.config),
            distributions=_distributions(search),
            intermediate_values=dict(enumerate(trial.curve)),
        )
        study.add_trial(made)
    return study


def _distributions(search: Search) -> dict[str, Any]:
    """The values of each parameter as Optuna writes them."""
    kinds, made = require_optuna().distributions, {}
    for p in search.space:
        if p.choices:
            made[p.name] = kinds.CategoricalDistribution(p.choices)
        elif p.kind is int:
            made[p.name] = kinds.IntDistribution(p.low, p.high, log=p.log, step=p.step or 1)
        else:
            made[p.name] = kinds.FloatDistribution(p.low, p.high, log=p.log, step=p.step)
    return made
