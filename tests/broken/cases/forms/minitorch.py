"""Scalar and tensor functions with a context that holds saved values."""

import numpy as np


class Context:
    """What a forward leaves for its backward."""

    def __init__(self, no_grad=False):
        self.no_grad = no_grad
        self.saved_values = ()

    def save_for_backward(self, *values):
        if not self.no_grad:
            self.saved_values = values

    @property
    def saved_tensors(self):
        return self.saved_values


class Function:
    @classmethod
    def apply(cls, *values):
        return cls.forward(Context(), *values)


class Mul(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, d_output):
        a, b = ctx.saved_values
        return b * d_output, a * d_output


class Inv(Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return 1.0 / a

    @staticmethod
    def backward(ctx, d_output):
        (a,) = ctx.saved_values
        return -d_output / (a * a)


class Sigmoid(Function):
    @staticmethod
    def forward(ctx, a):
        out = 1.0 / (1.0 + np.exp(-a))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, d_output):
        (sigma,) = ctx.saved_values
        return sigma * (1.0 - sigma) * d_output


class MatMul(Function):
    @staticmethod
    def forward(ctx, t1, t2):
        ctx.save_for_backward(t1, t2)
        return t1 @ t2

    @staticmethod
    def backward(ctx, grad_output):
        t1, t2 = ctx.saved_values
        return grad_output @ np.swapaxes(t2, -1, -2), np.swapaxes(t1, -1, -2) @ grad_output


class Permute(Function):
    """(N, T, H, D) to (N, H, D, T) with the order saved."""

    @staticmethod
    def forward(ctx, a):
        order = (0, 2, 3, 1)
        ctx.save_for_backward(order)
        return a.transpose(order) * 1.0

    @staticmethod
    def backward(ctx, grad_output):
        (order,) = ctx.saved_values
        back = np.argsort(order)
        return grad_output.transpose(back)


class LogSoftmax(Function):
    @staticmethod
    def forward(ctx, a):
        z = a - a.max(axis=-1, keepdims=True)
        out = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (out,) = ctx.saved_values
        return grad_output - np.exp(out) * grad_output.sum(axis=-1, keepdims=True)


class Conv1dFun(Function):
    """input (B, C, W), weight (O, C, K), zeros behind the end."""

    @staticmethod
    def forward(ctx, t1, weight):
        ctx.save_for_backward(t1, weight)
        K, W = weight.shape[2], t1.shape[2]
        padded = np.pad(t1, ((0, 0), (0, 0), (0, K - 1)))
        taps = [padded[:, :, k : k + W] for k in range(K)]
        return sum(np.einsum("bcw,oc->bow", t, weight[:, :, k]) for k, t in enumerate(taps))

    @staticmethod
    def backward(ctx, grad_output):
        t1, weight = ctx.saved_values
        K, W = weight.shape[2], t1.shape[2]
        grad_input, grad_weight = np.zeros_like(t1), np.zeros_like(weight)
        for k in range(K):
            front = grad_output[:, :, : W - k]
            grad_input[:, :, k:] += np.einsum("bow,oc->bcw", front, weight[:, :, k])
            grad_weight[:, :, k] = np.einsum("bow,bcw->oc", front, t1[:, :, k:])
        return grad_input, grad_weight


class Max(Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a == a.max(axis=2, keepdims=True), a.shape)
        return a.max(axis=2)

    @staticmethod
    def backward(ctx, grad_output):
        (largest, shape) = ctx.saved_values
        return largest * grad_output[:, :, None]


class LayerNorm(Function):
    @staticmethod
    def forward(ctx, x, gamma, beta):
        inv = 1.0 / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        xhat = (x - x.mean(axis=-1, keepdims=True)) * inv
        ctx.save_for_backward(xhat, inv, gamma)
        return gamma * xhat + beta

    @staticmethod
    def backward(ctx, grad_output):
        xhat, inv, gamma = ctx.saved_values
        g_gamma = (grad_output * xhat).sum(axis=(0, 1))
        g_beta = grad_output.sum(axis=(0, 1))
        g = grad_output * gamma
        gx = g - g.mean(axis=-1, keepdims=True) - xhat * (g * xhat).mean(axis=-1, keepdims=True)
        return inv * gx, g_gamma, g_beta


class AttnSoftmax(Function):
    """softmax of scores (B, H, T, T) + mask."""

    @staticmethod
    def forward(ctx, scores, mask):
        z = scores + mask
        e = np.exp(z - z.max(axis=-1, keepdims=True))
        soft = e / e.sum(axis=-1, keepdims=True)
        ctx.save_for_backward(soft)
        return soft

    @staticmethod
    def backward(ctx, out_grad):
        (soft,) = ctx.saved_values
        inner = (soft * out_grad).sum(axis=-1, keepdims=True)
        return soft * (out_grad - inner), None
