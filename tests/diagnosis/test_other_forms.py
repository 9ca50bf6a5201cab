"""Mistakes in engines, scripts, closures and columns: the name, and the line."""

import weakref

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients
from deepnlp.gradcheck.causes import DERIVATIVE_MISSING, FACTOR, TERM_MISSING, WRONG_VALUE, ZERO

RNG = np.random.default_rng(7)


def named(report):
    """The first cause, and all that is said."""
    assert not report.ok
    told = " ".join(cause.evidence for cause in report.causes)
    return report.causes[0].name, told


# --- Engines --------------------------------------------------------------------------------------

ENGINE = """
import math
import numpy as np


class Node:
    def __init__(self, data, parents=()):
        self.data, self.parents = data, parents
        self.grad = np.zeros_like(data) if isinstance(data, np.ndarray) else 0.0
        self.pull = lambda: None

    def __mul__(self, other):
        out = Node(self.data * other.data, (self, other))

        def pull():
            self.grad = self.grad + other.data * out.grad
            other.grad = other.grad + self.data * out.grad

        out.pull = pull
        return out

    def __add__(self, other):
        out = Node(self.data + other.data, (self, other))

        def pull():
            self.grad = self.grad + out.grad
            other.grad = other.grad + out.grad

        out.pull = pull
        return out

    def cube(self, power=3):
        out = Node(self.data**power, (self,))

        def pull():
            self.grad = self.grad + power * self.data ** (power - 1) * out.grad

        out.pull = pull
        return out

    def relu(self):
        out = Node(self.data * (self.data > 0), (self,))

        def pull():
            self.grad = self.grad + (out.data > 0) * out.grad

        out.pull = pull
        return out

    def backward(self):
        order, seen = [], set()

        def visit(node):
            if node not in seen:
                seen.add(node)
                for parent in node.parents:
                    visit(parent)
                order.append(node)

        visit(self)
        self.grad = np.ones_like(self.data) if isinstance(self.data, np.ndarray) else 1.0
        for node in reversed(order):
            node.pull()


def terms(a, b):
    return (a * b).cube() + a.relu() * b
"""


def engine(tmp_path, right, wrong, a, b):
    """The report on an engine with a mistake in it."""
    assert ENGINE.count(right) == 1
    text, path = ENGINE.replace(right, wrong), tmp_path / "engine.py"
    path.write_text(text, encoding="utf-8")
    space = {"__name__": "engine"}
    exec(compile(text, str(path), "exec"), space)
    number = next(k for k, line in enumerate(text.splitlines(), 1) if wrong.strip() in line)
    given = [space["Node"](value) for value in (a, b)]
    return *named(check_gradients(space["terms"], *given)), number


@pytest.mark.parametrize("shape", [(), (3, 4)])
@pytest.mark.parametrize(
    ("right", "wrong", "names"),
    [
        ("+ power * self.data", "+ 1 * self.data", (FACTOR, TERM_MISSING)),
        ("+ (out.data > 0) * out.grad", "+ 1.0 * out.grad", (DERIVATIVE_MISSING, WRONG_VALUE)),
        ("in reversed(order)", "in order", (WRONG_VALUE, ZERO)),
        ("other.grad + self.data * out", "other.grad + other.data * out", (WRONG_VALUE,)),
    ],
)
def test_an_operation_of_an_engine_is_named_with_its_line(tmp_path, shape, right, wrong, names):
    a, b = (RNG.normal(size=shape) if shape else RNG.normal() for _ in range(2))
    name, told, number = engine(tmp_path, right, wrong, a if shape else -abs(a), b)
    assert name in names
    is_walk = (name, wrong) == (ZERO, "in order")  # it stops: its lines do not run
    assert f"line {number}" in told or is_walk


def test_an_engine_of_arrays_that_overwrites_is_told_before_all_else(tmp_path):
    a, b = RNG.normal(size=(2, 3, 4))
    right = "self.grad = self.grad + other.data * out.grad"
    name, told, number = engine(tmp_path, right, "self.grad = other.data * out.grad * 0.5", a, b)
    assert name == "assigned instead of accumulated"
    assert f"line {number}" in told


# --- Scripts, closures, columns -------------------------------------------------------------------

SCRIPT = """
import numpy as np
rng = np.random.default_rng(1)
x, A, B, C = (rng.normal(size=s) for s in ((5, 4), (4, 3), (4, 3), (4, 3)))
a = x @ A
b = x @ B
c = np.tanh(x @ C)
y = a * b + c
loss = (y ** 2).sum()
dy = 2 * y
da = dy * b
db = dy * a
dz = dy * (1 - c ** 2)
dx = da @ A.T + dz @ C.T
"""


def test_a_way_that_is_missing_in_a_script_is_named_by_its_line():
    name, told = named(check_gradients(SCRIPT))
    assert name == "term of a sum or product missing"
    assert "`b = x @ B` (line 6)" in told


def pooled(x, counts):
    """The mean of each of several groups of rows."""
    ends = np.cumsum(counts)

    def backward(dy):
        return np.vstack([np.tile(d / len(counts), (n, 1)) for d, n in zip(dy, counts)])

    return np.stack([x[e - n : e].mean(0) for e, n in zip(ends, counts)]), backward


def test_a_name_of_a_comprehension_can_stand_in_it():
    name, told = named(check_gradients(pooled, RNG.normal(size=(7, 2)), np.array([3, 4])))
    assert name == "another value in its place"
    assert "`len(counts)` stands in place of `n`" in told


class Strided:
    """Every second place; backward writes to the first ones."""

    step = 2

    def forward(self, x):
        """(N, T) to (N, T / 2)."""
        self.shape = x.shape
        return x[:, :: self.step] * 1.0

    def backward(self, dy):
        """Without the gaps."""
        dx = np.zeros(self.shape)
        dx[:, : dy.shape[1]] = dy
        return dx


def test_a_slice_of_forward_can_stand_in_backward():
    name, told = named(check_gradients(Strided(), RNG.normal(size=(3, 7))))
    assert (name, "dx[:, ::self.step] = dy" in told) == ("another value in its place", True)


def product(a, b):
    """Of matrices side by side."""
    return a @ b, (a, b)


def product_backward(dy, cache):
    """The second factor's gradient is turned by a reshape."""
    a, b = cache
    return dy @ b.swapaxes(-1, -2), (dy.swapaxes(-1, -2) @ a).reshape(b.shape)


def test_a_reshape_that_should_exchange_axes_is_transposed():
    a, b = RNG.normal(size=(2, 5, 4)), RNG.normal(size=(2, 4, 3))
    assert named(check_gradients((product, product_backward), a, b))[0] == "transposed"


class Cell:
    """A step of a recurrent network, with weights whose gradients are means."""

    def __init__(self):
        self.W, self.U, self.b = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 3)), np.zeros(3)

    def forward(self, x, h):
        """The new state."""
        self.x, self.h = x, h
        self.y = np.tanh(x @ self.W + h @ self.U + self.b)
        return self.y

    def backward(self, dy):
        """The derivative is taken at the old state."""
        n = len(self.x)
        dz = dy * (1 - self.h**2)
        self.dW, self.dU, self.db = self.x.T @ dz / n, self.h.T @ dz / n, dz.sum(0) / n
        return dz @ self.W.T, dz @ self.U.T


def test_a_mistake_beside_gradients_that_are_means_is_named():
    report = check_gradients(Cell(), RNG.normal(size=(5, 4)), RNG.normal(size=(5, 3)))
    assert "`self.h` stands in place of `self.y`" in named(report)[1]
    assert any(check.name == "means" for check in report.checks)


def columns(A, W, b):
    """Samples in columns."""
    return W @ A + b, (A, W)


def columns_backward(dZ, cache):
    """dW is transposed; all are means."""
    A, W = cache
    return W.T @ dZ, A @ dZ.T / A.shape[1], dZ.sum(1, keepdims=True) / A.shape[1]


def test_a_transposed_gradient_beside_means_is_the_only_one():
    given = RNG.normal(size=(4, 5)), RNG.normal(size=(3, 4)), RNG.normal(size=(3, 1))
    report = check_gradients((columns, columns_backward), *given)
    assert [row.name for row in report.rows if not row.ok] == ["W"]
    assert named(report)[0] == "transposed"


class Sevens:
    """A gradient that nobody computed."""

    def __init__(self):
        self.W = RNG.normal(size=(4, 3))

    def forward(self, x):
        """A product, as a method of x."""
        self.x = x
        return x.dot(self.W)

    def backward(self, dy):
        """dW is a constant."""
        self.dW = np.full(self.W.shape, 7.0)
        return dy @ self.W.T


def test_a_constant_gradient_is_told_with_its_value():
    name, told = named(check_gradients(Sevens(), RNG.normal(size=(5, 4))))
    assert name == "another value in its place"
    assert "every entry of the gradient of W is 7" in told


def data_loss(W, X, t):
    """X has no gradient, and its methods are followed."""
    y = X.reshape(len(X), -1).dot(W)
    return ((y - t) ** 2).sum() + 0.1 * (W * W).sum(), 2 * X.T.dot(y - t)


def test_a_method_of_data_is_followed():
    given = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 4)), RNG.normal(size=(5, 3))
    name, told = named(check_gradients(data_loss, *given))
    assert name == "term of a sum or product missing"
    assert "cannot be followed" not in told


class Weak:
    """Keeps its output by a weak reference, as the third book does."""

    class Held:
        """An array that can be referred to."""

        def __init__(self, data):
            self.data = data

    def forward(self, x):
        """The square."""
        self.x, self.kept = x, self.Held(x**2)
        self.out = weakref.ref(self.kept)
        return self.kept.data

    def backward(self, dy):
        """The factor 2 is in another place."""
        y = self.out().data
        return dy * y


def test_a_weak_reference_is_read_in_an_evaluated_backward():
    told = named(check_gradients(Weak(), RNG.normal(size=(5, 4))))[1]
    assert "not evaluated" not in told


class Twice:
    """One function, called for products of two sizes."""

    def __init__(self):
        self.W, self.V = RNG.normal(size=(4, 5)), RNG.normal(size=(5, 5))

    def times(self, x, W):
        """A product."""
        return np.dot(x, W)

    def forward(self, x):
        """Two of them."""
        self.x, self.h = x, self.times(x, self.W)
        return self.times(self.h, self.V)

    def backward(self, dy):
        """With a small error in one entry, which no edit explains."""
        dh = dy @ self.V.T
        self.dV, self.dW = self.h.T @ dy, self.x.T @ dh
        self.dV[0, 0] += 1e-6 * abs(self.dV).max()
        return dh @ self.W.T


def test_an_edit_that_fits_one_size_only_does_not_end_the_diagnosis():
    assert "ended in" not in named(check_gradients(Twice(), RNG.normal(size=(5, 4))))[1]
