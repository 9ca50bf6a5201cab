"""Functions of a context with saved_values, and Scalars: as in MiniTorch."""

# ruff: noqa

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Context:
    no_grad: bool = False
    saved_values: tuple = ()

    def save_for_backward(self, *values):
        self.saved_values = values

    @property
    def saved_tensors(self):
        return self.saved_values


@dataclass
class ScalarHistory:
    last_fn: object = None
    ctx: object = None
    inputs: list = field(default_factory=list)


class Scalar:
    def __init__(self, v, back=None):
        self.data, self.derivative = float(v), None
        self.history = back or ScalarHistory()

    def accumulate_derivative(self, x):
        self.derivative = (self.derivative or 0.0) + x

    def __mul__(self, b):
        return Mul.apply(self, b)

    def __add__(self, b):
        return Add.apply(self, b)

    __rmul__, __radd__ = __mul__, __add__

    def log(self):
        return Log.apply(self)

    def sigmoid(self):
        return Sigmoid.apply(self)

    def backward(self, d_output=None):
        order, seen = [], set()

        def visit(v):
            if id(v) in seen:
                return
            seen.add(id(v))
            for one in v.history.inputs:
                visit(one)
            order.append(v)

        visit(self)
        derivatives = {id(self): 1.0 if d_output is None else d_output}
        for v in reversed(order):
            d = derivatives[id(v)]
            if v.history.last_fn is None:
                v.accumulate_derivative(d)
                continue
            back = v.history.last_fn.backward(v.history.ctx, d)
            for one, di in zip(v.history.inputs, back if isinstance(back, tuple) else (back,)):
                derivatives[id(one)] = derivatives.get(id(one), 0.0) + di


class ScalarFunction:
    @classmethod
    def apply(cls, *vals):
        scalars = [v if isinstance(v, Scalar) else Scalar(v) for v in vals]
        ctx = Context()
        c = cls.forward(ctx, *[s.data for s in scalars])
        return Scalar(c, ScalarHistory(cls, ctx, scalars))


class Add(ScalarFunction):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, d_output):
        return d_output, d_output


class Mul(ScalarFunction):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, d_output):
        a, b = ctx.saved_values
        return d_output * b, d_output * a


class Log(ScalarFunction):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return math.log(a + 1e-6)

    @staticmethod
    def backward(ctx, d_output):
        (a,) = ctx.saved_values
        return d_output / (a + 1e-6)


class Sigmoid(ScalarFunction):
    @staticmethod
    def forward(ctx, a):
        s = 1 / (1 + math.exp(-a))
        ctx.save_for_backward(s)
        return s

    @staticmethod
    def backward(ctx, d_output):
        (s,) = ctx.saved_values
        return d_output * s * (1 - s)


class ReLU(ScalarFunction):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a if a > 0 else 0.0

    @staticmethod
    def backward(ctx, d_output):
        (a,) = ctx.saved_values
        return d_output if a > 0 else 0.0


class Conv1d(ScalarFunction):
    """A function of tensors: input (N, C, T), weight (F, C, K)."""

    @staticmethod
    def forward(ctx, input, weight):
        ctx.save_for_backward(input, weight)
        N, C, T = input.shape
        K = weight.shape[2]
        padded = np.concatenate([input, np.zeros((N, C, K - 1))], axis=2)
        windows = np.stack([padded[:, :, t : t + K] for t in range(T)], axis=2)
        return np.einsum("nctk,fck->nft", windows, weight)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_values
        N, C, T = input.shape
        K = weight.shape[2]
        padded = np.concatenate([input, np.zeros((N, C, K - 1))], axis=2)
        grad_padded, grad_weight = np.zeros_like(padded), np.zeros_like(weight)
        for t in range(T):
            grad_padded[:, :, t : t + K] += np.einsum("nf,fck->nck", grad_output[:, :, t], weight)
            grad_weight += np.einsum("nf,nck->fck", grad_output[:, :, t], padded[:, :, t : t + K])
        return grad_padded[:, :, :T], grad_weight


class LayerNorm(ScalarFunction):
    @staticmethod
    def forward(ctx, x, gamma, beta):
        std = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        x_hat = (x - x.mean(axis=-1, keepdims=True)) / std
        ctx.save_for_backward(x_hat, std, gamma)
        return gamma * x_hat + beta

    @staticmethod
    def backward(ctx, grad_output):
        x_hat, std, gamma = ctx.saved_values
        d = grad_output * gamma
        mean = d.mean(axis=-1, keepdims=True)
        grad_x = (d - mean - x_hat * (d * x_hat).mean(axis=-1, keepdims=True)) / std
        return grad_x, (grad_output * x_hat).sum(axis=0), grad_output.sum(axis=0)


def neuron(x, w, b):
    return (x * w + b * x).sigmoid() + (w * w + 1.0).log()


def examples(rng):
    normal = lambda *shape: rng.normal(size=shape)
    number = lambda: float(rng.uniform(0.3, 2.0))
    return {
        "add": (Add, number(), number()),
        "mul": (Mul, number(), number()),
        "log": (Log, number()),
        "sigmoid": (Sigmoid, -number()),
        "relu": (ReLU, number()),
        "conv": (Conv1d, normal(2, 3, 5), normal(4, 3, 2)),
        "layer norm": (LayerNorm, normal(4, 5), np.ones(5), np.zeros(5)),
        "neuron": (neuron, Scalar(number()), Scalar(-number()), Scalar(number())),
    }


MISTAKES = [
    ("add", "return d_output, d_output", "return d_output, -d_output"),
    ("mul", "return d_output * b, d_output * a", "return d_output * a, d_output * b"),
    ("log", "return d_output / (a + 1e-6)", "return d_output / (a + 1.0)"),
    ("sigmoid", "d_output * s * (1 - s)", "d_output * (1 - s)"),
    ("relu", "return d_output if a > 0 else 0.0", "return 0.0 if a > 0 else d_output"),
    ("relu", "return d_output if a > 0", "return 1.0 if a > 0"),
    ("conv", "grad_padded[:, :, t : t + K] += np", "grad_padded[:, :, t : t + K] = np"),
    ("conv", "return grad_padded[:, :, :T]", "return grad_padded[:, :, K - 1 :]"),
    ("layer norm", "d = grad_output * gamma", "d = grad_output"),
    ("layer norm", "d - mean - x_hat", "d - x_hat"),
    ("neuron", "derivatives.get(id(one), 0.0) + di", "di"),
    ("neuron", "d_output * s * (1 - s)", "d_output * s * (1 + s)"),
]
