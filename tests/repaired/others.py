"""Losses, element-wise functions, lookups and products."""

import numpy as np

from tests.museum import exhibit


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def pair(kind, rng, s):
    return kind(), (rng.normal(size=(s.N + 1, s.D)), rng.normal(size=(s.N + 1, s.D)))


def single(kind, rng, s):
    return kind(), (rng.normal(size=(s.N + 1, s.D + 1)),)


def slopes(kind, rng, s):
    return kind(rng.uniform(0.1, 0.4, size=s.D + 1)), (rng.normal(size=(s.N + 1, s.D + 1)),)


def binary(kind, rng, s):
    return kind(), (rng.normal(size=s.N + 3), rng.integers(0, 2, size=s.N + 3).astype(float))


def classes(kind, rng, s):
    return kind(), (rng.normal(size=(s.N + 1, s.D + 2)), rng.integers(0, s.D + 2, size=s.N + 1))


def words(kind, rng, s):
    E, V = rng.normal(size=(9, s.D)), rng.normal(size=(9, s.D))
    return kind(E, V), (rng.integers(0, 9, s.N + 1), rng.integers(0, 9, (s.N + 1, 4)))


def bilinear(kind, rng, s):
    return kind(rng.normal(size=(s.H, s.D, s.D))), (
        rng.normal(size=(s.N, s.D)),
        rng.normal(size=(s.N, s.D)),
    )


def mlp(kind, rng, s):
    D, H = s.D, s.H
    return kind(
        rng.normal(size=(D, H)), rng.normal(size=H), rng.normal(size=(H, D)), rng.normal(size=D)
    ), (rng.normal(size=(s.N, D)),)


class Huber:
    def forward(self, x, targets):
        self.r = x - targets
        small = np.abs(self.r) < 1
        return np.where(small, 0.5 * self.r**2, np.abs(self.r) - 0.5).mean()

    def backward(self, dout=1.0):
        return dout * np.clip(self.r, -1, 1) / self.r.size


@exhibit("loss not averaged", "", "/ size", pair)
class HuberSum(Huber):
    def backward(self, dout=1.0):
        return dout * np.clip(self.r, -1, 1)


@exhibit("derivative of the activation missing or of another function", "", "clip", pair)
class HuberNoClip(Huber):
    def backward(self, dout=1.0):
        return dout * self.r / self.r.size


@exhibit("sign", "", "x - t", pair)
class HuberSign(Huber):
    def backward(self, dout=1.0):
        return -dout * np.clip(self.r, -1, 1) / self.r.size


class Logistic:
    def forward(self, x, targets):
        self.p, self.t = sigmoid(x), targets
        return -np.mean(targets * np.log(self.p) + (1 - targets) * np.log(1 - self.p))

    def backward(self, dout=1.0):
        return dout * (self.p - self.t) / len(self.t)


@exhibit("term of a sum or product missing", "", "- t", binary)
class LogisticNoTarget(Logistic):
    def backward(self, dout=1.0):
        return dout * self.p / len(self.t)


@exhibit("derivative of the activation missing or of another function", "", "p - t", binary)
class LogisticExtraSlope(Logistic):
    def backward(self, dout=1.0):
        return dout * (self.p - self.t) * self.p * (1 - self.p) / len(self.t)


class Hinge:
    """Multi-class hinge loss."""

    def forward(self, x, t):
        self.x, self.t = x, t
        n = np.arange(len(t))
        self.m = np.maximum(0, x - x[n, t][:, None] + 1)
        self.m[n, t] = 0
        return self.m.sum() / len(t)

    def backward(self, dout=1.0):
        d = (self.m > 0) * 1.0
        d[np.arange(len(self.t)), self.t] = -d.sum(axis=1)
        return dout * d / len(self.t)


@exhibit("term of a sum or product missing", "", "-d.sum", classes)
class HingeNoTarget(Hinge):
    def backward(self, dout=1.0):
        return dout * (self.m > 0) / len(self.t)


@exhibit("sign", "", "-d.sum", classes)
class HingeTargetSign(Hinge):
    def backward(self, dout=1.0):
        d = (self.m > 0) * 1.0
        d[np.arange(len(self.t)), self.t] = d.sum(axis=1)
        return dout * d / len(self.t)


class PReLU:
    def __init__(self, a):
        self.a = a

    def forward(self, x):
        self.x = x
        return np.where(x > 0, x, self.a * x)

    def backward(self, dy):
        self.da = (dy * self.x * (self.x <= 0)).sum(axis=0)
        return dy * np.where(self.x > 0, 1, self.a)


@exhibit("derivative of the activation missing or of another function", "", "a", slopes)
class PReLUAsReLU(PReLU):
    def backward(self, dy):
        super().backward(dy)
        return dy * (self.x > 0)


@exhibit("derivative of the activation missing or of another function", "", "x <= 0", slopes)
class PReLUAllOfX(PReLU):
    def backward(self, dy):
        dx = super().backward(dy)
        self.da = (dy * self.x).sum(axis=0)
        return dx


class GELU:
    def forward(self, x):
        self.x = x
        self.t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
        return 0.5 * x * (1 + self.t)

    def backward(self, dy):
        x, t = self.x, self.t
        dt = (1 - t**2) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
        return dy * (0.5 * (1 + t) + 0.5 * x * dt)


@exhibit("constant factor", "", "3 *", single)
class GELUNoThree(GELU):
    def backward(self, dy):
        x, t = self.x, self.t
        dt = (1 - t**2) * np.sqrt(2 / np.pi) * (1 + 0.044715 * x**2)
        return dy * (0.5 * (1 + t) + 0.5 * x * dt)


@exhibit("term of a sum or product missing", "", "+ 0.5 x dt", single)
class GELUFirstTerm(GELU):
    def backward(self, dy):
        return dy * 0.5 * (1 + self.t)


@exhibit("term of a sum or product missing", "", "x dt", single)
class GELUNoX(GELU):
    def backward(self, dy):
        x, t = self.x, self.t
        dt = (1 - t**2) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
        return dy * (0.5 * (1 + t) + 0.5 * dt)


class Swish:
    def forward(self, x):
        self.x, self.s = x, sigmoid(x)
        return x * self.s

    def backward(self, dy):
        return dy * (self.s + self.x * self.s * (1 - self.s))


@exhibit("term of a sum or product missing", "", "self.s +", single)
class SwishSecond(Swish):
    def backward(self, dy):
        return dy * self.x * self.s * (1 - self.s)


@exhibit("term of a sum or product missing", "", "self.x *", single)
class SwishNoX(Swish):
    def backward(self, dy):
        return dy * (self.s + self.s * (1 - self.s))


class SkipGram:
    """Negative sampling: the first column of ids is right, the others are drawn."""

    def __init__(self, E, V):
        self.E, self.V = E, V

    def forward(self, ids, outputs):
        self.ids, self.outputs = ids, outputs
        self.h = self.E[ids]
        self.s = (self.V[outputs] * self.h[:, None]).sum(axis=2)
        self.label = np.zeros_like(self.s)
        self.label[:, 0] = 1
        p = sigmoid(self.s)
        return -np.sum(self.label * np.log(p) + (1 - self.label) * np.log(1 - p))

    def backward(self, dout=1.0):
        ds = dout * (sigmoid(self.s) - self.label)
        self.dE, self.dV = np.zeros_like(self.E), np.zeros_like(self.V)
        np.add.at(self.dV, self.outputs, ds[:, :, None] * self.h[:, None])
        np.add.at(self.dE, self.ids, (ds[:, :, None] * self.V[self.outputs]).sum(axis=1))


@exhibit("repeated ids overwritten", "", "np.add.at", words)
class SkipGramAssigns(SkipGram):
    def backward(self, dout=1.0):
        super().backward(dout)
        ds = dout * (sigmoid(self.s) - self.label)
        self.dV = np.zeros_like(self.V)
        self.dV[self.outputs] += ds[:, :, None] * self.h[:, None]


@exhibit("term of a sum or product missing", "", "sum", words)
class SkipGramRightOnly(SkipGram):
    def backward(self, dout=1.0):
        super().backward(dout)
        ds = dout * (sigmoid(self.s) - self.label)
        self.dE = np.zeros_like(self.E)
        np.add.at(self.dE, self.ids, ds[:, 0, None] * self.V[self.outputs[:, 0]])


@exhibit("term of a sum or product missing", "", "- label", words)
class SkipGramNoLabel(SkipGram):
    def backward(self, dout=1.0):
        self.label = 0 * self.label
        super().backward(dout)


class Bilinear:
    def __init__(self, W):
        self.W = W

    def forward(self, x, y):
        self.x, self.y = x, y
        return np.einsum("nd,hde,ne->nh", x, self.W, y)

    def backward(self, g):
        self.dW = np.einsum("nh,nd,ne->hde", g, self.x, self.y)
        return np.einsum("nh,hde,ne->nd", g, self.W, self.y), np.einsum(
            "nh,hde,nd->ne", g, self.W, self.x
        )


@exhibit("transposed", "", "W", bilinear)
class BilinearTransposed(Bilinear):
    def backward(self, g):
        _dx, dy = super().backward(g)
        return np.einsum("nh,hed,ne->nd", g, self.W, self.y), dy


@exhibit("another value in its place", "", "y", bilinear)
class BilinearOther(Bilinear):
    def backward(self, g):
        dx, dy = super().backward(g)
        self.dW = np.einsum("nh,nd,ne->hde", g, self.x, self.x)
        return dx, dy


class MLP:
    def __init__(self, W1, b1, W2, b2):
        self.W1, self.b1, self.W2, self.b2 = W1, b1, W2, b2

    def forward(self, x):
        self.x = x
        self.z = x @ self.W1 + self.b1
        self.h = np.maximum(self.z, 0)
        return x + self.h @ self.W2 + self.b2

    def backward(self, dy):
        self.db2, self.dW2 = dy.sum(0), self.h.T @ dy
        dz = dy @ self.W2.T * (self.z > 0)
        self.db1, self.dW1 = dz.sum(0), self.x.T @ dz
        return dz @ self.W1.T + dy


@exhibit("term of a sum or product missing", "", "+ dy", mlp)
class MLPNoSkip(MLP):
    def backward(self, dy):
        return super().backward(dy) - dy


@exhibit("another value in its place", "", "self.h.T", mlp)
class MLPBeforeReLU(MLP):
    def backward(self, dy):
        dx = super().backward(dy)
        self.dW2 = self.z.T @ dy
        return dx


@exhibit("derivative of the activation missing or of another function", "", "dz", mlp)
class MLPBiasBefore(MLP):
    def backward(self, dy):
        dx = super().backward(dy)
        self.db1 = (dy @ self.W2.T).sum(0)
        return dx


@exhibit("cache overwritten or mutated", "", "update after", mlp)
class MLPUpdatesFirst(MLP):
    def backward(self, dy):
        self.db2, self.dW2 = dy.sum(0), self.h.T @ dy
        W2 = self.W2 - 0.1 * self.dW2
        dz = dy @ W2.T * (self.z > 0)
        self.db1, self.dW1 = dz.sum(0), self.x.T @ dz
        return dz @ self.W1.T + dy
