"""Tensors with data and grad, and functions with apply: as in TinyTorch."""

# ruff: noqa

import numpy as np


class Tensor:
    def __init__(self, data, requires_grad=False):
        self.data = np.array(data, dtype=np.asarray(data).dtype)
        self.requires_grad = requires_grad
        self.grad, self._grad_fn = None, None

    @property
    def shape(self):
        return self.data.shape

    def backward(self, gradient=None):
        if gradient is None:
            gradient = np.ones_like(self.data)
        if self.grad is None:
            self.grad = np.zeros_like(self.data)
        self.grad = self.grad + gradient
        if self._grad_fn is not None:
            for tensor, grad in zip(self._grad_fn.saved_tensors, self._grad_fn.apply(gradient)):
                if isinstance(tensor, Tensor) and grad is not None:
                    tensor.backward(grad)

    def __add__(self, other):
        return _result(self.data + other.data, AddBackward(self, other))

    def __mul__(self, other):
        return _result(self.data * other.data, MulBackward(self, other))

    def matmul(self, other):
        return _result(self.data @ other.data, MatmulBackward(self, other))

    def sum(self):
        return _result(self.data.sum(), SumBackward(self))


def _result(data, function):
    out = Tensor(data, requires_grad=True)
    out._grad_fn = function
    return out


class Function:
    def __init__(self, *tensors):
        self.saved_tensors = tensors


def unbroadcast(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    for axis, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad


class AddBackward(Function):
    def apply(self, grad_output):
        a, b = self.saved_tensors
        return unbroadcast(grad_output, a.shape), unbroadcast(grad_output, b.shape)


class MulBackward(Function):
    def apply(self, grad_output):
        a, b = self.saved_tensors
        grad_a = unbroadcast(grad_output * b.data, a.shape)
        grad_b = unbroadcast(grad_output * a.data, b.shape)
        return grad_a, grad_b


class MatmulBackward(Function):
    def apply(self, grad_output):
        a, b = self.saved_tensors
        return grad_output @ b.data.swapaxes(-1, -2), a.data.swapaxes(-1, -2) @ grad_output


class SumBackward(Function):
    def apply(self, grad_output):
        (a,) = self.saved_tensors
        return (np.ones_like(a.data) * grad_output,)


class ReLUBackward(Function):
    def apply(self, grad_output):
        (a,) = self.saved_tensors
        return (grad_output * (a.data > 0),)


class GELUBackward(Function):
    def apply(self, grad_output):
        (a,) = self.saved_tensors
        x, c = a.data, np.sqrt(2 / np.pi)
        t = np.tanh(c * (x + 0.044715 * x**3))
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * c * (1 + 3 * 0.044715 * x**2)
        return (grad_output * slope,)


class SoftmaxBackward(Function):
    def apply(self, grad_output):
        (a,) = self.saved_tensors
        y = softmax_of(a.data)
        return (y * (grad_output - (grad_output * y).sum(axis=-1, keepdims=True)),)


def softmax_of(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class ReLU:
    def forward(self, x):
        return _result(np.maximum(0, x.data), ReLUBackward(x))

    __call__ = forward


class GELU:
    def forward(self, x):
        u = np.sqrt(2 / np.pi) * (x.data + 0.044715 * x.data**3)
        return _result(0.5 * x.data * (1 + np.tanh(u)), GELUBackward(x))


class Softmax:
    def forward(self, x):
        return _result(softmax_of(x.data), SoftmaxBackward(x))


class Linear:
    def __init__(self, weight, bias):
        self.weight = Tensor(weight, requires_grad=True)
        self.bias = Tensor(bias, requires_grad=True)

    def forward(self, x):
        return x.matmul(self.weight) + self.bias

    __call__ = forward


class MLP:
    def __init__(self, *weights):
        self.first, self.second = Linear(*weights[:2]), Linear(*weights[2:])
        self.relu = ReLU()

    def forward(self, x):
        return self.second(self.relu(self.first(x)))


def attention(q, k, v):
    scores = q.matmul(_result(k.data.swapaxes(-1, -2), Transpose(k)))
    return Softmax().forward(scores * Tensor(np.array(1 / np.sqrt(q.shape[-1])))).matmul(v)


class Transpose(Function):
    def apply(self, grad_output):
        return (grad_output.swapaxes(-1, -2),)


def mean_square(x, y):
    minus = Tensor(np.array(-1.0))
    d = x + y * minus
    return (d * d).sum()


def examples(rng):
    normal = lambda *shape: rng.normal(size=shape)
    tensor = lambda *shape: Tensor(normal(*shape), requires_grad=True)
    return {
        "add": (Tensor.__add__, tensor(3, 4), tensor(4)),
        "mul": (Tensor.__mul__, tensor(3, 4), tensor(3, 1)),
        "matmul": (Tensor.matmul, tensor(3, 4), tensor(4, 2)),
        "relu": (ReLU(), tensor(3, 4)),
        "relu functions": ((lambda x: np.maximum(0, x), ReLUBackward), tensor(3, 4)),
        "gelu": (GELU(), tensor(3, 4)),
        "softmax": (Softmax(), tensor(3, 4)),
        "linear": (Linear(normal(4, 3), normal(3)), tensor(5, 4)),
        "mlp": (MLP(normal(4, 3), normal(3), normal(3, 2), normal(2)), tensor(5, 4)),
        "attention": (attention, tensor(4, 3), tensor(5, 3), tensor(5, 2)),
        "mean square": (mean_square, tensor(4, 3), tensor(4, 3)),
    }


MISTAKES = [
    ("add", "unbroadcast(grad_output, b.shape)", "unbroadcast(grad_output, b.shape) / 2"),
    ("add", "        grad = grad.sum(axis=0)", "        grad = grad.mean(axis=0)"),
    (
        "mul",
        "unbroadcast(grad_output * b.data, a.shape)",
        "unbroadcast(grad_output * a.data, a.shape)",
    ),
    ("mul", "grad.sum(axis=axis, keepdims=True)", "grad.mean(axis=axis, keepdims=True)"),
    ("matmul", "a.data.swapaxes(-1, -2) @ grad_output", "-a.data.swapaxes(-1, -2) @ grad_output"),
    ("relu", "(a.data > 0)", "(grad_output > 0)"),
    ("relu functions", "(a.data > 0)", "(a.data < 0)"),
    ("gelu", "(1 + 3 * 0.044715 * x**2)", "(1 + 0.044715 * x**2)"),
    ("softmax", "y * (grad_output - (", "y * (grad_output + ("),
    ("linear", "self.grad = self.grad + gradient", "self.grad = self.grad + 2 * gradient"),
    ("mlp", "return (grad_output * (a.data > 0),)", "return (grad_output,)"),
    (
        "attention",
        "return (grad_output.swapaxes(-1, -2),)",
        "return (-grad_output.swapaxes(-1, -2),)",
    ),
    ("mean square", "self.grad = self.grad + gradient", "self.grad = gradient"),
]
