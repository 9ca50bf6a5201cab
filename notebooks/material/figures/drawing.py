"""Parts of the drawings: a sheet of paper, words, circles, boxes, and arrows both ways."""

from math import hypot
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch, Patch

from deepnlp.plots.style import BLACK, BLUE, VERMILLION, Point, arrow

STEP, RADIUS = 0.95, 0.27  # inches: from one state of a network to the next, and of its circle


def word(axes: Axes, x: float, y: float, text: str, colour: str = BLACK, **look: Any) -> None:
    """A text whose middle is at a point."""
    style: Any = {"ha": "center", "va": "center", "fontsize": 10} | look
    axes.text(x, y, text, color=colour, **style)


def disc(
    axes: Axes, x: float, y: float, radius: float, text: str = "", face: str = "white", **look: Any
) -> Patch:
    """A circle round a text."""
    style: Any = {"facecolor": face, "edgecolor": BLACK, "lw": 1.2, "zorder": 3} | look
    word(axes, x, y, text, zorder=4)
    return axes.add_patch(Circle((x, y), radius, **style))


def box(axes: Axes, x: float, y: float, wide: float, high: float, **look: Any) -> Patch:
    """A box with round corners about a point, so wide and high to each side."""
    corner, width, height = (x - wide + 0.05, y - high + 0.05), 2 * wide - 0.1, 2 * high - 0.1
    style: Any = {"facecolor": "white", "edgecolor": BLACK, "lw": 1.0, "zorder": 3} | look
    return axes.add_patch(FancyBboxPatch(corner, width, height, "round,pad=0.05", **style))


def beside(start: Point, end: Point, apart: float) -> tuple[float, float]:
    """The step to the left of the way from start to end."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    return -dy * apart / hypot(dx, dy), dx * apart / hypot(dx, dy)


def cell(axes: Axes, x: float, name: str, reads: str, face: str = "white") -> None:
    """A state of a recurrent network, at height 0, and what it reads."""
    disc(axes, x, 0, RADIUS, name, face)
    arrow(axes, (x, -0.88), (x, -RADIUS - 0.02), BLUE)
    word(axes, x, -1.03, reads)


def writes(axes: Axes, x: float, *texts: str) -> None:
    """Draw a state's prediction above it, and the gradient that comes back."""
    both_ways(axes, (x, RADIUS), (x, 0.88), 0.07)
    for k, text in enumerate(texts):
        word(axes, x, 1.04 + 0.23 * k, text)


def both_ways(axes: Axes, start: Point, end: Point, apart: float, width: float = 1.4) -> None:
    """Values from start to end, on the left, and gradients back."""
    dx, dy = beside(start, end, apart)
    across = (start[0] + dx, start[1] + dy), (end[0] + dx, end[1] + dy)
    back = (end[0] - dx, end[1] - dy), (start[0] - dx, start[1] - dy)
    arrow(axes, *across, BLUE, width=width)
    arrow(axes, *back, VERMILLION, dashed=True, width=width)
