"""Layers whose forward gives a dict, and whose backward takes one."""

# ruff: noqa

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class LSTMCell:
    def __init__(self, W, U, b):
        self.W, self.U, self.b = W, U, b

    def forward(self, x, h_prev, c_prev):
        a = x @ self.W + h_prev @ self.U + self.b
        i, f, o, g = np.split(a, 4, axis=1)
        i, f, o, g = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(g)
        c = f * c_prev + i * g
        self.saved = (x, h_prev, c_prev, i, f, o, g, c)
        return {"h": o * np.tanh(c), "c": c}

    def backward(self, grads):
        x, h_prev, c_prev, i, f, o, g, c = self.saved
        dh, dc = grads["h"], grads["c"]
        t = np.tanh(c)
        dc = dc + dh * o * (1 - t**2)
        parts = dc * g * i * (1 - i), dc * c_prev * f * (1 - f), dh * t * o * (1 - o)
        da = np.hstack([*parts, dc * i * (1 - g**2)])
        self.dW, self.dU, self.db = x.T @ da, h_prev.T @ da, da.sum(axis=0)
        return {"x": da @ self.W.T, "h_prev": da @ self.U.T, "c_prev": dc * f}


class Encoder:
    def __init__(self, W):
        self.W = W

    def forward(self, x):
        self.x, self.h = x, np.tanh(x @ self.W)
        return {"states": self.h, "last": self.h[:, -1]}

    def backward(self, d):
        dh = d["dstates"].copy()
        dh[:, -1] += d["dlast"]
        da = dh * (1 - self.h**2)
        self.dW = np.einsum("ntd,nth->dh", self.x, da)
        return da @ self.W.T


def attention_forward(inputs):
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    s = q @ k.swapaxes(1, 2)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    a = e / e.sum(axis=-1, keepdims=True)
    return {"out": a @ v, "cache": (q, k, v, a)}


def attention_backward(dout, cache):
    q, k, v, a = cache
    dv = a.swapaxes(1, 2) @ dout
    da = dout @ v.swapaxes(1, 2)
    ds = a * (da - (da * a).sum(axis=-1, keepdims=True))
    return {"q": ds @ k, "k": ds.swapaxes(1, 2) @ q, "v": dv}


def vae_forward(x, Wm, Ws):
    return {"mean": x @ Wm, "logvar": x @ Ws}, (x, Wm, Ws)


def vae_backward(dmean, dlogvar, cache):
    x, Wm, Ws = cache
    return {"dx": dmean @ Wm.T + dlogvar @ Ws.T, "dWm": x.T @ dmean, "dWs": x.T @ dlogvar}


class Highway:
    def __init__(self, W, T):
        self.W, self.T = W, T

    def forward(self, x):
        self.x, self.h, self.t = x, np.tanh(x @ self.W), sigmoid(x @ self.T)
        return {"y": self.t * self.h + (1 - self.t) * x, "gate": self.t}

    def backward(self, dy, dgate):
        dt = (dy * (self.h - self.x) + dgate) * self.t * (1 - self.t)
        da = dy * self.t * (1 - self.h**2)
        self.dW, self.dT = self.x.T @ da, self.x.T @ dt
        return {"dx": da @ self.W.T + dt @ self.T.T + dy * (1 - self.t)}


class TwoHeads:
    def __init__(self, params):
        self.params, self.grads = params, {}

    def forward(self, x):
        self.x = x
        return {"policy": x @ self.params["P"], "value": x @ self.params["V"]}

    def backward(self, grads):
        self.grads["P"] = self.x.T @ grads["policy"]
        self.grads["V"] = self.x.T @ grads["value"]
        return grads["policy"] @ self.params["P"].T + grads["value"] @ self.params["V"].T


def loss_function(x, w, t):
    d = x @ w - t
    return {"loss": 0.5 * (d**2).sum(), "dx": d @ w.T, "dw": x.T @ d}
