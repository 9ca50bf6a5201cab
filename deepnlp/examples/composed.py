"""How to make an example of each layer and model that is made of other layers.

:mod:`deepnlp.examples` gives them random weights and inputs.
"""

from collections.abc import Callable
from typing import Any

from deepnlp import layers
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import AttentionDecoder, BahdanauDecoder, InputFeedingDecoder
from deepnlp.models import GPT, Seq2Seq, Tagger, TransformerTranslator

RNN, LSTM, GRU = layers.TimeRNN.init, layers.TimeLSTM.init, layers.TimeGRU.init
Deep, Stacked = layers.TimeDeepTransition.init, layers.TimeStacked
General, Concat = layers.GeneralAttention.init, layers.ConcatAttention.init
Block, Norm = layers.TransformerBlock.init, layers.LayerNorm.init
MODERN: Any = {"norms": "rms", "activation": "swiglu", "bias": False}
Linear = layers.TimeLinearAttention.init
Additive, Dot = layers.AdditiveAttention.init, layers.DotAttention

X, WITH_LENGTHS = "N,T,D", "N,T,D; lengths T"
READ_ALL, READ = "N,T,D; N,S,H", "N,T,D; N,S,H; lengths S"
X2, X2_AND_MEMORY = "N,T,2D", "N,T,2D; N,S,2D; mask N,S"
TEXT = "ids N,T; ids N,T"
TRANSLATE, TAG = "ids N,S; lengths S; ids N,T; targets N,T", "ids N,T; lengths T; targets N,T"

Row = tuple[str, Callable[[], Layer]]


def composed(sizes: Any, rng: Any) -> dict[str, Row]:
    """Return the shapes of the inputs and the maker of the layer, by the example's name."""
    D, H, V, r = sizes.D, sizes.H, sizes.V, rng

    def both(cell: Any, D: int, H: int, other_H: int) -> Any:
        return layers.TimeBidirectional(cell(D, H, r), cell(D, other_H, r))

    def stack(cell: Any, D: int, H: int, dropout: float = 0.0) -> Layer:
        return Stacked(cell(D, D + 1, r), cell(D + 1, H, r), dropout=dropout, rng=r)

    def reader(inputs: str, decoder: Any, parts: Callable[[], tuple[Layer, Layer]]) -> Row:
        """Make a decoder of a cell and an attention."""
        return inputs, lambda: decoder.init(*parts(), H, V, r)

    def seq2seq(source: int = V + 2, **options: Any) -> Row:
        """Make an encoder and decoder of one vocabulary, or with one more target word."""
        return TRANSLATE, lambda: Seq2Seq(source, V, D, H, **options, dtype="float64", rng=r)

    def tagger(**options: Any) -> Row:
        return TAG, lambda: Tagger(V, V, D, H, **options, dtype="float64", rng=r)

    def deep_output() -> Layer:
        return layers.deep_output(H, D, V, rng=r)

    def block(kind: Any, **options: Any) -> Layer:
        layer: Layer = kind(2 * D, 2, H, rng=r, **options)
        return layer

    def gpt(**options: Any) -> Row:
        given: Any = {"layers": 1, "heads": 1, "context": sizes.T, "feed_size": H, **options}
        return TEXT, lambda: GPT(V, 2 * D, **given, dtype="float64", rng=r)

    def translator(**options: Any) -> Row:
        given: Any = {"layers": 1, "heads": 2, "feed_size": H, "dtype": "float64", **options}
        return TRANSLATE, lambda: TransformerTranslator(V + 2, V, 2 * D, **given, rng=r)

    return {
        "SinusoidalPositions": (X, lambda: layers.SinusoidalPositions(D)),
        "RotaryPositions": (X2, lambda: layers.RotaryPositions(2 * D)),
        "Residual": (X, lambda: layers.Residual(layers.Affine.init(D, D, r), Norm(D))),
        "Residual post dropout": (
            X,
            lambda: layers.Residual(layers.Affine.init(D, D, r), Norm(D), "post", 0.3, r),
        ),
        "TransformerBlock": ("N,T,2D; mask N,T", lambda: block(Block)),
        "TransformerBlock post": (X2, lambda: block(Block, norm="post", causal=True)),
        "TransformerBlock modern": (X2, lambda: block(Block, causal=True, dropout=0.3, **MODERN)),
        "TransformerDecoderBlock": (
            X2_AND_MEMORY,
            lambda: block(layers.TransformerDecoderBlock.init, causal=True),
        ),
        "TransformerDecoderBlock post": (
            "N,T,2D; N,S,2D",
            lambda: block(layers.TransformerDecoderBlock.init, causal=True, norm="post"),
        ),
        "GPT": gpt(dropout=0.2),
        "GPT post": gpt(norm="post", positions="sinusoidal", activation="gelu_tanh"),
        "GPT modern": gpt(**MODERN, positions="rotary"),
        "GPT grouped": gpt(heads=2, kv_heads=1),
        "TransformerTranslator": translator(dropout=0.2),
        "TransformerTranslator post": translator(norm="post", tie="none"),
        "TransformerTranslator modern": translator(
            **MODERN, tie="all", shared_ids=[*range(2, V), -1, 0]
        ),
        "TimeDeepTransition": (X, lambda: Deep(D, H, r)),
        "TimeDeepTransition shortcut": (X, lambda: Deep(D, H, r, layers=3, shortcut=True)),
        "TimeDeepTransition stateful": (X, lambda: Deep(D, H, r, stateful=True)),
        "TimeMogrifierLSTM": (WITH_LENGTHS, lambda: layers.TimeMogrifierLSTM.init(D, H, r, rank=2)),
        "TimeMogrifierLSTM stateful": (
            X,
            lambda: layers.TimeMogrifierLSTM.init(D, H, r, rounds=2, rank=1, stateful=True),
        ),
        "TimeStateSpace": (WITH_LENGTHS, lambda: layers.TimeStateSpace.init(D, H, r, size=3)),
        "TimeLinearAttention": (WITH_LENGTHS, lambda: Linear(D, 2 * H, r)),
        "TimeLinearAttention fixed": (X, lambda: Linear(D, 2 * H, r, heads=2, decay="fixed")),
        "TimeMLSTM": (WITH_LENGTHS, lambda: layers.TimeMLSTM.init(D, 2 * H, r, heads=2)),
        "TimeMLSTM stateful": (X, lambda: layers.TimeMLSTM.init(D, H, r, stateful=True)),
        "Sequential deep output": (X, lambda: Sequential(RNN(D, H, r), deep_output())),
        "Sequential deep output and transition": (
            X,
            lambda: Sequential(Deep(D, H, r, shortcut=True), deep_output()),
        ),
        "TimeBidirectional RNN": (WITH_LENGTHS, lambda: both(RNN, D, H, H)),
        "TimeBidirectional GRU": (WITH_LENGTHS, lambda: both(GRU, D, H, D)),
        "TimeBidirectional LSTM": (WITH_LENGTHS, lambda: both(LSTM, D, H, H)),
        "TimeBidirectional deep transition": (WITH_LENGTHS, lambda: both(Deep, D, H, H)),
        "TimeStacked LSTM": (X, lambda: stack(LSTM, D, H)),
        "TimeStacked GRU dropout": (WITH_LENGTHS, lambda: stack(GRU, D, H, 0.4)),
        "TimeStacked bidirectional LSTM": (
            WITH_LENGTHS,
            lambda: Stacked(both(LSTM, D, H, H), both(LSTM, 2 * H, D, D)),
        ),
        "WeightDrop RNN": (X, lambda: layers.WeightDrop(RNN(D, H, r), 0.5, r)),
        "WeightDrop LSTM": (WITH_LENGTHS, lambda: layers.WeightDrop(LSTM(D, H, r), 0.5, r)),
        "WeightDrop GRU stateful": (
            X,
            lambda: layers.WeightDrop(GRU(D, H, r, stateful=True), 0.5, r),
        ),
        "Unrolled RNN": (X, lambda: layers.Unrolled(layers.RNN.init(D, H, r), (0.4,), rng=r)),
        "Unrolled LSTM locked": (
            X,
            lambda: layers.Unrolled(layers.LSTM.init(D, H, r), (0.4, 0.3), True, r),
        ),
        "DotAttention": ("N,T,H; N,S,H", Dot),
        "DotAttention lengths": ("N,T,H; N,S,H; lengths S", Dot),
        "GeneralAttention": (READ, lambda: General(D, H, r)),
        "ConcatAttention": (READ, lambda: Concat(D, H, V, r)),
        "AdditiveAttention": (READ, lambda: Additive(D, H, V, r)),
        "ContextDecoder": ("N,T,D; N,H", lambda: layers.ContextDecoder(LSTM(D + H, V, r))),
        "AttentionDecoder dot": reader(READ, AttentionDecoder, lambda: (LSTM(D, H, r), Dot())),
        "AttentionDecoder concat": reader(
            READ_ALL, AttentionDecoder, lambda: (stack(GRU, D, V), Concat(V, H, D, r))
        ),
        "InputFeedingDecoder general": reader(
            READ, InputFeedingDecoder, lambda: (stack(LSTM, D + V, D), General(D, H, r))
        ),
        "InputFeedingDecoder dot": reader(
            READ_ALL, InputFeedingDecoder, lambda: (RNN(D + V, H, r), Dot())
        ),
        "InputFeedingDecoder concat dropout": reader(
            READ, InputFeedingDecoder, lambda: (stack(GRU, D + V, H, 0.4), Concat(H, H, D, r))
        ),
        "BahdanauDecoder": reader(
            READ, BahdanauDecoder, lambda: (GRU(D + H, V, r), Additive(V, H, D, r))
        ),
        "BahdanauDecoder deep dropout": reader(
            READ_ALL, BahdanauDecoder, lambda: (stack(LSTM, D + H, V, 0.4), Additive(V, H, D, r))
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
        "Seq2Seq tie all": seq2seq(V, tie="all", attention="dot", input_feeding=True),
        "Seq2Seq tie all shared": seq2seq(tie="all", shared_ids=[*range(2, V), -1, 0]),
        "Seq2Seq ssm bidirectional": seq2seq(attention="general", cell="ssm", bidirectional=True),
        "Tagger": tagger(layers=2, dropout=0.3),
        "Tagger one way": tagger(cell="gru", bidirectional=False),
    }
