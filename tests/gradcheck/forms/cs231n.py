"""Pairs of functions with a cache, functions of a loss, a net with params: as in CS231n."""

# ruff: noqa

import numpy as np


def affine_forward(x, w, b):
    out = x.reshape(x.shape[0], -1) @ w + b
    return out, (x, w, b)


def affine_backward(dout, cache):
    x, w, b = cache
    dx = (dout @ w.T).reshape(x.shape)
    dw = x.reshape(x.shape[0], -1).T @ dout
    db = dout.sum(axis=0)
    return dx, dw, db


def batchnorm_forward(x, gamma, beta, bn_param):
    mode, eps = bn_param["mode"], bn_param.get("eps", 1e-5)
    running_mean = bn_param.get("running_mean", np.zeros(x.shape[1]))
    mean, var = x.mean(axis=0), x.var(axis=0)
    if mode == "test":
        mean, var = running_mean, np.ones(x.shape[1])
    x_hat = (x - mean) / np.sqrt(var + eps)
    bn_param["running_mean"] = 0.9 * running_mean + 0.1 * mean
    return gamma * x_hat + beta, (x_hat, gamma, var, eps)


def batchnorm_backward(dout, cache):
    x_hat, gamma, var, eps = cache
    N = len(dout)
    dgamma, dbeta = (dout * x_hat).sum(axis=0), dout.sum(axis=0)
    dx_hat = dout * gamma
    dx = (N * dx_hat - dx_hat.sum(axis=0) - x_hat * (dx_hat * x_hat).sum(axis=0)) / N
    return dx / np.sqrt(var + eps), dgamma, dbeta


def conv_forward_naive(x, w, b, conv_param):
    stride, pad = conv_param["stride"], conv_param["pad"]
    N, C, H, W = x.shape
    F, _, HH, WW = w.shape
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    H2, W2 = 1 + (H + 2 * pad - HH) // stride, 1 + (W + 2 * pad - WW) // stride
    out = np.zeros((N, F, H2, W2))
    for i in range(H2):
        for j in range(W2):
            part = padded[:, :, i * stride : i * stride + HH, j * stride : j * stride + WW]
            out[:, :, i, j] = np.tensordot(part, w, axes=((1, 2, 3), (1, 2, 3))) + b
    return out, (x, w, b, conv_param)


def conv_backward_naive(dout, cache):
    x, w, b, conv_param = cache
    stride, pad = conv_param["stride"], conv_param["pad"]
    HH, WW = w.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    dpadded, dw = np.zeros_like(padded), np.zeros_like(w)
    for i in range(dout.shape[2]):
        for j in range(dout.shape[3]):
            rows, columns = slice(i * stride, i * stride + HH), slice(j * stride, j * stride + WW)
            dw += np.tensordot(dout[:, :, i, j], padded[:, :, rows, columns], axes=(0, 0))
            dpadded[:, :, rows, columns] += np.tensordot(dout[:, :, i, j], w, axes=(1, 0))
    dx = dpadded[:, :, pad : dpadded.shape[2] - pad, pad : dpadded.shape[3] - pad]
    return dx, dw, dout.sum(axis=(0, 2, 3))


def rnn_step_forward(x, prev_h, Wx, Wh, b):
    next_h = np.tanh(x @ Wx + prev_h @ Wh + b)
    return next_h, (x, prev_h, Wx, Wh, next_h)


def rnn_step_backward(dnext_h, cache):
    x, prev_h, Wx, Wh, next_h = cache
    da = dnext_h * (1 - next_h**2)
    return da @ Wx.T, da @ Wh.T, x.T @ da, prev_h.T @ da, da.sum(axis=0)


def rnn_forward(x, h0, Wx, Wh, b):
    h, prev, caches = np.empty((*x.shape[:2], len(b))), h0, []
    h = h.astype(x.dtype)
    for t in range(x.shape[1]):
        prev, cache = rnn_step_forward(x[:, t], prev, Wx, Wh, b)
        h[:, t] = prev
        caches.append(cache)
    return h, caches


def rnn_backward(dh, cache):
    x, prev_h, Wx, Wh, _ = cache[0]
    dx, dWx, dWh, db = np.zeros((*dh.shape[:2], len(Wx))), 0, 0, 0
    dprev = np.zeros_like(prev_h)
    for t in reversed(range(dh.shape[1])):
        dx[:, t], dprev, dwx, dwh, dbt = rnn_step_backward(dh[:, t] + dprev, cache[t])
        dWx, dWh, db = dWx + dwx, dWh + dwh, db + dbt
    return dx, dprev, dWx, dWh, db


def word_embedding_forward(x, W):
    return W[x], (x, W.shape)


def word_embedding_backward(dout, cache):
    x, shape = cache
    dW = np.zeros(shape)
    np.add.at(dW, x, dout)
    return dW


def softmax_loss_naive(W, X, y, reg):
    scores = X @ W
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    n = np.arange(len(X))
    loss = -np.log(p[n, y]).mean() + reg * (W**2).sum()
    p[n, y] -= 1
    dW = X.T @ p / len(X) + 2 * reg * W
    return loss, dW


def svm_loss(x, y):
    n = np.arange(len(x))
    margins = np.maximum(0, x - x[n, y][:, None] + 1.0)
    margins[n, y] = 0
    loss = margins.sum() / len(x)
    num_pos = (margins > 0).sum(axis=1)
    dx = (margins > 0).astype(x.dtype)
    dx[n, y] -= num_pos
    return loss, dx / len(x)


class TwoLayerNet:
    def __init__(self, D, H, C, rng):
        self.params = {"W1": rng.normal(size=(D, H)), "b1": np.zeros(H)}
        self.params |= {"W2": rng.normal(size=(H, C)), "b2": np.zeros(C)}
        self.reg = 0.1

    def loss(self, X, y=None):
        W1, b1, W2, b2 = (self.params[k] for k in ("W1", "b1", "W2", "b2"))
        h, cache1 = affine_forward(X, W1, b1)
        r = np.maximum(0, h)
        scores, cache2 = affine_forward(r, W2, b2)
        if y is None:
            return scores
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        n = np.arange(len(X))
        loss = -np.log(p[n, y]).mean() + 0.5 * self.reg * ((W1**2).sum() + (W2**2).sum())
        dscores = p.copy()
        dscores[n, y] -= 1
        grads = {}
        dr, grads["W2"], grads["b2"] = affine_backward(dscores / len(X), cache2)
        _, grads["W1"], grads["b1"] = affine_backward(dr * (h > 0), cache1)
        grads["W1"] += self.reg * W1
        grads["W2"] += self.reg * W2
        return loss, grads


def examples(rng):
    normal = lambda *shape: rng.normal(size=shape)
    y = np.array([0, 2, 1, 1, 0])
    return {
        "affine": ((affine_forward, affine_backward), normal(5, 2, 3), normal(6, 4), normal(4)),
        "batchnorm": (
            (batchnorm_forward, batchnorm_backward), normal(5, 4), np.ones(4), np.zeros(4),
            {"mode": "train"},
        ),
        "conv": (
            (conv_forward_naive, conv_backward_naive), normal(2, 3, 5, 5), normal(4, 3, 3, 3),
            normal(4), {"stride": 2, "pad": 1},
        ),
        "rnn_step": (
            (rnn_step_forward, rnn_step_backward), normal(3, 4), normal(3, 5), normal(4, 5),
            normal(5, 5), normal(5),
        ),
        "rnn": (
            (rnn_forward, rnn_backward), normal(2, 3, 4), normal(2, 5), normal(4, 5), normal(5, 5),
            normal(5),
        ),
        "word_embedding": (
            (word_embedding_forward, word_embedding_backward), np.array([[0, 2, 2], [1, 0, 4]]),
            normal(5, 3),
        ),
        "softmax": (softmax_loss_naive, normal(4, 3), normal(5, 4), y, 0.2),
        "svm": (svm_loss, normal(5, 3), y),
        "net": (TwoLayerNet(4, 6, 3, rng).loss, normal(5, 4), y),
    }  # fmt: skip


MISTAKES = [
    ("affine", "db = dout.sum(axis=0)", "db = dout.mean(axis=0)"),
    ("affine", "return dx, dw, db", "return dx, -dw, db"),
    ("batchnorm", "dx_hat = dout * gamma", "dx_hat = dout"),
    ("batchnorm", "- dx_hat.sum(axis=0) -", "-"),
    ("conv", "dpadded[:, :, rows, columns] += np", "dpadded[:, :, rows, columns] = np"),
    ("conv", "dout.sum(axis=(0, 2, 3))", "dout.sum(axis=(2, 3))[0]"),
    ("rnn_step", "1 - next_h**2", "1 - next_h"),
    ("rnn", "dh[:, t] + dprev", "dh[:, t]"),
    ("rnn", "db + dbt", "dbt"),
    ("word_embedding", "np.add.at(dW, x, dout)", "dW[x] += dout"),
    ("softmax", "+ 2 * reg * W", "+ reg * W"),
    ("svm", "dx[n, y] -= num_pos", "dx[n, y] -= 1"),
    ("net", 'grads["W1"] += self.reg * W1', 'grads["W1"] += 2 * self.reg * W1'),
    ("net", 'grads["b1"] = affine', "_ = affine"),
]
