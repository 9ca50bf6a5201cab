"""Each function gives its output and a function from the output's gradient to the inputs' ones."""

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def relu(X):
    Y = np.maximum(X, 0)

    def backprop(dY):
        return dY * (Y > 0)

    return Y, backprop


def linear(X, W, b):
    Y = X @ W + b

    def finish(dY):
        return dY @ W.T, X.T @ dY, dY.sum(axis=0)

    return Y, finish


def layernorm(X, G, b):
    N = X.shape[1]
    mu, var = X.mean(axis=1, keepdims=True), X.var(axis=1, keepdims=True) + 1e-5
    Xhat = (X - mu) * var**-0.5

    def backprop(dY):
        dG, db = (dY * Xhat).sum(axis=0), dY.sum(axis=0)
        dXhat = dY * G
        dX = N * dXhat - dXhat.sum(axis=1, keepdims=True)
        dX -= Xhat * (dXhat * Xhat).sum(axis=1, keepdims=True)
        return dX * var**-0.5 / N, dG, db

    return Xhat * G + b, backprop


def maxout(X, W, b):
    """The largest of P pieces: X (N, I), W (I, O, P), b (O, P)."""
    Z = np.einsum("ni,iop->nop", X, W) + b
    which = Z.argmax(axis=2)

    def backprop(dY):
        dZ = np.zeros_like(Z)
        np.put_along_axis(dZ, which[:, :, None], dY[:, :, None], axis=2)
        dX = np.einsum("nop,iop->ni", dZ, W)
        dW = np.einsum("ni,nop->iop", X, dZ)
        return dX, dW, dZ.sum(axis=0)

    return Z.max(axis=2), backprop


def attention(q, k, v):
    c = q.shape[-1] ** -0.5
    p = softmax(c * q @ np.swapaxes(k, -1, -2))

    def vjp(g):
        gv = np.swapaxes(p, -1, -2) @ g
        gp = g @ np.swapaxes(v, -1, -2)
        gs = c * p * (gp - (p * gp).sum(axis=-1, keepdims=True))
        gq = gs @ k
        gk = np.swapaxes(gs, -1, -2) @ q
        return gq, gk, gv

    return p @ v, vjp


def expand_window(X):
    """Each word with its two neighbours: (T, D) to (T, 3 D), zeros at the ends."""
    T, D = X.shape
    Y = np.zeros((T, 3, D))
    Y[1:, 0], Y[:, 1], Y[:-1, 2] = X[:-1], X, X[1:]

    def backprop(dY):
        dY = dY.reshape(T, 3, D)
        dX = dY[:, 1].copy()
        dX[:-1] += dY[1:, 0]
        dX[1:] += dY[:-1, 2]
        return dX

    return Y.reshape(T, 3 * D), backprop


def conv2d(x, w):
    """No pad, stride 1: x (N, C, H, W), w (F, C, K, K)."""
    K = w.shape[2]
    H, W = x.shape[2] - K + 1, x.shape[3] - K + 1
    places = [(i, j) for i in range(K) for j in range(K)]
    parts = [(x[:, :, i : i + H, j : j + W], w[:, :, i, j]) for i, j in places]
    y = sum(np.einsum("nchw,fc->nfhw", part, tap) for part, tap in parts)

    def vjp(dy):
        dx, dw = np.zeros_like(x), np.zeros_like(w)
        for i, j in places:
            dx[:, :, i : i + H, j : j + W] += np.einsum("nfhw,fc->nchw", dy, w[:, :, i, j])
            dw[:, :, i, j] = np.einsum("nfhw,nchw->fc", dy, x[:, :, i : i + H, j : j + W])
        return dx, dw

    return y, vjp


def residual(layer):
    """A function that adds its input to a layer's output."""

    def forward(X, *weights):
        Y, backprop = layer(X, *weights)

        def backward(dY):
            dX, *dweights = backprop(dY)
            return (dX + dY, *dweights)

        return X + Y, backward

    return forward


def mean_pool(X, lengths):
    """The mean of each of several sequences that are laid end to end."""
    ends = np.cumsum(lengths)
    Y = np.stack([X[e - n : e].mean(axis=0) for e, n in zip(ends, lengths)])

    def backprop(dY):
        return np.concatenate([np.repeat(d[None] / n, n, axis=0) for d, n in zip(dY, lengths)])

    return Y, backprop
