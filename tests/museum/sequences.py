"""Recurrent layers over time."""

import numpy as np

from deepnlp import Parameter
from tests.museum import exhibit


def rnn(kind, rng, s):
    scale = s.H**-0.5
    weights = rng.normal(size=(s.D, s.H)), scale * rng.normal(size=(s.H, s.H)), rng.normal(size=s.H)
    return kind(*weights), (rng.normal(size=(s.N, s.T, s.D)),)


def lstm(kind, rng, s):
    Wh = s.H**-0.5 * rng.normal(size=(s.H, 4 * s.H))
    layer = kind(rng.normal(size=(s.D, 4 * s.H)), Wh, rng.normal(size=4 * s.H))
    return layer, (rng.normal(size=(s.N, s.T, s.D)),)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@exhibit("", "", "", rnn)
class TimeRNN:
    """h_t = tanh(x_t Wx + h_(t-1) Wh + b), without a mistake."""

    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Parameter(Wx), Parameter(Wh), Parameter(b)

    def forward(self, xs):
        N, T, _ = xs.shape
        Wx, Wh, b = self.Wx.value, self.Wh.value, self.b.value
        self.xs = xs
        self.hs = np.zeros((N, T + 1, Wh.shape[0]))
        for t in range(T):
            self.hs[:, t + 1] = np.tanh(xs[:, t] @ Wx + self.hs[:, t] @ Wh + b)
        return self.hs[:, 1:].copy()

    def backward(self, dhs):
        dxs = np.zeros_like(self.xs)
        dh_next = 0
        for t in reversed(range(dhs.shape[1])):
            da = (dhs[:, t] + dh_next) * (1 - self.hs[:, t + 1] ** 2)
            self.accumulate(t, da)
            dxs[:, t] = da @ self.Wx.value.T
            dh_next = da @ self.Wh.value.T
        return dxs

    def accumulate(self, t, da):
        self.Wx.accumulate(self.xs[:, t].T @ da)
        self.Wh.accumulate(self.hs[:, t].T @ da)
        self.b.accumulate(da.sum(axis=0))


@exhibit(
    "path through h_prev dropped",
    "h_t goes to two places.",
    "da = (dhs[:, t] + dh_next) * ...",
    rnn,
)
class TimeRNNForgetsFuture(TimeRNN):
    def backward(self, dhs):
        dxs = np.zeros_like(self.xs)
        for t in reversed(range(dhs.shape[1])):
            da = dhs[:, t] * (1 - self.hs[:, t + 1] ** 2)
            self.accumulate(t, da)
            dxs[:, t] = da @ self.Wx.value.T
        return dxs


@exhibit("time reversed", "In what order do the steps come?", "dxs[:, t] = ...", rnn)
class TimeRNNAppends(TimeRNN):
    def backward(self, dhs):
        dxs = []
        dh_next = 0
        for t in reversed(range(dhs.shape[1])):
            da = (dhs[:, t] + dh_next) * (1 - self.hs[:, t + 1] ** 2)
            self.accumulate(t, da)
            dxs.append(da @ self.Wx.value.T)
            dh_next = da @ self.Wh.value.T
        return np.stack(dxs, axis=1)


@exhibit("time off by one", "hs[:, 0] is the state before step 0.", "self.hs[:, t].T @ da", rnn)
class TimeRNNNewState(TimeRNN):
    def accumulate(self, t, da):
        self.Wx.accumulate(self.xs[:, t].T @ da)
        self.Wh.accumulate(self.hs[:, t + 1].T @ da)
        self.b.accumulate(da.sum(axis=0))


@exhibit("time off by one", "Where does range end?", "range(T - 1, -1, -1)", rnn)
class TimeRNNStopsEarly(TimeRNN):
    def backward(self, dhs):
        dxs = np.zeros_like(self.xs)
        dh_next = 0
        for t in range(dhs.shape[1] - 1, 0, -1):
            da = (dhs[:, t] + dh_next) * (1 - self.hs[:, t + 1] ** 2)
            self.accumulate(t, da)
            dxs[:, t] = da @ self.Wx.value.T
            dh_next = da @ self.Wh.value.T
        return dxs


@exhibit(
    "assigned instead of accumulated", "Wh is used at every step.", "self.Wh.accumulate(...)", rnn
)
class TimeRNNAssigns(TimeRNN):
    def accumulate(self, t, da):
        self.Wx.accumulate(self.xs[:, t].T @ da)
        self.Wh.grad = self.hs[:, t].T @ da
        self.b.accumulate(da.sum(axis=0))


@exhibit("bias gradient not summed over T", "b is used at every step.", "accumulate every da", rnn)
class TimeRNNLastBias(TimeRNN):
    def accumulate(self, t, da):
        self.Wx.accumulate(self.xs[:, t].T @ da)
        self.Wh.accumulate(self.hs[:, t].T @ da)
        if t == self.xs.shape[1] - 1:
            self.b.accumulate(da.sum(axis=0))


@exhibit(
    "cache overwritten or mutated",
    "How many states does self.h hold?",
    "the state of each step, in a list",
    rnn,
)
class TimeRNNOneState(TimeRNN):
    def backward(self, dhs):
        dxs = np.zeros_like(self.xs)
        h = self.hs[:, -1]  # all that a layer with one self.h would still know
        dh_next = 0
        for t in reversed(range(dhs.shape[1])):
            da = (dhs[:, t] + dh_next) * (1 - h**2)
            self.accumulate(t, da)
            dxs[:, t] = da @ self.Wx.value.T
            dh_next = da @ self.Wh.value.T
        return dxs


# --- LSTM ---------------------------------------------------------------------------------------


@exhibit("", "", "", lstm)
class TimeLSTM:
    """Gates in the order i, f, g, o, without a mistake."""

    def __init__(self, Wx, Wh, b):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]

    def forward(self, xs):
        Wx, Wh, b = self.params
        N, T, _ = xs.shape
        H = Wh.shape[0]
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.steps, out = [], []
        for t in range(T):
            a = xs[:, t] @ Wx + h @ Wh + b
            i = sigmoid(a[:, :H])
            f = sigmoid(a[:, H : 2 * H])
            g = np.tanh(a[:, 2 * H : 3 * H])
            o = sigmoid(a[:, 3 * H :])
            h_prev, c_prev = h, c
            c = f * c_prev + i * g
            h = o * np.tanh(c)
            self.steps.append((xs[:, t], h_prev, c_prev, i, f, g, o, c))
            out.append(h)
        return np.stack(out, axis=1)

    def backward(self, dhs):
        Wx, Wh, _ = self.params
        for grad in self.grads:
            grad[...] = 0
        dxs = []
        dh_next, dc_next = 0, 0
        for t in reversed(range(len(self.steps))):
            da, dc_next = self.step_back(self.pick(dhs, t) + dh_next, dc_next, self.steps[t])
            x, h_prev, *_ = self.steps[t]
            self.add(x, h_prev, da)
            dxs.append(da @ Wx.T)
            dh_next = da @ Wh.T
        return np.stack(dxs[::-1], axis=1)

    def pick(self, dhs, t):
        return dhs[:, t]

    def step_back(self, dh, dc, step):
        _, _, c_prev, i, f, g, o, c = step
        dc = dc + dh * o * (1 - np.tanh(c) ** 2)
        do = dh * np.tanh(c)
        di, df, dg = dc * g, dc * c_prev, dc * i
        da = np.hstack((di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)))
        return da, dc * f

    def add(self, x, h_prev, da):
        self.grads[0] += x.T @ da
        self.grads[1] += h_prev.T @ da
        self.grads[2] += da.sum(axis=0)


@exhibit("path through c_prev dropped", "c_t goes to two places.", "dc = dc + dh * o * ...", lstm)
class TimeLSTMForgetsCell(TimeLSTM):
    def step_back(self, dh, dc, step):
        return super().step_back(dh, 0, step)


@exhibit("time reversed", "Which dh belongs to step t?", "dhs[:, t]", lstm)
class TimeLSTMReadsBackwards(TimeLSTM):
    def pick(self, dhs, t):
        return dhs[:, dhs.shape[1] - 1 - t]


@exhibit("assigned instead of accumulated", "Used at every step.", "self.grads[0] += ...", lstm)
class TimeLSTMAssigns(TimeLSTM):
    def add(self, x, h_prev, da):
        self.grads[0][...] = x.T @ da
        self.grads[1][...] = h_prev.T @ da
        self.grads[2][...] = da.sum(axis=0)


@exhibit("gates swapped", "In what order was a split?", "np.hstack((di, df, dg, do))", lstm)
class TimeLSTMOtherOrder(TimeLSTM):
    def step_back(self, dh, dc, step):
        da, dc_prev = super().step_back(dh, dc, step)
        di, df, dg, do = np.hsplit(da, 4)
        return np.hstack((di, df, do, dg)), dc_prev


@exhibit("cache overwritten or mutated", "Which gates does step t need?", "self.steps[t]", lstm)
class TimeLSTMOneCache(TimeLSTM):
    def step_back(self, dh, dc, step):
        x, h_prev, c_prev, *_ = step
        return super().step_back(dh, dc, (x, h_prev, c_prev, *self.steps[-1][3:]))
