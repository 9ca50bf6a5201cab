"""Other layers and other mistakes than those of the museum."""

import numpy as np

from deepnlp import Parameter, layers
from tests.museum import exhibit


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def normalised(kind, rng, s):
    x = rng.normal(size=(s.N + 1, s.D + 1))
    return kind(rng.normal(size=s.D + 1), rng.normal(size=s.D + 1)), (x,)


class LayerNorm:
    """y = g (x - mean) / std + b over the last axis."""

    def __init__(self, g, b):
        self.g, self.b = g, b

    def forward(self, x):
        centred = x - x.mean(axis=1, keepdims=True)
        self.std = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
        self.xn = centred / self.std
        return self.g * self.xn + self.b

    def backward(self, dy):
        self.db = dy.sum(axis=0)
        self.dg = (dy * self.xn).sum(axis=0)
        dxn = dy * self.g
        inner = (dxn * self.xn).mean(axis=1, keepdims=True)
        return (dxn - dxn.mean(axis=1, keepdims=True) - self.xn * inner) / self.std


@exhibit("bias gradient not summed over N", "", "sum", normalised)
class LayerNormMeanGain(LayerNorm):
    def backward(self, dy):
        dx = super().backward(dy)
        self.dg = (dy * self.xn).mean(axis=0)
        return dx


@exhibit("term of a sum or product missing", "", "- self.xn * inner", normalised)
class LayerNormConstantStd(LayerNorm):
    def backward(self, dy):
        super().backward(dy)
        dxn = dy * self.g
        return (dxn - dxn.mean(axis=1, keepdims=True)) / self.std


def attended(kind, rng, s):
    x = rng.normal(size=(s.N, s.T, s.D))
    q = rng.normal(size=(s.N, s.D))
    return kind(rng.normal(size=(s.D, s.D))), (x, q)


class Attention:
    """c = softmax(q W x^T / sqrt(D)) x."""

    def __init__(self, W):
        self.params, self.grads = [W], [np.zeros_like(W)]

    def forward(self, hs, q):
        (W,) = self.params
        self.hs, self.q = hs, q
        self.u = q @ W
        self.a = softmax((hs * self.u[:, None, :]).sum(axis=2) / np.sqrt(hs.shape[2]))
        return (self.a[:, :, None] * hs).sum(axis=1)

    def backward(self, dc):
        da = (dc[:, None, :] * self.hs).sum(axis=2)
        ds = self.softmax_back(da) / self.scale()
        du = (ds[:, :, None] * self.hs).sum(axis=1)
        dhs = self.a[:, :, None] * dc[:, None, :] + ds[:, :, None] * self.u[:, None, :]
        self.grads[0][...] = self.q.T @ du
        return dhs, du @ self.params[0].T

    def softmax_back(self, da):
        return self.a * (da - (self.a * da).sum(axis=1, keepdims=True))

    def scale(self):
        return np.sqrt(self.hs.shape[2])


@exhibit("constant factor", "", "/ sqrt(D)", attended)
class AttentionUnscaled(Attention):
    def scale(self):
        return 1.0


@exhibit("summed or broadcast over the wrong axis", "", "axis=1", attended)
class AttentionOverSamples(Attention):
    def softmax_back(self, da):
        return self.a * (da - (self.a * da).sum(axis=0, keepdims=True))


def highway(kind, rng, s):
    return kind(rng.normal(size=(s.D, s.D)), rng.normal(size=(s.D, s.D))), (
        rng.normal(size=(s.N, s.D)),
    )


@exhibit("sign", "", "dt = dy * (h - x)", highway)
class Highway:
    def __init__(self, W, Wt):
        self.W, self.Wt = W, Wt

    def forward(self, x):
        self.x = x
        self.h = np.tanh(x @ self.W)
        self.t = sigmoid(x @ self.Wt)
        return self.t * self.h + (1 - self.t) * x

    def backward(self, dy):
        da = dy * self.t * (1 - self.h**2)
        dt = dy * (self.x - self.h) * self.t * (1 - self.t)
        self.dW, self.dWt = self.x.T @ da, self.x.T @ dt
        return da @ self.W.T + dt @ self.Wt.T + dy * (1 - self.t)


@exhibit("term of a sum or product missing", "", "+ dy * (1 - self.t)", highway)
class HighwayForgetsSkip(Highway):
    def backward(self, dy):
        da = dy * self.t * (1 - self.h**2)
        dt = dy * (self.h - self.x) * self.t * (1 - self.t)
        self.dW, self.dWt = self.x.T @ da, self.x.T @ dt
        return da @ self.W.T + dt @ self.Wt.T


@exhibit(
    "repeated ids overwritten",
    "",
    "np.add.at",
    lambda kind, rng, s: (
        kind(rng.normal(size=(s.V, s.D))),
        (rng.normal(size=(s.N + 3, s.D)), rng.integers(0, 3, size=s.N + 3)),
    ),
)
class EmbeddingDot:
    """Scores of one word each, as negative sampling wants."""

    def __init__(self, W):
        self.params, self.grads = [W], [np.zeros_like(W)]

    def forward(self, h, ids):
        (W,) = self.params
        self.h, self.ids = h, ids
        return np.sum(W[ids] * h, axis=1)

    def backward(self, dy):
        self.grads[0][...] = 0
        self.grads[0][self.ids] = dy[:, None] * self.h
        return dy[:, None] * self.params[0][self.ids]


@exhibit(
    "derivative of the activation missing or of another function",
    "",
    "np.where(x > 0, 1, 0.1)",
    lambda kind, rng, s: (kind(), (rng.normal(size=(s.N + 1, s.D + 1)),)),
)
class LeakyReLU:
    def forward(self, x):
        self.x = x
        return np.where(x > 0, x, 0.1 * x)

    def backward(self, dy):
        return dy * (self.x > 0)


@exhibit(
    "derivative taken at the input instead of the output",
    "",
    "sigmoid(x)",
    lambda kind, rng, s: (kind(), (rng.normal(size=(s.N, s.D)),)),
)
class Softplus:
    def forward(self, x):
        self.y = np.log(1 + np.exp(x))
        return self.y

    def backward(self, dy):
        return dy * sigmoid(self.y)


def joined(kind, rng, s):
    W = rng.normal(size=(s.D + s.H, s.H)) / 2
    return kind(W, rng.normal(size=s.H)), (rng.normal(size=(s.T, s.N, s.D)),)


class JoinedRNN:
    """Time first, one weight for [x, h]."""

    def __init__(self, W, b):
        self.W, self.b = Parameter(W), Parameter(b)

    def forward(self, xs):
        _, N, _ = xs.shape
        h = np.zeros((N, len(self.b.value)))
        self.steps = []
        for x in xs:
            xh = np.concatenate([x, h], axis=1)
            h = np.tanh(xh @ self.W.value + self.b.value)
            self.steps.append((xh, h))
        return np.stack([h for _, h in self.steps])

    def backward(self, dhs):
        dxs = []
        D = self.W.shape[0] - self.b.shape[0]
        dh_next = np.zeros_like(dhs[0])
        for (xh, h), dh in zip(reversed(self.steps), dhs[::-1], strict=True):
            da = (dh + dh_next) * (1 - h**2)
            self.W.accumulate(xh.T @ da)
            self.b.accumulate(da.sum(axis=0))
            dxh = da @ self.W.value.T
            dxs.append(dxh[:, :D])
            dh_next = self.keep(dxh[:, D:])
        return np.stack(self.order(dxs))

    def keep(self, dh):
        return dh

    def order(self, dxs):
        return dxs[::-1]


@exhibit("path through h_prev dropped", "", "dh_next = dxh[:, D:]", joined)
class JoinedRNNForgets(JoinedRNN):
    def keep(self, dh):
        return 0 * dh


@exhibit("time reversed", "", "dxs[::-1]", joined)
class JoinedRNNReversed(JoinedRNN):
    def order(self, dxs):
        return dxs


@exhibit(
    "path through h_prev dropped",
    "",
    "dh_prev = dh_prev + du * r + ...",
    lambda kind, rng, s: (
        kind(
            rng.normal(size=(s.D, 3 * s.H)),
            rng.normal(size=(s.H, 3 * s.H)) / 2,
            rng.normal(size=3 * s.H),
        ),
        (rng.normal(size=(s.N, s.T, s.D)),),
    ),
)
class ForgetfulGRU(layers.TimeGRU):
    """Derived from the layer of the package, with its private parts rewritten."""

    def backward(self, dhs):
        x, (h,), (us, saved), _ = self.saved()
        T, N, _ = x.shape
        H2, Wh = 2 * self.H, self.Wh.value
        dx = np.empty_like(x)
        dh_next = np.zeros((N, self.H))
        for t in reversed(range(T)):
            (r, z, n, _), u = saved[t], us[t]
            dh = dhs[:, t] + dh_next
            da_n = dh * (1 - z) * (1 - n**2)
            du = da_n @ Wh[:, H2:].T
            da_r = du * h[t] * r * (1 - r)
            da_z = dh * (h[t] - n) * z * (1 - z)
            da = np.hstack((da_r, da_z, da_n))
            dWh = np.hstack((h[t].T @ da[:, :H2], u.T @ da_n))
            self.Wh.accumulate(dWh)
            self.Wx.accumulate(x[t].T @ da)
            self.b.accumulate(da.sum(axis=0))
            dx[t] = da @ self.Wx.value.T
            dh_next = dh * z + da[:, :H2] @ Wh[:, :H2].T
        self.dh0 = dh_next
        return dx.transpose(1, 0, 2)


@exhibit(
    "loss averaged over the wrong count",
    "",
    "/ (N * T)",
    lambda kind, rng, s: (
        kind(),
        (rng.normal(size=(s.N + 1, s.T, s.V)), rng.integers(0, s.V, size=(s.N + 1, s.T))),
    ),
)
class SequenceLossOverN:
    def forward(self, logits, targets):
        self.targets = targets
        self.p = softmax(logits)
        picked = np.take_along_axis(self.p, targets[..., None], axis=-1)
        return -np.log(picked).mean()

    def backward(self, dloss=1.0):
        onehot = np.eye(self.p.shape[-1])[self.targets]
        return dloss * (self.p - onehot) / len(self.p)


def peephole(kind, rng, s):
    weights = rng.normal(size=(s.D + s.H, 3 * s.H)), rng.normal(size=(s.H,))
    x, h, c = (rng.normal(size=(s.N, n)) for n in (s.D, s.H, s.H))
    return kind(*weights), (x, h, c)


@exhibit("path through c_prev dropped", "", "+ da_f * self.p", peephole)
class PeepholeCell:
    """f and the input share a gate, f looks at c_prev through p."""

    def __init__(self, W, p):
        self.W, self.p = W, p

    def forward(self, x, h_prev, c_prev):
        xh = np.hstack((x, h_prev))
        af, ag, ao = np.split(xh @ self.W, 3, axis=1)
        f = sigmoid(af + self.p * c_prev)
        g = np.tanh(ag)
        o = sigmoid(ao)
        c = f * c_prev + (1 - f) * g
        h = o * np.tanh(c)
        self.cache = xh, c_prev, f, g, o, c, x.shape[1]
        return h, c

    def backward(self, dh, dc):
        xh, c_prev, f, g, o, c, D = self.cache
        dc = dc + dh * o * (1 - np.tanh(c) ** 2)
        da_o = dh * np.tanh(c) * o * (1 - o)
        da_f = dc * (c_prev - g) * f * (1 - f)
        da_g = dc * (1 - f) * (1 - g**2)
        da = np.hstack((da_f, da_g, da_o))
        self.dW, self.dp = xh.T @ da, (da_f * c_prev).sum(axis=0)
        dxh = da @ self.W.T
        return dxh[:, :D], dxh[:, D:], dc * f


@exhibit(
    "gates swapped",
    "",
    "np.hstack((da_f, da_g, da_o))",
    peephole,
)
class PeepholeSwapped(PeepholeCell):
    def backward(self, dh, dc):
        xh, c_prev, f, g, o, c, D = self.cache
        dc = dc + dh * o * (1 - np.tanh(c) ** 2)
        da_o = dh * np.tanh(c) * o * (1 - o)
        da_f = dc * (c_prev - g) * f * (1 - f)
        da_g = dc * (1 - f) * (1 - g**2)
        da = np.hstack((da_g, da_f, da_o))
        self.dW, self.dp = xh.T @ da, (da_f * c_prev).sum(axis=0)
        dxh = da @ self.W.T
        return dxh[:, :D], dxh[:, D:], dc * f + da_f * self.p


# --- A second round, written after the first was scored -----------------------------------------


def filtered(kind, rng, s):
    return kind(rng.normal(size=(3, s.D, s.H)), rng.normal(size=s.H)), (
        rng.normal(size=(s.N, s.T + 2, s.D)),
    )


class Convolution:
    """y_t = x_t K_0 + x_(t+1) K_1 + x_(t+2) K_2 + b."""

    def __init__(self, K, b):
        self.K, self.b = K, b

    def forward(self, x):
        self.x = x
        T = x.shape[1] - 2
        return sum(x[:, k : k + T] @ self.K[k] for k in range(3)) + self.b

    def backward(self, dy):
        T = dy.shape[1]
        self.dK = np.zeros_like(self.K)
        self.db = dy.sum(axis=(0, 1))
        dx = np.zeros_like(self.x)
        for k in range(3):
            self.dK[k] = np.einsum("ntd,nth->dh", self.x[:, k : k + T], dy)
            self.put(dx, k, T, dy @ self.K[k].T)
        return dx

    def put(self, dx, k, T, part):
        dx[:, k : k + T] += part


@exhibit("assigned instead of accumulated", "", "+=", filtered)
class ConvolutionAssigns(Convolution):
    def put(self, dx, k, T, part):
        dx[:, k : k + T] = part


@exhibit("bias gradient not summed over T", "", "axis=(0, 1)", filtered)
class ConvolutionMeanBias(Convolution):
    def backward(self, dy):
        dx = super().backward(dy)
        self.db = dy.mean(axis=1).sum(axis=0)
        return dx


@exhibit("transposed", "", "@ self.W.T", highway)
class TwoLayersOneNotTransposed:
    def __init__(self, W1, W2):
        self.W1, self.W2 = W1, W2

    def forward(self, x):
        self.x = x
        self.h = np.maximum(0, x @ self.W1)
        return self.h @ self.W2

    def backward(self, dy):
        self.dW2 = self.h.T @ dy
        da = (dy @ self.W2) * (self.h > 0)
        self.dW1 = self.x.T @ da
        return da @ self.W1.T


@exhibit(
    "sign",
    "",
    "dy * (1 - y)",
    lambda kind, rng, s: (kind(), (rng.normal(size=(s.N, s.D)), rng.normal(size=(s.N, s.D)))),
)
class Difference:
    def forward(self, a, b):
        return a - b

    def backward(self, dy):
        return dy, dy


@exhibit(
    "dropout mask missing",
    "",
    "* self.mask",
    lambda kind, rng, s: (
        kind(rng.normal(size=(s.D, s.H)), int(rng.integers(99))),
        (rng.normal(size=(s.N + 1, s.D)),),
    ),
)
class DropConnect:
    """The mask is on the weights."""

    def __init__(self, W, seed):
        self.W, self.rng = W, np.random.RandomState(seed)

    def forward(self, x):
        self.x = x
        np.random.seed(3)
        self.mask = np.random.rand(*self.W.shape) > 0.4
        return x @ (self.W * self.mask)

    def backward(self, dy):
        self.dW = self.x.T @ dy
        return dy @ (self.W * self.mask).T


@exhibit(
    "path through h_prev dropped",
    "",
    "dh_prev",
    lambda kind, rng, s: (
        kind(*(rng.normal(size=(s.D, s.D)) / 2 for _ in range(2))),
        (rng.normal(size=(s.N, s.T, s.D)), rng.normal(size=(s.N, s.D))),
    ),
)
class Decoder:
    """Starts from an encoder's state h0 and feeds it at every step besides."""

    def __init__(self, Wx, Wh):
        self.params, self.grads = [Wx, Wh], [np.zeros_like(Wx), np.zeros_like(Wh)]

    def forward(self, xs, h0):
        Wx, Wh = self.params
        h, self.steps = h0, []
        for t in range(xs.shape[1]):
            h_new = np.tanh(xs[:, t] @ Wx + h @ Wh)
            self.steps.append((xs[:, t], h, h_new))
            h = h_new
        return np.stack([step[2] for step in self.steps], axis=1)

    def backward(self, dhs):
        Wx, Wh = self.params
        self.grads[0][...] = 0
        self.grads[1][...] = 0
        dxs = np.zeros((*dhs.shape[:2], Wx.shape[0]))
        dh_next = np.zeros_like(dhs[:, 0])
        for t in range(dhs.shape[1] - 1, -1, -1):
            x, h, h_new = self.steps[t]
            da = (dhs[:, t] + dh_next) * (1 - h_new**2)
            self.grads[0] += x.T @ da
            self.grads[1] += h.T @ da
            dxs[:, t] = da @ Wx.T
            dh_next = da @ Wh.T
        return dxs, np.zeros_like(dh_next)


@exhibit(
    "loss not averaged",
    "",
    "/ len(self.t)",
    lambda kind, rng, s: (
        kind(rng.normal(size=(s.D, s.V)), rng.normal(size=s.V)),
        (rng.normal(size=(s.N + 1, s.D)), rng.integers(0, s.V, size=s.N + 1)),
    ),
)
class Classifier:
    """A whole model: scores and their loss."""

    def __init__(self, W, b):
        self.params, self.grads = [W, b], [np.zeros_like(W), np.zeros_like(b)]

    def forward(self, x, t):
        W, b = self.params
        self.x, self.t = x, t
        self.p = softmax(x @ W + b)
        return -np.mean(np.log(self.p[np.arange(len(t)), t]))

    def backward(self):
        ds = self.p.copy()
        ds[np.arange(len(self.t)), self.t] -= 1
        self.grads[0][...] = self.x.T @ ds
        self.grads[1][...] = ds.sum(axis=0)
        return ds @ self.params[0].T


@exhibit(
    "derivative taken at the input instead of the output",
    "",
    "1 - g ** 2",
    lambda kind, rng, s: (
        kind(rng.normal(size=(s.D, 2 * s.H))),
        (rng.normal(size=(s.N, s.T, s.D)),),
    ),
)
class GatedUnit:
    """tanh(x A) sigmoid(x B), at every step."""

    def __init__(self, W):
        self.W = Parameter(W)

    def forward(self, x):
        self.x = x
        self.a = x @ self.W.value
        H = self.a.shape[-1] // 2
        self.g, self.s = np.tanh(self.a[..., :H]), sigmoid(self.a[..., H:])
        return self.g * self.s

    def backward(self, dy):
        H = dy.shape[-1]
        dg = dy * self.s * (1 - self.a[..., :H] ** 2)
        ds = dy * self.g * self.s * (1 - self.s)
        da = np.concatenate((dg, ds), axis=-1)
        self.W.accumulate(np.einsum("ntd,nth->dh", self.x, da))
        return da @ self.W.value.T
