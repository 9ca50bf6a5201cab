"""A second round: other families, in the styles of different courses."""

import numpy as np

from tests.museum import exhibit


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def rows(kind, rng, s):
    return kind(), (rng.normal(size=(s.N + 2, s.D + 2)),)


def gated(kind, rng, s):
    D = s.D
    return kind(*(rng.normal(size=(D, D)) for _ in range(3))), (rng.normal(size=(s.N, s.T, D)),)


def dense(kind, rng, s):
    return kind(rng.normal(size=(s.D, s.H)), rng.normal(size=s.H)), (
        rng.normal(size=(s.N + 1, s.D)),
    )


def images(kind, rng, s):
    return kind(), (rng.normal(size=(2, 2, 4, 6)),)


def padded(kind, rng, s):
    return kind(rng.normal(size=(3, s.D)), rng.normal(size=s.D)), (
        rng.normal(size=(s.N, s.T + 3, s.D)),
    )


def targets(kind, rng, s):
    return kind(), (rng.normal(size=(s.N + 2, s.D)), rng.normal(size=(s.N + 2, s.D)))


def triple(kind, rng, s):
    return kind(), tuple(rng.normal(size=(s.N + 2, s.D + 1)) for _ in range(3))


def bag(kind, rng, s):
    return kind(rng.normal(size=(10, s.D)), rng.normal(size=(s.D, s.H))), (
        rng.integers(0, 10, (s.N + 1, 4)),
    )


def mixture(kind, rng, s):
    return kind(rng.normal(size=(s.D, 3)), rng.normal(size=(3, s.D, s.H))), (
        rng.normal(size=(s.N + 1, s.D)),
    )


class MinGRU:
    """h = (1 - z) h + z n over time, with n = tanh."""

    def __init__(self, Wz, Wn, U):
        self.params = {"Wz": Wz, "Wn": Wn, "U": U}
        self.grads = {k: np.zeros_like(v) for k, v in self.params.items()}

    def forward(self, x):
        N, T, D = x.shape
        Wz, Wn, U = self.params["Wz"], self.params["Wn"], self.params["U"]
        h = np.zeros((N, D))
        self.x, self.steps = x, []
        out = []
        for t in range(T):
            z = sigmoid(x[:, t] @ Wz)
            n = np.tanh(x[:, t] @ Wn + h @ U)
            self.steps.append((h, z, n))
            h = (1 - z) * h + z * n
            out.append(h)
        return np.stack(out, axis=1)

    def backward(self, dout):
        Wz, Wn, U = self.params["Wz"], self.params["Wn"], self.params["U"]
        for k in self.grads:
            self.grads[k][...] = 0
        dx, dh = np.zeros_like(self.x), np.zeros_like(dout[:, 0])
        for t in range(dout.shape[1] - 1, -1, -1):
            h, z, n = self.steps[t]
            dh = dh + dout[:, t]
            dz = self.dz(dh, h, z, n) * z * (1 - z)
            dn = self.dn(dh, z) * (1 - n**2)
            self.grads["Wz"] += self.x[:, t].T @ dz
            self.grads["Wn"] += self.x[:, t].T @ dn
            self.grads["U"] += self.state(h, z, n).T @ dn
            dx[:, t] = dz @ Wz.T + dn @ Wn.T
            dh = self.dh(dh, z) + dn @ U.T
        return dx

    def dz(self, dh, h, z, n):
        return dh * (n - h)

    def dn(self, dh, z):
        return dh * z

    def dh(self, dh, z):
        return dh * (1 - z)

    def state(self, h, z, n):
        return h


@exhibit("sign", "", "n - h", gated)
class MinGRUSign(MinGRU):
    def dz(self, dh, h, z, n):
        return dh * (h - n)


@exhibit("term of a sum or product missing", "", "- h", gated)
class MinGRUNoState(MinGRU):
    def dz(self, dh, h, z, n):
        return dh * n


@exhibit("another value in its place", "", "1 - z", gated)
class MinGRUOtherGate(MinGRU):
    def dh(self, dh, z):
        return dh * z


@exhibit("term of a sum or product missing", "", "* z", gated)
class MinGRUNoGate(MinGRU):
    def dn(self, dh, z):
        return dh


@exhibit("path through h_prev dropped", "", "dh (1 - z)", gated)
class MinGRUNoShortcut(MinGRU):
    def dh(self, dh, z):
        return 0


@exhibit("another value in its place", "", "h", gated)
class MinGRUCandidate(MinGRU):
    def state(self, h, z, n):
        return n


class Elu:
    def forward(self, x):
        self.x = x
        self.y = np.where(x > 0, x, np.exp(x) - 1)
        return self.y

    def backward(self, dy):
        return dy * np.where(self.x > 0, 1.0, self.y + 1)


@exhibit("derivative of the activation missing or of another function", "", "+ 1", rows)
class EluNoOne(Elu):
    def backward(self, dy):
        return dy * np.where(self.x > 0, 1.0, self.y)


class LogSoftmax:
    def forward(self, x):
        m = x.max(axis=1, keepdims=True)
        self.y = x - m - np.log(np.exp(x - m).sum(axis=1, keepdims=True))
        return self.y

    def backward(self, dy):
        return dy - np.exp(self.y) * dy.sum(axis=1, keepdims=True)


@exhibit("term of a sum or product missing", "", "sum", rows)
class LogSoftmaxNoSum(LogSoftmax):
    def backward(self, dy):
        return dy - np.exp(self.y) * dy


@exhibit("derivative of the activation missing or of another function", "", "- p sum", rows)
class LogSoftmaxPassed(LogSoftmax):
    def backward(self, dy):
        return dy


@exhibit("summed or broadcast over the wrong axis", "", "axis=1", rows)
class LogSoftmaxAxis(LogSoftmax):
    def backward(self, dy):
        return dy - np.exp(self.y) * dy.sum(axis=0, keepdims=True)


@exhibit("derivative taken at the input instead of the output", "", "exp(y)", rows)
class LogSoftmaxLog(LogSoftmax):
    def backward(self, dy):
        return dy - self.y * dy.sum(axis=1, keepdims=True)


class Maxout:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        self.z = x @ self.W + self.b
        half = self.z.shape[1] // 2
        self.first = self.z[:, :half] > self.z[:, half : 2 * half]
        return np.maximum(self.z[:, :half], self.z[:, half : 2 * half])

    def backward(self, dy):
        dz = np.zeros_like(self.z)
        half = self.z.shape[1] // 2
        dz[:, :half] = dy * self.first
        dz[:, half : 2 * half] = dy * ~self.first
        self.dW, self.db = self.x.T @ dz, dz.sum(axis=0)
        return dz @ self.W.T


@exhibit("derivative of the activation missing or of another function", "", "first", dense)
class MaxoutBoth(Maxout):
    def backward(self, dy):
        dz = np.zeros_like(self.z)
        half = self.z.shape[1] // 2
        dz[:, :half] = dy
        dz[:, half : 2 * half] = dy
        self.dW, self.db = self.x.T @ dz, dz.sum(axis=0)
        return dz @ self.W.T


class AvgPool2d:
    def forward(self, x):
        self.shape = x.shape
        N, C, H, W = x.shape
        return x.reshape(N, C, H // 2, 2, W // 2, 2).mean(axis=(3, 5))

    def backward(self, dy):
        return np.repeat(np.repeat(dy, 2, axis=2), 2, axis=3) / 4


@exhibit("constant factor", "", "/ 4", images)
class AvgPoolHalf(AvgPool2d):
    def backward(self, dy):
        return np.repeat(np.repeat(dy, 2, axis=2), 2, axis=3) / 2


@exhibit("summed or broadcast over the wrong axis", "", "repeat", images)
class AvgPoolTiled(AvgPool2d):
    def backward(self, dy):
        return np.tile(dy, (1, 1, 2, 2)) / 4


class MaxPool2d:
    def forward(self, x):
        N, C, H, W = x.shape
        self.windows = x.reshape(N, C, H // 2, 2, W // 2, 2)
        self.y = self.windows.max(axis=(3, 5))
        return self.y

    def backward(self, dy):
        mask = self.windows == self.y[:, :, :, None, :, None]
        N, C, h, _, w, _ = mask.shape
        return (mask * dy[:, :, :, None, :, None]).reshape(N, C, 2 * h, 2 * w)


@exhibit("derivative of the activation missing or of another function", "", "mask", images)
class MaxPool2dAll(MaxPool2d):
    def backward(self, dy):
        return np.repeat(np.repeat(dy, 2, axis=2), 2, axis=3)


class Depthwise:
    """y[t] = sum over k of w[k] * x[t + k - 1], padded by one on both sides."""

    def __init__(self, w, b):
        self.w, self.b = w, b

    def forward(self, x):
        self.xp = np.pad(x, ((0, 0), (1, 1), (0, 0)))
        T = x.shape[1]
        return sum(self.xp[:, k : k + T] * self.w[k] for k in range(3)) + self.b

    def backward(self, dy):
        T = dy.shape[1]
        dxp = np.zeros_like(self.xp)
        self.dw = np.zeros_like(self.w)
        self.db = dy.sum(axis=(0, 1))
        for k in range(3):
            dxp[:, k : k + T] += dy * self.w[k]
            self.dw[k] = (self.xp[:, k : k + T] * dy).sum(axis=(0, 1))
        return dxp[:, 1:-1]


@exhibit("time off by one", "", "1:-1", padded)
class DepthwiseLeft(Depthwise):
    def backward(self, dy):
        T = dy.shape[1]
        super().backward(dy)
        dxp = np.zeros_like(self.xp)
        for k in range(3):
            dxp[:, k : k + T] += dy * self.w[k]
        return dxp[:, :-2]


@exhibit("time reversed", "", "w[k]", padded)
class DepthwiseFlipped(Depthwise):
    def backward(self, dy):
        T = dy.shape[1]
        super().backward(dy)
        dxp = np.zeros_like(self.xp)
        for k in range(3):
            dxp[:, k : k + T] += dy * self.w[2 - k]
        return dxp[:, 1:-1]


@exhibit("assigned instead of accumulated", "", "+=", padded)
class DepthwiseAssigns(Depthwise):
    def backward(self, dy):
        T = dy.shape[1]
        super().backward(dy)
        dxp = np.zeros_like(self.xp)
        for k in range(3):
            dxp[:, k : k + T] = dy * self.w[k]
        return dxp[:, 1:-1]


class MSE:
    def forward(self, x, targets):
        self.d = x - targets
        return np.mean(self.d**2)

    def backward(self, dout=1.0):
        return dout * 2 * self.d / self.d.size


@exhibit("constant factor", "", "2 *", targets)
class MSENoTwo(MSE):
    def backward(self, dout=1.0):
        return dout * self.d / self.d.size


@exhibit("loss averaged over the wrong count", "", "size", targets)
class MSEByRows(MSE):
    def backward(self, dout=1.0):
        return dout * 2 * self.d / len(self.d)


class Triplet:
    """mean of max(0, |a - p|^2 - |a - n|^2 + 1)."""

    def forward(self, a, p, n):
        self.a, self.p, self.n = a, p, n
        dp = ((a - p) ** 2).sum(axis=1)
        dn = ((a - n) ** 2).sum(axis=1)
        self.active = dp - dn + 1 > 0
        return np.maximum(0, dp - dn + 1).mean()

    def backward(self, dout=1.0):
        m = dout * self.active[:, None] * 2 / len(self.a)
        return m * (self.n - self.p), m * (self.p - self.a), m * (self.a - self.n)


@exhibit("derivative of the activation missing or of another function", "", "active", triple)
class TripletAlways(Triplet):
    def backward(self, dout=1.0):
        self.active = np.ones_like(self.active)
        return super().backward(dout)


@exhibit("sign", "", "a - n", triple)
class TripletSign(Triplet):
    def backward(self, dout=1.0):
        da, dp, dn = super().backward(dout)
        return da, dp, -dn


@exhibit("term of a sum or product missing", "", "n - p", triple)
class TripletPositiveOnly(Triplet):
    def backward(self, dout=1.0):
        m = dout * self.active[:, None] * 2 / len(self.a)
        _, dp, dn = super().backward(dout)
        return m * (self.a - self.p), dp, dn


class Bag:
    """The mean of embeddings, then a matrix."""

    def __init__(self, E, W):
        self.E, self.W = E, W

    def forward(self, ids):
        self.ids = ids
        self.h = self.E[ids].mean(axis=1)
        return self.h @ self.W

    def backward(self, dy):
        self.dW = self.h.T @ dy
        dh = dy @ self.W.T / self.ids.shape[1]
        self.dE = np.zeros_like(self.E)
        np.add.at(self.dE, self.ids, dh[:, None, :])


@exhibit("constant factor", "", "/ shape[1]", bag)
class BagSum(Bag):
    def backward(self, dy):
        super().backward(dy)
        self.dE *= self.ids.shape[1]


@exhibit("repeated ids overwritten", "", "np.add.at", bag)
class BagAssigns(Bag):
    def backward(self, dy):
        super().backward(dy)
        dh = dy @ self.W.T / self.ids.shape[1]
        self.dE = np.zeros_like(self.E)
        for k in range(self.ids.shape[1]):
            self.dE[self.ids[:, k]] = dh


class Experts:
    """A mixture of linear maps, weighted by a softmax."""

    def __init__(self, G, W):
        self.G, self.W = G, W

    def forward(self, x):
        self.x = x
        s = x @ self.G
        e = np.exp(s - s.max(axis=1, keepdims=True))
        self.p = e / e.sum(axis=1, keepdims=True)
        self.o = np.einsum("nd,kdh->nkh", x, self.W)
        return np.einsum("nk,nkh->nh", self.p, self.o)

    def backward(self, dy):
        do = np.einsum("nh,nk->nkh", dy, self.p)
        dp = np.einsum("nh,nkh->nk", dy, self.o)
        ds = self.p * (dp - (self.p * dp).sum(axis=1, keepdims=True))
        self.dG = self.x.T @ ds
        self.dW = np.einsum("nd,nkh->kdh", self.x, do)
        return ds @ self.G.T + np.einsum("nkh,kdh->nd", do, self.W)


@exhibit("term of a sum or product missing", "", "ds @ G.T", mixture)
class ExpertsNoGate(Experts):
    def backward(self, dy):
        super().backward(dy)
        do = np.einsum("nh,nk->nkh", dy, self.p)
        return np.einsum("nkh,kdh->nd", do, self.W)


@exhibit("term of a sum or product missing", "", "p", mixture)
class ExpertsUnweighted(Experts):
    def backward(self, dy):
        do = np.repeat(dy[:, None], self.p.shape[1], axis=1)
        dp = np.einsum("nh,nkh->nk", dy, self.o)
        ds = self.p * (dp - (self.p * dp).sum(axis=1, keepdims=True))
        self.dG = self.x.T @ ds
        self.dW = np.einsum("nd,nkh->kdh", self.x, do)
        return ds @ self.G.T + np.einsum("nkh,kdh->nd", do, self.W)


class WeightNorm:
    """y = x (g v / |v|)."""

    def __init__(self, v, g):
        self.v, self.g = v, g

    def forward(self, x):
        self.x = x
        self.n = np.sqrt((self.v**2).sum(axis=0))
        self.w = self.g * self.v / self.n
        return x @ self.w

    def backward(self, dy):
        dw = self.x.T @ dy
        self.dg = (dw * self.v).sum(axis=0) / self.n
        self.dv = self.g / self.n * (dw - self.v * (dw * self.v).sum(axis=0) / self.n**2)
        return dy @ self.w.T


@exhibit("term of a sum or product missing", "", "- v ...", dense)
class WeightNormNoProjection(WeightNorm):
    def backward(self, dy):
        dx = super().backward(dy)
        self.dv = self.g / self.n * (self.x.T @ dy)
        return dx


@exhibit("term of a sum or product missing", "", "/ n", dense)
class WeightNormNoLength(WeightNorm):
    def backward(self, dy):
        dx = super().backward(dy)
        self.dg = ((self.x.T @ dy) * self.v).sum(axis=0)
        return dx


@exhibit("another value in its place", "", "w", dense)
class WeightNormBareWeight(WeightNorm):
    def backward(self, dy):
        super().backward(dy)
        return dy @ self.v.T
