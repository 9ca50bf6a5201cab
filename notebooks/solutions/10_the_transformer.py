"""Solutions of lesson 10; the builder folds each below its exercise."""

import numpy as np

from deepnlp.lessons.exercises import check


# %%
# Solution 10.1
def head_solution(q, k, v):
    T, d = q.shape
    o = np.zeros(v.shape)
    for t in range(T):
        e = q[t] @ k[: t + 1].T / np.sqrt(d)  # the scores of positions 0 to t
        a = np.exp(e - e.max())
        o[t] = a / a.sum() @ v[: t + 1]
    return o


check("10.1", head_solution)


# %%
# Solution 10.2
def split_solution(x, heads):
    N, T, D = x.shape
    return x.reshape(N, T, heads, D // heads).transpose(0, 2, 1, 3)


check("10.2", split_solution)


# %%
# Solution 10.3
class HeadsSolution:
    def forward(self, q, k, v):
        self.q, self.k, self.v = q, k, v
        T, d = q.shape[-2:]
        e = q @ k.swapaxes(-1, -2) / d**0.5  # np.sqrt(d) would make float64 of float32
        e = np.where(np.tri(T, dtype=bool), e, -np.inf)
        e = np.exp(e - e.max(axis=-1, keepdims=True))
        self.a = e / e.sum(axis=-1, keepdims=True)
        return self.a @ v

    def backward(self, do):
        a, scale = self.a, self.q.shape[-1] ** -0.5
        # o_t = sum_s a_ts v_s
        da = do @ self.v.swapaxes(-1, -2)
        dv = a.swapaxes(-1, -2) @ do
        # a_t = softmax(e_t); where a is 0, de is 0
        de = a * (da - np.sum(a * da, axis=-1, keepdims=True))
        # e_ts = scale q_t . k_s
        dq = de @ self.k * scale
        dk = de.swapaxes(-1, -2) @ self.q * scale
        return dq, dk, dv


check("10.3", HeadsSolution)

# %%
# Solution 10.4
output_of_dog = "the same"
check("10.4", output_of_dog)


# %%
# Solution 10.5
class RotationSolution:
    def __init__(self, angles):
        self.cos, self.sin = np.cos(angles), np.sin(angles)

    def turn(self, x, sin):
        u, w = np.split(x, 2, axis=-1)
        return np.concatenate([u * self.cos - w * sin, u * sin + w * self.cos], axis=-1)

    def forward(self, x):
        return self.turn(x, self.sin)

    def backward(self, dy):
        return self.turn(dy, -self.sin)  # the transpose of a rotation


check("10.5", RotationSolution)


# %%
# Solution 10.6
class LayerNormSolution:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        self.sigma = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        self.xhat = centred / self.sigma
        return self.g * self.xhat + self.b

    def backward(self, dy):
        xhat = self.xhat
        # y = g xhat + b, at every position
        self.dg = (dy * xhat).sum(axis=(0, 1))
        self.db = dy.sum(axis=(0, 1))
        dxhat = self.g * dy
        # xhat = (x - mean) / sigma
        of_mean = dxhat.mean(axis=-1, keepdims=True)
        of_sigma = xhat * (dxhat * xhat).mean(axis=-1, keepdims=True)
        return (dxhat - of_mean - of_sigma) / self.sigma


check("10.6", LayerNormSolution)


# %%
# Solution 10.7
class BlockSolution:
    def __init__(self, norm1, attention, norm2, feed_forward):
        self.norm1, self.attention = norm1, attention
        self.norm2, self.feed_forward = norm2, feed_forward

    def forward(self, x):
        h = x + self.attention.forward(self.norm1.forward(x))
        return h + self.feed_forward.forward(self.norm2.forward(h))

    def backward(self, dy):
        # y = h + feed_forward(norm2(h))
        dh = dy + self.norm2.backward(self.feed_forward.backward(dy))
        # h = x + attention(norm1(x))
        return dh + self.norm1.backward(self.attention.backward(dh))


check("10.7", BlockSolution)

# %%
# Solution 10.8
arrangement = "norm first"
check("10.8", arrangement)
