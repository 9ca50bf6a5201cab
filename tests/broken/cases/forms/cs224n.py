"""Functions that give a loss and its gradients, after the assignments on word vectors and parsing."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    if x.ndim > 1:
        x = x - x.max(axis=1, keepdims=True)
        return np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    x = x - np.max(x)
    return np.exp(x) / np.exp(x).sum()


def naiveSoftmaxLossAndGradient(centerWordVec, outsideWordIdx, outsideVectors, dataset):
    """One pair of words: vectors (D,) and (V, D)."""
    y_hat = softmax(outsideVectors @ centerWordVec)
    loss = -np.log(y_hat[outsideWordIdx])
    d = y_hat.copy()
    d[outsideWordIdx] -= 1
    gradCenterVec = outsideVectors.T @ d
    gradOutsideVecs = np.outer(d, centerWordVec)
    return loss, gradCenterVec, gradOutsideVecs


def negSamplingLossAndGradient(centerWordVec, outsideWordIdx, outsideVectors, indices):
    """indices: the outside word and K negative ones, some of them several times."""
    gradOutsideVecs = np.zeros(outsideVectors.shape)
    u = outsideVectors[outsideWordIdx]
    z = sigmoid(u @ centerWordVec)
    loss = -np.log(z)
    gradCenterVec = (z - 1) * u
    gradOutsideVecs[outsideWordIdx] += (z - 1) * centerWordVec
    for k in indices[1:]:
        s = sigmoid(-outsideVectors[k] @ centerWordVec)
        loss -= np.log(s)
        gradCenterVec = gradCenterVec + (1 - s) * outsideVectors[k]
        gradOutsideVecs[k] += (1 - s) * centerWordVec
    return loss, gradCenterVec, gradOutsideVecs


def skipgram(centerIdx, outsideIdxs, centerVectors, outsideVectors):
    """The loss of a window, with matrices of gradients."""
    loss = 0.0
    gradCenterVecs = np.zeros(centerVectors.shape)
    gradOutsideVectors = np.zeros(outsideVectors.shape)
    for o in outsideIdxs:
        l, gc, go = naiveSoftmaxLossAndGradient(centerVectors[centerIdx], o, outsideVectors, None)
        loss += l
        gradCenterVecs[centerIdx] += gc
        gradOutsideVectors += go
    return loss, gradCenterVecs, gradOutsideVectors


def forward_backward_prop(X, labels, W1, b1, W2, b2):
    """Two sigmoid layers with cross entropy; labels are one-hot rows, b of shape (1, H)."""
    h = sigmoid(X @ W1 + b1)
    y_hat = softmax(h @ W2 + b2)
    cost = -np.sum(labels * np.log(y_hat))
    d2 = y_hat - labels
    gradW2 = h.T @ d2
    gradb2 = np.sum(d2, axis=0, keepdims=True)
    d1 = d2 @ W2.T * h * (1 - h)
    gradW1 = X.T @ d1
    gradb1 = np.sum(d1, axis=0, keepdims=True)
    gradX = d1 @ W1.T
    return cost, gradX, gradW1, gradb1, gradW2, gradb2


def attention_loss_and_gradients(q, K, V, target):
    """One query (D,), keys (S, D), values (S, E): half the squared distance of its read-out."""
    D = q.shape[0]
    a = softmax(K @ q / np.sqrt(D))
    c = a @ V
    loss = 0.5 * np.sum((c - target) ** 2)
    dc = c - target
    gradV = np.outer(a, dc)
    da = V @ dc
    ds = a * (da - np.sum(a * da))
    gradq = K.T @ ds / np.sqrt(D)
    gradK = np.outer(ds, q) / np.sqrt(D)
    return loss, gradq, gradK, gradV


def char_conv_loss_and_gradients(x, W, b, target):
    """Characters x (E, m), kernel W (F, E, k), relu, max over places; half a squared distance."""
    F, E, k = W.shape
    m = x.shape[1] - k + 1
    windows = np.stack([x[:, i : i + k] for i in range(m)])
    conv = np.einsum("mek,fek->fm", windows, W) + b[:, None]
    r = np.maximum(conv, 0)
    best = r.argmax(axis=1)
    out = r.max(axis=1)
    loss = 0.5 * np.sum((out - target) ** 2)
    dout = (out - target) * (out > 0)
    gradb = dout
    gradW = dout[:, None, None] * windows[best]
    gradx = np.zeros(x.shape)
    for f in range(F):
        gradx[:, best[f] : best[f] + k] += dout[f] * W[f]
    return loss, gradx, gradW, gradb


def highway_loss_and_gradients(x, Wp, bp, Wg, bg):
    """y = g relu(x Wp + bp) + (1 - g) x; the loss is the sum of y^2 / 2."""
    z = x @ Wp + bp
    p = np.maximum(z, 0)
    g = sigmoid(x @ Wg + bg)
    y = g * p + (1 - g) * x
    loss = 0.5 * np.sum(y**2)
    dz = y * g * (z > 0)
    dg = y * (p - x) * g * (1 - g)
    grads = {"Wp": x.T @ dz, "bp": dz.sum(axis=0), "Wg": x.T @ dg, "bg": dg.sum(axis=0)}
    grads["x"] = y * (1 - g) + dz @ Wp.T + dg @ Wg.T
    return loss, grads
