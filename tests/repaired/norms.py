"""Normalisations: layer, batch, root mean square, and length."""

import numpy as np

from tests.museum import exhibit


def rows(kind, rng, s):
    return kind(rng.normal(size=s.D + 1), rng.normal(size=s.D + 1)), (
        rng.normal(size=(s.N + 2, s.D + 1)),
    )


def plain(kind, rng, s):
    return kind(), (rng.normal(size=(s.N + 1, s.D + 1)),)


def pairs(kind, rng, s):
    return kind(), (rng.normal(size=(s.N + 1, s.D + 1)), rng.normal(size=(s.N + 1, s.D + 1)))


class BatchNorm:
    def __init__(self, gamma, beta):
        self.gamma, self.beta = gamma, beta

    def forward(self, x):
        self.mu = x.mean(axis=0)
        self.xc = x - self.mu
        self.var = np.mean(self.xc**2, axis=0)
        self.std = np.sqrt(self.var + 1e-5)
        self.xn = self.xc / self.std
        return self.gamma * self.xn + self.beta

    def backward(self, dy):
        N = len(dy)
        self.dbeta = dy.sum(axis=0)
        self.dgamma = np.sum(self.xn * dy, axis=0)
        dxn = self.gamma * dy
        dxc = dxn / self.std
        dstd = -np.sum((dxn * self.xc) / (self.std * self.std), axis=0)
        dvar = 0.5 * dstd / self.std
        dxc = dxc + (2.0 / N) * self.xc * dvar
        dmu = np.sum(dxc, axis=0)
        return dxc - dmu / N


@exhibit("term of a sum or product missing", "", "dmu", rows)
class BatchNormNoMean(BatchNorm):
    def backward(self, dy):
        N = len(dy)
        self.dbeta = dy.sum(axis=0)
        self.dgamma = np.sum(self.xn * dy, axis=0)
        dxn = self.gamma * dy
        dxc = dxn / self.std
        dstd = -np.sum((dxn * self.xc) / (self.std * self.std), axis=0)
        return dxc + (2.0 / N) * self.xc * 0.5 * dstd / self.std


@exhibit("constant factor", "", "0.5 * dstd", rows)
class BatchNormNoHalf(BatchNorm):
    def backward(self, dy):
        N = len(dy)
        self.dbeta = dy.sum(axis=0)
        self.dgamma = np.sum(self.xn * dy, axis=0)
        dxn = self.gamma * dy
        dxc = dxn / self.std
        dstd = -np.sum((dxn * self.xc) / (self.std * self.std), axis=0)
        dvar = dstd / self.std
        dxc = dxc + (2.0 / N) * self.xc * dvar
        return dxc - dxc.sum(axis=0) / N


@exhibit("term of a sum or product missing", "", "gamma * dy", rows)
class BatchNormNoGamma(BatchNorm):
    def backward(self, dy):
        dx = BatchNorm.backward(self, dy / self.gamma)
        BatchNorm.backward(self, dy)
        return dx


@exhibit("another value in its place", "", "xn * dy", rows)
class BatchNormCentredGamma(BatchNorm):
    def backward(self, dy):
        dx = super().backward(dy)
        self.dgamma = np.sum(self.xc * dy, axis=0)
        return dx


@exhibit("sign", "", "-np.sum", rows)
class BatchNormSign(BatchNorm):
    def backward(self, dy):
        N = len(dy)
        self.dbeta = dy.sum(axis=0)
        self.dgamma = np.sum(self.xn * dy, axis=0)
        dxn = self.gamma * dy
        dxc = dxn / self.std
        dstd = np.sum((dxn * self.xc) / (self.std * self.std), axis=0)
        dvar = 0.5 * dstd / self.std
        dxc = dxc + (2.0 / N) * self.xc * dvar
        return dxc - dxc.sum(axis=0) / N


class LayerNorm2:
    def __init__(self, g, b):
        self.g, self.b = g, b

    def forward(self, x):
        self.mean = x.mean(-1, keepdims=True)
        self.var = x.var(-1, keepdims=True)
        self.inv = 1.0 / np.sqrt(self.var + 1e-5)
        self.xhat = (x - self.mean) * self.inv
        return self.g * self.xhat + self.b

    def backward(self, dy):
        D = dy.shape[-1]
        self.dg = (dy * self.xhat).sum(0)
        self.db = dy.sum(0)
        d = dy * self.g
        return (
            self.inv
            / D
            * (
                D * d
                - d.sum(-1, keepdims=True)
                - self.xhat * (d * self.xhat).sum(-1, keepdims=True)
            )
        )


@exhibit("term of a sum or product missing", "", "self.inv", rows)
class LayerNormNoInv(LayerNorm2):
    def backward(self, dy):
        return super().backward(dy) / self.inv


@exhibit("summed or broadcast over the wrong axis", "", "-1", rows)
class LayerNormAxis(LayerNorm2):
    def backward(self, dy):
        D = dy.shape[-1]
        self.dg = (dy * self.xhat).sum(0)
        self.db = dy.sum(0)
        d = dy * self.g
        return (
            self.inv
            / D
            * (D * d - d.sum(0, keepdims=True) - self.xhat * (d * self.xhat).sum(-1, keepdims=True))
        )


@exhibit("term of a sum or product missing", "", "dy * self.g", rows)
class LayerNormNoGain(LayerNorm2):
    def backward(self, dy):
        dx = super().backward(dy / self.g)
        self.dg = (dy * self.xhat).sum(0)
        self.db = dy.sum(0)
        return dx


@exhibit("term of a sum or product missing", "", "self.xhat *", rows)
class LayerNormInnerOnly(LayerNorm2):
    def backward(self, dy):
        D = dy.shape[-1]
        self.dg = (dy * self.xhat).sum(0)
        self.db = dy.sum(0)
        d = dy * self.g
        return (
            self.inv
            / D
            * (D * d - d.sum(-1, keepdims=True) - (d * self.xhat).sum(-1, keepdims=True))
        )


class RMSNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b

    def forward(self, x):
        self.x = x
        self.r = np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6)
        return x / self.r * self.g + self.b

    def backward(self, dy):
        self.dg = (dy * self.x / self.r).sum(0)
        self.db = dy.sum(0)
        d = dy * self.g
        inner = (d * self.x).mean(axis=1, keepdims=True)
        return d / self.r - self.x * inner / self.r**3


@exhibit("term of a sum or product missing", "", "r**3", rows)
class RMSNormSquare(RMSNorm):
    def backward(self, dy):
        super().backward(dy)
        d = dy * self.g
        inner = (d * self.x).mean(axis=1, keepdims=True)
        return d / self.r - self.x * inner / self.r**2


@exhibit("constant factor", "", "mean", rows)
class RMSNormSum(RMSNorm):
    def backward(self, dy):
        super().backward(dy)
        d = dy * self.g
        inner = (d * self.x).sum(axis=1, keepdims=True)
        return d / self.r - self.x * inner / self.r**3


class Unit:
    """y = x / |x|."""

    def forward(self, x):
        self.n = np.linalg.norm(x, axis=1, keepdims=True)
        self.y = x / self.n
        return self.y

    def backward(self, dy):
        return (dy - self.y * (self.y * dy).sum(axis=1, keepdims=True)) / self.n


@exhibit("term of a sum or product missing", "", "- y (y dy)", plain)
class UnitNoProjection(Unit):
    def backward(self, dy):
        return dy / self.n


@exhibit("term of a sum or product missing", "", "/ n", plain)
class UnitNoLength(Unit):
    def backward(self, dy):
        return dy - self.y * (self.y * dy).sum(axis=1, keepdims=True)


@exhibit("sign", "", "dy - ", plain)
class UnitSign(Unit):
    def backward(self, dy):
        return (dy + self.y * (self.y * dy).sum(axis=1, keepdims=True)) / self.n


class Cosine:
    def forward(self, a, b):
        self.a, self.b = a, b
        self.na = np.sqrt((a * a).sum(axis=1))
        self.nb = np.sqrt((b * b).sum(axis=1))
        self.cos = (a * b).sum(axis=1) / (self.na * self.nb)
        return self.cos

    def backward(self, dy):
        na, nb, cos = self.na[:, None], self.nb[:, None], self.cos[:, None]
        da = dy[:, None] * (self.b / (na * nb) - cos * self.a / na**2)
        db = dy[:, None] * (self.a / (na * nb) - cos * self.b / nb**2)
        return da, db


@exhibit("term of a sum or product missing", "", "- cos a / na**2", pairs)
class CosineNoNorm(Cosine):
    def backward(self, dy):
        na, nb, _cos = self.na[:, None], self.nb[:, None], self.cos[:, None]
        _, db = super().backward(dy)
        return dy[:, None] * self.b / (na * nb), db


@exhibit("another value in its place", "", "na**2", pairs)
class CosineOtherNorm(Cosine):
    def backward(self, dy):
        na, nb, cos = self.na[:, None], self.nb[:, None], self.cos[:, None]
        da = dy[:, None] * (self.b / (na * nb) - cos * self.a / nb**2)
        return da, super().backward(dy)[1]
