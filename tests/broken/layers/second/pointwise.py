import numpy as np


class CRelu:
    """[relu(x), relu(-x)]: twice as many features."""

    def forward(self, x):
        self.pos = x > 0
        self.neg = x < 0
        return np.concatenate((x * self.pos, -x * self.neg), axis=1)

    def backward(self, dout):
        k = dout.shape[1] // 2
        dp, dn = dout[:, :k], dout[:, k:]
        dx = dp * self.pos
        dx = dx - dn * self.neg
        return dx


class HardSigmoid:
    """0.2 x + 0.5, cut off below 0 and above 1."""

    def forward(self, x):
        lin = 0.2 * x + 0.5
        self.inside = (lin > 0) & (lin < 1)
        self.x = x
        return np.clip(lin, 0, 1)

    def backward(self, dout):
        dx = np.zeros_like(dout)
        dx[self.inside] = 0.2 * dout[self.inside]
        return dx


class Softsign:
    def forward(self, x):
        self.x = x
        self.den = 1 + np.abs(x)
        self.y = x / self.den
        return self.y

    def backward(self, dy):
        slope = 1 / self.den**2
        return dy * slope


def mish_forward(x):
    """x * tanh(softplus(x))"""
    sp = np.log1p(np.exp(x))
    th = np.tanh(sp)
    out = x * th
    return out, (x, th)


def mish_backward(dout, cache):
    x, th = cache
    sig = 1 / (1 + np.exp(-x))
    dth = dout * x
    dsp = dth * (1 - th**2)
    dx = dout * th
    dx = dx + dsp * sig
    return dx


class LogSoftmax:
    def forward(self, x):
        shifted = x - np.max(x, axis=1, keepdims=True)
        self.logp = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
        return self.logp

    def backward(self, dout):
        p = np.exp(self.logp)
        dx = dout - p * np.sum(dout, axis=1, keepdims=True)
        return dx


class Snake:
    """x + sin(a x)^2 / a, one a for every feature."""

    def __init__(self, a):
        self.a = a

    def forward(self, x):
        self.x = x
        self.sin, self.cos = np.sin(self.a * x), np.cos(self.a * x)
        return x + self.sin**2 / self.a

    def backward(self, dy):
        wave = 2 * self.sin * self.cos
        da = dy * wave * self.x / self.a
        da = da - dy * self.sin**2 / self.a**2
        self.da = da.sum(axis=0)
        dx = dy * (1 + wave)
        return dx


class Squash:
    """Capsules: v = |s|^2 / (1 + |s|^2) * s / |s|, over the last axis."""

    @staticmethod
    def forward(ctx, s):
        norm = np.sqrt((s * s).sum(-1, keepdims=True))
        factor = norm / (1 + norm**2)
        ctx.save_for_backward(s, norm, factor)
        return factor * s

    @staticmethod
    def backward(ctx, grad_output):
        s, norm, factor = ctx.saved_tensors
        grad_s = grad_output * factor
        grad_factor = (grad_output * s).sum(-1, keepdims=True)
        grad_norm = grad_factor * (1 - norm**2) / (1 + norm**2) ** 2
        grad_s = grad_s + grad_norm * s / norm
        return grad_s


class CubeFunction:
    """y = a x^3 + b x with numbers a and b for every feature; written for autograd."""

    @staticmethod
    def forward(ctx, x, a, b):
        ctx.save_for_backward(x, a, b)
        return a * x**3 + b * x

    @staticmethod
    def backward(ctx, grad):
        x, a, b = ctx.saved_tensors
        grad_x = grad * (3 * a * x**2 + b)
        grad_a = (grad * x**3).sum(axis=0)
        grad_b = (grad * x).sum(axis=0)
        return grad_x, grad_a, grad_b
