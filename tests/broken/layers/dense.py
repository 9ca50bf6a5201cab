import numpy as np


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


class Affine:
    def __init__(self, W, b):
        self.params = [W, b]
        self.grads = [np.zeros_like(W), np.zeros_like(b)]
        self.x = None

    def forward(self, x):
        W, b = self.params
        self.x = x
        return np.dot(x, W) + b

    def backward(self, dout):
        W, b = self.params
        dx = np.dot(dout, W.T)
        dW = np.dot(self.x.T, dout)
        db = np.sum(dout, axis=0)
        self.grads[0][...] = dW
        self.grads[1][...] = db
        return dx


class TimeAffine:
    def __init__(self, W, b):
        self.W = W
        self.b = b

    def forward(self, xs):
        self.xs = xs
        return xs @ self.W + self.b

    def backward(self, dys):
        self.dW = np.zeros_like(self.W)
        self.db = np.zeros_like(self.b)
        dxs = np.zeros_like(self.xs)
        for t in range(self.xs.shape[1]):
            self.dW += self.xs[:, t].T @ dys[:, t]
            self.db += dys[:, t].sum(axis=0)
            dxs[:, t] = dys[:, t] @ self.W.T
        return dxs


class Bilinear:
    """y_k = a W_k b + c_k."""

    def __init__(self, W, c):
        self.W, self.c = W, c  # (K, A, B), (K,)

    def forward(self, a, b):
        self.a, self.b = a, b
        return np.einsum("na,kab,nb->nk", a, self.W, b) + self.c

    def backward(self, dy):
        self.dW = np.einsum("nk,na,nb->kab", dy, self.a, self.b)
        self.dc = dy.sum(axis=0)
        da = np.einsum("nk,kab,nb->na", dy, self.W, self.b)
        db = np.einsum("nk,kab,na->nb", dy, self.W, self.a)
        return da, db


class Highway:
    """y = g h + (1 - g) x."""

    def __init__(self, Wh, bh, Wg, bg):
        self.Wh, self.bh, self.Wg, self.bg = Wh, bh, Wg, bg

    def forward(self, x):
        h = np.tanh(x @ self.Wh + self.bh)
        g = sigmoid(x @ self.Wg + self.bg)
        self.cache = x, h, g
        return g * h + (1 - g) * x

    def backward(self, dy):
        x, h, g = self.cache
        dh = dy * g
        dg = dy * (h - x)
        zh = dh * (1 - h**2)
        zg = dg * g * (1 - g)
        self.dWh = x.T @ zh
        self.dbh = zh.sum(0)
        self.dWg = x.T @ zg
        self.dbg = zg.sum(0)
        dx = dy * (1 - g)
        dx = dx + zh @ self.Wh.T + zg @ self.Wg.T
        return dx


class ResidualBlock:
    """y = x + relu(x W1 + b1) W2 + b2."""

    def __init__(self, W1, b1, W2, b2):
        self.W1, self.b1, self.W2, self.b2 = W1, b1, W2, b2

    def forward(self, x):
        self.x = x
        self.pre = x @ self.W1 + self.b1
        self.hidden = self.pre * (self.pre > 0)
        return x + self.hidden @ self.W2 + self.b2

    def backward(self, dout):
        self.dW2 = self.hidden.T @ dout
        self.db2 = dout.sum(axis=0)
        dhidden = dout @ self.W2.T
        dpre = dhidden * (self.pre > 0)
        self.dW1 = self.x.T @ dpre
        self.db1 = dpre.sum(axis=0)
        return dout + dpre @ self.W1.T


class SqueezeExcite:
    """Each channel of (N, C, L) times a gate from the means of all channels."""

    def __init__(self, W1, W2):
        self.W1, self.W2 = W1, W2

    def forward(self, x):
        squeezed = x.mean(axis=2)
        hidden = np.tanh(squeezed @ self.W1)
        gate = sigmoid(hidden @ self.W2)
        self.saved = x, squeezed, hidden, gate
        return x * gate[:, :, None]

    def backward(self, dout):
        x, squeezed, hidden, gate = self.saved
        dgate = (dout * x).sum(axis=2)
        dexcite = dgate * gate * (1 - gate)
        self.dW2 = hidden.T @ dexcite
        dhidden = (dexcite @ self.W2.T) * (1 - hidden**2)
        self.dW1 = squeezed.T @ dhidden
        dsqueezed = dhidden @ self.W1.T
        through_gate = dsqueezed[:, :, None] / x.shape[2]
        return dout * gate[:, :, None] + through_gate


class Dropout:
    def __init__(self, ratio, rng):
        self.ratio, self.rng = ratio, rng

    def forward(self, x):
        self.keep = self.rng.random(x.shape) > self.ratio
        return x * self.keep / (1 - self.ratio)

    def backward(self, dout):
        dx = dout * self.keep
        dx = dx / (1 - self.ratio)
        return dx


class LockedDropout:
    """One mask for all steps of a sequence."""

    def __init__(self, p, rng):
        self.p, self.rng = p, rng

    def forward(self, xs):
        N, _, D = xs.shape
        self.mask = (self.rng.random((N, D)) > self.p) / (1 - self.p)
        return xs * self.mask[:, None, :]

    def backward(self, dys):
        return dys * self.mask[:, None, :]
