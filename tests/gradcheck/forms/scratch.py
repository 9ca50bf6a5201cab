"""Layers with params and grads, and nets with loss and gradient: as in Deep Learning from Scratch."""

# ruff: noqa

from collections import OrderedDict

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


class Affine:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.x = self.dW = self.db = None

    def forward(self, x):
        self.x = x
        return np.dot(x, self.W) + self.b

    def backward(self, dout):
        dx = np.dot(dout, self.W.T)
        self.dW = np.dot(self.x.T, dout)
        self.db = np.sum(dout, axis=0)
        return dx


class Relu:
    def forward(self, x):
        self.mask = x <= 0
        out = x.copy()
        out[self.mask] = 0
        return out

    def backward(self, dout):
        dx = dout.copy()
        dx[self.mask] = 0
        return dx


class SoftmaxWithLoss:
    def forward(self, x, t):
        self.t, self.y = t, softmax(x)
        if self.t.size == self.y.size:
            self.t = self.t.argmax(axis=1)
        n = np.arange(len(self.y))
        return -np.sum(np.log(self.y[n, self.t] + 1e-300)) / len(self.y)

    def backward(self, dout=1):
        dx = self.y.copy()
        dx[np.arange(len(dx)), self.t] -= 1
        dx *= dout
        return dx / len(dx)


class TwoLayerNet:
    def __init__(self, W1, W2):
        self.params = {"W1": W1, "b1": np.zeros(W1.shape[1])}
        self.params |= {"W2": W2, "b2": np.zeros(W2.shape[1])}
        self.layers = OrderedDict()
        self.layers["Affine1"] = Affine(self.params["W1"], self.params["b1"])
        self.layers["Relu1"] = Relu()
        self.layers["Affine2"] = Affine(self.params["W2"], self.params["b2"])
        self.lastLayer = SoftmaxWithLoss()

    def predict(self, x):
        for layer in self.layers.values():
            x = layer.forward(x)
        return x

    def loss(self, x, t):
        return self.lastLayer.forward(self.predict(x), t)

    def gradient(self, x, t):
        self.loss(x, t)
        dout = self.lastLayer.backward(1)
        for layer in reversed(list(self.layers.values())):
            dout = layer.backward(dout)
        grads = {"W1": self.layers["Affine1"].dW, "b1": self.layers["Affine1"].db}
        grads |= {"W2": self.layers["Affine2"].dW, "b2": self.layers["Affine2"].db}
        return grads


class RNN:
    def __init__(self, Wx, Wh, b):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]
        self.cache = None

    def forward(self, x, h_prev):
        Wx, Wh, b = self.params
        h_next = np.tanh(np.dot(h_prev, Wh) + np.dot(x, Wx) + b)
        self.cache = (x, h_prev, h_next)
        return h_next

    def backward(self, dh_next):
        Wx, Wh, b = self.params
        x, h_prev, h_next = self.cache
        dt = dh_next * (1 - h_next**2)
        db = np.sum(dt, axis=0)
        dWh = np.dot(h_prev.T, dt)
        dWx = np.dot(x.T, dt)
        self.grads[0][...] = dWx
        self.grads[1][...] = dWh
        self.grads[2][...] = db
        return np.dot(dt, Wx.T), np.dot(dt, Wh.T)


class TimeRNN:
    def __init__(self, Wx, Wh, b, stateful=False):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]
        self.layers, self.h, self.dh, self.stateful = None, None, None, stateful

    def forward(self, xs):
        Wx, Wh, b = self.params
        N, T, D = xs.shape
        H = Wh.shape[0]
        self.layers = []
        hs = np.empty((N, T, H), dtype="f")
        if not self.stateful or self.h is None:
            self.h = np.zeros((N, H), dtype="f")
        for t in range(T):
            layer = RNN(*self.params)
            self.h = layer.forward(xs[:, t, :], self.h)
            hs[:, t, :] = self.h
            self.layers.append(layer)
        return hs

    def backward(self, dhs):
        Wx, Wh, b = self.params
        N, T, H = dhs.shape
        dxs = np.empty((N, T, len(Wx)), dtype="f")
        dh, grads = 0, [0, 0, 0]
        for t in reversed(range(T)):
            layer = self.layers[t]
            dx, dh = layer.backward(dhs[:, t, :] + dh)
            dxs[:, t, :] = dx
            for i, grad in enumerate(layer.grads):
                grads[i] += grad
        for i, grad in enumerate(grads):
            self.grads[i][...] = grad
        self.dh = dh
        return dxs


class TimeEmbedding:
    def __init__(self, W):
        self.params, self.grads = [W], [np.zeros_like(W)]

    def forward(self, xs):
        self.idx = xs
        out = np.empty((*xs.shape, self.params[0].shape[1]), dtype="f")
        for t in range(xs.shape[1]):
            out[:, t, :] = self.params[0][xs[:, t]]
        return out

    def backward(self, dout):
        grad = self.grads[0]
        grad[...] = 0
        for t in range(self.idx.shape[1]):
            np.add.at(grad, self.idx[:, t], dout[:, t, :])


class TimeAffine:
    def __init__(self, W, b):
        self.params, self.grads = [W, b], [np.zeros_like(W), np.zeros_like(b)]

    def forward(self, x):
        N, T, _ = x.shape
        W, b = self.params
        self.x = x
        return (np.dot(x.reshape(N * T, -1), W) + b).reshape(N, T, -1)

    def backward(self, dout):
        x, (W, _) = self.x, self.params
        N, T, D = x.shape
        dout, rx = dout.reshape(N * T, -1), x.reshape(N * T, -1)
        self.grads[0][...] = np.dot(rx.T, dout)
        self.grads[1][...] = np.sum(dout, axis=0)
        return np.dot(dout, W.T).reshape(*x.shape)


class Decoder:
    """The decoder of a translator: embedding, recurrence, affine."""

    def __init__(self, E, Wx, Wh, b, W, c):
        self.embed, self.rnn = TimeEmbedding(E), TimeRNN(Wx, Wh, b, stateful=True)
        self.affine = TimeAffine(W, c)
        self.params, self.grads = [], []
        for layer in (self.embed, self.rnn, self.affine):
            self.params += layer.params
            self.grads += layer.grads

    def forward(self, xs, h):
        self.rnn.h = h
        return self.affine.forward(self.rnn.forward(self.embed.forward(xs)))

    def backward(self, dscore):
        self.embed.backward(self.rnn.backward(self.affine.backward(dscore)))
        return self.rnn.dh


class WeightSum:
    def forward(self, hs, a):
        N, T, H = hs.shape
        ar = a.reshape(N, T, 1).repeat(H, axis=2)
        self.cache = (hs, ar)
        return np.sum(hs * ar, axis=1)

    def backward(self, dc):
        hs, ar = self.cache
        N, T, H = hs.shape
        dt = dc.reshape(N, 1, H).repeat(T, axis=1)
        return dt * ar, np.sum(dt * hs, axis=2)


def im2col(x, f, stride):
    N, C, H, W = x.shape
    out = (H - f) // stride + 1
    col = np.zeros((N, C, f, f, out, out), dtype=x.dtype)
    for y in range(f):
        for z in range(f):
            col[:, :, y, z] = x[:, :, y : y + stride * out : stride, z : z + stride * out : stride]
    return col.transpose(0, 4, 5, 1, 2, 3).reshape(N * out * out, -1)


def col2im(col, shape, f, stride):
    N, C, H, W = shape
    out = (H - f) // stride + 1
    col = col.reshape(N, out, out, C, f, f).transpose(0, 3, 4, 5, 1, 2)
    img = np.zeros(shape)
    for y in range(f):
        for z in range(f):
            img[:, :, y : y + stride * out : stride, z : z + stride * out : stride] += col[
                :, :, y, z
            ]
    return img


class Convolution:
    def __init__(self, W, b, stride=1):
        self.W, self.b, self.stride = W, b, stride

    def forward(self, x):
        FN, C, f, _ = self.W.shape
        out = (x.shape[2] - f) // self.stride + 1
        self.x, self.col, self.col_W = x, im2col(x, f, self.stride), self.W.reshape(FN, -1).T
        y = np.dot(self.col, self.col_W) + self.b
        return y.reshape(len(x), out, out, -1).transpose(0, 3, 1, 2)

    def backward(self, dout):
        FN, C, f, _ = self.W.shape
        dout = dout.transpose(0, 2, 3, 1).reshape(-1, FN)
        self.db = np.sum(dout, axis=0)
        self.dW = np.dot(self.col.T, dout).transpose(1, 0).reshape(FN, C, f, f)
        return col2im(np.dot(dout, self.col_W.T), self.x.shape, f, self.stride)


def examples(rng):
    normal = lambda *shape: rng.normal(size=shape)
    t = np.array([0, 2, 1, 1, 0])
    rnn = lambda: (normal(4, 3), normal(3, 3), normal(3))
    return {
        "affine": (Affine(normal(4, 3), normal(3)), normal(5, 4)),
        "relu": (Relu(), normal(5, 4)),
        "softmax": (SoftmaxWithLoss(), normal(5, 3), t),
        "net": (TwoLayerNet(normal(4, 6), normal(6, 3)), normal(5, 4), t),
        "rnn": (RNN(*rnn()), normal(5, 4), normal(5, 3)),
        "time rnn": (TimeRNN(*rnn()), normal(2, 3, 4)),
        "decoder": (Decoder(normal(6, 4).astype("f"), *rnn(), normal(3, 6), normal(6)),
                    np.array([[1, 2, 2], [0, 5, 1]]), normal(2, 3)),
        "weight sum": (WeightSum(), normal(2, 4, 3), normal(2, 4)),
        "convolution": (Convolution(normal(2, 3, 2, 2), normal(2)), normal(2, 3, 4, 4)),
    }  # fmt: skip


MISTAKES = [
    ("affine", "self.dW = np.dot(self.x.T, dout)", "self.dW = np.dot(dout.T, self.x).T / 2"),
    ("relu", "dx[self.mask] = 0", "dx[dx <= 0] = 0"),
    ("softmax", "return dx / len(dx)", "return dx"),
    (
        "net",
        '"b1": self.layers["Affine1"].db}\n        grads',
        '"b1": self.layers["Affine1"].b}\n        grads',
    ),
    ("net", '"b2": self.layers["Affine2"].db', '"b3": self.layers["Affine2"].db'),
    (
        "net",
        "reversed(list(self.layers.values()))",
        "[self.layers['Affine2'], self.layers['Affine1']]",
    ),
    ("rnn", "self.grads[1][...] = dWh", "self.grads[1] = dWh"),
    ("rnn", "(1 - h_next**2)", "(1 - x.sum() ** 2)"),
    ("time rnn", "dhs[:, t, :] + dh)", "dhs[:, t, :])"),
    ("time rnn", "grads[i] += grad", "grads[i] = grad"),
    (
        "decoder",
        "np.add.at(grad, self.idx[:, t], dout[:, t, :])",
        "grad[self.idx[:, t]] = dout[:, t, :]",
    ),
    (
        "decoder",
        "self.grads[1][...] = np.sum(dout, axis=0)",
        "self.grads[1] = np.sum(dout, axis=0)",
    ),
    ("weight sum", "np.sum(dt * hs, axis=2)", "np.mean(dt * hs, axis=2)"),
    ("convolution", "stride * out : stride] += col", "stride * out : stride] = col"),
    ("convolution", "transpose(1, 0).reshape(FN, C, f, f)", "reshape(FN, C, f, f)"),
]
