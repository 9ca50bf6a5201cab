"""Whole models on the strict stand-in for CuPy: the same numbers, and hardly a wait."""

import numpy as np
import pytest

import deepnlp
import deepnlp.layers.embedding
import deepnlp.layers.losses
from deepnlp import Parameter, Sequential, backend, kernels
from deepnlp.backend import asarray, asnumpy
from deepnlp.layers import Embedding, SoftmaxWithLoss, TimeAffine, TimeDropout, TimeLSTM
from deepnlp.models import RNNLM, RegularisedRNNLM, SimpleRNNLM
from deepnlp.optimizers import (
    NTASGD,
    SGD,
    AdaGrad,
    Adam,
    AdamW,
    Momentum,
    Nesterov,
    RMSprop,
    TwoTails,
    clip_gradients,
)
from tests.strict_backend import strict

V, D = 13, 6


class ByHand:
    """The ten-line tied model, plugged together by hand."""

    def __init__(self):
        embed = Embedding.init(V, D)
        self.model = Sequential(
            embed,
            TimeDropout(0.5),
            TimeLSTM.init(D, D, stateful=True),
            TimeDropout(0.5),
            TimeLSTM.init(D, D, stateful=True),
            TimeDropout(0.5),
            TimeAffine(embed.W.T, Parameter.zeros(V)),
        )
        self.loss = SoftmaxWithLoss()
        self.parameters, self.zero_grad = self.model.parameters, self.model.zero_grad

    def forward(self, ids, targets):
        return self.loss.forward(self.model.forward(ids), targets)

    def backward(self):
        self.model.backward(self.loss.backward())


MODELS = {
    "by hand": ByHand,
    "simple": lambda: SimpleRNNLM(V, D, 5),
    "lstm tied": lambda: RNNLM(V, D, D, tie="tied"),
    "lstm tied+L": lambda: RegularisedRNNLM(V, D, 7, tie="tied+L", locked_dropout=True),
    "gru none": lambda: RNNLM(V, D, 7, layers=1, cell="gru", tie="none"),
    "gru reset after": lambda: RNNLM(V, D, D, cell="gru", reset_after=True),
    "rnn tied": lambda: RNNLM(V, D, D, layers=1, cell="rnn", dropout=0.0),
    "rnn no Wx": lambda: RegularisedRNNLM(
        V, D, D, cell="rnn", input_matrix=False, activation="relu"
    ),
}
OPTIMIZERS = {
    "SGD": lambda p: SGD(p, lr=2.0),
    "Momentum": lambda p: Momentum(p, lr=0.2),
    "Nesterov": lambda p: Nesterov(p, lr=0.2),
    "AdaGrad": lambda p: AdaGrad(p, lr=0.05),
    "RMSprop": lambda p: RMSprop(p, lr=0.01, weight_decay=0.01),
    "Adam": lambda p: Adam(p, lr=0.02),
    "AdamW": lambda p: AdamW(p, lr=0.02),
    "NTASGD": lambda p: NTASGD(p, lr=2.0, average_after=0),
    "TwoTails": lambda p: TwoTails(p, lr=2.0),
}


def batch(N=3, T=4, seed=0):
    ids = np.random.default_rng(seed).integers(0, V, size=(N, T + 1))
    return asarray(ids[:, :-1].copy()), asarray(ids[:, 1:].copy())


def training_step(model, optimizer, ids, targets):
    """The step of the contract."""
    loss = model.forward(ids, targets)
    model.zero_grad()
    model.backward()
    norm = clip_gradients(model.parameters(), max_norm=0.25)
    optimizer.step()
    return loss, norm


def train(module, make_model, make_optimizer, steps=6):
    """Losses, norms and final parameters of a short run on an array module, on the host."""
    backend.use_module(module)
    try:
        deepnlp.seed(0)
        model = make_model()
        optimizer = make_optimizer(model.parameters())
        figures = []
        for step in range(steps):
            loss, norm = training_step(model, optimizer, *batch(seed=step % 2))
            assert isinstance(loss, (module.ndarray, np.generic))
            assert loss.shape == ()
            assert isinstance(norm, (module.ndarray, np.generic))
            assert norm.shape == ()
            figures.append((float(loss), float(norm)))
        return figures, [asnumpy(p.value).copy() for p in model.parameters()]
    finally:
        backend.use("numpy")


@pytest.mark.parametrize("model", MODELS)
def test_training_has_the_same_bits_as_on_numpy(model):
    with kernels.using("plain"):
        figures, values = train(np, MODELS[model], OPTIMIZERS["SGD"])
    strict_figures, strict_values = train(strict, MODELS[model], OPTIMIZERS["SGD"])
    assert strict_figures == figures
    for a, b in zip(values, strict_values, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len({loss for loss, _ in figures}) == len(figures)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_has_the_same_bits_as_on_numpy(optimizer):
    with kernels.using("plain"):
        figures, values = train(np, MODELS["lstm tied"], OPTIMIZERS[optimizer])
    strict_figures, strict_values = train(strict, MODELS["lstm tied"], OPTIMIZERS[optimizer])
    assert strict_figures == figures
    for a, b in zip(values, strict_values, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_short_run_learns(array_backend):
    deepnlp.seed(1)
    model = RNNLM(V, D, D, dropout=0.0)
    optimizer = Adam(model.parameters(), lr=0.1)
    ids, targets = batch()
    losses = []
    for _ in range(80):
        model.reset_state()
        losses.append(float(training_step(model, optimizer, ids, targets)[0]))
    assert losses[0] == pytest.approx(np.log(V), rel=0.05)
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize("model", MODELS)
def test_a_step_waits_only_to_check_the_range_of_ids(monkeypatch, strict_backend, model):
    deepnlp.seed(0)
    made = MODELS[model]()
    optimizer = Adam(made.parameters())
    waits = []
    for N, T in [(3, 4), (3, 9), (3, 4)]:
        ids, targets = batch(N, T)
        before = strict.waits
        training_step(made, optimizer, ids, targets)
        waits.append(strict.waits - before)
    assert len(set(waits)) == 1
    assert waits[0] <= 4

    for module in (deepnlp.layers.embedding, deepnlp.layers.losses):
        monkeypatch.setattr(module, "check_ids", lambda *_: None)
    before = strict.waits
    training_step(made, optimizer, ids, targets)
    assert strict.waits == before


@pytest.mark.parametrize("model", MODELS)
def test_arrays_of_the_host_are_refused(strict_backend, model):
    deepnlp.seed(0)
    made = MODELS[model]()
    ids, targets = batch()
    with pytest.raises(TypeError, match="asarray"):
        made.forward(ids.get(), targets)
    with pytest.raises(TypeError, match="asarray"):
        made.forward(ids, targets.get())


def test_a_model_of_the_other_world_is_refused(strict_backend):
    ids, targets = batch()
    backend.use("numpy")
    model = RNNLM(V, D, D)
    backend.use_module(strict)
    with pytest.raises(TypeError):
        model.forward(ids, targets)
