"""The result of a demonstration, and what its table and its figure are made of."""

import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.files.tables import table
from deepnlp.plots.style import LABEL_HEIGHT, Label, label_in_margin, plain


class Result(ABC):
    """The outcome of a demonstration, a dataclass with a table and a figure."""

    @abstractmethod
    def table(self) -> str:
        """Return the result as text."""

    @abstractmethod
    def figure(self) -> Figure:
        """Return the result as a figure."""

    def to_dict(self) -> dict[str, Any]:
        """Return every field as lists and numbers, for JSON."""
        fields = dataclasses.asdict(self)  # type: ignore[call-overload]
        lists: dict[str, Any] = json.loads(json.dumps(fields, default=lambda array: array.tolist()))
        return lists


def number_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], form: str) -> str:
    """Make a table of texts and of numbers, which are given one form; see :func:`table`.

    >>> print(number_table(["", ">D = 2", ">D = 4"], [["tied", 0.25, 0.125]], ".2f"))
          D = 2  D = 4
    ----  -----  -----
    tied   0.25   0.12
    """
    body = [[cell if isinstance(cell, str) else format(cell, form) for cell in row] for row in rows]
    return table(headings, body)


class Line(NamedTuple):
    """A line, level where y is a number, and the text that stands at its end if there is one."""

    x: Any
    y: Any
    colour: str
    text: str = ""
    style: Any = "-"
    width: float = 1.9


def lines_of(x: Any, values: Mapping[str, Any], looks: Iterable[tuple[str, str]]) -> list[Line]:
    """Return lines over one x, by the text at their ends, each with its colour and style."""
    pairs = zip(values.items(), looks, strict=False)
    return [Line(x, y, colour, text, style) for (text, y), (colour, style) in pairs]


def panel(
    axes: Axes,
    lines: Sequence[Line],
    *,
    title: str = "",
    height: float = LABEL_HEIGHT,
    **settings: Any,
) -> None:
    """Draw lines, each named at its end; ``settings`` are those of the axes.

    ``height`` is that of a label, as a part of the height of the axes.
    """
    for line in lines:
        if np.ndim(line.y):
            axes.plot(line.x, line.y, line.style, color=line.colour, lw=line.width, ms=5)
        else:
            axes.axhline(line.y, color=line.colour, lw=line.width, ls=line.style)
    axes.set(**settings)
    axes.set_title(title, loc="left", fontsize=10.5)
    plain(axes)
    labels = [
        Label(line.text, float(np.ravel(line.y)[-1]), line.colour) for line in lines if line.text
    ]
    label_in_margin(axes, labels, height, 9.5 if height < 0.06 else 9)


def canvas(
    message: str, size: tuple[float, float], *places: tuple[float, float, float, float]
) -> tuple[Figure, list[Axes]]:
    """Make a figure with a message above, and axes in boxes of it (left, low, width, height)."""
    figure = Figure(figsize=size, dpi=150)
    axes = [figure.add_axes(place) for place in places]
    figure.text(places[0][0], 0.965, message, fontsize=12, weight="bold", va="top")
    return figure, axes
