"""A repair is what one would write: it divides by nothing that may be 0, and uses local names."""

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients

RNG = np.random.default_rng(3)


def normal(*shape):
    return RNG.normal(size=shape)


# --- A forgotten derivative of straight pieces: `dy * y` for `dy * (x > 0)` ----------------------


class Relu:
    def forward(self, x):
        self.x, self.y = x, np.maximum(x, 0)
        return self.y

    def backward(self, dy):
        return dy * self.y


class ReluOfInput(Relu):
    def backward(self, dy):
        return dy * self.x


class ReluByMask:
    def forward(self, inputs):
        self.out = inputs * (inputs > 0)
        self.inputs = inputs
        return self.out

    def backward(self, dout):
        dinputs = dout * self.out
        return dinputs


class Leaky:
    def forward(self, z):
        self.z, self.a = z, np.where(z > 0, z, 0.1 * z)
        return self.a

    def backward(self, da):
        return da * self.a


class Hidden:
    def __init__(self, W):
        self.W = W

    def forward(self, x):
        self.x, self.z = x, x @ self.W
        self.h = np.maximum(self.z, 0)
        return self.h

    def backward(self, dh):
        dz = dh * self.h
        self.dW = self.x.T @ dz
        return dz @ self.W.T


class Squares:
    """y = x |x|."""

    def forward(self, x):
        self.x, self.y = x, x * np.abs(x)
        return self.y

    def backward(self, dy):
        return dy * 2 * self.y


def relu_forward(x):
    y = np.maximum(0, x)
    return y, (x, y)


def relu_backward(dout, cache):
    _, y = cache
    return dout * y


def two_forward(x, w):
    z = x @ w
    h = np.maximum(z, 0)
    return h, (x, w, z, h)


def two_backward(dout, cache):
    x, w, _, h = cache
    dz = dout * h
    return dz @ w.T, x.T @ dz


STRAIGHT = {
    "class": (Relu(), normal(3, 4)),
    "of the input": (ReluOfInput(), normal(3, 4)),
    "by a mask": (ReluByMask(), normal(2, 5)),
    "leaky": (Leaky(), normal(4, 3)),
    "behind a product": (Hidden(normal(3, 5)), normal(4, 3)),
    "x |x|": (Squares(), normal(3, 3)),
    "functions": ((relu_forward, relu_backward), normal(3, 4)),
    "functions with weights": ((two_forward, two_backward), normal(3, 4), normal(4, 2)),
}


@pytest.mark.parametrize("name", STRAIGHT)
def test_no_repair_divides_by_what_may_be_0(name):
    layer, *inputs = STRAIGHT[name]
    report = check_gradients(layer, *inputs)
    told = [cause.evidence for row in report.rows for cause in row.causes]
    assert told
    assert not any("should be" in one and " / " in one for one in told), told
    assert report.causes[0].name != "term of a sum or product missing", told


# --- Where forward divides, a repair may ---------------------------------------------------------


class Quotient:
    def forward(self, a, b):
        self.a, self.b = a, b
        return a / b

    def backward(self, dy):
        return dy, -dy * self.a / self.b**2


class Logarithm:
    def forward(self, p):
        self.p = p
        return np.log(np.abs(p))

    def backward(self, dy):
        return dy


@pytest.mark.parametrize("layer", [Quotient(), Logarithm()])
def test_a_repair_divides_where_forward_does(layer):
    inputs = (normal(2, 3), normal(2, 3))[: 1 if isinstance(layer, Logarithm) else 2]
    assert " / " in check_gradients(layer, *inputs).causes[0].evidence


# --- Names ---------------------------------------------------------------------------------------


def attention_forward(Q, K, V):
    S = Q @ K.T
    E = np.exp(S - S.max(axis=1, keepdims=True))
    A = E / E.sum(axis=1, keepdims=True)
    return A @ V, (Q, K, V, A)


def attention_backward(dout, cache):
    Q, K, V, A = cache
    dA = dout @ V.T
    dS = A * (dA - dA.sum(axis=1, keepdims=True))
    return dS @ K, dS.T @ Q, A.T @ dout


def norm_forward(x):
    m, v = np.mean(x, axis=0), np.var(x, axis=0)
    return (x - m) / np.sqrt(v + 1e-5), (x, m, v)


def norm_backward(dout, cache):
    _, _, v = cache
    s = np.sqrt(v + 1e-5)
    dx = dout / s
    return dx - dx.mean(axis=0)


class Affine:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW, self.db = self.x.T @ dy, dy.sum(axis=0)
        return 2 * dy @ self.W.T


class KeepsAxis(Affine):
    def backward(self, dy):
        self.dW, self.db = self.x.T @ dy, dy.sum(axis=0, keepdims=True)
        return dy @ self.W.T


SAID = {  # what is said, and what not
    "unpacked": (((attention_forward, attention_backward),
                  normal(4, 3), normal(5, 3), normal(5, 2)), "A", "cache["),
    "module": (((norm_forward, norm_backward), normal(5, 3)), "", "`np`"),
    "size by chance": ((Affine(normal(3, 2), normal(2)), normal(4, 3)), "2", "H"),
    "axis kept": ((KeepsAxis(normal(3, 2), normal(2)), normal(4, 3)), "keepdims", "not summed"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_of_it(name):
    (layer, *inputs), words, others = SAID[name]
    told = "\n".join(
        check_gradients(layer, *inputs).in_words(alternatives=True).split("\n  likely")[1:]
    )
    assert words in told, told
    assert others not in told, told


def test_other_causes_are_said_if_they_are_asked_for():
    report = check_gradients(Hidden(normal(3, 5)), normal(4, 3))
    assert "      or: " not in str(report)
    assert ("      or: " in report.in_words(alternatives=True)) == any(
        len(row.causes) > 1 for row in report.rows
    )
