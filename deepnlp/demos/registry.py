"""The demonstrations by name."""

from collections.abc import Callable
from typing import Any, NamedTuple

from deepnlp.demos import (
    cells,
    clipping,
    depth,
    memory,
    open_brackets,
    phase,
    same_matrix,
    skipgram_tying,
)
from deepnlp.demos.result import Result


class Demonstration(NamedTuple):
    """A demonstration: its summary, the function that runs it, and its default config."""

    summary: str
    run: Callable[[Any], Result]
    config: Any


def _demo(module: Any, summary: str, **options: Any) -> Demonstration:
    return Demonstration(summary, module.run, module.Config(**options))


DEMOS = {
    "exploding": _demo(same_matrix, "a gradient multiplied by the same matrix 20 times grows "
                       "200-fold", scale=1.0),
    "vanishing": _demo(same_matrix, "half that matrix: the gradient is gone, though a singular "
                       "value is above 1", scale=0.5),
    "phase": _demo(phase, "growth of the gradient over the scale of W_h, for thousands of random "
                   "matrices"),
    "cells": _demo(cells, "what RNN, LSTM and GRU leave of a gradient after 10, 50 and 200 steps, "
                   "by which path"),
    "brackets": _demo(open_brackets, "how long an RNN and an LSTM remember an open bracket, and "
                      "what is left of their gradients"),
    "clipping": _demo(clipping, "the same training run without clipping, where it diverges, and "
                      "with it"),
    "memory": _demo(memory, "how far RNN, GRU and LSTM learn to remember: who watched TV, and the "
                    "adding problem"),
    "depth": _demo(depth, "norm first, norm last and no roads: what is left of gradients and words "
                   "in 24 Transformer blocks"),
    "skipgram-tying": _demo(skipgram_tying, "a tied skip-gram cannot make a word unlikely beside "
                            "itself; with a matrix L it can"),
}  # fmt: skip
