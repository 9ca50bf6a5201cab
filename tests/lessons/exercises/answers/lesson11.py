"""Answers to the exercises of lesson 11 that need several lines, and what several share."""

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np


def pairs_by_index(words):
    times = defaultdict(int)
    for word in words:
        for k in range(len(word) - 1):
            times[word[k], word[k + 1]] += words[word]
    return max(times, key=times.get)


def pairs_by_sorting(words):
    every = [(a, b) for w, n in words.items() for a, b in pairwise(w) for _ in range(n)]
    return sorted(set(every), key=every.count)[-1]


def unweighed(words):
    every = [pair for w in words for pair in pairwise(w)]
    return max(every, key=every.count)


def rarest(words):
    every = [pair for w, n in words.items() for pair in list(pairwise(w)) * n]
    return min(every, key=every.count)


def unordered(words):
    every = [tuple(sorted(pair)) for w, n in words.items() for pair in list(pairwise(w)) * n]
    return max(every, key=every.count)


def two_tokens(words):
    every = [token for w, n in words.items() for token in w * n]
    return tuple(sorted(set(every), key=lambda token: (-every.count(token), every.index(token))))[
        :2
    ]


def join_by_recursion(word, pair):
    if len(word) < 2:
        return [*word]
    if (word[0], word[1]) == pair:
        return [pair[0] + pair[1], *join_by_recursion(word[2:], pair)]
    return [word[0], *join_by_recursion(word[1:], pair)]


def join_by_popping(word, pair):
    rest, out = list(word), []
    while rest:
        token = rest.pop(0)
        if token == pair[0] and rest and rest[0] == pair[1]:
            token += rest.pop(0)
        out.append(token)
    return out


def join_from_the_right(word, pair):
    out, k = [], len(word) - 1
    while k >= 0:
        if k > 0 and (word[k - 1], word[k]) == pair:
            out.insert(0, pair[0] + pair[1])
            k -= 2
        else:
            out.insert(0, word[k])
            k -= 1
    return out


def join_the_first(word, pair):
    for k in range(len(word) - 1):
        if (word[k], word[k + 1]) == pair:
            return [*word[:k], pair[0] + pair[1], *word[k + 2 :]]
    return list(word)


def join_without_the_last(word, pair):
    out, k = [], 0
    while k < len(word) - 1:
        both = (word[k], word[k + 1]) == pair
        out.append(pair[0] + pair[1] if both else word[k])
        k += 1 + both
    return out


def join_in_place(word, pair):
    k = 0
    while k < len(word) - 1:
        if (word[k], word[k + 1]) == pair:
            word[k : k + 2] = [pair[0] + pair[1]]
        k += 1
    return word


def wave(step, peak, warmup, total, low):
    if step <= warmup:
        return step / warmup * peak
    angle = math.pi * (step - warmup) / (total - warmup)
    return 0.5 * (peak + low) + 0.5 * (peak - low) * math.cos(angle)


def rates_by_numpy(step, peak, warmup, total, low):
    part = np.clip((step - warmup) / (total - warmup), 0, 1)
    return np.where(
        step < warmup, peak * step / warmup, low + (peak - low) * np.cos(part * np.pi / 2) ** 2
    )


def adam(
    w, g, m, v, t, lr, b1, b2, decay, *, of_g=None, shrink=True, root=np.sqrt, correct=1, sign=1
):
    g = g if of_g is None else of_g(g, w, decay)
    m = m + (1 - b1) * (g - m)
    v = v + (1 - b2) * (g * g - v)
    by = [1 - b**t if correct else 1.0 for b in (b1, b2)]
    if correct == "one":
        by = [1 - b1, 1 - b2]
    new = w - sign * lr * (m / by[0]) / (root(v / by[1]) + 1e-8)
    return new - (lr * decay * w if shrink else 0), m, v


def adam_in_steps(w, g, m, v, t, lr, b1, b2, decay):
    m, v = np.copy(m), np.copy(v)
    m *= b1
    m += (1 - b1) * g
    v *= b2
    v += (1 - b2) * np.square(g)
    rate = lr * np.sqrt(1 - b2**t) / (1 - b1**t)
    eps = 1e-8 * np.sqrt(1 - b2**t)
    return w * (1 - lr * decay) - rate * m / (np.sqrt(v) + eps), m, v


def shares(e):
    e = np.exp(e - np.max(e))
    return e / e.sum()


class Kept:
    """Arrays that grow, with a method for each choice."""

    def __init__(self):
        self.K = self.V = None

    def keep(self, k, v):
        self.K = k[None] if self.K is None else np.vstack([self.K, k])
        self.V = v[None] if self.V is None else np.vstack([self.V, v])

    def score(self, q):
        return self.K @ q / q.size**0.5

    def step(self, q, k, v):
        self.keep(k, v)
        return shares(self.score(q)) @ self.V


class KeptPairs:
    def __init__(self):
        self.past = []

    def step(self, q, k, v):
        self.past = [*self.past, (k, v)]
        weights = shares(np.array([float(q @ key) / math.sqrt(len(q)) for key, _ in self.past]))
        return sum(weight * value for weight, (_, value) in zip(weights, self.past))


class Shared:
    """The lists belong to the class."""

    keys, values = [], []

    def step(self, q, k, v):
        self.keys.append(k)
        self.values.append(v)
        return shares(np.array(self.keys) @ q / 2) @ np.array(self.values)


def late(self, q, k, v):
    """Looks before it keeps."""
    o = v if self.K is None else shares(self.score(q)) @ self.V
    self.keep(k, v)
    return o


def key_too_late(self, q, k, v):
    """Keeps the value, looks, and keeps the key."""
    values = v[None] if self.V is None else np.vstack([self.V, v])
    o = v if self.K is None else shares(self.score(q)) @ values[1:]
    self.keep(k, v)
    return o


def unshifted(self, q, k, v):
    self.keep(k, v)
    e = np.exp(self.score(q))
    return e / e.sum() @ self.V


class Recomputed:
    """The whole table of scores at every step."""

    def __init__(self):
        self.q, self.k, self.v = [], [], []

    def step(self, q, k, v):
        for kept, new in zip((self.q, self.k, self.v), (q, k, v)):
            kept.append(new)
        e = np.array(self.q) @ np.array(self.k).T / q.size**0.5
        e = np.where(np.tri(len(e), dtype=bool), e, -np.inf)
        e = np.exp(e - e.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True) @ np.array(self.v))[-1]


def predict_by_loop(ids, k):
    p = []
    for t in range(len(ids)):
        after = [int(ids[s + 1]) for s in range(t) if ids[s] == ids[t]]
        p.append([(1 + after.count(j)) / (k + len(after)) for j in range(k)])
    return p


def predict_by_table(ids, k):
    x = np.eye(k)[ids]
    seen = np.cumsum(np.einsum("ti,tj->tij", x[:-1], x[1:]), axis=0)
    seen = np.concatenate([np.zeros((1, k, k)), seen])
    counts = 1 + seen[np.arange(len(ids)), ids]
    return counts / counts.sum(axis=1, keepdims=True)


def predict_with(ids, k, before=1.0, last=0, start=0, turned=False):
    p = []
    for t in range(len(ids)):
        pairs = [
            (int(ids[s]), int(ids[s + 1])) for s in range(max(0, t + last)) if s + 1 < len(ids)
        ]
        pairs = [pair[::-1] for pair in pairs] if turned else pairs
        after = [b for a, b in pairs if a == ids[t]]
        n = np.array([before + after.count(j) for j in range(k)])
        p.append(n / n.sum() if n.sum() else np.full(k, np.nan))
    return np.array(p)


def predict_unigram(ids, k):
    n = np.cumsum(np.eye(k)[ids], axis=0) + 1
    return n / n.sum(axis=1, keepdims=True)
