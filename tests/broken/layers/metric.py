import numpy as np


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True).real)
    return e / e.sum(axis=-1, keepdims=True)


class TripletLoss:
    """max(0, |a - p|^2 - |a - n|^2 + margin), mean over the triplets."""

    def __init__(self, margin=2.0):
        self.margin = margin

    def forward(self, a, p, n):
        self.a, self.p, self.n = a, p, n
        gap = ((a - p) ** 2).sum(axis=1) - ((a - n) ** 2).sum(axis=1) + self.margin
        self.active = gap > 0
        return np.mean(gap * self.active)

    def backward(self, dout=1):
        w = dout * self.active[:, None] / len(self.a)
        da = 2 * w * (self.n - self.p)
        dp = 2 * w * (self.p - self.a)
        dn = 2 * w * (self.a - self.n)
        return da, dp, dn


class InfoNCE:
    """Each query finds its own key among those of the batch."""

    def __init__(self, tau=0.5):
        self.tau = tau

    def forward(self, q, k):
        self.q, self.k = q, k
        self.p = softmax(q @ k.T / self.tau)
        return -np.log(np.diagonal(self.p)).mean()

    def backward(self, dout=1):
        N = len(self.q)
        ds = (self.p - np.eye(N)) / N
        ds = dout * ds / self.tau
        dq = ds @ self.k
        dk = ds.T @ self.q
        return dq, dk


class ContrastiveLoss:
    """Half the squared distance of equal pairs, half max(0, m - distance)^2 of others."""

    def __init__(self, m=4.0):
        self.m = m

    def forward(self, u, v, labels):
        self.same = labels
        self.diff = u - v
        self.dist = np.sqrt((self.diff**2).sum(axis=1))
        self.room = np.where(self.dist < self.m, self.m - self.dist, 0)
        each = np.where(labels == 1, self.dist**2, self.room**2)
        return 0.5 * each.mean()

    def backward(self, dout=1):
        slope = np.where(self.same == 1, self.dist, -self.room)
        unit = self.diff / self.dist[:, None]
        du = dout * slope[:, None] * unit / len(unit)
        return du, -du


class NegativeSampling:
    """One true word and K sampled ones for each h; all scores through a sigmoid."""

    def __init__(self, W, negatives):
        self.W, self.negatives = W, negatives  # (V, D), (N, K)

    def forward(self, h, t):
        self.h, self.t = h, t
        self.pos = sigmoid((h * self.W[t]).sum(axis=1))
        self.neg = sigmoid(np.einsum("nd,nkd->nk", h, self.W[self.negatives]))
        return -(np.log(self.pos).sum() + np.log(1 - self.neg).sum()) / len(t)

    def backward(self, dout=1):
        N = len(self.t)
        dpos = dout * (self.pos - 1) / N
        dneg = dout * self.neg / N
        self.dW = np.zeros_like(self.W)
        np.add.at(self.dW, self.t, dpos[:, None] * self.h)
        np.add.at(self.dW, self.negatives, dneg[:, :, None] * self.h[:, None, :])
        dh = dpos[:, None] * self.W[self.t]
        dh += np.einsum("nk,nkd->nd", dneg, self.W[self.negatives])
        return dh


class HierarchicalSoftmax:
    """The probability of a word is a product of decisions on its path in a tree."""

    def __init__(self, W, path, code):
        self.W, self.path, self.code = W, path, code  # (nodes, D), (V, L), (V, L) of +1, -1

    def forward(self, h, t):
        self.h, self.t = h, t
        self.nodes, self.turns = self.path[t], self.code[t]
        s = np.einsum("nd,nld->nl", h, self.W[self.nodes])
        self.p = sigmoid(self.turns * s)
        return -np.log(self.p).sum() / len(t)

    def backward(self, dout=1):
        ds = (self.p - 1) * self.turns
        ds = ds * dout / len(self.t)
        self.dW = np.zeros_like(self.W)
        np.add.at(self.dW, self.nodes, ds[:, :, None] * self.h[:, None, :])
        dh = np.einsum("nl,nld->nd", ds, self.W[self.nodes])
        return dh


class MixtureOfSoftmaxes:
    """p = sum over k of pi_k softmax(tanh(h U_k) E), loss -log p[t]."""

    def __init__(self, Wpi, U, E):
        self.Wpi, self.U, self.E = Wpi, U, E  # (D, K), (K, D, M), (M, V)

    def forward(self, h, t):
        self.h, self.t = h, t
        self.pi = softmax(h @ self.Wpi)
        self.z = np.tanh(np.einsum("nd,kdm->nkm", h, self.U))
        self.p = softmax(self.z @ self.E)
        self.pt = self.p[np.arange(len(t)), :, t]
        self.total = (self.pi * self.pt).sum(axis=1)
        return -np.log(self.total).mean()

    def backward(self, dout=1):
        N, K, V = self.p.shape
        dtotal = -dout / (self.total * N)
        dpi = dtotal[:, None] * self.pt
        dspi = self.pi * (dpi - (self.pi * dpi).sum(axis=1, keepdims=True))
        dpt = dtotal[:, None] * self.pi
        onehot = np.eye(V)[self.t][:, None, :]
        ds = (dpt * self.pt)[:, :, None] * (onehot - self.p)
        self.dE = np.einsum("nkm,nkv->mv", self.z, ds)
        dz = (ds @ self.E.T) * (1 - self.z**2)
        self.dU = np.einsum("nd,nkm->kdm", self.h, dz)
        self.dWpi = self.h.T @ dspi
        dh = dspi @ self.Wpi.T
        dh = dh + np.einsum("nkm,kdm->nd", dz, self.U)
        return dh


class Reparameterisation:
    """z = mu + exp(logvar / 2) eps."""

    def __init__(self, rng):
        self.rng = rng

    def forward(self, mu, logvar):
        self.eps = self.rng.normal(size=mu.shape)
        self.sigma = np.exp(0.5 * logvar)
        return mu + self.sigma * self.eps

    def backward(self, dz):
        dmu = dz
        dsigma = dz * self.eps
        dlogvar = 0.5 * dsigma * self.sigma
        return dmu, dlogvar


class GaussianKL:
    """KL of N(mu, exp(logvar)) from N(0, 1): sum over the code, mean over N."""

    def forward(self, mu, logvar):
        self.mu, self.logvar = mu, logvar
        return -0.5 * (1 + logvar - mu**2 - np.exp(logvar)).sum() / len(mu)

    def backward(self, dout=1):
        n = len(self.mu)
        dmu = dout * self.mu / n
        dlogvar = dout * 0.5 * (np.exp(self.logvar) - 1) / n
        return dmu, dlogvar


class ChainCRF:
    """-log p(tags): log of the sum over all paths minus the score of the true one."""

    def __init__(self, A):
        self.A = A

    def forward(self, e, t):
        self.e, self.t = e, t
        N, T, K = e.shape
        rows = np.arange(N)
        alpha = e[:, 0]
        score = e[rows, 0, t[:, 0]]
        self.alphas = [alpha]
        for s in range(1, T):
            alpha = e[:, s] + np.log(np.exp(alpha[:, :, None] + self.A).sum(axis=1))
            self.alphas.append(alpha)
            score = score + e[rows, s, t[:, s]] + self.A[t[:, s - 1], t[:, s]]
        return (np.log(np.exp(alpha).sum(axis=1)) - score).mean()

    def backward(self, dout=1):
        N, T, K = self.e.shape
        rows = np.arange(N)
        de = np.zeros_like(self.e)
        self.dA = np.zeros_like(self.A)
        dalpha = softmax(self.alphas[-1]) * dout / N
        for s in range(T - 1, 0, -1):
            de[:, s] += dalpha
            scores = self.alphas[s - 1][:, :, None] + self.A
            weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            flow = weights * dalpha[:, None, :]
            self.dA += flow.sum(axis=0)
            dalpha = flow.sum(axis=2)
            de[rows, s, self.t[:, s]] -= dout / N
            np.add.at(self.dA, (self.t[:, s - 1], self.t[:, s]), -dout / N)
        de[:, 0] += dalpha
        de[rows, 0, self.t[:, 0]] -= dout / N
        return de
