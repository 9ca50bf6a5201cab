import numpy as np


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True).real)
    return e / e.sum(axis=-1, keepdims=True)


class DotAttention:
    """Context of each query over a memory, scaled by sqrt(d)."""

    def forward(self, q, m):
        self.scale = 1 / np.sqrt(q.shape[-1])
        self.q, self.m = q, m
        self.a = softmax(np.einsum("nqd,nkd->nqk", q, m) * self.scale)
        return np.einsum("nqk,nkd->nqd", self.a, m)

    def backward(self, dc):
        da = np.einsum("nqd,nkd->nqk", dc, self.m)
        dm = np.einsum("nqk,nqd->nkd", self.a, dc)
        ds = self.a * (da - (da * self.a).sum(axis=-1, keepdims=True))
        ds = ds * self.scale
        dq = np.einsum("nqk,nkd->nqd", ds, self.m)
        dm += np.einsum("nqk,nqd->nkd", ds, self.q)
        return dq, dm


class MultiHeadSelfAttention:
    """Each step looks at itself and at earlier steps."""

    def __init__(self, Wq, Wk, Wv, Wo, heads):
        self.Wq, self.Wk, self.Wv, self.Wo, self.heads = Wq, Wk, Wv, Wo, heads

    def _split(self, z):
        N, T, D = z.shape
        return z.reshape(N, T, self.heads, D // self.heads).transpose(0, 2, 1, 3)

    def _join(self, z):
        N, A, T, d = z.shape
        return z.transpose(0, 2, 1, 3).reshape(N, T, A * d)

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self._split(x @ self.Wq), self._split(x @ self.Wk), self._split(x @ self.Wv)
        future = np.triu(np.ones((T, T), dtype=bool), 1)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        scores = np.where(future, -1e9, scores)
        probs = softmax(scores)
        joined = self._join(probs @ v)
        self.cache = (x, q, k, v, future, probs, joined)
        return joined @ self.Wo

    def backward(self, dout):
        x, q, k, v, future, probs, joined = self.cache
        self.dWo = np.einsum("nti,ntj->ij", joined, dout)
        dheads = self._split(dout @ self.Wo.T)
        dprobs = dheads @ v.swapaxes(-1, -2)
        dv = probs.swapaxes(-1, -2) @ dheads
        dscores = probs * (dprobs - np.sum(dprobs * probs, axis=-1, keepdims=True))
        dscores = dscores / np.sqrt(q.shape[-1])
        dq = self._join(dscores @ k)
        dk = self._join(dscores.swapaxes(-1, -2) @ q)
        dv = self._join(dv)
        self.dWq = np.einsum("nti,ntj->ij", x, dq)
        self.dWk = np.einsum("nti,ntj->ij", x, dk)
        self.dWv = np.einsum("nti,ntj->ij", x, dv)
        dx = dq @ self.Wq.T + dk @ self.Wk.T + dv @ self.Wv.T
        return dx


class AdditiveAttention:
    """One query h for each memory: score v . tanh(h Wh + m Wm)."""

    def __init__(self, Wh, Wm, v):
        self.Wh, self.Wm, self.v = Wh, Wm, v

    def forward(self, h, m):
        self.h, self.m = h, m
        self.e = np.tanh((h @ self.Wh)[:, None, :] + m @ self.Wm)
        self.a = softmax(self.e @ self.v)
        return (self.a[:, :, None] * m).sum(axis=1)

    def backward(self, dc):
        da = (dc[:, None, :] * self.m).sum(axis=2)
        ds = self.a * (da - (da * self.a).sum(axis=1, keepdims=True))
        self.dv = np.einsum("nt,nth->h", ds, self.e)
        de = ds[:, :, None] * self.v
        dz = de * (1 - self.e**2)
        dzh = dz.sum(axis=1)
        self.dWh = self.h.T @ dzh
        self.dWm = np.einsum("ntd,nth->dh", self.m, dz)
        dh = dzh @ self.Wh.T
        dm = self.a[:, :, None] * dc[:, None, :]
        dm = dm + dz @ self.Wm.T
        return dh, dm
