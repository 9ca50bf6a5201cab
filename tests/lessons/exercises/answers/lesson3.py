"""Answers to the exercises of lesson 3 that need several lines, and what several share."""

import numpy as np


def windows_by_loop(text, size):
    around, middle = [], []
    for t in range(size, len(text) - size):
        around.append([*text[t - size : t], *text[t + 1 : t + size + 1]])
        middle.append(text[t])
    return around, middle  # lists will do


def windows_by_view(ids, w):
    full = np.lib.stride_tricks.sliding_window_view(ids, 2 * w + 1)
    return np.delete(full, w, axis=1), full[:, w]


def bag_by_loop(c, V):
    x = np.zeros((len(c), V))
    for n, row in enumerate(c):
        for word in row:
            x[n, word] += 1
    return x / len(c[0])


def bag_by_add_at(contexts, V):
    N, C = contexts.shape
    x = np.zeros((N, V))
    np.add.at(x, (np.repeat(np.arange(N), C), contexts.ravel()), 1 / C)
    return x


class LoopingMean:
    """Loops over windows and places."""

    def __init__(self, matrix):
        self.matrix, self.E = matrix, matrix

    def forward(self, c):
        self.c = c
        return np.array([sum(self.matrix[k] for k in row) / len(row) for row in c])

    def backward(self, grad):
        self.dE = 0 * self.matrix
        for row, g in zip(self.c, grad, strict=True):
            for k in row:
                self.dE[k] += g / len(row)


class EinsumMean:
    """By one-hot vectors after all, which the check cannot forbid."""

    def __init__(self, E):
        self.E = E

    def forward(self, contexts):
        self.x = np.eye(len(self.E))[contexts].mean(axis=1)
        return np.einsum("nv,vd->nd", self.x, self.E)

    def backward(self, dh):
        self.dE = np.einsum("nv,nd->vd", self.x, dh)


def ds_by_loop(scores, c):
    N, C = c.shape
    total = np.zeros_like(scores)
    for n in range(N):
        p = np.exp(scores[n]) / np.exp(scores[n]).sum()
        for word in c[n]:
            total[n] += p
            total[n, word] -= 1
    return total / (N * C)


def ds_by_uses(s, contexts):
    N, C = contexts.shape
    p = np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)
    ds = np.repeat(p[:, None], C, axis=1)
    ds[np.arange(N)[:, None], np.arange(C), contexts] -= 1
    return np.einsum("ncv->nv", ds) / N / C


def likelihood_by_loop(table, text, size):
    total = 0
    for t, centre in enumerate(text):
        for k in range(max(0, t - size), min(len(text), t + size + 1)):
            if k != t:
                total += np.log(table[centre, text[k]])
    return total


def likelihood_by_counts(P, ids, w):
    counts = np.zeros_like(P)
    for j in range(1, w + 1):
        np.add.at(counts, (ids[:-j], ids[j:]), 1)
        np.add.at(counts, (ids[j:], ids[:-j]), 1)
    return np.einsum("ij,ij->", counts, np.log(P))


def lowest_by_loop(table):
    total = 0.0
    for row in table:
        for n in row:
            total -= n * np.log(n / sum(row)) if n else 0.0
    return total / np.sum(table)


def lowest_by_entropies(counts):
    def h(p):
        return -np.sum(p * np.log(np.where(p > 0, p, 1)))

    joint = counts / counts.sum()
    return h(joint) - h(joint.sum(axis=1))


def columns(ids, w, offsets):
    return np.stack([ids[w + k : len(ids) - w + k] for k in offsets], axis=1)


def windows(offsets_of, targets_of=lambda ids, w: ids[w : len(ids) - w]):
    return lambda ids, w: (columns(ids, w, offsets_of(w)), targets_of(ids, w))


def sides(w):
    return [*range(-w, 0), *range(1, w + 1)]


def shares(s):
    return np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)


def marked(contexts, V, value):
    x = np.zeros((len(contexts), V))
    x[np.arange(len(contexts))[:, None], contexts] = value
    return x


def sum_of_logs(offsets):
    def answer(P, ids, w):
        pairs = [(t, t + j) for t in range(len(ids)) for j in offsets(w) if 0 <= t + j < len(ids)]
        return sum(np.log(P[ids[t], ids[k]]) for t, k in pairs)

    return answer


def row_entropies(counts):
    p = counts / counts.sum(axis=1, keepdims=True)
    return -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0), axis=1)


def entropy(p):
    return -np.sum(p[p > 0] * np.log(p[p > 0]))


def nan_where_nothing_was_counted(counts):
    p = counts / counts.sum(axis=1, keepdims=True)
    return -np.sum(counts * np.log(p)) / counts.sum()


def sum_forward(self, contexts):
    self.contexts = contexts
    return self.E[contexts].sum(axis=1)


def assigned(self, dh):
    self.dE = np.zeros_like(self.E)
    self.dE[self.contexts] = dh[:, None] / self.contexts.shape[1]


def added_by_index(self, dh):
    self.dE = np.zeros_like(self.E)
    for row, g in zip(self.contexts, dh, strict=True):
        self.dE[row] += g / len(row)


def added_at_once(self, dh):
    self.dE = np.zeros_like(self.E)
    self.dE[self.contexts] += dh[:, None] / self.contexts.shape[1]


def undivided(self, dh):
    self.dE = np.zeros_like(self.E)
    np.add.at(self.dE, self.contexts, dh[:, None])


def divided_by_windows(self, dh):
    self.dE = np.zeros_like(self.E)
    np.add.at(self.dE, self.contexts, dh[:, None] / len(dh))


def piling_up(self, dh):
    if self.dE is None:
        self.dE = np.zeros_like(self.E)
    np.add.at(self.dE, self.contexts, dh[:, None] / self.contexts.shape[1])


def only_used_rows(self, dh):
    self.dE = np.repeat(dh[:, None] / self.contexts.shape[1], self.contexts.shape[1], axis=1)
