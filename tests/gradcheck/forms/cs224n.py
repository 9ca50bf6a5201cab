"""Functions that give a loss and its gradients, as in the assignments of CS224n."""

# ruff: noqa

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Dataset:
    def sampleTokenIdx(self):
        return np.random.randint(0, 6)


def naiveSoftmaxLossAndGradient(centerWordVec, outsideWordIdx, outsideVectors, dataset):
    y_hat = softmax(outsideVectors @ centerWordVec)
    loss = -np.log(y_hat[outsideWordIdx])
    d = y_hat.copy()
    d[outsideWordIdx] -= 1
    gradCenterVec = outsideVectors.T @ d
    gradOutsideVecs = np.outer(d, centerWordVec)
    return loss, gradCenterVec, gradOutsideVecs


def negSamplingLossAndGradient(centerWordVec, outsideWordIdx, outsideVectors, dataset, K=5):
    negatives = [dataset.sampleTokenIdx() for _ in range(K)]
    gradCenterVec = np.zeros_like(centerWordVec)
    gradOutsideVecs = np.zeros_like(outsideVectors)
    u = outsideVectors[outsideWordIdx]
    z = sigmoid(u @ centerWordVec)
    loss = -np.log(z)
    gradCenterVec += (z - 1) * u
    gradOutsideVecs[outsideWordIdx] += (z - 1) * centerWordVec
    for k in negatives:
        v = outsideVectors[k]
        z = sigmoid(v @ centerWordVec)
        loss -= np.log(1 - z)
        gradCenterVec += z * v
        gradOutsideVecs[k] += z * centerWordVec
    return loss, gradCenterVec, gradOutsideVecs


def skipgram(word, outside, centerWordVectors, outsideVectors):
    loss = 0.0
    gradCenterVecs = np.zeros(centerWordVectors.shape)
    gradOutsideVectors = np.zeros(outsideVectors.shape)
    for o in outside:
        one, gc, go = naiveSoftmaxLossAndGradient(
            centerWordVectors[word], o, outsideVectors, Dataset()
        )
        loss += one
        gradCenterVecs[word] += gc
        gradOutsideVectors += go
    return loss, gradCenterVecs, gradOutsideVectors


def forward_backward_prop(X, labels, params, dimensions):
    Dx, H, Dy = dimensions
    W1 = params[: Dx * H].reshape(Dx, H)
    b1 = params[Dx * H : Dx * H + H]
    W2 = params[Dx * H + H : Dx * H + H + H * Dy].reshape(H, Dy)
    b2 = params[-Dy:]
    h = sigmoid(X @ W1 + b1)
    y_hat = softmax(h @ W2 + b2)
    cost = -(labels * np.log(y_hat)).sum()
    d2 = y_hat - labels
    d1 = d2 @ W2.T * h * (1 - h)
    grad = np.concatenate([(X.T @ d1).ravel(), d1.sum(axis=0), (h.T @ d2).ravel(), d2.sum(axis=0)])
    return cost, grad


def bag_of_words(ids, labels, E, U):
    context = E[ids].mean(axis=1)
    p = softmax(context @ U)
    n = np.arange(len(ids))
    loss = -np.log(p[n, labels]).mean()
    d = p.copy()
    d[n, labels] -= 1
    d /= len(ids)
    grads = {"U": context.T @ d, "E": np.zeros_like(E)}
    np.add.at(grads["E"], ids, (d @ U.T)[:, None, :] / ids.shape[1])
    return loss, grads


def attention_loss(q, K, V, target):
    a = softmax(K @ q / np.sqrt(len(q)))
    out = a @ V
    loss = 0.5 * ((out - target) ** 2).sum()
    dout = out - target
    dV = np.outer(a, dout)
    da = V @ dout
    ds = a * (da - a @ da) / np.sqrt(len(q))
    dq, dK = K.T @ ds, np.outer(ds, q)
    return loss, dq, dK, dV


def examples(rng):
    normal = lambda *shape: rng.normal(size=shape)
    np.random.seed(int(rng.integers(1000)))
    labels = np.eye(3)[[0, 2, 1, 1]]
    return {
        "naive": (naiveSoftmaxLossAndGradient, normal(4), 2, normal(6, 4), Dataset()),
        "negative": (negSamplingLossAndGradient, normal(4), 2, normal(6, 4), Dataset(), 9),
        "skipgram": (skipgram, 1, [2, 0, 2, 4], normal(5, 3), normal(6, 3)),
        "network": (forward_backward_prop, normal(4, 5), labels, normal(5 * 4 + 4 + 4 * 3 + 3),
                    (5, 4, 3)),
        "bag": (bag_of_words, np.array([[0, 1, 1], [2, 4, 0]]), np.array([1, 0]), normal(5, 3),
                normal(3, 4)),
        "attention": (attention_loss, normal(4), normal(5, 4), normal(5, 3), normal(3)),
    }  # fmt: skip


MISTAKES = [
    ("naive", "gradCenterVec = outsideVectors.T @ d", "gradCenterVec = outsideVectors.T @ y_hat"),
    ("naive", "np.outer(d, centerWordVec)", "np.outer(y_hat, centerWordVec)"),
    ("negative", "gradOutsideVecs[k] += z", "gradOutsideVecs[k] = z"),
    ("negative", "gradCenterVec += z * v", "gradCenterVec += (z - 1) * v"),
    ("negative", "loss -= np.log(1 - z)", "loss -= np.log(z)"),
    ("skipgram", "gradCenterVecs[word] += gc", "gradCenterVecs[word] = gc"),
    ("skipgram", "gradOutsideVectors += go", "gradOutsideVectors -= go"),
    ("network", "d1 = d2 @ W2.T * h * (1 - h)", "d1 = d2 @ W2.T * h"),
    ("network", "d1.sum(axis=0), (h", "d1.mean(axis=0), (h"),
    ("bag", "/ ids.shape[1]", "/ len(ids)"),
    ("bag", "d /= len(ids)", "pass"),
    ("attention", "a * (da - a @ da)", "a * da"),
    ("attention", "ds, q)", "ds, q) / 2"),
]
