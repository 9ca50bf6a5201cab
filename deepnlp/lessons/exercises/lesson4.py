"""Checks of the exercises of lesson 4, word2vec at speed."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.backend.functions import sigmoid, softplus
from deepnlp.gradcheck import causes as c
from deepnlp.lessons.exercises.registry import exercise
from deepnlp.lessons.exercises.texts import Texts, texts_of
from deepnlp.lessons.exercises.values import compare_values
from deepnlp.lessons.exercises.verdict import (
    WRONG_SHAPE,
    WRONG_TYPE,
    Verdict,
    first_failure,
    is_empty,
    parts,
)

SAY = texts_of(4)
IDS = np.array([[3, 1, 3], [2, 2, 0], [1, 0, 2], [5, 3, 2]])  # (N, K), with repetitions


@exercise("4.1", stars=2, title="Rows instead of a matrix")
def _check_rows(answer: Any) -> Verdict:
    """``rows_of_gradient(ids, dy)`` gives the ids that occur, once each, and their summed rows."""
    say, rng = SAY["4.1"], np.random.default_rng(1)
    ids, dy = np.array([4, 1, 4, 0, 1, 4]), rng.standard_normal((6, 3))
    found, rows = parts(answer(ids.copy(), dy.copy()), "ids", "rows")
    kept = np.array([0, 1, 4])
    right = np.stack([dy[ids == k].sum(axis=0) for k in kept])
    if np.ndim(found) == 2 and np.ndim(rows) == 1:
        return say.wrong("rows before ids")
    try:
        found = np.asarray(found, dtype=int).ravel()
    except (TypeError, ValueError):
        return say.wrong(WRONG_TYPE)
    if len(found) == len(ids) and np.array_equal(found, ids):
        return say.wrong("ids not merged")
    if not np.array_equal(np.sort(found), kept):
        return say.wrong("wrong ids", found=sorted(found.tolist()), kept=kept.tolist())
    if np.ndim(rows) == 2 and len(rows) == len(found):
        rows = np.asarray(rows)[np.argsort(found)]  # in any order
    counts = np.array([[np.sum(ids == k)] for k in kept])
    wrong = {
        "last one only": np.stack([dy[ids == k][-1] for k in kept]),
        "first one only": np.stack([dy[ids == k][0] for k in kept]),
        "averaged": right / counts,
        "largest instead of the sum": np.stack([dy[ids == k].max(axis=0) for k in kept]),
        "the sum of all rows": np.stack([dy.sum(axis=0)] * 3),
        "summed over the columns": right.sum(axis=1),
    }
    return first_failure(say.compare(rows, right, "rows", wrong), say.right())


@exercise("4.2", stars=2, title="A few scores")
def _check_embedding_dot(answer: Any) -> Verdict:
    """A class of (W): ``forward(h, ids)``, ``backward(ds)``, which sets ``dW`` and gives dh."""
    say, rng, (N, K), D = SAY["4.2"], np.random.default_rng(2), IDS.shape, 3
    W, h, ds = (rng.standard_normal(shape) for shape in ((6, D), (N, D), (N, K)))
    layer = answer(W.copy())
    s = np.einsum("nd,nkd->nk", h, W[IDS])
    wrong = {
        "not summed over D": h[:, None] * W[IDS],
        "every row with every id": np.einsum("nd,mkd->nmk", h, W[IDS]),
        "scores of the whole vocabulary": h @ W.T,
        "scores divided": s / np.sqrt(D),
    }
    verdict = say.compare(layer.forward(h.copy(), IDS.copy()), s, "the output of forward", wrong)
    if not verdict.ok:
        return verdict
    dh = layer.backward(ds.copy())
    dW = getattr(layer, "dW", None)
    if is_empty(dh) and is_empty(dW):
        return Verdict.empty("backward returned None and set no dW")
    if is_empty(dh):
        return say.wrong("dh missing")
    if is_empty(dW):
        return say.wrong("dW missing")
    each = ds[:, :, None] * h[:, None]  # (N, K, D)
    right, lost = np.zeros_like(W), np.zeros_like(W)
    np.add.at(right, IDS, each)
    lost[IDS] = each
    return first_failure(
        say.compare(
            dh, np.einsum("nk,nkd->nd", ds, W[IDS]), "dh",
            {
                "not summed over K": ds[:, :, None] * W[IDS], "the other factor": each.sum(axis=1),
                "ds not used": W[IDS].sum(axis=1), "mean over K": (ds[:, :, None] * W[IDS]).mean(1),
            },
        ),
        say.compare(
            dW, right, "dW",
            {
                c.REPEATED_IDS: lost, "rows of dW, not dW": each,
                "ds forgotten": _scattered(W, np.broadcast_to(h[:, None], each.shape)),
            },
        ),
        say.right(),
    )  # fmt: skip


def _scattered(W: np.ndarray, each: np.ndarray) -> np.ndarray:
    total = np.zeros_like(W)
    np.add.at(total, IDS, each)
    return total


@exercise("4.3", stars=3, title="The loss of yes and no")
def _check_negative_sampling(answer: Any) -> Verdict:
    """``negative_sampling(s, s_neg)`` gives the loss, ds (N,) and ds_neg (N, K)."""
    say, rng = SAY["4.3"], np.random.default_rng(3)
    s, s_neg = 2 * rng.standard_normal(4), 2 * rng.standard_normal((4, 3))
    N, K = s_neg.shape
    loss, ds, ds_neg = parts(answer(s.copy(), s_neg.copy()), "loss", "ds", "ds_neg")
    if np.shape(ds) == s_neg.shape and np.shape(ds_neg) == s.shape:
        return say.wrong("gradients in another order")
    yes, no = softplus(-s).sum(), softplus(s_neg).sum()
    right = (yes + no) / N
    verdict = first_failure(
        say.compare(
            loss, right, "the loss",
            {
                c.LOSS_NOT_AVERAGED: yes + no, "mean over the negatives": (yes + no / K) / N,
                "negatives taken as targets": (yes + softplus(-s_neg).sum()) / N,
                "target alone": yes / N, c.SIGN: -right,
                "labels exchanged": (softplus(s).sum() + softplus(-s_neg).sum()) / N,
                "base of the logarithm": right / np.log(2),
                "mean over all scores": (yes + no) / (N + N * K),
            },
        ),
        _compare_ds(say, ds, (sigmoid(s) - 1) / N, N, "ds", sigmoid(s) / N),
        _compare_ds(say, ds_neg, sigmoid(s_neg) / N, N, "ds_neg", (sigmoid(s_neg) - 1) / N),
    )  # fmt: skip
    if not verdict.ok:
        return verdict
    with np.errstate(all="ignore"):
        large = parts(answer(np.array([-800.0]), np.array([[800.0]])), "loss", "ds", "ds_neg")
    if not all(np.all(np.isfinite(part)) for part in large):
        return say.wrong(c.NOT_A_NUMBER)
    return first_failure(compare_values(large[0], 1600.0, "the loss of scores of 800"), say.right())


def _compare_ds(say: Texts, got: Any, right: Any, N: int, name: str, label: Any) -> Verdict:
    wrong = {c.LOSS_NOT_AVERAGED: N * right, c.SIGN: -right, f"label of {name}": label}
    wrong["slope of the sigmoid"] = right * (1 - np.abs(N * right))
    if name == "ds_neg":
        wrong["mean over the negatives"] = right / right.shape[1]
    return say.compare(got, right, name, wrong)


@exercise("4.4", stars=1, title="The noise")
def _check_noise(answer: Any) -> Verdict:
    """``noise(counts, power)`` gives the probabilities of the negatives."""
    counts, power = np.array([100.0, 0.0, 30.0, 5.0, 1.0]), 0.75
    weights = counts**power
    right = weights / weights.sum()
    share = counts / counts.sum()
    wrong = {
        "power forgotten": share,
        "not normalised": weights,
        "normalised before the power": share**power,
        "every word alike": np.full(5, 0.2),
        "one added to the counts": (counts + 1) ** power / ((counts + 1) ** power).sum(),
        "root instead of the power": counts ** (1 / power) / (counts ** (1 / power)).sum(),
        "power multiplied": power * share,
        "logarithms of the counts": np.log1p(counts) / np.log1p(counts).sum(),
        "softmax of the counts": np.exp(counts - 100) / np.exp(counts - 100).sum(),
    }
    verdict = SAY["4.4"].compare(answer(counts.copy(), power), right, "the distribution", wrong)
    if verdict.ok:  # and with another power
        wrong = {"power not used": right}
        right = np.sqrt(counts) / np.sqrt(counts).sum()
        got = answer(counts.copy(), 0.5)
        return SAY["4.4"].compare(got, right, "the distribution for a power of 0.5", wrong)
    return verdict


@exercise("4.5", stars=2, title="Never the target")
def _check_never_the_target(answer: Any) -> Verdict:
    """``draw_negatives(p, targets, K, rng)`` gives (N, K) words, none the target of its row."""
    say, p = SAY["4.5"], np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    targets, K = np.tile(np.arange(4), 3000), 3
    drawn = answer(p.copy(), targets.copy(), K, np.random.default_rng(5))
    if is_empty(drawn):
        return Verdict.empty("draw_negatives returned None")
    drawn = np.asarray(drawn)
    if drawn.shape != (len(targets), K):
        return say.wrong(WRONG_SHAPE, expected=(len(targets), K), got=drawn.shape)
    if drawn.dtype.kind not in "iu" or drawn.min() < 0 or drawn.max() > 4:
        return say.wrong(WRONG_TYPE)
    if np.any(drawn == 4):
        return say.wrong("not from the noise", word=4)
    hits = np.mean(drawn == targets[:, None])
    if hits > 0:
        return say.wrong("target among the negatives", share=f"{hits:.0%}")
    if np.any(np.all(drawn == drawn[:, :1], axis=1).mean() > 0.9):
        return say.wrong("one word for a row")
    for t in range(4):
        share = np.bincount(drawn[targets == t].ravel(), minlength=5) / (3000 * K)
        right = np.where(np.arange(5) == t, 0, p) / (1 - p[t])
        if np.max(np.abs(share - right)) > 0.03:  # five standard errors
            flat = np.where((np.arange(5) == t) | (p == 0), 0, 1 / 3)
            kind = "uniform" if np.max(np.abs(share - flat)) < 0.03 else "wrong shares"
            return say.wrong(
                kind, t=t, share=share.round(2).tolist(), right=right.round(2).tolist()
            )
    return say.right()


@exercise("4.6", stars=3, title="What the scores tend to")
def _check_best_scores(answer: Any) -> Verdict:
    """``best_scores(counts, noise, K)`` gives log(N_ij / (K N_i noise_j))."""
    counts = np.random.default_rng(6).integers(1, 20, size=(4, 4)).astype(float)
    noise, K = counts.sum(axis=0) ** 0.75, 5
    noise /= noise.sum()
    p = counts / counts.sum(axis=1, keepdims=True)
    right = np.log(p / (K * noise))
    wrong = {
        "K forgotten": right + np.log(K),
        "K in the numerator": right + 2 * np.log(K),
        "sums of the columns": np.log(counts / (K * counts.sum(axis=0) * noise)),
        "sums along the wrong axis": np.log(counts / (K * counts.sum(axis=1) * noise)),
        "negative values cut off": np.maximum(right, 0),
        "noise forgotten": np.log(p),
        "noise forgotten, K there": np.log(p / K),
        "the probability instead of the score": 1 / (1 + np.exp(-right)),
        "joint instead of conditional": np.log(counts / counts.sum() / (K * noise)),
        "counts of the centre forgotten": np.log(counts / (K * noise)),
        "the ratio instead of its logarithm": np.exp(right),
        "noise of the centre": np.log(p / (K * noise[:, None])),
        "K taken off": np.log(p / noise) - K,
        "difference instead of ratio": counts - K * counts.sum(axis=1, keepdims=True) * noise,
        "base of the logarithm": right / np.log(2),
        c.SIGN: -right,
    }
    got = answer(counts.copy(), noise.copy(), K)
    return SAY["4.6"].compare(got, right, "the matrix of scores", wrong)


@exercise("4.7", stars=2, title="Windows of any reach")
def _check_pairs(answer: Any) -> Verdict:
    """``pairs(ids, reaches)`` gives (P, 2): centre and context word, in any order."""
    say = SAY["4.7"]
    for ids, reaches in (
        (np.array([10, 11, 12, 13, 14, 15]), np.array([1, 2, 1, 3, 2, 1])),
        (np.array([10, 11, 10]), np.array([2, 1, 2])),
    ):
        n = len(ids)

        def listed(allowed: Any, n: int = n, ids: Any = ids) -> list[tuple[int, int]]:
            both = [(i, j) for i in range(n) for j in range(n) if i != j and allowed(i, j)]
            return sorted((int(ids[i]), int(ids[j])) for i, j in both)

        got = answer(ids.copy(), reaches.copy())
        if is_empty(got):
            return Verdict.empty("pairs returned None")
        try:
            found = sorted(tuple(int(k) for k in pair) for pair in got)
        except (TypeError, ValueError):
            return say.wrong(WRONG_TYPE)
        if any(len(pair) != 2 for pair in found):
            return say.wrong(WRONG_TYPE)
        right = listed(lambda i, j, r=reaches: abs(i - j) <= r[i])
        if found == right:
            continue
        places = [(i, j) for i in range(n) for j in range(n) if 0 < abs(i - j) <= reaches[i]]
        wrong = {
            "pairs counted once": sorted(set(right)),
            "places instead of words": places,
            "reach of the context word": listed(lambda i, j, r=reaches: abs(i - j) <= r[j]),
            "one side of the window": listed(lambda i, j, r=reaches: 0 < j - i <= r[i]),
            "one side of the window, the left one": listed(
                lambda i, j, r=reaches: 0 < i - j <= r[i]
            ),
            "narrowest reach for all": listed(lambda i, j, r=reaches: abs(i - j) <= min(r)),
            "farthest words only": listed(lambda i, j, r=reaches: abs(i - j) == r[i]),
            "widest reach for all": listed(lambda i, j, r=reaches: abs(i - j) <= max(r)),
            "farthest word left out": listed(lambda i, j, r=reaches: abs(i - j) < r[i]),
            "complete windows only": listed(
                lambda i, j, r=reaches, n=n: abs(i - j) <= r[i] and r[i] <= i < n - r[i]
            ),
            "centre in its own context": sorted([*right, *((int(k), int(k)) for k in ids)]),
        }
        name = next((name for name, value in wrong.items() if found == value), "wrong pairs")
        return say.wrong(name, got=len(found), right=len(right))
    return say.right()


@exercise("4.8", stars=3, title="The least that a tied model pays")
def _check_least(answer: Any) -> Verdict:
    """``least(K)`` gives the lowest mean loss of the K negatives of a tied model, K log 2."""
    if not callable(answer):
        return SAY["4.8"].wrong(WRONG_TYPE)
    for K in (5, 1):
        wrong = {
            "no bound": 0.0, "one negative": np.log(2), "the target as well": (K + 1) * np.log(2),
            "base of the logarithm": float(K), "a probability": 0.5**K, c.SIGN: -K * np.log(2),
            "best score of untied words": K * np.log1p(1 / K),
            "softplus of the number": np.log1p(K), "divided by K": np.log(2) / K,
        }  # fmt: skip
        verdict = SAY["4.8"].compare(answer(K), K * np.log(2), f"the bound for K = {K}", wrong)
        if not verdict.ok:
            return verdict
    return SAY["4.8"].right()


@exercise("4.9", stars=2, title="What L can do")
def _check_sign_of_l(answer: Any) -> Verdict:
    """L (2, 2) with which two words expect each other and not themselves."""
    say, E = SAY["4.9"], np.array([[1.0, 1.0], [1.0, -1.0]])
    if is_empty(answer):
        return Verdict.empty("there is no L")
    try:
        L = np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        return say.wrong(WRONG_TYPE)
    if L.shape != (2, 2):
        return say.wrong(WRONG_SHAPE, got=L.shape)
    s = E @ L @ E.T
    itself, other = np.diag(s), np.array([s[0, 1], s[1, 0]])
    found = {"s": s.round(3).tolist()}
    if np.all(itself < 0) and np.all(other > 0):
        return say.right(**found)
    if np.all(itself > 0):
        return say.wrong("words expect themselves", **found)
    if np.all(itself < 0):
        return say.wrong("words do not expect each other", **found)
    return say.wrong("only half of it", **found)
