"""Answers to the exercises of lesson 6 that need several lines, and what several share."""

import numpy as np

from deepnlp.backend.functions import sigmoid
from tests.lessons.exercises.tools import solution_of


def norm_of(arrays):
    return np.sqrt(sum(np.sum(g**2) for g in arrays))


def always_scaled(grads, max_norm):
    norm = norm_of(grads)
    return [g * (max_norm / norm) for g in grads], norm


def gru(x, h_prev, Wx, Wh, b, order=(0, 1), keep=lambda n, z, h: (1 - z) * n + z * h):
    H = h_prev.shape[1]
    ax = x @ Wx + b
    gates = np.split(sigmoid(ax[:, : 2 * H] + h_prev @ Wh[:, : 2 * H]), 2, axis=1)
    r, z = gates[order[0]], gates[order[1]]
    n = np.tanh(ax[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :])
    return keep(n, z, h_prev)


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

    def through_h(self, da):
        return da @ self.Wh.T

    def start(self):
        self.dWx, self.dWh, self.db = (np.zeros_like(w) for w in (self.Wx, self.Wh, self.b))

    def gathered(self, before, new):
        return before + new

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
        self.start()
        dh_next, dc_next, dxs = 0.0, 0.0, []
        for t in reversed(range(dhs.shape[1])):
            x, h, c, i, f, g, o, u = self.steps[t]
            dh = dhs[:, t] + dh_next
            dc = dc_next + self.to_c(dh, o, u)
            di, dg = self.to_i_and_g(dc, i, g)
            slopes = di * i * (1 - i), dc * c * f * (1 - f), dg * (1 - g**2), dh * u * o * (1 - o)
            da = np.concatenate(slopes, axis=1)
            self.dWx = self.gathered(self.dWx, x.T @ da)
            self.dWh = self.gathered(self.dWh, h.T @ da)
            self.db = self.gathered(self.db, da.sum(axis=0))
            dxs.append(da @ self.Wx.T)
            dh_next, dc_next = self.through_h(da), self.through_c(dc, f)
        return np.stack(dxs[::-1], axis=1)


def same_if_small(grads, top):
    norm = norm_of(grads)
    return ([g * top / norm for g in grads] if norm > top else grads), norm


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
        self.dWx, self.dWh, self.db = (np.zeros_like(w) for w in (self.Wx, self.Wh, self.b))
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


def gru_by_columns(x, h, W, U, b):
    H = h.shape[1]
    block = [slice(k * H, (k + 1) * H) for k in range(3)]
    r, z = (1 / (1 + np.exp(-(x @ W[:, k] + h @ U[:, k] + b[k]))) for k in block[:2])
    new = np.tanh(x @ W[:, block[2]] + np.einsum("nh,hk->nk", r * h, U[:, block[2]]) + b[block[2]])
    return new + z * (h - new)


def gates_reordered(W):
    i, f, g, o = np.split(W, 4, axis=-1)
    return np.concatenate([f, i, o, g], axis=-1)
