"""A gradient of a wrong shape is named and its line repaired, whatever the sizes are."""

import numpy as np
import pytest

from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck import check_gradients


class Affine:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW, self.db = self.x.T @ dy, dy.sum(axis=0)
        return dy @ self.W.T


class SumsRows(Affine):
    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.sum(axis=1)
        return dy @ self.W.T


class SumsAll(Affine):
    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.sum()
        return dy @ self.W.T


class Transposed(Affine):
    def backward(self, dy):
        self.dW = dy.T @ self.x
        self.db = dy.sum(axis=0)
        return dy @ self.W.T


@pytest.mark.parametrize("sizes", [(3, 4, 5), (5, 2, 3), (2, 5, 4)])
@pytest.mark.parametrize(
    ("kind", "name", "cause", "line"),
    [
        (SumsRows, "b", c.WRONG_AXIS, "self.db = dy.sum(axis=0)"),
        (SumsAll, "b", c.WRONG_AXIS, "dy.sum("),
        (Transposed, "W", c.TRANSPOSED, "self.dW = self.x.T @ dy"),
    ],
)
def test_the_line_is_repaired(kind, name, cause, line, sizes):
    rng, (N, D, M) = np.random.default_rng(0), sizes
    layer = kind(rng.normal(size=(D, M)), rng.normal(size=M))
    report = check_gradients(layer, rng.normal(size=(N, D)), quiet=True)
    (row,) = (row for row in report.rows if not row.ok)
    assert (row.name, row.causes[0].name) == (name, cause)
    assert line in row.causes[0].evidence
