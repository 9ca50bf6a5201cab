"""Answers to the exercises of lesson 3, written without a look at the checks. Plain data."""

SETUP = """import numpy as np
V = 25
"""

CASES = [
    (
        "3.1",
        "the centre stays in the context",
        "wrong",
        """def contexts_and_targets(ids, w):
    windows = np.array([ids[t - w : t + w + 1] for t in range(w, len(ids) - w)])
    return windows, windows[:, w]
""",
        2,
    ),
    (
        "3.1",
        "the last complete window is left out",
        "wrong",
        """def contexts_and_targets(ids, w):
    contexts, targets = [], []
    for t in range(w, len(ids) - w - 1):
        contexts.append([*ids[t - w : t], *ids[t + 1 : t + w + 1]])
        targets.append(ids[t])
    return np.array(contexts), np.array(targets)
""",
        3,
    ),
    (
        "3.1",
        "the context is in the order of nearness, not of the text",
        "wrong",
        """def contexts_and_targets(ids, w):
    ids = np.asarray(ids)
    places = np.arange(w, len(ids) - w)
    steps = [s * k for k in range(1, w + 1) for s in (-1, 1)]
    return ids[places[:, None] + np.array(steps)], ids[places]
""",
        4,
    ),
    (
        "3.1",
        "the context is the 2 w words before the target",
        "wrong",
        """def contexts_and_targets(ids, w):
    ids = np.asarray(ids)
    targets = ids[2 * w :]
    contexts = np.stack([ids[t : t + 2 * w] for t in range(len(targets))])
    return contexts, targets
""",
        3,
    ),
    (
        "3.1",
        "shifted slices, one column each",
        "right",
        """def contexts_and_targets(ids, w):
    ids = np.asarray(ids)
    n = len(ids) - 2 * w
    columns = [ids[k : k + n] for k in range(2 * w + 1)]
    middle = columns.pop(w)
    return np.stack(columns, axis=1), middle
""",
        None,
    ),
    (
        "3.1",
        "a sliding view without its middle column",
        "right",
        """def contexts_and_targets(ids, w):
    windows = np.lib.stride_tricks.sliding_window_view(ids, 2 * w + 1)
    return np.delete(windows, w, axis=1), windows[:, w]
""",
        None,
    ),
    (
        "3.2",
        "the words are counted, not turned into shares",
        "wrong",
        """def bag_of_words(contexts, V):
    return np.eye(V)[contexts].sum(axis=1)
""",
        2,
    ),
    (
        "3.2",
        "a word that occurs twice counts once",
        "wrong",
        """def bag_of_words(contexts, V):
    x = np.zeros((len(contexts), V))
    for n, context in enumerate(contexts):
        x[n, context] = 1 / len(context)
    return x
""",
        4,
    ),
    (
        "3.2",
        "each different word gets the same share",
        "wrong",
        """def bag_of_words(contexts, V):
    x = np.zeros((len(contexts), V))
    for n, context in enumerate(contexts):
        different = np.unique(context)
        x[n, different] = 1 / len(different)
    return x
""",
        5,
    ),
    (
        "3.2",
        "divided by the size of the vocabulary",
        "wrong",
        """def bag_of_words(contexts, V):
    return np.array([np.bincount(c, minlength=V) for c in contexts]) / V
""",
        2,
    ),
    (
        "3.2",
        "one comparison with all words",
        "right",
        """def bag_of_words(contexts, V):
    return (np.asarray(contexts)[:, :, None] == np.arange(V)).mean(axis=1)
""",
        None,
    ),
    (
        "3.2",
        "a column of the context at a time, in float32",
        "right",
        """def bag_of_words(contexts, V):
    N, C = contexts.shape
    x = np.zeros((N, V), dtype=np.float32)
    for c in range(C):
        x[np.arange(N), contexts[:, c]] += np.float32(1) / C
    return x
""",
        None,
    ),
    (
        "3.3",
        "thinks that a composition of two affine maps reaches as much as one",
        "wrong",
        """my_choice = "the same"
""",
        1,
    ),
    (
        "3.3",
        "thinks that one matrix can do less than two",
        "wrong",
        """my_choice = "never lower"
""",
        1,
    ),
    (
        "3.4",
        "the gradient is not divided by the number of context words",
        "wrong",
        """class ContextMean:
    def __init__(self, E):
        self.E, self.dE = E, None

    def forward(self, contexts):
        self.contexts = contexts
        return self.E[contexts].mean(axis=1)

    def backward(self, dh):
        self.dE = np.zeros_like(self.E)
        for c in range(self.contexts.shape[1]):
            np.add.at(self.dE, self.contexts[:, c], dh)
""",
        12,
    ),
    (
        "3.4",
        "divided by the number of windows instead of the number of context words",
        "wrong",
        """class ContextMean:
    def __init__(self, E):
        self.E, self.dE = E, None

    def forward(self, contexts):
        self.contexts = contexts
        return self.E[contexts].mean(axis=1)

    def backward(self, dh):
        self.dE = np.zeros_like(self.E)
        share = dh / len(self.contexts)
        np.add.at(self.dE, self.contexts, share[:, None])
""",
        11,
    ),
    (
        "3.4",
        "of several additions to the same row one is kept",
        "wrong",
        """class ContextMean:
    def __init__(self, E):
        self.E, self.dE = E, None

    def forward(self, contexts):
        self.contexts = contexts
        return self.E[contexts].mean(axis=1)

    def backward(self, dh):
        self.dE = np.zeros_like(self.E)
        self.dE[self.contexts] += dh[:, None] / self.contexts.shape[1]
""",
        11,
    ),
    (
        "3.4",
        "the gradient of the first window goes to all",
        "wrong",
        """class ContextMean:
    def __init__(self, E):
        self.E, self.dE = E, None

    def forward(self, contexts):
        self.contexts = contexts
        return self.E[contexts].mean(axis=1)

    def backward(self, dh):
        self.dE = np.zeros_like(self.E)
        for context in self.contexts:
            for k in context:
                self.dE[k] += dh[0] / len(context)
""",
        13,
    ),
    (
        "3.4",
        "forward adds the rows instead of averaging them",
        "wrong",
        """class ContextMean:
    def __init__(self, E):
        self.E, self.dE = E, None

    def forward(self, contexts):
        self.contexts = contexts
        return self.E[contexts].sum(axis=1)

    def backward(self, dh):
        self.dE = np.zeros_like(self.E)
        C = self.contexts.shape[1]
        for context, d in zip(self.contexts, dh):
            for k in context:
                self.dE[k] += d / C
""",
        7,
    ),
    (
        "3.4",
        "the gradient is added to that of the call before",
        "wrong",
        """class ContextMean:
    def __init__(self, E):
        self.E, self.dE = E, np.zeros_like(E)

    def forward(self, contexts):
        self.contexts = contexts
        return self.E[contexts].mean(axis=1)

    def backward(self, dh):
        C = self.contexts.shape[1]
        np.add.at(self.dE, self.contexts, dh[:, None] / C)
""",
        3,
    ),
    (
        "3.4",
        "rows sorted by word and added up in runs",
        "right",
        """class ContextMean:
    def __init__(self, E):
        self.E, self.dE = E, None

    def forward(self, contexts):
        self.n, self.C = contexts.shape
        self.flat = contexts.reshape(-1)
        return self.E.take(self.flat, axis=0).reshape(self.n, self.C, -1).sum(axis=1) / self.C

    def backward(self, dh):
        order = np.argsort(self.flat, kind="stable")
        rows = (np.repeat(dh, self.C, axis=0) / self.C)[order]
        found, starts = np.unique(self.flat[order], return_index=True)
        self.dE = np.zeros(self.E.shape)
        self.dE[found] = np.add.reduceat(rows, starts, axis=0)
""",
        None,
    ),
    (
        "3.5",
        "the mean over the words of the context is forgotten",
        "wrong",
        """def skipgram_ds(s, contexts):
    N, V = s.shape
    C = contexts.shape[1]
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return (C * p - np.eye(V)[contexts].sum(axis=1)) / N
""",
        6,
    ),
    (
        "3.5",
        "the mean over the windows is forgotten",
        "wrong",
        """def skipgram_ds(s, contexts):
    N, V = s.shape
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p - np.eye(V)[contexts].mean(axis=1)
""",
        5,
    ),
    (
        "3.5",
        "the guess is counted once, the truths C times",
        "wrong",
        """def skipgram_ds(s, contexts):
    N, V = s.shape
    C = contexts.shape[1]
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    ds = p.copy()
    for n in range(N):
        for k in contexts[n]:
            ds[n, k] -= 1
    return ds / (N * C)
""",
        9,
    ),
    (
        "3.5",
        "the softmax runs over the windows, axis 0",
        "wrong",
        """def skipgram_ds(s, contexts):
    N, V = s.shape
    p = np.exp(s - s.max(axis=0))
    p = p / p.sum(axis=0)
    x = np.array([np.bincount(c, minlength=V) for c in contexts]) / contexts.shape[1]
    return (p - x) / N
""",
        4,
    ),
    (
        "3.5",
        "one word of the context after the other",
        "right",
        """def skipgram_ds(s, contexts):
    N, V = s.shape
    ds = np.zeros(s.shape)
    for t in contexts.T:
        p = np.exp(s - np.logaddexp.reduce(s, axis=1)[:, None])
        p[np.arange(N), t] -= 1
        ds += p / (N * len(contexts.T))
    return ds
""",
        None,
    ),
    (
        "3.6",
        "words that are used alike, not words that stand side by side",
        "wrong",
        """my_product = "E E^T"
""",
        1,
    ),
    (
        "3.6",
        "words that are predicted alike, not words that stand side by side",
        "wrong",
        """my_product = "W^T W"
""",
        1,
    ),
    (
        "3.7",
        "only the words to the right of the centre",
        "wrong",
        """def log_likelihood(P, ids, w):
    total = 0.0
    for t in range(len(ids)):
        for u in range(t + 1, min(len(ids), t + w + 1)):
            total += np.log(P[ids[t], ids[u]])
    return total
""",
        4,
    ),
    (
        "3.7",
        "each pair to the left is counted twice instead of once in each direction",
        "wrong",
        """def log_likelihood(P, ids, w):
    total = 0.0
    for t in range(len(ids)):
        for u in range(max(0, t - w), t):
            total += 2 * np.log(P[ids[t], ids[u]])
    return total
""",
        5,
    ),
    (
        "3.7",
        "the mean over all pairs instead of the sum",
        "wrong",
        """def log_likelihood(P, ids, w):
    n = len(ids)
    logs = [np.log(P[ids[t], ids[u]]) for t in range(n) for u in range(n) if 0 < abs(t - u) <= w]
    return np.mean(logs)
""",
        4,
    ),
    (
        "3.7",
        "the centre predicts itself as well",
        "wrong",
        """def log_likelihood(P, ids, w):
    n = len(ids)
    total = 0.0
    for t in range(n):
        for u in range(max(0, t - w), min(n, t + w + 1)):
            total += np.log(P[ids[t], ids[u]])
    return total
""",
        5,
    ),
    (
        "3.7",
        "words without a complete window are no centres",
        "wrong",
        """def log_likelihood(P, ids, w):
    total = 0.0
    for t in range(w, len(ids) - w):
        for j in range(1, w + 1):
            total += np.log(P[ids[t], ids[t - j]]) + np.log(P[ids[t], ids[t + j]])
    return total
""",
        3,
    ),
    (
        "3.7",
        "the logarithm of the sum of the probabilities of a window",
        "wrong",
        """def log_likelihood(P, ids, w):
    n = len(ids)
    total = 0.0
    for t in range(n):
        near = [ids[u] for u in range(max(0, t - w), min(n, t + w + 1)) if u != t]
        if near:
            total += np.log(P[ids[t], near].sum())
    return total
""",
        7,
    ),
    (
        "3.7",
        "a sum over distances, both ways at once",
        "right",
        """def log_likelihood(P, ids, w):
    ids = np.asarray(ids)
    logs = np.log(P)
    near = ((ids[:-k], ids[k:]) for k in range(1, min(w, len(ids) - 1) + 1))
    return float(sum(logs[a, b].sum() + logs[b, a].sum() for a, b in near))
""",
        None,
    ),
    (
        "3.7",
        "a table of all pairs of places",
        "right",
        """def log_likelihood(P, ids, w):
    gap = np.abs(np.subtract.outer(np.arange(len(ids)), np.arange(len(ids))))
    return np.log(P[np.ix_(ids, ids)], where=(gap > 0) & (gap <= w), out=np.zeros(gap.shape)).sum()
""",
        None,
    ),
    (
        "3.8",
        "the entropy of the pairs, that of the centres is not taken off",
        "wrong",
        """def lowest_loss(counts):
    p = counts / counts.sum()
    p = p[p > 0]
    return -np.sum(p * np.log(p))
""",
        4,
    ),
    (
        "3.8",
        "all centres weigh alike, however frequent they are",
        "wrong",
        """def lowest_loss(counts):
    P = counts / counts.sum(axis=1, keepdims=True)
    logs = np.log(np.where(P > 0, P, 1))
    return np.mean(-(P * logs).sum(axis=1))
""",
        4,
    ),
    (
        "3.8",
        "pairs that never occur give nan",
        "wrong",
        """def lowest_loss(counts):
    P = counts / counts.sum(axis=1, keepdims=True)
    return -np.sum(counts * np.log(P)) / counts.sum()
""",
        3,
    ),
    (
        "3.8",
        "the columns are normalised, that is the centre given the context word",
        "wrong",
        """def lowest_loss(counts):
    P = counts / counts.sum(axis=0)
    seen = counts > 0
    return -np.sum(counts[seen] * np.log(P[seen])) / counts.sum()
""",
        2,
    ),
    (
        "3.8",
        "the sum over all pairs, not per prediction",
        "wrong",
        """def lowest_loss(counts):
    P = counts / counts.sum(axis=1, keepdims=True)
    seen = counts > 0
    return -np.sum(counts[seen] * np.log(P[seen]))
""",
        4,
    ),
    (
        "3.8",
        "the entropy of the words without the centre",
        "wrong",
        """def lowest_loss(counts):
    p = counts.sum(axis=0) / counts.sum()
    p = p[p > 0]
    return -(p * np.log(p)).sum()
""",
        2,
    ),
    (
        "3.8",
        "the entropy of the pairs less that of the centres",
        "right",
        """def lowest_loss(counts):
    def nats(n):
        n = n[n > 0] / n.sum()
        return -n @ np.log(n)

    return nats(counts.ravel()) - nats(counts.sum(axis=1))
""",
        None,
    ),
    (
        "3.8",
        "a generator over the centres, in bits and back",
        "right",
        """def lowest_loss(counts):
    from math import log, log2

    total = counts.sum()
    bits = sum(c * log2(row.sum() / c) for row in counts for c in row if c > 0)
    return bits * log(2) / total
""",
        None,
    ),
    (
        "3.2",
        "the array is of integers, a share of less than 1 becomes 0",
        "wrong",
        """def bag_of_words(contexts, V):
    N, C = contexts.shape
    x = np.zeros((N, V), dtype=contexts.dtype)
    for n in range(N):
        for k in contexts[n]:
            x[n, k] += 1 / C
    return x
""",
        6,
    ),
    (
        "3.4",
        "backward is not written",
        "wrong",
        """class ContextMean:
    def __init__(self, E):
        self.E, self.dE = E, None

    def forward(self, contexts):
        return self.E[contexts].mean(axis=1)

    def backward(self, dh):
        pass
""",
        9,
    ),
    (
        "3.5",
        "the size of the lesson's vocabulary instead of the width of s",
        "wrong",
        """def skipgram_ds(s, contexts):
    N = len(s)
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return (p - np.eye(V)[contexts].mean(axis=1)) / N
""",
        5,
    ),
    (
        '3.1',
        'w is taken for the whole width of the window',
        'wrong',
        '''def contexts_and_targets(ids, w):
    half = w // 2
    contexts = [
        [*ids[t - half : t], *ids[t + 1 : t + half + 1]] for t in range(half, len(ids) - half)
    ]
    return np.array(contexts), np.array(ids[half : len(ids) - half])
''',
        2,
    ),
    (
        '3.2',
        'the columns are normalised, not the rows',
        'wrong',
        '''def bag_of_words(contexts, V):
    x = np.zeros((len(contexts), V))
    for row, context in zip(x, contexts):
        for word in context:
            row[word] += 1
    return x / np.maximum(x.sum(axis=0), 1)
''',
        6,
    ),
    (
        '3.4',
        'a mean over the windows as well',
        'wrong',
        '''class ContextMean:
    def __init__(self, E):
        self.E, self.dE = E, None

    def forward(self, contexts):
        self.contexts = contexts
        return self.E[contexts].mean(axis=1)

    def backward(self, dh):
        N, C = self.contexts.shape
        self.dE = np.zeros_like(self.E)
        for n in range(N):
            for c in range(C):
                self.dE[self.contexts[n, c]] += dh[n] / (N * C)
''',
        14,
    ),
    (
        '3.5',
        'a word that occurs twice in the context is taken off once',
        'wrong',
        '''def skipgram_ds(s, contexts):
    N, C = contexts.shape
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    ds = C * p
    ds[np.arange(N)[:, None], contexts] -= 1
    return ds / (N * C)
''',
        6,
    ),
    (
        '3.7',
        'the text is a ring, its end meets its beginning',
        'wrong',
        '''def log_likelihood(P, ids, w):
    ids, total = np.asarray(ids), 0.0
    for j in range(1, w + 1):
        for moved in (np.roll(ids, j), np.roll(ids, -j)):
            total += np.log(P[ids, moved]).sum()
    return total
''',
        4,
    ),
]
