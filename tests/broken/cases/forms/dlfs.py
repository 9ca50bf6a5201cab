"""Layers with forward, backward, params and grads, after the two books Deep Learning from Scratch."""

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def im2col(x, FH, FW, stride, pad):
    N, C, H, W = x.shape
    OH, OW = (H + 2 * pad - FH) // stride + 1, (W + 2 * pad - FW) // stride + 1
    img = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], "constant")
    col = np.zeros((N, C, FH, FW, OH, OW))
    for y in range(FH):
        for z in range(FW):
            col[:, :, y, z] = img[:, :, y : y + stride * OH : stride, z : z + stride * OW : stride]
    return col.transpose(0, 4, 5, 1, 2, 3).reshape(N * OH * OW, -1)


def col2im(col, shape, FH, FW, stride, pad):
    N, C, H, W = shape
    OH, OW = (H + 2 * pad - FH) // stride + 1, (W + 2 * pad - FW) // stride + 1
    col = col.reshape(N, OH, OW, C, FH, FW).transpose(0, 3, 4, 5, 1, 2)
    img = np.zeros((N, C, H + 2 * pad, W + 2 * pad))
    for y in range(FH):
        for z in range(FW):
            img[:, :, y : y + stride * OH : stride, z : z + stride * OW : stride] += col[:, :, y, z]
    return img[:, :, pad : H + pad, pad : W + pad]


class MatMul:
    def __init__(self, W):
        self.params = [W]
        self.grads = [np.zeros_like(W)]
        self.x = None

    def forward(self, x):
        (W,) = self.params
        out = np.dot(x, W)
        self.x = x
        return out

    def backward(self, dout):
        (W,) = self.params
        dx = np.dot(dout, W.T)
        dW = np.dot(self.x.T, dout)
        self.grads[0][...] = dW
        return dx


class Embedding:
    def __init__(self, W):
        self.params = [W]
        self.grads = [np.zeros_like(W)]
        self.idx = None

    def forward(self, idx):
        (W,) = self.params
        self.idx = idx
        return W[idx]

    def backward(self, dout):
        (dW,) = self.grads
        dW[...] = 0
        np.add.at(dW, self.idx, dout)
        return None


class SoftmaxWithLoss:
    def __init__(self):
        self.params, self.grads = [], []

    def forward(self, x, t):
        self.t = t
        self.y = softmax(x)
        return -np.sum(np.log(self.y[np.arange(len(t)), t])) / len(t)

    def backward(self, dout=1):
        batch_size = self.t.shape[0]
        dx = self.y.copy()
        dx[np.arange(batch_size), self.t] -= 1
        dx *= dout
        dx = dx / batch_size
        return dx


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
        dh_prev = np.dot(dt, Wh.T)
        dWx = np.dot(x.T, dt)
        dx = np.dot(dt, Wx.T)
        self.grads[0][...] = dWx
        self.grads[1][...] = dWh
        self.grads[2][...] = db
        return dx, dh_prev


class TimeRNN:
    def __init__(self, Wx, Wh, b, stateful=False):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]
        self.layers = None
        self.h, self.dh = None, None
        self.stateful = stateful

    def forward(self, xs):
        Wx, Wh, b = self.params
        N, T, D = xs.shape
        D, H = Wx.shape
        self.layers = []
        hs = np.empty((N, T, H), dtype="f") if xs.dtype == np.float32 else np.empty((N, T, H))
        if not self.stateful or self.h is None:
            self.h = np.zeros((N, H))
        for t in range(T):
            layer = RNN(*self.params)
            self.h = layer.forward(xs[:, t, :], self.h)
            hs[:, t, :] = self.h
            self.layers.append(layer)
        return hs

    def backward(self, dhs):
        Wx, Wh, b = self.params
        N, T, H = dhs.shape
        D, H = Wx.shape
        dxs = np.empty((N, T, D))
        dh = 0
        grads = [0, 0, 0]
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


class Attention:
    """Weights from hs and h, then the weighted sum of hs; hs (N, T, H), h (N, H)."""

    def __init__(self):
        self.params, self.grads = [], []
        self.cache = None

    def forward(self, hs, h):
        N, T, H = hs.shape
        hr = h.reshape(N, 1, H).repeat(T, axis=1)
        a = softmax(np.sum(hs * hr, axis=2))
        c = np.sum(hs * a.reshape(N, T, 1), axis=1)
        self.cache = (hs, hr, a)
        return c

    def backward(self, dc):
        hs, hr, a = self.cache
        N, T, H = hs.shape
        dt = dc.reshape(N, 1, H).repeat(T, axis=1)
        da = np.sum(dt * hs, axis=2)
        dhs = dt * a.reshape(N, T, 1)
        ds = a * da
        ds -= a * np.sum(ds, axis=1, keepdims=True)
        dst = ds.reshape(N, T, 1).repeat(H, axis=2)
        dhs += dst * hr
        dh = np.sum(dst * hs, axis=1)
        return dhs, dh


class Convolution:
    def __init__(self, W, b, stride=1, pad=0):
        self.W, self.b, self.stride, self.pad = W, b, stride, pad
        self.dW, self.db = None, None

    def forward(self, x):
        FN, C, FH, FW = self.W.shape
        N, C, H, W = x.shape
        out_h = 1 + int((H + 2 * self.pad - FH) / self.stride)
        out_w = 1 + int((W + 2 * self.pad - FW) / self.stride)
        col = im2col(x, FH, FW, self.stride, self.pad)
        col_W = self.W.reshape(FN, -1).T
        out = np.dot(col, col_W) + self.b
        out = out.reshape(N, out_h, out_w, -1).transpose(0, 3, 1, 2)
        self.x, self.col, self.col_W = x, col, col_W
        return out

    def backward(self, dout):
        FN, C, FH, FW = self.W.shape
        dout = dout.transpose(0, 2, 3, 1).reshape(-1, FN)
        self.db = np.sum(dout, axis=0)
        self.dW = np.dot(self.col.T, dout)
        self.dW = self.dW.transpose(1, 0).reshape(FN, C, FH, FW)
        dcol = np.dot(dout, self.col_W.T)
        return col2im(dcol, self.x.shape, FH, FW, self.stride, self.pad)


class Pooling:
    def __init__(self, pool_h, pool_w, stride=1, pad=0):
        self.pool_h, self.pool_w, self.stride, self.pad = pool_h, pool_w, stride, pad

    def forward(self, x):
        N, C, H, W = x.shape
        out_h = int(1 + (H - self.pool_h) / self.stride)
        out_w = int(1 + (W - self.pool_w) / self.stride)
        col = im2col(x, self.pool_h, self.pool_w, self.stride, self.pad)
        col = col.reshape(-1, self.pool_h * self.pool_w)
        self.arg_max = np.argmax(col, axis=1)
        self.x = x
        return np.max(col, axis=1).reshape(N, out_h, out_w, C).transpose(0, 3, 1, 2)

    def backward(self, dout):
        dout = dout.transpose(0, 2, 3, 1)
        pool_size = self.pool_h * self.pool_w
        dmax = np.zeros((dout.size, pool_size))
        dmax[np.arange(self.arg_max.size), self.arg_max.flatten()] = dout.flatten()
        dmax = dmax.reshape(dout.shape + (pool_size,))
        dcol = dmax.reshape(dmax.shape[0] * dmax.shape[1] * dmax.shape[2], -1)
        return col2im(dcol, self.x.shape, self.pool_h, self.pool_w, self.stride, self.pad)


class LayerNorm:
    """In the book's style, with a float32 copy of the statistics that nothing depends on."""

    def __init__(self, gamma, beta):
        self.params = [gamma, beta]
        self.grads = [np.zeros_like(gamma), np.zeros_like(beta)]

    def forward(self, xs):
        gamma, beta = self.params
        self.xc = xs - xs.mean(axis=2, keepdims=True)
        self.std = np.sqrt(np.mean(self.xc**2, axis=2, keepdims=True) + 1e-7)
        self.xn = self.xc / self.std
        self.seen = self.std.astype("f")
        return gamma * self.xn + beta

    def backward(self, dout):
        gamma, beta = self.params
        D = dout.shape[2]
        self.grads[0][...] = np.sum(self.xn * dout, axis=(0, 1))
        self.grads[1][...] = np.sum(dout, axis=(0, 1))
        dxn = gamma * dout
        dxc = dxn / self.std
        dstd = -np.sum((dxn * self.xc) / (self.std * self.std), axis=2, keepdims=True)
        dvar = 0.5 * dstd / self.std
        dxc += (2.0 / D) * self.xc * dvar
        dmu = np.sum(dxc, axis=2, keepdims=True)
        return dxc - dmu / D
