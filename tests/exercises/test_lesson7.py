"""Lesson 7: right answers in several styles, typical wrong ones, and what each is told."""

import numpy as np
import pytest

from deepnlp.exercises import check
from deepnlp.functions import softmax
from tests.exercises.tools import solution_of


@pytest.mark.parametrize(
    ("share", "diagnosis"),
    [
        (0.0, "added instead of multiplied"),
        (1.0, "the scaling brings nothing back"),
        (0.05, "wrong value"),
    ],
)
def test_shares_of_a_noisy_memory(share, diagnosis):
    assert check("7.1", share).diagnosis == diagnosis


@pytest.mark.parametrize("choice", ["Wx transposed", "E transposed", "Wh transposed"])
def test_projections(choice):
    assert check("7.3", choice).diagnosis == "wrong choice"


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


@pytest.mark.parametrize("diagnosis", MASKS)
def test_masks(diagnosis):
    assert check("7.2", MASKS[diagnosis]).diagnosis == diagnosis


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


@pytest.mark.parametrize("diagnosis", COUNTS)
def test_counts(diagnosis):
    wrong = COUNTS[diagnosis]
    assert check("7.4", lambda V, D, H, tie: count(V, D, H, tie, **wrong)).diagnosis == diagnosis


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


@pytest.mark.parametrize("diagnosis", TIED)
def test_tied_models(diagnosis):
    assert check("7.5", tied(**TIED[diagnosis])).diagnosis == diagnosis


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


@pytest.mark.parametrize(
    ("answer", "diagnosis"),
    [
        (lambda x, p, rng: x, "nothing dropped"),
        (
            lambda x, p, rng: x * (np.arange(len(x)) > 0)[:, None, None] / (1 - p),
            "whole vectors dropped",
        ),
        (
            lambda x, p, rng: x * (rng.random((len(x), 1, x.shape[2])) >= p) / p,
            "scaled by p",
        ),
        (lambda x, p, rng: None, "empty"),
    ],
)
def test_other_masks(answer, diagnosis):
    assert check("7.2", answer).diagnosis == diagnosis


COSTS = {
    "L forgotten": lambda V, D, H: V * D,
    "without L": lambda V, D, H: V * H,
    "the matrices multiplied first": lambda V, D, H: H * D * V + H * V,
    "L of the wrong shape": lambda V, D, H: V * D + H * H,
    "wrong value": lambda V, D, H: V + D + H,
    "empty": lambda V, D, H: None,
}


@pytest.mark.parametrize("diagnosis", COSTS)
def test_costs_of_a_token(diagnosis):
    assert check("7.6", COSTS[diagnosis]).diagnosis == diagnosis


SOFT = {
    "temperature forgotten": lambda E, ids, tau: softmax(E[ids] @ E.T),
    "multiplied by the temperature": lambda E, ids, tau: softmax(tau * E[ids] @ E.T),
    "one-hot targets": lambda E, ids, tau: np.eye(len(E))[ids],
    "softmax over the targets": lambda E, ids, tau: softmax(E @ E[ids].T / tau).T,
    "softmax missing": lambda E, ids, tau: E[ids] @ E.T / tau,
    "all words instead of the targets": lambda E, ids, tau: softmax(E @ E.T / tau),
    "empty": lambda E, ids, tau: None,
}


@pytest.mark.parametrize("diagnosis", SOFT)
def test_soft_targets(diagnosis):
    assert check("7.7", SOFT[diagnosis]).diagnosis == diagnosis


@pytest.mark.parametrize("choice", ["nothing", "b alone", "E, L and b"])
def test_what_a_frozen_model_trains(choice):
    assert check("7.8", choice).diagnosis == "wrong choice"


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


RIGHT = [
    ("7.1", 0.001),
    ("7.1", 0.00098),
    ("7.2", locked_by_rows),
    ("7.2", locked_by_einsum),
    ("7.3", "L Transposed"),
    ("7.4", count_by_table),
    ("7.5", EinsumTied),
    ("7.5", LoopingTied),
    ("7.6", lambda words, small, large: small * (words + large)),
    ("7.6", lambda V, D, H: sum([H for _ in range(D)]) + np.int64(V) * D),
    ("7.7", soft_by_loop),
    ("7.7", lambda E, ids, tau: softmax(np.einsum("nd,vd->nv", E[ids], E) / tau)),
    ("7.8", "L and b"),
]


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_right_answers_in_other_styles(name, answer):
    verdict = check(name, answer)
    assert verdict.ok, verdict.text
