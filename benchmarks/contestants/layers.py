"""deepnlp: every layer over time, the embedding, dropout, the loss and one step of an LSTM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import deepnlp
from benchmarks.contestant import Answer
from benchmarks.settings import Sizes, Spec
from benchmarks.timing import interleaved_ms
from deepnlp import layers
from deepnlp.backend import asarray
from deepnlp.backend.initialisers import uniform
from deepnlp.parameter import Parameter

Inputs = tuple[Any, ...]
Case = Callable[[Sizes], tuple[Any, Inputs, Inputs]]


def _over_time(kind: Any, **options: Any) -> Case:
    """A recurrent layer, from (N, T, H) to (N, T, H)."""

    def make(z: Sizes) -> tuple[Any, Inputs, Inputs]:
        layer = kind.init(z.H, z.H, **options)
        return layer, (_numbers(z.N, z.T, z.H),), (_numbers(z.N, z.T, z.H),)

    return make


def _of_two(kind: Any, width: int) -> Case:
    """A layer made of two LSTMs, whose output is ``width`` times as wide as a state."""

    def make(z: Sizes) -> tuple[Any, Inputs, Inputs]:
        layer = kind(layers.TimeLSTM.init(z.H, z.H), layers.TimeLSTM.init(z.H, z.H))
        return layer, (_numbers(z.N, z.T, z.H),), (_numbers(z.N, z.T, width * z.H),)

    return make


def _numbers(*shape: int) -> Any:
    return uniform(shape, 1.0)


def _ids(z: Sizes) -> Any:
    return asarray(np.random.default_rng(0).integers(0, z.V, size=(z.N, z.T)))


def _embedding(z: Sizes) -> Any:
    return layers.Embedding.init(z.V, z.H), (_ids(z),), (_numbers(z.N, z.T, z.H),)


def _dropout(z: Sizes) -> Any:
    return layers.TimeDropout(0.5), (_numbers(z.N, z.T, z.H),), (_numbers(z.N, z.T, z.H),)


def _lstm_step(z: Sizes) -> Any:
    states = [_numbers(z.N, z.H) for _ in range(5)]
    return layers.LSTM.init(z.H, z.H), tuple(states[:3]), tuple(states[3:])


def _output(z: Sizes) -> Any:
    layer = layers.TimeAffine.init(z.H, z.V)
    return layer, (_numbers(z.N, z.T, z.H),), (_numbers(z.N, z.T, z.V),)


def _loss(z: Sizes) -> Any:
    return layers.SoftmaxWithLoss(), (_numbers(z.N, z.T, z.V), _ids(z)), ()


def _output_and_loss(z: Sizes) -> Any:
    layer = layers.AffineSoftmaxWithLoss(_numbers(z.H, z.V), Parameter.zeros(z.V))
    return layer, (_numbers(z.N, z.T, z.H), _ids(z)), ()


CASES: dict[str, Case] = {
    "Embedding": _embedding,
    "TimeDropout": _dropout,
    "TimeRNN": _over_time(layers.TimeRNN),
    "TimeGRU": _over_time(layers.TimeGRU),
    "TimeGRU, reset after": _over_time(layers.TimeGRU, reset_after=True),
    "TimeLSTM": _over_time(layers.TimeLSTM),
    "TimeMogrifierLSTM": _over_time(layers.TimeMogrifierLSTM),
    "TimeMinGRU": _over_time(layers.TimeMinGRU),
    "TimeMinLSTM": _over_time(layers.TimeMinLSTM),
    "TimeLinearAttention": _over_time(layers.TimeLinearAttention),
    "TimeStateSpace": _over_time(layers.TimeStateSpace),
    "TimeMLSTM": _over_time(layers.TimeMLSTM),
    "TimeDeepTransition": _over_time(layers.TimeDeepTransition),
    "TimeStacked": _of_two(layers.TimeStacked, width=1),
    "TimeBidirectional": _of_two(layers.TimeBidirectional, width=2),
    "LSTM, one step": _lstm_step,
    "TimeAffine": _output,
    "SoftmaxWithLoss": _loss,
    "AffineSoftmaxWithLoss": _output_and_loss,
}
"""By name: from the sizes a layer, what its forward takes, what its backward takes."""


def run(spec: Spec) -> Answer:
    """Time of each layer's forward and backward, and how many parameters it has.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H; ``only``: the names of the layers, all by default.
    """
    deepnlp.seed(0)
    answer = {}
    for name in spec.options.get("only", CASES):
        layer, inputs, gradients = CASES[name](spec.model)

        def forward(layer: Any = layer, inputs: Any = inputs) -> None:
            layer.forward(*inputs)

        def backward(layer: Any = layer, gradients: Any = gradients) -> None:
            layer.zero_grad()
            layer.backward(*gradients)

        answer[name] = interleaved_ms({"forward_ms": forward, "backward_ms": backward}, spec)
        answer[name]["parameters"] = sum(one.value.size for one in layer.parameters())
    return answer
