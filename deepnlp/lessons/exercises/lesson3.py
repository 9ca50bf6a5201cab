"""Checks of the exercises of lesson 3, word2vec with the full softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.backend.functions import softmax
from deepnlp.gradcheck import causes as c
from deepnlp.lessons.exercises.registry import exercise
from deepnlp.lessons.exercises.texts import texts_of
from deepnlp.lessons.exercises.values import compare_choice, compare_values
from deepnlp.lessons.exercises.verdict import Verdict, first_failure, is_empty, parts

SAY = texts_of(3)
REPEATED = np.array([[3, 1, 3, 0], [2, 2, 0, 4], [1, 0, 2, 4]])  # contexts (N, C), with repetitions


@exercise("3.1", stars=2, title="Contexts and targets")
def _check_windows(answer: Any) -> Verdict:
    """``contexts_and_targets(ids, w)`` gives (N, 2 w) and (N,), N = n - 2 w."""
    say, ids = SAY["3.1"], np.array([4, 0, 2, 5, 1, 3, 6])
    for w in (1, 2):
        contexts, targets = parts(answer(ids.copy(), w), "contexts", "targets")
        if np.ndim(contexts) == 1 and np.ndim(targets) == 2:
            return say.wrong("targets before contexts")
        full = np.stack([ids[k : len(ids) - 2 * w + k] for k in range(2 * w + 1)], axis=1)
        right, middle = np.delete(full, w, axis=1), full[:, w]
        wrong = {
            "centre in its own context": full,
            "left side only": full[:, :w],
            "right side only": full[:, w + 1 :],
            "nearest words only": full[:, [w - 1, w + 1]],
            "not in the order of the text": np.concatenate(
                [full[:, :w][:, ::-1], full[:, w + 1 :]], axis=1
            ),
            "not in the order of the text|right side first": np.concatenate(
                [full[:, w + 1 :], full[:, :w]], axis=1
            ),
        }
        targets_wrong = {
            "targets at the ends of the text": ids, "off by one": full[:, w - 1],
            "windows side by side": full[:: 2 * w + 1, w],
        }  # fmt: skip
        verdict = first_failure(
            say.compare(targets, middle, f"targets, for w = {w},", targets_wrong),
            say.compare(contexts, right, f"contexts, for w = {w},", wrong),
        )
        if not verdict.ok:
            return verdict
    return say.right()


@exercise("3.2", stars=1, title="A bag of words")
def _check_bag_of_words(answer: Any) -> Verdict:
    """``bag_of_words(contexts, V)`` gives the mean of the one-hot vectors, (N, V)."""
    contexts, V = REPEATED, 6
    onehot = np.eye(V)[contexts]  # (N, C, V)
    right = onehot.mean(axis=1)
    wrong = {
        "counts instead of shares": onehot.sum(axis=1),
        "present or absent": onehot.max(axis=1),
        "repeated word counted once": onehot.max(axis=1) / contexts.shape[1],
        "divided by the words that differ": onehot.max(axis=1) / onehot.max(axis=1).sum(1)[:, None],
        "one vector for every word": onehot,
        c.WRONG_AXIS: onehot.mean(axis=0),
        "one word of the context": onehot[:, 0],
        "divided by all places": onehot.sum(axis=1) / contexts.size,
    }
    return SAY["3.2"].compare(answer(contexts.copy(), V), right, "bag_of_words", wrong)


@exercise("3.3", stars=1, title="Two matrices or one?")
def _check_bottleneck(answer: Any) -> Verdict:
    """How the best loss of a whole matrix M compares with that of E W."""
    return compare_choice(answer, "never higher", SAY["3.3"])


@exercise("3.4", stars=3, title="The input layer of CBOW")
def _check_context_mean(answer: Any) -> Verdict:
    """A class of (E): ``forward(contexts)``, ``backward(dh)`` and ``dE``."""
    say, rng = SAY["3.4"], np.random.default_rng(4)
    contexts, (N, C) = REPEATED, REPEATED.shape
    E, dh = rng.standard_normal((6, 3)), rng.standard_normal((N, 3))
    layer = answer(E.copy())
    wrong = {
        "sum instead of mean": E[contexts].sum(axis=1), "not averaged": E[contexts],
        "mean over the windows": E[contexts].mean(axis=0), "one word alone": E[contexts[:, 0]],
    }  # fmt: skip
    verdict = say.compare(
        layer.forward(contexts.copy()), E[contexts].mean(axis=1), "the output of forward", wrong
    )
    if not verdict.ok:
        return verdict
    layer.backward(dh.copy())
    if is_empty(getattr(layer, "dE", None)):
        return Verdict.empty("after backward there is no dE")
    places = np.eye(6)[contexts]  # (N, C, V)
    right = np.einsum("ncv,nd->vd", places, dh) / C
    lost, lost_in_a_row = np.zeros_like(E), np.zeros_like(E)
    for n in range(N):  # what E[ids] += ... does with repeated ids: the last one stays
        lost_in_a_row[contexts[n]] += dh[n] / C
        for k in contexts[n]:
            lost[k] = dh[n] / C
    wrong = {
        c.REPEATED_IDS: lost,
        "repetition within a context lost": lost_in_a_row,
        "mean not undone": right * C,
        "divided by N": right * C / N,
        "one word alone": np.einsum("nv,nd->vd", places[:, 0], dh) / C,
        "dh not used": np.einsum("ncv,nd->vd", places, np.ones_like(dh)) / C,
    }
    verdict = say.compare(layer.dE, right, "dE", wrong)
    if not verdict.ok:
        return verdict
    layer.forward(contexts.copy())
    layer.backward(dh.copy())
    again = say.compare(layer.dE, right, "dE", {"dE of the backward before": 2 * right})
    return first_failure(again, compare_values(layer.E, E, "E after backward"), say.right())


@exercise("3.5", stars=2, title="The gradient of skip-gram's scores")
def _check_skipgram_ds(answer: Any) -> Verdict:
    """``skipgram_ds(s, contexts)`` gives ds of the mean loss over N C predictions."""
    contexts, (N, C) = REPEATED, REPEATED.shape
    s = 2 * np.random.default_rng(5).standard_normal((N, 6))
    p, onehot = softmax(s), np.eye(6)[contexts]
    right = (p - onehot.mean(axis=1)) / N
    wrong = {
        "summed over the context": right * C,
        c.LOSS_NOT_AVERAGED: right * N,
        "summed, not averaged, over both": right * N * C,
        "guess counted once": (p / C - onehot.mean(axis=1)) / N,
        "guess counted once, uses summed": (p - onehot.sum(axis=1)) / N,
        "one word of the context": (p - onehot[:, 0]) / N,
        "repeated word counted once": (p - onehot.max(axis=1) / C) / N,
        "uses not summed": (p[:, None] - onehot) / (N * C),
        c.TERM_MISSING: p / N,
        "guess missing": -onehot.mean(axis=1) / N,
        "softmax missing": (s - onehot.mean(axis=1)) / N,
        "averaged once too often": right / C,
        "slope of the sigmoid": p * (1 - p) / N,
        c.SIGN: -right,
    }
    return SAY["3.5"].compare(answer(s.copy(), contexts.copy()), right, "ds", wrong)


@exercise("3.6", stars=1, title="Ask the right product")
def _check_product(answer: Any) -> Verdict:
    """Which product of E and W says what stands beside a word."""
    return compare_choice(answer, "E W", SAY["3.6"])


@exercise("3.7", stars=2, title="The log-likelihood of a text")
def _check_log_likelihood(answer: Any) -> Verdict:
    """``log_likelihood(P, ids, w)`` gives the sum of log P[centre, context word]."""
    P = np.random.default_rng(7).dirichlet(np.ones(4), size=4)
    ids = np.array([2, 0, 1, 1, 3, 0, 2])
    for w in (1, 2):
        pairs = [(t, k) for t in range(len(ids)) for k in range(len(ids)) if 0 < abs(t - k) <= w]

        def total(some: list[tuple[int, int]]) -> float:
            return float(sum(np.log(P[ids[t], ids[k]]) for t, k in some))

        right, inner = total(pairs), range(w, len(ids) - w)
        wrong = {
            "one side of the window": total([(t, k) for t, k in pairs if k > t]),
            "one side of the window, the left one": total([(t, k) for t, k in pairs if k < t]),
            "complete windows only": total([(t, k) for t, k in pairs if t in inner]),
            "centre in its own context": total([*pairs, *((t, t) for t in range(len(ids)))]),
            "mean instead of sum": right / len(pairs),
            "mean over the centres": right / len(ids),
            c.SIGN: -right,
            "base of the logarithm": right / np.log(2),
            "logarithm missing": sum(P[ids[t], ids[k]] for t, k in pairs),
            "logarithm of the sum": np.log(sum(P[ids[t], ids[k]] for t, k in pairs)),
            "the likelihood itself": np.exp(right),
            "window not used": total([(t, k) for t, k in pairs if abs(t - k) == 1]),
        }
        got = answer(P.copy(), ids.copy(), w)
        verdict = SAY["3.7"].compare(got, right, f"the sum for w = {w}", wrong)
        if not verdict.ok:
            return verdict
    return SAY["3.7"].right()


@exercise("3.8", stars=3, title="How low can it go?")
def _check_lowest_loss(answer: Any) -> Verdict:
    """``lowest_loss(counts)`` gives the entropy of the context word given the centre."""
    say = SAY["3.8"]
    full = np.random.default_rng(8).integers(1, 9, size=(4, 4)).astype(float)
    with_zeros = full * (np.arange(16).reshape(4, 4) % 3 > 0)
    for counts in (full, with_zeros):
        joint = counts / counts.sum()
        rows, columns = joint.sum(axis=1), joint.sum(axis=0)
        right = _entropy(joint) - _entropy(rows)
        each = [_entropy(row / row.sum()) for row in joint]
        wrong = {
            "entropy of the pairs": _entropy(joint),
            "entropy of the context words alone": _entropy(columns),
            "centres weighted equally": np.mean(each),
            "summed over the centres": np.sum(each),
            "given the context word": _entropy(joint) - _entropy(columns),
            "total instead of mean": right * counts.sum(),
            "pairs weighted equally": -np.mean(
                np.log((counts / counts.sum(axis=1, keepdims=True))[counts > 0])
            ),
            "all words alike": np.log(len(counts)),
            "the perplexity": np.exp(right),
            "no floor": 0.0,
            "base of the logarithm": right / np.log(2),
            c.SIGN: -right,
        }
        with np.errstate(all="ignore"):
            got = answer(counts.copy())
        if not is_empty(got) and np.ndim(got) == 0 and np.isnan(np.asarray(got, dtype=float)):
            return say.wrong(c.NOT_A_NUMBER)
        verdict = say.compare(got, right, "the loss", wrong, 1e-5)
        if not verdict.ok:
            return verdict
    return say.right()


def _entropy(p: np.ndarray) -> float:
    """Entropy in nats; zeros contribute nothing."""
    return float(-np.sum(p[p > 0] * np.log(p[p > 0])))
