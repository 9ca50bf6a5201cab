"""Affine layers."""

import numpy as np

from deepnlp import Parameter
from tests.museum import exhibit


def affine(kind, rng, s):
    return kind(rng.normal(size=(s.D, s.H)), rng.normal(size=s.H)), (rng.normal(size=(s.N, s.D)),)


def square(kind, rng, s):
    return kind(rng.normal(size=(s.D, s.D)), rng.normal(size=s.D)), (rng.normal(size=(s.N, s.D)),)


def over_time(kind, rng, s):
    x = rng.normal(size=(s.N, s.T, s.D))
    return kind(rng.normal(size=(s.D, s.H)), rng.normal(size=s.H)), (x,)


@exhibit("", "", "", affine)
class Affine:
    """y = x W + b, without a mistake."""

    def __init__(self, W, b):
        self.params = [W, b]
        self.grads = [np.zeros_like(W), np.zeros_like(b)]

    def forward(self, x):
        W, b = self.params
        self.x = x
        return np.dot(x, W) + b

    def backward(self, dy):
        W, _ = self.params
        self.grads[0][...] = np.dot(self.x.T, dy)
        self.grads[1][...] = np.sum(dy, axis=0)
        return np.dot(dy, W.T)


@exhibit(
    "zero or missing",
    "Two weights, but how many gradients are written?",
    "self.grads[1][...] = np.sum(dy, axis=0)",
    affine,
)
class AffineForgotBias(Affine):
    def backward(self, dy):
        W, _ = self.params
        self.grads[0][...] = np.dot(self.x.T, dy)
        return np.dot(dy, W.T)


@exhibit(
    "bias gradient not summed over N",
    "Every sample adds the same b.",
    "self.grads[1][...] = np.sum(dy, axis=0)",
    affine,
)
class AffineMeanBias(Affine):
    def backward(self, dy):
        W, _ = self.params
        self.grads[0][...] = np.dot(self.x.T, dy)
        self.grads[1][...] = np.mean(dy, axis=0)
        return np.dot(dy, W.T)


@exhibit(
    "bias gradient not summed over N",
    "Every sample adds the same b.",
    "self.grads[1][...] = np.sum(dy, axis=0)",
    affine,
)
class AffineFirstSampleBias(Affine):
    def backward(self, dy):
        W, _ = self.params
        self.grads[0][...] = np.dot(self.x.T, dy)
        self.grads[1][...] = dy[0]
        return np.dot(dy, W.T)


@exhibit(
    "constant factor",
    "The mean is taken by the loss, once.",
    "self.grads[0][...] = np.dot(self.x.T, dy)",
    affine,
)
class AffineMeanWeight(Affine):
    def backward(self, dy):
        W, _ = self.params
        self.grads[0][...] = np.dot(self.x.T, dy) / len(self.x)
        self.grads[1][...] = np.sum(dy, axis=0)
        return np.dot(dy, W.T)


@exhibit(
    "transposed", "Shapes alone do not tell, if W is square.", "return np.dot(dy, W.T)", square
)
class AffineNotTransposed(Affine):
    def backward(self, dy):
        W, _ = self.params
        self.grads[0][...] = np.dot(self.x.T, dy)
        self.grads[1][...] = np.sum(dy, axis=0)
        return np.dot(dy, W)


@exhibit("", "", "", affine)
class Linear:
    """The same with pairs W, dW, without a mistake."""

    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.sum(axis=0)
        return dy @ self.W.T


@exhibit("transposed", "What shape has W?", "self.dW = self.x.T @ dy", affine)
class LinearTransposedGradient(Linear):
    def backward(self, dy):
        self.dW = dy.T @ self.x
        self.db = dy.sum(axis=0)
        return dy @ self.W.T


@exhibit(
    "summed or broadcast over the wrong axis",
    "One number for each column of dy, or for each row?",
    "self.db = dy.sum(axis=0)",
    affine,
)
class LinearSumsColumns(Linear):
    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.sum(axis=1)
        return dy @ self.W.T


@exhibit("", "", "", over_time)
class TimeLinear:
    """The same at every step, without a mistake."""

    def __init__(self, W, b):
        self.W, self.b = Parameter(W), Parameter(b)

    def forward(self, x):
        self.x = x
        return x @ self.W.value + self.b.value

    def backward(self, dy):
        self.W.accumulate(np.einsum("ntd,ntm->dm", self.x, dy))
        self.b.accumulate(dy.sum(axis=(0, 1)))
        return dy @ self.W.value.T


@exhibit(
    "bias gradient not summed over T",
    "b is used at every step.",
    "self.b.accumulate(dy.sum(axis=(0, 1)))",
    over_time,
)
class TimeLinearLastStepBias(TimeLinear):
    def backward(self, dy):
        self.W.accumulate(np.einsum("ntd,ntm->dm", self.x, dy))
        self.b.accumulate(dy[:, -1].sum(axis=0))
        return dy @ self.W.value.T


@exhibit(
    "assigned instead of accumulated",
    "What if the layer is passed twice before the update?",
    "self.W.accumulate(...)",
    over_time,
)
class TimeLinearAssigns(TimeLinear):
    def backward(self, dy):
        self.W.grad = np.einsum("ntd,ntm->dm", self.x, dy)
        self.b.accumulate(dy.sum(axis=(0, 1)))
        return dy @ self.W.value.T


@exhibit(
    "time off by one",
    "Which x belongs to dy[:, t]?",
    "self.W.accumulate(np.einsum('ntd,ntm->dm', self.x, dy))",
    over_time,
)
class TimeLinearShifted(TimeLinear):
    def backward(self, dy):
        self.W.accumulate(np.einsum("ntd,ntm->dm", self.x[:, :-1], dy[:, 1:]))
        self.b.accumulate(dy.sum(axis=(0, 1)))
        return dy @ self.W.value.T


@exhibit(
    "input changed in place",
    "Whose array is x?",
    "x = x - x.mean(axis=0)",
    affine,
)
class LinearCentresInPlace(Linear):
    def forward(self, x):
        x -= x.mean(axis=0)
        return super().forward(x)
