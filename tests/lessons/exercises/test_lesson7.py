"""Lesson 7: right answers in several styles, typical wrong ones, and what each is told."""

from fractions import Fraction
from functools import partial

import numpy as np

from deepnlp.backend.functions import softmax
from deepnlp.lessons.exercises import check
from tests.lessons.exercises.tools import solution_of

WRONG = [
    ("7.1", share, told)
    for share, told in [
        (0.0, "added instead of multiplied"),
        (1.0, "the scaling brings nothing back"),
        (0.05, "wrong value"),
    ]
]


WRONG += [
    ("7.3", "Wx transposed", "wrong choice", "That is P_DH"),
    ("7.3", "E transposed", "wrong choice", "knows no words"),
    ("7.3", "Wh transposed", "wrong choice", "from one step to the next"),
]


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


WRONG += [("7.2", answer, told) for told, answer in MASKS.items()]


def count(V, D, H, tie, *, twice=False, bias=True, first_again=False, blocks=4, L=True):
    second_input = D if first_again else H
    cells = blocks * H * (D + H + 1) + blocks * H * (second_input + H + 1)
    output = H * V if tie == "none" else twice * V * D
    return V * D + cells + output + (H * D if tie == "tied+L" and L else 0) + bias * V


COUNTS = {
    "tied matrix counted twice": {"twice": True},
    "output bias forgotten": {"bias": False},
    "second layer reads H numbers": {"first_again": True},
    "one block instead of four": {"blocks": 1},
    "L forgotten": {"L": False},
}


WRONG += [("7.4", partial(count, **options), told) for told, options in COUNTS.items()]


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


TIED = {
    "tied use lost: lookup side": {"lookup": False},
    "tied use lost: output side": {"output": False},
    "repeated ids overwritten": {"add_at": False},
}


WRONG += [("7.5", tied(**options), told) for told, options in TIED.items()]


class WithoutTheSlope(solution_of("7.5")):
    def backward(self, ds):
        dhat = ds @ self.E
        self.dE, self.dL = ds.T @ (self.h @ self.L), self.h.T @ dhat
        np.add.at(self.dE, self.ids, dhat @ self.L.T)


class WithoutLInForward(solution_of("7.5")):
    def forward(self, ids):
        super().forward(ids)
        return self.h @ self.E.T


WRONG += [
    ("7.5", WithoutTheSlope, "tanh not undone"),
    ("7.5", WithoutLInForward, "L not used in forward"),
]


def test_a_transposed_gradient_of_l():
    class Wrong(solution_of("7.5")):
        def backward(self, ds):
            super().backward(ds)
            self.dL = self.dL.T

    assert check("7.5", Wrong).diagnosis == "transposed"


def test_dropout_that_ignores_x():
    def ones(x, p, rng):
        return np.broadcast_to(rng.random((len(x), 1, x.shape[2])) >= p, x.shape) / (1 - p)

    assert check("7.2", ones).diagnosis == "x not used"
    assert check("7.2", lambda x, p, rng: ones(x, p, rng) * (1 - p)).diagnosis == "x not used"


WRONG += [
    ("7.2", answer, told)
    for answer, told in [
        (lambda x, p, rng: x, "nothing dropped"),
        (
            lambda x, p, rng: x * (rng.random((len(x), 1, 1)) >= 0.5) / (1 - p),
            "whole vectors dropped",
        ),
        (
            lambda x, p, rng: x * (rng.random((len(x), 1, x.shape[2])) >= p) / p,
            "scaled by p",
        ),
        (lambda x, p, rng: None, "empty"),
    ]
]


COSTS = {
    "L forgotten": lambda V, D, H: V * D,
    "without L": lambda V, D, H: V * H,
    "the matrices multiplied first": lambda V, D, H: H * D * V + H * V,
    "L of the wrong shape": lambda V, D, H: V * D + H * H,
    "wrong value": lambda V, D, H: V + D + H,
    "empty": lambda V, D, H: None,
}


WRONG += [("7.6", answer, told) for told, answer in COSTS.items()]


SOFT = {
    "temperature forgotten": lambda E, ids, tau: softmax(E[ids] @ E.T),
    "multiplied by the temperature": lambda E, ids, tau: softmax(tau * E[ids] @ E.T),
    "one-hot targets": lambda E, ids, tau: np.eye(len(E))[ids],
    "softmax over the targets": lambda E, ids, tau: softmax(E @ E[ids].T / tau).T,
    "softmax missing": lambda E, ids, tau: E[ids] @ E.T / tau,
    "all words instead of the targets": lambda E, ids, tau: softmax(E @ E.T / tau),
    "empty": lambda E, ids, tau: None,
}


WRONG += [("7.7", answer, told) for told, answer in SOFT.items()]


WRONG += [
    ("7.8", "nothing", "wrong choice", "parameters of their own"),
    ("7.8", "b alone", "wrong choice", "L stands between"),
    ("7.8", "E, L and b", "wrong choice", "E is frozen"),
]


# --- Right answers in other styles ------------------------------------------------------------


def locked_by_rows(x, p, rng):
    kept = [(rng.random(x.shape[2]) > p) / (1 - p) for _ in x]
    return np.array([row * mask for row, mask in zip(x, kept, strict=True)])


def locked_by_einsum(x, p, rng):
    return np.einsum("ntd,nd->ntd", x, rng.binomial(1, 1 - p, (len(x), x.shape[2])) / (1 - p))


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


WRONG += [
    ("7.1", 0.5**9, "one step too many or too few"),
    ("7.1", 0.5**11, "one step too many or too few"),
    ("7.1", 1 - 0.5**10, "what is lost"),
    ("7.1", 5.0, "added instead of multiplied"),
    ("7.1", 0.1, "in per cent"),
    ("7.2", lambda x, p, rng: x * (rng.random((*x.shape[:2], 1)) >= p), "whole steps dropped"),
    ("7.2", lambda x, p, rng: MASKS["mask not scaled"](x, p, np.random.default_rng(0)),
     "rng not used"),
    ("7.2", lambda x, p, rng: locked_by_rows(x, 0.2, rng), "p not used"),
    ("7.2", lambda x, p, rng: 2 * x * (rng.random((len(x), 1, x.shape[2])) >= 0.5), "p not used"),
    ("7.4", lambda *given: count_by_formula(*given) + 8 * given[2], "two biases for each LSTM"),
    ("7.4", lambda V, D, H, tie: count_by_formula(V, D, H, tie) - V * D, "embedding forgotten"),
    ("7.6", lambda V, D, H: 2 * D * (H + V), "additions counted as well"),
    ("7.7", lambda E, ids, tau: np.exp(E[ids] @ E.T / tau), "not normalised"),
    ("7.7", lambda E, ids, tau: softmax(E[ids] @ E[ids].T / tau), "the targets among themselves"),
]  # fmt: skip

RIGHT = [
    ("7.1", 0.001),
    ("7.1", 0.00098),
    ("7.1", Fraction(1, 1024)),
    ("7.2", locked_by_rows),
    ("7.2", locked_by_einsum),
    ("7.3", "L Transposed"),
    ("7.3", " l transposed"),
    ("7.4", count_by_table),
    ("7.4", count_by_formula),
    ("7.5", EinsumTied),
    ("7.5", LoopingTied),
    ("7.6", lambda words, small, large: small * (words + large)),
    ("7.6", lambda V, D, H: sum([H for _ in range(D)]) + np.int64(V) * D),
    ("7.7", soft_by_loop),
    ("7.7", lambda E, ids, tau: softmax(np.einsum("nd,vd->nv", E[ids], E) / tau)),
    ("7.8", "l and b"),
    ("7.8", " L and b "),
]
