"""The cases, by family: what is broken, and which answers are right."""

from tests.broken.broken import Broken, Family, Pair, pairs
from tests.broken.cases import (
    activations,
    attention,
    convolution,
    dense,
    gated,
    lookup,
    losses,
    metric,
    norms,
    recurrent,
)

_MODULES = (
    activations, dense, norms, convolution, recurrent, gated, attention, lookup, losses, metric,
)  # fmt: skip
FAMILIES: list[Family] = [family for module in _MODULES for family in module.FAMILIES]
CASES: list[Broken] = [case for family in FAMILIES for case in family.cases]
PAIRS: list[Pair] = pairs(
    CASES,
    [
        ("affine: bias averaged", "affine: sign of dW"),
        (
            "mixture of softmaxes: pi missing",
            "mixture of softmaxes: softmax of the prior not undone",
        ),
        ("layer norm: gamma from x", "layer norm: variance taken for a constant"),
        ("batch norm: beta averaged", "batch norm: gamma missing"),
        ("lstm: o missing", "lstm: dxs in reversed order"),
        ("lstm: di from i", "lstm: df from the new cell"),
        ("rnn: dWh with the present state", "rnn: dWx assigned"),
        ("gru: dU without the reset gate", "gru: sign of the update gate"),
        ("convolution 1-d: windows overwritten", "convolution 1-d: bias averaged"),
        ("bilinear: da without b", "bilinear: dW averaged"),
        ("multi-head self-attention: keys dropped", "multi-head self-attention: dq from q"),
        ("swish: beta missing", "swish: mean over N"),
        ("positional embedding: root forgotten", "positional embedding: positions averaged"),
        ("triplet loss: 2 forgotten", "triplet loss: sign of dn"),
        ("cosine similarity: norm of a taken for a constant", "cosine similarity: cos missing"),
        ("highway: gate without x", "highway: tanh not undone"),
    ],
)
