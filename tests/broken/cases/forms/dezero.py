"""Variables and functions, after the third book; f(x) of arrays or Variables."""

import numpy as np


def as_array(x):
    return np.array(x) if np.isscalar(x) else x


class Variable:
    def __init__(self, data):
        self.data = data
        self.grad = None
        self.creator = None
        self.generation = 0

    @property
    def shape(self):
        return self.data.shape

    def cleargrad(self):
        self.grad = None

    def backward(self):
        if self.grad is None:
            self.grad = np.ones_like(self.data)
        funcs, seen = [], set()

        def add_func(f):
            if f not in seen:
                funcs.append(f)
                seen.add(f)
                funcs.sort(key=lambda f: f.generation)

        add_func(self.creator)
        while funcs:
            f = funcs.pop()
            gys = [output.grad for output in f.outputs]
            gxs = f.backward(*gys)
            if not isinstance(gxs, tuple):
                gxs = (gxs,)
            for x, gx in zip(f.inputs, gxs):
                x.grad = gx if x.grad is None else x.grad + gx
                if x.creator is not None:
                    add_func(x.creator)

    def __add__(self, other):
        return add(self, other)

    def __mul__(self, other):
        return mul(self, other)


def as_variable(obj):
    return obj if isinstance(obj, Variable) else Variable(as_array(obj))


class Function:
    def __call__(self, *inputs):
        inputs = [as_variable(x) for x in inputs]
        xs = [x.data for x in inputs]
        ys = self.forward(*xs)
        if not isinstance(ys, tuple):
            ys = (ys,)
        outputs = [Variable(as_array(y)) for y in ys]
        self.generation = max(x.generation for x in inputs)
        for output in outputs:
            output.creator = self
            output.generation = self.generation + 1
        self.inputs, self.outputs = inputs, outputs
        return outputs if len(outputs) > 1 else outputs[0]

    def forward(self, xs):
        raise NotImplementedError()

    def backward(self, gys):
        raise NotImplementedError()


def sum_to(x, shape):
    lead = x.ndim - len(shape)
    axis = tuple(i + lead for i, sx in enumerate(shape) if sx == 1)
    y = x.sum(tuple(range(lead)) + axis, keepdims=True)
    return y.squeeze(tuple(range(lead))) if lead > 0 else y


class Add(Function):
    def forward(self, x0, x1):
        self.x0_shape, self.x1_shape = x0.shape, x1.shape
        return x0 + x1

    def backward(self, gy):
        return sum_to(gy, self.x0_shape), sum_to(gy, self.x1_shape)


class Mul(Function):
    def forward(self, x0, x1):
        return x0 * x1

    def backward(self, gy):
        x0, x1 = self.inputs[0].data, self.inputs[1].data
        return sum_to(gy * x1, x0.shape), sum_to(gy * x0, x1.shape)


class Exp(Function):
    def forward(self, x):
        return np.exp(x)

    def backward(self, gy):
        y = self.outputs[0].data
        return gy * y


class Tanh(Function):
    def forward(self, x):
        return np.tanh(x)

    def backward(self, gy):
        y = self.outputs[0].data
        return gy * (1 - y * y)


class Linear(Function):
    def forward(self, x, W, b):
        return x.dot(W) + b

    def backward(self, gy):
        x, W, b = (v.data for v in self.inputs)
        gb = sum_to(gy, b.shape)
        gx = gy.dot(W.T)
        gW = x.T.dot(gy)
        return gx, gW, gb


class Softmax(Function):
    def __init__(self, axis=1):
        self.axis = axis

    def forward(self, x):
        y = np.exp(x - x.max(axis=self.axis, keepdims=True))
        y /= y.sum(axis=self.axis, keepdims=True)
        return y

    def backward(self, gy):
        y = self.outputs[0].data
        gx = y * gy
        sumdx = gx.sum(axis=self.axis, keepdims=True)
        gx = gx - y * sumdx
        return gx


class Gelu(Function):
    def forward(self, x):
        self.t = np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))
        return 0.5 * x * (1 + self.t)

    def backward(self, gy):
        x, t = self.inputs[0].data, self.t
        inner = 0.7978845608028654 * (1 + 0.134145 * x**2)
        return gy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner)


class LayerNorm(Function):
    def forward(self, x, g, b):
        self.istd = 1 / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        self.xn = (x - x.mean(axis=1, keepdims=True)) * self.istd
        return self.xn * g + b

    def backward(self, gy):
        g = self.inputs[1].data
        gg = np.sum(gy * self.xn, axis=0)
        gb = np.sum(gy, axis=0)
        gn = gy * g
        gx = gn - gn.mean(axis=1, keepdims=True)
        gx = gx - self.xn * (gn * self.xn).mean(axis=1, keepdims=True)
        return gx * self.istd, gg, gb


class Attend(Function):
    def forward(self, q, k, v):
        s = q @ k.T / np.sqrt(q.shape[1])
        e = np.exp(s - s.max(axis=1, keepdims=True))
        self.p = e / e.sum(axis=1, keepdims=True)
        return self.p @ v

    def backward(self, gy):
        q, k, v = (x.data for x in self.inputs)
        gp = gy @ v.T
        gs = self.p * (gp - np.sum(gp * self.p, axis=1, keepdims=True))
        gs = gs / np.sqrt(q.shape[1])
        return gs @ k, gs.T @ q, self.p.T @ gy


class Conv1d(Function):
    """x (N, C, L), W (F, C, K)."""

    def forward(self, x, W):
        K = W.shape[2]
        self.L = x.shape[2] - K + 1
        parts = [x[:, :, k : k + self.L] for k in range(K)]
        return sum(np.einsum("ncl,fc->nfl", p, W[:, :, k]) for k, p in enumerate(parts))

    def backward(self, gy):
        x, W = (v.data for v in self.inputs)
        gx, gW = np.zeros_like(x), np.zeros_like(W)
        for k in range(W.shape[2]):
            gx[:, :, k : k + self.L] += np.einsum("nfl,fc->ncl", gy, W[:, :, k])
            gW[:, :, k] = np.einsum("nfl,ncl->fc", gy, x[:, :, k : k + self.L])
        return gx, gW


def add(x0, x1):
    return Add()(x0, x1)


def mul(x0, x1):
    return Mul()(x0, x1)


def exp(x):
    return Exp()(x)


def linear(x, W, b):
    return Linear()(x, W, b)


def gated(x, W, b):
    """tanh(x W + b) x, a function of Variables."""
    return Tanh()(Linear()(x, W, b)) * x
