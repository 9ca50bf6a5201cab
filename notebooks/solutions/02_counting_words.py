"""Solutions of lesson 2; the builder folds each below its exercise."""

import numpy as np

from deepnlp.lessons.exercises import check


# %%
# Solution 2.1
def number_solution(words):
    vocab = list(dict.fromkeys(words))  # a dict keeps the order in which its keys came
    ids_of = {word: id for id, word in enumerate(vocab)}
    return [ids_of[word] for word in words], vocab


check("2.1", number_solution)


# %%
# Solution 2.2
def count_solution(ids, V, window):
    C = np.zeros((V, V))
    for t, word in enumerate(ids):
        for u in range(max(0, t - window), min(len(ids), t + window + 1)):
            if u != t:
                C[word, ids[u]] += 1
    return C


check("2.2", count_solution)


# %%
# Solution 2.3
def cosines_solution(M):
    lengths = np.linalg.norm(M, axis=1, keepdims=True)  # (V, 1)
    U = M / np.where(lengths > 0, lengths, 1)  # rows of length 1; a row of zeros stays
    return U @ U.T


check("2.3", cosines_solution)


# %%
# Solution 2.4
def ppmi_solution(C):
    E = np.outer(C.sum(axis=1), C.sum(axis=0)) / C.sum()
    ratio = np.divide(C, E, out=np.zeros(C.shape), where=E > 0)
    return np.log(np.maximum(ratio, 1))  # a ratio below 1 would have a logarithm below 0


check("2.4", ppmi_solution)

# %%
# Solution 2.5
choice_solution = "stays"

check("2.5", choice_solution)


# %%
# Solution 2.6
def vectors_solution(M, size):
    U, S, _ = np.linalg.svd(M, full_matrices=False)
    return U[:, :size] * np.sqrt(S[:size])


check("2.6", vectors_solution)


# %%
# Solution 2.7
def left_out_solution(S, size):
    return np.sqrt((S[size:] ** 2).sum() / (S**2).sum())  # M - M_d has the other axes


check("2.7", left_out_solution)


# %%
# Solution 2.8
def spearman_solution(x, y):
    def ranks(values):
        _, place, times = np.unique(values, return_inverse=True, return_counts=True)
        last = np.cumsum(times)  # the largest rank of each different value
        return (last - (times - 1) / 2)[place]

    return np.corrcoef(ranks(x), ranks(y))[0, 1]


check("2.8", spearman_solution)


# %%
# Solution 2.9
def analogy_solution(W, a, b, c):
    U = W / np.linalg.norm(W, axis=1, keepdims=True)
    scores = U @ (U[b] - U[a] + U[c])  # the length of the query changes no order
    scores[[a, b, c]] = -np.inf  # without this the answer is nearly always b or c
    return int(scores.argmax())


check("2.9", analogy_solution)
