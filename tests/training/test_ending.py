"""A hook that ends a run, and a run that measures the validation split alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepnlp.evaluation import perplexity
from deepnlp.training import DivergedError, Hook
from tests.training.tools import STEPS_AN_EPOCH, tiny_trainer


class After(Hook):
    """Ends a run after some epochs, and notes what it was asked."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs
        self.asked: list[list[int]] = []

    def ends(self, history: Sequence[Mapping[str, Any]]) -> bool:
        self.asked.append([row["epoch"] for row in history])
        return len(history) >= self.epochs


def test_a_hook_ends_a_run_between_two_epochs(tmp_path: Path) -> None:
    hook = After(2)
    result = tiny_trainer(tmp_path, epochs=5, hooks=[hook]).fit()
    assert (result.status, result.epochs, result.steps) == ("pruned", 2, 2 * STEPS_AN_EPOCH)
    assert hook.asked == [[1], [1, 2]]
    assert result.perplexity["test"] > 0
    again = After(2)
    assert tiny_trainer(tmp_path, epochs=5, hooks=[again]).fit(resume=True).status == "pruned"
    assert again.asked == [[1, 2]]


def test_a_run_that_was_ended_can_go_on_to_the_end_it_would_have_had(tmp_path: Path) -> None:
    tiny_trainer(tmp_path / "ended", epochs=4, hooks=[After(1)]).fit()
    trainer = tiny_trainer(tmp_path / "ended", epochs=4)
    assert trainer.fit(resume=True).status == "finished"
    whole = tiny_trainer(tmp_path / "whole", epochs=4)
    whole.fit()
    for ours, theirs in zip(trainer.parameters, whole.parameters, strict=True):
        np.testing.assert_array_equal(ours.value, theirs.value)


def test_after_the_last_epoch_no_hook_is_asked() -> None:
    hook = After(3)
    assert tiny_trainer(epochs=3, hooks=[hook]).fit().status == "finished"
    assert hook.asked == [[1], [1, 2]]


def test_without_the_test_split_only_validation_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = tiny_trainer(tmp_path, baselines=True, test=False)
    corpus, measured = trainer.task.corpus, []

    def noting(model: Any, ids: Any, *rest: Any) -> float:
        measured.append(ids)
        return perplexity(model, ids, *rest)

    monkeypatch.setattr("deepnlp.tasks.language_modelling.perplexity", noting)
    result = trainer.fit()
    assert result.baselines == {}
    best = min(row["valid_perplexity"] for row in trainer.history)
    assert result.perplexity == {
        "train": trainer.history[-1]["train_perplexity"],
        "valid": best,
    }
    assert len(measured) == len(trainer.history) + 1
    assert all(ids is corpus.valid for ids in measured)
    assert "model" in result.table()


def test_a_run_that_diverges_has_an_error_of_its_own() -> None:
    with pytest.raises(DivergedError, match="training diverged at step"):
        tiny_trainer(lr=1e38, max_norm=None, tie="none").fit()
