"""How to make an example of each layer and model that is made of other layers.

:mod:`deepnlp.examples` gives them random weights and inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from deepnlp import layers
from deepnlp.backend import Generator
from deepnlp.layer import Layer, Sequential

Make = Callable[[Any, Generator], Layer]


class Composed(NamedTuple):
    """A layer from sizes and a generator of random numbers, and the shapes of its inputs."""

    make: Make
    inputs: str


RNN, LSTM, GRU = layers.TimeRNN.init, layers.TimeLSTM.init, layers.TimeGRU.init
Deep, Stacked, Dot = layers.TimeDeepTransition, layers.TimeStacked, layers.DotAttention
X, WITH_LENGTHS = "N,T,D", "N,T,D; lengths T"
READ, READ_ALL = "N,T,D; N,S,H; lengths S", "N,T,D; N,S,H"
ATTEND = "N,T,D; N,S,H; lengths S"


def both(cell: Any, D: int, H: int, other_H: int, rng: Generator) -> layers.TimeBidirectional:
    """A bidirectional layer."""
    return layers.TimeBidirectional(cell(D, H, rng), cell(D, other_H, rng))


def stack(cell: Any, D: int, H: int, rng: Generator, dropout: float = 0.0) -> layers.TimeStacked:
    """Two recurrent layers, D to D + 1 to H."""
    return Stacked(cell(D, D + 1, rng), cell(D + 1, H, rng), dropout=dropout, rng=rng)


COMPOSED: dict[str, Composed] = {
    "TimeDeepTransition": Composed(lambda s, r: Deep.init(s.D, s.H, r), X),
    "TimeDeepTransition shortcut": Composed(
        lambda s, r: Deep.init(s.D, s.H, r, layers=3, shortcut=True), X
    ),
    "TimeDeepTransition stateful": Composed(lambda s, r: Deep.init(s.D, s.H, r, stateful=True), X),
    "Sequential deep output": Composed(
        lambda s, r: Sequential(RNN(s.D, s.H, r), layers.deep_output(s.H, s.D, s.V, rng=r)), X
    ),
    "Sequential deep output and transition": Composed(
        lambda s, r: Sequential(
            Deep.init(s.D, s.H, r, shortcut=True), layers.deep_output(s.H, s.D, s.V, rng=r)
        ),
        X,
    ),
    "TimeBidirectional RNN": Composed(lambda s, r: both(RNN, s.D, s.H, s.H, r), WITH_LENGTHS),
    "TimeBidirectional GRU": Composed(lambda s, r: both(GRU, s.D, s.H, s.D, r), WITH_LENGTHS),
    "TimeBidirectional LSTM": Composed(lambda s, r: both(LSTM, s.D, s.H, s.H, r), WITH_LENGTHS),
    "TimeBidirectional deep transition": Composed(
        lambda s, r: both(Deep.init, s.D, s.H, s.H, r), WITH_LENGTHS
    ),
    "TimeStacked LSTM": Composed(lambda s, r: stack(LSTM, s.D, s.H, r), X),
    "TimeStacked GRU dropout": Composed(lambda s, r: stack(GRU, s.D, s.H, r, 0.4), WITH_LENGTHS),
    "TimeStacked bidirectional LSTM": Composed(
        lambda s, r: Stacked(both(LSTM, s.D, s.H, s.H, r), both(LSTM, 2 * s.H, s.D, s.D, r)),
        WITH_LENGTHS,
    ),
    "DotAttention": Composed(lambda *_: Dot(), "N,T,H; N,S,H"),
    "DotAttention lengths": Composed(lambda *_: Dot(), "N,T,H; N,S,H; lengths S"),
    "GeneralAttention": Composed(lambda s, r: layers.GeneralAttention.init(s.D, s.H, r), ATTEND),
    "ConcatAttention": Composed(lambda s, r: layers.ConcatAttention.init(s.D, s.H, s.V, r), ATTEND),
    "AdditiveAttention": Composed(
        lambda s, r: layers.AdditiveAttention.init(s.D, s.H, s.V, r), ATTEND
    ),
    "ContextDecoder": Composed(
        lambda s, r: layers.ContextDecoder(LSTM(s.D + s.H, s.V, r)), "N,T,D; N,H"
    ),
    "AttentionDecoder dot": Composed(
        lambda s, r: layers.AttentionDecoder.init(LSTM(s.D, s.H, r), Dot(), s.H, s.V, r), READ
    ),
    "AttentionDecoder concat": Composed(
        lambda s, r: layers.AttentionDecoder.init(
            stack(GRU, s.D, s.V, r),
            layers.ConcatAttention.init(s.V, s.H, s.D, r),
            s.H,
            s.V,
            r,
        ),
        READ_ALL,
    ),
    "InputFeedingDecoder general": Composed(
        lambda s, r: layers.InputFeedingDecoder.init(
            stack(LSTM, s.D + s.V, s.D, r),
            layers.GeneralAttention.init(s.D, s.H, r),
            s.H,
            s.V,
            r,
        ),
        READ,
    ),
    "InputFeedingDecoder dot": Composed(
        lambda s, r: layers.InputFeedingDecoder.init(RNN(s.D + s.V, s.H, r), Dot(), s.H, s.V, r),
        READ_ALL,
    ),
    "InputFeedingDecoder concat dropout": Composed(
        lambda s, r: layers.InputFeedingDecoder.init(
            stack(GRU, s.D + s.V, s.H, r, dropout=0.4),
            layers.ConcatAttention.init(s.H, s.H, s.D, r),
            s.H,
            s.V,
            r,
        ),
        READ,
    ),
    "BahdanauDecoder": Composed(
        lambda s, r: layers.BahdanauDecoder.init(
            GRU(s.D + s.H, s.V, r),
            layers.AdditiveAttention.init(s.V, s.H, s.D, r),
            s.H,
            s.V,
            r,
        ),
        READ,
    ),
    "BahdanauDecoder deep dropout": Composed(
        lambda s, r: layers.BahdanauDecoder.init(
            stack(LSTM, s.D + s.H, s.V, r, dropout=0.4),
            layers.AdditiveAttention.init(s.V, s.H, s.D, r),
            s.H,
            s.V,
            r,
        ),
        READ_ALL,
    ),
}
