"""Weights and gradients in dicts, samples in columns, as in the courses of deeplearning.ai."""

# ruff: noqa

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)


def linear_forward(A, W, b):
    return W @ A + b, (A, W, b)


def linear_backward(dZ, cache):
    A_prev, W, b = cache
    m = A_prev.shape[1]
    dW = 1 / m * dZ @ A_prev.T
    db = 1 / m * np.sum(dZ, axis=1, keepdims=True)
    dA_prev = W.T @ dZ
    return dA_prev, dW, db


def relu(Z):
    A = np.maximum(0, Z)
    return A, Z


def relu_backward(dA, cache):
    Z = cache
    dZ = np.array(dA, copy=True)
    dZ[Z <= 0] = 0
    return dZ


def propagate(w, b, X, Y):
    m = X.shape[1]
    A = sigmoid(w.T @ X + b)
    cost = -1 / m * (Y * np.log(A) + (1 - Y) * np.log(1 - A)).sum()
    dw = 1 / m * X @ (A - Y).T
    db = 1 / m * np.sum(A - Y)
    return {"dw": dw, "db": db}, np.squeeze(np.array(cost))


def rnn_cell_forward(xt, a_prev, parameters):
    Wax, Waa, Wya, ba, by = (parameters[k] for k in ("Wax", "Waa", "Wya", "ba", "by"))
    a_next = np.tanh(Wax @ xt + Waa @ a_prev + ba)
    yt_pred = softmax(Wya @ a_next + by)
    return a_next, yt_pred, (a_next, a_prev, xt, parameters)


def rnn_cell_backward(da_next, cache):
    a_next, a_prev, xt, parameters = cache
    dtanh = (1 - a_next**2) * da_next
    dxt = parameters["Wax"].T @ dtanh
    dWax = dtanh @ xt.T
    da_prev = parameters["Waa"].T @ dtanh
    dWaa = dtanh @ a_prev.T
    dba = np.sum(dtanh, axis=1, keepdims=True)
    return {"dxt": dxt, "da_prev": da_prev, "dWax": dWax, "dWaa": dWaa, "dba": dba}


def rnn_forward(x, a0, parameters):
    caches, a = [], np.zeros((len(a0), *x.shape[1:]), dtype=x.dtype)
    y_pred, a_next = [], a0
    for t in range(x.shape[2]):
        a_next, yt, cache = rnn_cell_forward(x[:, :, t], a_next, parameters)
        a[:, :, t] = a_next
        y_pred.append(yt)
        caches.append(cache)
    return a, np.stack(y_pred, axis=2), (caches, x)


def rnn_backward(da, caches):
    cells, x = caches
    dx, sums, da_prevt = np.zeros(x.shape), {}, np.zeros(da.shape[:2])
    for t in reversed(range(x.shape[2])):
        gradients = rnn_cell_backward(da[:, :, t] + da_prevt, cells[t])
        da_prevt = gradients["da_prev"]
        dx[:, :, t] = gradients["dxt"]
        for key in ("dWax", "dWaa", "dba"):
            sums[key] = sums.get(key, 0) + gradients[key]
    return {"dx": dx, "da0": da_prevt, **sums}


def lstm_cell_forward(xt, a_prev, c_prev, parameters):
    concat = np.concatenate([a_prev, xt])
    gate = lambda k: parameters[f"W{k}"] @ concat + parameters[f"b{k}"]
    ft, it, cct, ot = sigmoid(gate("f")), sigmoid(gate("i")), np.tanh(gate("c")), sigmoid(gate("o"))
    c_next = ft * c_prev + it * cct
    a_next = ot * np.tanh(c_next)
    yt_pred = softmax(parameters["Wy"] @ a_next + parameters["by"])
    return (
        a_next,
        c_next,
        yt_pred,
        (a_next, c_next, a_prev, c_prev, ft, it, cct, ot, xt, parameters),
    )


def lstm_cell_backward(da_next, dc_next, cache):
    a_next, c_next, a_prev, c_prev, ft, it, cct, ot, xt, parameters = cache
    n_a = len(a_next)
    dot = da_next * np.tanh(c_next) * ot * (1 - ot)
    dc = dc_next + ot * (1 - np.tanh(c_next) ** 2) * da_next
    dcct = dc * it * (1 - cct**2)
    dit = dc * cct * it * (1 - it)
    dft = dc * c_prev * ft * (1 - ft)
    concat = np.concatenate([a_prev, xt])
    gradients, dconcat = {}, 0
    for k, d in (("f", dft), ("i", dit), ("c", dcct), ("o", dot)):
        gradients[f"dW{k}"] = d @ concat.T
        gradients[f"db{k}"] = d.sum(axis=1, keepdims=True)
        dconcat = dconcat + parameters[f"W{k}"].T @ d
    return {**gradients, "da_prev": dconcat[:n_a], "dxt": dconcat[n_a:], "dc_prev": dc * ft}


def conv_forward(A_prev, W, b, hparameters):
    s, p, f = hparameters["stride"], hparameters["pad"], len(W)
    A = np.pad(A_prev, ((0, 0), (p, p), (p, p), (0, 0)))
    n = (A.shape[1] - f) // s + 1
    Z = np.zeros((len(A), n, n, W.shape[3]))
    for h in range(n):
        for w in range(n):
            part = A[:, h * s : h * s + f, w * s : w * s + f]
            Z[:, h, w] = np.tensordot(part, W, axes=3) + b.reshape(-1)
    return Z, (A_prev, W, b, hparameters)


def conv_backward(dZ, cache):
    A_prev, W, b, hparameters = cache
    s, p, f = hparameters["stride"], hparameters["pad"], len(W)
    A = np.pad(A_prev, ((0, 0), (p, p), (p, p), (0, 0)))
    dA, dW, db = np.zeros_like(A), np.zeros_like(W), np.zeros_like(b)
    for h in range(dZ.shape[1]):
        for w in range(dZ.shape[2]):
            part = A[:, h * s : h * s + f, w * s : w * s + f]
            dA[:, h * s : h * s + f, w * s : w * s + f] += np.tensordot(dZ[:, h, w], W, (1, 3))
            dW += np.tensordot(part, dZ[:, h, w], axes=(0, 0))
            db += dZ[:, h, w].sum(axis=0)
    return dA[:, p:-p, p:-p], dW, db


def examples(rng):
    normal = lambda *shape: rng.normal(size=shape)
    rnn = {
        "Wax": normal(5, 3),
        "Waa": normal(5, 5),
        "Wya": normal(2, 5),
        "ba": normal(5, 1),
        "by": normal(2, 1),
    }
    lstm = {f"W{k}": normal(5, 8) for k in "fico"} | {f"b{k}": normal(5, 1) for k in "fico"}
    lstm |= {"Wy": normal(2, 5), "by": normal(2, 1)}
    return {
        "linear": ((linear_forward, linear_backward), normal(3, 5), normal(4, 3), normal(4, 1)),
        "relu": ((relu, relu_backward), normal(3, 5)),
        "propagate": (propagate, normal(3, 1), 0.5, normal(3, 5), np.array([[1, 0, 1, 1, 0]])),
        "rnn_cell": ((rnn_cell_forward, rnn_cell_backward), normal(3, 4), normal(5, 4), rnn),
        "rnn": ((rnn_forward, rnn_backward), normal(3, 4, 6), normal(5, 4), rnn),
        "lstm_cell": ((lstm_cell_forward, lstm_cell_backward), normal(3, 4), normal(5, 4),
                      normal(5, 4), lstm),
        "conv": ((conv_forward, conv_backward), normal(2, 4, 4, 3), normal(2, 2, 3, 5),
                 normal(1, 1, 1, 5), {"stride": 1, "pad": 1}),
    }  # fmt: skip


MISTAKES = [
    ("linear", "db = 1 / m * np.sum(dZ", "db = np.sum(dZ"),
    ("linear", "dA_prev = W.T @ dZ", "dA_prev = W.T @ dZ / m"),
    ("relu", "dZ[Z <= 0] = 0", "dZ[dA <= 0] = 0"),
    ("propagate", "dw = 1 / m * X", "dw = X"),
    ("rnn_cell", "dWax = dtanh @ xt.T", "dWax = np.full((5, 3), 7.0)"),
    ("rnn_cell", '"dWaa": dWaa, ', '"dWaa": None, '),
    ("rnn_cell", ', "dba": dba}', "}"),
    ("rnn_cell", "(1 - a_next**2) * da_next", "(1 - np.tanh(a_next) ** 2) * da_next"),
    ("rnn", "da[:, :, t] + da_prevt", "da[:, :, t]"),
    ("rnn", "sums.get(key, 0) + gradients[key]", "gradients[key]"),
    ("lstm_cell", "dit = dc * cct * it", "dit = dc * ft * it"),
    ("lstm_cell", "dc = dc_next + ot", "dc = ot"),
    ("lstm_cell", '"dc_prev": dc * ft', '"dc_prev": dc_next * ft'),
    (
        "conv",
        "dA[:, h * s : h * s + f, w * s : w * s + f] += np",
        "dA[:, h * s : h * s + f, w * s : w * s + f] = np",
    ),
    ("conv", "db += dZ[:, h, w].sum(axis=0)", "db += dZ[:, h, w].mean(axis=0)"),
]
