"""Answers to the exercises of lesson 7 that need several lines, and what several share."""

import numpy as np

from tests.lessons.exercises.tools import solution_of


def dropout(x, p, mask, scaled=True):
    return x * mask / (1 - p if scaled else 1)


MASKS = {
    "a fresh mask for every step": lambda x, p, rng: dropout(x, p, rng.random(x.shape) >= p),
    "one mask for all rows": lambda x, p, rng: dropout(x, p, rng.random((1, 1, x.shape[2])) >= p),
    "kept with probability p": lambda x, p, rng: dropout(
        x, 1 - p, rng.random((len(x), 1, x.shape[2])) < p
    ),
    "mask not scaled": lambda x, p, rng: dropout(
        x, p, rng.random((len(x), 1, x.shape[2])) >= p, scaled=False
    ),
    "wrong shape": lambda x, p, rng: x[:, 0],
}


def count(V, D, H, tie, *, twice=False, bias=True, first_again=False, blocks=4, L=True):
    second_input = D if first_again else H
    cells = blocks * H * (D + H + 1) + blocks * H * (second_input + H + 1)
    output = H * V if tie == "none" else twice * V * D
    return V * D + cells + output + (H * D if tie == "tied+L" and L else 0) + bias * V


def tied(lookup=True, output=True, add_at=True):
    """The solution of 7.5 with a mistake in it."""

    class Wrong(solution_of("7.5")):
        def backward(self, ds):
            dhat = ds @ self.E
            self.dL = self.h.T @ dhat
            self.dE = ds.T @ (self.h @ self.L) if output else np.zeros_like(self.E)
            dx = (dhat @ self.L.T) * (1 - self.h**2)
            if lookup and add_at:
                np.add.at(self.dE, self.ids, dx)
            elif lookup:
                self.dE[self.ids] += dx

    return Wrong


class WithoutTheSlope(solution_of("7.5")):
    def backward(self, ds):
        dhat = ds @ self.E
        self.dE, self.dL = ds.T @ (self.h @ self.L), self.h.T @ dhat
        np.add.at(self.dE, self.ids, dhat @ self.L.T)


class WithoutLInForward(solution_of("7.5")):
    def forward(self, ids):
        super().forward(ids)
        return self.h @ self.E.T


def locked_by_rows(x, p, rng):
    kept = [(rng.random(x.shape[2]) > p) / (1 - p) for _ in x]
    return np.array([row * mask for row, mask in zip(x, kept, strict=True)])


def count_by_table(vocabulary, D, H, tie):
    shapes = [(vocabulary, D), (D, 4 * H), (H, 4 * H), (4 * H,), (H, 4 * H), (H, 4 * H), (4 * H,)]
    shapes += {"none": [(H, vocabulary)], "tied": [], "tied+L": [(H, D)]}[tie] + [(vocabulary,)]
    return sum(int(np.prod(shape)) for shape in shapes)


class EinsumTied:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.ids = ids
        self.state = np.tanh(self.E[ids])
        return np.einsum("nd,de,ve->nv", self.state, self.L, self.E)

    def backward(self, ds):
        one_hot = np.eye(len(self.E))[self.ids]
        self.dL = np.einsum("nd,nv,ve->de", self.state, ds, self.E)
        dx = np.einsum("nv,ve,de->nd", ds, self.E, self.L) * (1 - self.state**2)
        self.dE = np.einsum("nv,nd,de->ve", ds, self.state, self.L) + one_hot.T @ dx


class LoopingTied(solution_of("7.5")):
    def backward(self, scores):
        self.dL, self.dE = np.zeros_like(self.L), np.zeros_like(self.E)
        for n, word in enumerate(self.ids):
            back = scores[n] @ self.E
            self.dL += np.outer(self.h[n], back)
            self.dE += np.outer(scores[n], self.h[n] @ self.L)
            self.dE[word] += (self.L @ back) * (1 - self.h[n] ** 2)


def soft_by_loop(E, ids, tau):
    rows = []
    for word in ids:
        weights = np.exp([E[word] @ other / tau for other in E])
        rows.append(weights / weights.sum())
    return rows


def count_by_formula(V, D, H, tie):
    lstms = 4 * H * (D + 3 * H + 2)
    return V * (D + 1) + lstms + dict(zip(("none", "tied", "tied+L"), (H * V, 0, H * D)))[tie]


class TransposedGradient(solution_of("7.5")):
    def backward(self, ds):
        super().backward(ds)
        self.dL = self.dL.T
