"""Functions of torch.autograd, on tensors of the CPU."""

# ruff: noqa

import math

import torch
from torch.autograd import Function


class MyLinear(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        return output if bias is None else output + bias.unsqueeze(0).expand_as(output)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class MyExp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


class MyReLU(Function):
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


class LegendrePolynomial3(Function):
    @staticmethod
    def forward(input):
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


class LayerNorm(Function):
    @staticmethod
    def forward(ctx, x, gamma, beta, eps):
        mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
        std = torch.sqrt(var + eps)
        x_hat = (x - mean) / std
        ctx.save_for_backward(x_hat, std, gamma)
        return gamma * x_hat + beta

    @staticmethod
    def backward(ctx, grad_output):
        x_hat, std, gamma = ctx.saved_tensors
        d = grad_output * gamma
        mean = d.mean(-1, keepdim=True)
        dx = (d - mean - x_hat * (d * x_hat).mean(-1, keepdim=True)) / std
        return dx, (grad_output * x_hat).sum(0), grad_output.sum(0), None


class Attention(Function):
    @staticmethod
    def forward(ctx, q, k, v, mask):
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        a = torch.softmax(scores.masked_fill(mask == 0, -1e9), -1)
        ctx.save_for_backward(q, k, v, a)
        return a @ v

    @staticmethod
    def backward(ctx, grad_output):
        q, k, v, a = ctx.saved_tensors
        dv = a.transpose(-1, -2) @ grad_output
        da = grad_output @ v.transpose(-1, -2)
        ds = a * (da - (da * a).sum(-1, keepdim=True)) / math.sqrt(q.shape[-1])
        return ds @ k, ds.transpose(-1, -2) @ q, dv, None


class MyEmbedding(Function):
    @staticmethod
    def forward(ctx, ids, weight):
        ctx.save_for_backward(ids)
        ctx.size = weight.shape
        return weight[ids]

    @staticmethod
    def backward(ctx, grad_output):
        (ids,) = ctx.saved_tensors
        grad = torch.zeros(ctx.size, dtype=grad_output.dtype)
        grad.index_add_(0, ids.reshape(-1), grad_output.reshape(-1, ctx.size[1]))
        return None, grad


class CrossEntropy(Function):
    @staticmethod
    def forward(ctx, logits, target):
        p = torch.softmax(logits, -1)
        ctx.save_for_backward(p, target)
        return -p[torch.arange(len(p)), target].log().mean()

    @staticmethod
    def backward(ctx, grad_output):
        p, target = ctx.saved_tensors
        grad = p.clone()
        grad[torch.arange(len(p)), target] -= 1
        return grad_output * grad / len(p), None


class SplitGLU(Function):
    @staticmethod
    def forward(ctx, x):
        a, b = x.chunk(2, dim=-1)
        s = torch.sigmoid(b)
        ctx.save_for_backward(a, s)
        return a * s, s

    @staticmethod
    def backward(ctx, grad_out, grad_gate):
        a, s = ctx.saved_tensors
        ds = grad_out * a + grad_gate
        return torch.cat([grad_out * s, ds * s * (1 - s)], dim=-1)


def examples(rng):
    normal = lambda *shape: rng.normal(size=shape)
    tensor = lambda *shape: torch.from_numpy(normal(*shape))
    mask = (rng.random((2, 4, 5)) < 0.7).astype(float)
    mask[..., 0] = 1
    return {
        "linear": (MyLinear, normal(5, 4), normal(3, 4), normal(3)),
        "linear of tensors": (MyLinear, tensor(5, 4), tensor(3, 4)),
        "exp": (MyExp, normal(3, 4)),
        "relu": (MyReLU, tensor(3, 4).float()),
        "legendre": (LegendrePolynomial3, normal(3, 4)),
        "layer norm": (LayerNorm, normal(3, 4), normal(4), normal(4), 1e-5),
        "attention": (Attention, normal(2, 4, 3), normal(2, 5, 3), normal(2, 5, 6), mask),
        "embedding": (MyEmbedding, rng.integers(0, 5, size=(3, 4)), normal(5, 3)),
        "cross entropy": (CrossEntropy, normal(4, 5), torch.tensor([0, 3, 1, 1])),
        "glu": (SplitGLU, normal(3, 6)),
    }


MISTAKES = [
    ("linear", "grad_bias = grad_output.sum(0)", "grad_bias = grad_output.mean(0)"),
    ("linear", "grad_weight = grad_output.t().mm(input)", "pass"),
    (
        "linear of tensors",
        "grad_input = grad_output.mm(weight)",
        "grad_input = 2 * grad_output.mm(weight)",
    ),
    ("exp", "ctx.save_for_backward(result)", "ctx.save_for_backward(i)"),
    ("relu", "grad_input[input < 0] = 0", "grad_input[grad_output < 0] = 0"),
    ("legendre", "1.5 * (5 * input**2 - 1)", "1.5 * (5 * input**2)"),
    ("layer norm", "d = grad_output * gamma", "d = grad_output"),
    ("layer norm", "grad_output.sum(0), None", "-grad_output.sum(0), None"),
    (
        "attention",
        "(da * a).sum(-1, keepdim=True)) / math.sqrt(q.shape[-1])",
        "(da * a).sum(-1, keepdim=True))",
    ),
    ("attention", "ds.transpose(-1, -2) @ q, dv", "ds.transpose(-1, -2) @ q, None"),
    ("embedding", "grad.index_add_(0, ids", "grad.index_copy_(0, ids"),
    ("cross entropy", "grad_output * grad / len(p)", "grad_output * grad"),
    ("glu", "+ grad_gate", ""),
]
