"""The table of gradient checks: every public layer, both losses, whole models.

Each row builds a layer in float64 with random weights (recurrent ones of standard deviation
1 / sqrt(H)) and inputs for it. ``deepnlp gradcheck`` prints the table; a test walks it with both
methods and fails when a public layer has no row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from deepnlp import layers
from deepnlp.backend import Generator, asarray
from deepnlp.gradcheck import Report, check_gradients
from deepnlp.layer import Layer, Sequential
from deepnlp.models import RNNLM, SimpleRNNLM
from deepnlp.parameter import Parameter

TOLERANCES = {"auto": 1e-12, "complex": 1e-12, "central": 1e-6}


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes
    ----------
    name : str
        Such as ``"TimeLSTM stateful"``.
    covers : type
        The class that it checks.
    build : callable
        Takes a numpy.random.Generator, returns the layer and a tuple of inputs.
    """

    name: str
    covers: type
    build: Callable[[Generator], tuple[Layer, tuple[Any, ...]]]

    def check(self, method: str = "auto", seed: int = 0) -> Report:
        """Build the layer and check all its gradients.

        Parameters
        ----------
        method : {"auto", "complex", "central"}
        seed : int

        Returns
        -------
        Report
            At 1e-12 for the complex step, 1e-6 for central differences.
        """
        rng = numpy.random.default_rng(seed)
        layer, inputs = self.build(rng)
        return check_gradients(layer, *inputs, method=method, rng=rng, tolerance=TOLERANCES[method])


def check_all(
    method: str = "auto", seed: int = 0, names: list[str] | None = None
) -> Iterator[tuple[str, Report]]:
    """Check the rows of the table, one after the other.

    Parameters
    ----------
    method : {"auto", "complex", "central"}
    seed : int
    names : list of str, optional
        Only these rows.

    Returns
    -------
    iterator of (str, Report)

    Examples
    --------
    >>> [(name, report.ok) for name, report in check_all(names=["Tanh"])]
    [('Tanh', True)]
    """
    for name in names or CASES:
        yield name, CASES[name].check(method, seed)


# --- Random weights and inputs -----------------------------------------------------------------


def _numbers(*shape: int) -> Callable[[Generator], tuple[Any, ...]]:
    return lambda rng: (asarray(rng.normal(size=shape)),)


def _weight(rng: Generator, *shape: int, name: str = "W") -> Parameter:
    """Random and asymmetric, of standard deviation 1 / sqrt(fan-in)."""
    return Parameter(rng.normal(size=shape) / math.sqrt(shape[0]), name)


def _recurrent(
    kind: type, gates: int, D: int | None, H: int, **options: Any
) -> Callable[[Generator], Layer]:
    def build(rng: Generator) -> Layer:
        weights = [
            None if D is None else _weight(rng, D, gates * H, name="Wx"),
            _weight(rng, H, gates * H, name="Wh"),
            Parameter(rng.normal(size=gates * H), "b"),
        ]
        if options.get("reset_after"):
            weights.append(Parameter(rng.normal(size=gates * H), "bh"))
        layer: Layer = kind(*weights, **options)
        return layer

    return build


def _ids(high: int, *shape: int, low: int = 0) -> Callable[[Generator], tuple[Any, ...]]:
    return lambda rng: (asarray(rng.integers(low, high, size=shape)),)


def _scores_and_ids(rng: Generator) -> tuple[Any, ...]:
    return asarray(rng.normal(size=(2, 3, 7))), asarray(rng.integers(-1, 7, size=(2, 3)))


def _scores_and_labels(rng: Generator) -> tuple[Any, ...]:
    return asarray(3 * rng.normal(size=(4, 3))), asarray(rng.integers(0, 2, size=(4, 3)))


def _ids_and_targets(rng: Generator) -> tuple[Any, ...]:
    ids = rng.integers(0, 9, size=(2, 4))
    return asarray(ids[:, :-1]), asarray(ids[:, 1:])


def _tied_stack(rng: Generator) -> Layer:
    """The model of the lessons, by hand: its output weight is the embedding, transposed."""
    embed = layers.Embedding(_weight(rng, 9, 4, name="E"))
    return Sequential(
        embed,
        layers.TimeDropout(0.5, rng=rng),
        _recurrent(layers.TimeLSTM, 4, 4, 4, stateful=True)(rng),
        layers.TimeDropout(0.5, locked=True, rng=rng),
        _recurrent(layers.TimeLSTM, 4, 4, 4, stateful=True)(rng),
        layers.TimeAffine(embed.W.T, Parameter(rng.normal(size=9), "b")),
    )


def _rnnlm(**options: Any) -> Callable[[Generator], Layer]:
    def build(rng: Generator) -> Layer:
        D = 4 if options.get("tie") == "tied" else 3
        model = RNNLM(9, D, 4, dropout=0.3, dtype="float64", rng=rng, **options)
        for parameter in model.parameters():  # larger than fresh ones, biases not zero
            fan_in = parameter.shape[0] if parameter.value.ndim == 2 else 4
            parameter.value = asarray(rng.normal(size=parameter.shape) / math.sqrt(fan_in))
        return model

    return build


def _rows() -> Iterator[Case]:
    def row(
        name: str,
        layer: Callable[[Generator], Layer],
        inputs: Callable[[Generator], tuple[Any, ...]],
        covers: type | None = None,
    ) -> Case:
        if covers is None:
            covers = getattr(layers, name.split()[0])
        return Case(name, covers, lambda rng: (layer(rng), inputs(rng)))

    def step(*sizes: tuple[int, int]) -> Callable[[Generator], tuple[Any, ...]]:
        return lambda rng: tuple(asarray(rng.normal(size=size)) for size in sizes)

    yield row("MatMul", lambda r: layers.MatMul(_weight(r, 3, 5)), _numbers(4, 3))
    yield row(
        "Affine",
        lambda r: layers.Affine(_weight(r, 3, 5), Parameter(r.normal(size=5), "b")),
        _numbers(4, 3),
    )
    yield row(
        "TimeAffine",
        lambda r: layers.TimeAffine(_weight(r, 3, 5), Parameter(r.normal(size=5), "b")),
        _numbers(2, 4, 3),
    )
    yield row("Sigmoid", lambda _: layers.Sigmoid(), _numbers(3, 4))
    yield row("Tanh", lambda _: layers.Tanh(), _numbers(3, 4))
    yield row("ReLU", lambda _: layers.ReLU(), _numbers(3, 4))
    yield row("Softmax", lambda _: layers.Softmax(), _numbers(3, 4))
    yield row("Dropout", lambda r: layers.Dropout(0.4, rng=r), _numbers(3, 4))
    yield row("TimeDropout", lambda r: layers.TimeDropout(0.4, rng=r), _numbers(2, 3, 4))
    yield row(
        "TimeDropout locked",
        lambda r: layers.TimeDropout(0.4, locked=True, rng=r),
        _numbers(2, 3, 4),
    )
    yield row("Embedding", lambda r: layers.Embedding(_weight(r, 5, 3)), _ids(5, 2, 7))
    yield row("SoftmaxWithLoss", lambda _: layers.SoftmaxWithLoss(), _scores_and_ids)
    yield row(
        "AffineSoftmaxWithLoss",
        lambda r: layers.AffineSoftmaxWithLoss(_weight(r, 3, 7), Parameter(r.normal(size=7), "b")),
        lambda r: (asarray(r.normal(size=(2, 4, 3))), asarray(r.integers(-1, 7, size=(2, 4)))),
    )
    yield row("SigmoidWithLoss", lambda _: layers.SigmoidWithLoss(), _scores_and_labels)

    families: list[tuple[str, type, type, int, int | None, dict[str, Any]]] = [
        ("", layers.RNN, layers.TimeRNN, 1, 3, {}),
        (" relu", layers.RNN, layers.TimeRNN, 1, 3, {"activation": "relu"}),
        (" without Wx", layers.RNN, layers.TimeRNN, 1, None, {}),
        ("", layers.LSTM, layers.TimeLSTM, 4, 3, {}),
        ("", layers.GRU, layers.TimeGRU, 3, 3, {}),
        (" reset_after", layers.GRU, layers.TimeGRU, 3, 3, {"reset_after": True}),
    ]
    H = 5
    for suffix, one, over_time, gates, D, options in families:
        width = H if D is None else D
        states = [(2, H)] * (2 if one is layers.LSTM else 1)
        build = _recurrent(one, gates, D, H, **options)
        yield row(f"{one.__name__}{suffix}", build, step((2, width), *states))
        build = _recurrent(over_time, gates, D, H, **options)
        yield row(f"{over_time.__name__}{suffix}", build, _numbers(2, 4, width))
        yield row(f"{over_time.__name__}{suffix} N=1 T=1", build, _numbers(1, 1, width))
        build = _recurrent(over_time, gates, D, H, stateful=True, **options)
        yield row(f"{over_time.__name__}{suffix} stateful", build, _numbers(3, 2, width))

    yield row("Sequential tied LSTM", _tied_stack, _ids(9, 2, 3))
    for cell in ("lstm", "gru", "rnn"):
        for tie in ("none", "tied", "tied+L"):
            yield row(f"RNNLM {cell} {tie}", _rnnlm(cell=cell, tie=tie), _ids_and_targets, RNNLM)
    yield row(
        "SimpleRNNLM",
        lambda r: SimpleRNNLM(9, 3, 4, dtype="float64", rng=r),
        _ids_and_targets,
        SimpleRNNLM,
    )


CASES: dict[str, Case] = {case.name: case for case in _rows()}
