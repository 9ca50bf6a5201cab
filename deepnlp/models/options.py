"""Options that several models share, for the signatures of their constructors."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from deepnlp.layers import TimeGRU, TimeLSTM, TimeRNN
from deepnlp.options import Option

CELLS: dict[str, Any] = {"lstm": TimeLSTM, "gru": TimeGRU, "rnn": TimeRNN}
TIES = ("none", "tied", "tied+L")

Ids = Sequence[int] | None

Size = Annotated[int, Option(low=1)]
Layers = Annotated[int, Option(low=1, high=100)]
Cell = Annotated[str, Option(choices=tuple(CELLS))]
Init = Annotated[str, Option(choices=("uniform", "book"))]
Probability = Annotated[float, Option(low=0, below=1)]
Switch = Annotated[bool, Option()]
DType = Annotated[Any, Option(choices=("float32", "float64"))]


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


def check_cell(owner: str, cell: str, reset_after: bool) -> None:
    """An error where an option of one kind of cell meets another."""
    message = f"reset_after is a form of cell='gru', got cell={cell!r}"
    refuse(owner, {message: reset_after and cell != "gru"})
