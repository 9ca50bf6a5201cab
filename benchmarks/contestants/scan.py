"""deepnlp: layers that are scans, an LSTM, and the bare products of a minGRU."""

from __future__ import annotations

import deepnlp
from benchmarks.contestant import Answer
from benchmarks.settings import Spec
from benchmarks.timing import Work, interleaved_ms
from deepnlp import layers
from deepnlp.backend import xp
from deepnlp.backend.initialisers import uniform

KINDS = (
    "TimeLSTM",
    "TimeMinGRU",
    "TimeMinLSTM",
    "TimeStateSpace",
    "TimeLinearAttention",
    "TimeMLSTM",
)


def step_of(kind: str, spec: Spec) -> Work:
    """A forward and a backward of a layer."""
    z = spec.model
    layer = getattr(layers, kind).init(z.H, z.H)
    x, dy = uniform((z.N, z.T, z.H), 1.0), uniform((z.N, z.T, z.H), 1.0)

    def work() -> None:
        layer.zero_grad()
        layer.forward(x)
        layer.backward(dy)

    return work


def run(spec: Spec) -> Answer:
    """Time of a forward and a backward of each layer, and of the three products of a minGRU.

    Parameters
    ----------
    spec : Spec
        Sizes N, T, H.
    """
    deepnlp.seed(0)
    n, H = spec.model.N * spec.model.T, spec.model.H
    x, W, d = uniform((n, H), 1.0), uniform((H, 2 * H), 1.0), uniform((n, 2 * H), 1.0)
    memory = xp.empty((n, 2 * H), x.dtype), xp.empty_like(W), xp.empty_like(x)

    def products() -> None:
        xp.matmul(x, W, out=memory[0])
        xp.matmul(x.T, d, out=memory[1])
        xp.matmul(d, W.T, out=memory[2])

    works = {kind: step_of(kind, spec) for kind in KINDS} | {"products": products}
    return {name: {"step_ms": ms} for name, ms in interleaved_ms(works, spec).items()}
