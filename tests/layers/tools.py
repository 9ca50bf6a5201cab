"""What the tests of layers share: the table of cases, slopes by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.layer import Layer
from deepnlp.layers import (
    GRU,
    LSTM,
    RNN,
    Affine,
    AffineSoftmaxWithLoss,
    Dropout,
    Embedding,
    MatMul,
    ReLU,
    Sigmoid,
    SigmoidWithLoss,
    Softmax,
    SoftmaxWithLoss,
    Tanh,
    TimeAffine,
    TimeDropout,
    TimeGRU,
    TimeLSTM,
    TimeRNN,
)


class Draw:
    """Random device arrays of one number type: `draw(4, 3)`, `draw.recurrent(4, 12)`."""

    def __init__(self, seed: int, dtype: str = "float64") -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype = dtype

    def __call__(self, *shape: int) -> Any:
        return asarray(self.rng.normal(size=shape).astype(self.dtype))

    def recurrent(self, H: int, columns: int) -> Any:
        """Recurrent weights of standard deviation 1 / sqrt(H)."""
        values = self.rng.normal(scale=H**-0.5, size=(H, columns))
        return asarray(values.astype(self.dtype))

    def ids(self, size: int, *shape: int) -> Any:
        """Ids below `size`, the last one repeated where there is more than one."""
        ids = self.rng.integers(0, size, size=shape)
        ids.flat[0] = ids.flat[-1]
        return asarray(ids)

    def away_from_zero(self, *shape: int) -> Any:
        """Numbers at least 0.1 from zero, where a rectifier has its corner."""
        sign = self.rng.choice([-1.0, 1.0], size=shape)
        return asarray((sign * self.rng.uniform(0.1, 2, size=shape)).astype(self.dtype))


@dataclass(frozen=True)
class Case:
    """A layer from weights in hand, and inputs for it."""

    layer: type[Layer]
    build: Callable[[Draw], Layer]
    inputs: Callable[[Draw], tuple[Any, ...]]
    note: str = ""

    def __str__(self) -> str:
        return f"{self.layer.__name__} {self.note}".strip().replace(" ", "-")

    def make(self, dtype: str = "float64", seed: int = 0) -> tuple[Layer, tuple[Any, ...]]:
        """The layer and its inputs in a number type."""
        draw = Draw(seed, dtype)
        return self.build(draw), self.inputs(draw)


def rnn_weights(draw: Draw, D: int, H: int) -> tuple[Any, ...]:
    return draw(D, H), draw.recurrent(H, H), draw(H)


def lstm_weights(draw: Draw, D: int, H: int) -> tuple[Any, ...]:
    return draw(D, 4 * H), draw.recurrent(H, 4 * H), draw(4 * H)


def gru_weights(draw: Draw, D: int, H: int, biases: int = 1) -> tuple[Any, ...]:
    return draw(D, 3 * H), draw.recurrent(H, 3 * H), *(draw(3 * H) for _ in range(biases))


def targets(draw: Draw) -> Any:
    """Targets below 5 of which one does not count."""
    t = asnumpy(draw.ids(5, 2, 3)).copy()
    t[1, 1] = -1
    return asarray(t)


def scores(draw: Draw) -> tuple[Any, Any]:
    """Scores and the labels 0 or 1 for them."""
    return draw(4), asarray(np.array([1, 0, 0, 1]))


CASES = [
    Case(MatMul, lambda d: MatMul(d(4, 3)), lambda d: (d(5, 4),)),
    Case(Affine, lambda d: Affine(d(4, 3), d(3)), lambda d: (d(5, 4),)),
    Case(Affine, lambda d: Affine(d(1, 2)), lambda d: (d(1, 1),), "no bias"),
    Case(TimeAffine, lambda d: TimeAffine(d(4, 3), d(3)), lambda d: (d(2, 3, 4),)),
    Case(TimeAffine, lambda d: TimeAffine(d(3, 5)), lambda d: (d(1, 1, 3),), "no bias"),
    Case(Sigmoid, lambda d: Sigmoid(), lambda d: (d(3, 4),)),
    Case(Tanh, lambda d: Tanh(), lambda d: (d(2, 1, 3),)),
    Case(ReLU, lambda d: ReLU(), lambda d: (d.away_from_zero(3, 4),)),
    Case(Softmax, lambda d: Softmax(), lambda d: (d(2, 3, 5),)),
    Case(Dropout, lambda d: Dropout(0.4), lambda d: (d(3, 4),)),
    Case(TimeDropout, lambda d: TimeDropout(0.4), lambda d: (d(2, 3, 4),)),
    Case(TimeDropout, lambda d: TimeDropout(0.4, locked=True), lambda d: (d(2, 3, 4),), "locked"),
    Case(Embedding, lambda d: Embedding(d(6, 3)), lambda d: (d.ids(6, 2, 4),)),
    Case(Embedding, lambda d: Embedding(d(6, 3)), lambda d: (d.ids(6, 1),), "one id"),
    Case(SoftmaxWithLoss, lambda d: SoftmaxWithLoss(), lambda d: (d(2, 3, 5), targets(d))),
    Case(SoftmaxWithLoss, lambda d: SoftmaxWithLoss(), lambda d: (d(1, 5), d.ids(5, 1)), "N 1"),
    Case(
        AffineSoftmaxWithLoss,
        lambda d: AffineSoftmaxWithLoss(d(4, 5), d(5)),
        lambda d: (d(2, 3, 4), targets(d)),
    ),
    Case(
        AffineSoftmaxWithLoss,
        lambda d: AffineSoftmaxWithLoss(d(4, 5)),
        lambda d: (d(1, 4), d.ids(5, 1)),
        "N 1 no bias",
    ),
    Case(SigmoidWithLoss, lambda d: SigmoidWithLoss(), scores),
    Case(RNN, lambda d: RNN(*rnn_weights(d, 4, 3)), lambda d: (d(5, 4), d(5, 3))),
    Case(
        RNN,
        lambda d: RNN(*rnn_weights(d, 4, 3), activation="relu"),
        lambda d: (d(5, 4), d(5, 3)),
        "relu",
    ),
    Case(RNN, lambda d: RNN(None, d.recurrent(3, 3), d(3)), lambda d: (d(1, 3), d(1, 3)), "no Wx"),
    Case(LSTM, lambda d: LSTM(*lstm_weights(d, 4, 3)), lambda d: (d(5, 4), d(5, 3), d(5, 3))),
    Case(
        LSTM,
        lambda d: LSTM(*lstm_weights(d, 2, 1)),
        lambda d: (d(1, 2), d(1, 1), d(1, 1)),
        "N 1 H 1",
    ),
    Case(GRU, lambda d: GRU(*gru_weights(d, 4, 3)), lambda d: (d(5, 4), d(5, 3))),
    Case(
        GRU,
        lambda d: GRU(*gru_weights(d, 4, 3, 2), reset_after=True),
        lambda d: (d(5, 4), d(5, 3)),
        "reset after",
    ),
    Case(TimeRNN, lambda d: TimeRNN(*rnn_weights(d, 4, 3)), lambda d: (d(2, 5, 4),)),
    Case(
        TimeRNN,
        lambda d: TimeRNN(*rnn_weights(d, 4, 3), activation="relu"),
        lambda d: (d(2, 3, 4),),
        "relu",
    ),
    Case(
        TimeRNN,
        lambda d: TimeRNN(None, d.recurrent(3, 3), d(3)),
        lambda d: (d(2, 4, 3),),
        "no Wx",
    ),
    Case(TimeLSTM, lambda d: TimeLSTM(*lstm_weights(d, 4, 3)), lambda d: (d(2, 5, 4),)),
    Case(TimeLSTM, lambda d: TimeLSTM(*lstm_weights(d, 3, 1)), lambda d: (d(1, 1, 3),), "T 1"),
    Case(TimeGRU, lambda d: TimeGRU(*gru_weights(d, 4, 3)), lambda d: (d(2, 5, 4),)),
    Case(
        TimeGRU,
        lambda d: TimeGRU(*gru_weights(d, 4, 3, 2), reset_after=True),
        lambda d: (d(1, 4, 4),),
        "reset after",
    ),
]


def as_tuple(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def is_float(array: Any) -> bool:
    return array.dtype.kind == "f"


def host(arrays: Any) -> list[np.ndarray]:
    """Copies on the host."""
    return [asnumpy(array).copy() for array in as_tuple(arrays)]


def output_weights(outputs: tuple[Any, ...], seed: int = 5) -> tuple[Any, ...]:
    """Random gradients for outputs: a number for a loss, an array else."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=y.shape).astype(y.dtype) for y in outputs]
    return tuple(float(w) if w.ndim == 0 else asarray(w) for w in weights)


def run(layer: Any, inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Outputs of a forward, and the gradients of the inputs from a weighted backward."""
    outputs = as_tuple(layer.forward(*inputs))
    return outputs, as_tuple(layer.backward(*output_weights(outputs)))


def parameter_gradients(layer: Any) -> list[np.ndarray]:
    return [asnumpy(p.grad).copy() for p in layer.parameters()]


def slopes(function: Callable[[], float], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Slope of `function` by each entry of `x`, which it reads: central differences."""
    result = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        here = x[index]
        x[index] = here + step
        above = function()
        x[index] = here - step
        below = function()
        x[index] = here
        result[index] = (above - below) / (2 * step)
    return result


def assert_close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Equal in shape and to a tolerance relative to the largest entry."""
    actual, expected = asnumpy(actual), asnumpy(expected)
    assert actual.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)
