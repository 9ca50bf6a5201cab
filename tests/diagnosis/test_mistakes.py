"""Rows of the table of mistakes: each names its mistake, and what it says holds in other sizes."""

import ast

import numpy as np
import pytest

from deepnlp.diagnosis.mistakes.table import _table, formula, functions, phrase, say
from deepnlp.gradcheck import CAUSES, check_gradients

TERM = "term of a sum or product missing"
FACTOR = "constant factor"
SLOPE = "derivative of the activation missing or of another function"
EXCHANGED = "gradients exchanged"


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


class Given:
    """A layer with what it is given as attributes."""

    def __init__(self, **given):
        vars(self).update(given)


class SiLU(Given):
    def forward(self, x):
        self.x = x
        self.s = 1 / (1 + np.exp(-x))
        return x * self.s

    def backward(self, dy):
        return dy * self.s * (1 - self.s)


class Gelu(Given):
    """With the derivative of SiLU."""

    def forward(self, x):
        self.x = x
        inner = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
        return 0.5 * x * (1 + inner)

    def backward(self, dy):
        s = sigmoid(self.x)
        return dy * s * (1 + self.x * (1 - s))


class HalfSiLU(SiLU):
    def backward(self, dy):
        return dy * self.s


class Softplus(Given):
    def forward(self, x):
        self.y = np.log1p(np.exp(x))
        return self.y

    def backward(self, dy):
        return dy * sigmoid(self.y)


class RMSNorm(Given):
    def forward(self, x):
        self.r = np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6)
        self.y = x / self.r
        return self.y

    def backward(self, dy):
        return (dy - self.y * (dy * self.y).sum(axis=-1, keepdims=True)) / self.r


class LayerNorm(Given):
    def forward(self, x):
        self.xc = x - x.mean(axis=-1, keepdims=True)
        self.std = np.sqrt((self.xc**2).mean(axis=-1, keepdims=True) + 1e-5)
        self.y = self.xc / self.std
        return self.y

    def backward(self, dy):
        return (dy - self.y * (dy * self.y).mean(axis=-1, keepdims=True)) / self.std


class Variance(Given):
    """Forward divides by n - 1, backward by n."""

    def forward(self, x):
        self.x = x
        return x.var(axis=1, ddof=1)

    def backward(self, dy):
        centred = self.x - self.x.mean(axis=1, keepdims=True)
        return 2 * dy[:, None] * centred / np.prod(self.x.shape[1:])


class Heads(Given):
    """The heads are reshaped without being transposed back."""

    def forward(self, x):
        N, T, D = x.shape
        self.h = x.reshape(N, T, 2, D // 2).transpose(0, 2, 1, 3)
        return self.h**2

    def backward(self, dy):
        N, _, T, d = dy.shape
        return (2 * dy * self.h).reshape(N, T, 2 * d)


class SquaredError(Given):
    """The 2 is missing; with 2 samples of 4 numbers it might be counts."""

    def forward(self, y, t):
        self.y, self.t = y, t
        return ((y - t) ** 2).mean()

    def backward(self, dloss=1.0):
        return dloss * (self.y - self.t) / self.y.size


class Attention(Given):
    """The scale of the scores is forgotten on the way back."""

    def forward(self, q, k, v):
        self.q, self.k, self.v = q, k, v
        e = np.exp(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]))
        self.a = e / e.sum(axis=-1, keepdims=True)
        return self.a @ v

    def backward(self, dy):
        da = dy @ self.v.transpose(0, 2, 1)
        ds = self.a * (da - (da * self.a).sum(axis=-1, keepdims=True))
        return ds @ self.k, ds.transpose(0, 2, 1) @ self.q, self.a.transpose(0, 2, 1) @ dy


class WithoutSum(Attention):
    def backward(self, dy):
        ds = self.a * (dy @ self.v.transpose(0, 2, 1)) / np.sqrt(self.q.shape[-1])
        return ds @ self.k, ds.transpose(0, 2, 1) @ self.q, self.a.transpose(0, 2, 1) @ dy


class Affine(Given):
    def forward(self, x, W, b):
        self.x, self.W = x, W
        return x @ W + b

    def backward(self, dy):
        return dy @ self.W.T, dy.sum(axis=0), self.x.T @ dy


class Product(Given):
    def forward(self, x, z):
        self.x, self.z = x, z
        return x * z

    def backward(self, dy):
        return dy * self.x, dy * self.z


class Convolution(Given):
    """The kernel is not flipped on the way back."""

    def forward(self, x):
        self.x = x
        return np.stack([np.convolve(row, self.const_k, mode="valid") for row in x])

    def backward(self, dy):
        return np.stack([np.convolve(row, self.const_k, mode="full") for row in dy])


CASES = [
    (SiLU, [(3, 4)], SLOPE, ["silu", "that of sigmoid"]),
    (Gelu, [(3, 4)], SLOPE, ["gelu with tanh", "that of silu"]),
    (HalfSiLU, [(3, 4)], TERM, ["only the first term of the product rule"]),
    (Softplus, [(3, 4)], "derivative taken at the input instead of the output", ["softplus"]),
    (RMSNorm, [(4, 5)], FACTOR, ["RMS norm", "should be the mean"]),
    (LayerNorm, [(4, 5)], TERM, ["the mean depends on x too"]),
    (Variance, [(4, 6)], FACTOR, ["(D - 1)/D"]),
    (Heads, [(3, 4, 6)], "transposed", ["reshape"]),
    (SquaredError, [(2, 4), (2, 4)], FACTOR, ["is 1/2 times"]),
    (Attention, [(2, 3, 4), (2, 5, 4), (2, 5, 6)], FACTOR, ["is sqrt(D) times"]),
    (WithoutSum, [(2, 3, 4), (2, 5, 4), (2, 5, 6)], TERM, ["the sum over the row is left out"]),
    (Affine, [(3, 4), (4, 5), (5,)], EXCHANGED, ["in each other's place", "W, b"]),
    (Product, [(3, 4), (3, 4)], EXCHANGED, ["in each other's place", "x, z"]),
    (Convolution, [(2, 7)], "time reversed", ["self.const_k[::-1]"]),
]


@pytest.mark.parametrize(("kind", "shapes", "cause", "words"), CASES)
def test_a_mistake_is_named(kind, shapes, cause, words):
    rng = np.random.default_rng(0)
    given = {"const_k": rng.normal(size=3)}
    report = check_gradients(kind(**given), *(rng.normal(size=shape) for shape in shapes))
    first = report.causes[0]
    assert first.name == cause, report
    for word in words:
        assert word in first.evidence


# --- The table itself ---------------------------------------------------------------------------


def test_every_row_has_a_cause_of_the_list_and_a_formula_that_can_be_read():
    for key, (cause, says) in _table()["sentences"].items():
        assert cause == "" or cause in CAUSES, key
        assert says.strip() == says
    for kind, rows in _table()["formulas"].items():
        for text, cause, says in rows:
            assert cause in CAUSES, (kind, text)
            assert says.strip() == says
            ast.parse(text, mode="eval")


@pytest.mark.parametrize("name", [name for name, entry in functions().items() if "slope" in entry])
def test_the_slope_of_a_function_is_its_derivative(name):
    entry, x = functions()[name], np.linspace(0.2, 1.4, 5)
    value = entry.get("value") or (lambda x: getattr(np, name)(x))
    found = (value(x=x + 1e-6) - value(x=x - 1e-6)) / 2e-6
    np.testing.assert_allclose(entry["slope"](x=x, y=value(x=x)), found, rtol=1e-7)


def test_a_sentence_is_filled_in_and_its_place_does_not_hold_numbers():
    one, other = (say("one step", {}, name="Wh", which=k, count=5, cause="sign") for k in (0, 4))
    assert one.evidence.startswith("the gradient of Wh holds only step 0 of the 5 steps of a loop")
    assert one.key == other.key == ("one step", "Wh")
    assert phrase("only_at", axis=1, places=[0]) == "; along axis 1 only at [0]"
    assert formula("g * y")(g=2.0, y=3.0) == 6.0


# --- Errors of a forward --------------------------------------------------------------------------


class TooWide(Given):
    def __init__(self):
        self.W = np.ones((5, 6))

    def forward(self, x):
        return x @ self.W

    def backward(self, dy):
        return dy @ self.W.T


class Stacked(TooWide):
    def forward(self, x):
        return np.concatenate([x.T, self.W.T], axis=1)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (TooWide, "`x @ self.W`: x has shape (3, 4), self.W has shape (5, 6)"),
        (Stacked, "x.T has shape (4, 3), self.W.T has shape (6, 5)"),
    ],
)
def test_shapes_that_do_not_fit_are_told_by_name(kind, words):
    with pytest.raises(ValueError, match="do not fit") as raised:
        check_gradients(kind(), np.ones((3, 4)))
    assert words in str(raised.value)


WITHOUT_SOURCE = """
class Affine:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW, self.db = self.x.T @ dy, dy.mean(axis=0)
        return dy @ self.W.T
"""


def test_a_mean_of_a_bias_alone_is_named_where_the_source_is_not_known():
    space = {}
    exec(WITHOUT_SOURCE, space)
    rng = np.random.default_rng(0)
    layer = space["Affine"](rng.normal(size=(4, 3)), rng.normal(size=3))
    report = check_gradients(layer, rng.normal(size=(5, 4)), quiet=True)
    (row,) = [row for row in report.rows if not row.ok]
    assert (row.name, row.causes[0].name) == ("b", "bias gradient not summed over N")
