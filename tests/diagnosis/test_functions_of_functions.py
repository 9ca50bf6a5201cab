"""Code that calls functions with a backward of their own: the wrong one is named, with its line."""

from pathlib import Path

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(7)


def tensor(*shape):
    return torch.tensor(RNG.normal(size=shape), requires_grad=True)


class MergeHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        n, heads, steps, size = x.shape
        return x.transpose(1, 2).reshape(n, steps, heads * size)

    @staticmethod
    def backward(ctx, grad):
        n, heads, steps, size = ctx.shape
        return grad.reshape(n, heads, steps, size)  # merge


class Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k):
        ctx.save_for_backward(q, k)
        return q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5

    @staticmethod
    def backward(ctx, grad):
        q, k = ctx.saved_tensors
        return grad @ k, grad.transpose(-1, -2) @ q  # scale


class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (1 - y)  # slope


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return grad, None  # factor


def attention(q, k, v):
    weights = torch.softmax(q @ k.transpose(-1, -2), dim=-1)
    return MergeHeads.apply(weights @ v)


def scored(q, k, v):
    return torch.softmax(Scores.apply(q, k), dim=-1) @ v


def deep(x, w):
    h = Tanh.apply(x @ w)
    return (h * h).sum(dim=1)


def scaled(x, w):
    return torch.relu(Scale.apply(x @ w, 3.0))


# --- An engine as that of Deep Learning from Scratch 3 --------------------------------------------


class Variable:
    def __init__(self, data):
        self.data, self.grad, self.creator = data, None, None

    def __mul__(self, other):
        return Mul()(self, other)

    def backward(self):
        if self.grad is None:
            self.grad = np.ones_like(self.data)
        order, seen = [], set()

        def visit(function):
            if function is not None and id(function) not in seen:
                seen.add(id(function))
                for one in function.inputs:
                    visit(one.creator)
                order.append(function)

        visit(self.creator)
        for function in reversed(order):
            grads = function.backward(function.output.grad)
            for one, grad in zip(function.inputs, grads if isinstance(grads, tuple) else (grads,)):
                one.grad = grad if one.grad is None else one.grad + grad


class Function:
    def __call__(self, *inputs):
        self.inputs = inputs
        self.output = Variable(self.forward(*(one.data for one in inputs)))
        self.output.creator = self
        return self.output


class Mul(Function):
    def forward(self, a, b):
        return a * b

    def backward(self, gy):
        a, b = (one.data for one in self.inputs)
        return gy * b, gy * a


class MatMul(Function):
    def forward(self, x, W):
        return x @ W

    def backward(self, gy):
        x, W = (one.data for one in self.inputs)
        return gy @ W.T, x.T @ gy


class WrongTanh(Function):
    def forward(self, x):
        return np.tanh(x)

    def backward(self, gy):
        y = self.output.data
        return gy * (1 - y)  # tanh


class WrongProduct(Function):
    def forward(self, a, b):
        return a * b

    def backward(self, gy):
        a, b = (one.data for one in self.inputs)
        return gy * a, gy * b  # product


class WrongMean(Function):
    def forward(self, x):
        return x.mean(axis=1)

    def backward(self, gy):
        x = self.inputs[0].data
        return np.repeat(gy[:, None], x.shape[1], axis=1)  # mean


class WrongMatMul(MatMul):
    def backward(self, gy):
        x, W = (one.data for one in self.inputs)
        return gy @ W.T, -x.T @ gy  # matmul


def variable(*shape):
    return Variable(RNG.normal(size=shape))


def net(x, W):
    return WrongTanh()(MatMul()(x, W))


def gated(x, W):
    h = MatMul()(x, W)
    return WrongProduct()(h, MatMul()(h, h))


def pooled(x, W):
    return WrongMean()(MatMul()(x, W))


def projected(x, W, U):
    return MatMul()(WrongMatMul()(x, W), U)


CASES = {
    "merge": (attention, tensor(2, 2, 3, 4), tensor(2, 2, 3, 4), tensor(2, 2, 3, 4)),
    "scale": (scored, tensor(2, 3, 4), tensor(2, 5, 4), tensor(2, 5, 2)),
    "slope": (deep, tensor(3, 4), tensor(4, 2)),
    "factor": (scaled, tensor(3, 4), tensor(4, 2)),
    "tanh": (net, variable(3, 4), variable(4, 2)),
    "product": (gated, variable(3, 4), variable(4, 3)),
    "mean": (pooled, variable(3, 4), variable(4, 5)),
    "matmul": (projected, variable(3, 4), variable(4, 5), variable(5, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_wrong_function_is_named_with_its_line(name):
    function, *inputs = CASES[name]
    (cause,) = check_gradients(function, *inputs).causes
    lines = Path(__file__).read_text().splitlines()
    (line,) = [k for k, text in enumerate(lines, 1) if text.endswith(f"  # {name}")]
    assert f"line {line}" in cause.evidence, cause
    assert cause.name != "unknown" or name == "merge"
