"""Answers to the exercises of lesson 1 that need several lines, and what several share."""

import math

import numpy as np


def softmax_with_one_maximum(s):
    with np.errstate(invalid="ignore"):
        e = np.exp(s - s.max())
        return e / e.sum(axis=1, keepdims=True)


def softmax_less_the_mean(s):
    e = np.exp(s - s.mean(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_that_clips(s):
    e = np.exp(np.clip(s, -500, 500))
    return e / e.sum(axis=1, keepdims=True)


def turned(self, dy):
    self.dW, self.db = (dy.T @ self.x).T * 1.0, dy.sum(axis=0)
    return self.W @ dy.T


def means_over_the_rows(self, dy):
    self.dW, self.db = self.x.T @ dy / len(dy), dy.mean(axis=0)
    return dy @ self.W.T


def bias_not_summed(self, dy):
    self.dW, self.db = self.x.T @ dy, dy
    return dy @ self.W.T


def bias_with_an_axis(self, dy):
    self.dW, self.db = self.x.T @ dy, dy.sum(axis=0, keepdims=True)
    return dy @ self.W.T


def in_what_forward_kept(self, dloss=1):
    self.p[np.arange(len(self.t)), self.t] -= 1
    return dloss * self.p / len(self.t)


def in_whole_columns(self, dloss=1):
    ds = self.p.copy()
    ds[:, self.t] -= 1
    return dloss * ds / len(self.t)


def weight_gradient_forgotten(self, dy):
    self.dW, self.db = np.zeros_like(self.W), dy.sum(axis=0)
    return dy @ self.W.T


def keeping_the_input(self, x):
    self.x, self.y = x, 1 / (1 + np.exp(-x))
    return self.y


def train_step(model, loss, x, t, lr, reset=True, sign=1.0):
    value = loss.forward(model.forward(x), t)
    if reset:
        model.zero_grad()
    model.backward(loss.backward())
    for parameter in model.parameters():
        parameter.value -= sign * lr * parameter.grad
    return value


def affine_in_loops(points, weights, bias):
    y = np.zeros((len(points), len(bias)))
    for n in range(len(points)):
        for m in range(len(bias)):
            y[n, m] = sum(points[n, d] * weights[d, m] for d in range(len(weights))) + bias[m]
    return y


def merge_by_probing(W1, b1, W2, b2):
    def both(x):
        return (x @ W1 + b1) @ W2 + b2

    bias = both(np.zeros(len(W1)))
    return [np.array([both(row) - bias for row in np.eye(len(W1))]), bias]


def softmax_in_loops(scores):
    rows = []
    for row in scores:
        e = [math.exp(score - max(row)) for score in row]
        rows.append([one / sum(e) for one in e])
    return rows


def softmax_in_place(s):
    s -= s.max(axis=-1)[:, None]
    np.exp(s, out=s)
    s /= s.sum(axis=-1)[:, None]
    return s


class AffineByEinsum:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, values):
        self.seen = values
        return np.einsum("nd,dm->nm", values, self.W) + self.b

    def backward(self, grad):
        self.dW = np.einsum("nd,nm->dm", self.seen, grad)
        self.db = np.einsum("nm->m", grad)
        return np.einsum("nm,dm->nd", grad, self.W)


class AffineInLoops:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = np.zeros_like(W), np.zeros_like(b)

    def forward(self, x):
        self.x = x
        return np.array([row @ self.W + self.b for row in x])

    def backward(self, dy):
        self.dW, self.db = np.zeros_like(self.W), np.zeros_like(self.b)
        for row, arriving in zip(self.x, dy):
            self.dW += np.outer(row, arriving)
            self.db += arriving
        return np.array([self.W @ arriving for arriving in dy])


class SigmoidOfTheInput:
    def forward(self, z):
        self.z = z
        return np.exp(z) / (1 + np.exp(z))

    def backward(self, up):
        return up * np.exp(-self.z) / (1 + np.exp(-self.z)) ** 2


class SigmoidByTanh:
    def forward(self, x):
        self.half = np.tanh(x / 2)
        return (self.half + 1) / 2

    def backward(self, dy):
        return 0.25 * (1 - np.square(self.half)) * dy


class LossWithOneHot:
    def forward(self, scores, classes):
        self.onehot = np.eye(scores.shape[1])[classes]
        log_p = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        self.p = np.exp(log_p)
        return -np.sum(self.onehot * log_p) / len(scores)

    def backward(self, dL=1):
        return dL * (self.p - self.onehot) / len(self.p)


class LossInLoops:
    def forward(self, s, t):
        self.s, self.t = s, t
        total = 0.0
        for row, k in zip(s, t):
            total += math.log(sum(math.exp(one) for one in row)) - row[k]
        return total / len(s)

    def backward(self, dloss=1):
        ds = np.zeros(self.s.shape)
        for n, (row, k) in enumerate(zip(self.s, self.t)):
            total = sum(math.exp(one) for one in row)
            for j in range(len(row)):
                ds[n, j] = dloss * (math.exp(row[j]) / total - (j == k)) / len(self.s)
        return ds


class SwishInOneFormula:
    def forward(self, x):
        self.x = x
        return x / (1 + np.exp(-x))

    def backward(self, dy):
        g = 1 / (1 + np.exp(-self.x))
        return dy * (g + self.x * g - self.x * g * g)


class SwishOfItsOutput:
    def forward(self, a):
        self.gate = 1 / (1 + np.exp(-a))
        self.y = a * self.gate
        return self.y

    def backward(self, dy):
        da = self.gate.copy()
        da += self.y * (1.0 - self.gate)
        return np.multiply(da, dy)


def slope_as_a_mean(function, at, width):
    right = (function(at + width) - function(at)) / width
    left = (function(at) - function(at - width)) / width
    return (left + right) / 2


def step_with_reset_at_the_end(model, loss, x, t, lr):
    value = loss.forward(model.forward(x), t)
    model.backward(loss.backward())
    for parameter in model.parameters():
        parameter.value[...] = parameter.value - lr * parameter.grad
    model.zero_grad()
    return float(value)


def step_in_other_words(network, criterion, points, labels, rate):
    network.zero_grad()
    scores = network.forward(points)
    cost = criterion.forward(scores, labels)
    network.backward(criterion.backward(1.0))
    for weight in network.parameters():
        np.subtract(weight.value, rate * weight.grad, out=weight.value)
    return cost
