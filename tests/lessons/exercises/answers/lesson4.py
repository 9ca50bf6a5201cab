"""Answers to the exercises of lesson 4 that need several lines, and what several share."""

import numpy as np


def rows_by_dict(ids, dy):
    sums = {}
    for k, row in zip(ids, dy, strict=True):
        sums[k] = sums.get(k, 0) + row
    return list(sums), np.array(list(sums.values()))  # in the order of first occurrence


def rows_by_table(ids, dy):
    table = np.zeros((max(ids) + 1, dy.shape[1]))
    np.add.at(table, ids, dy)
    return np.unique(ids), table[np.unique(ids)]


def rows_by_sorting(words, grad):
    order = np.argsort(words, kind="stable")
    kept, starts = np.unique(words[order], return_index=True)
    return kept, np.add.reduceat(grad[order], starts, axis=0)


class LoopingDot:
    """Loops over rows and words."""

    def __init__(self, weight):
        self.weight = weight

    def forward(self, x, words):
        self.kept = x, words
        return np.array([[x[n] @ self.weight[k] for k in row] for n, row in enumerate(words)])

    def backward(self, grad):
        x, words = self.kept
        dx, self.dW = np.zeros_like(x), np.zeros_like(self.weight)
        for n, row in enumerate(words):
            for k, word in enumerate(row):
                dx[n] += grad[n, k] * self.weight[word]
                self.dW[word] += grad[n, k] * x[n]
        return dx


class EinsumDot:
    def __init__(self, W):
        self.W = W

    def forward(self, h, ids):
        self.h, self.onehot = h, np.eye(len(self.W))[ids]
        return np.einsum("nd,nkv,vd->nk", h, self.onehot, self.W)

    def backward(self, ds):
        self.dW = np.einsum("nk,nkv,nd->vd", ds, self.onehot, self.h)
        return np.einsum("nk,nkv,vd->nd", ds, self.onehot, self.W)


def loss_by_joining(s, s_neg):
    scores = np.concatenate([s[:, None], s_neg], axis=1)
    labels = np.zeros(scores.shape)
    labels[:, 0] = 1
    loss = np.logaddexp(0, np.where(labels, -scores, scores)).sum(axis=1).mean()
    ds = (0.5 * (1 + np.tanh(scores / 2)) - labels) / len(s)
    return loss, ds[:, 0], ds[:, 1:]


def loss_by_loop(pos, neg):
    def log1pexp(x):
        return max(x, 0.0) + np.log1p(np.exp(-abs(x)))

    def sigma(x):
        return np.exp(-log1pexp(-x))

    N = len(pos)
    total, ds, ds_neg = 0.0, np.zeros(N), np.zeros(neg.shape)
    for n in range(N):
        total += log1pexp(-pos[n])
        ds[n] = (sigma(pos[n]) - 1) / N
        for k, x in enumerate(neg[n]):
            total += log1pexp(x)
            ds_neg[n, k] = sigma(x) / N
    return [total / N, ds, ds_neg]


def noise_by_loop(counts, power):
    weights = [count**power if count else 0.0 for count in counts]
    return [weight / sum(weights) for weight in weights]


def noise_by_logs(n, a):
    with np.errstate(divide="ignore"):
        weights = np.exp(a * np.log(n))
    return weights / np.sum(weights)


def drawn_row_by_row(p, targets, K, rng):
    out = []
    for t in targets:
        q = np.where(np.arange(len(p)) == t, 0, p)
        out.append(rng.choice(len(p), size=K, p=q / q.sum()))
    return np.array(out)


def drawn_again(p, targets, K, rng):
    z = rng.choice(len(p), size=(len(targets), K), p=p)
    while (hit := z == targets[:, None]).any():
        z[hit] = rng.choice(len(p), size=int(hit.sum()), p=p)
    return z


def best_by_loop(counts, noise, K):
    s = np.zeros(counts.shape)
    for i, row in enumerate(counts):
        for j, n in enumerate(row):
            s[i, j] = np.log(n) - np.log(sum(row)) - np.log(K) - np.log(noise[j])
    return s


def best_by_logit(counts, noise, K):
    yes, no = counts, K * counts.sum(axis=1, keepdims=True) * noise
    p = yes / (yes + no)
    return np.log(p / (1 - p))


def pairs_by_distance(text, reach):
    found = []
    for d in range(1, max(reach) + 1):
        centres = np.arange(len(text))
        for sign in (-d, d):
            inside = (centres + sign >= 0) & (centres + sign < len(text)) & (reach >= d)
            found += [[text[i], text[i + sign]] for i in centres[inside]]
    return np.array(found)


def pairs_by_matrix(ids, reaches):
    distance = np.abs(np.subtract.outer(np.arange(len(ids)), np.arange(len(ids))))
    i, j = np.nonzero((distance <= reaches[:, None]) & (distance > 0))
    return np.stack([ids[i], ids[j]], axis=1)


def rows(combine):
    return lambda ids, dy: (np.unique(ids), [combine(dy[ids == k]) for k in np.unique(ids)])


def sigma(x):
    return 1 / (1 + np.exp(-x))


def losses(s, s_neg):
    return np.logaddexp(0, -s).sum(), np.logaddexp(0, s_neg).sum()


def negative_sampling(
    loss=lambda yes, no, N, K: (yes + no) / N,
    ds=lambda s, N: (sigma(s) - 1) / N,
    ds_neg=lambda s_neg, N: sigma(s_neg) / N,
    losses=losses,
):
    """The solution of 4.3 with a mistake in it."""

    def answer(s, s_neg):
        N, K = s_neg.shape
        return loss(*losses(s, s_neg), N, K), ds(s, N), ds_neg(s_neg, N)

    return answer


def best(ratio):
    return lambda counts, noise, K: np.log(ratio(counts, noise, K))


def shifted(p, targets, K, rng):
    z = rng.choice(len(p), size=(len(targets), K), p=p)
    return np.where(z == targets[:, None], (z + 1) % 4, z)


def within(allowed):
    def answer(ids, reaches):
        n = range(len(ids))
        return [(ids[i], ids[j]) for i in n for j in n if allowed(i, j, reaches)]

    return answer


def conditional(counts):
    return counts / counts.sum(axis=1, keepdims=True)


def scattered(self, each):
    total = np.zeros_like(self.W)
    np.add.at(total, self.ids, each)
    return total


def keeping(scores):
    def forward(self, h, ids):
        self.h, self.ids = h, ids
        return scores(self, h, ids)

    return forward


def backward(dh, dW):
    def run(self, ds):
        each = ds[:, :, None] * self.h[:, None]  # (N, K, D)
        self.dW = dW(self, ds, each)
        return dh(self, ds, each)

    return run


def right_dh(self, ds, each):
    return np.einsum("nk,nkd->nd", ds, self.W[self.ids])


def overwritten(self, ds, each):
    dW = np.zeros_like(self.W)
    dW[self.ids] += each
    return dW
