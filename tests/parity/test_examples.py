"""The examples of layers against PyTorch: outputs and every gradient, in float64, to 1e-9.

A reference is the same function of PyTorch, from the tensors of the layer's parameters by name and
those of its inputs. A layer that PyTorch does not have needs none.
"""

from functools import partial

import numpy as np
import pytest

from deepnlp.examples import EXAMPLES, SINGLE, SIZES, Sizes
from tests.cases import together
from tests.layers.tools import output_weights, run
from tests.parity.tools import close, tensor, torch

pytestmark = pytest.mark.parity
F = torch.nn.functional


def affine(p, x):
    return F.linear(x, p["W"].T, p.get("b"))


def cross_entropy(scores, targets):
    return F.cross_entropy(scores.flatten(0, -2), targets.flatten(), ignore_index=-1)


def tar(beta):
    def reference(p, h):
        d = h[:, 1:] - h[:, :-1]
        return beta * (d**2).mean() if d.numel() else 0 * h.sum()

    return reference


def augmented(gamma, tau):
    def reference(p, x, targets):
        keep = targets.flatten() != -1
        s = affine(p, x).flatten(0, -2)[keep] / tau
        z = p["E"][targets.flatten()[keep]] @ p["E"].T / tau
        kl = F.kl_div(s.log_softmax(1), z.log_softmax(1), reduction="sum", log_target=True)
        return gamma * tau * kl / max(1, int(keep.sum()))

    return reference


def recurrent(name, **options):
    """A step of torch's cell, or its layer over time from a state of zeros."""

    def reference(p, x, *states):
        D, H = p["Wx"].shape[0], p["Wh"].shape[0]
        suffix, kind = ("_l0", name) if x.ndim == 3 else ("", f"{name}Cell")
        more = {"batch_first": True} if x.ndim == 3 else {}
        module = getattr(torch.nn, kind)(D, H, dtype=torch.float64, **options, **more)
        tensors = {
            f"weight_ih{suffix}": p["Wx"].T,
            f"weight_hh{suffix}": p["Wh"].T,
            f"bias_ih{suffix}": p["b"],
            f"bias_hh{suffix}": p.get("bh", torch.zeros_like(p["b"])),
        }
        given = (x,) if not states else (x, states if len(states) > 1 else states[0])
        found = torch.func.functional_call(module, tensors, given)
        return found[0] if x.ndim == 3 else found

    return reference


def dots(p, h, ids):
    y = F.embedding(ids, p["W"])
    letters = {(2, 1): "nd,nd->n", (2, 2): "nd,nkd->nk", (3, 2): "nbd,nkd->nbk"}
    return torch.einsum(letters[h.ndim, ids.ndim], h, y)


def negative_sampling(m=None):
    """One pair at a time: torch's loss of a score and a label, over the number of pairs."""

    def reference(p, h, targets, negatives, pairs=None):
        if h.ndim == 2:
            h, targets = h[:, None], targets[:, None]
        N, B, _ = h.shape
        own = torch.eye(B).expand(N, B, B)
        losses = []
        for n, b, j in (own if pairs is None else pairs).nonzero():
            if (target := targets[n, j]) == -1:
                continue
            noise = negatives[n][negatives[n] != target]
            weight = (m or negatives.shape[1]) / negatives.shape[1]
            for ids, label, each in ((target[None], 1.0, 1.0), (noise, 0.0, weight)):
                scores = F.embedding(ids, p["W"]) @ h[n, b]
                labels = torch.full_like(scores, label)
                loss = F.binary_cross_entropy_with_logits(scores, labels, reduction="sum")
                losses.append((each * loss, label))
        pairs_that_count = sum(label for _, label in losses)
        return sum(loss for loss, _ in losses) / max(1, pairs_that_count) + 0 * h.sum()

    return reference


def word2vec(p, text, windows, centres, negatives=None, *, skip, mean=False):
    """CBOW or skip-gram: the vectors of the centres, or of their windows, against the output's."""
    E, a = p["embed.W"], windows.double()
    h, targets, pairs = F.embedding(centres, E), text, windows
    if not skip:
        size = a.sum(2, keepdim=True)
        h = a @ F.embedding(text, E) / (size.clamp(min=1) if mean else 1)
        targets, pairs = torch.where(size[:, :, 0] > 0, centres, -1), None
    h = h @ p["project.W"] if "project.W" in p else h
    W = p.get("output.W", E)
    if negatives is not None:
        return negative_sampling(5)({"W": W}, h, targets, negatives, pairs)
    if not skip:
        return cross_entropy(h @ W.T, targets)
    n, i, j = windows.nonzero(as_tuple=True)
    return cross_entropy(h[n, i] @ W.T, text[n, j])


def swiglu(x):
    a, b = x.chunk(2, dim=-1)
    return F.silu(a) * b


def feed_forward(activation):
    def reference(p, x):
        h = activation(F.linear(x, p["layers.0.W"].T, p.get("layers.0.b")))
        return F.linear(h, p["layers.2.W"].T, p.get("layers.2.b"))

    return reference


def rotated(x):
    """Complex numbers a + ib of the two halves, times e^(i t theta): (..., T, d)."""
    T, d = x.shape[-2:]
    theta = 10000.0 ** (-2 * torch.arange(d // 2, dtype=torch.float64) / d)
    turn = torch.polar(torch.ones(T, d // 2, dtype=torch.float64), torch.arange(T)[:, None] * theta)
    a, b = x.chunk(2, dim=-1)
    turned = torch.complex(a, b) * turn
    return torch.cat([turned.real, turned.imag], dim=-1)


def attention(heads, causal=False, rotary=False, **options):
    """torch's scaled_dot_product_attention between the four maps of its MultiheadAttention."""

    def cut(x, d):
        return x.unflatten(-1, (-1, d)).transpose(1, 2)

    def linear(p, name, x):
        return F.linear(x, p[f"{name}.W"].T, p.get(f"{name}.b"))

    def reference(p, x, *others):
        D, d = x.shape[-1], x.shape[-1] // heads
        memory, mask = (*others, None)[:2] if "query.W" in p else (None, *others, None)[:2]
        if memory is None:
            qkv = linear(p, "qkv", x)
            width = (qkv.shape[-1] - D) // 2
            q, k, v = (cut(part, d) for part in qkv.split([D, width, width], dim=-1))
        else:
            q = cut(linear(p, "query", x), d)
            k, v = (cut(part, d) for part in linear(p, "memory", memory).chunk(2, dim=-1))
        q, k = (rotated(q), rotated(k)) if rotary else (q, k)
        allowed = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
        allowed = (allowed.tril() if causal else allowed)[None, None]
        if mask is not None:
            allowed = allowed & (mask[:, None] if mask.ndim == 3 else mask[:, None, None])
        grouped = {"enable_gqa": q.shape[1] != k.shape[1]}
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, **grouped, **options)
        return linear(p, "output", y.transpose(1, 2).flatten(-2))

    return reference


REFERENCES = {
    "MatMul": affine,
    "Affine": affine,
    "Affine no bias": affine,
    "TimeAffine": affine,
    "TimeAffine no bias": affine,
    "Sigmoid": lambda p, x: torch.sigmoid(x),
    "RMSNorm": lambda p, x: F.rms_norm(x, p["g"].shape, p["g"], eps=1e-6),
    "LayerNorm": lambda p, x: F.layer_norm(x, p["g"].shape, p["g"], p["b"]),
    "LayerNorm no bias": lambda p, x: F.layer_norm(x, p["g"].shape, p["g"]),
    "GELU": lambda p, x: F.gelu(x),
    "GELU tanh": lambda p, x: F.gelu(x, approximate="tanh"),
    "SiLU": lambda p, x: F.silu(x),
    "SwiGLU": lambda p, x: swiglu(x),
    "PositionalEmbedding": lambda p, x: x + p["P"],
    "RotaryPositions": lambda p, x: rotated(x),
    "FeedForward": feed_forward(F.gelu),
    "FeedForward swiglu": feed_forward(swiglu),
    "MultiHeadAttention": attention(4, causal=True),
    "MultiHeadAttention mask": attention(2, scale=0.7),
    "MultiHeadAttention mask by query": attention(2),
    "MultiHeadAttention causal": attention(1, causal=True),
    "MultiHeadAttention grouped": attention(4, causal=True),
    "MultiHeadAttention one key": attention(2, causal=True, rotary=True),
    "MultiHeadAttention rotary": attention(2, causal=True, rotary=True),
    "CrossAttention": attention(4),
    "Tanh": lambda p, x: torch.tanh(x),
    "ReLU": lambda p, x: torch.relu(x),
    "Softmax": lambda p, x: torch.softmax(x, dim=-1),
    "Embedding": lambda p, ids: F.embedding(ids, p["W"]),
    "SoftmaxWithLoss": lambda p, scores, targets: cross_entropy(scores, targets),
    "AffineSoftmaxWithLoss": lambda p, x, targets: cross_entropy(affine(p, x), targets),
    "AffineSoftmaxWithLoss no bias": lambda p, x, targets: cross_entropy(affine(p, x), targets),
    "ActivationRegularisation": lambda p, h: 0.8 * (h**2).mean(),
    "TemporalActivationRegularisation": tar(0.8),
    "AugmentedLoss": augmented(0.7, 3.0),
    "AugmentedLoss no bias": augmented(0.7, 20.0),
    "EmbeddingDot": dots,
    "EmbeddingDot one id a row": dots,
    "EmbeddingDot of groups": dots,
    "NegativeSamplingLoss": negative_sampling(),
    "NegativeSamplingLoss of groups": negative_sampling(2),
    "NegativeSamplingLoss of pairs": negative_sampling(2),
    "SigmoidWithLoss": lambda p, s, t: F.binary_cross_entropy_with_logits(s, t.double()),
    "RNN": recurrent("RNN"),
    "TimeRNN": recurrent("RNN"),
    "RNN relu": recurrent("RNN", nonlinearity="relu"),
    "TimeRNN relu": recurrent("RNN", nonlinearity="relu"),
    "LSTM": recurrent("LSTM"),
    "TimeLSTM": recurrent("LSTM"),
    "CBOW none negative mean": partial(word2vec, skip=False, mean=True),
    "CBOW tied negative sum": partial(word2vec, skip=False),
    "CBOW tied+L softmax mean": partial(word2vec, skip=False, mean=True),
    "SkipGram none negative": partial(word2vec, skip=True),
    "SkipGram tied negative": partial(word2vec, skip=True),
    "SkipGram tied+L negative": partial(word2vec, skip=True),
    "SkipGram tied softmax": partial(word2vec, skip=True),
    "GRU reset_after": recurrent("GRU"),
    "TimeGRU reset_after": recurrent("GRU"),
}


@pytest.mark.parametrize("name", REFERENCES)
@together(sizes=[SIZES, SINGLE, Sizes(3, 7, 1, 1, 2), Sizes(2, 5, 9, 2, 11)])
def test_an_example_equals_its_reference(name, sizes):
    rng = np.random.default_rng(3)
    layer, inputs = EXAMPLES[name].build(rng, sizes)
    parameters = {key: tensor(p.value, grad=True) for key, p in layer.named_parameters()}
    theirs = [tensor(x, grad=x.dtype.kind == "f") for x in inputs]
    expected = REFERENCES[name](parameters, *theirs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    outputs, gradients = run(layer, inputs)
    for y, y_ in zip(outputs, expected, strict=True):
        close(y, y_)
    weights = [tensor(w) for w in output_weights(outputs)]
    sum((w * y).sum() for w, y in zip(weights, expected, strict=True)).backward()
    for dx, x_ in zip(gradients, theirs, strict=False):
        if x_.grad is not None:
            close(dx, x_.grad)
    for key, parameter in layer.named_parameters():
        close(parameter.grad, parameters[key].grad)
