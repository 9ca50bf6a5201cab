"""Training steps of an AWD-LSTM beside the same model written in PyTorch, with the same masks."""

import numpy as np
import pytest

from deepnlp.backend import asarray
from deepnlp.layers import Dropout, EmbeddingDropout, TimeDropout, WeightDrop
from deepnlp.models import RegularisedRNNLM
from deepnlp.optimizers import SGD, clip_gradients
from tests.parity.tools import as_torch, close, tensor, torch

pytestmark = pytest.mark.parity
F = torch.nn.functional

V, D, H = 11, 4, 6


def mask_of(noise, *shape):
    """The mask that the next forward of a dropout layer will draw."""
    twin = type(noise)(noise.p, *([noise.locked] if isinstance(noise, TimeDropout) else []))
    twin.restore(noise.snapshot())
    return tensor(twin.forward(asarray(np.ones(shape))))


class TorchAWDLSTM:
    """The model from its equations, over tensors that start at our values."""

    def __init__(self, model):
        self.layers, self.output = model.layers, model.output
        self.weights = {p: as_torch(p) for p in model.parameters()}
        self.states = {}

    def forward(self, ids, targets, options):
        x, (N, T), raw = ids, ids.shape, None
        for layer in self.layers:
            if isinstance(layer, EmbeddingDropout):
                mask = mask_of(layer.noise, V, 1)
                x = F.embedding(x, mask * self.weights[layer.W])
            elif isinstance(layer, TimeDropout):
                x = mask_of(layer, N, T, x.shape[2]) * x
            else:
                assert isinstance(layer, WeightDrop)
                x = raw = self.lstm(layer, x)
        E, b = self.weights[self.layers[0].W], self.weights[self.output.b]
        s, t = (x @ E.T + b).reshape(-1, V), targets.reshape(-1)
        self.cross_entropy = loss = F.cross_entropy(s, t)
        loss = loss + options["ar"] * (x**2).mean()
        change = raw[:, 1:] - raw[:, :-1]
        loss = loss + options["tar"] * (change**2).sum() / max(1, change.numel())
        gamma, tau = options["augment"], options["augment_temperature"]
        q = (E[t] @ E.T / tau).log_softmax(1)
        kl = F.kl_div((s / tau).log_softmax(1), q, reduction="batchmean", log_target=True)
        return loss + gamma * tau * kl

    def lstm(self, layer, x):
        Wx, raw, b = (self.weights[p] for p in layer.parameters())
        Wh = mask_of(layer.noise, *raw.shape) * raw
        zeros = torch.zeros(len(x), layer.H, dtype=torch.float64)
        h, c = self.states.get(layer, (zeros, zeros))
        hs = []
        for t in range(x.shape[1]):
            i, f, g, o = (x[:, t] @ Wx + h @ Wh + b).chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            hs.append(h)
        self.states[layer] = h.detach(), c.detach()
        return torch.stack(hs, dim=1)


def awd_lstm(**options):
    """Ours, with random asymmetric weights everywhere, biases too."""
    model = RegularisedRNNLM(
        *(V, D, [H, H + 1, D], 3),
        dropout=0.25,
        input_dropout=0.4,
        output_dropout=0.3,
        locked_dropout=True,
        embed_dropout=0.2,
        weight_drop=0.5,
        dtype="float64",
        rng=np.random.default_rng(1),
        **options,
    )
    rng = np.random.default_rng(17)
    for parameter in model.parameters():
        parameter.value[...] = rng.normal(scale=0.5, size=parameter.shape)
    return model


TERMS = {
    "no terms": {},
    "AR and TAR": {"ar": 2.0, "tar": 1.0},
    "all": {"ar": 0.5, "tar": 3.0, "augment": 0.7, "augment_temperature": 2.0},
}


@pytest.mark.parametrize("options", TERMS.values(), ids=TERMS.keys())
@pytest.mark.parametrize(("N", "T"), [(3, 5), (1, 1), (2, 1), (1, 6)])
def test_training_steps(N, T, options):
    model = awd_lstm(**options)
    theirs = TorchAWDLSTM(model)
    ours_step = SGD(model.parameters(), lr=3.0, weight_decay=0.01)
    theirs_step = torch.optim.SGD(theirs.weights.values(), lr=3.0, weight_decay=0.01)
    ids = np.random.default_rng(3).integers(0, V, size=(N, 8 * T + 1))
    for start in range(0, 8 * T, T):
        x, t = ids[:, start : start + T], ids[:, start + 1 : start + T + 1]
        their_loss = theirs.forward(tensor(x), tensor(t), model.config())  # before ours,
        theirs_step.zero_grad()
        their_loss.backward()
        loss = model.forward(asarray(x), asarray(t))  # which draws the next masks
        model.zero_grad()
        model.backward()
        close(loss, their_loss)
        close(loss - model.penalty, theirs.cross_entropy)
        for parameter, weight in theirs.weights.items():
            close(parameter.grad, weight.grad)
        clip_gradients(model.parameters(), max_norm=0.25)
        torch.nn.utils.clip_grad_norm_(theirs.weights.values(), 0.25)
        ours_step.step()
        theirs_step.step()
        for parameter, weight in theirs.weights.items():
            close(parameter.value, weight)


def test_evaluation_is_without_masks_and_terms():
    model = awd_lstm(ar=2.0, tar=1.0, augment=0.7).eval()
    rng = np.random.default_rng(5)
    ids, targets = (rng.integers(0, V, size=(2, 7)) for _ in range(2))
    theirs = TorchAWDLSTM(model)
    for layer in model._layers():
        if isinstance(layer, Dropout):
            layer.p = 0.0
    loss = model.forward(asarray(ids), asarray(targets))
    theirs.forward(tensor(ids), tensor(targets), model.config())
    close(loss, theirs.cross_entropy)
    model.zero_grad()
    model.backward()
    theirs.cross_entropy.backward()
    for parameter, weight in theirs.weights.items():
        close(parameter.grad, weight.grad)
