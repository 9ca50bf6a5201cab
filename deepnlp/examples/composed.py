"""How to make an example of each layer and model that is made of other layers.

:mod:`deepnlp.examples` gives them random weights and inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from deepnlp import layers
from deepnlp.backend import Generator
from deepnlp.layer import Layer, Sequential
from deepnlp.models import Seq2Seq, Tagger

Make = Callable[[Any, Generator], Layer]


class Composed(NamedTuple):
    """A layer from sizes and a generator of random numbers, and the shapes of its inputs."""

    make: Make
    inputs: str


RNN, LSTM, GRU = layers.TimeRNN.init, layers.TimeLSTM.init, layers.TimeGRU.init
Deep, Stacked, Dot = layers.TimeDeepTransition, layers.TimeStacked, layers.DotAttention
X, WITH_LENGTHS = "N,T,D", "N,T,D; lengths T"
TRANSLATE, TAG = "ids N,S; lengths S; ids N,T; targets N,T", "ids N,T; lengths T; targets N,T"
READ, READ_ALL = "N,T,D; N,S,H; lengths S", "N,T,D; N,S,H"
ATTEND = "N,T,D; N,S,H; lengths S"


def both(cell: Any, D: int, H: int, other_H: int, rng: Generator) -> layers.TimeBidirectional:
    """A bidirectional layer."""
    return layers.TimeBidirectional(cell(D, H, rng), cell(D, other_H, rng))


def stack(cell: Any, D: int, H: int, rng: Generator, dropout: float = 0.0) -> layers.TimeStacked:
    """Two recurrent layers, D to D + 1 to H."""
    return Stacked(cell(D, D + 1, rng), cell(D + 1, H, rng), dropout=dropout, rng=rng)


def seq2seq(tie: str = "none", **options: Any) -> Composed:
    """An encoder and decoder; with one vocabulary, or the target's with one word of its own."""

    def make(s: Any, rng: Generator) -> Layer:
        one_vocab = tie == "all" and not options.get("shared_ids")
        source, given = s.V if one_vocab else s.V + 2, dict(options)
        if given.get("shared_ids"):
            given["shared_ids"] = [*range(2, s.V), -1, 0]
        return Seq2Seq(source, s.V, s.D, s.H, tie=tie, **given, dtype="float64", rng=rng)

    return Composed(make, TRANSLATE)


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
    "WeightDrop RNN": Composed(lambda s, r: layers.WeightDrop(RNN(s.D, s.H, r), 0.5, r), X),
    "WeightDrop LSTM": Composed(
        lambda s, r: layers.WeightDrop(LSTM(s.D, s.H, r), 0.5, r), WITH_LENGTHS
    ),
    "WeightDrop GRU stateful": Composed(
        lambda s, r: layers.WeightDrop(GRU(s.D, s.H, r, stateful=True), 0.5, r), X
    ),
    "Unrolled RNN": Composed(
        lambda s, r: layers.Unrolled(layers.RNN.init(s.D, s.H, r), (0.4,), rng=r), X
    ),
    "Unrolled LSTM locked": Composed(
        lambda s, r: layers.Unrolled(layers.LSTM.init(s.D, s.H, r), (0.4, 0.3), True, r), X
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
    "Seq2Seq": seq2seq(),
    "Seq2Seq gru two layers": seq2seq(cell="gru", layers=2, dropout=0.3, bidirectional=True),
    "Seq2Seq every": seq2seq(context="every", layers=2),
    "Seq2Seq every rnn bidirectional": seq2seq(context="every", cell="rnn", bidirectional=True),
    "Seq2Seq dot": seq2seq(attention="dot", dropout=0.3),
    "Seq2Seq general bidirectional": seq2seq(
        attention="general", layers=2, bidirectional=True, input_feeding=True, dropout=0.3
    ),
    "Seq2Seq concat": seq2seq(attention="concat", cell="gru", reset_after=True),
    "Seq2Seq additive": seq2seq(attention="additive", cell="gru", bidirectional=True),
    "Seq2Seq reverse general": seq2seq(attention="general", reverse=True),
    "Seq2Seq tie output": seq2seq(tie="output", context="every"),
    "Seq2Seq tie all": seq2seq(tie="all", attention="dot", input_feeding=True),
    "Seq2Seq tie all shared": seq2seq(tie="all", shared_ids=True),
    "Tagger": Composed(
        lambda s, r: Tagger(s.V, s.V, s.D, s.H, layers=2, dropout=0.3, dtype="float64", rng=r), TAG
    ),
    "Tagger one way": Composed(
        lambda s, r: Tagger(
            s.V, s.V, s.D, s.H, cell="gru", bidirectional=False, dtype="float64", rng=r
        ),
        TAG,
    ),
}
