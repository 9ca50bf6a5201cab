"""What students of several courses met first: right code accused, or a mistake put elsewhere."""

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients
from deepnlp.gradcheck.lines import Lines

RNG = np.random.default_rng(12)
WX, WH, B = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 3)), RNG.normal(size=(3, 1))


def char_loss(inputs, hprev):
    """Returns the loss, the gradients of globals, and the last state, which is none of them."""
    hs = {-1: np.copy(hprev)}
    loss = 0
    for t in range(len(inputs)):
        hs[t] = np.tanh(WX[:, inputs[t] : inputs[t] + 1] + WH @ hs[t - 1] + B)
        loss += (hs[t] ** 3).sum()
    dWX, dWH, dB = np.zeros_like(WX), np.zeros_like(WH), np.zeros_like(B)
    dhnext = np.zeros_like(hs[0])
    for t in reversed(range(len(inputs))):
        draw = (1 - hs[t] ** 2) * (3 * hs[t] ** 2 + dhnext)
        dWX[:, inputs[t] : inputs[t] + 1] += draw
        dWH += draw @ hs[t - 1].T
        dB += draw
        dhnext = WH.T @ draw
    return loss, dWX, dWH, dB, hs[len(inputs) - 1]


def test_the_last_state_is_no_gradient():
    report = check_gradients(char_loss, [1, 3, 1], np.zeros((3, 1)))
    assert report.ok, report
    assert {row.name for row in report.rows} == {"WX", "WH", "B"}


class Cell:
    """A recurrent cell whose gradients are means over the samples, all of them."""

    def __init__(self):
        self.W, self.U, self.b = WX.T.copy(), WH.copy(), np.ones(3)

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.h = np.tanh(x @ self.W + h_prev @ self.U + self.b)
        return self.h

    def before(self):
        return self.h_prev

    def bias(self, dz):
        return dz.mean(axis=0)

    def backward(self, dh):
        dz = dh * (1 - self.h**2)
        self.dW = self.x.T @ dz / len(dz)
        self.dU = self.before().T @ dz / len(dz)
        self.db = self.bias(dz)
        return dz @ self.W.T, dz @ self.U.T


class LaterState(Cell):
    def before(self):
        return self.h


class SummedBias(Cell):
    def bias(self, dz):
        return dz.sum(axis=0)


@pytest.mark.parametrize(("kind", "wrong"), [(Cell, []), (LaterState, ["U"])])
def test_means_beside_a_mistake_are_not_accused(kind, wrong):
    report = check_gradients(kind(), RNG.normal(size=(5, 4)), RNG.normal(size=(5, 3)))
    assert [row.name for row in report.rows if not row.ok] == wrong


def test_means_beside_sums_are_told():
    report = check_gradients(SummedBias(), RNG.normal(size=(5, 4)), RNG.normal(size=(5, 3)))
    assert [row.name for row in report.rows if not row.ok] == ["W", "U"]
    assert "those of b are sums" in next(c.note for c in report.checks if c.name == "means")


def test_a_shape_that_does_not_fit_in_backward_is_told_in_shapes():
    def scores(Q, K):
        def backward(dY):
            return dY @ K, dY @ Q

        return Q @ K.T, backward

    with pytest.raises(ValueError, match=r"`dY @ Q`: dY has shape \(5, 6\), Q has shape \(5, 4\)"):
        check_gradients(scores, RNG.normal(size=(5, 4)), RNG.normal(size=(6, 4)))


class Variable:
    """A node of a small engine, in which arrays become nodes."""

    def __init__(self, data):
        self.data, self.grad, self.back = data, None, lambda: None

    def backward(self):
        self.grad = np.ones_like(self.data)
        self.back()


def as_variable(one):
    return one if isinstance(one, Variable) else Variable(one)


def squared_error(x0, x1):
    x0, x1 = as_variable(x0), as_variable(x1)
    y = Variable(np.asarray(((x0.data - x1.data) ** 2).sum()))

    def back():
        x0.grad = 2 * (x0.data - x1.data) * y.grad
        x1.grad = -x0.grad

    y.back = back
    return y


def test_a_function_of_nodes_takes_arrays():
    report = check_gradients(squared_error, RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2)))
    assert report.ok, report
    assert [row.name for row in report.rows] == ["x0", "x1"]


LONG = """
h = x @ W
t = np.tanh(h)
y = t * g
loss = (y**2).sum()
dy = 2 * y
dt = dy * g
dh = dt * (1 - t**2)
dW = x.T @ dh
"""


@pytest.mark.parametrize("is_wrong", [False, True])
def test_a_long_script_is_compared_along_directions(monkeypatch, is_wrong):
    runs = []
    run = Lines.forward
    monkeypatch.setattr(Lines, "forward", lambda *args: runs.append(1) or run(*args))
    text = LONG.replace("(1 - t**2)", "(1 - t)") if is_wrong else LONG
    names = {"x": RNG.normal(size=(40, 3)), "W": RNG.normal(size=(3, 40)), "g": np.ones(40)}
    report = check_gradients(text, np=np, **names)
    assert [row.name for row in report.rows] == ["y", "t", "h", "W"]
    assert [row.name for row in report.rows if not row.ok] == (["h", "W"] if is_wrong else [])
    assert len(runs) < (9000 if is_wrong else 200)


class Renamed:
    """Returns one gradient under a customary name, whatever the class calls the weight."""

    def __init__(self, kernel, offset):
        self.kernel, self.offset = kernel, offset

    def forward(self, x):
        self.x = x
        return x @ self.kernel + self.offset

    def backward(self, dy):
        return dy @ self.kernel.T, {"kernel": self.x.T @ dy, "b": dy.sum(axis=0)}


class OfAnother(Renamed):
    def backward(self, dy):
        dx, grads = super().backward(dy)
        return dx, {"kernel": grads["kernel"], "offset2": grads["b"]}


class WrongUnderAnotherKey(Renamed):
    def backward(self, dy):
        dx, grads = super().backward(dy)
        return dx, {"kernel": grads["kernel"], "b": 2 * grads["b"]}


def test_a_key_of_another_name_is_known_by_its_shape():
    weights, x = (RNG.normal(size=(3, 4)), RNG.normal(size=4)), RNG.normal(size=(5, 3))
    assert check_gradients(Renamed(*weights), x).ok
    wrong = check_gradients(WrongUnderAnotherKey(*weights), x)
    assert [row.name for row in wrong.rows if not row.ok] == ["offset"]
    another = check_gradients(OfAnother(*weights), x)
    assert [row.name for row in another.rows if not row.ok] == ["offset"]


def attend(context, W):
    y = np.tanh(context @ W)

    def backward(dy):
        dz = dy * (1 - y**2)
        return dz @ W.T, context.T @ dz

    return y, backward


def test_a_first_input_called_context_is_an_input():
    report = check_gradients(attend, RNG.normal(size=(5, 3)), RNG.normal(size=(3, 4)))
    assert report.ok
    assert [row.name for row in report.rows] == ["context", "W"]


def doubled(picture):
    y = 2 * picture

    def backward(dy):
        gpicture = 2 * dy  # a name that does not begin as those of gradients do
        return gpicture

    return y, backward


def test_a_gradient_of_another_name_is_that_of_the_only_input():
    assert check_gradients(doubled, RNG.normal(size=(5, 3))).ok
