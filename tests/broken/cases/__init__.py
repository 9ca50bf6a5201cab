"""The cases, by family: what is broken, and which answers are right."""

from tests.broken.broken import Broken, Family, Pair
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
_BY_NAME = {case.name: case for case in CASES}


def _pair(first: str, second: str) -> Pair:
    return Pair(f"{first} + {second}", _BY_NAME[first], _BY_NAME[second])


PAIRS: list[Pair] = [
    _pair("affine: bias averaged", "affine: sign of dW"),
    _pair(
        "mixture of softmaxes: pi missing", "mixture of softmaxes: softmax of the prior not undone"
    ),
    _pair("layer norm: gamma from x", "layer norm: variance taken for a constant"),
    _pair("batch norm: beta averaged", "batch norm: gamma missing"),
    _pair("lstm: o missing", "lstm: dxs in reversed order"),
    _pair("lstm: di from i", "lstm: df from the new cell"),
    _pair("rnn: dWh with the present state", "rnn: dWx assigned"),
    _pair("gru: dU without the reset gate", "gru: sign of the update gate"),
    _pair("convolution 1-d: windows overwritten", "convolution 1-d: bias averaged"),
    _pair("bilinear: da without b", "bilinear: dW averaged"),
    _pair("multi-head self-attention: keys dropped", "multi-head self-attention: dq from q"),
    _pair("swish: beta missing", "swish: mean over N"),
    _pair("positional embedding: root forgotten", "positional embedding: positions averaged"),
    _pair("triplet loss: 2 forgotten", "triplet loss: sign of dn"),
    _pair("cosine similarity: norm of a taken for a constant", "cosine similarity: cos missing"),
    _pair("highway: gate without x", "highway: tanh not undone"),
]
