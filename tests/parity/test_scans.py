"""Layers that are scans against torch's autograd over a plain loop, in float64, to 1e-10."""

import numpy as np
import pytest

from tests.cases import together
from tests.layers.test_scans import KINDS, draw, make
from tests.parity.tools import close, tensor, torch

pytestmark = pytest.mark.parity
F = torch.nn.functional


def mingru(layer, a, h, p):
    z, n = torch.sigmoid(a[:, : layer.H]), a[:, layer.H :]
    h = (1 - z) * h + z * n
    return h, h


def minlstm(layer, a, h, p):
    f, i, n = a.chunk(3, dim=1)
    f, i = torch.sigmoid(f), torch.sigmoid(i)
    h = f / (f + i) * h + i / (f + i) * n
    return h, h


def linear_attention(layer, a, h, p):
    N, heads, d = len(a), layer.heads, layer.H // layer.heads
    q, k, v, *gate = a.reshape(N, -1, heads, d).unbind(1)
    fixed = 1 - 2.0 ** -(5 + torch.arange(heads, dtype=torch.float64))
    f = torch.sigmoid(gate[0]) ** (1 / 16) if gate else fixed[:, None].expand(heads, d)
    S = f[..., None] * h.reshape(N, heads, d, d) + torch.einsum("nhi,nhj->nhij", k, v)
    return torch.einsum("nhi,nhij->nhj", q, S).reshape(N, -1) / d**0.5, S.reshape(N, -1)


def state_space(layer, a, h, p):
    H, S = layer.H, layer.size
    v, delta, B, C = a.split([H, H, S, S], dim=1)
    delta = F.softplus(delta)
    h = torch.exp(-delta[..., None] * torch.exp(p["A_log"])) * h.reshape(-1, H, S)
    h = h + (delta * v)[..., None] * B[:, None]
    return (h * C[:, None]).sum(2) + p["skip"] * v, h.reshape(len(a), -1)


def mlstm(layer, a, h, p):
    """Without a stabiliser: C and n themselves, in a state whose scale is 1."""
    N, heads, d = len(a), layer.heads, layer.d
    q, k, v, o = a[:, : 4 * layer.H].reshape(N, 4, heads, d).unbind(1)
    i, f = torch.exp(a[:, 4 * layer.H : -heads]), torch.sigmoid(a[:, -heads:])
    C, k = h.reshape(N, heads, d, d + 1), k / d**0.5
    v = torch.cat([v, torch.ones_like(v[..., :1])], dim=2)
    C = f[..., None, None] * C + i[..., None, None] * torch.einsum("nhi,nhj->nhij", k, v)
    r = torch.einsum("nhi,nhij->nhj", q, C)
    y = torch.sigmoid(o) * r[..., :d] / r[..., d:].abs().clamp(min=1)
    return y.reshape(N, -1), C.reshape(N, -1)


STEPS = {
    "mingru": mingru,
    "minlstm": minlstm,
    "gla": linear_attention,
    "retention": linear_attention,
    "ssm": state_space,
    "mlstm": mlstm,
}


@pytest.mark.parametrize("kind", KINDS)
@together(sizes=[(2, 7, 3, 6), (1, 1, 1, 6), (3, 40, 2, 12)])
def test_a_layer_equals_autograd_over_the_loop(kind, sizes):
    N, T, D, H = sizes
    layer = make(kind, D, H)
    x, dy, start = draw(N, T, D), draw(N, T, H, seed=1), draw(N, layer.state_size)
    if kind == "mlstm":
        start[:, -layer.heads :] = 0  # a scale of 1, as the reference has it
    layer.set_state(start)
    p = {name: tensor(w.value, grad=True) for name, w in layer.named_parameters()}
    theirs, first = tensor(x, grad=True), tensor(start, grad=True)
    h, ys = first[:, : -layer.heads] if kind == "mlstm" else first, []
    for t in range(T):
        y, h = STEPS[kind](layer, theirs[:, t] @ p["Wx"] + p["b"], h, p)
        ys.append(y)
    expected = torch.stack(ys, dim=1)
    (expected * tensor(dy)).sum().backward()
    close(layer.forward(x), expected, 1e-10)
    close(layer.backward(dy), theirs.grad, 1e-10)
    size = layer.state_size - (layer.heads if kind == "mlstm" else 0)
    close(layer.dh0[:, :size], first.grad[:, :size], 1e-10)
    for name, weight in layer.named_parameters():
        close(weight.grad, p[name].grad, 1e-10)


def test_a_step_over_a_scale_is_as_large_as_without_one():
    """The same C and n, once as they are and once divided by exp(m)."""
    results = []
    for m in (0.0, 3.0):
        layer = make("mlstm")
        start = draw(2, layer.state_size)
        start[:, :-2] *= np.exp(-m)
        start[:, -2:] = m
        layer.set_state(start)
        results.append([layer.forward(draw(2, 5, 3)), layer.backward(draw(2, 5, 6))])
    for plain, scaled in zip(*results, strict=True):
        close(scaled, plain, 1e-12)
