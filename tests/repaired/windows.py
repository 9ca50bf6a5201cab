"""Convolution and pooling, with loops."""

import numpy as np

from tests.museum import exhibit


def conv(kind, rng, s):
    C, K = 2 + s.D % 2, 3
    return kind(rng.normal(size=(K, C, s.H)), rng.normal(size=s.H)), (
        rng.normal(size=(s.N, s.T + K, C)),
    )


def image(kind, rng, s):
    return kind(rng.normal(size=(2, 3, 2, 2)), rng.normal(size=2)), (rng.normal(size=(2, 3, 5, 4)),)


def pool(kind, rng, s):
    return kind(), (rng.normal(size=(s.N, s.D, 2 * s.T + 1)),)


class Conv1d:
    """y[n, t] = sum over k of x[n, t + k] W[k] + b."""

    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        K, _, H = self.W.shape
        T = x.shape[1] - K + 1
        y = np.zeros((len(x), T, H))
        for t in range(T):
            y[:, t] = np.tensordot(x[:, t : t + K], self.W, axes=([1, 2], [0, 1])) + self.b
        return y

    def backward(self, dy):
        K = len(self.W)
        self.dW, self.db = np.zeros_like(self.W), dy.sum(axis=(0, 1))
        dx = np.zeros_like(self.x)
        for t in range(dy.shape[1]):
            self.dW += np.tensordot(self.x[:, t : t + K], dy[:, t], axes=([0], [0]))
            dx[:, t : t + K] += np.tensordot(dy[:, t], self.W, axes=([1], [2]))
        return dx


@exhibit("assigned instead of accumulated", "", "dx +=", conv)
class Conv1dAssigns(Conv1d):
    def backward(self, dy):
        super().backward(dy)
        K = len(self.W)
        dx = np.zeros_like(self.x)
        for t in range(dy.shape[1]):
            dx[:, t : t + K] = np.tensordot(dy[:, t], self.W, axes=([1], [2]))
        return dx


@exhibit("assigned instead of accumulated", "", "dW +=", conv)
class Conv1dAssignsWeight(Conv1d):
    def backward(self, dy):
        dx = super().backward(dy)
        K = len(self.W)
        for t in range(dy.shape[1]):
            self.dW = np.tensordot(self.x[:, t : t + K], dy[:, t], axes=([0], [0]))
        return dx


@exhibit("time reversed", "", "flip", conv)
class Conv1dFlipped(Conv1d):
    def backward(self, dy):
        super().backward(dy)
        K = len(self.W)
        dx = np.zeros_like(self.x)
        for t in range(dy.shape[1]):
            dx[:, t : t + K] += np.tensordot(dy[:, t], self.W[::-1], axes=([1], [2]))
        return dx


@exhibit("time off by one", "", "t + 1", conv)
class Conv1dLate(Conv1d):
    def backward(self, dy):
        dx = super().backward(dy)
        K = len(self.W)
        self.dW = np.zeros_like(self.W)
        for t in range(dy.shape[1] - 1):
            self.dW += np.tensordot(self.x[:, t + 1 : t + 1 + K], dy[:, t], axes=([0], [0]))
        t = dy.shape[1] - 1
        self.dW += np.tensordot(self.x[:, t : t + K], dy[:, t], axes=([0], [0]))
        return dx


@exhibit("assigned instead of accumulated", "", "sum", conv)
class Conv1dBias(Conv1d):
    def backward(self, dy):
        dx = super().backward(dy)
        self.db = dy[:, 0].sum(axis=0)
        return dx


@exhibit("time off by one", "", "range(T)", conv)
class Conv1dShort(Conv1d):
    def backward(self, dy):
        super().backward(dy)
        K = len(self.W)
        dx = np.zeros_like(self.x)
        for t in range(dy.shape[1] - 1):
            dx[:, t : t + K] += np.tensordot(dy[:, t], self.W, axes=([1], [2]))
        return dx


class Conv2d:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        N, _C, H, W = x.shape
        F, _, kh, kw = self.W.shape
        y = np.zeros((N, F, H - kh + 1, W - kw + 1))
        for n in range(N):
            for f in range(F):
                for i in range(H - kh + 1):
                    for j in range(W - kw + 1):
                        y[n, f, i, j] = (
                            np.sum(x[n, :, i : i + kh, j : j + kw] * self.W[f]) + self.b[f]
                        )
        return y

    def backward(self, dy):
        N, F, oh, ow = dy.shape
        _, _, kh, kw = self.W.shape
        self.dW, self.db = np.zeros_like(self.W), np.zeros_like(self.b)
        dx = np.zeros_like(self.x)
        for n in range(N):
            for f in range(F):
                self.db[f] += self.bias(dy[n, f])
                for i in range(oh):
                    for j in range(ow):
                        self.dW[f] += self.weight(n, i, j, kh, kw) * dy[n, f, i, j]
                        self.into(dx, n, f, i, j, kh, kw, dy[n, f, i, j])
        return dx

    def bias(self, d):
        return d.sum()

    def weight(self, n, i, j, kh, kw):
        return self.x[n, :, i : i + kh, j : j + kw]

    def into(self, dx, n, f, i, j, kh, kw, d):
        dx[n, :, i : i + kh, j : j + kw] += self.W[f] * d


@exhibit("assigned instead of accumulated", "", "+=", image)
class Conv2dAssigns(Conv2d):
    def into(self, dx, n, f, i, j, kh, kw, d):
        dx[n, :, i : i + kh, j : j + kw] = self.W[f] * d


@exhibit("time reversed", "", "W[f]", image)
class Conv2dFlipped(Conv2d):
    def into(self, dx, n, f, i, j, kh, kw, d):
        dx[n, :, i : i + kh, j : j + kw] += self.W[f][:, ::-1, ::-1] * d


@exhibit("transposed", "", "W[f]", image)
class Conv2dSwapped(Conv2d):
    def into(self, dx, n, f, i, j, kh, kw, d):
        dx[n, :, i : i + kh, j : j + kw] += self.W[f].transpose(0, 2, 1) * d


@exhibit("constant factor", "", "sum", image)
class Conv2dBiasMean(Conv2d):
    def bias(self, d):
        return d.mean()


class MaxPool1d:
    def forward(self, x):
        self.x = x
        N, D, L = x.shape
        y = np.zeros((N, D, L // 2))
        for t in range(L // 2):
            y[:, :, t] = x[:, :, 2 * t : 2 * t + 2].max(axis=2)
        return y

    def backward(self, dy):
        dx = np.zeros_like(self.x)
        for t in range(dy.shape[2]):
            w = self.x[:, :, 2 * t : 2 * t + 2]
            dx[:, :, 2 * t : 2 * t + 2] = (w == w.max(axis=2, keepdims=True)) * dy[:, :, t : t + 1]
        return dx


@exhibit("derivative of the activation missing or of another function", "", "mask", pool)
class MaxPoolEverywhere(MaxPool1d):
    def backward(self, dy):
        dx = np.zeros_like(self.x)
        for t in range(dy.shape[2]):
            dx[:, :, 2 * t : 2 * t + 2] = dy[:, :, t : t + 1]
        return dx


@exhibit("time off by one", "", "2 * t", pool)
class MaxPoolLate(MaxPool1d):
    def backward(self, dy):
        dx = np.zeros_like(self.x)
        for t in range(dy.shape[2]):
            w = self.x[:, :, 2 * t : 2 * t + 2]
            dx[:, :, 2 * t + 1 : 2 * t + 3] = (w == w.max(axis=2, keepdims=True)) * dy[
                :, :, t : t + 1
            ]
        return dx


class MeanPool:
    def forward(self, x):
        self.x = x
        return x.mean(axis=2)

    def backward(self, dy):
        return np.repeat(dy[:, :, None], self.x.shape[2], axis=2) / self.x.shape[2]


@exhibit("constant factor", "", "/ L", pool)
class MeanPoolSum(MeanPool):
    def backward(self, dy):
        return np.repeat(dy[:, :, None], self.x.shape[2], axis=2)
