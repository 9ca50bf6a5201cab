"""What is not known is said to be, in seconds; and causes that are near to another."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from deepnlp import layers
from deepnlp.gradcheck import check_gradients
from tests.broken.collection import load, read

MUSEUM = {case.name: case for case in read("museum").cases}


def test_what_is_not_known_is_said_to_be():
    class Strange(layers.Tanh):
        def backward(self, dy):
            dx = super().backward(dy).copy()
            dx[0, 1] *= 1.3
            dx[0, 1] *= 1.4
            return dx

    report = check_gradients(Strange(), np.random.default_rng(0).normal(size=(3, 4)))
    (row,) = report.rows
    assert [cause.name for cause in row.causes] == ["unknown"]
    evidence = row.causes[0].evidence
    assert "1 of 12 entries" in evidence
    assert "axis 1 only at [1]" in evidence


def test_two_mistakes_are_told_row_by_row():
    class Twice:
        def __init__(self, W, b):
            self.W, self.b = W, b

        def forward(self, x):
            self.x = x
            return x @ self.W + self.b

        def backward(self, dy):
            self.dW, self.db = -self.x.T @ dy, np.zeros_like(self.b)
            return dy @ self.W.T

    rng = np.random.default_rng(0)
    layer = Twice(rng.normal(size=(3, 5)), rng.normal(size=5))
    report = check_gradients(layer, rng.normal(size=(4, 3)))
    found = {row.name: row.causes[0].name for row in report.rows if not row.ok}
    assert found == {"W": "sign", "b": "zero or missing"}


# --- Neighbouring causes ----------------------------------------------------------------------


@pytest.mark.parametrize("off", [3e-7, 3e-6, 9e-6])
def test_a_factor_that_prints_as_one_is_no_cause(off):
    class Nearly(layers.TimeLSTM):
        def backward(self, dhs):
            dx = super().backward(dhs)
            self.Wh.grad = (1 + off) * self.Wh.grad
            return dx

    rng = np.random.default_rng(0)
    report = check_gradients(Nearly.init(3, 4, rng=rng), rng.normal(size=(2, 3, 3)))
    assert [row.name for row in report.rows if not row.ok] == ["Wh"]
    (cause,) = report.causes
    assert cause.name == "epsilon added inside a function"
    assert f"{off:.1e}" in cause.evidence


class Residual:
    """y = x + tanh(x)."""

    def forward(self, x):
        self.h = np.tanh(x)
        return x + self.h

    def backward(self, dy):
        return dy * (1 - self.h**2)


class Scaled:
    """y = x sum(x)."""

    def forward(self, x):
        self.x, self.total = x, x.sum()
        return x * self.total

    def backward(self, dy):
        return dy * self.total


@pytest.mark.parametrize("kind", [Residual, Scaled])
def test_a_term_that_is_missing_was_not_assigned(kind):
    report = check_gradients(kind(), np.random.default_rng(0).normal(size=(3, 4)))
    assert report.causes[0].name == "term of a sum or product missing"


# --- Speed, and single numbers ------------------------------------------------------------------


class StrangeLSTM(load(MUSEUM["TimeLSTMAssigns"].family.layer)):
    """Two mistakes that are no single edit and no small change."""

    def step_back(self, dh, dc, step):
        da, dc_next = super().step_back(dh, dc, step)
        k = np.arange(da.shape[1])
        da = da * (1 + 0.1 * k) + 0.2 * da[:, ::-1] * np.cos(k)
        return da, dc_next * (1 + 0.3 * k[: dc_next.shape[1]]) - 0.1 * dc_next[:, ::-1]


def seconds_of_an_unknown():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(8, 32)), 0.3 * rng.normal(size=(8, 32)), rng.normal(size=32)
    started = time.process_time()
    report = check_gradients(StrangeLSTM(*weights), rng.normal(size=(4, 10, 8)))
    assert {cause.name for cause in report.causes} == {"unknown"}
    return time.process_time() - started


def test_an_unknown_takes_no_more_than_seconds():
    """In a process of its own, which does not hold what hundreds of other tests have left."""
    code = "from tests.diagnosis.test_unknown import seconds_of_an_unknown as f; print(f())"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 10  # some 4 on a machine that does nothing else


def test_a_multiple_of_one_number_is_not_named():
    class Scale:
        def __init__(self, a):
            self.a = a

        def forward(self, x):
            self.x = x
            return self.a * np.tanh(x)

        def backward(self, dy):
            self.da = (dy * np.arctan(self.x)).sum(keepdims=True).reshape(1)
            return dy * self.a * (1 - np.tanh(self.x) ** 2)

    rng = np.random.default_rng(0)
    report = check_gradients(Scale(rng.normal(size=1)), rng.normal(size=(3, 4)))
    for cause in next(row for row in report.rows if row.name == "a").causes:
        assert cause.name != "constant factor"
