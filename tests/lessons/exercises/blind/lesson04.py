"""Answers to the exercises of lesson 4, written without a look at the checks. Plain data."""

SETUP = """import numpy as np
V = 10000
"""

CASES = [
    (
        "4.1",
        "of an id that occurs twice only the first row is kept",
        "wrong",
        """def rows_of_gradient(ids, dy):
    found, first = np.unique(ids, return_index=True)
    return found, dy[first]
""",
        3,
    ),
    (
        "4.1",
        "rows of the same id are averaged instead of added",
        "wrong",
        """def rows_of_gradient(ids, dy):
    found = np.unique(ids)
    return found, np.array([dy[ids == k].mean(axis=0) for k in found])
""",
        3,
    ),
    (
        "4.1",
        "the last of several rows overwrites the others",
        "wrong",
        """def rows_of_gradient(ids, dy):
    found, inverse = np.unique(ids, return_inverse=True)
    rows = np.zeros((len(found), dy.shape[1]))
    rows[inverse] = dy
    return found, rows
""",
        4,
    ),
    (
        "4.1",
        "ids are sorted, rows are in the order of first appearance",
        "wrong",
        """def rows_of_gradient(ids, dy):
    sums = {}
    for k, d in zip(ids, dy):
        sums[k] = sums.get(k, 0) + d
    return np.unique(ids), np.array(list(sums.values()))
""",
        5,
    ),
    (
        "4.1",
        "nothing is merged, ids occur as often as before",
        "wrong",
        """def rows_of_gradient(ids, dy):
    order = np.argsort(ids)
    return ids[order], dy[order]
""",
        3,
    ),
    (
        "4.1",
        "a product with the table of which id is where",
        "right",
        """def rows_of_gradient(ids, dy):
    found = np.array(sorted(set(np.asarray(ids).tolist())))
    return found, (found[:, None] == ids).astype(float) @ dy
""",
        None,
    ),
    (
        "4.1",
        "a dict, ids in order of first appearance",
        "right",
        """def rows_of_gradient(ids, dy):
    sums = {}
    for k, d in zip(map(int, ids), dy):
        sums[k] = sums[k] + d if k in sums else d.copy()
    return np.fromiter(sums, int), np.stack([*sums.values()])
""",
        None,
    ),
    (
        "4.2",
        "a row that was looked up several times gets one of its gradients",
        "wrong",
        """class MyEmbeddingDot:
    def __init__(self, W):
        self.W, self.dW = W, None

    def forward(self, h, ids):
        self.h, self.ids = h, ids
        return np.sum(h[:, None] * self.W[ids], axis=2)

    def backward(self, ds):
        self.dW = np.zeros_like(self.W)
        self.dW[self.ids] += ds[:, :, None] * self.h[:, None]
        return np.sum(ds[:, :, None] * self.W[self.ids], axis=1)
""",
        11,
    ),
    (
        "4.2",
        "the gradient of h is a mean over the K words instead of a sum",
        "wrong",
        """class MyEmbeddingDot:
    def __init__(self, W):
        self.W, self.dW = W, None

    def forward(self, h, ids):
        self.h, self.ids = h, ids
        return np.sum(h[:, None] * self.W[ids], axis=2)

    def backward(self, ds):
        self.dW = np.zeros_like(self.W)
        np.add.at(self.dW, self.ids, ds[:, :, None] * self.h[:, None])
        return np.mean(ds[:, :, None] * self.W[self.ids], axis=1)
""",
        12,
    ),
    (
        "4.2",
        "dW is multiplied by the row of W instead of by h",
        "wrong",
        """class MyEmbeddingDot:
    def __init__(self, W):
        self.W, self.dW = W, None

    def forward(self, h, ids):
        self.h, self.ids, self.rows = h, ids, self.W[ids]
        return np.sum(h[:, None] * self.rows, axis=2)

    def backward(self, ds):
        self.dW = np.zeros_like(self.W)
        np.add.at(self.dW, self.ids, ds[:, :, None] * self.rows)
        return np.sum(ds[:, :, None] * self.rows, axis=1)
""",
        11,
    ),
    (
        "4.2",
        "a gradient of h for each of the K words, not their sum",
        "wrong",
        """class MyEmbeddingDot:
    def __init__(self, W):
        self.W, self.dW = W, None

    def forward(self, h, ids):
        self.h, self.ids = h, ids
        return (h[:, None] * self.W[ids]).sum(axis=-1)

    def backward(self, ds):
        self.dW = np.zeros_like(self.W)
        np.add.at(self.dW, self.ids, ds[:, :, None] * self.h[:, None])
        return ds[:, :, None] * self.W[self.ids]
""",
        12,
    ),
    (
        "4.2",
        "one pair after the other",
        "right",
        """class MyEmbeddingDot:
    def __init__(self, W):
        self.W, self.dW = W, None

    def forward(self, h, ids):
        self.h, self.ids = h, ids
        return np.array([[v @ self.W[k] for k in row] for v, row in zip(h, ids)])

    def backward(self, ds):
        self.dW, dh = np.zeros(self.W.shape), np.zeros(self.h.shape)
        for n in range(len(ds)):
            for d, k in zip(ds[n], self.ids[n]):
                self.dW[k] += d * self.h[n]
                dh[n] += d * self.W[k]
        return dh
""",
        None,
    ),
    (
        "4.2",
        "a batched product, and a one-hot product for dW",
        "right",
        """class MyEmbeddingDot:
    def __init__(self, W):
        self.W, self.dW = W, None

    def forward(self, h, ids):
        self.h, self.rows, self.ids = h, self.W[ids], ids
        return (self.rows @ h[:, :, None])[:, :, 0]

    def backward(self, ds):
        onehot = self.ids[:, :, None] == np.arange(len(self.W))
        self.dW = np.tensordot((onehot * ds[:, :, None]).sum(axis=1), self.h, axes=(0, 0))
        return (ds[:, None] @ self.rows)[:, 0]
""",
        None,
    ),
    (
        "4.3",
        "the truth 1 of the pair is not taken off",
        "wrong",
        """def negative_sampling(s, s_neg):
    N = len(s)
    loss = (np.logaddexp(0, -s).sum() + np.logaddexp(0, s_neg).sum()) / N
    ds = 1 / (1 + np.exp(-s)) / N
    return loss, ds, 1 / (1 + np.exp(-s_neg)) / N
""",
        4,
    ),
    (
        "4.3",
        "the negatives are averaged instead of added",
        "wrong",
        """def negative_sampling(s, s_neg):
    N = len(s)
    loss = np.mean(np.logaddexp(0, -s)) + np.mean(np.logaddexp(0, s_neg))
    ds = (1 / (1 + np.exp(-s)) - 1) / N
    return loss, ds, 1 / (1 + np.exp(-s_neg)) / s_neg.size
""",
        3,
    ),
    (
        "4.3",
        "large scores overflow in the loss",
        "wrong",
        """def negative_sampling(s, s_neg):
    N = len(s)
    loss = (np.log(1 + np.exp(-s)).sum() + np.log(1 + np.exp(s_neg)).sum()) / N
    return loss, (1 / (1 + np.exp(-s)) - 1) / N, 1 / (1 + np.exp(-s_neg)) / N
""",
        3,
    ),
    (
        "4.3",
        "yes and no exchanged in the loss",
        "wrong",
        """def negative_sampling(s, s_neg):
    N = len(s)
    loss = np.mean(np.logaddexp(0, s) + np.logaddexp(0, -s_neg).sum(axis=1))
    return loss, (1 / (1 + np.exp(-s)) - 1) / N, 1 / (1 + np.exp(-s_neg)) / N
""",
        3,
    ),
    (
        "4.3",
        "the gradients are not divided by the number of pairs",
        "wrong",
        """def negative_sampling(s, s_neg):
    loss = np.mean(np.logaddexp(0, -s) + np.logaddexp(0, s_neg).sum(axis=1))
    ds = -1 / (1 + np.exp(s))
    ds_neg = 1 / (1 + np.exp(-s_neg))
    return loss, ds, ds_neg
""",
        3,
    ),
    (
        "4.3",
        "by tanh, all scores in one array",
        "right",
        """def negative_sampling(s, s_neg):
    signed = np.column_stack([-s, s_neg])
    cost = np.maximum(signed, 0) + np.log1p(np.exp(-np.abs(signed)))
    d = (1 + np.tanh(signed / 2)) / (2 * len(s))
    return cost.sum() / len(s), -d[:, 0], d[:, 1:]
""",
        None,
    ),
    (
        "4.4",
        "divided by the sum of the counts instead of the sum of the powers",
        "wrong",
        """def noise(counts, power):
    q = np.where(counts > 0, counts ** float(power), 0.0)
    return q / counts.sum()
""",
        3,
    ),
    (
        "4.4",
        "one is added to each count, so that a word that never occurs can be drawn",
        "wrong",
        """def noise(counts, power):
    q = (counts + 1.0) ** power
    return q / q.sum()
""",
        2,
    ),
    (
        "4.4",
        "the power of the paper, whatever power is asked for",
        "wrong",
        """def noise(counts, power):
    q = np.where(counts > 0, counts**0.75, 0)
    return q / q.sum()
""",
        2,
    ),
    (
        "4.4",
        "the power is taken after the normalisation, and the sum is not 1",
        "wrong",
        """def noise(counts, power):
    q = counts / counts.sum()
    return np.where(q > 0, q**power, 0)
""",
        3,
    ),
    (
        "4.4",
        "the power is applied as a factor",
        "wrong",
        """def noise(counts, power):
    q = power * np.asarray(counts, dtype=float)
    return q / q.sum()
""",
        2,
    ),
    (
        "4.4",
        "by the softmax of logarithms",
        "right",
        """def noise(counts, power):
    with np.errstate(divide="ignore"):
        logs = np.log(counts.astype(float))
    seen = np.isfinite(logs)
    q = np.zeros(len(counts))
    q[seen] = np.exp(power * (logs[seen] - logs.max()))
    return q / np.add.reduce(q)
""",
        None,
    ),
    (
        "4.5",
        "what hits the target is drawn again only once",
        "wrong",
        """def draw_negatives(p, targets, K, rng):
    V = len(p)
    out = rng.choice(V, size=(len(targets), K), p=p)
    hit = out == targets[:, None]
    out[hit] = rng.choice(V, size=hit.sum(), p=p)
    return out
""",
        5,
    ),
    (
        "4.5",
        "what hits the target becomes the next word of the vocabulary",
        "wrong",
        """def draw_negatives(p, targets, K, rng):
    V = len(p)
    out = rng.choice(V, size=(len(targets), K), p=p)
    return np.where(out == targets[:, None], (out + 1) % V, out)
""",
        4,
    ),
    (
        "4.5",
        "p is changed in place, so that earlier targets are never drawn",
        "wrong",
        """def draw_negatives(p, targets, K, rng):
    out = []
    for t in targets:
        p[t] = 0
        out.append(rng.choice(len(p), size=K, p=p / p.sum()))
    return np.array(out)
""",
        4,
    ),
    (
        "4.5",
        "the other words are drawn evenly, not in proportion to p",
        "wrong",
        """def draw_negatives(p, targets, K, rng):
    V = len(p)
    step = rng.integers(1, V, size=(len(targets), K))
    return (targets[:, None] + step) % V
""",
        3,
    ),
    (
        "4.5",
        "no word twice among the negatives of a row",
        "wrong",
        """def draw_negatives(p, targets, K, rng):
    out = np.empty((len(targets), K), int)
    for n, t in enumerate(targets):
        q = p.copy()
        q[t] = 0
        out[n] = rng.choice(len(p), size=K, p=q / q.sum(), replace=False)
    return out
""",
        6,
    ),
    (
        "4.5",
        "all rows get the same negatives, without any of the targets",
        "wrong",
        """def draw_negatives(p, targets, K, rng):
    q = p.copy()
    q[targets] = 0
    row = rng.choice(len(p), size=K, p=q / q.sum())
    return np.tile(row, (len(targets), 1))
""",
        3,
    ),
    (
        "4.5",
        "the largest of logarithms with Gumbel noise",
        "right",
        """def draw_negatives(p, targets, K, rng):
    with np.errstate(divide="ignore"):
        scores = np.log(p) + rng.gumbel(size=(len(targets), K, len(p)))
    scores[np.arange(len(targets)), :, targets] = -np.inf
    return scores.argmax(axis=2)
""",
        None,
    ),
    (
        "4.5",
        "inverse of the cumulative sum, row by row",
        "right",
        """def draw_negatives(p, targets, K, rng):
    rows = []
    for t in targets:
        rest = np.delete(np.arange(len(p)), t)
        steps = np.cumsum(p[rest])
        rows.append(rest[np.searchsorted(steps, rng.random(K) * steps[-1], side="right")])
    return np.stack(rows)
""",
        None,
    ),
    (
        "4.6",
        "the number of negatives is forgotten",
        "wrong",
        """def best_scores(counts, noise, K):
    Ni = counts.sum(axis=1, keepdims=True)
    return np.log(counts) - np.log(Ni * noise)
""",
        3,
    ),
    (
        "4.6",
        "log K is added instead of subtracted",
        "wrong",
        """def best_scores(counts, noise, K):
    given = counts / counts.sum(axis=1, keepdims=True)
    return np.log(given / noise) + np.log(K)
""",
        3,
    ),
    (
        "4.6",
        "the ratio without its logarithm",
        "wrong",
        """def best_scores(counts, noise, K):
    no = K * np.outer(counts.sum(axis=1), noise)
    return counts / no
""",
        3,
    ),
    (
        "4.6",
        "the probability of yes, not the score",
        "wrong",
        """def best_scores(counts, noise, K):
    no = K * counts.sum(axis=1, keepdims=True) * noise
    return counts / (counts + no)
""",
        3,
    ),
    (
        "4.6",
        "the noise belongs to the centres, along the rows",
        "wrong",
        """def best_scores(counts, noise, K):
    no = K * counts.sum(axis=1, keepdims=True) * noise[:, None]
    return np.log(counts / no)
""",
        2,
    ),
    (
        "4.6",
        "the sums of the columns are taken for those of the centres",
        "wrong",
        """def best_scores(counts, noise, K):
    return np.log(counts / (K * counts.sum(axis=0) * noise))
""",
        2,
    ),
    (
        "4.6",
        "the logit of the share of yes, entry by entry",
        "right",
        """def best_scores(counts, noise, K):
    s = np.empty(counts.shape)
    for i, row in enumerate(counts):
        for j, yes in enumerate(row):
            share = yes / (yes + K * sum(row) * noise[j])
            s[i, j] = np.log(share) - np.log1p(-share)
    return s
""",
        None,
    ),
    (
        "4.7",
        "the reach of the context word decides, not that of the centre",
        "wrong",
        """def pairs(ids, reaches):
    n = len(ids)
    return [(ids[t], ids[u]) for t in range(n) for u in range(n) if 0 < abs(t - u) <= reaches[u]]
""",
        3,
    ),
    (
        "4.7",
        "places in the text instead of words",
        "wrong",
        """def pairs(ids, reaches):
    n = len(ids)
    return [(t, u) for t in range(n) for u in range(n) if 0 < abs(t - u) <= reaches[t]]
""",
        3,
    ),
    (
        "4.7",
        "pairs that occur twice are listed once",
        "wrong",
        """def pairs(ids, reaches):
    found = set()
    for t, reach in enumerate(reaches):
        for u in range(max(0, t - reach), min(len(ids), t + reach + 1)):
            if u != t:
                found.add((ids[t], ids[u]))
    return sorted(found)
""",
        2,
    ),
    (
        "4.7",
        "the farthest word to the right is missing",
        "wrong",
        """def pairs(ids, reaches):
    found = []
    for t, reach in enumerate(reaches):
        for u in range(max(0, t - reach), min(len(ids), t + reach)):
            if u != t:
                found.append((ids[t], ids[u]))
    return found
""",
        4,
    ),
    (
        "4.7",
        "context word first, centre second",
        "wrong",
        """def pairs(ids, reaches):
    found = []
    for t, reach in enumerate(reaches):
        for u in range(max(0, t - reach), min(len(ids), t + reach + 1)):
            if u != t:
                found.append((ids[u], ids[t]))
    return found
""",
        6,
    ),
    (
        "4.7",
        "from the table of all distances",
        "right",
        """def pairs(ids, reaches):
    ids, place = np.asarray(ids), np.arange(len(ids))
    gap = np.abs(place[:, None] - place)
    t, u = np.nonzero((gap > 0) & (gap <= np.asarray(reaches)[:, None]))
    return np.stack([ids[t], ids[u]], axis=1)
""",
        None,
    ),
    (
        "4.7",
        "a generator of distances",
        "right",
        """def pairs(ids, reaches):
    def walk():
        for t in range(len(ids)):
            for k in range(1, reaches[t] + 1):
                if k <= t:
                    yield ids[t], ids[t - k]
                if t + k < len(ids):
                    yield ids[t], ids[t + k]

    return list(walk())
""",
        None,
    ),
    (
        "4.8",
        "the price of the pair itself is counted too",
        "wrong",
        """def least(K):
    return (K + 1) * np.log(2)
""",
        2,
    ),
    (
        "4.8",
        "one negative only",
        "wrong",
        """def least(K):
    return np.log(2)
""",
        2,
    ),
    (
        "4.8",
        "what the best scores of any model cost, -log K each",
        "wrong",
        """def least(K):
    return K * np.logaddexp(0, -np.log(K))
""",
        2,
    ),
    (
        "4.8",
        "in bits",
        "wrong",
        """def least(K):
    return float(K)
""",
        2,
    ),
    (
        "4.8",
        "a choice among K instead of K choices",
        "wrong",
        """def least(K):
    return np.log(K)
""",
        2,
    ),
    (
        "4.8",
        "a sum of softplus at zero",
        "right",
        """def least(K):
    return sum(np.logaddexp(0, 0) for _ in range(K))
""",
        None,
    ),
    (
        "4.9",
        "the matrix of scores is taken for L",
        "wrong",
        """my_L = np.array([[-1.0, 2.0], [2.0, -1.0]])
""",
        1,
    ),
    (
        "4.9",
        "minus the unit matrix, the other two scores are 0",
        "wrong",
        """my_L = -np.eye(2)
""",
        1,
    ),
    (
        "4.9",
        "the diagonal is 0, not negative",
        "wrong",
        """my_L = np.diag([1.0, -1.0])
""",
        1,
    ),
    (
        "4.9",
        "the two axes are exchanged, each word expects itself",
        "wrong",
        """my_L = np.array([[2, 0], [0, -1]])
""",
        1,
    ),
    (
        "4.9",
        "solved from the scores that are wanted, not symmetric",
        "right",
        """E = np.array([[1.0, 1.0], [1.0, -1.0]])
my_L = np.linalg.inv(E) @ np.array([[-1.0, 3.0], [1.0, -2.0]]) @ np.linalg.inv(E.T)
""",
        None,
    ),
    (
        "4.9",
        "a list of lists of integers",
        "right",
        """my_L = [[1, 0], [0, -3]]
""",
        None,
    ),
    (
        "4.1",
        "the rows are of the type of the ids, fractions are cut off",
        "wrong",
        """def rows_of_gradient(ids, dy):
    found, inverse = np.unique(ids, return_inverse=True)
    rows = np.zeros((len(found), dy.shape[1]), dtype=ids.dtype)
    for k, d in zip(inverse, dy):
        rows[k] += d.astype(ids.dtype)
    return found, rows
""",
        3,
    ),
    (
        "4.5",
        "drawn from the lesson's vocabulary, not from the words of p",
        "wrong",
        """def draw_negatives(p, targets, K, rng):
    out = rng.choice(V, size=(len(targets), K))
    while (hit := out == targets[:, None]).any():
        out[hit] = rng.choice(V, size=hit.sum())
    return out
""",
        2,
    ),
    (
        "4.8",
        "the number that holds for five negatives",
        "wrong",
        """def least(K):
    return 5 * np.log(2)
""",
        2,
    ),
]
