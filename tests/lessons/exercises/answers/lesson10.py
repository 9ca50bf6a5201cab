"""Answers to the exercises of lesson 10 that need several lines, and what several share."""

import numpy as np

from tests.lessons.exercises.tools import changed


def shares(e, axis=-1):
    e = np.exp(e - e.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def scores(q, k):
    return np.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5


def later(e, low=-np.inf, k=1):
    """Scores with what stands k and more positions later hidden."""
    return np.where(np.triu(np.ones(e.shape[-2:]), k) > 0, low, e)


def head_by_einsum(q, k, v):
    return np.einsum("ts,sd->td", shares(later(scores(q, k))), v)


def head_by_large_negative(queries, keys, values):
    T = len(queries)
    e = scores(queries, keys) - 1e9 * (np.arange(T)[:, None] < np.arange(T))
    a = np.exp(e - e.max(axis=1)[:, None])
    return (a / a.sum(axis=1)[:, None]) @ values


def head_by_double_loop(q, k, v):
    o = []
    for t in range(len(q)):
        e = [float(np.dot(q[t], k[s])) / np.sqrt(q.shape[1]) for s in range(t + 1)]
        a = [np.exp(one - max(e)) for one in e]
        o.append(sum(weight / sum(a) * value for weight, value in zip(a, v)))
    return np.array(o)


def strict_head(q, k, v):
    o = np.zeros(v.shape)
    for t in range(1, len(q)):
        o[t] = shares(scores(q, k)[t, :t]) @ v[:t]
    return o


def split_by_slices(x, heads):
    d = x.shape[2] // heads
    return np.stack([x[:, :, j * d : (j + 1) * d] for j in range(heads)], axis=1)


def split_by_loop(x, heads):
    N, T, D = x.shape
    out = np.zeros((N, heads, T, D // heads))
    for column in range(D):
        out[:, column // (D // heads), :, column % (D // heads)] = x[:, :, column]
    return out


class Heads:
    """Attention with a method for each step of its backward."""

    def weights(self, q, k):
        return shares(later(scores(q, k)))

    def forward(self, q, k, v):
        self.q, self.k, self.v, self.scale = q, k, v, q.shape[-1] ** -0.5
        self.a = self.weights(q, k)
        return self.a @ v

    def softmax(self, da):
        return self.a * (da - (self.a * da).sum(axis=-1, keepdims=True))

    def dquery(self, de):
        return np.einsum("nhts,nhsd->nhtd", de, self.k) * self.scale

    def dkey(self, de):
        return np.einsum("nhts,nhtd->nhsd", de, self.q) * self.scale

    def dvalue(self, do):
        return np.einsum("nhts,nhtd->nhsd", self.a, do)

    def backward(self, do):
        de = self.softmax(np.einsum("nhtd,nhsd->nhts", do, self.v))
        return self.dquery(de), self.dkey(de), self.dvalue(do)


class LoopingHeads:
    """Goes by sequence, head and position, over the positions that count."""

    def forward(self, q, k, v):
        self.kept = q, k, v
        o = np.zeros(v.shape)
        for n, h, t in np.ndindex(q.shape[:3]):
            e = k[n, h, : t + 1] @ q[n, h, t] / np.sqrt(q.shape[-1])
            o[n, h, t] = shares(e) @ v[n, h, : t + 1]
        return o

    def backward(self, do):
        q, k, v = self.kept
        dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
        for n, h, t in np.ndindex(q.shape[:3]):
            past = n, h, slice(t + 1)
            a = shares(k[past] @ q[n, h, t] / np.sqrt(q.shape[-1]))
            da = v[past] @ do[n, h, t]
            de = a * (da - a @ da) / np.sqrt(q.shape[-1])
            dv[past] += np.outer(a, do[n, h, t])
            dq[n, h, t] = de @ k[past]
            dk[past] += np.outer(de, q[n, h, t])
        return [dq, dk, dv]


class Scaling(Heads):
    """Scales the queries that it was given."""

    def forward(self, q, k, v):
        o = super().forward(q, k, v)
        q /= q.shape[-1] ** 0.5
        return o


class Adding(Heads):
    """Adds up the gradients of all backward passes."""

    total = 0

    def backward(self, do):
        self.total = np.stack(super().backward(do)) + self.total
        return tuple(self.total)


class ComplexRotation:
    """A pair as a complex number, turned by multiplication."""

    def __init__(self, angles):
        self.by = np.exp(1j * angles)

    def _times(self, x, by):
        m = x.shape[-1] // 2
        z = (x[..., :m] + 1j * x[..., m:]) * by
        return np.concatenate([z.real, z.imag], axis=-1)

    def forward(self, x):
        return self._times(x, self.by)

    def backward(self, dy):
        return self._times(dy, self.by.conj())


class MatrixRotation:
    """A matrix of two rows and columns for each pair."""

    def __init__(self, angles):
        c, s = np.cos(angles), np.sin(angles)
        self.R = np.array([[c, -s], [s, c]])  # (2, 2, T, m)

    def forward(self, x):
        pairs = x.reshape(*x.shape[:-1], 2, -1)
        return np.einsum("ijtp,...tjp->...tip", self.R, pairs).reshape(x.shape)

    def backward(self, dy):
        pairs = dy.reshape(*dy.shape[:-1], 2, -1)
        return np.einsum("ijtp,...tip->...tjp", self.R, pairs).reshape(dy.shape)


def plus_and_plus(self, x):
    """Both terms of both numbers added."""
    u, w = np.split(x, 2, axis=-1)
    c, s = self.R[0, 0], self.R[1, 0]
    return np.concatenate([u * c + w * s, u * s + w * c], axis=-1)


def neighbours(self, x, sign=1):
    u, w = x[..., ::2], x[..., 1::2]
    c, s = self.R[0, 0], sign * self.R[1, 0]
    y = np.empty_like(x)
    y[..., ::2], y[..., 1::2] = u * c - w * s, u * s + w * c
    return y


def interleaved(self, x):
    """Turned as asked, and the two numbers of a pair put side by side."""
    y = MatrixRotation.forward(self, x)
    return y.reshape(*x.shape[:-1], 2, -1).swapaxes(-1, -2).reshape(x.shape)


def in_turn(self, x):
    """Overwrites the first numbers before it makes the second ones."""
    y, c, s, m = x.copy(), self.R[0, 0], self.R[1, 0], x.shape[-1] // 2
    y[..., :m] = y[..., :m] * c - y[..., m:] * s
    y[..., m:] = y[..., :m] * s + y[..., m:] * c
    return y


def in_place(self, x):
    x[...] = MatrixRotation.forward(self, x)
    return x


class Norm:
    """Layer norm with a method for each choice."""

    axis, eps = -1, 1e-5

    def __init__(self, g, b):
        self.g, self.b = g, b

    def std(self, x):
        return np.sqrt(x.var(axis=self.axis, keepdims=True) + self.eps)

    def forward(self, x):
        self.x, self.sd = x, self.std(x)
        self.xhat = (x - x.mean(axis=self.axis, keepdims=True)) / self.sd
        return self.out()

    def out(self):
        return self.xhat * self.g + self.b

    def weights(self, dy):
        self.dg = np.einsum("ntd,ntd->d", dy, self.xhat)
        self.db = np.einsum("ntd->d", dy)

    def back(self, dxhat, xhat, sd):
        D = xhat.shape[-1]
        total = dxhat.sum(-1, keepdims=True), (dxhat * xhat).sum(-1, keepdims=True)
        return (D * dxhat - total[0] - xhat * total[1]) / (D * sd)

    def backward(self, dy):
        self.weights(dy)
        return self.back(dy * self.g, self.xhat, self.sd)


class StepwiseNorm(Norm):
    """Back line by line: the variance, then the mean."""

    def back(self, dxhat, xhat, sd):
        D, centred = xhat.shape[-1], self.x - self.x.mean(-1, keepdims=True)
        dvar = (dxhat * centred * -0.5 / sd**3).sum(-1, keepdims=True)
        dcentred = dxhat / sd + dvar * 2 * centred / D
        return dcentred - dcentred.mean(-1, keepdims=True)


class LoopingNorm(Norm):
    """The Jacobian of each position."""

    def back(self, dxhat, xhat, sd):
        dx, D = np.empty_like(dxhat), xhat.shape[-1]
        for n, t in np.ndindex(dxhat.shape[:2]):
            h = xhat[n, t]
            J = (np.eye(D) - 1 / D - np.outer(h, h) / D) / sd[n, t]
            dx[n, t] = J.T @ dxhat[n, t]
        return dx


def mean(x, axis=-1):
    return x.mean(axis=axis, keepdims=True)


def backs(function):
    """Layer norm with another last line: function(dxhat, xhat, sd)."""
    return changed(Norm, back=lambda self, *given: function(*given))


def sets(function):
    """Layer norm with other gradients of its weights: function(layer, dy) gives dg and db."""

    def weights(self, dy):
        self.dg, self.db = function(self, dy)

    return changed(Norm, weights=weights)


class Block:
    """A block with a method for each sum."""

    def __init__(self, norm1, attention, norm2, feed_forward):
        self.n1, self.at, self.n2, self.ff = norm1, attention, norm2, feed_forward

    def first(self, x):
        return x + self.at.forward(self.n1.forward(x))

    def second(self, h, x):
        return h + self.ff.forward(self.n2.forward(h))

    def forward(self, x):
        return self.second(self.first(x), x)

    def back_second(self, dy):
        return dy + self.n2.backward(self.ff.backward(dy))

    def back_first(self, dh, dy):
        return dh + self.n1.backward(self.at.backward(dh))

    def backward(self, dy):
        return self.back_first(self.back_second(dy), dy)


class ListedBlock:
    """The same as a list of two branches."""

    def __init__(self, *parts):
        self.branches = [parts[:2], parts[2:]]

    def forward(self, x):
        for norm, part in self.branches:
            x = x + part.forward(norm.forward(x))
        return x

    def backward(self, grad):
        for norm, part in reversed(self.branches):
            grad = grad + norm.backward(part.backward(grad))
        return grad


def adds_in_place(self, x):
    x += self.at.forward(self.n1.forward(x))
    return x


def adds_to_dy(self, dy):
    dy += self.n2.backward(self.ff.backward(dy))
    return dy
