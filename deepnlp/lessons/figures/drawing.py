"""What the drawings share: a sheet of paper, words, circles, boxes, and arrows both ways."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from deepnlp.plots.style import BLACK, BLUE, VERMILLION, Point, arrow, canvas


def sheet(
    width: float, height: float, title: str, origin: Point = (0.0, 0.0)
) -> tuple[Figure, Axes]:
    """A figure in inches, with its message above; ``origin`` is its lower left corner."""
    figure, axes = canvas(width, height)
    left, low = origin
    axes.set(xlim=(left, left + width), ylim=(low, low + height))
    top = low + height - 0.12
    axes.text(left + 0.15, top, title, fontsize=10.5, weight="bold", va="top")
    return figure, axes


def word(axes: Axes, x: float, y: float, text: str, colour: str = BLACK, **look: Any) -> None:
    """A text whose middle is at a point."""
    style: Any = {"ha": "center", "va": "center", "fontsize": 10} | look
    axes.text(x, y, text, color=colour, **style)


def disc(
    axes: Axes, x: float, y: float, radius: float, text: str = "", face: str = "white", **look: Any
) -> None:
    """A circle round a text."""
    style: Any = {"facecolor": face, "edgecolor": BLACK, "lw": 1.2, "zorder": 3} | look
    axes.add_patch(Circle((x, y), radius, **style))
    word(axes, x, y, text, zorder=4)


def box(axes: Axes, x: float, y: float, wide: float, high: float, **look: Any) -> None:
    """A box with round corners about a point, so wide and high to each side."""
    corner, width, height = (x - wide + 0.05, y - high + 0.05), 2 * wide - 0.1, 2 * high - 0.1
    style: Any = {"facecolor": "white", "edgecolor": BLACK, "lw": 1.0, "zorder": 3} | look
    axes.add_patch(FancyBboxPatch(corner, width, height, "round,pad=0.05", **style))


def bow(axes: Axes, start: Point, end: Point, bend: float, colour: str) -> None:
    """An arrow that bends to its left; to its right where the number is below zero."""
    style: Any = {"arrowstyle": "-|>", "mutation_scale": 8, "shrinkA": 0.5, "shrinkB": 0.5}
    way = f"arc3,rad={bend}"
    axes.add_patch(FancyArrowPatch(start, end, connectionstyle=way, color=colour, lw=1.1, **style))


def both_ways(axes: Axes, start: Point, end: Point, apart: float, width: float = 1.4) -> None:
    """Values from start to end, on the left, and gradients back; of a level or upright edge."""
    across = (start[0], start[1] + apart), (end[0], end[1] + apart)
    back = (end[0], end[1] - apart), (start[0], start[1] - apart)
    if start[0] == end[0]:
        across = (start[0] - apart, start[1]), (end[0] - apart, end[1])
        back = (end[0] + apart, end[1]), (start[0] + apart, start[1])
    arrow(axes, *across, BLUE, width=width)
    arrow(axes, *back, VERMILLION, dashed=True, width=width)
