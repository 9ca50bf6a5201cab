import numpy as np


def softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


class RelativeAttention:
    """Self-attention with a learned bias for every distance j - i."""

    def __init__(self, rel):
        self.params = {"rel": rel}
        self.grads = {"rel": np.zeros_like(rel)}

    def forward(self, q, k, v):
        T, d = q.shape[1:]
        self.idx = np.arange(T)[None, :] - np.arange(T)[:, None] + T - 1
        self.scale = np.sqrt(d)
        scores = np.matmul(q, k.transpose(0, 2, 1)) / self.scale + self.params["rel"][self.idx]
        self.probs = softmax(scores)
        self.q, self.k, self.v = q, k, v
        return np.matmul(self.probs, v)

    def backward(self, dout):
        dv = np.matmul(self.probs.transpose(0, 2, 1), dout)
        dprobs = np.matmul(dout, self.v.transpose(0, 2, 1))
        # softmax backward, row by row
        inner = np.sum(dprobs * self.probs, axis=2, keepdims=True)
        dscores = self.probs * (dprobs - inner)
        drel = np.zeros_like(self.params["rel"])
        np.add.at(drel, self.idx, dscores.sum(axis=0))
        self.grads["rel"] = drel
        dqk = dscores / self.scale
        dq = np.matmul(dqk, self.k)
        dk = np.matmul(dqk.transpose(0, 2, 1), self.q)
        return dq, dk, dv


def tempered_forward(query, keys, values, tau):
    """Attention of one query over S keys with a learned temperature tau of shape (1,)."""
    dots = np.einsum("nd,nsd->ns", query, keys)
    logits = dots / tau
    weights = softmax(logits)
    out = np.einsum("ns,nsv->nv", weights, values)
    return out, (query, keys, values, tau, dots, weights)


def tempered_backward(dout, cache):
    query, keys, values, tau, dots, weights = cache
    dweights = np.einsum("nv,nsv->ns", dout, values)
    dvalues = weights[:, :, None] * dout[:, None, :]
    dlogits = weights * (dweights - (weights * dweights).sum(axis=1, keepdims=True))
    dtau = np.array([-(dlogits * dots).sum() / tau[0] ** 2])
    ddots = dlogits / tau
    dquery = np.einsum("ns,nsd->nd", ddots, keys)
    dkeys = ddots[:, :, None] * query[:, None, :]
    return dquery, dkeys, dvalues, dtau


class LocalAttention:
    """Each step sees itself and the two steps before it; x is query, key and value."""

    def forward(self, x):
        N, T, D = x.shape
        self.x = x
        self.padded = np.concatenate([np.zeros((N, 2, D)), x], axis=1)
        self.alphas, ys = [], []
        for t in range(T):
            window = self.padded[:, t : t + 3]
            e = (window @ x[:, t][:, :, None])[:, :, 0] / np.sqrt(D)
            alpha = softmax(e)
            ys.append((alpha[:, :, None] * window).sum(axis=1))
            self.alphas.append(alpha)
        return np.stack(ys, axis=1)

    def backward(self, dy):
        N, T, D = dy.shape
        dpadded = np.zeros_like(self.padded)
        dx = np.zeros_like(self.x)
        for t in range(T):
            window, alpha = self.padded[:, t : t + 3], self.alphas[t]
            dalpha = (window @ dy[:, t][:, :, None])[:, :, 0]
            de = alpha * (dalpha - (alpha * dalpha).sum(axis=1, keepdims=True)) / np.sqrt(D)
            dx[:, t] = (de[:, :, None] * window).sum(axis=1)
            dwindow = alpha[:, :, None] * dy[:, t][:, None]
            dwindow += de[:, :, None] * self.x[:, t][:, None]
            dpadded[:, t : t + 3] += dwindow
        return dx + dpadded[:, 2:]


class LinearAttention:
    """out = phi(Q) (phi(K)^T V) / (phi(Q) sum phi(K)), phi = elu + 1."""

    @staticmethod
    def phi(x):
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))

    @staticmethod
    def dphi(x):
        return np.where(x > 0, 1.0, np.exp(np.minimum(x, 0)))

    def forward(self, Q, K, V):
        self.Q, self.K, self.V = Q, K, V
        self.fq, self.fk = self.phi(Q), self.phi(K)
        self.S = np.einsum("nkd,nkv->ndv", self.fk, V)
        self.z = self.fk.sum(axis=1)
        self.den = np.einsum("nqd,nd->nq", self.fq, self.z)[:, :, None]
        self.out = np.einsum("nqd,ndv->nqv", self.fq, self.S) / self.den
        return self.out

    def backward(self, dout):
        dnum = dout / self.den
        dden = -(dout * self.out).sum(axis=2) / self.den[:, :, 0]
        dfq = np.einsum("nqv,ndv->nqd", dnum, self.S)
        dfq += dden[:, :, None] * self.z[:, None, :]
        dS = np.einsum("nqd,nqv->ndv", self.fq, dnum)
        dz = np.einsum("nqd,nq->nd", self.fq, dden)
        dfk = np.einsum("ndv,nkv->nkd", dS, self.V)
        dfk += dz[:, None, :]
        dV = np.einsum("nkd,ndv->nkv", self.fk, dS)
        dQ = dfq * self.dphi(self.Q)
        dK = dfk * self.dphi(self.K)
        return dQ, dK, dV


class MemoryHop:
    """One hop of a memory network: p = softmax(u . mA), o = p (mC), next u = u R + o."""

    def __init__(self, A, C, R):
        self.A, self.C, self.R = A, C, R

    def forward(self, u, m):
        self.u, self.m = u, m
        self.a = m @ self.A
        self.c = m @ self.C
        self.p = softmax((self.a * u[:, None]).sum(axis=2))
        o = (self.p[:, :, None] * self.c).sum(axis=1)
        return u @ self.R + o

    def backward(self, dout):
        dc = self.p[:, :, None] * dout[:, None]
        dp = (self.c * dout[:, None]).sum(axis=2)
        ds = self.p * (dp - (dp * self.p).sum(axis=1, keepdims=True))
        da = ds[:, :, None] * self.u[:, None]
        du = dout @ self.R.T
        du += (ds[:, :, None] * self.a).sum(axis=1)
        self.dR = self.u.T @ dout
        self.dA = np.tensordot(self.m, da, axes=([0, 1], [0, 1]))
        self.dC = np.tensordot(self.m, dc, axes=([0, 1], [0, 1]))
        dm = dc @ self.C.T
        dm += da @ self.A.T
        return du, dm


class CopyGate:
    """p = g softmax(h V) + (1 - g) (attention moved to the words of the source)."""

    def __init__(self, V, w):
        self.V, self.w = V, w

    def forward(self, h, a, words):
        N, S = words.shape
        self.h, self.a, self.words = h, a, words
        self.vocab = softmax(h @ self.V)
        self.attn = softmax(a)
        self.copied = 0 * self.vocab
        for n in range(N):
            for s in range(S):
                self.copied[n, words[n, s]] += self.attn[n, s]
        self.g = 1 / (1 + np.exp(-(h @ self.w)))[:, None]
        return self.g * self.vocab + (1 - self.g) * self.copied

    def backward(self, dp):
        rows = np.arange(len(dp))[:, None]
        dvocab = dp * self.g
        dcopied = dp * (1 - self.g)
        dg = (dp * (self.vocab - self.copied)).sum(axis=1)
        g = self.g[:, 0]
        dgate = dg * g * (1 - g)
        dlogit = self.vocab * (dvocab - (dvocab * self.vocab).sum(axis=1, keepdims=True))
        dattn = dcopied[rows, self.words]
        da = self.attn * (dattn - (dattn * self.attn).sum(axis=1, keepdims=True))
        self.dV = self.h.T @ dlogit
        self.dw = self.h.T @ dgate
        dh = dlogit @ self.V.T
        dh += dgate[:, None] * self.w
        return dh, da


class LuongDecoderTop:
    """c = attention(h Wa, memory), out = tanh([c, h] Wc)."""

    def __init__(self, Wa, Wc):
        self.params = [Wa, Wc]
        self.grads = [np.zeros_like(Wa), np.zeros_like(Wc)]

    def forward(self, h, hs):
        Wa, Wc = self.params
        hW = h @ Wa
        align = softmax((hs * hW[:, None, :]).sum(axis=2))
        c = (hs * align[:, :, None]).sum(axis=1)
        cat = np.hstack((c, h))
        out = np.tanh(cat @ Wc)
        self.cache = h, hs, hW, align, cat, out
        return out

    def backward(self, dout):
        Wa, Wc = self.params
        h, hs, hW, align, cat, out = self.cache
        H = h.shape[1]
        dpre = dout * (1 - out**2)
        self.grads[1][...] = cat.T @ dpre
        dcat = dpre @ Wc.T
        dc, dh = dcat[:, :H], dcat[:, H:]
        dalign = (hs * dc[:, None, :]).sum(axis=2)
        dhs = align[:, :, None] * dc[:, None, :]
        dscore = align * (dalign - (dalign * align).sum(axis=1, keepdims=True))
        dhs += dscore[:, :, None] * hW[:, None, :]
        dhW = (dscore[:, :, None] * hs).sum(axis=1)
        self.grads[0][...] = h.T @ dhW
        dh = dh + dhW @ Wa.T
        return dh, dhs


class Rotary:
    """Turns the pair (x_i, x_(i + D/2)) of step t by the angle t * 10000^(-2i/D)."""

    def forward(self, x):
        T, D = x.shape[1:]
        angle = np.arange(1, T + 1)[:, None] * 10000.0 ** (-2 * np.arange(D // 2) / D)
        self.cos, self.sin = np.cos(angle), np.sin(angle)
        a, b = x[..., : D // 2], x[..., D // 2 :]
        return np.concatenate([a * self.cos - b * self.sin, a * self.sin + b * self.cos], axis=-1)

    def backward(self, dy):
        half = dy.shape[-1] // 2
        da, db = dy[..., :half], dy[..., half:]
        dx1 = da * self.cos + db * self.sin
        dx2 = db * self.cos - da * self.sin
        return np.concatenate([dx1, dx2], axis=-1)
