"""Layers over padded sequences against PyTorch: bidirectional, packed, several layers, attention.

The recurrent layers are torch's own. Torch has none of these attentions, so they are derived again
with its automatic differentiation, a step at a time.
"""

import numpy as np
import pytest

from deepnlp.backend import asarray
from deepnlp.examples import EXAMPLES, SIZES, Sizes
from deepnlp.layers import TimeBidirectional, TimeGRU, TimeLSTM, TimeRNN, TimeStacked
from deepnlp.parameter import Parameter
from tests.cases import together
from tests.layers.tools import output_weights
from tests.parity.tools import close, tensor, torch

pytestmark = pytest.mark.parity
rnn = torch.nn.utils.rnn

CELLS = {"RNN": TimeRNN, "LSTM": TimeLSTM, "GRU": TimeGRU}


# --- Packed, bidirectional, several layers --------------------------------------------------------


def like(module, cell, directions):
    """Our stack with the weights of torch's module, and the names of its parameters there."""
    named = dict(module.named_parameters())
    pairs, layers = [], []
    for number in range(module.num_layers):
        both = []
        for suffix in ("", "_reverse")[:directions]:
            names = [f"{kind}_l{number}{suffix}" for kind in ("weight_ih", "weight_hh")]
            biases = [f"{kind}_l{number}{suffix}" for kind in ("bias_ih", "bias_hh")]
            b, bh = (named[name].detach().numpy() for name in biases)
            if cell is TimeGRU:
                ours = [Parameter(b), Parameter(bh)]
            else:
                ours = [Parameter(b + bh)]
                biases = biases[:1]
            weights = [Parameter(named[name].detach().numpy().T) for name in names]
            options = {"reset_after": True} if cell is TimeGRU else {}
            both.append(cell(*weights, *ours, **options))
            pairs += [*zip(weights, names, strict=True), *zip(ours, biases, strict=True)]
        layers.append(TimeBidirectional(*both) if directions == 2 else both[0])
    return TimeStacked(*layers), pairs


@pytest.mark.parametrize("name", CELLS)
@together(directions=[1, 2], layers=[1, 3], lengths=[[7, 1, 4], [1], [5, 5], [2, 6, 3, 1, 5]])
def test_packed_sequences(name, layers, directions, lengths):
    torch.manual_seed(0)
    N, T, D, H = len(lengths), max(lengths), 3, 5
    module = getattr(torch.nn, name)(
        D, H, layers, batch_first=True, bidirectional=directions == 2, dtype=torch.float64
    )
    stack, pairs = like(module, CELLS[name], directions)
    rng = np.random.default_rng(1)
    states = 2 if name == "LSTM" else 1
    x, dy = rng.normal(size=(N, T, D)), rng.normal(size=(N, T, directions * H))
    start, dlast = (rng.normal(size=(states, layers, directions, N, H)) for _ in range(2))

    def side_by_side(values):
        """(states, layers, directions, N, H) as a tuple of (N, directions H) for each layer."""
        joined = values.transpose(1, 0, 3, 2, 4).reshape(layers, states, N, directions * H)
        return [tuple(map(asarray, layer)) for layer in joined]

    stack.set_state(*side_by_side(start))
    y = stack.forward(asarray(x), lengths)
    last = stack.state
    dx = stack.backward(asarray(dy), *side_by_side(dlast))

    x_, start_ = tensor(x, grad=True), tensor(start, grad=True)
    first = tuple(start_.reshape(states, layers * directions, N, H))
    packed = rnn.pack_padded_sequence(x_, lengths, batch_first=True, enforce_sorted=False)
    out, last_ = module(packed, first if states == 2 else first[0])
    y_, _ = rnn.pad_packed_sequence(out, batch_first=True)
    last_ = torch.stack(last_ if states == 2 else (last_,))
    last_ = last_.reshape(states, layers, directions, N, H)
    ((tensor(dy) * y_).sum() + (tensor(dlast) * last_).sum()).backward()

    close(y, y_)
    close(dx, x_.grad)
    for ours, theirs in ((last, last_), (stack.dstate0, start_.grad)):
        for a, b in zip(ours, side_by_side(theirs.detach().numpy()), strict=True):
            for one, other in zip(a, b, strict=True):
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    named = dict(module.named_parameters())
    for ours, their_name in pairs:
        theirs = named[their_name].grad
        close(ours.grad, theirs.T if ours.value.ndim == 2 else theirs)


# --- Attention --------------------------------------------------------------------------------


def read(e, memory, lengths):
    """Contexts (N, T, H) from scores (N, T, S)."""
    if lengths is not None:
        hidden = torch.arange(memory.shape[1]) >= lengths[:, None]
        e = e.masked_fill(hidden[:, None], -torch.inf)
        e = torch.where(hidden.all(dim=1)[:, None, None], 0.0, e)  # no place counts
        memory = memory * ~hidden[:, :, None]
    return torch.einsum("nts,nsh->nth", torch.softmax(e, dim=2), memory)


def dot(p, query, memory, lengths=None):
    return read(torch.einsum("nth,nsh->nts", query, memory), memory, lengths)


def general(p, query, memory, lengths=None):
    e = torch.einsum("nth,hk,nsk->nts", query, p["key.W"], memory)
    return read(e, memory, lengths)


def concat(p, query, memory, lengths=None):
    (N, T, _), S = query.shape, memory.shape[1]
    pairs = [query[:, :, None].expand(N, T, S, -1), memory[:, None].expand(N, T, S, -1)]
    return read(torch.tanh(torch.cat(pairs, dim=3) @ p["W"]) @ p["v"], memory, lengths)


def additive(p, query, memory, lengths=None):
    e = torch.tanh((query @ p["query.W"])[:, :, None] + (memory @ p["key.W"])[:, None]) @ p["v"]
    return read(e, memory, lengths)


# --- Decoders -----------------------------------------------------------------------------------


def lstm(p, x, state):
    i, f, g, o = (x @ p["Wx"] + state[0] @ p["Wh"] + p["b"]).chunk(4, dim=1)
    c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    return h, (h, c)


def gru(p, x, state):
    (h,) = state
    (x_r, x_z, x_n), H = (x @ p["Wx"] + p["b"]).chunk(3, dim=1), h.shape[1]
    r = torch.sigmoid(x_r + h @ p["Wh"][:, :H])
    z = torch.sigmoid(x_z + h @ p["Wh"][:, H : 2 * H])
    n = torch.tanh(x_n + (r * h) @ p["Wh"][:, 2 * H :])
    h = (1 - z) * n + z * h
    return h, (h,)


def elman(p, x, state):
    h = torch.tanh(x @ p["Wx"] + state[0] @ p["Wh"] + p["b"])
    return h, (h,)


def part(p, prefix):
    return {name[len(prefix) :]: value for name, value in p.items() if name.startswith(prefix)}


class Stack:
    """One or more cells from states of zeros, and the last state of the topmost."""

    def __init__(self, cell, p, N):
        self.cell = cell
        single = "Wx" in part(p, "recurrent.")
        prefixes = ["recurrent."] if single else ["recurrent.layers.0.", "recurrent.layers.1."]
        self.weights = [part(p, prefix) for prefix in prefixes]
        zeros = [torch.zeros(N, w["Wh"].shape[0], dtype=torch.float64) for w in self.weights]
        self.states = [(zero, zero) if cell is lstm else (zero,) for zero in zeros]

    @property
    def h(self):
        return self.states[-1][0]

    def __call__(self, x):
        for k, weights in enumerate(self.weights):
            x, self.states[k] = self.cell(weights, x, self.states[k])
        return x


def decoder(kind, cell, attention=None):
    """The decoder of the docstring, a step at a time."""

    def reference(p, x, memory, lengths=None):
        N, T, _ = x.shape
        stack, ys = Stack(cell, p, N), []
        y = torch.zeros(N, 0, dtype=torch.float64)
        if kind == "feeding":
            y = torch.zeros(N, p["combine.layers.0.W"].shape[1], dtype=torch.float64)

        def attend(h):
            return attention(part(p, "attention."), h[:, None], memory, lengths)[:, 0]

        for t in range(T):
            if kind == "context":
                h = stack(torch.cat([x[:, t], memory], dim=1))
                ys.append(torch.cat([h, memory], dim=1))
                continue
            if kind == "bahdanau":
                context = attend(stack.h)
                h = stack(torch.cat([x[:, t], context], dim=1))
            else:
                h = stack(torch.cat([x[:, t], y], dim=1) if kind == "feeding" else x[:, t])
                context = attend(h)
            W, b = p["combine.layers.0.W"], p["combine.layers.0.b"]
            y = torch.tanh(torch.cat([context, h], dim=1) @ W + b)
            ys.append(y)
        return torch.stack(ys, dim=1)

    return reference


REFERENCES = {
    "DotAttention": dot,
    "DotAttention lengths": dot,
    "GeneralAttention": general,
    "ConcatAttention": concat,
    "AdditiveAttention": additive,
    "ContextDecoder": decoder("context", lstm),
    "AttentionDecoder dot": decoder("luong", lstm, dot),
    "AttentionDecoder concat": decoder("luong", gru, concat),
    "InputFeedingDecoder general": decoder("feeding", lstm, general),
    "InputFeedingDecoder dot": decoder("feeding", elman, dot),
    "BahdanauDecoder": decoder("bahdanau", gru, additive),
}


@together(sizes=[SIZES, Sizes(1, 1, 2, 3, 4, 1), Sizes(3, 7, 1, 1, 2, 5), Sizes(4, 2, 9, 3, 5, 1)])
@pytest.mark.parametrize("name", REFERENCES)
def test_attention_derived_again(name, sizes):
    layer, inputs = EXAMPLES[name].build(np.random.default_rng(3), sizes)
    parameters = {key: tensor(p.value, grad=True) for key, p in layer.named_parameters()}
    theirs = [tensor(x, grad=x.dtype.kind == "f") for x in inputs]
    expected = REFERENCES[name](parameters, *theirs)
    y = layer.forward(*inputs)
    close(y, expected)
    dy = output_weights((y,))[0]
    (tensor(dy) * expected).sum().backward()
    for gradient, x_ in zip(layer.backward(dy), theirs, strict=False):
        close(gradient, x_.grad)
    for key, parameter in layer.named_parameters():
        close(parameter.grad, parameters[key].grad)
