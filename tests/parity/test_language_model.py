"""Ten training steps of the recurrent language model beside the same model in PyTorch."""

import numpy as np
import pytest

from deepnlp.backend import asarray
from deepnlp.layers import TimeGRU, TimeLSTM, TimeRNN
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD, Adam, clip_gradients
from tests.cases import together
from tests.parity.tools import as_torch, close, recurrent_module, recurrent_tensors, tensor, torch

pytestmark = pytest.mark.parity
F = torch.nn.functional

V = 11
CELLS = {
    "lstm": {"cell": "lstm"},
    "gru": {"cell": "gru", "reset_after": True},
    "tanh": {"cell": "rnn"},
    "relu": {"cell": "rnn", "activation": "relu"},
}
TIES = {"tied": (6, 6), "tied+L": (4, 7), "none": (5, 6)}
OPTIMIZERS = {
    "SGD": (lambda p: SGD(p, lr=2.0), lambda p: torch.optim.SGD(p, lr=2.0)),
    "Adam": (lambda p: Adam(p, lr=0.01), lambda p: torch.optim.Adam(p, lr=0.01)),
}


class TorchLM:
    """The same model in torch, over tensors that start at our values.

    `pairs` lists each of our parameters with its tensor and whether that is transposed.
    """

    def __init__(self, model, kind, tie):
        by_name = dict(model.named_parameters())
        self.E = as_torch(model.layers[0].W)
        self.pairs = [(model.layers[0].W, self.E, False)]
        self.modules = []
        for layer in model.layers:
            if isinstance(layer, TimeLSTM | TimeGRU | TimeRNN):
                module = recurrent_module(kind, layer.parameters())
                self.modules.append(module)
                tensors = recurrent_tensors(module)
                self.pairs += [
                    (parameter, theirs, transposed)
                    for parameter, (theirs, transposed) in zip(
                        layer.parameters(), tensors, strict=True
                    )
                ]
        self.L = self.W = None
        if tie == "tied+L":
            L = model.layers[-1].W
            self.L = as_torch(L)
            self.pairs.append((L, self.L, False))
        if tie == "none":
            W = model.output.W
            self.W = as_torch(W)
            self.pairs.append((W, self.W, False))
        b = model.output.b
        self.b = as_torch(b)
        self.pairs.append((b, self.b, False))
        assert [id(p) for p, *_ in self.pairs] == [id(p) for p in by_name.values()]
        self.states = [None] * len(self.modules)

    def parameters(self):
        return [theirs for _, theirs, _ in self.pairs]

    def forward(self, ids, targets):
        x = F.embedding(ids, self.E)
        for k, module in enumerate(self.modules):
            x, state = module(x, self.states[k])
            pair = isinstance(state, tuple)
            self.states[k] = tuple(s.detach() for s in state) if pair else state.detach()
        if self.L is not None:
            x = x @ self.L
        s = x @ (self.E.T if self.W is None else self.W) + self.b
        return F.cross_entropy(s.reshape(-1, V), targets.reshape(-1))


def make_model(kind, tie, layers=2):
    """Ours, with random asymmetric weights everywhere, biases too."""
    D, H = TIES[tie]
    model = RNNLM(V, D, H, layers, tie=tie, dropout=0.0, dtype="float64", **CELLS[kind])
    rng = np.random.default_rng(17)
    for name, parameter in model.named_parameters():
        std = H**-0.5 if name.endswith(("Wx", "Wh")) else 0.5
        parameter.value[...] = rng.normal(scale=std, size=parameter.shape)
    return model


def windows(N, T, steps=10):
    """Windows of a stream, one after the other, as truncated BPTT wants."""
    ids = np.random.default_rng(3).integers(0, V, size=(N, T * steps + 1))
    for start in range(0, T * steps, T):
        yield ids[:, start : start + T], ids[:, start + 1 : start + T + 1]


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("kind", CELLS)
@together(windows_of=[("SGD", 3, 5), ("Adam", 1, 6), ("SGD", 1, 1)])
def test_ten_training_steps(kind, tie, windows_of):
    optimizer, N, T = windows_of
    model = make_model(kind, tie)
    theirs = TorchLM(model, kind, tie)
    start = [p.value.copy() for p in model.parameters()]
    ours_step, theirs_step = (
        make(parameters)
        for make, parameters in zip(
            OPTIMIZERS[optimizer], (model.parameters(), theirs.parameters()), strict=True
        )
    )
    clipped = []
    for ids, targets in windows(N, T):
        loss = model.forward(asarray(ids), asarray(targets))
        model.zero_grad()
        model.backward()

        their_loss = theirs.forward(tensor(ids), tensor(targets))
        theirs_step.zero_grad()
        their_loss.backward()

        close(loss, their_loss)
        for parameter, tensor_, transposed in theirs.pairs:
            close(parameter.grad, tensor_.grad.T if transposed else tensor_.grad)

        norm = clip_gradients(model.parameters(), max_norm=0.25)
        close(norm, torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.25))
        clipped.append(float(norm) > 0.25)
        ours_step.step()
        theirs_step.step()
        for parameter, tensor_, transposed in theirs.pairs:
            close(parameter.value, tensor_.T if transposed else tensor_)
    assert any(clipped)
    for parameter, value in zip(model.parameters(), start, strict=True):
        assert np.abs(parameter.value - value).max() > 1e-3
