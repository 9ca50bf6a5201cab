"""What a diagnosis says: the cause that is named first, the learner's line, and the right words."""

import ast

import numpy as np
import pytest

from deepnlp.diagnosis.rewriting.wording import Setting, worded
from deepnlp.gradcheck import check_gradients

TERM = "term of a sum or product missing"
VALUE = "another value in its place"
FACTOR = "constant factor"
SLOPE = "derivative of the activation missing or of another function"

SCOPE = {name: np.zeros((3, 4)) for name in ("dy", "y", "x", "r", "h", "self.mask")} | {"N": 3}
SCOPE["self.mask"] = np.eye(3)


@pytest.mark.parametrize(
    ("old", "new", "cause", "words"),
    [
        ("dU += h.T @ dn", "dU += (h * r).T @ dn", TERM, "the factor `r` is missing"),
        ("dx = dy", "dx = dy / N", FACTOR, "not divided by `N`"),
        ("dx = dy / N", "dx = dy", FACTOR, "divided by `N`"),
        ("dx = dy * y", "dx = dy", VALUE, "the factor `y` is too many"),
        ("dx = dy", "dx = dy * (1 - y ** 2)", SLOPE, "`1 - y ** 2` is missing"),
        ("dx = dy * y", "dx = dy * y * (1 - y)", SLOPE, "`1 - y` is missing"),
        ("dx = dy", "dx = dy * (1 - y)", TERM, "`1 - y` is missing"),
        ("dx = dy", "dx = dy - y * r", TERM, "the term `- y * r` is missing"),
        ("dx = dy - x * r", "dx = dy - y * r", VALUE, "`x` stands in place of `y`"),
        ("dx = dy * (1 - y)", "dx = dy * y", VALUE, "`1 - y` stands in place of `y`"),
        (
            "dx = dy * (dy > 0)",
            "dx = dy * (x > 0)",
            SLOPE,
            "in place of `x` in the condition",
        ),
        ("dx = np.exp(2 * x)", "dx = np.exp(x)", VALUE, "the factor `2` is too many"),
        ("dx = 2 * x", "dx = 3 * x", FACTOR, "`2` stands in place of `3`"),
        ("dx = dy * np.ones(3)", "dx = dy * self.mask", TERM, "`self.mask` is missing"),
        ("dx = np.mean(dy)", "dx = np.sum(dy)", FACTOR, "the mean is taken, not the sum"),
        ("dx = w[K - k]", "dx = w[k]", "time reversed", "the order is reversed"),
        ("dx = y", "dx += y", TERM, "overwritten"),
        ("self.dW = y", "self.dW += y", "assigned instead of accumulated", "overwritten"),
        ("dx[m] = y", "dx[m] *= y", TERM, "overwritten, not multiplied"),
        ("dx = a + 0 * y", "dx = a + 1 / N * y", TERM, "the term `y` is missing"),
        ("dx = dy", "dx = -dy", "sign", "wrong sign"),
    ],
)
def test_a_change_says_what_is_wrong(old, new, cause, words):
    before, after = (ast.parse(text).body[0] for text in (old, new))
    name, told = worded(before, after, cause if cause in ("sign",) else VALUE, Setting(SCOPE))
    assert name == cause
    assert words in told


def test_a_mean_of_a_bias_is_over_its_axis():
    biases = Setting(SCOPE, is_bias=True)
    for call, name in (
        ("d.mean(axis=0)", "bias gradient not summed over N"),
        ("d.mean(axis=1)", "bias gradient not summed over T"),
        ("d.sum(axis=2).mean(axis=0)", "bias gradient not summed over N"),
        ("d.sum(axis=0).mean(axis=0)", "bias gradient not summed over T"),
    ):
        right = call.replace("mean", "sum")
        before, after = (ast.parse(f"db = {text}").body[0] for text in (call, right))
        assert worded(before, after, VALUE, biases)[0] == name


def test_a_gradient_from_before_the_nonlinearity_lacks_its_mask():
    assigned = {"da": ast.parse("dh * self.mask").body[0].value}
    before, after = (ast.parse(f"back = {text} * u").body[0] for text in ("dh", "da"))
    name, told = worded(before, after, VALUE, Setting(SCOPE, assigned))
    assert name == VALUE
    assert "the factor `self.mask` is missing" in told


# --- Layers -----------------------------------------------------------------------------------


class Relu:
    def forward(self, x):
        self.x = x
        return np.where(x > 0, x, 0 * x)

    def backward(self, dout):
        return dout * (dout > 0)


class Clipped(Relu):
    def backward(self, dout):
        return np.clip(dout, -0.5, 0.5) * (self.x > 0)


class Sigmoid:
    def forward(self, x):
        self.y = 1 / (1 + np.exp(-x))
        return self.y

    def backward(self, dout):
        return self.y * (1 - self.y)


class Partly(Sigmoid):
    def backward(self, dout):
        dx = dout * self.y * (1 - self.y)
        dx[0] = self.y[0] * (1 - self.y[0])
        return dx


class Squared(Sigmoid):
    def backward(self, dout):
        return dout * dout * self.y * (1 - self.y)


@pytest.mark.parametrize(
    ("kind", "cause", "words"),
    [
        (Relu, SLOPE, ["sign of `dout`", "should be", "self.x"]),
        (Clipped, "not linear in dy", ["clipped"]),
        (Sigmoid, TERM, ["the same for any `dout`", "should be"]),
        (Partly, TERM, ["4 of its 12 entries"]),
        (Squared, VALUE, ["four times as large for 2 `dout`"]),
    ],
)
def test_what_is_not_linear_in_dy_is_said(kind, cause, words):
    x = np.random.default_rng(3).normal(size=(3, 4))
    first = check_gradients(kind(), x).rows[0].causes[0]
    assert first.name == cause, first
    for word in words:
        assert word in first.evidence


class Centred:
    """x minus its mean, divided by its deviation."""

    def forward(self, x):
        self.mean = x.mean(axis=1, keepdims=True)
        self.xc = x - self.mean
        self.std = np.sqrt((self.xc**2).mean(axis=1, keepdims=True) + 1e-5)
        self.xn = self.xc / self.std
        return self.xn

    def backward(self, dy):
        pull = (dy * self.xn).mean(axis=1, keepdims=True)  # and then it is forgotten
        return (dy - dy.mean(axis=1, keepdims=True)) / self.std + 0 * self.xn * pull


class Divided(Centred):
    """Both statistics are taken for constants."""

    def backward(self, dy):
        return dy / self.std


def test_a_way_that_is_missing_is_named():
    x = np.random.default_rng(0).normal(size=(3, 5))
    for kind, word in ((Centred, "self.std"), (Divided, "taken for constants")):
        first = check_gradients(kind(), x).causes[0]
        assert first.name == TERM
        assert word in first.evidence


class Attention:
    """One memory m, as keys and as values."""

    def forward(self, q, m):
        e = np.exp(np.einsum("nd,nkd->nk", q, m))
        self.q, self.m, self.a = q, m, e / e.sum(axis=1, keepdims=True)
        return np.einsum("nk,nkd->nd", self.a, m)

    def backward(self, dc):
        da = np.einsum("nd,nkd->nk", dc, self.m)
        ds = self.a * (da - (da * self.a).sum(axis=1, keepdims=True))
        dm = np.einsum("nk,nd->nkd", self.a, dc)
        return np.einsum("nk,nkd->nd", ds, self.m), dm


def test_the_memory_of_an_attention_is_no_cell():
    rng = np.random.default_rng(1)
    first = check_gradients(Attention(), rng.normal(size=(3, 4)), rng.normal(size=(3, 5, 4))).causes
    assert first[0].name == TERM
    assert "np.einsum('nd,nkd->nk', q, m)" in first[0].evidence or "ds" in first[0].evidence


class Margin:
    """The sum of what exceeds a margin; a mask, but no dropout."""

    def forward(self, x):
        gap = 1.0 - x
        self.active = 1.0 * (gap > 0.5).real
        return (gap * self.active).sum(axis=1)

    def backward(self, dy):
        return -dy[:, None] * np.ones(self.active.shape)


def test_a_mask_that_is_not_random_is_no_dropout():
    first = check_gradients(Margin(), np.random.default_rng(2).normal(size=(4, 5))).causes[0]
    assert first.name in (TERM, SLOPE)
    assert "self.active" in first.evidence


class Updates:
    """An affine layer that changes its weight before it uses it."""

    def __init__(self, W):
        self.W = W

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.dW = self.x.T @ dy
        W = self.W.copy()
        W -= 0.1 * self.dW
        return dy @ W.T


def test_a_weight_that_is_updated_first_is_told():
    rng = np.random.default_rng(4)
    first = check_gradients(Updates(rng.normal(size=(3, 5))), rng.normal(size=(4, 3))).causes[0]
    assert first.name in ("cache overwritten or mutated", VALUE)
    assert "should be `return dy @ self.W.T`" in first.evidence or "W -= 0.1" in first.evidence
