"""Answers to the exercises of lesson 2 that need several lines, and what several share."""

from collections import Counter
from functools import partial

import numpy as np
from scipy import stats


def number_sorted(words):
    vocab = sorted(set(words))
    return [vocab.index(w) for w in words], vocab


def number_by_frequency(words):
    vocab = [w for w, _ in Counter(words).most_common()]
    return [vocab.index(w) for w in words], vocab


def number_from_one(words):
    vocab = list(dict.fromkeys(words))
    return [vocab.index(w) + 1 for w in words], vocab


def number_with_a_dict(words):
    numbers = {}
    return np.array([numbers.setdefault(w, len(numbers)) for w in words]), numbers


def count_general(ids, V, window, near=lambda t, u, w: 0 < abs(u - t) <= w):
    C = np.zeros((V, V))
    for t in range(len(ids)):
        for u in range(len(ids)):
            C[ids[t], ids[u]] += near(t, u, window)
    return C


def near(inside):
    return partial(count_general, near=inside)


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


def ppmi_without_total(C):
    with np.errstate(all="ignore"):
        return np.maximum(np.log(C / np.outer(C.sum(axis=1), C.sum(axis=0))), 0)


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
    n, d = len(x), stats.rankdata(x) - stats.rankdata(y)
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


def count_without_a_start(ids, V, window):
    C = np.zeros((V, V))
    for t in range(len(ids)):
        for k in range(-window, window + 1):
            if k != 0 and t + k < len(ids):
                C[ids[t], ids[t + k]] += 1
    return C


def nearest_to(W, query, *without):
    scores = unit(W) @ query
    scores[[*without]] = -np.inf
    return int(scores.argmax())


def cosines_in_place(M):
    M /= lengths(M)
    return M @ M.T
