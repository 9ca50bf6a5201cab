"""The second set, written after the first: other layers, other mistakes."""

from tests.broken.broken import Broken, Family, Pair, pairs
from tests.broken.cases.second import (
    cells,
    estimates,
    filters,
    gates,
    heads,
    memory,
    pointwise,
    pools,
    series,
    tables,
    targets,
)

_MODULES = (
    cells, series, heads, memory, gates, pointwise, pools, filters, tables, targets, estimates,
)  # fmt: skip
FAMILIES: list[Family] = [family for module in _MODULES for family in module.FAMILIES]
CASES: list[Broken] = [case for family in FAMILIES for case in family.cases]
PAIRS: list[Pair] = pairs(
    CASES,
    [
        ("rnn with layer norm: gain missing", "rnn with layer norm: dgain with h"),
        ("coupled-gate lstm: df without g", "coupled-gate lstm: dc begins anew"),
        ("lstm with projection: dP assigned", "lstm with projection: candidate as a sigmoid"),
        ("gru step, reset after: sign of du", "gru step, reset after: dbh from dax"),
        ("linear recurrence: dC with the old state", "linear recurrence: skip overwritten"),
        ("leaky rnn: leak's sigmoid not undone", "leaky rnn: direct way back dropped"),
        ("relative attention: distances overwritten", "relative attention: scale missing in dk"),
        ("linear attention: phi not undone", "linear attention: phi for its derivative"),
        ("copy gate: copied without 1 - g", "copy gate: gate's way to h dropped"),
        ("film: dbeta of the first step", "film: the 1 forgotten"),
        ("swiglu: product rule half done", "swiglu: dw2 from act"),
        ("weight normalisation: dg from V", "weight normalisation: norm taken for a constant"),
        ("instance norm: dbeta of the first image", "instance norm: gamma missing"),
        (
            "dilated causal convolution: dW not shifted",
            "dilated causal convolution: dilation forgotten",
        ),
        (
            "transposed convolution: bias at one place",
            "transposed convolution: stride forgotten in dw",
        ),
        (
            "factorisation machine: linear part dropped",
            "factorisation machine: sign of the squares",
        ),
        ("glove loss: own vector", "glove loss: repeated words"),
        (
            "gaussian likelihood: log_var for the variance",
            "gaussian likelihood: only the logarithm",
        ),
        ("snake: second term of da forgotten", "snake: x dropped"),
        ("bilinear form: gradient of M transposed", "bilinear form: dx from y"),
    ],
)
