"""Activations, softmax, dropout."""

import numpy as np

from deepnlp import layers
from tests.museum import exhibit


def plain(kind, rng, s):
    return kind(), (rng.normal(size=(s.N, s.D)),)


def over_time(kind, rng, s):
    return kind(), (rng.normal(size=(s.N, s.T, s.D)),)


def with_mask(kind, rng, s):
    return kind(0.4, int(rng.integers(1000))), (rng.normal(size=(s.N + 1, s.D + 1)),)


def with_mask_over_time(kind, rng, s):
    return kind(0.3, int(rng.integers(1000))), (rng.normal(size=(s.N + 1, s.T, s.D + 1)),)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@exhibit("", "", "", plain)
class Tanh:
    """y = tanh(x), without a mistake."""

    def forward(self, x):
        self.x = x
        self.y = np.tanh(x)
        return self.y

    def backward(self, dy):
        return dy * (1 - self.y**2)


@exhibit(
    "derivative taken at the input instead of the output",
    "Of which array is the square taken?",
    "return dy * (1 - self.y ** 2)",
    plain,
)
class TanhOfX(Tanh):
    def backward(self, dy):
        return dy * (1 - self.x**2)


@exhibit(
    "cache overwritten or mutated",
    "What does self.y hold when backward comes?",
    "y = self.y * 2",
    over_time,
)
class ScaledTanh:
    def forward(self, x):
        self.y = np.tanh(x)
        y = self.y
        y *= 2
        return y

    def backward(self, dy):
        return 2 * dy * (1 - self.y**2)


@exhibit("", "", "", plain)
class Sigmoid:
    """y = sigmoid(x), without a mistake."""

    def forward(self, x):
        self.x = x
        self.out = sigmoid(x)
        return self.out

    def backward(self, dout):
        return dout * (1.0 - self.out) * self.out


@exhibit(
    "derivative taken at the input instead of the output",
    "y (1 - y), with y.",
    "return dout * (1.0 - self.out) * self.out",
    plain,
)
class SigmoidOfX(Sigmoid):
    def backward(self, dout):
        return dout * (1.0 - self.x) * self.x


@exhibit(
    "derivative taken at the input instead of the output",
    "How often is the sigmoid taken?",
    "return dout * self.out * (1 - self.out)",
    plain,
)
class SigmoidTwice(Sigmoid):
    def backward(self, dout):
        s = sigmoid(self.out)
        return dout * s * (1 - s)


@exhibit(
    "sign", "The derivative of a rising function is positive.", "return dout * y * (1 - y)", plain
)
class SigmoidFalling(Sigmoid):
    def backward(self, dout):
        return dout * self.out * (self.out - 1.0)


@exhibit("constant factor", "d(x^2) / dx", "return 2 * self.x * dy", plain)
class Square:
    def forward(self, x):
        self.x = x
        return x**2

    def backward(self, dy):
        return self.x * dy


@exhibit("", "", "", plain)
class ReLU:
    """y = max(x, 0), without a mistake."""

    def forward(self, x):
        self.mask = x <= 0
        y = x.copy()
        y[self.mask] = 0
        return y

    def backward(self, dy):
        dx = dy.copy()
        dx[self.mask] = 0
        return dx


@exhibit(
    "derivative of the activation missing or of another function",
    "What gradient gets an x below 0?",
    "return dy * (self.x > 0)",
    plain,
)
class ReLUPassesAll:
    def forward(self, x):
        self.x = x
        return np.maximum(x, 0)

    def backward(self, dy):
        return dy


@exhibit(
    "input changed in place",
    "Whose array is dy?",
    "dx = dy.copy()",
    plain,
)
class ReLUWritesIntoDy(ReLU):
    def backward(self, dy):
        dy[self.mask] = 0
        return dy


@exhibit("", "", "", plain)
class Softmax:
    """Over the last axis, without a mistake."""

    def forward(self, x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        self.y = e / e.sum(axis=-1, keepdims=True)
        return self.y

    def backward(self, dy):
        dx = dy * self.y
        return dx - self.y * dx.sum(axis=-1, keepdims=True)


@exhibit(
    "summed or broadcast over the wrong axis",
    "Over which axis did the forward sum?",
    "dx -= self.y * dx.sum(axis=-1, keepdims=True)",
    plain,
)
class SoftmaxOverSamples(Softmax):
    def backward(self, dy):
        dx = dy * self.y
        return dx - self.y * dx.sum(axis=0, keepdims=True)


@exhibit(
    "term of a sum or product missing",
    "Every score moves every probability.",
    "dx -= self.y * dx.sum(axis=-1, keepdims=True)",
    over_time,
)
class SoftmaxElementwise(Softmax):
    def backward(self, dy):
        return dy * self.y * (1 - self.y)


# --- Dropout ------------------------------------------------------------------------------------


@exhibit("", "", "", with_mask)
class Dropout:
    """Inverted scaling, without a mistake."""

    def __init__(self, p, seed):
        self.p, self.rng = p, np.random.default_rng(seed)

    def forward(self, x):
        self.mask = self.rng.random(x.shape) >= self.p
        return x * self.mask / (1 - self.p)

    def backward(self, dy):
        return dy * self.mask / (1 - self.p)


@exhibit("dropout mask missing", "What gradient gets what was zeroed?", "* self.mask", with_mask)
class DropoutWithoutMask(Dropout):
    def backward(self, dy):
        return dy / (1 - self.p)


@exhibit(
    "dropout mask scaled twice or not at all",
    "What does self.mask hold by now?",
    "return dy * self.mask",
    with_mask,
)
class DropoutScaledTwice(Dropout):
    def forward(self, x):
        self.mask = (self.rng.random(x.shape) >= self.p) / (1 - self.p)
        return x * self.mask

    def backward(self, dy):
        return dy * self.mask / (1 - self.p)


@exhibit(
    "dropout mask scaled twice or not at all",
    "The forward divides by 1 - p.",
    "return dy * self.mask / (1 - self.p)",
    with_mask_over_time,
)
class LockedDropoutUnscaled:
    def __init__(self, p, seed):
        self.p, self.rng = p, np.random.default_rng(seed)

    def forward(self, x):
        N, _, D = x.shape
        self.mask = self.rng.random((N, 1, D)) >= self.p
        return x * self.mask / (1 - self.p)

    def backward(self, dy):
        return dy * self.mask


@exhibit(
    "dropout mask missing",
    "What did TimeDropout keep?",
    "return dy * scaled_mask",
    lambda kind, rng, s: (kind(0.4, rng=rng), (rng.normal(size=(s.N + 1, s.T, s.D + 1)),)),
)
class ForgetfulDropout(layers.TimeDropout):
    def backward(self, dy):
        self.saved()
        return dy
