import numpy as np


class Conv1d:
    """x (N, C, L), W (F, C, K), zeros on both sides."""

    def __init__(self, W, b, pad=1):
        self.W, self.b, self.pad = W, b, pad

    def forward(self, x):
        self.x = x
        K = self.W.shape[2]
        self.xp = np.pad(x, ((0, 0), (0, 0), (self.pad, self.pad)))
        steps = self.xp.shape[2] - K + 1
        out = np.zeros((len(x), len(self.W), steps), dtype=x.dtype)
        out = out + self.b[:, None]
        for k in range(K):
            window = self.xp[:, :, k : k + steps]
            out = out + np.einsum("ncl,fc->nfl", window, self.W[:, :, k])
        return out

    def backward(self, dout):
        K = self.W.shape[2]
        steps = dout.shape[2]
        self.db = dout.sum(axis=(0, 2))
        self.dW = np.zeros_like(self.W)
        dxp = np.zeros_like(self.xp)
        for k in range(K):
            window = self.xp[:, :, k : k + steps]
            self.dW[:, :, k] = np.einsum("nfl,ncl->fc", dout, window)
            dxp[:, :, k : k + steps] += np.einsum("nfl,fc->ncl", dout, self.W[:, :, k])
        L = self.x.shape[2]
        return dxp[:, :, self.pad : self.pad + L]


class Conv2d:
    """x (N, C, H, W), F filters of (C, k, k), stride 1, no padding; through columns."""

    def __init__(self, W, b):
        self.params = [W, b]
        self.grads = [np.zeros_like(W), np.zeros_like(b)]

    def _columns(self, x, k):
        N, C, H, W = x.shape
        rows = []
        for i in range(H - k + 1):
            for j in range(W - k + 1):
                rows.append(x[:, :, i : i + k, j : j + k].reshape(N, -1))
        return np.stack(rows, axis=1)

    def forward(self, x):
        W, b = self.params
        F, C, k, _ = W.shape
        self.x = x
        self.cols = self._columns(x, k)
        out = self.cols @ W.reshape(F, -1).T + b
        N, _, H, width = x.shape
        return out.transpose(0, 2, 1).reshape(N, F, H - k + 1, width - k + 1)

    def backward(self, dout):
        W, b = self.params
        F, C, k, _ = W.shape
        N, _, oh, ow = dout.shape
        d = dout.reshape(N, F, oh * ow).transpose(0, 2, 1)
        self.grads[0][...] = np.einsum("npf,npq->fq", d, self.cols).reshape(W.shape)
        self.grads[1][...] = d.sum(axis=(0, 1))
        dcols = (d @ W.reshape(F, -1)).reshape(N, oh, ow, C, k, k)
        dx = np.zeros_like(self.x)
        for i in range(oh):
            for j in range(ow):
                dx[:, :, i : i + k, j : j + k] += dcols[:, i, j]
        return dx


class CausalConv:
    """y_t = x_t A + x_(t - d) B, zeros before the beginning."""

    def __init__(self, A, B, dilation):
        self.A, self.B, self.d = A, B, dilation

    def forward(self, xs):
        self.xs = xs
        self.past = np.zeros_like(xs)
        self.past[:, self.d :] = xs[:, : -self.d]
        return xs @ self.A + self.past @ self.B

    def backward(self, dys):
        self.dA = np.einsum("nti,ntj->ij", self.xs, dys)
        self.dB = np.einsum("nti,ntj->ij", self.past, dys)
        dxs = dys @ self.A.T
        dpast = dys @ self.B.T
        dxs[:, : -self.d] += dpast[:, self.d :]
        return dxs


class MaxPool1d:
    """Windows of k with stride s, which overlap."""

    def __init__(self, k=3, s=2):
        self.k, self.s = k, s

    def forward(self, x):
        self.x = x
        N, C, L = x.shape
        n = (L - self.k) // self.s + 1
        self.best = np.zeros((N, C, n), dtype=int)
        for t in range(n):
            window = x[:, :, t * self.s : t * self.s + self.k]
            self.best[:, :, t] = window.real.argmax(axis=2) + t * self.s
        return np.take_along_axis(x, self.best, axis=2)

    def backward(self, dout):
        N, C, n = dout.shape
        dx = np.zeros_like(self.x)
        rows = np.arange(N)[:, None]
        channels = np.arange(C)[None, :]
        for t in range(n):
            dx[rows, channels, self.best[:, :, t]] += dout[:, :, t]
        return dx


class MaxPool2d:
    """Windows of p x p side by side."""

    def __init__(self, p=3):
        self.p = p

    def forward(self, x):
        N, C, H, W = x.shape
        p = self.p
        self.shape = x.shape
        blocks = x.reshape(N, C, H // p, p, W // p, p)
        self.blocks = blocks
        out = blocks.max(axis=(3, 5))
        self.mask = blocks == out[:, :, :, None, :, None]
        return out

    def backward(self, dout):
        spread = dout[:, :, :, None, :, None]
        dx = spread * self.mask
        return dx.reshape(self.shape)


class AvgPool2d:
    def __init__(self, p=3):
        self.p = p

    def forward(self, x):
        N, C, H, W = x.shape
        p = self.p
        self.shape = x.shape
        return x.reshape(N, C, H // p, p, W // p, p).mean(axis=(3, 5))

    def backward(self, dout):
        dx = np.repeat(np.repeat(dout, self.p, axis=2), self.p, axis=3)
        return dx / self.p**2


class MaxOverTime:
    """The largest value of each feature over the steps, as in a convolution for text."""

    def forward(self, hs):
        self.hs = hs
        self.where = hs.real.argmax(axis=1)
        return np.take_along_axis(hs, self.where[:, None, :], axis=1)[:, 0]

    def backward(self, dy):
        N, T, H = self.hs.shape
        dhs = np.zeros_like(self.hs)
        for n in range(N):
            for j in range(H):
                dhs[n, self.where[n, j], j] = dy[n, j]
        return dhs


class MeanOverTime:
    """The mean over the first `lengths` steps of each sequence."""

    def __init__(self, lengths):
        self.lengths = lengths

    def forward(self, hs):
        T = hs.shape[1]
        self.real = (np.arange(T) < self.lengths[:, None])[:, :, None]
        return (hs * self.real).sum(axis=1) / self.lengths[:, None]

    def backward(self, dy):
        share = dy / self.lengths[:, None]
        return share[:, None, :] * self.real
