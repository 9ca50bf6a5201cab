"""Answers to the exercises of lesson 9 that need several lines, and what several share."""

import math

import numpy as np

from deepnlp.backend.functions import softmax
from deepnlp.layers import DotAttention
from tests.lessons.exercises.tools import changed


def exp_sum(e, axis=-1):
    e = np.exp(e - e.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def weights_by_loop(query, memory, lengths):
    a = np.zeros((*query.shape[:2], memory.shape[1]))
    for n, L in enumerate(lengths):
        for t, q in enumerate(query[n]):
            e = [q @ m for m in memory[n, :L]]
            e = np.exp(np.array(e) - max(e))
            a[n, t, :L] = e / e.sum()
    return a


def weights_by_large_negative(q, m, lengths):
    e = np.einsum("nth,nsh->nts", q, m)
    e += np.where(np.arange(m.shape[1]) < lengths[:, None], 0, -1e9)[:, None, :]
    return exp_sum(e)


def context_by_loop(a, memory):
    N, T, S = a.shape
    c = np.zeros((N, T, memory.shape[2]))
    for n in range(N):
        for t in range(T):
            for s in range(S):
                c[n, t] += a[n, t, s] * memory[n, s]
    return c


def softmax_by_jacobian(a, da):
    de = np.empty_like(a)
    for n in range(a.shape[0]):
        for t in range(a.shape[1]):
            p = a[n, t]
            de[n, t] = (np.diag(p) - np.outer(p, p)) @ da[n, t]
    return de


def softmax_in_two_terms(p, grad):
    product = p * grad
    return product - p * np.einsum("nts->nt", product)[..., None]


class EinsumAttention:
    def forward(self, q, m, lengths):
        self.q, self.m = q, m
        self.a = weights_by_large_negative(q, m, lengths)
        return np.einsum("nts,nsh->nth", self.a, m)

    def backward(self, dc):
        da = np.einsum("nth,nsh->nts", dc, self.m)
        de = softmax_in_two_terms(self.a, da)
        dm = np.einsum("nts,nth->nsh", self.a, dc) + np.einsum("nts,nth->nsh", de, self.q)
        return np.einsum("nts,nsh->nth", de, self.m), dm


class LoopingAttention:
    """Goes by sequence and by step, over the places that count."""

    def forward(self, query, memory, lengths):
        self.kept = query, memory, lengths
        self.weights = weights_by_loop(query, memory, lengths)
        return context_by_loop(self.weights, memory)

    def backward(self, grad):
        query, memory, lengths = self.kept
        dq, dm = np.zeros(query.shape), np.zeros(memory.shape)
        for n, L in enumerate(lengths):
            for t in range(query.shape[1]):
                a = self.weights[n, t, :L]
                da = np.array([grad[n, t] @ memory[n, s] for s in range(L)])
                mean = sum(a * da)
                for s in range(L):
                    de = a[s] * (da[s] - mean)
                    dq[n, t] += de * memory[n, s]
                    dm[n, s] += de * query[n, t] + a[s] * grad[n, t]
        return [dq, dm]


class TwoMatrices:
    """Luong's step with one matrix for each half."""

    def __init__(self, W):
        self.W = W

    def forward(self, h, memory, lengths):
        H = memory.shape[2]
        self.attention = EinsumAttention()
        self.h, self.c = h, self.attention.forward(h, memory, lengths)
        self.y = np.tanh(self.c @ self.W[:H] + h @ self.W[H:])
        return self.y

    def backward(self, dy):
        da, H = dy * (1 - self.y**2), self.c.shape[2]
        self.dW = np.concatenate(
            [np.einsum("nth,ntm->hm", self.c, da), np.einsum("nth,ntm->hm", self.h, da)]
        )
        dquery, dmemory = self.attention.backward(da @ self.W[:H].T)
        return dquery + da @ self.W[H:].T, dmemory


class LoopingStep:
    """Luong's arrangement, a step at a time."""

    def __init__(self, weight):
        self.weight = weight
        self.dW = np.zeros_like(weight)

    def forward(self, h, memory, lengths):
        self.att = LoopingAttention()
        both = np.concatenate([self.att.forward(h, memory, lengths), h], axis=-1)
        self.both = both
        self.y = np.stack([np.tanh(both[:, t] @ self.weight) for t in range(h.shape[1])], axis=1)
        return self.y

    def backward(self, dy):
        N, T, _ = dy.shape
        C = self.both.shape[2] - self.att.kept[0].shape[2]
        dboth, self.dW = np.zeros_like(self.both), np.zeros_like(self.weight)
        for n in range(N):
            for t in range(T):
                da = dy[n, t] / np.cosh(np.arctanh(self.y[n, t])) ** 2
                self.dW += np.outer(self.both[n, t], da)
                dboth[n, t] = self.weight @ da
        dq, dm = self.att.backward(dboth[..., :C])
        return dboth[..., C:] + dq, dm


def reverse_by_loop(x, lengths):
    y = x.copy()
    for n, L in enumerate(lengths):
        y[n, :L] = x[n, :L][::-1]
    return y


def reverse_by_index(x, lengths):
    t = np.arange(x.shape[1])
    place = np.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)
    return np.take_along_axis(x, place[:, :, None], axis=1)


class BothByLoop:
    """Reverses with its own function."""

    def __init__(self, ahead, back):
        self.one, self.other = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        hs = self.one.forward(x, lengths)
        gs = reverse_by_loop(self.other.forward(reverse_by_loop(x, lengths), lengths), lengths)
        return np.dstack([hs, gs])

    def backward(self, dhs):
        d1, d2 = np.split(dhs, 2, axis=2)
        dx2 = self.other.backward(reverse_by_loop(d2, self.lengths))
        return reverse_by_loop(dx2, self.lengths) + self.one.backward(d1)


class BothByIndex:
    def __init__(self, ahead, back):
        self.layers = [ahead, back]

    def forward(self, x, lengths):
        self.ways = [lambda a: a, lambda a: reverse_by_index(a, np.asarray(lengths))]
        runs = zip(self.layers, self.ways, strict=True)
        return np.concatenate([way(layer.forward(way(x), lengths)) for layer, way in runs], -1)

    def backward(self, dhs):
        H = dhs.shape[2] // 2
        halves = [dhs[:, :, :H], dhs[:, :, H:]]
        runs = zip(self.layers, self.ways, halves, strict=True)
        return sum(way(layer.backward(way(half))) for layer, way, half in runs)


def shares(e, axis=2):
    return e / e.sum(axis=axis, keepdims=True)


def scores(q, m):
    return np.einsum("nth,nsh->nts", q, m)


def hidden(m, lengths):
    return (np.arange(m.shape[1]) >= lengths[:, None])[:, None]  # (N, 1, S)


def masked(q, m, lengths):
    return np.where(hidden(m, lengths), -np.inf, scores(q, m))


class Mine:
    """A right attention whose lines can be replaced one by one."""

    def forward(self, query, memory, lengths):
        self.query, self.memory, self.lengths = query, memory, lengths
        self.a = self.weights_of(masked(query, memory, lengths))
        return self.a @ memory

    def backward(self, dc):
        de = self.softmax(self.dweights(dc))
        return self.dquery(de), self.dmemory(dc, de)

    def weights_of(self, e):
        return exp_sum(e)

    def dweights(self, dc):
        return dc @ self.memory.swapaxes(1, 2)

    def softmax(self, da):
        return self.a * (da - (self.a * da).sum(axis=2, keepdims=True))

    def dquery(self, de):
        return de @ self.memory

    def dmemory(self, dc, de):
        return self.a.swapaxes(1, 2) @ dc + de.swapaxes(1, 2) @ self.query


def T(array):
    return array.swapaxes(1, 2)


def weights_unmasked_in_backward(self, da):
    a = exp_sum(scores(self.query, self.memory))
    return a * (da - (a * da).sum(axis=2, keepdims=True))


SUM = {"softmax": lambda self, da: self.a * da}


DIAGONAL = {"softmax": lambda self, da: self.a * (1 - self.a) * da}


NO_SCORE_PATH = {"dmemory": lambda self, dc, de: T(self.a) @ dc}


NO_SUM_PATH = {"dmemory": lambda self, dc, de: T(de) @ self.query}


def attending(context):
    def forward(self, query, memory, lengths):
        return context(exp_sum(masked(query, memory, lengths)), memory)

    return changed(Mine, forward=forward)


class MyStep:
    """A right step whose lines can be replaced one by one."""

    def __init__(self, W):
        self.W = W

    def forward(self, h, memory, lengths):
        self.attention = DotAttention()
        context = self.attention.forward(h, memory, lengths)
        self.H, self.both = memory.shape[2], self.joined(context, h)
        self.a = self.both @ self.W
        self.y = np.tanh(self.a)
        return self.y

    def joined(self, context, h):
        return np.concatenate([context, h], axis=2)

    def backward(self, dy):
        da = dy * self.slope()
        self.dW = self.weight_gradient(da)
        dboth = da @ self.W.T
        return self.parts(dboth[..., : self.H], dboth[..., self.H :])

    def slope(self):
        return 1 - self.y**2

    def weight_gradient(self, da):
        return np.einsum("nti,ntj->ij", self.both, da)

    def parts(self, dcontext, dh):
        dquery, dmemory = self.attention.backward(dcontext)
        return dh + dquery, dmemory


def no_query_path(self, dcontext, dh):
    return dh, self.attention.backward(dcontext)[1]


class MyBoth:
    """A right layer whose lines can be replaced one by one."""

    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        return self.joined(self.ahead.forward(x, lengths), self.other(x, lengths))

    def other(self, x, lengths):
        states = self.back.forward(self.turned_in(x), lengths)
        return self.turned_out(states)

    def joined(self, ahead, back):
        return np.concatenate([ahead, back], axis=2)

    def backward(self, dhs):
        H = dhs.shape[2] // 2
        one, other = dhs[:, :, :H], dhs[:, :, H:]
        dx = self.ahead.backward(one)
        return self.sum(dx, self.dx_out(self.back.backward(self.d_in(other))))

    def sum(self, one, other):
        return one + other

    def turn(self, array):
        return reverse_by_loop(array, self.lengths)

    turned_in = turned_out = d_in = dx_out = turn


def as_it_is(self, array):
    return array


def blindly(self, array):
    return array[:, ::-1]


def without_lengths(self, x, lengths):
    self.lengths = lengths
    ahead, back = self.ahead.forward(x), self.back.forward(self.turn(x))
    return self.joined(ahead, self.turn(back))


def halves_exchanged(self, dhs):
    H = dhs.shape[2] // 2
    return MyBoth.backward(self, np.concatenate([dhs[:, :, H:], dhs[:, :, :H]], axis=2))


class Piling(Mine):
    total = 0

    def dmemory(self, dc, de):
        self.total = self.total + super().dmemory(dc, de)
        return self.total


class Spoiling(Mine):
    def forward(self, query, memory, lengths):
        memory[hidden(memory, lengths)[:, 0]] = 7.0
        return super().forward(query, memory, lengths)


def of_itself(x, Wq, Wk, Wv, lengths):
    scores = np.einsum("nsd,ntd->nst", x @ Wq, x @ Wk) / math.sqrt(Wq.shape[1])
    for n, length in enumerate(lengths):
        scores[n, :, length:] = -np.inf
    return np.einsum("nst,ntd->nsd", softmax(scores), x @ Wv)


def without_maximum(x, Wq, Wk, Wv, lengths):
    e = np.exp(x @ Wq @ (x @ Wk).swapaxes(1, 2) / math.sqrt(Wq.shape[1]))
    e *= (np.arange(x.shape[1]) < np.asarray(lengths)[:, None])[:, None]
    return e / e.sum(axis=2, keepdims=True) @ (x @ Wv)


def masked_after_and_divided(query, memory, lengths):
    a = softmax(query @ memory.swapaxes(1, 2))
    a = a * (np.arange(memory.shape[1]) < lengths[:, None])[:, None]
    return a / a.sum(axis=2, keepdims=True)
