"""Optimizers and clipping against torch.optim, in float64, to 1e-9."""

import numpy as np
import pytest

from deepnlp.backend import asarray
from deepnlp.optimizers import (
    NTASGD,
    SGD,
    AdaGrad,
    Adam,
    AdamW,
    Momentum,
    Nesterov,
    RMSprop,
    clip_gradients,
)
from deepnlp.parameter import Parameter
from tests.parity.tools import as_torch, close, tensor, torch

pytestmark = pytest.mark.parity
optim = torch.optim

PAIRS = {
    "SGD": (
        lambda p, d: SGD(p, lr=0.1, weight_decay=d),
        lambda p, d: optim.SGD(p, lr=0.1, weight_decay=d),
    ),
    "Momentum": (
        lambda p, d: Momentum(p, lr=0.1, weight_decay=d),
        lambda p, d: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=d),
    ),
    "Nesterov": (
        lambda p, d: Nesterov(p, lr=0.1, momentum=0.8, weight_decay=d),
        lambda p, d: optim.SGD(p, lr=0.1, momentum=0.8, nesterov=True, weight_decay=d),
    ),
    "AdaGrad": (
        lambda p, d: AdaGrad(p, weight_decay=d),
        lambda p, d: optim.Adagrad(p, weight_decay=d),
    ),
    "RMSprop": (
        lambda p, d: RMSprop(p, weight_decay=d),
        lambda p, d: optim.RMSprop(p, weight_decay=d),
    ),
    "Adam": (lambda p, d: Adam(p, weight_decay=d), lambda p, d: optim.Adam(p, weight_decay=d)),
    "Adam betas": (
        lambda p, d: Adam(p, lr=0.05, betas=(0.5, 0.9), eps=1e-3, weight_decay=d),
        lambda p, d: optim.Adam(p, lr=0.05, betas=(0.5, 0.9), eps=1e-3, weight_decay=d),
    ),
    "AdamW": (lambda p, d: AdamW(p, weight_decay=d), lambda p, d: optim.AdamW(p, weight_decay=d)),
}
SHAPES = [(4, 3), (5,), (1, 1)]


def set_gradients(ours, theirs, seed, scale=1.0):
    """The same random gradients on both sides."""
    rng = np.random.default_rng(seed)
    for parameter, tensor_ in zip(ours, theirs, strict=True):
        gradient = scale * rng.normal(size=parameter.shape)
        parameter.zero_grad()
        parameter.accumulate(asarray(gradient))
        tensor_.grad = tensor(gradient)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("decay", [0.0, 0.2])
def test_twenty_steps(name, decay):
    rng = np.random.default_rng(0)
    ours = [Parameter(rng.normal(size=shape)) for shape in SHAPES]
    theirs = [as_torch(parameter) for parameter in ours]
    make_ours, make_theirs = PAIRS[name]
    optimizer, reference = make_ours(ours, decay), make_theirs(theirs, decay)
    start = [parameter.value.copy() for parameter in ours]
    for step in range(20):
        if step == 12:
            optimizer.lr *= 0.25
            reference.param_groups[0]["lr"] *= 0.25
        set_gradients(ours, theirs, step)
        optimizer.step()
        reference.step()
        for parameter, tensor_ in zip(ours, theirs, strict=True):
            close(parameter.value, tensor_)
    assert all(np.abs(p.value - s).max() > 1e-3 for p, s in zip(ours, start, strict=True))


@pytest.mark.parametrize("decay", [0.0, 0.2])
def test_averaged_weights(decay):
    """``torch.optim.ASGD`` replaces the first iterate by the second: we begin one step later.

    It keeps the rate and 1 / k in single precision, where 1 / 8 is exact and 1 / 3 is not.
    """
    rng = np.random.default_rng(0)
    ours = [Parameter(rng.normal(size=shape)) for shape in SHAPES]
    theirs = [as_torch(parameter) for parameter in ours]
    first = SGD(ours, lr=0.125, weight_decay=decay)
    rest = NTASGD(ours, lr=0.125, weight_decay=decay, average_after=0)
    reference = optim.ASGD(theirs, lr=0.125, lambd=0, t0=0, weight_decay=decay)
    for step in range(12):
        set_gradients(ours, theirs, step)
        (rest if step else first).step()
        reference.step()
        for parameter, tensor_ in zip(ours, theirs, strict=True):
            close(parameter.value, tensor_)
    with rest.averaged():
        for parameter, tensor_ in zip(ours, theirs, strict=True):
            close(parameter.value, reference.state[tensor_]["ax"], tolerance=1e-7)


def sparse_gradients(ours, theirs, seed):
    """The same rows for the same ids, repeated ones among them, on both sides."""
    rng = np.random.default_rng(seed)
    ids, rows = rng.integers(0, 8, 12), rng.normal(size=(12, 3))
    ours.zero_grad()
    ours.accumulate_rows(asarray(ids), asarray(rows))
    theirs.grad = torch.sparse_coo_tensor(ids[None], tensor(rows), theirs.shape)
    assert ours.sparse_grad is not None


@pytest.mark.parametrize("name", ["SGD", "AdaGrad", "lazy Adam"])
def test_twenty_steps_on_rows(name):
    """Lazy Adam adds eps before the bias is corrected in torch, after it here: a small eps."""
    ours = Parameter(np.random.default_rng(0).normal(size=(30, 3)))
    theirs = as_torch(ours)
    make_ours, make_theirs = {
        "lazy Adam": (
            lambda p, _: Adam(p, lr=0.05, eps=1e-20, lazy=True),
            lambda p, _: optim.SparseAdam(p, lr=0.05, eps=1e-20),
        ),
        **PAIRS,
    }[name]
    optimizer, reference = make_ours([ours], 0.0), make_theirs([theirs], 0.0)
    with torch.sparse.check_sparse_tensor_invariants():  # torch warns unless it is said
        for step in range(20):
            sparse_gradients(ours, theirs, step)
            optimizer.step()
            reference.step()
            close(ours.value, theirs)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("max_norm", [0.25, 5.0])
def test_clip_gradients(scale, max_norm):
    ours = [Parameter(np.zeros(shape)) for shape in SHAPES]
    theirs = [as_torch(parameter) for parameter in ours]
    set_gradients(ours, theirs, seed=1, scale=scale)
    norm = clip_gradients(ours, max_norm=max_norm)
    close(norm, torch.nn.utils.clip_grad_norm_(theirs, max_norm))
    for parameter, tensor_ in zip(ours, theirs, strict=True):
        close(parameter.grad, tensor_.grad)
