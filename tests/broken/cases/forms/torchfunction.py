"""Functions for PyTorch's autograd, with forward and backward of one's own."""

import math

import torch


class MyLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight)
        return input.mm(weight.t()) + bias

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        grad_input = grad_output.mm(weight)
        grad_weight = grad_output.t().mm(input)
        grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i * torch.sigmoid(i)
        ctx.save_for_backward(i)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (i,) = ctx.saved_tensors
        sigmoid_i = torch.sigmoid(i)
        return grad_output * (sigmoid_i * (1 + i * (1 - sigmoid_i)))


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        ctx.save_for_backward(x, weight, rstd)
        return x * rstd * weight

    @staticmethod
    def backward(ctx, dy):
        x, weight, rstd = ctx.saved_tensors
        wdy = dy * weight
        xhat = x * rstd
        dweight = (dy * xhat).sum(0)
        c = (xhat * wdy).mean(-1, keepdim=True)
        dx = (wdy - xhat * c) * rstd
        return dx, dweight


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal):
        s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if causal:
            s = s.masked_fill(torch.ones_like(s).triu(1).bool(), float("-inf"))
        p = torch.softmax(s, dim=-1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx, do):
        q, k, v, p = ctx.saved_tensors
        dv = p.transpose(-1, -2) @ do
        dp = do @ v.transpose(-1, -2)
        delta = (p * dp).sum(-1, keepdim=True)
        ds = p * (dp - delta) / math.sqrt(q.shape[-1])
        return ds @ k, ds.transpose(-1, -2) @ q, dv, None


class Conv2d(torch.autograd.Function):
    """Stride 1, pad 1, kernel 3 x 3, by unfolded windows."""

    @staticmethod
    def forward(ctx, x, w, b):
        cols = torch.nn.functional.unfold(x, 3, padding=1)
        ctx.save_for_backward(cols, w)
        ctx.shape = x.shape
        out = w.reshape(w.shape[0], -1) @ cols + b[:, None]
        return out.reshape(x.shape[0], w.shape[0], *x.shape[2:])

    @staticmethod
    def backward(ctx, dy):
        cols, w = ctx.saved_tensors
        d = dy.reshape(dy.shape[0], dy.shape[1], -1)
        db = d.sum((0, 2))
        dw = torch.einsum("nfl,nkl->fk", d, cols).reshape(w.shape)
        dcols = w.reshape(w.shape[0], -1).t() @ d
        dx = torch.nn.functional.fold(dcols, ctx.shape[2:], 3, padding=1)
        return dx, dw, db


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, targets, smoothing):
        p = torch.softmax(logits, dim=1)
        q = torch.full_like(p, smoothing / p.shape[1])
        q[torch.arange(len(p)), targets] += 1 - smoothing
        ctx.save_for_backward(p, q)
        return -(q * p.log()).sum() / len(p)

    @staticmethod
    def backward(ctx, grad_output):
        p, q = ctx.saved_tensors
        return grad_output * (p - q) / len(p), None, None
