"""What Optuna is told while a trial trains, and what it decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deepnlp.training import Hook


class Reporting(Hook):
    """Report the validation after each epoch to Optuna, and end the run if Optuna says so.

    What was reported before the run was killed is in the journal, the decision to end it too.
    """

    def __init__(self, trial: Any, figure: str) -> None:
        self.trial, self.figure = trial, figure

    def report(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Report those epochs that were not."""
        known = self.trial.storage.get_trial(self.trial._trial_id).intermediate_values
        for row in history:
            if row["epoch"] - 1 not in known:
                self.trial.report(row[self.figure], row["epoch"] - 1)  # Optuna counts from 0

    def ends(self, history: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the pruner ends the run after the last epoch of the history."""
        self.report(history)
        if "pruned" not in self.trial.user_attrs and self.trial.should_prune():
            self.trial.set_user_attr("pruned", len(history))
        return "pruned" in self.trial.user_attrs
