"""Lesson 2: the typical wrong answers and what each is told, and right answers in other styles."""

from collections import Counter

import numpy as np
from scipy.stats import kendalltau, rankdata, spearmanr

from deepnlp.lessons.exercises import check


def number_sorted(words):
    vocab = sorted(set(words))
    return [vocab.index(w) for w in words], vocab


def number_every_place(words):
    return list(range(len(words))), list(words)


def number_by_frequency(words):
    vocab = [w for w, _ in Counter(words).most_common()]
    return [vocab.index(w) for w in words], vocab


def number_from_one(words):
    vocab = list(dict.fromkeys(words))
    return [vocab.index(w) + 1 for w in words], vocab


def number_with_a_dict(words):
    numbers = {}
    return np.array([numbers.setdefault(w, len(numbers)) for w in words]), numbers


def count_general(ids, V, window, near=lambda k, window: 0 < abs(k) <= window):
    C = np.zeros((V, V))
    for t in range(len(ids)):
        for u in range(len(ids)):
            if near(u - t, window):
                C[ids[t], ids[u]] += 1
    return C


def counting(near):
    return lambda ids, V, window: count_general(ids, V, window, near)


def count_present(ids, V, window):
    return (count_general(ids, V, window) > 0).astype(int)


def count_round_the_ends(ids, V, window):
    C = np.zeros((V, V), dtype=int)
    for t in range(len(ids)):
        for k in range(1, window + 1):
            C[ids[t], ids[t - k]] += 1
            C[ids[t - k], ids[t]] += 1
    return C


def count_by_fancy_index(ids, V, window):
    ids, C = np.asarray(ids), np.zeros((V, V), dtype=int)
    for k in range(1, window + 1):
        C[ids[:-k], ids[k:]] += 1
        C[ids[k:], ids[:-k]] += 1
    return C


def count_with_add_at(ids, V, window):
    ids, C = np.asarray(ids), np.zeros((V, V), dtype=int)
    for k in range(1, min(window, len(ids) - 1) + 1):
        np.add.at(C, (ids[:-k], ids[k:]), 1)
    return C + C.T


def count_from_a_counter(ids, V, window):
    pairs = Counter(
        (int(ids[t]), int(ids[u]))
        for t in range(len(ids))
        for u in range(max(0, t - window), min(len(ids), t + window + 1))
        if t != u
    )
    return [[pairs[i, j] for j in range(V)] for i in range(V)]


def lengths(M, axis=1):
    return np.linalg.norm(M, axis=axis, keepdims=True)


def cosines_of_columns(M):
    U = M / lengths(M, axis=0)
    return U.T @ U


def cosines_with_loops(M):
    def cosine(x, y):
        norm = np.sqrt((x * x).sum() * (y * y).sum())
        return float(x @ y) / norm if norm else 0.0

    return np.array([[cosine(x, y) for y in M] for x in M])


def cosines_by_einsum(M):
    U = M / np.maximum(lengths(M), 1e-300)
    return np.einsum("id,jd->ij", U, U)


def pmi(C):
    with np.errstate(all="ignore"):
        return np.log(C * C.sum() / np.outer(C.sum(axis=1), C.sum(axis=0)))


def ppmi_of_transposed_chance(C):
    chance = np.outer(C.sum(axis=0), C.sum(axis=1)) / C.sum()
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.maximum(np.log(C / chance), 0), nan=0.0)


def ppmi_in_bits(C):
    return np.nan_to_num(np.maximum(pmi(C), 0), nan=0.0) / np.log(2)


def ppmi_without_total(C):
    with np.errstate(all="ignore"):
        return np.maximum(np.log(C / np.outer(C.sum(axis=1), C.sum(axis=0))), 0)


def ppmi_that_gives_nan(C):
    return np.maximum(pmi(C), 0)


def ppmi_with_loops(C):
    M, N = np.zeros(C.shape), C.sum()
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            if C[i, j]:
                M[i, j] = max(0, np.log(C[i, j] * N) - np.log(C[i].sum() * C[:, j].sum()))
    return M


def ppmi_from_probabilities(C):
    P = C / C.sum()
    chance = P.sum(axis=1, keepdims=True) * P.sum(axis=0, keepdims=True)
    ratio = np.divide(P, chance, out=np.ones_like(P), where=P > 0)
    return np.log(ratio).clip(0)


def svd(M):
    return np.linalg.svd(M, full_matrices=False)


def vectors_by_eigenvalues(M, size):
    values, U = np.linalg.eigh(M @ M.T)
    return U[:, ::-1][:, :size] * values[::-1][:size].clip(0) ** 0.25


def vectors_by_projection(M, size):
    _, S, Vt = svd(M)
    return M @ Vt[:size].T / np.sqrt(S[:size])


def correlation(x, y):
    return float(np.corrcoef(x, y)[0, 1])


def spearman_with_loops(x, y):
    def ranks(values):
        return [sum(v < u for v in values) + sum(v == u for v in values) / 2 for u in values]

    return correlation(ranks(x), ranks(y))


def ranks_by_position(x):
    return np.argsort(np.argsort(x))


def formula_without_ties(x, y):
    n, d = len(x), rankdata(x) - rankdata(y)
    return 1 - 6 * (d**2).sum() / (n * (n**2 - 1))


def unit(W):
    return W / np.linalg.norm(W, axis=1, keepdims=True)


def answer_analogy(W, a, b, c, *, normalise=True, exclude=True, sign=1.0, cosine=True):
    U = unit(W) if normalise else W
    score = (unit(W) if cosine else W) @ (U[c] + sign * (U[b] - U[a]))
    if exclude:
        score[[a, b, c]] = -np.inf
    return int(score.argmax())


def analogy(**options):
    return lambda W, a, b, c: answer_analogy(W, a, b, c, **options)


def analogy_one_word_at_a_time(W, a, b, c):
    best, answer = -np.inf, None
    for d in range(len(W)):
        cosines = [W[d] @ W[k] / np.sqrt(W[d] @ W[d] * (W[k] @ W[k])) for k in (a, b, c)]
        if d not in (a, b, c) and cosines[1] - cosines[0] + cosines[2] > best:
            best, answer = cosines[1] - cosines[0] + cosines[2], d
    return answer


def near(inside):
    def count(ids, V, window):
        C = np.zeros((V, V))
        for t in range(len(ids)):
            for u in range(len(ids)):
                C[ids[t], ids[u]] += inside(t, u, window)
        return C

    return count


def count_other_words(ids, V, window):
    C = near(lambda t, u, w: 0 < abs(u - t) <= w)(ids, V, window)
    return C - np.diag(np.diag(C))


def count_without_a_start(ids, V, window):
    C = np.zeros((V, V))
    for t in range(len(ids)):
        for k in range(-window, window + 1):
            if k != 0 and t + k < len(ids):
                C[ids[t], ids[t + k]] += 1
    return C


def ratio_to_chance(C):
    return C * C.sum() / np.outer(C.sum(axis=1), C.sum(axis=0))


WRONG = [
    ("2.1", number_sorted, "another order"),
    ("2.1", number_by_frequency, "another order"),
    ("2.1", number_every_place, "a word numbered twice"),
    ("2.1", lambda words: number_sorted(words)[::-1], "wrong type"),
    ("2.1", lambda words: number_sorted(words)[0], "wrong type"),
    ("2.1", number_from_one, "ids and words do not fit"),
    ("2.2", near(lambda t, u, w: u != t and -w <= u - t < w), "last place of the right side"),
    ("2.2", near(lambda t, u, w: abs(u - t) == w), "only the ends of the window"),
    ("2.2", count_other_words, "a word beside itself left out"),
    ("2.2", count_without_a_start, "round the start"),
    ("2.4", lambda C: np.maximum(np.log(C / C.sum(axis=1, keepdims=True)), 0), "total missing"),
    ("2.4", ratio_to_chance, "logarithm missing"),
    ("2.2", counting(lambda k, window: 0 < k <= window), "one direction"),
    ("2.2", counting(lambda k, window: -window <= k < 0), "one direction"),
    ("2.2", counting(lambda k, window: abs(k) <= window), "the word itself counted"),
    ("2.2", counting(lambda k, window: 0 < abs(k) < window), "window too narrow"),
    ("2.2", counting(lambda k, window: 0 < abs(k) <= window + 1), "window too wide"),
    ("2.2", count_present, "presence instead of counts"),
    ("2.2", count_round_the_ends, "round the ends"),
    ("2.2", count_by_fancy_index, "repeated pairs lost"),
    ("2.2", lambda ids, V, window: count_general(ids, V, 1), "window not used"),
    ("2.3", lambda M: M @ M.T, "not divided by the lengths"),
    ("2.3", lambda M: M @ M.T / lengths(M), "one length only"),
    ("2.3", lambda M: M @ M.T / lengths(M) ** 2, "one length only"),
    ("2.3", cosines_of_columns, "columns instead of rows"),
    ("2.3", lambda M: M @ M.T / (lengths(M) * lengths(M).T), "not a number"),
    ("2.3", lambda M: np.sqrt(((M[:, None] - M) ** 2).sum(-1)), "distance"),
    ("2.4", ppmi_of_transposed_chance, "words and contexts exchanged"),
    ("2.4", ppmi_in_bits, "base of the logarithm"),
    ("2.4", ppmi_without_total, "total missing"),
    ("2.4", ppmi_that_gives_nan, "not a number"),
    ("2.4", lambda C: np.nan_to_num(pmi(C), nan=0, neginf=0), "negative values kept"),
    ("2.4", pmi, "negative values kept"),
    ("2.5", "doubles", "wrong choice", "the factors cancel"),
    ("2.5", "grows by log 2", "wrong choice", "both sums of the denominator double"),
    ("2.5", "falls", "wrong type"),
    ("2.6", lambda M, size: svd(M)[0][:, :size], "singular values not used"),
    ("2.6", lambda M, size: svd(M)[0][:, :size] * svd(M)[1][:size], "square root missing"),
    ("2.6", lambda M, size: svd(M)[2][:size].T * np.sqrt(svd(M)[1][:size]), "vectors of contexts"),
    ("2.6", lambda M, size: svd(M)[0][:, -size:] * np.sqrt(svd(M)[1][-size:]), "smallest values"),
    ("2.6", lambda M, size: (svd(M)[0] * np.sqrt(svd(M)[1]))[:size], "rows cut instead of columns"),
    ("2.6", lambda M, size: (vectors_by_projection(M, size)).T, "transposed"),
    ("2.7", lambda S, size: S[size:].sum() / S.sum(), "not squared"),
    ("2.7", lambda S, size: (S[size:] ** 2).sum() / (S**2).sum(), "square root missing"),
    ("2.7", lambda S, size: np.sqrt((S[:size] ** 2).sum() / (S**2).sum()), "what is kept"),
    ("2.7", lambda S, size: np.sqrt((S[size:] ** 2).sum()), "not relative"),
    ("2.7", lambda S, size: np.sqrt((S[size + 1 :] ** 2).sum() / (S**2).sum()), "off by one"),
    ("2.8", correlation, "values instead of ranks"),
    ("2.8", lambda x, y: correlation(np.argsort(x), np.argsort(y)), "order taken for ranks"),
    ("2.8", lambda x, y: correlation(ranks_by_position(x), ranks_by_position(y)), "ties"),
    ("2.8", formula_without_ties, "formula without ties"),
    ("2.8", lambda x, y: spearmanr(x, y), "wrong shape"),
    ("2.8", lambda x, y: -spearmanr(x, y).statistic, "sign"),
    ("2.9", analogy(exclude=False), "a word of the question"),
    ("2.9", analogy(sign=-1.0), "offset turned round"),
    ("2.9", analogy(normalise=False), "lengths not taken off first"),
    ("2.9", analogy(normalise=False, cosine=False), "dot products"),
    ("2.9", lambda W, a, b, c: [answer_analogy(W, a, b, c)], "wrong type"),
]


def nearest_to(W, query, *without):
    scores = unit(W) @ query
    scores[[*without]] = -np.inf
    return int(scores.argmax())


WRONG += [
    ("2.1", lambda words: (number_sorted(words)[0], 7),
     "the number of words in place of the words"),
    ("2.1", lambda words: (list(range(len(set(words)))), list(dict.fromkeys(words))),
     "a number for each different word only"),
    ("2.2", lambda ids, V, window: count_general(ids, V, len(ids)),
     "the window is the whole text"),
    ("2.2", lambda ids, V, window: 2 * count_general(ids, V, window), "every pair counted twice"),
    ("2.2", lambda ids, V, window: np.tril(count_general(ids, V, window)), "lower half alone"),
    ("2.3", np.corrcoef, "correlation"),
    ("2.3", lambda M: 1 - cosines_by_einsum(M), "1 minus the cosine"),
    ("2.3", lambda M: cosines_by_einsum(M) - np.eye(len(M)), "diagonal left out"),
    ("2.4", lambda C: np.abs(pmi(C)), "negative values turned round"),
    ("2.4", lambda C: np.maximum(C - np.outer(C.sum(1), C.sum(0)) / C.sum(), 0),
     "difference instead of ratio"),
    ("2.6", lambda M, size: svd(M)[0] * np.sqrt(svd(M)[1]), "all columns kept"),
    ("2.6", lambda M, size: svd(M)[0][:, :size] / np.sqrt(svd(M)[1][:size]),
     "divided by the root"),
    ("2.7", lambda S, size: S[size] / S[0], "one value over the largest"),
    ("2.7", lambda S, size: 1 - np.sqrt((S[:size] ** 2).sum() / (S**2).sum()),
     "1 minus what is kept"),
    ("2.8", lambda x, y: kendalltau(x, y).statistic, "another coefficient, Kendall's"),
    ("2.8", lambda x, y: np.corrcoef(rankdata(x), rankdata(y)), "the matrix of correlations"),
    ("2.9", lambda W, a, b, c: answer_analogy(W, a, a, c), "the neighbour of c"),
    ("2.9", lambda W, a, b, c: nearest_to(W, unit(W)[b] + unit(W)[c], a, b, c), "a not taken off"),
]  # fmt: skip

RIGHT = [
    ("2.1", number_with_a_dict),
    ("2.1", lambda words: [[list(dict.fromkeys(words)).index(w) for w in words],
                           tuple(dict.fromkeys(words))]),
    ("2.2", count_general),
    ("2.2", count_with_add_at),
    ("2.2", count_from_a_counter),
    ("2.3", cosines_with_loops),
    ("2.3", cosines_by_einsum),
    ("2.4", ppmi_with_loops),
    ("2.4", ppmi_from_probabilities),
    ("2.5", "Stays"),
    ("2.5", " stays "),
    ("2.6", vectors_by_eigenvalues),
    ("2.6", vectors_by_projection),
    ("2.6", lambda M, size: -vectors_by_projection(M, size)),
    ("2.7", lambda S, size: np.linalg.norm(S[size:]) / np.linalg.norm(S)),
    ("2.7", lambda S, size: np.sqrt(1 - (S[:size] ** 2).sum() / (S**2).sum())),
    ("2.7", lambda S, size: (sum(s * s for s in S[size:]) / sum(s * s for s in S)) ** 0.5),
    ("2.8", spearman_with_loops),
    ("2.8", lambda x, y: correlation(rankdata(x), rankdata(y))),
    ("2.8", lambda x, y: spearmanr(x, y).statistic),
    ("2.9", analogy_one_word_at_a_time),
    ("2.9", analogy()),
    ("2.9", lambda W, a, b, c: np.int64(answer_analogy(W, a, b, c))),
]  # fmt: skip


def test_an_answer_that_changes_what_it_is_given():
    def change(M):
        M /= lengths(M)
        return M @ M.T

    with np.errstate(all="ignore"):
        assert check("2.3", change).diagnosis in ("not a number", "error")
