import numpy as np


class StridedConv:
    """1-d convolution, stride s, no pad; x (N, C, L), W (F, C, K)."""

    def __init__(self, W, b, stride):
        self.W, self.b, self.stride = W, b, stride

    def forward(self, x):
        K, s = self.W.shape[2], self.stride
        self.x = x
        self.n_out = (x.shape[2] - K) // s + 1
        cols = [
            np.tensordot(x[:, :, i * s : i * s + K], self.W, axes=([1, 2], [1, 2]))
            for i in range(self.n_out)
        ]
        return np.stack(cols, axis=2) + self.b[:, None]

    def backward(self, dout):
        K, s = self.W.shape[2], self.stride
        self.dW = np.zeros_like(self.W)
        self.db = dout.sum(axis=(0, 2))
        dx = np.zeros_like(self.x)
        for i in range(self.n_out):
            window = self.x[:, :, i * s : i * s + K]
            self.dW += np.tensordot(dout[:, :, i], window, axes=(0, 0))
            dx[:, :, i * s : i * s + K] += np.tensordot(dout[:, :, i], self.W, axes=(1, 0))
        return dx


class DilatedCausal:
    """y_t = sum over k of x_(t - k d) W_k, nothing before the first step; x (N, T, D)."""

    def __init__(self, W, dilation):
        self.W = W
        self.dilation = dilation

    def forward(self, x):
        self.x = x
        T = x.shape[1]
        y = x @ self.W[0]
        for k in range(1, len(self.W)):
            shift = k * self.dilation
            y[:, shift:] += x[:, : T - shift] @ self.W[k]
        return y

    def backward(self, dy):
        T = dy.shape[1]
        self.dW = np.zeros_like(self.W)
        dx = dy @ self.W[0].T
        self.dW[0] = np.einsum("ntd,nth->dh", self.x, dy)
        for k in range(1, len(self.W)):
            shift = k * self.dilation
            dx[:, : T - shift] += dy[:, shift:] @ self.W[k].T
            self.dW[k] = np.einsum("ntd,nth->dh", self.x[:, : T - shift], dy[:, shift:])
        return dx


def deconv_forward(x, w, b):
    """Transposed 1-d convolution with stride 2: x (N, L, C), w (K, C, F)."""
    N, L, C = x.shape
    K, _, F = w.shape
    out = np.zeros((N, 2 * (L - 1) + K, F)) + b
    for i in range(L):
        for k in range(K):
            out[:, 2 * i + k] = out[:, 2 * i + k] + x[:, i] @ w[k]
    return out, (x, w)


def deconv_backward(dout, cache):
    x, w = cache
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for i in range(x.shape[1]):
        for k in range(w.shape[0]):
            dx[:, i] += dout[:, 2 * i + k] @ w[k].T
            dw[k] += x[:, i].T @ dout[:, 2 * i + k]
    # the bias was added at every place
    db = dout.sum(axis=(0, 1))
    return dx, dw, db


class SeparableConv:
    """Depthwise (one kernel of width 3 per channel), relu, then pointwise; x (N, L, C)."""

    def __init__(self, Wd, Wp):
        self.Wd, self.Wp = Wd, Wp

    def forward(self, x):
        self.x = x
        n = x.shape[1] - 2
        self.z = sum(x[:, k : k + n] * self.Wd[k] for k in range(3))
        self.a = np.maximum(self.z, 0)
        return self.a @ self.Wp

    def backward(self, dy):
        n = dy.shape[1]
        self.dWp = np.einsum("nlc,nlf->cf", self.a, dy)
        dz = (dy @ self.Wp.T) * (self.z > 0)
        self.dWd = np.zeros_like(self.Wd)
        dx = np.zeros_like(self.x)
        for k in range(3):
            self.dWd[k] = (self.x[:, k : k + n] * dz).sum(axis=(0, 1))
            dx[:, k : k + n] += dz * self.Wd[k]
        return dx


class LinearUpsample:
    """Twice the length: every step, and between two steps their mean (at the end the last)."""

    def forward(self, x):
        nxt = np.concatenate([x[:, 1:], x[:, -1:]], axis=1)
        y = np.stack([x, (x + nxt) / 2], axis=2)
        return y.reshape(x.shape[0], -1, x.shape[2])

    def backward(self, dy):
        N, _, D = dy.shape
        dy = dy.reshape(N, -1, 2, D)
        direct, between = dy[:, :, 0], dy[:, :, 1]
        dx = direct + between / 2
        dx[:, 1:] += between[:, :-1] / 2
        dx[:, -1] += between[:, -1] / 2
        return dx
