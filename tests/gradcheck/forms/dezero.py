"""Functions of Variables that go backward by themselves, as in Deep Learning from Scratch 3."""

# ruff: noqa

import weakref

import numpy as np


class Variable:
    __array_priority__ = 200

    def __init__(self, data, name=None):
        if data is not None and not isinstance(data, np.ndarray):
            raise TypeError(f"{type(data)} is not supported")
        self.data, self.name, self.grad, self.creator, self.generation = data, name, None, None, 0

    @property
    def shape(self):
        return self.data.shape

    def set_creator(self, func):
        self.creator, self.generation = func, func.generation + 1

    def cleargrad(self):
        self.grad = None

    def backward(self, retain_grad=False):
        if self.grad is None:
            self.grad = Variable(np.ones_like(self.data))
        funcs, seen = [self.creator], {self.creator}
        while funcs:
            funcs.sort(key=lambda f: f.generation)
            f = funcs.pop()
            gxs = f.backward(*[output().grad for output in f.outputs])
            for x, gx in zip(f.inputs, gxs if isinstance(gxs, tuple) else (gxs,)):
                x.grad = gx if x.grad is None else x.grad + gx
                if x.creator is not None and x.creator not in seen:
                    seen.add(x.creator)
                    funcs.append(x.creator)

    def __mul__(self, other):
        return Mul()(self, as_variable(other))

    def __add__(self, other):
        return Add()(self, as_variable(other))

    def __neg__(self):
        return Mul()(self, as_variable(np.array(-1.0)))

    def __pow__(self, c):
        return Pow(c)(self)

    __rmul__, __radd__ = __mul__, __add__

    def __sub__(self, other):
        return self + -as_variable(other)

    def __rsub__(self, other):
        return as_variable(other) + -self


def as_variable(obj):
    return obj if isinstance(obj, Variable) else Variable(np.asarray(obj))


class Function:
    def __call__(self, *inputs):
        inputs = [as_variable(x) for x in inputs]
        ys = self.forward(*[x.data for x in inputs])
        ys = ys if isinstance(ys, tuple) else (ys,)
        outputs = [Variable(np.asarray(y)) for y in ys]
        self.generation = max(x.generation for x in inputs)
        for output in outputs:
            output.set_creator(self)
        self.inputs, self.outputs = inputs, [weakref.ref(output) for output in outputs]
        return outputs if len(outputs) > 1 else outputs[0]


def sum_to(x, shape):
    if x.shape == shape:
        return x
    data = x.data
    while data.ndim > len(shape):
        data = data.sum(axis=0)
    for axis, size in enumerate(shape):
        if size == 1:
            data = data.sum(axis=axis, keepdims=True)
    return Variable(np.asarray(data))


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
        x0, x1 = self.inputs
        return sum_to(gy * x1, x0.shape), sum_to(gy * x0, x1.shape)


class Pow(Function):
    def __init__(self, c):
        self.c = c

    def forward(self, x):
        return x**self.c

    def backward(self, gy):
        (x,) = self.inputs
        return gy * self.c * x ** (self.c - 1)


class Sin(Function):
    def forward(self, x):
        return np.sin(x)

    def backward(self, gy):
        (x,) = self.inputs
        return gy * Cos()(x)


class Cos(Function):
    def forward(self, x):
        return np.cos(x)

    def backward(self, gy):
        (x,) = self.inputs
        return gy * -Sin()(x)


class Tanh(Function):
    def forward(self, x):
        return np.tanh(x)

    def backward(self, gy):
        y = self.outputs[0]()
        return gy * (1 - y * y)


class Exp(Function):
    def forward(self, x):
        return np.exp(x)

    def backward(self, gy):
        return gy * self.outputs[0]()


class MatMul(Function):
    def forward(self, x, W):
        return x @ W

    def backward(self, gy):
        x, W = self.inputs
        gx = Variable(gy.data @ W.data.T)
        gW = Variable(x.data.T @ gy.data)
        return gx, gW


class Sum(Function):
    def forward(self, x):
        self.x_shape = x.shape
        return x.sum()

    def backward(self, gy):
        return Variable(np.broadcast_to(gy.data, self.x_shape).copy())


class Softmax(Function):
    def forward(self, x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def backward(self, gy):
        y = self.outputs[0]().data
        gx = y * gy.data
        gx -= y * gx.sum(axis=1, keepdims=True)
        return Variable(gx)


class Linear:
    def __init__(self, W, b):
        self.W, self.b = Variable(W), Variable(b)

    def forward(self, x):
        return MatMul()(x, self.W) + self.b

    def __call__(self, x):
        return self.forward(x)


def two_layers(x, W1, W2):
    return Sum()(MatMul()(Tanh()(MatMul()(x, W1)), W2) ** 2)


def examples(rng):
    normal = lambda *shape: rng.normal(size=shape)
    return {
        "add": (Add(), normal(3, 4), normal(4)),
        "mul": (Mul(), Variable(normal(3, 4)), Variable(normal(1, 4))),
        "pow": (Pow(3), Variable(normal(3, 4))),
        "sin": (Sin(), normal(3, 4)),
        "tanh": (Tanh(), normal(3, 4)),
        "exp": (Exp(), Variable(normal(3, 4))),
        "matmul": (MatMul(), normal(5, 4), normal(4, 3)),
        "softmax": (Softmax(), normal(5, 4)),
        "linear": (Linear(normal(4, 3), normal(3)), Variable(normal(5, 4))),
        "two layers": (two_layers, Variable(normal(5, 4)), Variable(normal(4, 3)),
                       Variable(normal(3, 2))),
    }  # fmt: skip


MISTAKES = [
    ("add", "sum_to(gy, self.x1_shape)", "sum_to(gy * 2, self.x1_shape)"),
    ("mul", "sum_to(gy * x1, x0.shape)", "sum_to(gy * x0, x0.shape)"),
    (
        "mul",
        "data = data.sum(axis=axis, keepdims=True)",
        "data = data.mean(axis=axis, keepdims=True)",
    ),
    ("pow", "x ** (self.c - 1)", "x**self.c"),
    ("sin", "gy * Cos()(x)", "Cos()(x)"),
    ("tanh", "gy * (1 - y * y)", "gy * (1 - y)"),
    ("exp", "gy * self.outputs[0]()", "gy * self.inputs[0]"),
    ("matmul", "x.data.T @ gy.data", "-x.data.T @ gy.data"),
    ("softmax", "gx -= y * gx.sum(axis=1, keepdims=True)", "gx -= y * gx.sum()"),
    ("linear", "data = data.sum(axis=0)", "data = data.mean(axis=0)"),
    ("two layers", "np.broadcast_to(gy.data, self.x_shape).copy()", "np.ones(self.x_shape) / 2"),
    ("two layers", "gx if x.grad is None else x.grad + gx", "gx * 1.5"),
]
