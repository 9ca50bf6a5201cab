"""Tensors with requires_grad, backward functions as classes with apply, and layers."""

import numpy as np


class Tensor:
    def __init__(self, data, requires_grad=False):
        self.data = np.array(data, dtype=np.float64)
        self.shape = self.data.shape
        self.requires_grad = requires_grad
        self.grad = None
        self._grad_fn = None

    def backward(self, gradient=None):
        if not self.requires_grad:
            return
        if gradient is None:
            gradient = np.ones_like(self.data)
        if self.grad is None:
            self.grad = np.zeros_like(self.data)
        self.grad = self.grad + gradient
        if self._grad_fn is not None:
            grads = self._grad_fn.apply(gradient)
            for tensor, grad in zip(self._grad_fn.saved_tensors, grads):
                if isinstance(tensor, Tensor) and tensor.requires_grad and grad is not None:
                    tensor.backward(grad)

    def __add__(self, other):
        return _track(self.data + other.data, AddBackward(self, other))

    def __mul__(self, other):
        return _track(self.data * other.data, MulBackward(self, other))

    def matmul(self, other):
        return _track(self.data @ other.data, MatmulBackward(self, other))

    def sum(self, axis=None):
        return _track(self.data.sum(axis=axis), SumBackward(self, axis=axis))

    def transpose(self, dim0, dim1):
        return _track(np.swapaxes(self.data, dim0, dim1), TransposeBackward(self, dim0, dim1))


def _track(data, function):
    tensors = [t for t in function.saved_tensors if isinstance(t, Tensor)]
    result = Tensor(data, requires_grad=any(t.requires_grad for t in tensors))
    result._grad_fn = function
    function.output = result.data
    return result


def _reduce(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    for axis, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad


class Function:
    def __init__(self, *tensors):
        self.saved_tensors = tensors
        self.output = None

    def apply(self, grad_output):
        raise NotImplementedError


class AddBackward(Function):
    def apply(self, grad_output):
        a, b = self.saved_tensors
        return _reduce(grad_output, a.shape), _reduce(grad_output, b.shape)


class MulBackward(Function):
    def apply(self, grad_output):
        a, b = self.saved_tensors
        return _reduce(grad_output * b.data, a.shape), _reduce(grad_output * a.data, b.shape)


class MatmulBackward(Function):
    def apply(self, grad_output):
        a, b = self.saved_tensors
        grad_a = np.matmul(grad_output, np.swapaxes(b.data, -2, -1))
        grad_b = np.matmul(np.swapaxes(a.data, -2, -1), grad_output)
        return _reduce(grad_a, a.shape), _reduce(grad_b, b.shape)


class SumBackward(Function):
    def __init__(self, tensor, axis=None):
        super().__init__(tensor)
        self.axis = axis

    def apply(self, grad_output):
        (tensor,) = self.saved_tensors
        if self.axis is not None:
            grad_output = np.expand_dims(grad_output, self.axis)
        return (np.ones_like(tensor.data) * grad_output,)


class TransposeBackward(Function):
    def __init__(self, tensor, dim0, dim1):
        super().__init__(tensor)
        self.dims = dim0, dim1

    def apply(self, grad_output):
        return (np.swapaxes(grad_output, *self.dims),)


class SoftmaxBackward(Function):
    def apply(self, grad_output):
        y = self.output
        dot = np.sum(grad_output * y, axis=-1, keepdims=True)
        return (y * (grad_output - dot),)


class GELUBackward(Function):
    def apply(self, grad_output):
        x = self.saved_tensors[0].data
        inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
        t = np.tanh(inner)
        d_inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
        return (grad_output * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * d_inner),)


class EmbeddingBackward(Function):
    def __init__(self, weight, indices):
        super().__init__(weight)
        self.indices = indices

    def apply(self, grad_output):
        (weight,) = self.saved_tensors
        grad = np.zeros_like(weight.data)
        np.add.at(grad, self.indices.flatten(), grad_output.reshape(-1, weight.shape[1]))
        return (grad,)


class Conv2dBackward(Function):
    def apply(self, grad_output):
        x, w = (t.data for t in self.saved_tensors)
        K = w.shape[2]
        grad_x, grad_w = np.zeros_like(x), np.zeros_like(w)
        for i in range(grad_output.shape[2]):
            for j in range(grad_output.shape[3]):
                g = grad_output[:, :, i, j]
                grad_w += np.einsum("nf,nchw->fchw", g, x[:, :, i : i + K, j : j + K])
                grad_x[:, :, i : i + K, j : j + K] += np.einsum("nf,fchw->nchw", g, w)
        return grad_x, grad_w


class LayerNormBackward(Function):
    def apply(self, grad_output):
        x, gamma, beta = (t.data for t in self.saved_tensors)
        inv = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        n = (x - x.mean(axis=-1, keepdims=True)) * inv
        axes = tuple(range(x.ndim - 1))
        g = grad_output * gamma
        grad_x = g - g.mean(axis=-1, keepdims=True) - n * (g * n).mean(axis=-1, keepdims=True)
        return grad_x * inv, (grad_output * n).sum(axis=axes), grad_output.sum(axis=axes)


def softmax(x):
    e = np.exp(x.data - x.data.max(axis=-1, keepdims=True))
    return _track(e / e.sum(axis=-1, keepdims=True), SoftmaxBackward(x))


def gelu(x):
    t = np.tanh(np.sqrt(2 / np.pi) * (x.data + 0.044715 * x.data**3))
    return _track(0.5 * x.data * (1 + t), GELUBackward(x))


class Linear:
    def __init__(self, in_features, out_features, rng):
        self.weight = Tensor(rng.normal(size=(in_features, out_features)), requires_grad=True)
        self.bias = Tensor(rng.normal(size=out_features), requires_grad=True)

    def forward(self, x):
        return x.matmul(self.weight) + self.bias

    def parameters(self):
        return [self.weight, self.bias]

    __call__ = forward


class Embedding:
    def __init__(self, rows, dim, rng):
        self.weight = Tensor(rng.normal(size=(rows, dim)), requires_grad=True)

    def forward(self, indices):
        return _track(self.weight.data[indices], EmbeddingBackward(self.weight, indices))

    def parameters(self):
        return [self.weight]


class Conv2d:
    def __init__(self, channels, filters, size, rng):
        self.weight = Tensor(rng.normal(size=(filters, channels, size, size)), requires_grad=True)

    def forward(self, x):
        K = self.weight.shape[2]
        H, W = x.shape[2] - K + 1, x.shape[3] - K + 1
        out = np.zeros((x.shape[0], self.weight.shape[0], H, W))
        for i in range(K):
            for j in range(K):
                part = x.data[:, :, i : i + H, j : j + W]
                out += np.einsum("nchw,fc->nfhw", part, self.weight.data[:, :, i, j])
        return _track(out, Conv2dBackward(x, self.weight))

    def parameters(self):
        return [self.weight]


class LayerNorm:
    def __init__(self, dim, rng):
        self.gamma = Tensor(1 + rng.normal(size=dim), requires_grad=True)
        self.beta = Tensor(rng.normal(size=dim), requires_grad=True)

    def forward(self, x):
        centred = x.data - x.data.mean(-1, keepdims=True)
        n = centred / np.sqrt(x.data.var(-1, keepdims=True) + 1e-5)
        y = n * self.gamma.data + self.beta.data
        return _track(y, LayerNormBackward(x, self.gamma, self.beta))

    def parameters(self):
        return [self.gamma, self.beta]


class MLP:
    """Linear, gelu, linear."""

    def __init__(self, rng):
        self.first, self.second = Linear(4, 6, rng), Linear(6, 3, rng)

    def forward(self, x):
        return self.second(gelu(self.first(x)))

    def parameters(self):
        return self.first.parameters() + self.second.parameters()


def scaled_dot_product_attention(Q, K, V):
    scores = Q.matmul(K.transpose(-2, -1)) * Tensor(np.array([K.shape[-1] ** -0.5]))
    return softmax(scores).matmul(V)
