import numpy as np


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


class DenseExperts:
    """Every expert answers: y = sum over e of gate_e * tanh(x W_e)."""

    def __init__(self, G, W):
        self.G, self.W = G, W

    def forward(self, x):
        self.x = x
        logits = x @ self.G
        e = np.exp(logits - logits.max(axis=1, keepdims=True))
        self.gate = e / e.sum(axis=1, keepdims=True)
        self.expert = [np.tanh(x @ W) for W in self.W]
        return sum(self.gate[:, k : k + 1] * y for k, y in enumerate(self.expert))

    def backward(self, dy):
        self.dW = np.zeros_like(self.W)
        dgate = np.zeros_like(self.gate)
        dx = np.zeros_like(self.x)
        for k, y in enumerate(self.expert):
            dgate[:, k] = (dy * y).sum(axis=1)
            dz = dy * self.gate[:, k : k + 1] * (1 - y**2)
            self.dW[k] = self.x.T @ dz
            dx += dz @ self.W[k].T
        dlogits = self.gate * (dgate - (dgate * self.gate).sum(axis=1, keepdims=True))
        self.dG = self.x.T @ dlogits
        dx += dlogits @ self.G.T
        return dx


class FiLM:
    """A condition c scales and shifts every step of x: y = (1 + c Wg) * x + c Wb."""

    def __init__(self, Wg, Wb):
        self.Wg, self.Wb = Wg, Wb

    def forward(self, x, c):
        self.x, self.c = x, c
        self.gamma = 1 + (c @ self.Wg)[:, None, :]
        beta = (c @ self.Wb)[:, None, :]
        return self.gamma * x + beta

    def backward(self, dout):
        dx = dout * self.gamma
        dgamma = np.sum(dout * self.x, axis=1)
        dbeta = np.sum(dout, axis=1)
        self.dWg = np.dot(self.c.T, dgamma)
        self.dWb = np.dot(self.c.T, dbeta)
        dc = np.dot(dgamma, self.Wg.T) + np.dot(dbeta, self.Wb.T)
        return dx, dc


def swiglu_forward(x, w1, w2, w3):
    """(silu(x w1) * (x w3)) w2, the feed-forward part of Llama."""
    h1 = x @ w1
    h3 = x @ w3
    s = sigmoid(h1)
    act = h1 * s
    mid = act * h3
    return mid @ w2, (x, w1, w2, w3, h1, h3, s, act, mid)


def swiglu_backward(dout, cache):
    x, w1, w2, w3, h1, h3, s, act, mid = cache
    dw2 = mid.T @ dout
    dmid = dout @ w2.T
    dact = dmid * h3
    dh3 = dmid * act
    dh1 = dact * (s + h1 * s * (1 - s))
    dw1 = x.T @ dh1
    dw3 = x.T @ dh3
    dx = dh1 @ w1.T
    dx += dh3 @ w3.T
    return dx, dw1, dw2, dw3


class SineLayer:
    """A layer of SIREN: sin(omega * (x W + b))."""

    def __init__(self, W, b, omega):
        self.W, self.b, self.omega = W, b, omega

    def forward(self, x):
        self.x = x
        self.z = x.dot(self.W) + self.b
        self.out = np.sin(self.omega * self.z)
        return self.out

    def backward(self, dout):
        dz = dout * self.omega * np.cos(self.omega * self.z)
        self.dW = self.x.T.dot(dz)
        self.db = np.sum(dz, axis=0)
        dx = dz.dot(self.W.T)
        return dx


class GatedResidual:
    """y = x + sigmoid(x Wg + bg) * (relu(x W1) W2)."""

    def __init__(self, Wg, bg, W1, W2):
        self.p = {"Wg": Wg, "bg": bg, "W1": W1, "W2": W2}
        self.params = self.p
        self.grads = {}

    def forward(self, x):
        self.x = x
        self.gate = sigmoid(x @ self.p["Wg"] + self.p["bg"])
        self.pre = x @ self.p["W1"]
        self.hid = np.where(self.pre > 0, self.pre, 0)
        self.f = self.hid @ self.p["W2"]
        return x + self.gate * self.f

    def backward(self, dy):
        df = dy * self.gate
        dgate = dy * self.f
        dzg = dgate * self.gate * (1 - self.gate)
        dhid = df @ self.p["W2"].T
        dpre = dhid * (self.pre > 0)
        self.grads["dW2"] = self.hid.T @ df
        self.grads["dW1"] = self.x.T @ dpre
        self.grads["dWg"] = self.x.T @ dzg
        self.grads["dbg"] = dzg.sum(axis=0)
        return dy + dpre @ self.p["W1"].T + dzg @ self.p["Wg"].T


class LayerScale:
    """x + lam * tanh(x W + b): a learned scale for every channel of the branch."""

    def __init__(self, W, b, lam):
        self.W, self.b, self.lam = W, b, lam

    def forward(self, x):
        self.x = x
        self.branch = np.tanh(x @ self.W + self.b)
        return x + self.lam * self.branch

    def backward(self, grad):
        axes = tuple(range(grad.ndim - 1))
        self.lam_grad = (grad * self.branch).sum(axis=axes)
        dbranch = grad * self.lam
        dz = dbranch * (1 - self.branch**2)
        self.W_grad = np.tensordot(self.x, dz, axes=(axes, axes))
        self.b_grad = dz.sum(axis=axes)
        return grad + dz @ self.W.T


class DenseBlock:
    """y1 = relu(x W1), y2 = relu([x, y1] W2), out = [x, y1, y2]."""

    def __init__(self, W1, W2):
        self.W1, self.W2 = W1, W2

    def forward(self, x):
        self.x = x
        self.y1 = np.maximum(x @ self.W1, 0)
        self.both = np.concatenate([x, self.y1], axis=1)
        self.y2 = np.maximum(self.both @ self.W2, 0)
        return np.concatenate([self.both, self.y2], axis=1)

    def backward(self, dout):
        D, G = self.W1.shape
        # split the gradient as the output was put together
        dx = dout[:, :D].copy()
        dy1 = dout[:, D : D + G].copy()
        dy2 = dout[:, D + G :].copy()
        dz2 = dy2 * (self.y2 > 0)
        self.dW2 = self.both.T @ dz2
        dboth = dz2 @ self.W2.T
        dx += dboth[:, :D]
        dy1 += dboth[:, D:]
        dz1 = dy1 * (self.y1 > 0)
        self.dW1 = self.x.T @ dz1
        dx += dz1 @ self.W1.T
        return dx


class BilinearForm:
    """One number for each pair: s = sum of x * (y M), squashed by tanh, no bias."""

    def __init__(self, M):
        self.M = M

    def forward(self, x, y):
        self.x, self.y = x, y
        self.yM = y @ self.M
        self.s = np.tanh((x * self.yM).sum(axis=1))
        return self.s

    def backward(self, ds):
        ds = (ds * (1 - self.s**2))[:, None]
        dx = ds * self.yM
        dyM = ds * self.x
        self.dM = self.y.T @ dyM
        dy = dyM @ self.M.T
        return dx, dy
