"""A third round: layers over time that hold one object a step, as textbooks like them."""

import numpy as np

from tests.museum import exhibit


def weights(rng, s, gates):
    Wh = rng.normal(size=(s.H, gates * s.H)) / 2
    return rng.normal(size=(s.D, gates * s.H)) / 2, Wh, rng.normal(size=gates * s.H)


def rnn(kind, rng, s):
    return kind(*weights(rng, s, 1)), (rng.normal(size=(s.N, s.T, s.D)),)


def lstm(kind, rng, s):
    return kind(*weights(rng, s, 4)), (rng.normal(size=(s.N, s.T, s.D)),)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Step:
    """One step; the cache holds what the way back needs."""

    def __init__(self, Wx, Wh, b):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]
        self.cache = None

    def forward(self, x, h_prev):
        Wx, Wh, b = self.params
        h_next = np.tanh(np.dot(h_prev, Wh) + np.dot(x, Wx) + b)
        self.cache = (x, h_prev, h_next)
        return h_next

    def backward(self, dh_next):
        Wx, Wh, _ = self.params
        x, h_prev, h_next = self.cache
        dt = dh_next * (1 - h_next**2)
        self.grads[0][...] = np.dot(x.T, dt)
        self.grads[1][...] = np.dot(h_prev.T, dt)
        self.grads[2][...] = np.sum(dt, axis=0)
        return np.dot(dt, Wx.T), np.dot(dt, Wh.T)


@exhibit("", "", "", rnn)
class BookRNN:
    def __init__(self, Wx, Wh, b, stateful=False):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]
        self.layers, self.h, self.dh = None, None, None
        self.stateful = stateful

    def forward(self, xs):
        N, T, _ = xs.shape
        H = self.params[1].shape[0]
        self.layers = []
        hs = np.empty((N, T, H))
        if not self.stateful or self.h is None:
            self.h = np.zeros((N, H))
        for t in range(T):
            layer = Step(*self.params)
            self.h = layer.forward(xs[:, t, :], self.h)
            hs[:, t, :] = self.h
            self.layers.append(layer)
        return hs

    def backward(self, dhs):
        N, T, _ = dhs.shape
        dxs = np.empty((N, T, self.params[0].shape[0]))
        dh = 0
        grads = [0, 0, 0]
        for t in reversed(range(T)):
            layer = self.layers[t]
            dx, dh = layer.backward(self.joined(dhs[:, t, :], dh))
            dxs[:, t, :] = dx
            for i, grad in enumerate(layer.grads):
                grads[i] = self.added(grads[i], grad)
        for i, grad in enumerate(grads):
            self.grads[i][...] = grad
        self.dh = dh
        return dxs

    def joined(self, dh, dh_next):
        return dh + dh_next

    def added(self, total, grad):
        return total + grad


@exhibit("assigned instead of accumulated", "", "total + grad", rnn)
class BookRNNAssigns(BookRNN):
    def added(self, total, grad):
        return grad


@exhibit("path through h_prev dropped", "", "dh + dh_next", rnn)
class BookRNNForgets(BookRNN):
    def joined(self, dh, dh_next):
        return dh


@exhibit("constant factor", "", "total + grad", rnn)
class BookRNNMean(BookRNN):
    def backward(self, dhs):
        dxs = super().backward(dhs)
        for grad in self.grads:
            grad /= dhs.shape[1]
        return dxs


class LSTMStep:
    def __init__(self, Wx, Wh, b):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]

    def forward(self, x, h_prev, c_prev):
        Wx, Wh, b = self.params
        H = h_prev.shape[1]
        A = np.dot(x, Wx) + np.dot(h_prev, Wh) + b
        f = sigmoid(A[:, :H])
        g = np.tanh(A[:, H : 2 * H])
        i = sigmoid(A[:, 2 * H : 3 * H])
        o = sigmoid(A[:, 3 * H :])
        c_next = f * c_prev + g * i
        h_next = o * np.tanh(c_next)
        self.cache = (x, h_prev, c_prev, i, f, g, o, c_next)
        return h_next, c_next

    def backward(self, dh_next, dc_next, mistake):
        Wx, Wh, _ = self.params
        x, h_prev, c_prev, i, f, g, o, c_next = self.cache
        tanh_c = np.tanh(c_next)
        ds = dc_next + (dh_next * o) * (1 - (c_next if mistake == "input" else tanh_c) ** 2)
        dc_prev = ds * f
        di, df, do, dg = ds * g, ds * c_prev, dh_next * tanh_c, ds * i
        if mistake == "cell":
            df = ds * c_next
        if mistake == "swapped":
            di, dg = dg, di
        if mistake == "sign":
            df = -df
        if mistake != "unsquashed":
            di *= i * (1 - i)
        df *= f * (1 - f)
        do *= o * (1 - o)
        dg *= 1 - g**2
        dA = np.hstack((df, dg, di, do))
        self.grads[0][...] = np.dot(x.T, dA)
        self.grads[1][...] = np.dot(h_prev.T, dA)
        self.grads[2][...] = dA.sum(axis=0)
        return np.dot(dA, Wx.T), np.dot(dA, Wh.T), dc_prev


@exhibit("", "", "", lstm)
class BookLSTM:
    mistake = ""

    def __init__(self, Wx, Wh, b):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]

    def forward(self, xs):
        N, T, _ = xs.shape
        H = self.params[1].shape[0]
        h, c = np.zeros((N, H), dtype="f"), np.zeros((N, H), dtype="f")
        hs = np.empty((N, T, H))
        self.layers = [LSTMStep(*self.params) for _ in range(T)]
        for t in range(T):
            h, c = self.layers[t].forward(xs[:, t, :], h, c)
            hs[:, t, :] = h
        return hs

    def backward(self, dhs):
        N, T, _ = dhs.shape
        dxs = np.empty((N, T, self.params[0].shape[0]))
        dh, dc = 0, 0
        for grad in self.grads:
            grad[...] = 0
        for t in reversed(range(T)):
            dx, dh, dc = self.layers[t].backward(dhs[:, t, :] + dh, dc, self.mistake)
            dxs[:, t, :] = dx
            for own, grad in zip(self.grads, self.layers[t].grads, strict=True):
                own += grad
        return dxs


@exhibit("derivative taken at the input instead of the output", "", "tanh_c ** 2", lstm)
class BookLSTMInput(BookLSTM):
    mistake = "input"


@exhibit("time off by one", "", "ds * c_prev", lstm)
class BookLSTMCell(BookLSTM):
    mistake = "cell"


@exhibit("gates swapped", "", "di, dg = ds * g, ds * i", lstm)
class BookLSTMSwapped(BookLSTM):
    mistake = "swapped"


@exhibit("sign", "", "df = ds * c_prev", lstm)
class BookLSTMSign(BookLSTM):
    mistake = "sign"


@exhibit("derivative of the activation missing or of another function", "", "i * (1 - i)", lstm)
class BookLSTMUnsquashed(BookLSTM):
    mistake = "unsquashed"


def ids(kind, rng, s):
    found = rng.integers(0, s.V, size=(s.N + 1, s.T))
    found[0, 0] = found[-1, 0]
    return kind(rng.normal(size=(s.V, s.D))), (found,)


@exhibit("repeated ids overwritten", "", "np.add.at", ids)
class BookEmbedding:
    """One look-up a step; every step adds its table, in which an id counts once."""

    def __init__(self, W):
        self.params, self.grads, self.W = [W], [np.zeros_like(W)], W

    def forward(self, xs):
        N, T = xs.shape
        out = np.empty((N, T, self.W.shape[1]))
        self.xs = xs
        for t in range(T):
            out[:, t, :] = self.W[xs[:, t]]
        return out

    def backward(self, dout):
        total = 0
        for t in range(dout.shape[1]):
            grad = np.zeros_like(self.W)
            grad[self.xs[:, t]] = dout[:, t]
            total = total + grad
        self.grads[0][...] = total


@exhibit(
    "ignored targets counted",
    "",
    "dx *= mask",
    lambda kind, rng, s: (
        kind(),
        (
            rng.normal(size=(s.N, s.T, s.V)),
            np.where(np.arange(s.N * s.T) % 3 == 1, -1, rng.integers(0, s.V, s.N * s.T)).reshape(
                s.N, s.T
            ),
        ),
    ),
)
class BookTimeLoss:
    def forward(self, xs, ts):
        N, T, V = xs.shape
        if ts.ndim == 3:
            ts = ts.argmax(axis=2)
        mask = ts != -1
        xs, ts, mask = xs.reshape(N * T, V), ts.reshape(N * T), mask.reshape(N * T)
        e = np.exp(xs - xs.max(axis=1, keepdims=True))
        ys = e / np.sum(e, axis=1, keepdims=True)
        ls = np.log(ys[np.arange(N * T), ts])
        ls *= mask
        loss = -np.sum(ls)
        loss /= mask.sum()
        self.cache = (ts, ys, mask, (N, T, V))
        return loss

    def backward(self, dout=1):
        ts, ys, mask, (N, T, V) = self.cache
        dx = ys.copy()
        dx[np.arange(N * T), ts] -= 1
        dx *= dout
        dx /= mask.sum()
        return dx.reshape((N, T, V))


def both_ways(kind, rng, s):
    W = [rng.normal(size=(n, s.H)) / 2 for n in (s.D, s.H, s.D, s.H)]
    return kind(*W), (rng.normal(size=(s.N, s.T, s.D)),)


class BothWays:
    def __init__(self, Wx1, Wh1, Wx2, Wh2):
        self.Wx1, self.Wh1, self.Wx2, self.Wh2 = Wx1, Wh1, Wx2, Wh2

    @staticmethod
    def run(xs, Wx, Wh):
        h, hs = np.zeros((len(xs), len(Wh))), []
        for t in range(xs.shape[1]):
            h = np.tanh(xs[:, t] @ Wx + h @ Wh)
            hs.append(h)
        return np.stack(hs, axis=1)

    @staticmethod
    def back(dhs, xs, hs, Wx, Wh):
        dxs, dh = np.zeros_like(xs), 0
        dWx, dWh = np.zeros_like(Wx), np.zeros_like(Wh)
        for t in reversed(range(xs.shape[1])):
            da = (dhs[:, t] + dh) * (1 - hs[:, t] ** 2)
            dxs[:, t], dh = da @ Wx.T, da @ Wh.T
            dWx += xs[:, t].T @ da
            if t > 0:
                dWh += hs[:, t - 1].T @ da
        return dxs, dWx, dWh

    def forward(self, xs):
        self.xs = xs
        self.one = self.run(xs, self.Wx1, self.Wh1)
        self.two = self.run(xs[:, ::-1], self.Wx2, self.Wh2)
        return np.concatenate((self.one, self.two[:, ::-1]), axis=2)

    def backward(self, dhs):
        H = len(self.Wh1)
        d1, self.dWx1, self.dWh1 = self.back(dhs[:, :, :H], self.xs, self.one, self.Wx1, self.Wh1)
        d2, self.dWx2, self.dWh2 = self.back(
            self.turned(dhs[:, :, H:]), self.xs[:, ::-1], self.two, self.Wx2, self.Wh2
        )
        return d1 + self.turned_back(d2)

    def turned(self, dhs):
        return dhs[:, ::-1]

    def turned_back(self, dx):
        return dx[:, ::-1]


@exhibit("time reversed", "", "dx[:, ::-1]", both_ways)
class BothWaysNotTurnedBack(BothWays):
    def turned_back(self, dx):
        return dx


@exhibit("time reversed", "", "dhs[:, ::-1]", both_ways)
class BothWaysNotTurned(BothWays):
    def turned(self, dhs):
        return dhs
