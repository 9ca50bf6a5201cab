"""Training steps of encoder and decoder beside the same model in PyTorch, on padded batches.

The model in PyTorch is the one that the benchmarks time and train.
"""

import numpy as np
import pytest

from benchmarks.contestants.torch_seq2seq_model import pairs, seq2seq
from deepnlp.backend import asarray
from deepnlp.errors import DeepNLPError
from deepnlp.layers import Dropout
from deepnlp.models import Seq2Seq
from deepnlp.optimizers import SGD
from tests.parity.tools import close, tensor, torch

pytestmark = pytest.mark.parity

LENGTHS, TARGETS = [4, 1, 3], [2, 3, 1]

MODELS = {
    "plain": {},
    "two layers": {"layers": 2},
    "dot": {"attention": "dot"},
    "dot, two layers": {"attention": "dot", "layers": 2},
    "dot, input feeding": {"attention": "dot", "input_feeding": True},
    "additive": {"attention": "additive"},
    "general, bidirectional": {"attention": "general", "bidirectional": True},
    "general, bidirectional, two layers, tied": {
        "attention": "general", "bidirectional": True, "layers": 2, "tie": "output",
    },
    "additive, bidirectional, tied": {
        "attention": "additive", "bidirectional": True, "tie": "output",
    },
}  # fmt: skip


def fresh(options, rng, **sizes):
    """A model in float64 with random weights, and the module of PyTorch with the same."""
    sizes = {"embed_size": 3, "hidden_size": 5} | sizes
    model = Seq2Seq(9, 7, **sizes, **options, dtype="float64", rng=rng)
    for parameter in model.parameters():
        parameter.value = rng.normal(scale=0.4, size=parameter.shape)
    module = seq2seq(model)
    found = list(pairs(model, module))
    assert {id(weight) for weight, _, _ in found} == {id(p) for p in model.parameters()}
    assert {id(one) for _, one, _ in found} == {
        id(one) for one in module.parameters() if one.requires_grad
    }
    return model, module, found


def batch(rng):
    """Source, inputs and targets, the last padded."""
    source, inputs = rng.integers(0, 9, (3, 4)), rng.integers(0, 7, (3, 3))
    targets = rng.integers(0, 7, (3, 3))
    for n, length in enumerate(TARGETS):
        targets[n, length:] = -1
    return source, inputs, targets


def like(array, weight, transposed):
    """A tensor of PyTorch in the shape of our weight."""
    return (array.T if transposed else array).reshape(weight.shape)


@pytest.mark.parametrize("name", MODELS)
def test_training_steps(name):
    rng = np.random.default_rng(0)
    model, module, weights = fresh(MODELS[name], rng)
    optimizer = SGD(model.parameters(), lr=0.5)
    torch_optimizer = torch.optim.SGD([one for _, one, _ in weights], lr=0.5)
    for _ in range(5):
        source, inputs, targets = batch(rng)
        loss = model.forward(asarray(source), LENGTHS, asarray(inputs), asarray(targets))
        model.zero_grad()
        model.backward()
        torch_optimizer.zero_grad()
        logits = module(tensor(source), tensor(LENGTHS), tensor(inputs))
        expected = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), tensor(targets).flatten(), ignore_index=-1
        )
        expected.backward()
        close(loss, expected)
        close(model.logits(asarray(source), LENGTHS, asarray(inputs)), logits)
        for ours, one, transposed in weights:
            close(ours.grad, like(one.grad, ours, transposed))
        optimizer.step()
        torch_optimizer.step()
    for ours, one, transposed in weights:
        close(ours.value, like(one, ours, transposed))


@pytest.mark.parametrize("name", MODELS)
def test_steps_of_writing(name):
    rng = np.random.default_rng(1)
    model, module, _ = fresh(MODELS[name], rng)
    source, inputs, _ = batch(rng)
    model.eval()
    module.eval()
    state = model.start(asarray(source), LENGTHS)
    with torch.no_grad():
        theirs = module.start(tensor(source), tensor(LENGTHS))
        for t in range(inputs.shape[1]):
            scores, state = model.step(asarray(inputs[:, t]), state)
            logits, theirs = module.step(tensor(inputs[:, t]), theirs)
            close(scores, logits)


@pytest.mark.parametrize("name", ["plain", "dot, input feeding", "general, bidirectional"])
def test_dropout_is_in_the_same_places(monkeypatch, name):
    monkeypatch.setattr(Dropout, "forward", lambda self, x: 3 * x)
    monkeypatch.setattr(torch.nn.Dropout, "forward", lambda self, x: 3 * x)
    rng = np.random.default_rng(2)
    model, module, _ = fresh(MODELS[name] | {"dropout": 0.5}, rng)
    source, inputs, _ = batch(rng)
    logits = module(tensor(source), tensor(LENGTHS), tensor(inputs))
    close(model.logits(asarray(source), LENGTHS, asarray(inputs)), logits)


@pytest.mark.parametrize("options", [{"cell": "gru"}, {"context": "every"}, {"reverse": True}])
def test_what_is_not_written_in_pytorch_is_refused(options):
    with pytest.raises(
        DeepNLPError, match=f"no model of PyTorch is written for {next(iter(options))}"
    ):
        seq2seq(Seq2Seq(9, 7, 3, 5, **options))
