"""Every layer in a random shape, with random weights and inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from deepnlp import layers
from deepnlp.backend import Generator, asarray
from deepnlp.layer import Layer, Sequential
from deepnlp.models import RNNLM
from deepnlp.parameter import Parameter

Inputs = tuple[Any, ...]
Case = Callable[[Generator, Any], tuple[Layer, Inputs]]


def _matrix(rng: Generator, *shape: int) -> Parameter:
    return Parameter(rng.normal(size=shape) / math.sqrt(shape[0]))


def _numbers(rng: Generator, *shape: int) -> Any:
    return asarray(rng.normal(size=shape))


def _ids(rng: Generator, high: int, *shape: int, low: int = 0) -> Any:
    return asarray(rng.integers(low, high, size=shape))


def _dense(kind: Any, over_time: bool) -> Case:
    def build(rng: Generator, s: Any) -> tuple[Layer, Inputs]:
        bias = () if kind is layers.MatMul else (_matrix(rng, s.H),)
        layer = kind(_matrix(rng, s.D, s.H), *bias)
        return layer, (_numbers(rng, *((s.N, s.T) if over_time else (s.N,)), s.D),)

    return build


def _plain(make: Callable[[Generator], Layer], axes: str) -> Case:
    def build(rng: Generator, s: Any) -> tuple[Layer, Inputs]:
        return make(rng), (_numbers(rng, *(getattr(s, axis) for axis in axes)),)

    return build


def _embedding(rng: Generator, s: Any) -> tuple[Layer, Inputs]:
    return layers.Embedding(_matrix(rng, s.V, s.D)), (_ids(rng, s.V, s.N, s.T),)


def _softmax_loss(rng: Generator, s: Any) -> tuple[Layer, Inputs]:
    scores = _numbers(rng, s.N, s.T, s.V)
    return layers.SoftmaxWithLoss(), (scores, _ids(rng, s.V, s.N, s.T, low=-1))


def _affine_softmax_loss(rng: Generator, s: Any) -> tuple[Layer, Inputs]:
    layer = layers.AffineSoftmaxWithLoss(_matrix(rng, s.D, s.V), _matrix(rng, s.V))
    return layer, (_numbers(rng, s.N, s.T, s.D), _ids(rng, s.V, s.N, s.T, low=-1))


def _sigmoid_loss(rng: Generator, s: Any) -> tuple[Layer, Inputs]:
    return layers.SigmoidWithLoss(), (_numbers(rng, s.N, s.D), _ids(rng, 2, s.N, s.D))


def _recurrent(kind: Any, gates: int, over_time: bool, **options: Any) -> Case:
    def build(rng: Generator, s: Any) -> tuple[Layer, Inputs]:
        weights = [_matrix(rng, s.D, gates * s.H), _matrix(rng, s.H, gates * s.H)]
        biases = 2 if options.get("reset_after") else 1
        weights += [Parameter(rng.normal(size=gates * s.H)) for _ in range(biases)]
        layer = kind(*weights, **options)
        if over_time:
            return layer, (_numbers(rng, s.N, s.T, s.D),)
        states = 2 if kind is layers.LSTM else 1
        return layer, (_numbers(rng, s.N, s.D), *(_numbers(rng, s.N, s.H) for _ in range(states)))

    return build


def _tied(rng: Generator, s: Any) -> tuple[Layer, Inputs]:
    embed = layers.Embedding(_matrix(rng, s.V, s.D))
    weights = _matrix(rng, s.D, 4 * s.D), _matrix(rng, s.D, 4 * s.D), _matrix(rng, 4 * s.D)
    dropout = layers.TimeDropout(0.5, locked=bool(rng.integers(2)), rng=rng)
    output = layers.TimeAffine(embed.W.T, _matrix(rng, s.V))
    model = Sequential(embed, dropout, layers.TimeLSTM(*weights), output)
    return model, (_ids(rng, s.V, s.N, s.T),)


def _language_model(rng: Generator, s: Any) -> tuple[Layer, Inputs]:
    cell = ("rnn", "lstm", "gru")[rng.integers(3)]
    model = RNNLM(
        s.V, s.H, s.H, layers=1, cell=cell, tie="tied", dropout=0.3, dtype="float64", rng=rng
    )
    ids = rng.integers(0, s.V, size=(s.N, s.T + 1))
    return model, (asarray(ids[:, :-1]), asarray(ids[:, 1:]))


RANDOM_CASES: dict[str, Case] = {
    "MatMul": _dense(layers.MatMul, False),
    "Affine": _dense(layers.Affine, False),
    "TimeAffine": _dense(layers.TimeAffine, True),
    "Sigmoid": _plain(lambda _: layers.Sigmoid(), "ND"),
    "Tanh": _plain(lambda _: layers.Tanh(), "NTD"),
    "ReLU": _plain(lambda _: layers.ReLU(), "ND"),
    "Softmax": _plain(lambda _: layers.Softmax(), "ND"),
    "Dropout": _plain(lambda rng: layers.Dropout(0.4, rng=rng), "ND"),
    "TimeDropout": _plain(lambda rng: layers.TimeDropout(0.4, rng=rng), "NTD"),
    "Embedding": _embedding,
    "SoftmaxWithLoss": _softmax_loss,
    "AffineSoftmaxWithLoss": _affine_softmax_loss,
    "SigmoidWithLoss": _sigmoid_loss,
    "RNN": _recurrent(layers.RNN, 1, False),
    "TimeRNN": _recurrent(layers.TimeRNN, 1, True),
    "TimeRNN relu": _recurrent(layers.TimeRNN, 1, True, activation="relu"),
    "LSTM": _recurrent(layers.LSTM, 4, False),
    "TimeLSTM": _recurrent(layers.TimeLSTM, 4, True),
    "GRU": _recurrent(layers.GRU, 3, False),
    "TimeGRU": _recurrent(layers.TimeGRU, 3, True),
    "TimeGRU reset_after": _recurrent(layers.TimeGRU, 3, True, reset_after=True),
    "tied language model": _tied,
    "RNNLM": _language_model,
}
"""Builders by name: each takes a generator and sizes, gives a layer and its inputs."""
