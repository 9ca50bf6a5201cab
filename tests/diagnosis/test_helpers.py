"""A slip in a helper of backward is found there, also where deltas are kept by step."""

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients

RNG = np.random.default_rng(4)


def normal(*shape):
    return RNG.normal(size=shape)


def slope_of_tanh(h):
    return 1 - h


def slope_of_sigmoid(a):
    return a * (1 + a)


def into_weights(x, da):
    return x.T @ -da


class Steps:
    """h_t = tanh(x_t W + h_{t-1} U), with the deltas of all steps in a list."""

    def __init__(self, W, U):
        self.W, self.U = W, U

    def forward(self, xs):
        self.xs, self.hs = xs, [np.zeros((xs.shape[0], self.U.shape[0]))]
        for t in range(xs.shape[1]):
            self.hs.append(np.tanh(xs[:, t] @ self.W + self.hs[-1] @ self.U))
        return np.stack(self.hs[1:], axis=1)

    def delta(self, t, dh):
        return dh * (1 - self.hs[t + 1])

    def backward(self, dhs):
        T = dhs.shape[1]
        self.df = [None] * T
        self.dW, self.dU, dxs = np.zeros_like(self.W), np.zeros_like(self.U), np.zeros_like(self.xs)
        dh = np.zeros_like(self.hs[0])
        for t in reversed(range(T)):
            self.df[t] = self.delta(t, dhs[:, t] + dh)
            dh = self.df[t] @ self.U.T
            dxs[:, t] = self.df[t] @ self.W.T
            self.dW += self.xs[:, t].T @ self.df[t]
            self.dU += self.hs[t].T @ self.df[t]
        return dxs


class Gathered(Steps):
    """Helpers that take all deltas."""

    def delta(self, t, dh):
        return dh * (1 - self.hs[t + 1] ** 2)

    def backward(self, dhs):
        dxs = super().backward(dhs)
        self.dU = 0 * self.dU
        self.dU = self.sum_up(self.hs)
        return dxs

    def sum_up(self, inputs):
        total = np.zeros_like(self.U)
        for t in range(len(self.df)):
            total += inputs[t + 1].T @ self.df[t]
        return total


class ByDict(Steps):
    def backward(self, dhs):
        T = dhs.shape[1]
        self.df = {}
        self.dW, self.dU, dxs = np.zeros_like(self.W), np.zeros_like(self.U), np.zeros_like(self.xs)
        dh = np.zeros_like(self.hs[0])
        for t in range(T - 1, -1, -1):
            self.df[t] = self.delta(t, dhs[:, t] + dh)
            dh = self.df[t] @ self.U.T
        for t in range(T):
            dxs[:, t] = self.df[t] @ self.W.T
            self.dW += self.xs[:, t].T @ self.df[t]
            self.dU += self.hs[t].T @ self.df[t]
        return dxs


def tanh_forward(x, w):
    h = np.tanh(x @ w)
    return h, (x, w, h)


def tanh_backward(dh, cache):
    x, w, h = cache
    da = dh * slope_of_tanh(h)
    return da @ w.T, x.T @ da


def net_forward(x, w):
    a = 1 / (1 + np.exp(-x @ w))
    return a, (x, w, a)


def net_backward(da, cache):
    x, w, a = cache
    dz = da * slope_of_sigmoid(a)
    return dz @ w.T, x.T @ dz


def weights_backward(dh, cache):
    x, w, h = cache
    da = dh * (1 - h**2)
    return da @ w.T, into_weights(x, da)


class Correlated:
    def __init__(self, k):
        self.k = k

    def forward(self, x):
        self.x = x
        return np.correlate(x, self.k, mode="valid")

    def backward(self, dy):
        self.dk = np.correlate(self.x, dy, mode="valid")
        return np.correlate(dy, self.k, mode="full")


class Convolved(Correlated):
    def forward(self, x):
        self.x = x
        return np.convolve(x, self.k, mode="valid")

    def backward(self, dy):
        self.dk = np.convolve(self.x[::-1], dy, mode="valid")
        return np.convolve(dy, self.k, mode="full")


class Filtered:
    """y = k * x, round a circle, by the transform of Fourier."""

    def __init__(self, k):
        self.k = k

    def forward(self, x):
        self.x = x
        return np.fft.ifft(np.fft.fft(x) * np.fft.fft(self.k)).real

    def backward(self, dy):
        self.dk = np.fft.ifft(np.fft.fft(dy) * np.conj(np.fft.fft(self.x))).real
        return np.fft.ifft(np.fft.fft(dy) * np.fft.fft(self.k)).real


class Each:
    def __init__(self, w):
        self.w = w

    def forward(self, x):
        self.x = x
        self.y = np.vectorize(np.tanh)(x * self.w)
        return self.y

    def backward(self, dy):
        slope = np.vectorize(lambda y: 1 - y)
        da = dy * slope(self.y)
        self.dw = (da * self.x).sum(axis=0)
        return da * self.w


STEPS = normal(3, 4, 2)
CASES = {  # what is checked, and what should stand there
    "slope in a function": (((tanh_forward, tanh_backward), normal(4, 3), normal(3, 2)),
                            "return 1 - h ** 2"),
    "another slope": (((net_forward, net_backward), normal(4, 3), normal(3, 2)), "a * (1 - a)"),
    "sign": (((tanh_forward, weights_backward), normal(4, 3), normal(3, 2)), "return x.T @ da`"),
    "deltas in a list": ((Steps(normal(2, 3), normal(3, 3)), STEPS), "self.hs[t + 1] ** 2"),
    "all deltas": ((Gathered(normal(2, 3), normal(3, 3)), STEPS), "inputs[t].T"),
    "deltas in a dict": ((ByDict(normal(2, 3), normal(3, 3)), STEPS), "self.hs[t + 1] ** 2"),
    "correlate": ((Correlated(normal(3)), normal(7)), "self.k[::-1]"),
    "convolve": ((Convolved(normal(3)), normal(7)), "self.k[::-1]"),
    "transform": ((Filtered(normal(6)), normal(6)), "np.conj("),
    "vectorize": ((Each(normal(3)), normal(4, 3)), "1 - y ** 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_slip_in_a_helper_is_repaired_there(name):
    (layer, *inputs), right = CASES[name]
    (cause, *others) = check_gradients(layer, *inputs).causes
    assert right in cause.evidence, cause
    assert not others
