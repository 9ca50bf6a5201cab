"""Checks of the exercises of lesson 2, counting words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deepnlp.gradcheck.causes import NOT_A_NUMBER, TRANSPOSED
from deepnlp.lessons.exercises.registry import exercise
from deepnlp.lessons.exercises.texts import Texts, texts_of
from deepnlp.lessons.exercises.values import compare_choice, compare_values
from deepnlp.lessons.exercises.verdict import Verdict, is_empty, parts
from deepnlp.vectors.counting import cooccurrence, truncated_svd

HostArray = np.ndarray[Any, Any]

SAY = texts_of(2)


def _compare(
    say: Texts, got: Any, right: Any, name: str, wrong: Sequence[tuple[str, Any]]
) -> Verdict:
    """Compare with the right value and with those of mistakes; one mistake may have several."""
    verdict = compare_values(got, right, name)
    for diagnosis, value in wrong:
        if not verdict.ok and compare_values(got, value).ok:
            return say.wrong(diagnosis)
    return say.right() if verdict.ok else verdict


@exercise("2.1", stars=1, title="Words to numbers")
def _check_numbering(answer: Any) -> Verdict:
    """``number(words)`` gives the id of each word and the words by id, in order of appearance."""
    say, line = SAY["2.1"], "the cat sees the dog and the dog sees a bird"
    text = line.split()
    ids, words = parts(answer(list(text)), "ids", "words")
    if isinstance(words, int | np.integer):
        return say.wrong("the number of words in place of the words")
    found = list(words)
    try:
        numbers = [int(number) for number in ids]
    except (TypeError, ValueError):
        return say.wrong("wrong type")
    if len(numbers) == len(found) < len(text):
        return say.wrong("a number for each different word only")
    if len(numbers) != len(text) or not all(isinstance(word, str) for word in found):
        return say.wrong("wrong type")
    if len(found) > len(set(found)):
        return say.wrong("a word numbered twice")
    if not all(0 <= n < len(found) and found[n] == w for n, w in zip(numbers, text)):
        return say.wrong("ids and words do not fit")
    if found != list(dict.fromkeys(text)):
        return say.wrong("another order", found=" ".join(found))
    return say.right()


def _at(distance: int) -> Callable[[int, int], bool]:
    return lambda t, u: abs(u - t) == distance


def _count(
    ids: HostArray, V: int, window: int, near: Callable[[int, int], bool] | None = None
) -> HostArray:
    """C (V, V): pairs of places t and u that are near, by default within the window."""
    C = np.zeros((V, V), dtype=int)
    for t, word in enumerate(ids):
        for u, other in enumerate(ids):
            C[word, other] += near(t, u) if near else 0 < abs(u - t) <= window
    return C


@exercise("2.2", stars=2, title="Counting within a window")
def _check_counts(answer: Any) -> Verdict:
    """``count(ids, V, window)`` gives how often each word has each other within the window."""
    ids, V, window = np.array([0, 1, 2, 1, 0, 3, 1, 0, 1, 4, 4]), 5, 2
    n = len(ids)
    right = cooccurrence(ids, V, window).toarray()
    after = _count(ids, V, window, lambda t, u: 0 < u - t <= window)
    lost = np.zeros((V, V), dtype=int)
    for k in range(1, window + 1):
        lost[ids[:-k], ids[k:]] += 1
        lost[ids[k:], ids[:-k]] += 1
    wrong = [
        ("one direction", after),
        ("one direction", after.T),
        ("the word itself counted", right + np.diag(np.bincount(ids, minlength=V))),
        ("window not used", _count(ids, V, 1)),
        ("window too wide", _count(ids, V, window + 1)),
        ("presence instead of counts", np.minimum(right, 1)),
        ("last place of the right side", _count(ids, V, 0, lambda t, u: -3 < u - t < 2 and u != t)),
        ("only the ends of the window", _count(ids, V, 0, lambda t, u: abs(u - t) == window)),
        ("a word beside itself left out", right - np.diag(np.diag(right))),
        ("round the start", _count(ids, V, 0, lambda t, u: 0 < abs(u - t) < 3 or u - t > n - 3)),
        ("round the ends", _count(ids, V, 0, lambda t, u: 0 < min((t - u) % n, (u - t) % n) < 3)),
        ("repeated pairs lost", lost),
        ("weighted by the distance", right - _count(ids, V, 0, _at(2)) / 2),
        ("the window is the whole text", _count(ids, V, n)),
        ("shares instead of counts", right / right.sum()),
        ("every pair counted twice", 2 * right),
    ]
    verdict = _compare(SAY["2.2"], answer(ids.copy(), V, window), right, "C", wrong)
    if verdict.diagnosis not in (None, "window not used"):
        return verdict
    wide = _compare(
        SAY["2.2"],
        answer(ids.copy(), V, 3),
        cooccurrence(ids, V, 3).toarray(),
        "C for a window of 3",
        [("window too narrow", _count(ids, V, 2)), ("window not used", _count(ids, V, window))],
    )
    if wide.diagnosis == "window too narrow":
        return wide
    if verdict.ok:
        short = answer(ids[:2].copy(), V, 4)  # a line that is shorter than the window
        right = cooccurrence(ids[:2], V, 4).toarray()
        return _compare(SAY["2.2"], short, right, "C of a line of two", [])
    return verdict


def _lengths(M: HostArray, axis: int = 1) -> HostArray:
    return np.asarray(np.linalg.norm(M, axis=axis, keepdims=True))


@exercise("2.3", stars=2, title="Cosines")
def _check_cosines(answer: Any) -> Verdict:
    """``cosines(M)`` gives the cosine of every pair of rows, and 0 for a row of zeros."""
    M = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 2.0], [0.0, 5.0, 1.0], [4.0, 0.0, 1.0]])
    products = M @ M.T
    right = products / (_lengths(M) * _lengths(M).T)
    of_columns = M / _lengths(M, axis=0)
    wrong = [
        ("not divided by the lengths", products),
        ("one length only", products / _lengths(M)),
        ("one length only", products / _lengths(M).T),
        ("one length only", products / _lengths(M) ** 2),
        ("columns instead of rows", of_columns.T @ of_columns),
        ("columns instead of rows", of_columns @ of_columns.T),
        ("distance", np.linalg.norm(M[:, None] - M, axis=-1)),
        ("sums instead of lengths", products / np.outer(M.sum(axis=1), M.sum(axis=1))),
        ("correlation", np.corrcoef(M)),
        ("angle", np.arccos(np.clip(right, -1, 1))),
        ("1 minus the cosine", 1 - right),
        ("squared lengths", products / (_lengths(M) * _lengths(M).T) ** 2),
    ]
    with np.errstate(all="ignore"):
        verdict = _compare(SAY["2.3"], answer(M.copy()), right, "cosines(M)", wrong)
        if not verdict.ok:
            return verdict
        with_zeros = np.array([[3.0, 4.0], [0.0, 0.0], [4.0, 3.0]])
        got = np.asarray(answer(with_zeros.copy()))
    if not np.isfinite(got).all():
        return SAY["2.3"].wrong(NOT_A_NUMBER)
    got = got - np.diag(np.diag(got)) + np.eye(3)  # a zero row with itself: 0 or 1, as you like
    right = [[1, 0, 0.96], [0, 1, 0], [0.96, 0, 1]]
    return _compare(SAY["2.3"], got, right, "cosines with a row of zeros", [])


@exercise("2.4", stars=2, title="PPMI")
def _check_ppmi(answer: Any) -> Verdict:
    """``ppmi(C)`` gives the positive part of log P(i, j) / P(i) P(j), and 0 where C is 0."""
    C = np.array([[9.0, 1.0, 2.0, 1.0], [1.0, 3.0, 1.0, 4.0], [2.0, 5.0, 1.0, 1.0], [4, 2, 6, 3]])
    of_word, of_context = C.sum(axis=1), C.sum(axis=0)
    pmi = np.log(C * C.sum() / np.outer(of_word, of_context))
    right = np.maximum(pmi, 0)
    exchanged = np.log(C * C.sum() / np.outer(of_context, of_word))
    wrong = [
        ("negative values kept", pmi),
        ("base of the logarithm", right / np.log(2)),
        ("words and contexts exchanged", np.maximum(exchanged, 0)),
        ("total missing", np.zeros_like(C)),
        ("logarithm missing", np.exp(right)),
        ("logarithm missing", np.exp(pmi)),
        ("total missing", pmi - np.log(C.sum())),
        ("1 added before the logarithm", np.log(1 + np.exp(pmi))),
        ("1 added before the logarithm", np.maximum(pmi + np.log((C + 1) / C), 0)),
        ("difference instead of ratio", np.maximum(C - C * np.exp(-pmi), 0)),
        ("difference instead of ratio", C - C * np.exp(-pmi)),
        ("negative values turned round", np.abs(pmi)),
    ]
    say = SAY["2.4"]
    with np.errstate(all="ignore"):
        verdict = _compare(say, answer(C.copy()), right, "ppmi(C)", wrong)
        if not verdict.ok:
            return verdict
        C = np.array([[0.0, 4.0, 0.0], [4.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
        got = np.asarray(answer(C.copy()))
    if not np.isfinite(got).all():
        return say.wrong(NOT_A_NUMBER)
    right = np.zeros((3, 3))
    right[0, 1] = right[1, 0] = np.log(4 * 10 / (4 * 6))
    return _compare(say, got, right, "ppmi with a row of zeros", [])


@exercise("2.5", stars=1, title="The same text twice")
def _check_text_twice(answer: Any) -> Verdict:
    """What happens to the PMI of a pair when every count doubles?"""
    return compare_choice(answer, "stays", SAY["2.5"])


def _settled(W: Any) -> HostArray:
    """Vectors with each column turned so that its entry of largest size is positive."""
    W = np.asarray(W)
    if W.ndim != 2 or W.dtype.kind not in "iuf":
        return W
    signs = np.sign(W[np.abs(W).argmax(axis=0), np.arange(W.shape[1])])
    return np.asarray(W * np.where(signs == 0, 1, signs))


@exercise("2.6", stars=2, title="Vectors from the SVD")
def _check_vectors(answer: Any) -> Verdict:
    """``vectors(M, size)`` gives the leading columns of U times the roots of the values."""
    M, size = np.random.default_rng(27).normal(size=(7, 5)), 3
    U, S, Vt = truncated_svd(M, 5)
    right = U[:, :size] * np.sqrt(S[:size])
    got = answer(M.copy(), size)
    if is_empty(got):
        return Verdict.empty("vectors returned None")
    wrong = [
        ("singular values not used", U[:, :size]),
        ("square root missing", U[:, :size] * S[:size]),
        ("vectors of contexts", Vt[:size].T * np.sqrt(S[:size])),
        ("vectors of contexts", Vt[:size].T * S[:size]),
        ("smallest values", U[:, -size:] * np.sqrt(S[-size:])),
        ("values squared", U[:, :size] * S[:size] ** 2),
        ("divided by the root", U[:, :size] / np.sqrt(S[:size])),
        ("all columns kept", U * np.sqrt(S)),
        ("one value for all columns", U[:, :size] * np.sqrt(S[0])),
    ]
    say, settled = SAY["2.6"], [(diagnosis, _settled(value)) for diagnosis, value in wrong]
    verdict = _compare(say, _settled(got), _settled(right), "the vectors", settled)
    if not verdict.ok:
        if compare_values(_settled(np.asarray(got).T), _settled(right)).ok:
            return say.wrong(TRANSPOSED)
        if np.shape(got) == (size, 5):
            return say.wrong("rows cut instead of columns")
    return verdict


@exercise("2.7", stars=3, title="What was left out")
def _check_left_out(answer: Any) -> Verdict:
    """``left_out(S, size)`` gives |M - M_size| / |M| from all singular values of M."""
    S, size = np.array([5.0, 3.0, 2.5, 1.0, 0.7, 0.2]), 2
    whole, rest = np.sum(S**2), np.sum(S[size:] ** 2)
    wrong = [
        ("not squared", S[size:].sum() / S.sum()),
        ("square root missing", rest / whole),
        ("what is kept", np.sqrt(1 - rest / whole)),
        ("what is kept", 1 - rest / whole),
        ("not relative", np.sqrt(rest)),
        ("off by one", np.sqrt(np.sum(S[size + 1 :] ** 2) / whole)),
        ("off by one", np.sqrt(np.sum(S[size - 1 :] ** 2) / whole)),
        ("1 minus what is kept", 1 - np.sqrt(1 - rest / whole)),
        ("not squared", np.sqrt(S[size:].sum() / S.sum())),
        ("one value over the largest", S[size] / S[0]),
        ("means instead of sums", np.sqrt(np.mean(S[size:] ** 2) / np.mean(S**2))),
    ]
    return _compare(SAY["2.7"], answer(S.copy(), size), np.sqrt(rest / whole), "the share", wrong)


def _correlation(x: HostArray, y: HostArray) -> float:
    return float(np.corrcoef(x, y)[0, 1])


@exercise("2.8", stars=2, title="Do the ranks agree?")
def _check_spearman(answer: Any) -> Verdict:
    """``spearman(x, y)`` gives the correlation of the ranks, ties sharing the mean of theirs."""
    from scipy.stats import kendalltau, rankdata

    x = np.array([0.9, 0.1, 0.4, 0.4, 0.7, -0.3, 0.4, 0.2, 0.65])
    y = np.array([8.0, 1.0, 6.5, 3.0, 3.0, 2.0, 7.0, 0.5, 40.0])
    ranks = rankdata(x), rankdata(y)
    n, distance = len(x), ranks[0] - ranks[1]
    wrong = [
        ("values instead of ranks", _correlation(x, y)),
        ("order taken for ranks", _correlation(np.argsort(x), np.argsort(y))),
        ("formula without ties", 1 - 6 * np.sum(distance**2) / (n * (n**2 - 1))),
        ("another coefficient, Kendall's", kendalltau(x, y).statistic),
        ("equal ranks counted", np.mean(ranks[0] == ranks[1])),
        ("the matrix of correlations", np.corrcoef(*ranks)),
        ("the square of the correlation", _correlation(*ranks) ** 2),
    ]
    got = answer(x.copy(), y.copy())
    verdict = _compare(SAY["2.8"], got, _correlation(*ranks), "the correlation", wrong)
    if verdict.ok or verdict.diagnosis in dict(wrong) or is_empty(got):
        return verdict
    x, y = np.array([0.9, 0.1, 0.4, 0.3]), np.array([30.0, 2.0, 1.0, 5.0])  # no ties
    without = compare_values(answer(x, y), _correlation(rankdata(x), rankdata(y)))
    return SAY["2.8"].wrong("ties") if without.ok else verdict


@exercise("2.9", stars=3, title="An analogy")
def _check_analogy(answer: Any) -> Verdict:
    """``analogy(W, a, b, c)`` gives the id d for which a : b = c : d holds best."""
    rng, say = np.random.default_rng(210), SAY["2.9"]
    W = rng.normal(size=(40, 4)) * rng.uniform(0.3, 3.0, size=(40, 1))
    questions = [rng.choice(40, size=3, replace=False).tolist() for _ in range(12)]
    got = [answer(W.copy(), *question) for question in questions]
    if any(is_empty(d) for d in got):
        return Verdict.empty("analogy returned None")
    if any(np.ndim(d) or isinstance(d, str) or int(d) != d for d in got):
        return say.wrong("wrong type")
    U = W / _lengths(W)

    def answers(
        vectors: HostArray, table: HostArray, sign: int = 1, own: bool = False, k: Any = (1, -1, 1)
    ) -> Any:
        found = []
        for a, b, c in questions:
            offset = k[0] * vectors[b] + k[1] * vectors[a]
            scores = table @ (k[2] * vectors[c] + sign * offset)
            if not own:
                scores[[a, b, c]] = -np.inf
            found.append(int(scores.argmax()))
        return found

    wrong = [
        ("a word of the question", answers(U, U, own=True)),
        ("a word of the question", answers(W, W, own=True)),
        ("offset turned round", answers(U, U, sign=-1)),
        ("dot products", answers(W, W)),
        ("dot products", answers(U, W)),
        ("lengths not taken off first", answers(W, U)),
        ("the neighbour of c", answers(U, U, k=(0, 0, 1))),
        ("a not taken off", answers(U, U, k=(1, 0, 1))),
        ("a added", answers(U, U, k=(1, 1, 1))),
        ("c left out", answers(U, U, k=(1, -1, 0))),
        ("the least similar word", answers(U, -U)),
    ]
    verdict = _compare(say, got, answers(U, U), "the answers to 12 questions", wrong)
    if not verdict.ok and any(d in question for d, question in zip(got, questions)):
        return say.wrong("a word of the question")
    return verdict
