"""The exercises of lesson 7: the better language model."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.backend.functions import softmax
from deepnlp.gradcheck import CAUSES
from deepnlp.lessons.exercises.registry import exercise
from deepnlp.lessons.exercises.texts import kind_of, texts_of
from deepnlp.lessons.exercises.values import compare_choice, compare_values
from deepnlp.lessons.exercises.verdict import Verdict, first_failure, is_empty
from deepnlp.models import RNNLM

SAY = texts_of(7)


@exercise("7.1", stars=1, title="Noise in time")
def noise_in_time(answer: Any) -> Verdict:
    """The share of a memory that ten steps with dropout in time leave untouched."""
    wrong = {
        "added instead of multiplied": 0.0, "the scaling brings nothing back": 1.0,
        "added instead of multiplied|with its sign": 1 - 10 * 0.5,
        "added instead of multiplied|the shares lost": 10 * 0.5,
        "one step": 0.5, "one step too many or too few": 0.5**9,
        "one step too many or too few|11": 0.5**11,
        "what is lost": 1 - 0.5**10, "the growth of a survivor": 2.0**10,
        "in per cent": 100 * 0.5**10, "in per cent|rounded": 0.1,
    }  # fmt: skip
    say, right = SAY["7.1"], 0.5**10
    verdict = compare_values(answer, right, "the share", 0.03)  # 0.001 is right
    if verdict.ok or np.ndim(answer) or not isinstance(answer, float | int | np.number):
        return verdict
    near = min(wrong, key=lambda name: abs(answer - wrong[name]) / (abs(wrong[name]) or 1e-3))
    if abs(answer - wrong[near]) > max(2e-5, 0.01 * abs(wrong[near])):
        return verdict
    return say.wrong(kind_of(near))


@exercise("7.2", stars=2, title="A mask locked over time")
def locked_mask(answer: Any) -> Verdict:
    """``(x, p, rng) -> y``, both (N, T, D): dropout with one mask over all steps of a sequence."""
    say = SAY["7.2"]
    N, T, D, p = 5, 6, 40, 0.2
    x = np.random.default_rng(9).uniform(1, 2, (N, T, D))
    y = answer(x.copy(), p, np.random.default_rng(8))
    if is_empty(y):
        return Verdict.empty("nothing was returned")
    y = np.asarray(y)
    if y.shape != (N, T, D):
        return say.wrong("wrong shape", expected=(N, T, D), got=y.shape)
    again = np.asarray(answer(x.copy(), p, np.random.default_rng(99)))
    if np.array_equal(again != 0, y != 0) and (y == 0).any():
        return say.wrong("rng not used")
    kept = y != 0
    if kept.all():
        return say.wrong("nothing dropped")
    if (kept == kept[:, :, :1]).all() and not (kept == kept[:, :1]).all():
        return say.wrong("whole steps dropped")
    if not (kept == kept[:, :1]).all():
        return say.wrong("a fresh mask for every step")
    if (kept == kept[:1]).all():
        return say.wrong("one mask for all rows")
    if (kept == kept[:, :, :1]).all():
        return say.wrong("whole vectors dropped")
    if abs(kept.mean() - 0.5) < 0.1:
        return say.wrong("p not used", share=kept.mean(), p=p)
    if abs(kept.mean() - p) < abs(kept.mean() - (1 - p)):
        return say.wrong("kept with probability p", share=kept.mean(), p=p)
    wrong = {
        "x not used": kept / (1 - p),
        "x not used|unscaled": kept * 1.0,
        "mask not scaled": x * kept,
        "scaled by p": x * kept / p,
        "shrunk instead of grown": x * kept * (1 - p),
    }
    verdict = say.compare(y, x * kept / (1 - p), "y", wrong)
    p = 0.6
    y = np.asarray(answer(x.copy(), p, np.random.default_rng(8)))
    kept, share = y != 0, float(np.mean(y != 0))
    if verdict.ok and abs(share - (1 - p)) > 0.15:  # four standard errors
        return say.wrong("p not used|always the same", share=share, p=p)
    return first_failure(
        verdict, compare_values(y, x * kept / (1 - p), "y for p = 0.6"), say.right()
    )


@exercise("7.3", stars=1, title="Which matrix is P_HD?")
def which_is_p_hd(answer: Any) -> Verdict:
    """Which weight of ours the note's P_HD is, by its name."""
    return compare_choice(answer, "L transposed", SAY["7.3"])


@exercise("7.4", stars=2, title="Count the parameters")
def count_parameters(answer: Any) -> Verdict:
    """``(V, D, H, tie) -> int``, the size of a language model with two LSTM layers."""
    for V, D, H, tie in ((50, 4, 4, "tied"), (50, 4, 6, "none"), (50, 4, 6, "tied+L")):
        right = RNNLM(V, D, H, layers=2, tie=tie).size()
        first, second = 4 * H * (D + H + 1), 4 * H * (2 * H + 1)
        wrong = {
            "tied matrix counted twice": right + V * D,
            "output bias forgotten": right - V,
            "second layer reads H numbers": right - second + first,
            "one block instead of four": right - (first + second) * 3 // 4,
            "L forgotten": right - H * D,
            "a vocabulary too many": right - (V * H if tie == "none" else 0) + V * D,
            "tied matrix counted twice|as if untied": right + V * H,
            "two biases for each LSTM": right + 8 * H,
            "biases of the LSTMs forgotten": right - 8 * H,
            "embedding forgotten": right - V * D,
            "one layer instead of two": right - second,
            "one layer instead of two|the first one forgotten": right - first,
            "three blocks instead of four": right - (first + second) // 4,
            "L with a bias": right + (D if tie == "tied+L" else 0),
            "L with a bias|of H": right + (H if tie == "tied+L" else 0),
            "L of the wrong shape": right + (D * D - H * D if tie == "tied+L" else 0),
        }
        name = f"the number for V = {V}, D = {D}, H = {H}, tie = {tie!r}"
        verdict = SAY["7.4"].compare(answer(V, D, H, tie), right, name, wrong, 0.0)
        if not verdict.ok:
            return verdict
    return SAY["7.4"].right()


@exercise("7.5", stars=3, title="One matrix, two uses")
def one_matrix_two_uses(answer: Any) -> Verdict:
    """A class of (E, L): ``forward(ids)``, ``backward(ds)``, and ``dE``, ``dL``."""
    rng = np.random.default_rng(11)
    V, D = 5, 3
    E, L = rng.normal(size=(V, D)), rng.normal(size=(D, D))
    ids = np.array([1, 3, 1, 0])
    tried = answer(E.copy(), L.copy())
    scores = tried.forward(ids)
    if is_empty(scores):
        return Verdict.empty("forward returned None")
    h, say = np.tanh(E[ids]), SAY["7.5"]
    forwards = {
        "L not used in forward": h @ E.T, "tanh missing in forward": E[ids] @ L @ E.T,
        "L transposed in forward": h @ L.T @ E.T,
    }  # fmt: skip
    verdict = say.compare(scores, h @ L @ E.T, "the output of forward", forwards)
    if not verdict.ok:
        return verdict
    ds = rng.normal(size=(len(ids), V))
    tried.backward(ds)
    for name in ("dE", "dL"):
        if is_empty(getattr(tried, name, None)):
            return Verdict.empty(f"after backward there is no {name}")
    output, dx = ds.T @ (h @ L), (ds @ E @ L.T) * (1 - h**2)
    lookup, overwritten = _looked_up(E, ids, dx), np.zeros_like(E)
    overwritten[ids] = dx
    wrong = {
        "tied use lost: lookup side": output,
        "tied use lost: output side": lookup,
        "repeated ids overwritten": output + overwritten,
    }
    alternatives = {name: (value, CAUSES[name]) for name, value in wrong.items()}
    arriving = ds @ E @ L.T
    others = {
        "tanh not undone": output + _looked_up(E, ids, arriving),
        "slope of the sigmoid": output + _looked_up(E, ids, arriving * h * (1 - h)),
        "L not transposed on the way back": output + _looked_up(E, ids, ds @ E @ L * (1 - h**2)),
        "L left out of the output's use": ds.T @ h + lookup,
        "L left out on the way back": output + _looked_up(E, ids, ds @ E * (1 - h**2)),
    }
    return first_failure(
        say.compare(tried.dL, h.T @ (ds @ E), "dL", {"L used in dL": h.T @ (ds @ E) @ L}),
        compare_values(tried.dE, output + lookup, "dE", 1e-8, alternatives | say.of(others)),
        SAY["7.5"].right(),
    )


def _looked_up(E: np.ndarray, ids: np.ndarray, dx: np.ndarray) -> np.ndarray:
    """The gradient of E (V, D) from those of the rows that were looked up (n, D)."""
    dE = np.zeros_like(E)
    np.add.at(dE, ids, dx)
    return dE


@exercise("7.6", stars=2, title="What a token costs")
def cost_of_a_token(answer: Any) -> Verdict:
    """``(V, D, H) -> int``: multiplications from h to the scores with L between."""
    for V, D, H in ((1000, 20, 60), (50, 7, 3), (10_000, 100, 600)):
        wrong = {
            "L forgotten": V * D,
            "without L": V * H,
            "both products multiplied": V * D * H,
            "the matrices multiplied first": D * H * V + H * V,
            "L of the wrong shape": V * D + H * H,
            "L of the wrong shape|D": V * D + D * D,
            "parameters counted with a bias": V * D + H * D + V,
            "additions counted as well": 2 * (V * D + H * D),
            "one matrix too many": V * H + H * D,
            "both products multiplied|with D twice": H * D * D * V,
        }
        name = f"the number for V = {V}, D = {D}, H = {H}"
        verdict = SAY["7.6"].compare(answer(V, D, H), V * D + H * D, name, wrong, 0.0)
        if not verdict.ok:
            return verdict
    return SAY["7.6"].right()


@exercise("7.7", stars=2, title="Words that resemble the target")
def soft_targets(answer: Any) -> Verdict:
    """``(E, ids, tau) -> (n, V)``: softmax of the scores of the targets' own vectors."""
    rng = np.random.default_rng(7)
    E, ids, tau = rng.normal(size=(6, 4)), np.array([2, 5, 2]), 3.0
    scores = E[ids] @ E.T
    unit = E / np.linalg.norm(E, axis=1, keepdims=True)
    right = softmax(scores / tau)
    wrong = {
        "temperature forgotten": softmax(scores),
        "multiplied by the temperature": softmax(scores * tau),
        "one-hot targets": np.eye(6)[ids],
        "softmax over the targets": softmax(scores.T / tau).T,
        "cosines instead of products": softmax(unit[ids] @ unit.T / tau),
        "softmax missing": scores / tau,
        "divided after the softmax": softmax(scores) / tau,
        "temperature squared": softmax(scores / tau**2),
        "distances instead of products": softmax(-((E[ids][:, None] - E) ** 2).sum(-1) / tau),
        "the targets among themselves": softmax(E[ids] @ E[ids].T / tau),
        "all words instead of the targets": softmax(E @ E.T / tau),
    }
    return SAY["7.7"].compare(answer(E.copy(), ids.copy(), tau), right, "q", wrong)


@exercise("7.8", stars=1, title="What is still trained?")
def what_is_trained(answer: Any) -> Verdict:
    """What the output of a frozen tied+L model can still learn."""
    return compare_choice(answer, "L and b", SAY["7.8"])
