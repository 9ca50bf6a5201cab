"""Which values a new trial of a search tries, and how much each parameter matters: by Optuna.

Optuna's study is made anew in memory from the trials that have ended, so there is no other record
of a search than the folders of its runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepnlp.errors import DeepNLPError
from deepnlp.studies.logs import FINISHED, Run
from deepnlp.studies.parameter import Parameter
from deepnlp.studies.search import Search

ATTEMPTS = 50  # draws until one is new
FEWEST = 5  # finished trials from which importance can be estimated


def require_optuna() -> Any:
    """The module, told to be quiet; an error that says how to install it where it is missing."""
    try:
        import optuna
    except ImportError:
        raise DeepNLPError(
            "a search needs Optuna, which is not installed: pip install 'deepnlp[search]'"
        ) from None
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
        study = _optuna_study(search, ended, _sampler(search, int(seeds.generate_state(1)[0])))
        drawn = study.ask(_distributions(search)).params
        values = {p.name: p.tidy(drawn[p.name]) for p in search.space}
        if values not in tried:
            return values
    return next(point for point in search.points() if point not in tried)


def can_estimate_importance(search: Search, trials: Sequence[Run]) -> bool:
    """Whether there are several parameters, and trials enough."""
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


def _optuna_study(search: Search, trials: Sequence[Run], sampler: Any = None) -> Any:
    """The trials that have ended as Optuna knows them."""
    optuna = require_optuna()
    direction = "maximize" if search.higher_is_better else "minimize"
    study = optuna.create_study(direction=direction, sampler=sampler)
    for trial in trials:
        finished = trial.status == FINISHED
        made = optuna.trial.create_trial(
            state=optuna.trial.TrialState.COMPLETE if finished else optuna.trial.TrialState.PRUNED,
            value=trial.best if finished else None,
            params=search.values(trial.config),
            distributions=_distributions(search),
            intermediate_values=dict(enumerate(trial.curve)),
        )
        study.add_trial(made)
    return study


def _distributions(search: Search) -> dict[str, Any]:
    """The values of each parameter as Optuna writes them."""
    return {parameter.name: _distribution(parameter) for parameter in search.space}


def _distribution(parameter: Parameter) -> Any:
    distributions, low, high = require_optuna().distributions, parameter.low, parameter.high
    if parameter.choices:
        return distributions.CategoricalDistribution(parameter.choices)
    if parameter.kind is int:
        step = parameter.step or 1
        return distributions.IntDistribution(low, high, log=parameter.log, step=step)
    return distributions.FloatDistribution(low, high, log=parameter.log, step=parameter.step)


def _sampler(search: Search, seed: int) -> Any:
    """What draws the values of one trial."""
    samplers = require_optuna().samplers
    if search.sampler == "random":
        return samplers.RandomSampler(seed=seed)
    return samplers.TPESampler(seed=seed, n_startup_trials=search.startup_trials)
