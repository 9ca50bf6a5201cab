"""Layers as pairs of functions with a cache, options in a dict, losses with their gradient, a net."""

import numpy as np


def affine_forward(x, w, b):
    out = x.reshape(x.shape[0], -1).dot(w) + b
    cache = (x, w, b)
    return out, cache


def affine_backward(dout, cache):
    x, w, b = cache
    dx = dout.dot(w.T).reshape(x.shape)
    dw = x.reshape(x.shape[0], -1).T.dot(dout)
    db = np.sum(dout, axis=0)
    return dx, dw, db


def relu_forward(x):
    out = np.maximum(0, x)
    cache = x
    return out, cache


def relu_backward(dout, cache):
    x = cache
    return dout * (x > 0)


def layernorm_forward(x, gamma, beta, ln_param):
    eps = ln_param.get("eps", 1e-5)
    mu = np.mean(x, axis=1, keepdims=True)
    var = np.var(x, axis=1, keepdims=True)
    x_norm = (x - mu) / np.sqrt(var + eps)
    out = gamma * x_norm + beta
    cache = (x_norm, gamma, var, eps)
    return out, cache


def layernorm_backward(dout, cache):
    x_norm, gamma, var, eps = cache
    D = dout.shape[1]
    dbeta = dout.sum(axis=0)
    dgamma = (dout * x_norm).sum(axis=0)
    dx_norm = dout * gamma
    dx = D * dx_norm
    dx -= np.sum(dx_norm, axis=1, keepdims=True)
    dx -= x_norm * np.sum(dx_norm * x_norm, axis=1, keepdims=True)
    dx *= (1.0 / D) / np.sqrt(var + eps)
    return dx, dgamma, dbeta


def conv_forward_naive(x, w, b, conv_param):
    stride, pad = conv_param["stride"], conv_param["pad"]
    N, C, H, W = x.shape
    F, _, HH, WW = w.shape
    Hout, Wout = 1 + (H + 2 * pad - HH) // stride, 1 + (W + 2 * pad - WW) // stride
    xp = np.pad(x, ((0,), (0,), (pad,), (pad,)), "constant")
    out = np.zeros((N, F, Hout, Wout))
    for i in range(Hout):
        for j in range(Wout):
            win = xp[:, :, i * stride : i * stride + HH, j * stride : j * stride + WW]
            for f in range(F):
                out[:, f, i, j] = np.sum(win * w[f], axis=(1, 2, 3)) + b[f]
    return out, (x, w, b, conv_param)


def conv_backward_naive(dout, cache):
    x, w, b, conv_param = cache
    stride, pad = conv_param["stride"], conv_param["pad"]
    F, _, HH, WW = w.shape
    xp = np.pad(x, ((0,), (0,), (pad,), (pad,)), "constant")
    dxp, dw = np.zeros_like(xp), np.zeros_like(w)
    db = dout.sum(axis=(0, 2, 3))
    for i in range(dout.shape[2]):
        for j in range(dout.shape[3]):
            rows = slice(i * stride, i * stride + HH)
            cols = slice(j * stride, j * stride + WW)
            for f in range(F):
                grad = dout[:, f, i, j][:, None, None, None]
                dw[f] += np.sum(xp[:, :, rows, cols] * grad, axis=0)
                dxp[:, :, rows, cols] += w[f] * grad
    dx = dxp[:, :, pad:-pad, pad:-pad]
    return dx, dw, db


def spatial_groupnorm_forward(x, gamma, beta, G, gn_param):
    N, C, H, W = x.shape
    eps = gn_param.get("eps", 1e-5)
    xg = x.reshape(N * G, -1)
    mu, var = xg.mean(axis=1, keepdims=True), xg.var(axis=1, keepdims=True)
    x_hat = ((xg - mu) / np.sqrt(var + eps)).reshape(N, C, H, W)
    out = gamma * x_hat + beta
    return out, (x_hat, gamma, var, eps, G)


def spatial_groupnorm_backward(dout, cache):
    x_hat, gamma, var, eps, G = cache
    N, C, H, W = dout.shape
    dbeta = dout.sum(axis=(0, 2, 3), keepdims=True)
    dgamma = (dout * x_hat).sum(axis=(0, 2, 3), keepdims=True)
    dxh = (dout * gamma).reshape(N * G, -1)
    xh = x_hat.reshape(N * G, -1)
    m = xh.shape[1]
    dx = dxh - dxh.mean(axis=1, keepdims=True) - xh * np.sum(dxh * xh, axis=1, keepdims=True) / m
    dx = (dx / np.sqrt(var + eps)).reshape(N, C, H, W)
    return dx, dgamma, dbeta


def dropout_forward(x, dropout_param):
    p, mode = dropout_param["p"], dropout_param["mode"]
    np.random.seed(dropout_param["seed"])
    mask = (np.random.rand(*x.shape) < p) / p
    out = x * mask if mode == "train" else x
    return out, (dropout_param, mask)


def dropout_backward(dout, cache):
    dropout_param, mask = cache
    if dropout_param["mode"] == "train":
        return dout * mask
    return dout


def word_embedding_forward(x, W):
    return W[x], (x, W)


def word_embedding_backward(dout, cache):
    x, W = cache
    dW = np.zeros_like(W)
    np.add.at(dW, x, dout)
    return dW


def softmax_loss(x, y):
    shifted = x - np.max(x, axis=1, keepdims=True)
    Z = np.sum(np.exp(shifted), axis=1, keepdims=True)
    log_probs = shifted - np.log(Z)
    probs = np.exp(log_probs)
    N = x.shape[0]
    loss = -np.sum(log_probs[np.arange(N), y]) / N
    dx = probs.copy()
    dx[np.arange(N), y] -= 1
    dx /= N
    return loss, dx


def svm_loss(x, y):
    N = x.shape[0]
    right = x[np.arange(N), y]
    margins = np.maximum(0, x - right[:, None] + 1.0)
    margins[np.arange(N), y] = 0
    loss = np.sum(margins) / N
    num_pos = np.sum(margins > 0, axis=1)
    dx = np.zeros_like(x)
    dx[margins > 0] = 1
    dx[np.arange(N), y] -= num_pos
    dx /= N
    return loss, dx


class MultiHeadAttentionNet:
    """A net of one attention head and a classifier, with params and loss(X, y)."""

    def __init__(self, D, C, rng):
        self.reg = 0.1
        self.params = {
            "Wq": 0.5 * rng.normal(size=(D, D)),
            "Wv": 0.5 * rng.normal(size=(D, D)),
            "W": 0.5 * rng.normal(size=(D, C)),
            "b": 0.1 * rng.normal(size=C),
        }

    def loss(self, X, y=None):
        p = self.params
        D = X.shape[2]
        q, v = X @ p["Wq"], X @ p["Wv"]
        s = q @ X.transpose(0, 2, 1) / np.sqrt(D)
        e = np.exp(s - s.max(axis=2, keepdims=True))
        a = e / e.sum(axis=2, keepdims=True)
        h = (a @ v).mean(axis=1)
        scores = h @ p["W"] + p["b"]
        if y is None:
            return scores
        loss, dscores = softmax_loss(scores, y)
        loss += 0.5 * self.reg * np.sum(p["W"] ** 2)
        grads = {"W": h.T @ dscores + self.reg * p["W"], "b": dscores.sum(axis=0)}
        dh = dscores @ p["W"].T
        dav = np.repeat(dh[:, None], X.shape[1], axis=1) / X.shape[1]
        dv = a.transpose(0, 2, 1) @ dav
        da = dav @ v.transpose(0, 2, 1)
        ds = a * (da - (a * da).sum(axis=2, keepdims=True)) / np.sqrt(D)
        grads["Wq"] = np.einsum("ntd,nte->de", X, ds @ X)
        grads["Wv"] = np.einsum("ntd,nte->de", X, dv)
        return loss, grads
