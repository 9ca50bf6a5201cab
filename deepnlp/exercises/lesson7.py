"""The exercises of lesson 7: the better language model."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.exercises.registry import exercise
from deepnlp.exercises.texts import texts_of
from deepnlp.exercises.values import compare_choice, compare_values
from deepnlp.exercises.verdict import Verdict, first_failure, is_empty
from deepnlp.functions import softmax
from deepnlp.gradcheck import CAUSES
from deepnlp.models import RNNLM

SAY = texts_of(7)


@exercise("7.1", stars=1, title="Noise in time")
def noise_in_time(answer: Any) -> Verdict:
    """The share of a memory that ten steps with dropout in time leave untouched."""
    wrong = {"added instead of multiplied": 0.0, "the scaling brings nothing back": 1.0}
    return SAY["7.1"].compare(answer, 0.5**10, "the share", wrong, 0.03)  # 0.001 is right


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
    kept = y != 0
    if kept.all():
        return say.wrong("nothing dropped")
    if not (kept == kept[:, :1]).all():
        return say.wrong("a fresh mask for every step")
    if (kept == kept[:1]).all():
        return say.wrong("one mask for all rows")
    if (kept == kept[:, :, :1]).all():
        return say.wrong("whole vectors dropped")
    if abs(kept.mean() - p) < abs(kept.mean() - (1 - p)):
        return say.wrong("kept with probability p", share=kept.mean(), p=p)
    wrong = {
        "x not used": kept / (1 - p),
        "x not used|unscaled": kept * 1.0,
        "mask not scaled": x * kept,
        "scaled by p": x * kept / p,
        "shrunk instead of grown": x * kept * (1 - p),
    }
    return first_failure(say.compare(y, x * kept / (1 - p), "y", wrong), say.right())


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
    h = np.tanh(E[ids])
    verdict = compare_values(scores, h @ L @ E.T, "the output of forward")
    if not verdict.ok:
        return verdict
    ds = rng.normal(size=(len(ids), V))
    tried.backward(ds)
    for name in ("dE", "dL"):
        if is_empty(getattr(tried, name, None)):
            return Verdict.empty(f"after backward there is no {name}")
    output, dx = ds.T @ (h @ L), (ds @ E @ L.T) * (1 - h**2)
    lookup, overwritten = np.zeros_like(E), np.zeros_like(E)
    np.add.at(lookup, ids, dx)
    overwritten[ids] = dx
    wrong = {
        "tied use lost: lookup side": output,
        "tied use lost: output side": lookup,
        "repeated ids overwritten": output + overwritten,
    }
    alternatives = {name: (value, CAUSES[name]) for name, value in wrong.items()}
    return first_failure(
        compare_values(tried.dL, h.T @ (ds @ E), "dL"),
        compare_values(tried.dE, output + lookup, "dE", 1e-8, alternatives),
        SAY["7.5"].right(),
    )


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
        "all words instead of the targets": softmax(E @ E.T / tau),
    }
    return SAY["7.7"].compare(answer(E.copy(), ids.copy(), tau), right, "q", wrong)


@exercise("7.8", stars=1, title="What is still trained?")
def what_is_trained(answer: Any) -> Verdict:
    """What the output of a frozen tied+L model can still learn."""
    return compare_choice(answer, "L and b", SAY["7.8"])
