"""Training steps of encoder and decoder beside the same model in PyTorch, on padded batches."""

import numpy as np
import pytest

from deepnlp.backend import asarray
from deepnlp.models import Seq2Seq
from deepnlp.optimizers import SGD
from tests.parity.tools import as_torch, close, recurrent_module, recurrent_tensors, tensor, torch

pytestmark = pytest.mark.parity
F = torch.nn.functional
rnn = torch.nn.utils.rnn

LENGTHS, TARGETS = [4, 1, 3], [2, 3, 1]


class TorchSeq2Seq:
    """The same model in torch; `pairs`: each of our parameters, its tensor, whether transposed."""

    def __init__(self, model, attention):
        self.attention, self.pairs = attention, []
        names = dict(model.named_parameters())
        for key, name in {
            "E": "source.layers.0.W",
            "F": "target.layers.0.W",
            "W": "output.W",
            "b": "output.b",
            "C": "decoder.combine.layers.0.W",
            "c": "decoder.combine.layers.0.b",
        }.items():
            if name in names:
                setattr(self, key, as_torch(names[name]))
                self.pairs.append((names[name], getattr(self, key), False))
        decoder = model.decoder if attention == "none" else model.decoder.recurrent
        self.encoder, self.decoder = self.modules(model.encoder), self.modules(decoder)

    def modules(self, stack):
        made = []
        for layer in stack.layers:
            made.append(recurrent_module("lstm", layer.parameters()))
            tensors = recurrent_tensors(made[-1])
            self.pairs += [
                (ours, theirs, transposed)
                for ours, (theirs, transposed) in zip(layer.parameters(), tensors, strict=True)
            ]
        return made

    def loss(self, source, inputs, targets):
        x, states = F.embedding(tensor(source), self.E), []
        for module in self.encoder:
            packed = rnn.pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
            out, state = module(packed)
            x, _ = rnn.pad_packed_sequence(out, batch_first=True)
            states.append(state)
        y = F.embedding(tensor(inputs), self.F)
        for module, state in zip(self.decoder, states, strict=True):
            y, _ = module(y, state)
        if self.attention == "dot":
            e = y @ x.transpose(1, 2)
            hidden = torch.arange(x.shape[1]) >= torch.tensor(LENGTHS)[:, None]
            weights = torch.softmax(e.masked_fill(hidden[:, None], -torch.inf), dim=2)
            y = torch.tanh(torch.cat([weights @ x, y], dim=2) @ self.C + self.c)
        scores = (y @ self.W + self.b).flatten(0, 1)
        return F.cross_entropy(scores, tensor(targets).flatten(), ignore_index=-1)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("attention", ["none", "dot"])
def test_training_steps(attention, layers):
    rng = np.random.default_rng(0)
    model = Seq2Seq(9, 7, 3, 5, layers, attention=attention, dtype="float64", rng=rng)
    for parameter in model.parameters():
        parameter.value = rng.normal(scale=0.4, size=parameter.shape)
    theirs = TorchSeq2Seq(model, attention)
    assert len(theirs.pairs) == len(model.parameters())
    optimizer = SGD(model.parameters(), lr=0.5)
    torch_optimizer = torch.optim.SGD([one for _, one, _ in theirs.pairs], lr=0.5)
    for _ in range(5):
        source, inputs = rng.integers(0, 9, (3, 4)), rng.integers(0, 7, (3, 3))
        targets = rng.integers(0, 7, (3, 3))
        for n, length in enumerate(TARGETS):
            targets[n, length:] = -1
        loss = model.forward(asarray(source), LENGTHS, asarray(inputs), asarray(targets))
        model.zero_grad()
        model.backward()
        torch_optimizer.zero_grad()
        expected = theirs.loss(source, inputs, targets)
        expected.backward()
        close(loss, expected)
        for ours, one, transposed in theirs.pairs:
            close(ours.grad, one.grad.T if transposed else one.grad)
        optimizer.step()
        torch_optimizer.step()
    for ours, one, transposed in theirs.pairs:
        close(ours.value, one.T if transposed else one)
