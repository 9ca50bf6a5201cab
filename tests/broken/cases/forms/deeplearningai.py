"""Columns are samples, parameters come in a dict, gradients leave in one."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e_x = np.exp(x - np.max(x, axis=0))
    return e_x / e_x.sum(axis=0)


def linear_forward(A, W, b):
    Z = np.dot(W, A) + b
    cache = (A, W, b)
    return Z, cache


def linear_backward(dZ, cache):
    """As in the course, with the mean over the m samples in dW and db."""
    A_prev, W, b = cache
    m = A_prev.shape[1]
    dW = 1.0 / m * np.dot(dZ, A_prev.T)
    db = 1.0 / m * np.sum(dZ, axis=1, keepdims=True)
    dA_prev = np.dot(W.T, dZ)
    return dA_prev, dW, db


def rnn_cell_forward(xt, a_prev, parameters):
    Wax, Waa, Wya = parameters["Wax"], parameters["Waa"], parameters["Wya"]
    ba, by = parameters["ba"], parameters["by"]
    a_next = np.tanh(np.dot(Wax, xt) + np.dot(Waa, a_prev) + ba)
    yt_pred = softmax(np.dot(Wya, a_next) + by)
    cache = (a_next, a_prev, xt, parameters)
    return a_next, yt_pred, cache


def rnn_cell_backward(da_next, cache):
    (a_next, a_prev, xt, parameters) = cache
    Wax, Waa = parameters["Wax"], parameters["Waa"]
    dtanh = (1 - a_next**2) * da_next
    dxt = np.dot(Wax.T, dtanh)
    dWax = np.dot(dtanh, xt.T)
    da_prev = np.dot(Waa.T, dtanh)
    dWaa = np.dot(dtanh, a_prev.T)
    dba = np.sum(dtanh, axis=1, keepdims=True)
    gradients = {"dxt": dxt, "da_prev": da_prev, "dWax": dWax, "dWaa": dWaa, "dba": dba}
    return gradients


def lstm_cell_forward(xt, a_prev, c_prev, parameters):
    Wf, bf, Wi, bi = (parameters[k] for k in ("Wf", "bf", "Wi", "bi"))
    Wc, bc, Wo, bo = (parameters[k] for k in ("Wc", "bc", "Wo", "bo"))
    concat = np.concatenate((a_prev, xt), axis=0)
    ft = sigmoid(np.dot(Wf, concat) + bf)
    it = sigmoid(np.dot(Wi, concat) + bi)
    cct = np.tanh(np.dot(Wc, concat) + bc)
    c_next = ft * c_prev + it * cct
    ot = sigmoid(np.dot(Wo, concat) + bo)
    a_next = ot * np.tanh(c_next)
    cache = (a_next, c_next, a_prev, c_prev, ft, it, cct, ot, xt, parameters)
    return a_next, c_next, cache


def lstm_cell_backward(da_next, dc_next, cache):
    (a_next, c_next, a_prev, c_prev, ft, it, cct, ot, xt, parameters) = cache
    n_a = a_next.shape[0]
    dot = da_next * np.tanh(c_next) * ot * (1 - ot)
    dc = dc_next + da_next * ot * (1 - np.tanh(c_next) ** 2)
    dcct = dc * it * (1 - cct**2)
    dit = dc * cct * it * (1 - it)
    dft = dc * c_prev * ft * (1 - ft)
    concat = np.concatenate((a_prev, xt), axis=0)
    gradients = {}
    for name, dgate in (("f", dft), ("i", dit), ("c", dcct), ("o", dot)):
        gradients["dW" + name] = np.dot(dgate, concat.T)
        gradients["db" + name] = np.sum(dgate, axis=1, keepdims=True)
    p = parameters
    dconcat = np.dot(p["Wf"].T, dft) + np.dot(p["Wi"].T, dit)
    dconcat += np.dot(p["Wc"].T, dcct) + np.dot(p["Wo"].T, dot)
    gradients["da_prev"] = dconcat[:n_a]
    gradients["dxt"] = dconcat[n_a:]
    gradients["dc_prev"] = dc * ft
    return gradients


def conv_forward(A_prev, W, b, hparameters):
    stride, pad = hparameters["stride"], hparameters["pad"]
    (m, n_H_prev, n_W_prev, n_C_prev) = A_prev.shape
    (f, f, n_C_prev, n_C) = W.shape
    n_H = int((n_H_prev - f + 2 * pad) / stride) + 1
    n_W = int((n_W_prev - f + 2 * pad) / stride) + 1
    A_prev_pad = np.pad(A_prev, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    Z = np.zeros((m, n_H, n_W, n_C))
    for h in range(n_H):
        for w in range(n_W):
            a = A_prev_pad[:, h * stride : h * stride + f, w * stride : w * stride + f, :]
            for c in range(n_C):
                Z[:, h, w, c] = np.sum(a * W[:, :, :, c], axis=(1, 2, 3)) + b[0, 0, 0, c]
    cache = (A_prev, W, b, hparameters)
    return Z, cache


def conv_backward(dZ, cache):
    (A_prev, W, b, hparameters) = cache
    stride, pad = hparameters["stride"], hparameters["pad"]
    f = W.shape[0]
    (m, n_H, n_W, n_C) = dZ.shape
    dA_prev, dW, db = np.zeros(A_prev.shape), np.zeros(W.shape), np.zeros(b.shape)
    A_prev_pad = np.pad(A_prev, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    for i in range(m):
        a_prev_pad = A_prev_pad[i]
        da_prev_pad = np.zeros(a_prev_pad.shape)
        for h in range(n_H):
            for w in range(n_W):
                for c in range(n_C):
                    v0, h0 = h * stride, w * stride
                    a_slice = a_prev_pad[v0 : v0 + f, h0 : h0 + f, :]
                    da_prev_pad[v0 : v0 + f, h0 : h0 + f, :] += W[:, :, :, c] * dZ[i, h, w, c]
                    dW[:, :, :, c] += a_slice * dZ[i, h, w, c]
                    db[:, :, :, c] += dZ[i, h, w, c]
        dA_prev[i, :, :, :] = da_prev_pad[pad:-pad, pad:-pad, :]
    return dA_prev, dW, db


def pool_forward(A_prev, hparameters, mode="max"):
    (m, n_H_prev, n_W_prev, n_C) = A_prev.shape
    f, stride = hparameters["f"], hparameters["stride"]
    n_H, n_W = 1 + (n_H_prev - f) // stride, 1 + (n_W_prev - f) // stride
    A = np.zeros((m, n_H, n_W, n_C))
    for h in range(n_H):
        for w in range(n_W):
            a = A_prev[:, h * stride : h * stride + f, w * stride : w * stride + f, :]
            A[:, h, w, :] = a.max(axis=(1, 2)) if mode == "max" else a.mean(axis=(1, 2))
    return A, (A_prev, hparameters, mode)


def create_mask_from_window(x):
    return x == np.max(x)


def distribute_value(dz, shape):
    (n_H, n_W) = shape
    return np.ones(shape) * dz / (n_H * n_W)


def pool_backward(dA, cache):
    (A_prev, hparameters, mode) = cache
    f, stride = hparameters["f"], hparameters["stride"]
    m, n_H, n_W, n_C = dA.shape
    dA_prev = np.zeros(A_prev.shape)
    for i in range(m):
        for h in range(n_H):
            for w in range(n_W):
                for c in range(n_C):
                    rows = slice(h * stride, h * stride + f)
                    cols = slice(w * stride, w * stride + f)
                    if mode == "max":
                        mask = create_mask_from_window(A_prev[i, rows, cols, c])
                        dA_prev[i, rows, cols, c] += mask * dA[i, h, w, c]
                    else:
                        dA_prev[i, rows, cols, c] += distribute_value(dA[i, h, w, c], (f, f))
    return dA_prev


def attention_forward(Q, K, V, parameters):
    """Q (d, t), K (d, s), V (e, s); the columns are steps; Wo (k, e)."""
    S = np.dot(K.T, Q) / np.sqrt(Q.shape[0])
    A = softmax(S)
    C = np.dot(V, A)
    Z = np.dot(parameters["Wo"], C) + parameters["bo"]
    return Z, (Q, K, V, A, C, parameters)


def attention_backward(dZ, cache):
    (Q, K, V, A, C, parameters) = cache
    d = Q.shape[0]
    dWo = np.dot(dZ, C.T)
    dbo = np.sum(dZ, axis=1, keepdims=True)
    dC = np.dot(parameters["Wo"].T, dZ)
    dV = np.dot(dC, A.T)
    dA = np.dot(V.T, dC)
    dS = A * (dA - np.sum(A * dA, axis=0, keepdims=True)) / np.sqrt(d)
    dQ = np.dot(K, dS)
    dK = np.dot(Q, dS.T)
    return {"dQ": dQ, "dK": dK, "dV": dV, "dWo": dWo, "dbo": dbo}
