import numpy as np


class WeightNorm:
    """y = x W + b with W = g V / |V|, the norm of every column."""

    def __init__(self, V, g, b):
        self.V, self.g, self.b = V, g, b

    def forward(self, x):
        self.x = x
        self.norm = np.sqrt((self.V**2).sum(axis=0))
        self.unit = self.V / self.norm
        self.W = self.g * self.unit
        return x @ self.W + self.b

    def backward(self, dy):
        # first the gradient of the product W, then those of V and g
        dW = self.x.T @ dy
        self.db = dy.sum(axis=0)
        self.dg = (dW * self.unit).sum(axis=0)
        dunit = dW * self.g
        self.dV = (dunit - self.unit * (dunit * self.unit).sum(axis=0)) / self.norm
        return dy @ self.W.T


class ScaleNorm:
    """g * x / |x| with one g, an array of shape (1,)."""

    def __init__(self, g):
        self.params, self.grads = [g], [np.zeros_like(g)]

    def forward(self, x):
        self.x = x
        self.length = np.sqrt(np.sum(x**2, axis=-1, keepdims=True))
        return self.params[0] * x / self.length

    def backward(self, dout):
        (g,) = self.params
        unit = self.x / self.length
        self.grads[0][0] = np.sum(dout * unit)
        dunit = g * dout
        along = np.sum(dunit * unit, axis=-1, keepdims=True)
        dx = (dunit - along * unit) / self.length
        return dx


def instancenorm_forward(x, gamma, beta):
    """Normalises each channel of each image; x has shape (N, C, L)."""
    mu = x.mean(axis=2, keepdims=True)
    xc = x - mu
    var = np.mean(xc**2, axis=2, keepdims=True)
    inv = 1.0 / np.sqrt(var + 1e-5)
    xhat = xc * inv
    out = gamma[None, :, None] * xhat + beta[None, :, None]
    return out, (xc, inv, xhat, gamma)


def instancenorm_backward(dout, cache):
    xc, inv, xhat, gamma = cache
    L = xc.shape[2]
    dgamma = np.sum(dout * xhat, axis=(0, 2))
    dbeta = np.sum(dout, axis=(0, 2))
    dxhat = dout * gamma[None, :, None]
    dinv = np.sum(dxhat * xc, axis=2, keepdims=True)
    dvar = dinv * -0.5 * inv**3
    dxc = dxhat * inv  # first way: xhat = xc * inv
    dxc += dvar * 2.0 * xc / L
    dx = dxc - np.mean(dxc, axis=2, keepdims=True)
    return dx, dgamma, dbeta


class PowerMean:
    """(mean over time of x^p)^(1/p) for positive x."""

    def __init__(self, p):
        self.p = p

    def forward(self, x):
        self.x = x
        self.mean = np.mean(x**self.p, axis=1)
        self.y = self.mean ** (1 / self.p)
        return self.y

    def backward(self, dy):
        T = self.x.shape[1]
        dmean = dy * self.mean ** (1 / self.p - 1) / self.p
        dpow = dmean[:, None, :] / T
        dx = dpow * self.p * self.x ** (self.p - 1)
        return dx


class LogSumExpPool:
    """log(mean over the true steps of exp(r x)) / r, a smooth maximum over time."""

    def __init__(self, r):
        self.r = r

    def forward(self, x, mask):
        self.x = x
        self.mask = mask[:, :, None]
        self.total = (np.exp(self.r * x) * self.mask).sum(axis=1)
        self.count = self.mask.sum(axis=1)
        return np.log(self.total / self.count) / self.r

    def backward(self, dout):
        dtotal = dout / self.total / self.r
        de = dtotal[:, None, :] * self.mask
        dx = de * np.exp(self.r * self.x) * self.r
        return dx


class AttentivePool:
    """Weights softmax(tanh(h W + b) u) over time, then the weighted sum."""

    def __init__(self, W, b, u):
        self.params = {"W": W, "b": b, "u": u}
        self.grads = {}

    def forward(self, h):
        self.h = h
        self.k = np.tanh(h @ self.params["W"] + self.params["b"])
        s = self.k @ self.params["u"]
        s = np.exp(s - s.max(axis=1, keepdims=True))
        self.alpha = s / s.sum(axis=1, keepdims=True)
        return np.einsum("nt,ntd->nd", self.alpha, h)

    def backward(self, dv):
        dalpha = np.einsum("nd,ntd->nt", dv, self.h)
        dh = np.einsum("nt,nd->ntd", self.alpha, dv)
        ds = self.alpha * (dalpha - np.sum(dalpha * self.alpha, axis=1, keepdims=True))
        self.grads["u"] = np.einsum("nt,ntk->k", ds, self.k)
        dk = np.einsum("nt,k->ntk", ds, self.params["u"])
        dz = dk * (1 - self.k**2)
        self.grads["W"] = np.einsum("ntd,ntk->dk", self.h, dz)
        self.grads["b"] = np.einsum("ntk->k", dz)
        dh = dh + dz @ self.params["W"].T
        return dh


class MeanAndDeviation:
    """Statistics pooling: mean and standard deviation over time, side by side."""

    def forward(self, x):
        self.x = x
        self.mu = x.mean(axis=1)
        self.centred = x - self.mu[:, None, :]
        self.sd = np.sqrt((self.centred**2).mean(axis=1) + 1e-6)
        return np.concatenate([self.mu, self.sd], axis=1)

    def backward(self, dy):
        T, D = self.x.shape[1:]
        dmu, dsd = dy[:, :D], dy[:, D:]
        dvar = dsd / (2 * self.sd)
        dx = 2 * self.centred * dvar[:, None, :] / T
        dx = dx + dmu[:, None, :] / T
        return dx
