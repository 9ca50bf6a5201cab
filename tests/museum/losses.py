"""Losses."""

import numpy as np

from tests.museum import exhibit


def scores(kind, rng, s):
    return kind(), (rng.normal(size=(s.N + 1, s.V)), rng.integers(0, s.V, size=s.N + 1))


def over_time(kind, rng, s):
    targets = rng.integers(-1, s.V, size=(s.N + 1, s.T))
    targets[0, 0], targets[-1, -1], targets[0, -1] = -1, 0, 1
    return kind(), (rng.normal(size=(s.N + 1, s.T, s.V)), targets)


def labels(kind, rng, s):
    return kind(), (rng.normal(size=(s.N + 1, s.D)), rng.integers(0, 2, size=(s.N + 1, s.D)))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@exhibit("", "", "", scores)
class CrossEntropy:
    """The mean of -log p over the samples, without a mistake."""

    def forward(self, x, t):
        self.t, self.p = t, softmax(x)
        return -np.log(self.p[np.arange(len(t)), t]).sum() / len(t)

    def backward(self, dout=1.0):
        dx = self.p.copy()
        dx[np.arange(len(self.t)), self.t] -= 1
        return dout * dx / len(self.t)


@exhibit("loss not averaged", "The forward takes a mean.", "return dout * dx / len(t)", scores)
class CrossEntropySum(CrossEntropy):
    def backward(self, dout=1.0):
        dx = self.p.copy()
        dx[np.arange(len(self.t)), self.t] -= 1
        return dout * dx


@exhibit("sign", "Downhill is where?", "dx[np.arange(N), t] -= 1", scores)
class CrossEntropyUphill(CrossEntropy):
    def backward(self, dout=1.0):
        dx = -self.p
        dx[np.arange(len(self.t)), self.t] += 1
        return dout * dx / len(self.t)


@exhibit(
    "loss averaged over the wrong count",
    "Over how many numbers is the mean?",
    "return dout * dx / len(t)",
    scores,
)
class CrossEntropyOverAll(CrossEntropy):
    def backward(self, dout=1.0):
        dx = self.p.copy()
        dx[np.arange(len(self.t)), self.t] -= 1
        return dout * dx / dx.size


@exhibit("", "", "", over_time)
class SequenceLoss:
    """The mean over the targets that are not -1, without a mistake."""

    def forward(self, xs, ts):
        N, T, V = xs.shape
        self.shape, self.t = xs.shape, ts.reshape(N * T)
        self.mask = self.t != -1
        self.p = softmax(xs.reshape(N * T, V))
        losses = -np.log(self.p[np.arange(N * T), self.t]) * self.mask
        return losses.sum() / self.mask.sum()

    def backward(self, dout=1.0):
        dx = self.p.copy()
        dx[np.arange(len(self.t)), self.t] -= 1
        dx *= dout / self.mask.sum()
        dx *= self.mask[:, None]
        return dx.reshape(self.shape)


@exhibit(
    "ignored targets counted",
    "What is the gradient of a loss that does not look at a target?",
    "dx *= self.mask[:, None]",
    over_time,
)
class SequenceLossCountsAll(SequenceLoss):
    def backward(self, dout=1.0):
        dx = self.p.copy()
        dx[np.arange(len(self.t)), self.t] -= 1
        dx *= dout / self.mask.sum()
        return dx.reshape(self.shape)


@exhibit(
    "loss averaged over the wrong count",
    "How many targets count?",
    "dx *= dout / self.mask.sum()",
    over_time,
)
class SequenceLossOverNT(SequenceLoss):
    def backward(self, dout=1.0):
        dx = self.p.copy()
        dx[np.arange(len(self.t)), self.t] -= 1
        dx *= dout / len(self.t)
        dx *= self.mask[:, None]
        return dx.reshape(self.shape)


@exhibit("", "", "", labels)
class MeanSquares:
    """Half the mean of the squared error, without a mistake."""

    def forward(self, y, t):
        self.error = y - t
        return (self.error**2).mean() / 2

    def backward(self, dout=1.0):
        return dout * self.error / self.error.size


@exhibit("loss not averaged", "The forward takes a mean.", "/ self.error.size", labels)
class MeanSquaresSum(MeanSquares):
    def backward(self, dout=1.0):
        return dout * self.error


@exhibit("constant factor", "Where is the half?", "dout * self.error / size", labels)
class MeanSquaresTwice(MeanSquares):
    def backward(self, dout=1.0):
        return 2 * dout * self.error / self.error.size


@exhibit(
    "ignored targets counted",
    "A label of -1 is none.",
    "return dout * self.mask * (self.p - t) / count",
    lambda kind, rng, s: (
        kind(),
        (rng.normal(size=s.N + 3), np.r_[-1, 1, rng.integers(-1, 2, size=s.N + 1)]),
    ),
)
class BinaryLossCountsAll:
    def forward(self, s, t):
        self.mask = t >= 0
        self.t = t
        self.p = 1 / (1 + np.exp(-s))
        losses = -np.log(np.where(t == 1, self.p, 1 - self.p))
        return (losses * self.mask).sum() / self.mask.sum()

    def backward(self, dout=1.0):
        return dout * (self.p - (self.t == 1)) / self.mask.sum()


@exhibit(
    "epsilon added inside a function",
    "Of what is the logarithm taken?",
    "-np.log(self.p[np.arange(len(t)), t])",
    scores,
)
class CrossEntropyWithEpsilon(CrossEntropy):
    def forward(self, x, t):
        self.t, self.p = t, softmax(x)
        return -np.log(self.p[np.arange(len(t)), t] + 1e-7).sum() / len(t)


@exhibit(
    "epsilon added inside a function",
    "Of what is the root taken?",
    "np.sqrt(x**2 + 1)",
    lambda kind, rng, s: (kind(), (rng.normal(size=(s.N, s.D)),)),
)
class RootWithEpsilon:
    def forward(self, x):
        self.x = x
        return np.sqrt(x**2 + 1 + 1e-6)

    def backward(self, dy):
        return dy * self.x / np.sqrt(self.x**2 + 1)
