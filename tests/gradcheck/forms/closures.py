"""Functions that give the output and a function that goes back: as in Thinc, and JAX's vjp."""

# ruff: noqa

import numpy as np


def affine(x, W, b):
    y = x @ W + b

    def backward(dy):
        return dy @ W.T, x.T @ dy, dy.sum(axis=0)

    return y, backward


def relu(x):
    mask = x > 0
    return x * mask, lambda dy: dy * mask


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    y = e / e.sum(axis=-1, keepdims=True)

    def vjp(dy):
        return (y * (dy - (dy * y).sum(axis=-1, keepdims=True)),)

    return y, vjp


def layer_norm(x, gamma, beta):
    mean, std = x.mean(axis=-1, keepdims=True), np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    x_hat = (x - mean) / std

    def backward(dy):
        d = dy * gamma
        dx = d - d.mean(axis=-1, keepdims=True) - x_hat * (d * x_hat).mean(axis=-1, keepdims=True)
        return dx / std, (dy * x_hat).sum(axis=0), dy.sum(axis=0)

    return gamma * x_hat + beta, backward


def attention(q, k, v):
    scores, back_scores = scaled(q, k)
    a, back_a = softmax(scores)

    def backward(dy):
        da = dy @ v.T
        dv = a.T @ dy
        (ds,) = back_a(da)
        return *back_scores(ds), dv

    return a @ v, backward


def scaled(q, k):
    c = 1 / np.sqrt(q.shape[-1])
    return c * q @ k.T, lambda ds: (c * ds @ k, c * ds.T @ q)


def mlp(params, x):
    h, back_first = affine(x, params["W1"], params["b1"])
    r, back_relu = relu(h)
    y, back_second = affine(r, params["W2"], params["b2"])

    def backward(dy):
        dr, dW2, db2 = back_second(dy)
        dx, dW1, db1 = back_first(back_relu(dr))
        return {"W1": dW1, "b1": db1, "W2": dW2, "b2": db2}, dx

    return y, backward


class Linear:
    """A model of Thinc: it adds gradients up, and its forward gives a callback."""

    def __init__(self, W, b):
        self.W, self.b, self.grads = W, b, {}

    def inc_grad(self, name, value):
        self.grads[name] = self.grads.get(name, 0) + value

    def forward(self, X, is_train=True):
        Y = X @ self.W.T + self.b

        def backprop(dY):
            self.inc_grad("W", dY.T @ X)
            self.inc_grad("b", dY.sum(axis=0))
            return dY @ self.W

        return Y, backprop


def make_affine(W, b):
    saved = {}

    def forward(x):
        saved["x"] = x
        return x @ W + b

    def backward(dy):
        return dy @ W.T, saved["x"].T @ dy, dy.sum(axis=0)

    return forward, backward


def examples(rng):
    normal = lambda *shape: rng.normal(size=shape)
    params = {"W1": normal(4, 6), "b1": np.zeros(6), "W2": normal(6, 3), "b2": np.zeros(3)}
    return {
        "affine": (affine, normal(5, 4), normal(4, 3), normal(3)),
        "relu": (relu, normal(5, 4)),
        "softmax": (softmax, normal(5, 4)),
        "layer norm": (layer_norm, normal(5, 4), np.ones(4), np.zeros(4)),
        "attention": (attention, normal(5, 3), normal(4, 3), normal(4, 2)),
        "mlp": (mlp, params, normal(5, 4)),
        "linear": (Linear(normal(3, 4), normal(3)), normal(5, 4)),
        "cells": (make_affine(normal(4, 3), normal(3)), normal(5, 4)),
    }


MISTAKES = [
    (
        "affine",
        "return dy @ W.T, x.T @ dy, dy.sum(axis=0)\n\n    return y",
        "return dy @ W.T, x.T @ dy, dy.mean(axis=0)\n\n    return y",
    ),
    ("relu", "lambda dy: dy * mask", "lambda dy: dy"),
    ("softmax", "(dy * y).sum(axis=-1, keepdims=True)),)", "(dy * y).sum()),)"),
    ("layer norm", "d = dy * gamma", "d = dy"),
    ("layer norm", "- d.mean(axis=-1, keepdims=True) -", "-"),
    ("attention", "da = dy @ v.T", "da = 2 * dy @ v.T"),
    ("attention", "(c * ds @ k, c * ds.T @ q)", "(c * ds @ k, ds.T @ q)"),
    ("mlp", '"b2": db2}, dx', "}, dx"),
    ("mlp", "back_first(back_relu(dr))", "back_first(dr)"),
    ("linear", 'self.inc_grad("b", dY.sum(axis=0))', "pass"),
    ("linear", "dY.T @ X", "-dY.T @ X"),
    ("cells", 'saved["x"].T @ dy, dy.sum', '7 * saved["x"].T @ dy, dy.sum'),
]
