"""How much of the difference between trials a parameter makes, as Optuna estimates it."""

from __future__ import annotations

from collections.abc import Sequence

from deepnlp.search.declaration import Search
from deepnlp.search.journal import require_optuna
from deepnlp.search.study import spaces_of
from deepnlp.search.trials import FINISHED, Trial

FEWEST = 5  # finished trials from which anything can be said


def can_be_estimated(search: Search, trials: Sequence[Trial]) -> bool:
    """Whether there are several parameters, and trials enough."""
    finished = [trial for trial in trials if trial.status == FINISHED]
    return len(search.space) > 1 and len(finished) >= FEWEST


def importances(search: Search, trials: Sequence[Trial]) -> dict[str, float]:
    """A share for each parameter, 1 together (PED-ANOVA: Watanabe et al. 2023); {} if too few."""
    if not can_be_estimated(search, trials):
        return {}
    optuna = require_optuna()
    study = optuna.create_study(
        direction="maximize" if search.higher_is_better else "minimize",
        sampler=optuna.samplers.RandomSampler(),
    )
    spaces = spaces_of(search)
    for trial in trials:
        if trial.status != FINISHED:
            continue
        study.add_trial(
            optuna.trial.create_trial(
                params=dict(trial.values), distributions=spaces, value=trial.best
            )
        )
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    found: dict[str, float] = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return found
