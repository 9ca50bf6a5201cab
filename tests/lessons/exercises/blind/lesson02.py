"""Answers to the exercises of lesson 2, written without a look at the checks. Plain data."""

SETUP = """import numpy as np
rng = np.random.default_rng(0)
M = rng.random((20, 20))
U, S, Vt = np.linalg.svd(M)
vocab = [str(k) for k in range(20)]
"""

CASES = [
    (
        "2.1",
        "the vocabulary is in the order of the alphabet, not of first appearance",
        "wrong",
        """def number(words):
    vocab = sorted(set(words))
    ids = [vocab.index(w) for w in words]
    return ids, vocab
""",
        2,
    ),
    (
        "2.1",
        "the id is the place of the first occurrence in the text, with gaps",
        "wrong",
        """def number(words):
    ids = [words.index(word) for word in words]
    vocab = []
    for word in words:
        if word not in vocab:
            vocab.append(word)
    return ids, vocab
""",
        2,
    ),
    (
        "2.1",
        "ids begin with 1",
        "wrong",
        """def number(words):
    id_of, vocab, ids = {}, [], []
    for word in words:
        if word not in id_of:
            vocab.append(word)
            id_of[word] = len(vocab)
        ids.append(id_of[word])
    return ids, vocab
""",
        6,
    ),
    (
        "2.1",
        "the ids of the different words only, not of every word of the text",
        "wrong",
        """def number(words):
    vocab = list(dict.fromkeys(words))
    ids = [k for k, word in enumerate(vocab)]
    return ids, vocab
""",
        3,
    ),
    (
        "2.1",
        "setdefault with a growing dict",
        "right",
        """def number(words):
    seen = {}
    ids = [seen.setdefault(word, len(seen)) for word in words]
    return np.array(ids), [*seen]
""",
        None,
    ),
    (
        "2.1",
        "recursion on the text",
        "right",
        """def number(words):
    if not words:
        return [], []
    ids, vocab = number(words[:-1])
    last = words[-1]
    if last in vocab:
        return ids + [vocab.index(last)], vocab
    return ids + [len(vocab)], vocab + [last]
""",
        None,
    ),
    (
        "2.2",
        "the word in the middle is counted as its own neighbour",
        "wrong",
        """def count(ids, V, window):
    C = np.zeros((V, V))
    for t in range(len(ids)):
        for u in range(max(0, t - window), min(len(ids), t + window + 1)):
            C[ids[t], ids[u]] += 1
    return C
""",
        4,
    ),
    (
        "2.2",
        "only the words to the right are counted",
        "wrong",
        """def count(ids, V, window):
    C = np.zeros((V, V), int)
    for t, i in enumerate(ids):
        for j in ids[t + 1 : t + 1 + window]:
            C[i, j] += 1
    return C
""",
        4,
    ),
    (
        "2.2",
        "the window is one place too narrow",
        "wrong",
        """def count(ids, V, window):
    C = np.zeros((V, V), int)
    for t in range(len(ids)):
        for k in range(1, window):
            if t + k < len(ids):
                C[ids[t], ids[t + k]] += 1
                C[ids[t + k], ids[t]] += 1
    return C
""",
        4,
    ),
    (
        "2.2",
        "a pair that was seen is 1, however often it was seen",
        "wrong",
        """def count(ids, V, window):
    C = np.zeros((V, V))
    for t in range(len(ids)):
        for k in range(1, window + 1):
            if t + k < len(ids):
                C[ids[t], ids[t + k]] = 1
                C[ids[t + k], ids[t]] = 1
    return C
""",
        6,
    ),
    (
        "2.2",
        "a word that stands near another occurrence of itself is left out",
        "wrong",
        """def count(ids, V, window):
    C = np.zeros((V, V))
    for t in range(len(ids)):
        for u in range(len(ids)):
            if abs(t - u) <= window and ids[t] != ids[u]:
                C[ids[t], ids[u]] += 1
    return C
""",
        5,
    ),
    (
        "2.2",
        "products of shifted one-hot rows",
        "right",
        """def count(ids, V, window):
    X = np.eye(V, dtype=int)[np.asarray(ids, dtype=int)]
    half = sum(X[:-k].T @ X[k:] for k in range(1, window + 1) if k < len(X))
    return half + np.transpose(half) if len(X) > 1 and window > 0 else np.zeros((V, V), int)
""",
        None,
    ),
    (
        "2.2",
        "a band of ones between the one-hot rows",
        "right",
        """def count(ids, V, window):
    X = np.eye(V)[np.asarray(ids, dtype=int)]
    place = np.arange(len(X))
    gap = np.abs(place[:, None] - place)
    return X.T @ ((gap > 0) & (gap <= window)) @ X
""",
        None,
    ),
    (
        "2.3",
        "a row of zeros gives nan",
        "wrong",
        """def cosines(M):
    U = M / np.linalg.norm(M, axis=1, keepdims=True)
    return U @ U.T
""",
        2,
    ),
    (
        "2.3",
        "the columns are compared instead of the rows",
        "wrong",
        """def cosines(M):
    lengths = np.sqrt((M**2).sum(axis=0))
    U = M / np.where(lengths > 0, lengths, 1)
    return U.T @ U
""",
        2,
    ),
    (
        "2.3",
        "divided by the length of one of the two rows only",
        "wrong",
        """def cosines(M):
    lengths = np.linalg.norm(M, axis=1)
    lengths[lengths == 0] = 1
    return M @ M.T / lengths[:, None]
""",
        4,
    ),
    (
        "2.3",
        "the root of the sum of squares is forgotten",
        "wrong",
        """def cosines(M):
    squares = (M * M).sum(axis=1)
    squares = np.where(squares > 0, squares, 1)
    return M @ M.T / np.outer(squares, squares)
""",
        4,
    ),
    (
        "2.3",
        "from the diagonal of the inner products",
        "right",
        """def cosines(M):
    G = np.einsum("id,jd->ij", M, M).astype(float)
    n = np.sqrt(np.diag(G))
    return np.divide(G, np.outer(n, n), out=np.zeros_like(G), where=np.outer(n, n) > 0)
""",
        None,
    ),
    (
        "2.4",
        "what lies below zero is kept",
        "wrong",
        """def my_ppmi(C):
    N = C.sum()
    E = np.outer(C.sum(axis=1), C.sum(axis=0)) / N
    M = np.zeros(C.shape)
    seen = C > 0
    M[seen] = np.log(C[seen] / E[seen])
    return M
""",
        6,
    ),
    (
        "2.4",
        "the sum of all counts is missing in the ratio",
        "wrong",
        """def my_ppmi(C):
    r, c = C.sum(axis=1, keepdims=True), C.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.log(C / (r * c))
    return np.maximum(np.nan_to_num(pmi, nan=0, neginf=0), 0)
""",
        4,
    ),
    (
        "2.4",
        "N is the number of words in the vocabulary",
        "wrong",
        """def my_ppmi(C):
    N = len(C)
    r, c = C.sum(axis=1, keepdims=True), C.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.log(C * N / (r * c))
    return np.maximum(np.nan_to_num(pmi, nan=0, neginf=0), 0)
""",
        2,
    ),
    (
        "2.4",
        "a row of zeros gives 0/0, which stays nan",
        "wrong",
        """def my_ppmi(C):
    E = np.outer(C.sum(axis=1), C.sum(axis=0)) / C.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.maximum(np.log(C / E), 0)
""",
        4,
    ),
    (
        "2.4",
        "the logarithm to base 2",
        "wrong",
        """def my_ppmi(C):
    E = np.outer(C.sum(axis=1), C.sum(axis=0)) / C.sum()
    ratio = np.divide(C, E, out=np.ones(C.shape), where=C > 0)
    return np.log2(np.maximum(ratio, 1))
""",
        4,
    ),
    (
        "2.4",
        "the ratio is brought to at least 1 before the logarithm",
        "right",
        """def my_ppmi(C):
    E = np.outer(C.sum(axis=1), C.sum(axis=0)) / C.sum()
    ratio = np.divide(C, E, out=np.ones(C.shape), where=E > 0)
    return np.log(np.maximum(ratio, 1))
""",
        None,
    ),
    (
        "2.4",
        "entry by entry",
        "right",
        """def my_ppmi(C):
    from math import log

    N, V = C.sum(), len(C)
    M = np.zeros((V, V))
    for i, j in zip(*C.nonzero()):
        M[i, j] = max(0.0, log(C[i, j]) + log(N) - log(C[i].sum()) - log(C[:, j].sum()))
    return M
""",
        None,
    ),
    (
        "2.5",
        "thinks that the factor 2 stays inside the logarithm",
        "wrong",
        """my_choice = "grows by log 2"
""",
        1,
    ),
    (
        "2.5",
        "thinks that PMI grows in proportion to the counts",
        "wrong",
        """my_choice = "doubles"
""",
        1,
    ),
    (
        "2.5",
        "thinks that only the denominator grows",
        "wrong",
        """my_choice = "halves"
""",
        1,
    ),
    (
        "2.6",
        "the singular values without the root",
        "wrong",
        """def vectors(M, size):
    U, S, Vt = np.linalg.svd(M)
    return U[:, :size] * S[:size]
""",
        3,
    ),
    (
        "2.6",
        "the first rows of U instead of its first columns",
        "wrong",
        """def vectors(M, size):
    U, S, Vt = np.linalg.svd(M)
    return U[:size].T * np.sqrt(S[:size])
""",
        3,
    ),
    (
        "2.6",
        "the vectors of the contexts, from V, instead of those of the rows",
        "wrong",
        """def vectors(M, size):
    U, S, Vt = np.linalg.svd(M)
    return Vt[:size].T * np.sqrt(S[:size])
""",
        3,
    ),
    (
        "2.6",
        "the axes without any singular values",
        "wrong",
        """def vectors(M, size):
    U = np.linalg.svd(M)[0]
    return U[:, :size]
""",
        3,
    ),
    (
        "2.6",
        "the last axes, as eigh gives the eigenvalues in rising order",
        "wrong",
        """def vectors(M, size):
    values, U = np.linalg.eigh(M @ M.T)
    S = np.sqrt(np.maximum(values, 0))
    return U[:, :size] * np.sqrt(S[:size])
""",
        4,
    ),
    (
        "2.6",
        "from the eigenvectors of M M^T",
        "right",
        """def vectors(M, size):
    values, U = np.linalg.eigh(M @ M.T)
    best = np.argsort(values)[::-1][:size]
    return U[:, best] * np.maximum(values[best], 0) ** 0.25
""",
        None,
    ),
    (
        "2.7",
        "what was kept instead of what was left out",
        "wrong",
        """def left_out(S, size):
    return np.sqrt(np.sum(S[:size] ** 2) / np.sum(S**2))
""",
        2,
    ),
    (
        "2.7",
        "the squares are forgotten",
        "wrong",
        """def left_out(S, size):
    return S[size:].sum() / S.sum()
""",
        2,
    ),
    (
        "2.7",
        "the root is forgotten",
        "wrong",
        """def left_out(S, size):
    return np.sum(S[size:] ** 2) / np.sum(S**2)
""",
        2,
    ),
    (
        "2.7",
        "the last axis that is kept is counted among those left out",
        "wrong",
        """def left_out(S, size):
    return np.linalg.norm(S[size - 1 :]) / np.linalg.norm(S)
""",
        2,
    ),
    (
        "2.7",
        "the two lengths are subtracted as if they added without squares",
        "wrong",
        """def left_out(S, size):
    whole = np.sqrt((S**2).sum())
    kept = np.sqrt((S[:size] ** 2).sum())
    return (whole - kept) / whole
""",
        4,
    ),
    (
        "2.7",
        "math.hypot of all of them",
        "right",
        """def left_out(S, size):
    import math

    return math.hypot(*S[size:]) / math.hypot(*S)
""",
        None,
    ),
    (
        "2.8",
        "equal values get different ranks, in the order of the array",
        "wrong",
        """def spearman(x, y):
    a = np.argsort(np.argsort(x, kind="stable"))
    b = np.argsort(np.argsort(y, kind="stable"))
    return np.corrcoef(a, b)[0, 1]
""",
        2,
    ),
    (
        "2.8",
        "argsort is taken for the ranks",
        "wrong",
        """def spearman(x, y):
    return np.corrcoef(np.argsort(x), np.argsort(y))[0, 1]
""",
        2,
    ),
    (
        "2.8",
        "the correlation of the values, without ranks",
        "wrong",
        """def spearman(x, y):
    return np.corrcoef(x, y)[0, 1]
""",
        2,
    ),
    (
        "2.8",
        "equal values share the smallest of their ranks, not the mean",
        "wrong",
        """def spearman(x, y):
    def ranks(v):
        return np.searchsorted(np.sort(v), v) + 1

    return np.corrcoef(ranks(x), ranks(y))[0, 1]
""",
        3,
    ),
    (
        "2.8",
        "the whole matrix of correlations is returned",
        "wrong",
        """def spearman(x, y):
    def ranks(v):
        v = np.asarray(v)
        return [(np.sum(v < a) + np.sum(v <= a) + 1) / 2 for a in v]

    return np.corrcoef(ranks(x), ranks(y))
""",
        6,
    ),
    (
        "2.8",
        "the cosine of the signs of all differences",
        "right",
        """def spearman(x, y):
    a = np.sign(np.subtract.outer(x, x)).sum(axis=1)
    b = np.sign(np.subtract.outer(y, y)).sum(axis=1)
    return (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())
""",
        None,
    ),
    (
        "2.9",
        "the three words of the question may be the answer",
        "wrong",
        """def analogy(W, a, b, c):
    U = W / np.linalg.norm(W, axis=1, keepdims=True)
    return int(np.argmax(U @ (U[b] - U[a] + U[c])))
""",
        3,
    ),
    (
        "2.9",
        "inner products instead of cosines, long vectors win",
        "wrong",
        """def analogy(W, a, b, c):
    scores = W @ (W[b] - W[a] + W[c])
    scores[[a, b, c]] = -np.inf
    return scores.argmax()
""",
        2,
    ),
    (
        "2.9",
        "the step is taken from b to a",
        "wrong",
        """def analogy(W, a, b, c):
    U = W / np.linalg.norm(W, axis=1, keepdims=True)
    scores = U @ (U[a] - U[b] + U[c])
    scores[[a, b, c]] = -2
    return int(scores.argmax())
""",
        3,
    ),
    (
        "2.9",
        "the step is taken between vectors of any length, only the comparison is a cosine",
        "wrong",
        """def analogy(W, a, b, c):
    goal = W[b] - W[a] + W[c]
    cosines = W @ goal / np.linalg.norm(W, axis=1)
    cosines[[a, b, c]] = -np.inf
    return int(cosines.argmax())
""",
        2,
    ),
    (
        "2.9",
        "excluded words get the score 0, which may still be the largest",
        "wrong",
        """def analogy(W, a, b, c):
    U = W / np.linalg.norm(W, axis=1, keepdims=True)
    scores = U @ (U[b] - U[a] + U[c])
    scores[[a, b, c]] = 0
    return int(scores.argmax())
""",
        4,
    ),
    (
        "2.9",
        "the maximum over a generator",
        "right",
        """def analogy(W, a, b, c):
    unit = [row / np.sqrt(row @ row) for row in W]
    others = (d for d in range(len(W)) if d not in (a, b, c))
    return max(others, key=lambda d: unit[d] @ unit[b] - unit[d] @ unit[a] + unit[d] @ unit[c])
""",
        None,
    ),
    (
        "2.1",
        "the words themselves in the place of their ids",
        "wrong",
        """def number(words):
    vocab = list(dict.fromkeys(words))
    return words, vocab
""",
        3,
    ),
    (
        "2.2",
        "the table is of booleans, so that two is not more than one",
        "wrong",
        """def count(ids, V, window):
    C = np.zeros((V, V), dtype=bool)
    for t in range(len(ids)):
        for u in range(len(ids)):
            if 0 < abs(t - u) <= window:
                C[ids[t], ids[u]] += True
    return C
""",
        2,
    ),
    (
        "2.2",
        "the size of the lesson's vocabulary instead of V",
        "wrong",
        """def count(ids, V, window):
    C = np.zeros((len(vocab), len(vocab)))
    for t in range(len(ids)):
        for u in range(len(ids)):
            if 0 < abs(t - u) <= window:
                C[ids[t], ids[u]] += 1
    return C
""",
        2,
    ),
    (
        "2.7",
        "the lesson's matrix is measured, not the singular values that were given",
        "wrong",
        """def left_out(S, size):
    rest = M - (U[:, :size] * S[:size]) @ Vt[:size]
    return np.linalg.norm(rest) / np.linalg.norm(M)
""",
        2,
    ),
    (
        "2.7",
        "the share of the lesson's example",
        "wrong",
        """def left_out(S, size):
    return 0.71
""",
        2,
    ),
    (
        '2.1',
        'the ids are in the order of frequency, the most frequent word first',
        'wrong',
        '''def number(words):
    from collections import Counter

    vocab = [word for word, _ in Counter(words).most_common()]
    return [vocab.index(word) for word in words], vocab
''',
        4,
    ),
    (
        '2.2',
        'a slice that begins before the sentence wraps round and is empty',
        'wrong',
        '''def count(ids, V, window):
    C = np.zeros((V, V))
    for t, i in enumerate(ids):
        for j in ids[t - window : t]:
            C[i, j] += 1
        for j in ids[t + 1 : t + window + 1]:
            C[i, j] += 1
    return C
''',
        4,
    ),
    (
        '2.3',
        'lengths below 1 are taken for 1',
        'wrong',
        '''def cosines(M):
    lengths = np.maximum(np.linalg.norm(M, axis=1, keepdims=True), 1)
    unit = M / lengths
    return unit @ unit.T
''',
        2,
    ),
    (
        '2.4',
        'one is added before the logarithm',
        'wrong',
        '''def my_ppmi(C):
    E = np.outer(C.sum(axis=1), C.sum(axis=0)) / C.sum()
    ratio = np.divide(C, E, out=np.zeros(C.shape), where=E > 0)
    return np.maximum(np.log(1 + ratio), 0)
''',
        4,
    ),
    (
        '2.8',
        'one of the two is ranked from the largest to the smallest',
        'wrong',
        '''def spearman(x, y):
    def ranks(v):
        return np.array([np.sum(v < a) + (np.sum(v == a) + 1) / 2 for a in v])

    return np.corrcoef(ranks(np.asarray(x)), ranks(-np.asarray(y)))[0, 1]
''',
        5,
    ),
]
