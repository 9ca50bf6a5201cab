"""Lesson 3: right answers in several styles, the typical wrong ones, and what each is told."""

import numpy as np

from tests.lessons.exercises.tools import solution_of

# --- Right answers, each in another style -----------------------------------------------------


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


RIGHT = [
    ("3.3", "Never higher"),
    ("3.3", " never higher "),
    ("3.6", "e w"),
    ("3.6", "E W "),
    ("3.1", windows_by_loop),
    ("3.1", windows_by_view),
    ("3.2", bag_by_loop),
    ("3.2", bag_by_add_at),
    ("3.4", LoopingMean),
    ("3.4", EinsumMean),
    ("3.5", ds_by_loop),
    ("3.5", ds_by_uses),
    ("3.7", likelihood_by_loop),
    ("3.7", likelihood_by_counts),
    ("3.8", lowest_by_loop),
    ("3.8", lowest_by_entropies),
]


# --- Wrong answers ----------------------------------------------------------------------------


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


def complete_windows(P, ids, w):
    return sum(np.log(P[ids[t], ids[t + j]]) for t in range(w, len(ids) - w) for j in sides(w))


WRONG = [
        ("3.1", windows(lambda w: range(-w, w + 1)), "centre in its own context"),
        ("3.1", windows(lambda w: range(-w, 0)), "left side only"),
        ("3.1", windows(lambda w: range(1, w + 1)), "right side only"),
        ("3.1", windows(lambda w: (-1, 1)), "nearest words only"),
        (
            "3.1",
            windows(lambda w: [*range(-1, -w - 1, -1), *range(1, w + 1)]),
            "not in the order of the text",
        ),
        ("3.1", windows(sides, lambda ids, w: ids), "targets at the ends of the text"),
        ("3.1", windows(sides, lambda ids, w: ids[w - 1 : len(ids) - w - 1]), "off by one"),
        ("3.1", lambda ids, w: columns(ids, w, sides(w)), "wrong type"),
        ("3.2", lambda c, V: np.eye(V)[c].sum(axis=1), "counts instead of shares"),
        ("3.2", lambda c, V: marked(c, V, 1), "present or absent"),
        ("3.2", lambda c, V: marked(c, V, 1 / c.shape[1]), "repeated word counted once"),
        (
            "3.2",
            lambda c, V: marked(c, V, 1) / marked(c, V, 1).sum(axis=1, keepdims=True),
            "divided by the words that differ",
        ),
        ("3.2", lambda c, V: np.eye(V)[c], "one vector for every word"),
        ("3.2", lambda c, V: np.eye(V)[c].mean(axis=0), "summed or broadcast over the wrong axis"),
        ("3.2", lambda c, V: np.eye(V)[c].mean(axis=1).T, "transposed"),
        ("3.3", "never lower", "wrong choice", "M can do whatever"),
        ("3.3", "the same", "wrong choice", "at most rank D"),
        ("3.5", lambda s, c: (c.shape[1] * shares(s) - np.eye(6)[c].sum(axis=1)) / len(s),
         "summed over the context"),
        ("3.5", lambda s, c: shares(s) - np.eye(6)[c].mean(axis=1), "loss not averaged"),
        ("3.5", lambda s, c: c.shape[1] * shares(s) - np.eye(6)[c].sum(axis=1),
         "summed, not averaged, over both"),
        ("3.5", lambda s, c: (shares(s) - np.eye(6)[c].sum(axis=1)) / c.size,
         "guess counted once"),
        ("3.5", lambda s, c: (shares(s) - np.eye(6)[c].sum(axis=1)) / len(s),
         "guess counted once, uses summed"),
        ("3.5", lambda s, c: (shares(s) - np.eye(6)[c[:, 0]]) / len(s),
         "one word of the context"),
        ("3.5", lambda s, c: (shares(s) - marked(c, 6, 1 / c.shape[1])) / len(s),
         "repeated word counted once"),
        ("3.5", lambda s, c: (shares(s)[:, None] - np.eye(6)[c]) / c.size, "uses not summed"),
        ("3.5", lambda s, c: shares(s) / len(s), "term of a sum or product missing"),
        ("3.5", lambda s, c: (np.eye(6)[c].mean(axis=1) - shares(s)) / len(s), "sign"),
        ("3.6", "E E^T", "wrong choice", "two words as centres"),
        ("3.6", "W^T W", "wrong choice", "two words as predictions"),
        ("3.6", "W E", "wrong type"),
        ("3.7", sum_of_logs(lambda w: range(1, w + 1)), "one side of the window"),
        ("3.7", sum_of_logs(lambda w: range(-w, 0)), "one side of the window, the left one"),
        ("3.7", sum_of_logs(lambda w: range(-w, w + 1)), "centre in its own context"),
        ("3.7", complete_windows, "complete windows only"),
        ("3.7", lambda P, ids, w: -sum_of_logs(sides)(P, ids, w), "sign"),
        ("3.7", lambda P, ids, w: sum_of_logs(sides)(P, ids, w) / np.log(2),
         "base of the logarithm"),
        ("3.7", lambda P, ids, w: sum_of_logs(sides)(P, ids, w) / len(ids),
         "mean over the centres"),
        ("3.8", lambda n: entropy(n / n.sum()), "entropy of the pairs"),
        ("3.8", lambda n: entropy(n.sum(axis=0) / n.sum()), "entropy of the context words alone"),
        ("3.8", lambda n: row_entropies(n).mean(), "centres weighted equally"),
        ("3.8", lambda n: row_entropies(n).sum(), "summed over the centres"),
        ("3.8", lambda n: lowest_by_loop(n.T), "given the context word"),
        ("3.8", lambda n: lowest_by_loop(n) * n.sum(), "total instead of mean"),
        ("3.8", lambda n: lowest_by_loop(n) / np.log(2), "base of the logarithm"),
        ("3.8", lambda n: -lowest_by_loop(n), "sign"),
        ("3.8", nan_where_nothing_was_counted, "not a number"),
]  # fmt: skip


# --- The input layer --------------------------------------------------------------------------


def variant(**methods):
    return type("Mine", (solution_of("3.4"),), methods)


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


LAYERS = [
    ({"forward": sum_forward}, "sum instead of mean"),
    ({"forward": lambda self, contexts: self.E[contexts]}, "not averaged"),
    ({"backward": assigned}, "repeated ids overwritten"),
    ({"backward": added_at_once}, "repeated ids overwritten"),
    ({"backward": added_by_index}, "repetition within a context lost"),
    ({"backward": undivided}, "mean not undone"),
    ({"backward": divided_by_windows}, "divided by N"),
    ({"backward": piling_up}, "dE of the backward before"),
    ({"backward": only_used_rows}, "wrong shape"),
    ({"backward": lambda self, dh: dh}, "empty"),
    ({"forward": lambda self, contexts: None}, "empty"),
]
WRONG += [("3.4", variant(**methods), told) for methods, told in LAYERS]


WRONG += [
    ("3.1", lambda ids, w: windows(sides)(ids, w)[::-1], "targets before contexts"),
    ("3.1", windows(lambda w: [*range(1, w + 1), *range(-w, 0)]), "not in the order of the text"),
    ("3.2", lambda c, V: np.eye(V)[c[:, 0]], "one word of the context"),
    ("3.4", variant(forward=lambda self, contexts: self.E[contexts[:, 0]]), "one word alone"),
    ("3.5", lambda s, c: -np.eye(6)[c].mean(axis=1) / len(s), "guess missing"),
    ("3.5", lambda s, c: (s - np.eye(6)[c].mean(axis=1)) / len(s), "softmax missing"),
    ("3.7", lambda P, ids, w: np.exp(sum_of_logs(sides)(P, ids, w)), "the likelihood itself"),
    ("3.7", lambda P, ids, w: sum_of_logs(sides)(P, ids, 1), "window not used"),
    ("3.8", lambda n: np.exp(lowest_by_loop(n)), "the perplexity"),
    ("3.8", lambda n: np.log(len(n)), "all words alike"),
]
