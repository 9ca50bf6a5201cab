"""deepnlp: the softmax of a language model behind a matrix L to m dimensions, and without one."""

from __future__ import annotations

from typing import Any

import numpy as np

import deepnlp
from benchmarks.contestant import Answer
from benchmarks.settings import Spec
from benchmarks.timing import Work, interleaved_ms
from deepnlp.backend import asarray
from deepnlp.backend.initialisers import uniform
from deepnlp.layer import Layer
from deepnlp.layers import AffineSoftmaxWithLoss, TimeAffine
from deepnlp.parameter import Parameter

PLAIN = "without L"


def name_of(m: int) -> str:
    """The row of a bottleneck.

    >>> name_of(100)
    'm = 100'
    """
    return f"m = {m}"


def run(spec: Spec) -> Answer:
    """Time of forward and backward from hidden states (N, T, n) to the loss, and the parameters.

    Parameters
    ----------
    spec : Spec
        Sizes N, T, V and n; ``bottlenecks``: the sizes m.
    """
    deepnlp.seed(0)
    N, T, V, n = (spec.number(letter) for letter in ("N", "T", "V", "n"))
    h = uniform((N, T, n), 1.0)
    targets = asarray(np.random.default_rng(0).integers(0, V, size=(N, T)))
    layers: dict[str, list[Any]] = {PLAIN: [_output(n, V)]}
    for m in spec.options["bottlenecks"]:
        layers[name_of(m)] = [TimeAffine(uniform((n, m), 0.1)), _output(m, V)]
    works = {name: _work(chain, h, targets) for name, chain in layers.items()}
    times = interleaved_ms(works, spec)
    return {
        name: {
            "train_ms": times[name],
            "parameters": sum(p.value.size for layer in chain for p in layer.parameters()),
        }
        for name, chain in layers.items()
    }


def _output(width: int, V: int) -> Layer:
    """Scores and loss, with the transpose of an embedding (V, width) as the output weight."""
    return AffineSoftmaxWithLoss(Parameter(uniform((V, width), 0.1)).T)


def _work(chain: list[Any], h: Any, targets: Any) -> Work:
    *before, output = chain

    def work() -> None:
        x = h
        for layer in before:
            x = layer.forward(x)
        output.forward(x, targets)
        dx = output.backward()
        for layer in reversed(before):
            dx = layer.backward(dx)
        for layer in chain:
            layer.zero_grad()

    return work
