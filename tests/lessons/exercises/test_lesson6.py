"""Lesson 6: right answers in several styles, typical wrong ones, and what each is told."""

import numpy as np
import pytest

from deepnlp.backend.functions import sigmoid
from deepnlp.layers import GRU
from deepnlp.lessons.exercises import check
from tests.lessons.exercises.tools import solution_of

# --- Choices and numbers ----------------------------------------------------------------------


WRONG = [
    ("6.1", answer, told)
    for answer, told in [
        ({"A": "grows", "B": "grows", "C": "vanishes"}, "judged by the singular value"),
        ({"A": "vanishes", "B": "vanishes", "C": "vanishes"}, "a turn that grows"),
        ({"A": "vanishes", "B": "explodes", "C": "vanishes"}, "wrong type"),
        ("grows", "wrong type"),
    ]
]


WRONG += [
    ("6.5", biases, told)
    for biases, told in [
        ([12.0, 12.0, 3.0, 12.0], "the output gate is open"),
        ([12.0, 1.0, 3.0, -12.0], "the memory forgets"),
        ([-3.0, 12.0, 3.0, -12.0], "nothing comes in"),
        ([12.0, 12.0, 0.5, -12.0], "nothing comes in"),
        ([12.0, 12.0, 3.0], "wrong shape"),
    ]
]


WRONG += [
    ("6.6", answer, told)
    for answer, told in [
        (lambda n: 0.5 ** (1 / n), "the gate and not its bias"),
        (lambda n: 0.0, "one step instead of n"),
        (lambda n: np.log(n), "wrong value"),
    ]
]


# --- Functions --------------------------------------------------------------------------------


def norm_of(arrays):
    return np.sqrt(sum(np.sum(g**2) for g in arrays))


def each_alone(grads, max_norm):
    return [g * min(1.0, max_norm / norm_of([g])) for g in grads], norm_of(grads)


def always_scaled(grads, max_norm):
    norm = norm_of(grads)
    return [g * (max_norm / norm) for g in grads], norm


CLIPPINGS = {
    "each array clipped on its own": each_alone,
    "small gradients scaled up": always_scaled,
    "norms added instead of their squares": lambda g, m: (g, sum(norm_of([one]) for one in g)),
    "not the root": lambda g, m: (g, norm_of(g) ** 2),
    "wrong type": lambda g, m: g,
    "wrong shape": lambda g, m: (g[:1], norm_of(g)),
}


WRONG += [("6.3", answer, told) for told, answer in CLIPPINGS.items()]


def gru(x, h_prev, Wx, Wh, b, order=(0, 1), keep=lambda n, z, h: (1 - z) * n + z * h):
    H = h_prev.shape[1]
    ax = x @ Wx + b
    gates = np.split(sigmoid(ax[:, : 2 * H] + h_prev @ Wh[:, : 2 * H]), 2, axis=1)
    r, z = gates[order[0]], gates[order[1]]
    n = np.tanh(ax[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :])
    return keep(n, z, h_prev)


GRUS = {
    "update gate the wrong way round": lambda *a: gru(*a, keep=lambda n, z, h: z * n + (1 - z) * h),
    "gates swapped": lambda *a: gru(*a, order=(1, 0)),
    "reset gate after the product": lambda x, h, Wx, Wh, b: GRU(
        Wx, Wh, b, reset_after=True
    ).forward(x, h),
    "old state dropped": lambda *a: gru(*a, keep=lambda n, z, h: (1 - z) * n),
}


WRONG += [("6.8", answer, told) for told, answer in GRUS.items()]


# --- Backward passes --------------------------------------------------------------------------


def time_lstm(carry_h=True, carry_c=True, add=True):
    """The solution of 6.4 with a mistake in its backward."""

    class Wrong(solution_of("6.4")):
        def backward(self, dhs):
            dh_next = dc_next = np.zeros_like(dhs[:, 0])
            dx = np.zeros((*dhs.shape[:2], len(self.Wx)))
            for t in reversed(range(dhs.shape[1])):
                x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
                dh = dhs[:, t] + dh_next
                dc = dc_next + dh * o * (1 - u**2)
                parts = (dc * g * i * (1 - i), dc * c_prev * f * (1 - f))
                da = np.concatenate([*parts, dc * i * (1 - g**2), dh * u * o * (1 - o)], axis=1)
                new = x.T @ da, h_prev.T @ da, da.sum(axis=0)
                old = (self.dWx, self.dWh, self.db) if add else (0, 0, 0)
                self.dWx, self.dWh, self.db = (a + b for a, b in zip(old, new, strict=True))
                dx[:, t] = da @ self.Wx.T
                dh_next = da @ self.Wh.T if carry_h else np.zeros_like(dh)
                dc_next = dc * f if carry_c else np.zeros_like(dh)
            return dx

    return Wrong


LSTMS = {
    "path through h_prev dropped": {"carry_h": False},
    "path through c_prev dropped": {"carry_c": False},
    "assigned instead of accumulated": {"add": False},
}


WRONG += [("6.4", time_lstm(**options), told) for told, options in LSTMS.items()]


def test_an_lstm_with_its_gates_in_another_order():
    def columns(W):
        i, f, g, o = np.split(W, 4, axis=-1)
        return np.concatenate([f, i, o, g], axis=-1)

    def wrong(Wx, Wh, b):
        return solution_of("6.4")(columns(Wx), columns(Wh), columns(b))

    verdict = check("6.4", wrong)
    assert verdict.diagnosis == "gates swapped"
    assert "f, i, o, g" in verdict.text


class Parts(solution_of("6.4")):
    """A right LSTM whose lines can be replaced one by one."""

    def new(self, a):
        return np.tanh(a)

    def kept(self, i, f, g, c):
        return f * c + i * g

    def told(self, o, c):
        return o * np.tanh(c)

    def to_c(self, dh, o, u):
        return dh * o * (1 - u**2)

    def through_c(self, dc, f):
        return dc * f

    def to_i_and_g(self, dc, i, g):
        return dc * g, dc * i

    def forward(self, x):
        h = c = np.zeros((len(x), len(self.Wh)))
        self.steps, hs = [], []
        for t in range(x.shape[1]):
            a = np.split(x[:, t] @ self.Wx + h @ self.Wh + self.b, 4, axis=1)
            i, f, g, o = sigmoid(a[0]), sigmoid(a[1]), self.new(a[2]), sigmoid(a[3])
            before, c = (x[:, t], h, c), self.kept(i, f, g, c)
            h = self.told(o, c)
            self.steps.append((*before, i, f, g, o, np.tanh(c)))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        dh_next, dc_next, dxs = 0.0, 0.0, []
        for t in reversed(range(dhs.shape[1])):
            x, h, c, i, f, g, o, u = self.steps[t]
            dh = dhs[:, t] + dh_next
            dc = dc_next + self.to_c(dh, o, u)
            di, dg = self.to_i_and_g(dc, i, g)
            slopes = di * i * (1 - i), dc * c * f * (1 - f), dg * (1 - g**2), dh * u * o * (1 - o)
            da = np.concatenate(slopes, axis=1)
            self.dWx, self.dWh = self.dWx + x.T @ da, self.dWh + h.T @ da
            self.db = self.db + da.sum(axis=0)
            dxs.append(da @ self.Wx.T)
            dh_next, dc_next = da @ self.Wh.T, self.through_c(dc, f)
        return np.stack(dxs[::-1], axis=1)


PARTS = [
    ({"new": lambda self, a: sigmoid(a)}, "g is a sigmoid"),
    ({"told": lambda self, o, c: np.tanh(c)}, "output gate not used"),
    ({"told": lambda self, o, c: o * c}, "tanh of c missing"),
    ({"kept": lambda self, i, f, g, c: c + i * g}, "forget gate not used"),
    ({"kept": lambda self, i, f, g, c: f * c + g}, "input gate not used"),
    ({"kept": lambda self, i, f, g, c: (1 - i) * c + i * g}, "1 - i in place of f"),
    ({"to_c": lambda self, dh, o, u: dh * (1 - u**2)}, "term of a sum or product missing"),
    ({"through_c": lambda self, dc, f: dc}, "term of a sum or product missing"),
    ({"to_i_and_g": lambda self, dc, i, g: (dc * i, dc * g)}, "di and dg exchanged"),
    ({"backward": lambda self, dhs: [Parts.backward(self, dhs)]}, "wrong type"),
    ({"backward": lambda self, dhs: Parts.backward(self, np.ones_like(dhs))},
     "arriving gradient not used"),
]  # fmt: skip
WRONG += [("6.4", type("Mine", (Parts,), methods), told) for methods, told in PARTS]


# --- Right answers in other styles, and further mistakes ---------------------------------------


def clip_in_place(gradients, limit):
    total = np.sqrt(np.einsum("i,i->", *[np.concatenate([g.ravel() for g in gradients])] * 2))
    for g in gradients:
        g *= limit / max(limit, total)
    return gradients, total


class LoopingLSTM(solution_of("6.4")):
    """Unit by unit in forward, with other names; backward as the solution has it."""

    def forward(self, x):
        N, T, _ = x.shape
        H = len(self.Wh)
        out, self.kept = np.zeros((N, T, H)), []
        state, memory = np.zeros((N, H)), np.zeros((N, H))
        for step in range(T):
            z = np.einsum("nd,dk->nk", x[:, step], self.Wx) + state @ self.Wh + self.b
            gates = [1 / (1 + np.exp(-z[:, k * H : (k + 1) * H])) for k in (0, 1, 3)]
            new = np.tanh(z[:, 2 * H : 3 * H])
            before = (x[:, step], state, memory)
            memory = gates[1] * memory + gates[0] * new
            told = np.tanh(memory)
            state = gates[2] * told
            self.kept.append((*before, gates[0], gates[1], new, gates[2], told))
            out[:, step] = state
        return out


class EinsumLSTM(solution_of("6.4")):
    """Gate by gate in backward, into blocks of one array."""

    def backward(self, gradients):
        H, T = len(self.Wh), gradients.shape[1]
        carried, memory = np.zeros_like(gradients[:, 0]), np.zeros_like(gradients[:, 0])
        dx = np.empty((len(gradients), T, len(self.Wx)))
        for step in range(T - 1, -1, -1):
            x, h, c, i, f, g, o, u = self.kept[step]
            above, da = gradients[:, step] + carried, np.empty((len(x), 4 * H))
            memory = memory + above * o * (1 - u * u)
            da[:, 3 * H :] = above * u * o * (1 - o)
            da[:, :H], da[:, H : 2 * H] = memory * g * i * (1 - i), memory * c * f * (1 - f)
            da[:, 2 * H : 3 * H] = memory * i * (1 - g * g)
            self.dWx = self.dWx + np.einsum("nd,nk->dk", x, da)
            self.dWh = self.dWh + np.einsum("nh,nk->hk", h, da)
            self.db = self.db + np.einsum("nk->k", da)
            dx[:, step] = np.einsum("nk,dk->nd", da, self.Wx)
            carried, memory = np.einsum("nk,hk->nh", da, self.Wh), memory * f
        return dx


def along_c_by_steps(gates, gradient):
    found = [gradient]
    for gate in reversed(gates):
        found.insert(0, found[0] * gate)
    return np.array(found[:-1])


def along_c_by_products(f, dc):
    return np.array([np.prod(f[t:], axis=0) * dc for t in range(len(f))])


def gru_by_columns(x, h, W, U, b):
    H = h.shape[1]
    block = [slice(k * H, (k + 1) * H) for k in range(3)]
    r, z = (1 / (1 + np.exp(-(x @ W[:, k] + h @ U[:, k] + b[k]))) for k in block[:2])
    new = np.tanh(x @ W[:, block[2]] + np.einsum("nh,hk->nk", r * h, U[:, block[2]]) + b[block[2]])
    return new + z * (h - new)


def gru_by_rows(x, h_prev, Wx, Wh, b):
    return np.stack([gru_by_columns(x[n : n + 1], h_prev[n : n + 1], Wx, Wh, b)[0]
                     for n in range(len(x))])  # fmt: skip


def clip_numbers(grads, max_norm):
    return [np.clip(g, -max_norm, max_norm) for g in grads], norm_of(grads)


WRONG += [
    ("6.1", {"A": "vanishes", "B": "grows", "C": "grows"}, "a turn that shrinks"),
    ("6.2", 1.8 ** (-1 / 20), "the way back"),
    ("6.3", clip_numbers, "every number clipped on its own"),
    ("6.3", lambda grads, top: (grads, norm_of(grads)), "nothing clipped"),
    ("6.3", lambda grads, top: ([g / norm_of(grads) for g in grads], norm_of(grads)),
     "threshold not used"),
    ("6.3", lambda grads, top: (norm_of(grads), grads), "norm before the gradients"),
    ("6.5", [12.0, 12.0, -3.0, -12.0], "it counts down"),
    ("6.5", [12.0, 12.0, 3.0, "shut"], "wrong type"),
    ("6.6", lambda n: np.log(n / np.log(2)), "only nearly right"),
    ("6.6", lambda n: 0.5**n, "the power instead of the root"),
    ("6.6", lambda n: 1.0, "the usual bias"),
    ("6.7", lambda f, dc: np.stack([dc * f[t] ** (len(f) - t) for t in range(len(f))]),
     "one gate for all steps"),
    ("6.8", lambda x, h, Wx, Wh, b: gru(0 * x, h, Wx, Wh, b), "x not used"),
    ("6.8", lambda x, h, Wx, Wh, b: gru(x, 0 * h, Wx, Wh, b), "h_prev not used"),
    ("6.8", lambda x, h, Wx, Wh, b: gru(x, h, Wx, Wh, 0 * b), "b not used"),
    ("6.8", lambda *a: gru(*a, keep=lambda n, z, h: n + z * h), "n not weighted"),
    ("6.8", lambda *a: gru(*a, keep=lambda n, z, h: n), "update gate not used"),
]  # fmt: skip

RIGHT = [
    ("6.1", {"C": "Vanishes ", "B": "GROWS", "A": "vanishes"}),
    ("6.1", dict(zip("ABC", ["vanishes", "grows", "vanishes"], strict=True))),
    ("6.2", 1.0298),
    ("6.2", np.exp(np.log(1.8) / 20)),
    ("6.3", clip_in_place),
    ("6.3", lambda grads, top: ([g * min(1, top / norm_of(grads)) for g in grads], norm_of(grads))),
    ("6.4", LoopingLSTM),
    ("6.4", EinsumLSTM),
    ("6.5", np.array([10.0, 10.0, 4.0, -10.0])),
    ("6.5", [9, 9.5, 5, -20]),
    ("6.6", lambda n: -np.log(2 ** (1 / n) - 1)),
    ("6.6", lambda steps: np.log(0.5 ** (1 / steps)) - np.log1p(-(0.5 ** (1 / steps)))),
    ("6.7", along_c_by_steps),
    ("6.7", along_c_by_products),
    ("6.8", gru_by_columns),
    ("6.8", gru_by_rows),
]


WRONG += [
    ("6.2", factor, told)
    for factor, told in [
        (0.09, "divided instead of rooted"),
        (1.8 ** (1 / 21), "one step too many or too few"),
        (np.log(1.8) / 20, "the logarithm"),
        (1.8**20, "the growth of one step, twenty times"),
        (1.09, "divided instead of rooted"),
    ]
]


WRONG += [
    ("6.7", answer, told)
    for answer, told in [
        (lambda f, dc: dc * np.cumprod(f, axis=0), "the first gates instead of the last"),
        (lambda f, dc: dc * np.cumprod(f[::-1], axis=0), "from the last step to the first"),
        (lambda f, dc: dc * f, "one gate at each step"),
        (lambda f, dc: np.cumprod(f[::-1], axis=0)[::-1], "dc not used"),
        (lambda f, dc: dc * np.prod(f, axis=0), "the gradient of c_0 alone"),
    ]
]


@pytest.mark.parametrize("name", ["6.3", "6.6", "6.7", "6.8"])
def test_a_function_that_returns_nothing_is_empty(name):
    assert check(name, lambda *given: None).diagnosis == "empty"
