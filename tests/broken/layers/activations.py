import numpy as np


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


class Sigmoid:
    def __init__(self):
        self.out = None

    def forward(self, x):
        self.out = 1 / (1 + np.exp(-x))
        return self.out

    def backward(self, dout):
        dx = dout * (1.0 - self.out) * self.out
        return dx


class Tanh:
    def forward(self, x):
        self.x = x
        self.y = np.tanh(x)
        return self.y

    def backward(self, dy):
        return dy * (1 - self.y**2)


class Relu:
    def forward(self, x):
        self.x = x
        self.mask = x <= 0
        out = x.copy()
        out[self.mask] = 0
        return out

    def backward(self, dout):
        dx = dout.copy()
        dx[self.mask] = 0
        return dx


class Softmax:
    def forward(self, x):
        e = np.exp(x - x.max(axis=-1, keepdims=True).real)
        self.out = e / e.sum(axis=-1, keepdims=True)
        return self.out

    def backward(self, dout):
        dx = self.out * dout
        sumdx = np.sum(dx, axis=-1, keepdims=True)
        dx = dx - self.out * sumdx
        return dx


class Gelu:
    """The tanh form, 0.5 x (1 + tanh(k (x + 0.044715 x^3)))."""

    def forward(self, x):
        self.k = np.sqrt(2 / np.pi)
        t = np.tanh(self.k * (x + 0.044715 * x**3))
        self.cache = (x, t)
        return 0.5 * x * (1 + t)

    def backward(self, dout):
        x, t = self.cache
        du = self.k * (1 + 3 * 0.044715 * x**2)
        direct = 0.5 * (1 + t)
        inner = 0.5 * x * (1 - t**2) * du
        return dout * (direct + inner)


class Swish:
    """x sigmoid(beta x), a beta for each feature."""

    def __init__(self, beta):
        self.params = [beta]
        self.grads = [np.zeros_like(beta)]

    def forward(self, x):
        (beta,) = self.params
        self.x = x
        self.s = sigmoid(beta * x)
        return x * self.s

    def backward(self, dy):
        (beta,) = self.params
        x, s = self.x, self.s
        da = dy * x * s * (1 - s)
        self.grads[0][...] = np.sum(da * x, axis=0)
        return dy * s + da * beta


class Softplus:
    def forward(self, x):
        self.x = x
        self.y = np.log(1 + np.exp(x))
        return self.y

    def backward(self, dy):
        slope = 1 / (1 + np.exp(-self.x))
        return dy * slope


class Elu:
    def __init__(self, alpha=1.5):
        self.alpha = alpha

    def forward(self, x):
        self.x = x
        self.y = np.where(x > 0, x, self.alpha * (np.exp(x) - 1))
        return self.y

    def backward(self, dy):
        slope = np.where(self.x > 0, 1.0, self.y + self.alpha)
        return slope * dy


class LeakyRelu:
    def __init__(self, slope=0.1):
        self.slope = slope

    def forward(self, x):
        self.x = x
        return np.where(x > 0, x, self.slope * x)

    def backward(self, dout):
        dx = dout.copy()
        negative = self.x < 0
        dx[negative] *= self.slope
        return dx


class PRelu:
    """A learned slope for each channel of (N, C, L)."""

    def __init__(self, alpha):
        self.alpha = alpha
        self.dalpha = None

    def forward(self, x):
        self.x = x
        a = self.alpha[None, :, None]
        self.y = np.where(x > 0, x, a * x)
        return self.y

    def backward(self, dy):
        a = self.alpha[None, :, None]
        below = self.x < 0
        self.dalpha = (dy * self.x * below).sum(axis=(0, 2))
        return dy * np.where(below, a, 1.0)


class Maxout:
    """The largest of K affine pieces."""

    def __init__(self, W, b):
        self.W, self.b = W, b  # (K, D, H), (K, H)

    def forward(self, x):
        self.x = x
        z = np.einsum("nd,kdh->nkh", x, self.W) + self.b
        self.winner = np.argmax(z.real, axis=1)[:, None, :] == np.arange(len(self.W))[None, :, None]
        return np.where(self.winner, z, 0).sum(axis=1)

    def backward(self, dout):
        dz = dout[:, None, :] * self.winner
        self.dW = np.einsum("nd,nkh->kdh", self.x, dz)
        self.db = dz.sum(axis=0)
        return np.einsum("nkh,kdh->nd", dz, self.W)


class Glu:
    """The first half of the features, gated by the second."""

    def forward(self, x):
        a, b = np.split(x, 2, axis=1)
        gate = sigmoid(b)
        self.cache = a, gate
        return a * gate

    def backward(self, dout):
        a, gate = self.cache
        da = dout * gate
        dgate = dout * a
        db = dgate * gate * (1 - gate)
        return np.concatenate([da, db], axis=1)
