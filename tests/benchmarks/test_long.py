"""Short forms of the long measurements: float32 beside float64, and memory over time."""

import gc

import numpy as np
import pytest

from benchmarks.contestants import drift, soak
from benchmarks.settings import Spec
from benchmarks.suites.drift import BOUNDS
from benchmarks.suites.soak import BOUND_MB


@pytest.fixture(scope="module")
def errors():
    sizes = {"V": 60, "N": 3, "T": 5, "H": 12, "length": 400}
    return drift.run(Spec("drift", sizes))


@pytest.mark.parametrize("optimizer", drift.OPTIMIZERS)
@pytest.mark.parametrize("name", BOUNDS)
def test_float32_stays_within_the_bounds_of_float64(errors, optimizer, name):
    assert 0 < errors[optimizer][name] < BOUNDS[name][1]


def test_an_error_of_float32_is_seen(monkeypatch):
    """A gradient that loses a thousandth of itself in single precision is out of bounds."""
    right = drift.gradient

    def wrong(model, ids, targets):
        loss, found = right(model, ids, targets)
        return loss, found * (1.001 if model.parameters()[0].dtype == np.float32 else 1)

    monkeypatch.setattr(drift, "gradient", wrong)
    sizes = {"V": 20, "N": 2, "T": 3, "H": 4, "length": 60}
    found = drift.run(Spec("drift", sizes))
    assert found["SGD"]["step_gradient"] > BOUNDS["step_gradient"][1]


SMALL = {"V": 30, "N": 2, "T": 4, "H": 6, "seconds_in_all": 0}


@pytest.fixture
def short(monkeypatch):
    """Turns of few steps."""
    for name, number in {"STEPS": 3, "WORDS": 5, "READ": 40}.items():
        monkeypatch.setattr(soak, name, number)
    gc.freeze()  # what other tests have made is not looked through at every turn
    yield
    gc.unfreeze()


def test_memory_does_not_grow(short):
    found = soak.run(Spec("soak", SMALL))["soak"]
    assert found["steps"] == soak.QUICK_TURNS * 3
    assert abs(found["objects_grown_mb"]) < BOUND_MB / 10


def test_a_leak_is_seen(short, monkeypatch):
    kept, turn = [], soak.turn

    def leaking(*arguments):
        turn(*arguments)
        kept.append(np.ones(80_000))

    monkeypatch.setattr(soak, "turn", leaking)
    found = soak.run(Spec("soak", SMALL))["soak"]
    assert found["objects_grown_mb"] > BOUND_MB
