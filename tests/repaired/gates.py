"""Gates, attention and recurrent layers that the package does not have."""

import numpy as np

from tests.museum import exhibit


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def two(kind, rng, s):
    return kind(rng.normal(size=(s.D, s.H)), rng.normal(size=(s.D, s.H))), (
        rng.normal(size=(s.N, s.D)),
    )


def peep(kind, rng, s):
    H = s.H
    return kind(
        rng.normal(size=(s.D, 4 * H)),
        rng.normal(size=(H, 4 * H)) / H**0.5,
        rng.normal(size=4 * H),
        rng.normal(size=(3, H)),
    ), (rng.normal(size=(s.N, s.T, s.D)),)


def attention(kind, rng, s):
    D = s.D
    W = [rng.normal(size=(D, s.H)) for _ in range(3)]
    return kind(*W), (rng.normal(size=(s.N, s.T, D)),)


class GLU:
    def __init__(self, W, V):
        self.W, self.V = W, V

    def forward(self, x):
        self.x = x
        self.a = x @ self.W
        self.g = sigmoid(x @ self.V)
        return self.a * self.g

    def backward(self, dy):
        da = dy * self.g
        dz = dy * self.a * self.g * (1 - self.g)
        self.dW, self.dV = self.x.T @ da, self.x.T @ dz
        return da @ self.W.T + dz @ self.V.T


@exhibit("term of a sum or product missing", "", "* self.g", two)
class GLUNoGate(GLU):
    def backward(self, dy):
        da = dy
        dz = dy * self.a * self.g * (1 - self.g)
        self.dW, self.dV = self.x.T @ da, self.x.T @ dz
        return da @ self.W.T + dz @ self.V.T


@exhibit("term of a sum or product missing", "", "* self.a", two)
class GLUNoValue(GLU):
    def backward(self, dy):
        da = dy * self.g
        dz = dy * self.g * (1 - self.g)
        self.dW, self.dV = self.x.T @ da, self.x.T @ dz
        return da @ self.W.T + dz @ self.V.T


@exhibit("derivative of the activation missing or of another function", "", "g (1 - g)", two)
class GLUNoSlope(GLU):
    def backward(self, dy):
        da = dy * self.g
        dz = dy * self.a
        self.dW, self.dV = self.x.T @ da, self.x.T @ dz
        return da @ self.W.T + dz @ self.V.T


@exhibit("derivative of the activation missing or of another function", "", "dz", two)
class GLUWeightOnly(GLU):
    def backward(self, dy):
        dx = super().backward(dy)
        self.dV = self.x.T @ (dy * self.a)
        return dx


@exhibit("term of a sum or product missing", "", "+ dz @ V.T", two)
class GLUOnePath(GLU):
    def backward(self, dy):
        super().backward(dy)
        return (dy * self.g) @ self.W.T


@exhibit("another value in its place", "", "V.T", two)
class GLUOtherWeight(GLU):
    def backward(self, dy):
        super().backward(dy)
        da = dy * self.g
        dz = dy * self.a * self.g * (1 - self.g)
        return da @ self.W.T + dz @ self.W.T


class Peephole:
    def __init__(self, Wx, Wh, b, p):
        self.params = [Wx, Wh, b, p]
        self.grads = [np.zeros_like(w) for w in self.params]

    def forward(self, xs):
        Wx, Wh, b, p = self.params
        N, T, _ = xs.shape
        H = len(Wh)
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.cache, hs = [], np.zeros((N, T, H))
        for t in range(T):
            a = xs[:, t] @ Wx + h @ Wh + b
            i = sigmoid(a[:, :H] + p[0] * c)
            f = sigmoid(a[:, H : 2 * H] + p[1] * c)
            g = np.tanh(a[:, 2 * H : 3 * H])
            c_prev, h_prev = c, h
            c = f * c_prev + i * g
            o = sigmoid(a[:, 3 * H :] + p[2] * c)
            h = o * np.tanh(c)
            hs[:, t] = h
            self.cache.append((xs[:, t], h_prev, c_prev, i, f, g, o, c))
        return hs

    def backward(self, dhs):
        Wx, Wh, _b, p = self.params
        for grad in self.grads:
            grad[...] = 0
        dxs = np.zeros((dhs.shape[0], dhs.shape[1], len(Wx)))
        dh_next = dc_next = 0
        for t in reversed(range(dhs.shape[1])):
            x, h_prev, c_prev, i, f, g, o, c = self.cache[t]
            dh = dhs[:, t] + dh_next
            do = dh * np.tanh(c) * o * (1 - o)
            dc = dh * o * (1 - np.tanh(c) ** 2) + dc_next + self.output_peephole(do, p)
            di = dc * g * i * (1 - i)
            df = self.forget(dc, c_prev, c) * f * (1 - f)
            dg = dc * i * (1 - g**2)
            dc_next = dc * f + self.input_peephole(di, p) + df * p[1]
            da = np.concatenate([di, df, dg, do], axis=1)
            self.grads[0] += x.T @ da
            self.grads[1] += h_prev.T @ da
            self.grads[2] += da.sum(axis=0)
            self.grads[3] += np.stack(
                [(di * c_prev).sum(0), (df * c_prev).sum(0), (do * self.seen(c, c_prev)).sum(0)]
            )
            dxs[:, t] = da @ Wx.T
            dh_next = da @ Wh.T
        return dxs

    def output_peephole(self, do, p):
        return do * p[2]

    def input_peephole(self, di, p):
        return di * p[0]

    def forget(self, dc, c_prev, c):
        return dc * c_prev

    def seen(self, c, c_prev):
        return c


@exhibit("term of a sum or product missing", "", "do * p[2]", peep)
class PeepholeNoOutput(Peephole):
    def output_peephole(self, do, p):
        return 0


@exhibit("path through c_prev dropped", "", "di * p[0]", peep)
class PeepholeNoInput(Peephole):
    def input_peephole(self, di, p):
        return 0


@exhibit("time off by one", "", "c_prev", peep)
class PeepholeNewCell(Peephole):
    def forget(self, dc, c_prev, c):
        return dc * c


@exhibit("time off by one", "", "c", peep)
class PeepholeOldCell(Peephole):
    def seen(self, c, c_prev):
        return c_prev


@exhibit("term of a sum or product missing", "", "* p[2]", peep)
class PeepholeNoWeight(Peephole):
    def output_peephole(self, do, p):
        return do


class SelfAttention:
    def __init__(self, Wq, Wk, Wv):
        self.Wq, self.Wk, self.Wv = Wq, Wk, Wv

    def forward(self, x):
        self.x = x
        self.q, self.k, self.v = x @ self.Wq, x @ self.Wk, x @ self.Wv
        self.d = np.sqrt(self.q.shape[-1])
        scores = self.q @ self.k.transpose(0, 2, 1) / self.d
        mask = np.triu(np.ones(scores.shape[1:]), 1).astype(bool)
        scores = np.where(mask, -1e9, scores)
        self.p = softmax(scores)
        return self.p @ self.v

    def backward(self, dy):
        dv = self.p.transpose(0, 2, 1) @ dy
        dp = dy @ self.v.transpose(0, 2, 1)
        ds = self.soft(dp) / self.scale()
        dq = ds @ self.k
        dk = self.keys(ds)
        self.dWq = np.tensordot(self.x, dq, axes=([0, 1], [0, 1]))
        self.dWk = np.tensordot(self.x, dk, axes=([0, 1], [0, 1]))
        self.dWv = np.tensordot(self.x, dv, axes=([0, 1], [0, 1]))
        return dq @ self.Wq.T + dk @ self.Wk.T + dv @ self.Wv.T

    def soft(self, dp):
        return self.p * (dp - (dp * self.p).sum(axis=-1, keepdims=True))

    def scale(self):
        return self.d

    def keys(self, ds):
        return ds.transpose(0, 2, 1) @ self.q


@exhibit("constant factor", "", "/ d", attention)
class AttentionNoScale(SelfAttention):
    def scale(self):
        return 1


@exhibit("constant factor", "", "/ d", attention)
class AttentionScaleSquared(SelfAttention):
    def scale(self):
        return self.d**2


@exhibit("transposed", "", "ds.T", attention)
class AttentionKeysNotTransposed(SelfAttention):
    def keys(self, ds):
        return ds @ self.q


@exhibit("term of a sum or product missing", "", "- sum", attention)
class AttentionNoSum(SelfAttention):
    def soft(self, dp):
        return self.p * dp


@exhibit("another value in its place", "", "@ q", attention)
class AttentionKeysFromKeys(SelfAttention):
    def keys(self, ds):
        return ds.transpose(0, 2, 1) @ self.k


@exhibit("term of a sum or product missing", "", "dv @ Wv.T", attention)
class AttentionValuesForgotten(SelfAttention):
    def backward(self, dy):
        dx = super().backward(dy)
        dv = self.p.transpose(0, 2, 1) @ dy
        return dx - dv @ self.Wv.T


@exhibit("summed or broadcast over the wrong axis", "", "axis=-1", attention)
class AttentionSumAxis(SelfAttention):
    def soft(self, dp):
        return self.p * (dp - (dp * self.p).sum(axis=1, keepdims=True))
