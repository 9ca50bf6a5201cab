"""Options that several models share, for the signatures of their constructors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from deepnlp.layers import TimeGRU, TimeLSTM, TimeRNN
from deepnlp.options import Option

CELLS: dict[str, Any] = {"lstm": TimeLSTM, "gru": TimeGRU, "rnn": TimeRNN}
TIES = ("none", "tied", "tied+L")
FRESH = "distribution of fresh weights: uniform, or book (normal)"

Ids = Sequence[int] | None

EmbedSize = Annotated[int, Option("D, size of a word vector", low=1)]
HiddenSize = Annotated[int, Option("H, size of a hidden state", low=1)]
Layers = Annotated[int, Option("number of recurrent layers", low=1, high=100)]
Cell = Annotated[str, Option("recurrent layer", tuple(CELLS))]
Dropout = Annotated[float, Option("probability of zeroing a number between layers", low=0, below=1)]
Init = Annotated[str, Option(FRESH, ("uniform", "book"))]
ResetAfter = Annotated[bool, Option("gru: reset gate after the recurrent product, as in cuDNN")]
DType = Annotated[Any, Option("number type of the weights", ("float32", "float64"))]


def refuse(owner: str, broken: Mapping[str, bool]) -> None:
    """A ValueError with the first of the messages that holds: options do not fit each other.

    >>> refuse("RNNLM", {"never": False, "tie='tied' needs D = H": True})
    Traceback (most recent call last):
        ...
    ValueError: RNNLM: tie='tied' needs D = H
    """
    for message, holds in broken.items():
        if holds:
            raise ValueError(f"{owner}: {message}")
