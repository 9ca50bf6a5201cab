import numpy as np


class LayerNorm:
    def __init__(self, gamma, beta):
        self.gamma, self.beta = gamma, beta
        self.eps = 1e-5

    def forward(self, x):
        xc = x - x.mean(axis=1, keepdims=True)
        self.std = np.sqrt((xc**2).mean(axis=1, keepdims=True) + self.eps)
        self.x = x
        self.xn = xc / self.std
        return self.gamma * self.xn + self.beta

    def backward(self, dout):
        self.dgamma = (dout * self.xn).sum(axis=0)
        self.dbeta = dout.sum(axis=0)
        dxn = dout * self.gamma
        mean1 = dxn.mean(axis=1, keepdims=True)
        mean2 = (dxn * self.xn).mean(axis=1, keepdims=True)
        return (dxn - mean1 - self.xn * mean2) / self.std


class BatchNorm:
    """Written step by step, as along a computational graph."""

    def __init__(self, gamma, beta):
        self.params = {"gamma": gamma, "beta": beta}
        self.grads = {}

    def forward(self, x):
        mu = np.mean(x, axis=0)
        xmu = x - mu
        var = np.mean(xmu**2, axis=0)
        ivar = 1 / np.sqrt(var + 1e-5)
        xhat = xmu * ivar
        self.cache = (x, xhat, xmu, ivar)
        return self.params["gamma"] * xhat + self.params["beta"]

    def backward(self, dout):
        x, xhat, xmu, ivar = self.cache
        N = dout.shape[0]
        self.grads["beta"] = np.sum(dout, axis=0)
        self.grads["gamma"] = np.sum(dout * xhat, axis=0)
        dxhat = dout * self.params["gamma"]
        dvar = -0.5 * np.sum(dxhat * xmu, axis=0) * ivar**3
        dmu = -np.sum(dxhat * ivar, axis=0)
        dx = dxhat * ivar
        dx += 2 * xmu * dvar / N
        dx += dmu / N
        return dx


class RMSNorm:
    def __init__(self, g):
        self.g = g
        self.dg = np.zeros_like(g)

    def forward(self, x):
        r = np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6)
        y = x / r
        self.cache = (x, r, y)
        return y * self.g

    def backward(self, dz):
        x, r, y = self.cache
        self.dg = np.einsum("ntd,ntd->d", dz, y)
        dy = dz * self.g
        along = np.mean(dy * y, axis=-1, keepdims=True)
        dx = (dy - y * along) / r
        return dx


class GroupNorm:
    """x of (N, C, L), normalised over the channels of a group and all of L."""

    def __init__(self, gamma, beta, groups):
        self.gamma, self.beta, self.groups = gamma, beta, groups

    def forward(self, x):
        N, C, L = x.shape
        g = x.reshape(N, self.groups, -1)
        self.mean = g.mean(axis=2, keepdims=True)
        self.std = np.sqrt(((g - self.mean) ** 2).mean(axis=2, keepdims=True) + 1e-5)
        self.ghat = (g - self.mean) / self.std
        self.xhat = self.ghat.reshape(N, C, L)
        return self.xhat * self.gamma[:, None] + self.beta[:, None]

    def backward(self, dout):
        self.dgamma = (dout * self.xhat).sum(axis=(0, 2))
        self.dbeta = dout.sum(axis=(0, 2))
        dxhat = dout * self.gamma[:, None]
        d = dxhat.reshape(self.ghat.shape)
        first = d.mean(axis=2, keepdims=True)
        second = (d * self.ghat).mean(axis=2, keepdims=True)
        dg = (d - first - self.ghat * second) / self.std
        return dg.reshape(dout.shape)


class L2Normalize:
    def forward(self, v):
        self.v = v
        self.norm = np.sqrt((v**2).sum(axis=1, keepdims=True))
        self.u = v / self.norm
        return self.u

    def backward(self, du):
        radial = (du * self.u).sum(axis=1, keepdims=True)
        dv = (du - self.u * radial) / self.norm
        return dv


class CosineSimilarity:
    """The cosine of each row of a with the same row of b."""

    def forward(self, a, b):
        self.a, self.b = a, b
        self.na = np.sqrt(np.sum(a * a, axis=1))
        self.nb = np.sqrt(np.sum(b * b, axis=1))
        self.cos = np.sum(a * b, axis=1) / (self.na * self.nb)
        return self.cos

    def backward(self, dcos):
        a, b = self.a, self.b
        scale = (dcos / (self.na * self.nb))[:, None]
        pull_a = (dcos * self.cos / self.na**2)[:, None]
        pull_b = (dcos * self.cos / self.nb**2)[:, None]
        da = scale * b - pull_a * a
        db = scale * a - pull_b * b
        return da, db
