"""What the forms of clipping and updating are called with, on the backend in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deepnlp import optimizers
from deepnlp.backend import asarray, asnumpy
from deepnlp.parameter import Parameter
from tests.kernels.cases import Draw

SHAPES = [(3,), (1, 1), (50, 40), (1500,), (7, 300)]
"""Of the weights that are clipped and updated together."""


def run_clip(
    clip_all: Callable[..., Any], dtype: str, max_norm: float, copies: int = 1
) -> list[np.ndarray]:
    """The norm, and all gradients."""
    draw = Draw(dtype)
    gradients = [draw.normal(*shape) for shape in SHAPES * copies]
    norm = clip_all(gradients, max_norm)
    assert norm.dtype == np.float64
    return [asnumpy(norm).reshape(()), *map(asnumpy, gradients)]


SCALARS = {
    "SGD": {"lr": 0.1, "decay": 0.02},
    "Momentum": {"lr": 0.1, "decay": 0.02, "momentum": 0.8},
    "Nesterov": {"lr": 0.1, "decay": 0.0, "momentum": 0.8},
    "AdaGrad": {"lr": 0.1, "eps": 1e-4, "decay": 0.02},
    "RMSprop": {"lr": 0.1, "alpha": 0.7, "eps": 1e-4, "decay": 0.02},
}
ADAM = {"beta1": 0.8, "beta2": 0.9, "step": 0.3, "root": 0.5, "eps": 1e-4}
SCALARS["Adam"] = {**ADAM, "decay": 0.02, "shrink": 1.0}
SCALARS["AdamW"] = {**ADAM, "decay": 0.0, "shrink": 0.9}
"""The numbers of each optimizer's formula; each weight gets a little more than the last."""


def run_update(
    update_all: Callable[..., Any], rule: str, dtype: str, copies: int = 1
) -> list[np.ndarray]:
    """All weights, and what is kept for them."""
    optimizer = getattr(optimizers, rule)
    draw = Draw(dtype)
    updates = []
    for number, shape in enumerate(SHAPES * copies):
        W, g = draw.normal(*shape), draw.normal(*shape)
        kept = {slot: draw.gate(*shape) for slot in optimizer._slots}
        scalars = {name: value * (1 + number / 1000) for name, value in SCALARS[rule].items()}
        updates.append(optimizers.Update(W, g, kept, scalars))
    update_all(optimizer._formula, updates)
    return [asnumpy(a) for u in updates for a in (u.W, u.g, *u.kept.values())]


LAZY = {
    "SGD": lambda p: optimizers.SGD(p, lr=0.5),
    "AdaGrad": lambda p: optimizers.AdaGrad(p, lr=0.1),
    "lazy Adam": lambda p: optimizers.Adam(p, lr=0.1, lazy=True),
}
"""Optimizers that update only the rows of a sparse gradient."""


def run_lookups(make: Callable[..., Any]) -> list[np.ndarray]:
    """Norms, weights and state after steps from a sparse and a dense gradient, clipped together."""
    draw = Draw("float32")
    table, bias = Parameter(draw.normal(60, 7)), Parameter(draw.normal(5))
    optimizer = make([table, bias])
    norms = []
    for ids in ([3, 9, 3, 3], [59], [], [9, 0, 3, 9]):
        for parameter in (table, bias):
            parameter.zero_grad()
        bias.accumulate(draw.normal(5))
        table.accumulate_rows(asarray(np.array(ids, "int64")), draw.normal(len(ids), 7))
        norms.append(asnumpy(optimizers.clip_gradients([table, bias], 1.0)).reshape(()))
        assert table.sparse_grad is not None
        optimizer.step()
    state = [asnumpy(value) for value in optimizer.state().values() if hasattr(value, "shape")]
    return [*norms, asnumpy(table.value), asnumpy(bias.value), *state]
