"""One step of recurrent layers."""

import numpy as np

from deepnlp import layers
from tests.museum import exhibit


def rnn(kind, rng, s):
    weights = rng.normal(size=(s.D, s.H)), rng.normal(size=(s.H, s.H)), rng.normal(size=s.H)
    return kind(*weights), (rng.normal(size=(s.N, s.D)), rng.normal(size=(s.N, s.H)))


def lstm(kind, rng, s):
    weights = rng.normal(size=(s.D, 4 * s.H)), rng.normal(size=(s.H, 4 * s.H))
    x, h, c = (rng.normal(size=(s.N, n)) for n in (s.D, s.H, s.H))
    return kind(*weights, rng.normal(size=4 * s.H)), (x, h, c)


def gru(kind, rng, s):
    weights = rng.normal(size=(s.D, 3 * s.H)), rng.normal(size=(s.H, 3 * s.H))
    x, h = (rng.normal(size=(s.N, n)) for n in (s.D, s.H))
    return kind(*weights, rng.normal(size=3 * s.H)), (x, h)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@exhibit("", "", "", rnn)
class RNN:
    """h = tanh(x Wx + h_prev Wh + b), without a mistake."""

    def __init__(self, Wx, Wh, b):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]

    def forward(self, x, h_prev):
        Wx, Wh, b = self.params
        a = np.dot(h_prev, Wh) + np.dot(x, Wx) + b
        h = np.tanh(a)
        self.cache = (x, h_prev, a, h)
        return h

    def backward(self, dh):
        x, h_prev, _, h = self.cache
        return self.spread(x, h_prev, dh * (1 - h**2))

    def spread(self, x, h_prev, da):
        Wx, Wh, _ = self.params
        self.grads[0][...] = np.dot(x.T, da)
        self.grads[1][...] = np.dot(h_prev.T, da)
        self.grads[2][...] = da.sum(axis=0)
        return np.dot(da, Wx.T), np.dot(da, Wh.T)


@exhibit(
    "derivative taken at the input instead of the output",
    "Of which array is the square taken?",
    "da = dh * (1 - h ** 2)",
    rnn,
)
class RNNOfA(RNN):
    def backward(self, dh):
        x, h_prev, a, _ = self.cache
        return self.spread(x, h_prev, dh * (1 - a**2))


@exhibit(
    "derivative of the activation missing or of another function",
    "What lies between h and a?",
    "da = dh * (1 - h ** 2)",
    rnn,
)
class RNNLinear(RNN):
    def backward(self, dh):
        x, h_prev, _, _ = self.cache
        return self.spread(x, h_prev, dh)


@exhibit("transposed", "Wh is square.", "dh_prev = np.dot(da, Wh.T)", rnn)
class RNNNotTransposed(RNN):
    def spread(self, x, h_prev, da):
        dx, _ = super().spread(x, h_prev, da)
        return dx, np.dot(da, self.params[1])


@exhibit("zero or missing", "Three weights, three gradients.", "self.grads[1][...] = ...", rnn)
class RNNForgotWh(RNN):
    def spread(self, x, h_prev, da):
        Wx, Wh, _ = self.params
        self.grads[0][...] = np.dot(x.T, da)
        self.grads[2][...] = da.sum(axis=0)
        return np.dot(da, Wx.T), np.dot(da, Wh.T)


@exhibit("bias gradient not summed over N", "Every sample adds b.", "db = da.sum(axis=0)", rnn)
class RNNLastSampleBias(RNN):
    def spread(self, x, h_prev, da):
        found = super().spread(x, h_prev, da)
        self.grads[2][...] = da[-1]
        return found


@exhibit("path through h_prev dropped", "What made h?", "dh_prev = np.dot(da, Wh.T)", rnn)
class RNNForgetsHistory(RNN):
    def spread(self, x, h_prev, da):
        dx, _ = super().spread(x, h_prev, da)
        return dx, np.zeros_like(h_prev)


# --- LSTM ---------------------------------------------------------------------------------------


@exhibit("", "", "", lstm)
class LSTM:
    """Gates in the order f, g, i, o, without a mistake."""

    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev, c_prev):
        a = x @ self.Wx + h_prev @ self.Wh + self.b
        f, g, i, o = np.hsplit(a, 4)
        f = sigmoid(f)
        g = np.tanh(g)
        i = sigmoid(i)
        o = sigmoid(o)
        c = f * c_prev + g * i
        tanh_c = np.tanh(c)
        h = o * tanh_c
        self.cache = (x, h_prev, c_prev, f, g, i, o, c, tanh_c)
        return h, c

    def backward(self, dh, dc):
        x, h_prev, c_prev, f, g, i, o, _, tanh_c = self.cache
        do = dh * tanh_c
        dc = dc + dh * o * (1 - tanh_c**2)
        df, dg, di = dc * c_prev, dc * i, dc * g
        blocks = df * f * (1 - f), dg * (1 - g**2), di * i * (1 - i), do * o * (1 - o)
        return (*self.spread(x, h_prev, np.hstack(blocks)), dc * f)

    def spread(self, x, h_prev, da):
        self.dWx, self.dWh, self.db = x.T @ da, h_prev.T @ da, da.sum(axis=0)
        return da @ self.Wx.T, da @ self.Wh.T


@exhibit("gates swapped", "In what order was a split?", "np.hstack((df, dg, di, do))", lstm)
class LSTMOtherOrder(LSTM):
    def backward(self, dh, dc):
        x, h_prev, c_prev, f, g, i, o, _, tanh_c = self.cache
        do = dh * tanh_c
        dc = dc + dh * o * (1 - tanh_c**2)
        df, dg, di = dc * c_prev, dc * i, dc * g
        blocks = df * f * (1 - f), di * i * (1 - i), dg * (1 - g**2), do * o * (1 - o)
        return (*self.spread(x, h_prev, np.hstack(blocks)), dc * f)


@exhibit("time off by one", "What did f multiply?", "df = dc * c_prev", lstm)
class LSTMNewCell(LSTM):
    def backward(self, dh, dc):
        x, h_prev, _, f, g, i, o, c, tanh_c = self.cache
        do = dh * tanh_c
        dc = dc + dh * o * (1 - tanh_c**2)
        df, dg, di = dc * c, dc * i, dc * g
        blocks = df * f * (1 - f), dg * (1 - g**2), di * i * (1 - i), do * o * (1 - o)
        return (*self.spread(x, h_prev, np.hstack(blocks)), dc * f)


@exhibit("path through c_prev dropped", "c goes on, too.", "return dx, dh_prev, dc * f", lstm)
class LSTMForgetsCell(LSTM):
    def backward(self, dh, dc):
        dx, dh_prev, dc_prev = super().backward(dh, dc)
        return dx, dh_prev, np.zeros_like(dc_prev)


@exhibit(
    "derivative of the activation missing or of another function",
    "g is no gate.",
    "dg * (1 - g ** 2)",
    lstm,
)
class LSTMSigmoidEverywhere(LSTM):
    def backward(self, dh, dc):
        x, h_prev, c_prev, f, g, i, o, _, tanh_c = self.cache
        do = dh * tanh_c
        dc = dc + dh * o * (1 - tanh_c**2)
        df, dg, di = dc * c_prev, dc * i, dc * g
        blocks = df * f * (1 - f), dg * g * (1 - g), di * i * (1 - i), do * o * (1 - o)
        return (*self.spread(x, h_prev, np.hstack(blocks)), dc * f)


# --- GRU ----------------------------------------------------------------------------------------


@exhibit("", "", "", gru)
class GRU:
    """Blocks r, z, n; h = (1 - z) n + z h_prev; without a mistake."""

    def __init__(self, Wx, Wh, b):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]

    def forward(self, x, h_prev):
        Wx, Wh, b = self.params
        H = h_prev.shape[1]
        ax = x @ Wx + b
        r = sigmoid(ax[:, :H] + h_prev @ Wh[:, :H])
        z = sigmoid(ax[:, H : 2 * H] + h_prev @ Wh[:, H : 2 * H])
        n = np.tanh(ax[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :])
        self.cache = (x, h_prev, r, z, n)
        return (1 - z) * n + z * h_prev

    def backward(self, dh):
        _, h_prev, _, z, n = self.cache
        dx, dh_prev = self.through_gates(dh * (1 - z), dh * (h_prev - n))
        return dx, dh_prev + dh * z

    def through_gates(self, dn, dz):
        x, h_prev, r, z, n = self.cache
        Wx, Wh, _ = self.params
        H = h_prev.shape[1]
        da_n = dn * (1 - n**2)
        du = da_n @ Wh[:, 2 * H :].T
        da_r = du * h_prev * r * (1 - r)
        da_z = dz * z * (1 - z)
        da = self.joined(da_r, da_z, da_n)
        self.grads[0][...] = x.T @ da
        self.grads[1][:, : 2 * H] = h_prev.T @ da[:, : 2 * H]
        self.grads[1][:, 2 * H :] = (r * h_prev).T @ da_n
        self.grads[2][...] = da.sum(axis=0)
        return da @ Wx.T, du * r + da[:, : 2 * H] @ Wh[:, : 2 * H].T

    def joined(self, da_r, da_z, da_n):
        return np.hstack((da_r, da_z, da_n))


@exhibit("path through h_prev dropped", "h_prev is in h twice.", "+ dh * z", gru)
class GRUForgetsShortcut(GRU):
    def backward(self, dh):
        _, h_prev, _, z, n = self.cache
        return self.through_gates(dh * (1 - z), dh * (h_prev - n))


@exhibit("sign", "h = (1 - z) n + z h_prev", "dz = dh * (h_prev - n)", gru)
class GRUOtherSign(GRU):
    def backward(self, dh):
        _, h_prev, _, z, n = self.cache
        dx, dh_prev = self.through_gates(dh * (1 - z), dh * (n - h_prev))
        return dx, dh_prev + dh * z


@exhibit("gates swapped", "Which block is first?", "np.hstack((da_r, da_z, da_n))", gru)
class GRUOtherOrder(GRU):
    def joined(self, da_r, da_z, da_n):
        return np.hstack((da_z, da_r, da_n))


@exhibit(
    "constant factor",
    "A gradient is no average.",
    "self.Wh.accumulate(...) and no more",
    lambda kind, rng, s: (
        kind(rng.normal(size=(s.D, 3 * s.H)), rng.normal(size=(s.H, 3 * s.H)), np.ones(3 * s.H)),
        (rng.normal(size=(s.N, s.D)), rng.normal(size=(s.N, s.H))),
    ),
)
class GRUHalved(layers.GRU):
    def backward(self, dh):
        found = super().backward(dh)
        self.Wh.grad = self.Wh.grad / len(dh)
        return found
