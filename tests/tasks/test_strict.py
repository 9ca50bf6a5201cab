"""Tasks and translating on the strict stand-in for CuPy: as on NumPy."""

from __future__ import annotations

from typing import Any

import pytest

import deepnlp
from deepnlp import backend
from deepnlp.evaluation import evaluating
from deepnlp.generation import align, translate
from tests.strict_backend import strict
from tests.tasks.tools import MAKERS, adding


def figures(make: Any, module: Any) -> dict[str, Any]:
    """Of two updates and an evaluation."""
    backend.use_module(module)
    try:
        run = make()
        steps = [run.train_step(*run.task.batches(1)[k]) for k in range(2)]
        with evaluating(run.model):
            return {"steps": steps, **run.task.evaluate(run.model)}
    finally:
        backend.use("numpy")


@pytest.mark.parametrize("name", MAKERS)
def test_a_task_has_the_same_figures(name: str) -> None:
    import numpy

    found, expected = (figures(MAKERS[name], module) for module in (strict, numpy))
    assert found.pop("steps") == [pytest.approx(step, rel=1e-4) for step in expected.pop("steps")]
    assert found == pytest.approx(expected, rel=1e-4)


def test_translations_are_the_same(strict_backend: Any) -> None:
    def found() -> Any:
        deepnlp.seed(3)
        run = adding()
        several = translate(run.model, ["1+2", "34+5"], beam=3, n_best=2, max_length=8)
        weights = align(run.model, "1+2", ["3"]).weights
        return [[one.text for one in texts] for texts in several], weights.round(4).tolist()

    there = found()
    backend.use("numpy")
    assert there == found()
