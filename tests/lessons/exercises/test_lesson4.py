"""Lesson 4: right answers in several styles, the typical wrong ones, and what each is told."""

import numpy as np

from tests.lessons.exercises.tools import solution_of

# --- Right answers, each in another style -----------------------------------------------------


def rows_by_dict(ids, dy):
    sums = {}
    for k, row in zip(ids, dy, strict=True):
        sums[k] = sums.get(k, 0) + row
    return list(sums), np.array(list(sums.values()))  # in the order of first occurrence


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
    weights = [count**power for count in counts]
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


RIGHT = [
    ("4.1", rows_by_dict),
    ("4.1", rows_by_sorting),
    ("4.2", LoopingDot),
    ("4.2", EinsumDot),
    ("4.3", loss_by_joining),
    ("4.3", loss_by_loop),
    ("4.4", noise_by_loop),
    ("4.4", noise_by_logs),
    ("4.5", drawn_row_by_row),
    ("4.5", drawn_again),
    ("4.6", best_by_loop),
    ("4.6", best_by_logit),
    ("4.7", pairs_by_distance),
    ("4.7", pairs_by_matrix),
    ("4.8", lambda K: np.logaddexp(0, np.zeros(K)).sum()),
    ("4.8", lambda negatives: -negatives * np.log(0.5)),
    ("4.9", [[0, 0], [0, -1]]),
    ("4.9", np.diag([1.0, -3.0])),
]


# --- Wrong answers ----------------------------------------------------------------------------


def rows(combine):
    return lambda ids, dy: (np.unique(ids), [combine(dy[ids == k]) for k in np.unique(ids)])


def sigma(x):
    return 1 / (1 + np.exp(-x))


def losses(s, s_neg):
    return np.logaddexp(0, -s).sum(), np.logaddexp(0, s_neg).sum()


def with_loss(loss):
    """The right gradients, and a loss made of the sums over targets and negatives."""

    def answer(s, s_neg):
        N, K = s_neg.shape
        yes, no = losses(s, s_neg)
        return loss(yes, no, N, K), (sigma(s) - 1) / N, sigma(s_neg) / N

    return answer


def best(ratio):
    return lambda counts, noise, K: np.log(ratio(counts, noise, K))


def with_gradients(ds, ds_neg):
    def answer(s, s_neg):
        yes, no = losses(s, s_neg)
        return (yes + no) / len(s), ds(s, len(s)), ds_neg(s_neg, len(s))

    return answer


def naive(s, s_neg):
    loss = -(np.log(sigma(s)).sum() + np.log(sigma(-s_neg)).sum()) / len(s)
    return loss, (sigma(s) - 1) / len(s), sigma(s_neg) / len(s)


def negatives_as_targets(s, s_neg):
    loss = (np.logaddexp(0, -s).sum() + np.logaddexp(0, -s_neg).sum()) / len(s)
    return loss, (sigma(s) - 1) / len(s), (sigma(s_neg) - 1) / len(s)


def right_ds(s, N):
    return (sigma(s) - 1) / N


def right_ds_neg(s, N):
    return sigma(s) / N


def shifted(p, targets, K, rng):
    z = rng.choice(len(p), size=(len(targets), K), p=p)
    return np.where(z == targets[:, None], (z + 1) % 4, z)


def uniform_others(p, targets, K, rng):
    return (targets[:, None] + rng.integers(1, 4, size=(len(targets), K))) % 4


def one_for_a_row(p, targets, K, rng):
    return np.repeat(drawn_again(p, targets, 1, rng), K, axis=1)


def within(allowed):
    def answer(ids, reaches):
        n = range(len(ids))
        return [(ids[i], ids[j]) for i in n for j in n if allowed(i, j, reaches)]

    return answer


def conditional(counts):
    return counts / counts.sum(axis=1, keepdims=True)


WRONG = [
        ("4.1", lambda ids, dy: (ids, dy), "ids not merged"),
        ("4.1", lambda ids, dy: ([0, 1], dy[:2]), "wrong ids"),
        ("4.1", lambda ids, dy: (dy[:3], np.unique(ids)), "rows before ids"),
        ("4.4", lambda counts, power: counts**0.75 / np.sum(counts**0.75), "power not used"),
        ("4.6", best(lambda C, q, K: C * K / (C.sum(1, keepdims=True) * q)), "K in the numerator"),
        ("4.6", best(lambda C, q, K: C / (K * C.sum(axis=0) * q)), "sums of the columns"),
        ("4.6", best(lambda C, q, K: C / (K * C.sum(axis=1) * q)), "sums along the wrong axis"),
        ("4.6", lambda *got: np.maximum(solution_of("4.6")(*got), 0), "negative values cut off"),
        ("4.7", lambda *given: list(set(solution_of("4.7")(*given))), "pairs counted once"),
        (
            "4.7",
            lambda ids, reaches: solution_of("4.7")(np.arange(len(ids)), reaches),
            "places instead of words",
        ),
        ("4.8", lambda K: K * np.log(1 + 1 / K), "best score of untied words"),
        ("4.1", lambda ids, dy: ("one two four", dy[:3]), "wrong type"),
        ("4.1", rows(lambda found: found[-1]), "last one only"),
        ("4.1", rows(lambda found: found[0]), "first one only"),
        ("4.1", rows(lambda found: found.mean(axis=0)), "averaged"),
        ("4.1", lambda ids, dy: dy, "wrong type"),
        ("4.3", with_loss(lambda yes, no, N, K: yes + no), "loss not averaged"),
        ("4.3", with_loss(lambda yes, no, N, K: (yes + no / K) / N), "mean over the negatives"),
        ("4.3", with_loss(lambda yes, no, N, K: yes / N), "target alone"),
        ("4.3", with_loss(lambda yes, no, N, K: -(yes + no) / N), "sign"),
        ("4.3", with_loss(lambda yes, no, N, K: (yes + no) / (N + N * K)), "mean over all scores"),
        ("4.3", negatives_as_targets, "negatives taken as targets"),
        ("4.3", naive, "not a number"),
        ("4.3", lambda s, s_neg: naive(s, s_neg)[0], "wrong type"),
        ("4.3", with_gradients(lambda s, N: sigma(s) / N, right_ds_neg), "label of ds"),
        ("4.3", with_gradients(lambda s, N: sigma(s) - 1, right_ds_neg), "loss not averaged"),
        ("4.3", with_gradients(lambda s, N: (1 - sigma(s)) / N, right_ds_neg), "sign"),
        ("4.3", with_gradients(right_ds, lambda s, N: (sigma(s) - 1) / N), "label of ds_neg"),
        ("4.3", with_gradients(right_ds, lambda s, N: sigma(s) / s.size),
         "mean over the negatives"),
        ("4.4", lambda n, a: n / n.sum(), "power forgotten"),
        ("4.4", lambda n, a: n**a, "not normalised"),
        ("4.4", lambda n, a: (n / n.sum()) ** a, "normalised before the power"),
        ("4.4", lambda n, a: np.ones(len(n)) / len(n), "every word alike"),
        ("4.4", lambda n, a: (n + 1) ** a / np.sum((n + 1) ** a), "one added to the counts"),
        ("4.5", lambda p, t, K, rng: rng.choice(len(p), size=(len(t), K), p=p),
         "target among the negatives"),
        ("4.5", lambda p, t, K, rng: drawn_again(p, t, K, rng)[:, 0], "wrong shape"),
        ("4.5", lambda p, t, K, rng: np.full((len(t), K), 4), "not from the noise"),
        ("4.5", lambda p, t, K, rng: np.full((len(t), K), 0.5), "wrong type"),
        ("4.5", shifted, "wrong shares"),
        ("4.5", uniform_others, "uniform"),
        ("4.5", one_for_a_row, "one word for a row"),
        ("4.6", lambda n, q, K: np.log(conditional(n) / q), "K forgotten"),
        ("4.6", lambda n, q, K: np.log(conditional(n)), "noise forgotten"),
        ("4.6", lambda n, q, K: np.log(conditional(n) / K), "noise forgotten, K there"),
        ("4.6", lambda n, q, K: conditional(n) / (conditional(n) + K * q),
         "the probability instead of the score"),
        ("4.6", lambda n, q, K: np.log(n / n.sum() / (K * q)), "joint instead of conditional"),
        ("4.6", lambda n, q, K: np.log(n / (K * q)), "counts of the centre forgotten"),
        ("4.6", lambda n, q, K: conditional(n) / (K * q), "the ratio instead of its logarithm"),
        ("4.6", lambda n, q, K: np.log(conditional(n) / (K * q[:, None])), "noise of the centre"),
        ("4.6", lambda n, q, K: -best_by_loop(n, q, K), "sign"),
        ("4.7", within(lambda i, j, r: 0 < abs(i - j) <= r[j]), "reach of the context word"),
        ("4.7", within(lambda i, j, r: 0 < j - i <= r[i]), "one side of the window"),
        ("4.7", within(lambda i, j, r: 0 < i - j <= r[i]), "one side of the window, the left one"),
        ("4.7", within(lambda i, j, r: 0 < abs(i - j) <= max(r)), "widest reach for all"),
        ("4.7", within(lambda i, j, r: 0 < abs(i - j) < r[i]), "farthest word left out"),
        ("4.7", within(lambda i, j, r: 0 < abs(i - j) <= r[i] <= i < len(r) - r[i]),
         "complete windows only"),
        ("4.7", within(lambda i, j, r: abs(i - j) <= r[i]), "centre in its own context"),
        ("4.7", within(lambda i, j, r: 0 < abs(i - j) <= r[i] - 2), "wrong pairs"),
        ("4.7", lambda ids, r: 7, "wrong type"),
        ("4.7", lambda ids, r: ids, "wrong type"),
        ("4.8", lambda K: 0.0, "no bound"),
        ("4.8", lambda K: np.log(2), "one negative"),
        ("4.8", lambda K: (1 + K) * np.log(2), "the target as well"),
        ("4.8", lambda K: K, "base of the logarithm"),
        ("4.8", lambda K: 2.0**-K, "a probability"),
        ("4.8", lambda K: -K * np.log(2), "sign"),
        ("4.9", np.eye(2), "words expect themselves"),
        ("4.9", -np.eye(2), "words do not expect each other"),
        ("4.9", [[0, 1], [1, 0]], "only half of it"),
        ("4.9", np.diag([-1.0, 0.0]), "words do not expect each other"),
        ("4.9", [[0, 0], [0, 1]], "words expect themselves"),
        ("4.9", [1, -1], "wrong shape"),
        ("4.9", "minus one", "wrong type"),
]  # fmt: skip


# --- EmbeddingDot -----------------------------------------------------------------------------


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


LAYERS = [
    ({"forward": lambda self, h, ids: None}, "empty"),
    ({"forward": keeping(lambda self, h, ids: h[:, None] * self.W[ids])}, "not summed over D"),
    (
        {"forward": keeping(lambda self, h, ids: np.einsum("nd,mkd->nmk", h, self.W[ids]))},
        "every row with every id",
    ),
    ({"forward": keeping(lambda self, h, ids: h @ self.W.T)}, "scores of the whole vocabulary"),
    ({"backward": lambda self, ds: None}, "empty"),
    (
        {"backward": backward(lambda *a: None, lambda self, ds, each: scattered(self, each))},
        "dh missing",
    ),
    ({"backward": backward(right_dh, lambda *a: None)}, "dW missing"),
    (
        {
            "backward": backward(
                lambda self, ds, each: ds[:, :, None] * self.W[self.ids],
                lambda self, ds, each: scattered(self, each),
            )
        },
        "not summed over K",
    ),
    (
        {
            "backward": backward(
                lambda self, ds, each: each.sum(axis=1),
                lambda self, ds, each: scattered(self, each),
            )
        },
        "the other factor",
    ),
    ({"backward": backward(right_dh, overwritten)}, "repeated ids overwritten"),
    ({"backward": backward(right_dh, lambda self, ds, each: each)}, "rows of dW, not dW"),
    (
        {
            "backward": backward(
                right_dh, lambda self, ds, each: scattered(self, each / ds[:, :, None])
            )
        },
        "ds forgotten",
    ),
]
WRONG += [("4.2", type("Mine", (solution_of("4.2"),), m), told) for m, told in LAYERS]


WRONG += [
    ("4.1", rows(lambda found: found.max(axis=0)), "largest instead of the sum"),
    ("4.1", rows(lambda found: found.sum()), "summed over the columns"),
    ("4.2", type("Mine", (solution_of("4.2"),), {"backward": backward(
        lambda self, ds, each: self.W[self.ids].sum(axis=1),
        lambda self, ds, each: scattered(self, each),
    )}), "ds not used"),
    ("4.3", lambda s, s_neg: loss_by_joining(s, s_neg)[::2] + loss_by_joining(s, s_neg)[1:2],
     "gradients in another order"),
    ("4.3", with_loss(lambda yes, no, N, K: (yes + no) / N / np.log(2)), "base of the logarithm"),
    ("4.4", lambda n, a: n ** (1 / a) / np.sum(n ** (1 / a)), "root instead of the power"),
    ("4.4", lambda n, a: a * n / n.sum(), "power multiplied"),
    ("4.6", lambda n, q, K: best_by_loop(n, q, K) + np.log(K) - K, "K taken off"),
    ("4.7", within(lambda i, j, r: 0 < abs(i - j) <= min(r)), "narrowest reach for all"),
    ("4.7", within(lambda i, j, r: abs(i - j) == r[i]), "farthest words only"),
    ("4.8", lambda K: np.log(1 + K), "softplus of the number"),
    ("4.8", np.log(2), "wrong type"),
]  # fmt: skip
