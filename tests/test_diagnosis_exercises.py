"""The exercises gain from the diagnosis without a word of theirs: wrong LSTMs are named."""

import numpy as np
import pytest

from deepnlp.lessons.exercises import check


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class LSTM:
    """An answer to exercise 6.4, right as it stands."""

    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, xs):
        N, T, _ = xs.shape
        H = len(self.Wh)
        h, c = np.zeros((N, H)), np.zeros((N, H))
        hs, self.steps = np.zeros((N, T, H)), []
        for t in range(T):
            a = xs[:, t] @ self.Wx + h @ self.Wh + self.b
            i = sigmoid(a[:, :H])
            f = sigmoid(a[:, H : 2 * H])
            g = np.tanh(a[:, 2 * H : 3 * H])
            o = sigmoid(a[:, 3 * H :])
            h_prev, c_prev = h, c
            c = f * c + i * g
            u = np.tanh(c)
            h = o * u
            hs[:, t] = h
            self.steps.append((xs[:, t], h_prev, c_prev, i, f, g, o, u))
        return hs

    def backward(self, dhs):
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.db = np.zeros_like(self.b)
        dxs = np.zeros((*dhs.shape[:2], len(self.Wx)))
        dh_next = dc_next = 0
        for t in reversed(range(dhs.shape[1])):
            x, h_prev, *gates = self.steps[t]
            dh = dhs[:, t] + dh_next
            da, dc_next = self.step_back(dh, dc_next, *gates)
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dxs[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
        return dxs

    def step_back(self, dh, dc_next, c_prev, i, f, g, o, u):
        do = dh * u
        dc = dc_next + dh * o * (1 - u**2)
        di, df, dg = dc * g, dc * c_prev, dc * i
        da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
        return da, dc * f


class ForgottenDy(LSTM):
    def step_back(self, dh, dc_next, c_prev, i, f, g, o, u):
        do = u
        dc = dc_next + dh * o * (1 - u**2)
        di, df, dg = dc * g, dc * c_prev, dc * i
        da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
        return da, dc * f


class MissingO(LSTM):
    def step_back(self, dh, dc_next, c_prev, i, f, g, o, u):
        do = dh * u
        dc = dc_next + dh * (1 - u**2)
        di, df, dg = dc * g, dc * c_prev, dc * i
        da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
        return da, dc * f


class MissingF(LSTM):
    def step_back(self, dh, dc_next, c_prev, i, f, g, o, u):
        da, _ = super().step_back(dh, dc_next, c_prev, i, f, g, o, u)
        return da, dc_next + dh * o * (1 - u**2)


class MissingU(LSTM):
    def step_back(self, dh, dc_next, c_prev, i, f, g, o, u):
        do = dh
        dc = dc_next + dh * o * (1 - u**2)
        di, df, dg = dc * g, dc * c_prev, dc * i
        da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
        return da, dc * f


class Exchanged(LSTM):
    def step_back(self, dh, dc_next, c_prev, i, f, g, o, u):
        do = dh * u
        dc = dc_next + dh * o * (1 - u**2)
        di, df, dg = dc * i, dc * c_prev, dc * g
        da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
        return da, dc * f


MISSING = "term of a sum or product missing"
WRONG = {
    ForgottenDy: (MISSING, "`o`"),
    MissingO: (MISSING, "`o`"),
    MissingF: (MISSING, "`f`"),
    MissingU: (MISSING, "`u`"),
    Exchanged: ("gates swapped", "i and g"),
}


@pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.__name__)
def test_a_wrong_lstm_is_named(kind):
    diagnosis, words = WRONG[kind]
    verdict = check("6.4", kind)
    assert verdict.diagnosis == diagnosis, verdict.text
    assert words in verdict.text.replace("\n", " ")


def test_the_right_one_is_right():
    assert check("6.4", LSTM).ok
