"""A Mogrifier LSTM beside the same layer written in PyTorch from the paper's equations."""

import numpy as np
import pytest

from deepnlp.backend import asarray
from deepnlp.layers import TimeMogrifierLSTM
from deepnlp.models import RegularisedRNNLM
from tests.parity.tools import as_torch, close, tensor, torch

pytestmark = pytest.mark.parity
N, T, D, H = 3, 4, 5, 6


def theirs(weights, x, h, c, rounds):
    """All states; weights by name."""
    hs = []
    for t in range(x.shape[1]):
        a, b = x[:, t], h
        for i in range(rounds):
            through = weights[f"Ls.{i}"] @ weights[f"Rs.{i}"]
            if i % 2 == 0:
                a = 2 * torch.sigmoid(b @ through) * a
            else:
                b = 2 * torch.sigmoid(a @ through) * b
        gates = (a @ weights["Wx"] + b @ weights["Wh"] + weights["b"]).chunk(4, dim=1)
        i, f, g, o = (torch.tanh(s) if k == 2 else torch.sigmoid(s) for k, s in enumerate(gates))
        c = f * c + i * g
        h = o * torch.tanh(c)
        hs.append(h)
    return torch.stack(hs, dim=1), h, c


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_forward_and_backward(rounds):
    rng = np.random.default_rng(rounds)
    sizes = {"rounds": rounds, "rank": 2, "dtype": "float64"}
    layer = TimeMogrifierLSTM.init(D, H, rng, **sizes, stateful=True)
    x, h, c, dhs, dh, dc = (
        rng.normal(size=shape) for shape in [(N, T, D), (N, H), (N, H), (N, T, H), (N, H), (N, H)]
    )
    layer.set_state(asarray(h), asarray(c))
    own = layer.forward(asarray(x))
    dx = layer.backward(asarray(dhs), asarray(dh), asarray(dc))

    weights = {name: as_torch(p) for name, p in layer.named_parameters()}
    inputs = [tensor(array, grad=True) for array in (x, h, c)]
    ys, last_h, last_c = theirs(weights, *inputs, rounds)
    loss = (ys * tensor(dhs)).sum() + (last_h * tensor(dh)).sum() + (last_c * tensor(dc)).sum()
    loss.backward()
    for mine, other in ((own, ys), (layer.h, last_h), (layer.c, last_c)):
        close(mine, other)
    for mine, other in zip((dx, layer.dh0, layer.dc0), inputs):
        close(mine, other.grad)
    for name, parameter in layer.named_parameters():
        close(parameter.grad, weights[name].grad)


def test_a_language_model_of_them():
    sizes = {"layers": 1, "dropout": 0.0, "mogrifier_rounds": 3, "mogrifier_rank": 2}
    model = RegularisedRNNLM(7, D, D, **sizes, dtype="float64", rng=np.random.default_rng(0))
    ids = np.random.default_rng(1).integers(0, 7, size=(N, T + 1))
    loss = model.forward(asarray(ids[:, :-1]), asarray(ids[:, 1:]))
    model.zero_grad()
    model.backward()
    named = dict(model.named_parameters())
    weights = {name: as_torch(p) for name, p in named.items()}
    E = weights["layers.0.W"]
    of_cell = {name.removeprefix("layers.1."): w for name, w in weights.items()}
    zeros = torch.zeros(N, D, dtype=torch.float64)
    ys, *_ = theirs(of_cell, E[tensor(ids[:, :-1])], zeros, zeros, 3)
    scores = (ys @ E.T + weights["output.b"]).reshape(-1, 7)
    their_loss = torch.nn.functional.cross_entropy(scores, tensor(ids[:, 1:]).reshape(-1))
    their_loss.backward()
    close(loss, their_loss)
    for name, parameter in named.items():
        close(parameter.grad, weights[name].grad)
