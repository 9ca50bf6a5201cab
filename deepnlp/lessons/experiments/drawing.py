"""What the figures of the experiments share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.plots.style import LABEL_HEIGHT, Label, label_in_margin, plain


class Line(NamedTuple):
    """A line, and the text that stands at its end if there is one."""

    x: Any
    y: Any
    colour: str
    text: str = ""
    style: Any = "-"
    width: float = 1.9


def panel(
    axes: Axes,
    lines: Sequence[Line],
    others: Sequence[Label] = (),
    *,
    title: str = "",
    height: float = LABEL_HEIGHT,
    **settings: Any,
) -> None:
    """Draw lines, each named at its end, with other labels beside them; ``settings`` of the axes.

    ``height`` is that of a label, as a part of the height of the axes.
    """
    for line in lines:
        axes.plot(line.x, line.y, line.style, color=line.colour, lw=line.width, ms=5)
    axes.set(**settings)
    axes.set_title(title, loc="left", fontsize=10.5)
    plain(axes)
    labels = [Label(one.text, float(one.y[-1]), one.colour) for one in lines if one.text]
    label_in_margin(axes, [*labels, *others], height, 9.5 if height < 0.06 else 9)


def canvas_of(
    message: str, size: tuple[float, float], *places: tuple[float, float, float, float]
) -> tuple[Figure, list[Axes]]:
    """A figure with a message above, and axes in boxes of it (left, low, width, height)."""
    figure = Figure(figsize=size, dpi=150)
    axes = [figure.add_axes(place) for place in places]
    figure.text(places[0][0], 0.965, message, fontsize=12, weight="bold", va="top")
    return figure, axes
