"""What lesson 11 puts together: the solutions of lesson 10, an affine layer, GELU and a chain."""

import numpy as np


class Heads:
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


class Rotation:
    def __init__(self, angles):
        self.cos, self.sin = np.cos(angles), np.sin(angles)

    def turn(self, x, sin):
        u, w = np.split(x, 2, axis=-1)
        return np.concatenate([u * self.cos - w * sin, u * sin + w * self.cos], axis=-1)

    def forward(self, x):
        return self.turn(x, self.sin)

    def backward(self, dy):
        return self.turn(dy, -self.sin)  # the transpose of a rotation


class LayerNorm:
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


class Block:
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


class Linear:  # of lesson 1, for any number of axes
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        rows = dy.reshape(-1, dy.shape[-1])
        self.dW, self.db = self.x.reshape(len(rows), -1).T @ rows, rows.sum(axis=0)
        return dy @ self.W.T


class GELU:
    def forward(self, x):
        self.x, self.t = x, np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))
        return 0.5 * x * (1 + self.t)

    def backward(self, dy):
        x, t = self.x, self.t
        slope = (2 / np.pi) ** 0.5 * (1 + 3 * 0.044715 * x**2)  # of what tanh is taken of
        return dy * 0.5 * (1 + t + x * (1 - t**2) * slope)


class Chain:
    def __init__(self, *layers):
        self.layers = layers

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, dy):
        for layer in reversed(self.layers):
            dy = layer.backward(dy)
        return dy


def linear(rng, D, M, std=0.02):
    """A fresh affine layer (D, M) in float32."""
    return Linear(rng.normal(0, std, (D, M)).astype("float32"), np.zeros(M, "float32"))
