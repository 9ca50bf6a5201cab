"""The demonstrations by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from deepnlp.lessons.experiments import (
    cells,
    chapter,
    clipping,
    memory,
    open_brackets,
    phase,
    skipgram_tying,
    tying,
)
from deepnlp.lessons.experiments.result import Result


class Demonstration(NamedTuple):
    """What it shows, the function that runs it, and the config it runs with by default."""

    summary: str
    run: Callable[[Any], Result]
    config: Any


DEMOS = {
    "exploding": Demonstration(
        "a gradient multiplied by the same matrix 20 times grows 200-fold",
        chapter.run,
        chapter.Config(scale=1.0),
    ),
    "vanishing": Demonstration(
        "half that matrix: the gradient is gone, though a singular value is above 1",
        chapter.run,
        chapter.Config(scale=0.5),
    ),
    "phase": Demonstration(
        "growth of the gradient over the scale of W_h, for thousands of random matrices",
        phase.run,
        phase.Config(),
    ),
    "cells": Demonstration(
        "what RNN, LSTM and GRU leave of a gradient after 10, 50 and 200 steps, by which path",
        cells.run,
        cells.Config(),
    ),
    "brackets": Demonstration(
        "how long an RNN and an LSTM remember an open bracket, and what is left of their gradients",
        open_brackets.run,
        open_brackets.Config(),
    ),
    "clipping": Demonstration(
        "the same training run without clipping, where it diverges, and with it",
        clipping.run,
        clipping.Config(),
    ),
    "memory": Demonstration(
        "how far RNN, GRU and LSTM learn to remember: who watched TV, and the adding problem",
        memory.run,
        memory.Config(),
    ),
    "tying": Demonstration(
        "one matrix for input and output words: parameters, perplexity, and which rows learn",
        tying.run,
        tying.Config(),
    ),
    "skipgram-tying": Demonstration(
        "a tied skip-gram cannot make a word unlikely beside itself; with a matrix L it can",
        skipgram_tying.run,
        skipgram_tying.Config(),
    ),
}
