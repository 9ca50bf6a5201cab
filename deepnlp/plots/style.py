"""Colours and labels that all figures share."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import LogLocator, NullLocator
from scipy.optimize import isotonic_regression

from deepnlp.files.writing import replacing
from deepnlp.plots.fonts import without_raw_warnings

# The palette of Okabe and Ito (2008), without its yellow, which is too pale for lines.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#5A5A5A"

# Colour, dashes and marker of the first line, bar or group of words, and so on.
LOOKS: list[tuple[str, Any, str]] = [
    (BLUE, "-", "o"), (VERMILLION, "--", "s"), (GREEN, "-.", "D"), (ORANGE, (0, (1, 1)), "^"),
    (PURPLE, (0, (5, 1, 1, 1, 1, 1)), "v"), (SKY, (0, (8, 2)), "P"), (BLACK, (0, (3, 3)), "X"),
]  # fmt: skip
LABEL_HEIGHT = 0.055  # of a label in the margin, as a part of the height of the axes

Point = tuple[float, float]


class Label(NamedTuple):
    """A text for the margin, placed as near as possible to the end of its line."""

    text: str
    end: float
    colour: str


def label_in_margin(
    axes: Axes, labels: Sequence[Label], height: float = LABEL_HEIGHT, size: float = 9.5
) -> None:
    """Write labels right of the axes, each joined to the end of its line, and apart from others.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Its limits should be final.
    labels : sequence of Label
    height : float
        Of one label, as a part of the height of the axes.
    size : float
        Of the letters, in points.
    """
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform((axes.get_xlim()[1], label.end))[1]) for label in labels]
    for label, end, place in zip(labels, heights, spread(heights, height, 0.0, 1.0), strict=True):
        inside = min(max(end, 0.0), 1.0)  # a line may leave the axes
        kept: Any = {"transform": axes.transAxes, "color": label.colour}
        axes.plot([1.005, 1.035], [inside, place], linewidth=0.8, clip_on=False, **kept)
        axes.text(1.045, place, label.text, va="center", fontsize=size, **kept)


def plain(axes: Axes) -> None:
    """Draw no frame above and on the right, and a faint grid behind the data.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    """
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#E6E6E6", linewidth=0.6)
    axes.set_axisbelow(True)


def log_scale(axes: Axes, low: float, high: float, ticks: int = 7) -> None:
    """Make the vertical axis logarithmic, from low to high, with a few round ticks.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    low, high : float
        Above zero.
    ticks : int
        The most there should be.
    """
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(LogLocator(numticks=ticks))
    axes.yaxis.set_minor_locator(NullLocator())


def headed(width: float, height: float, title: str = "") -> Figure:
    """Make a figure with its message above; axes take the room that their labels leave."""
    figure = Figure(figsize=(width, height), dpi=150)
    figure.set_layout_engine("compressed", w_pad=0.1, h_pad=0.08)
    if title:
        figure.suptitle(title, x=0.02, ha="left", fontsize=10.5, weight="bold")
    return figure


def cell_borders(axes: Axes) -> None:
    """Draw pale lines between the cells of an image, in place of ticks."""
    rows, columns = axes.images[0].get_size()
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#E3E3E3", linewidth=0.6)
    axes.tick_params(which="both", length=0)


def legend_above(axes: Axes, columns: int) -> None:
    """Draw the legend of the marks, in a line over the axes."""
    place: Any = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    axes.legend(**place, ncols=columns, frameon=False, fontsize=9.5, columnspacing=1.3)


def sheet(
    width: float, height: float, title: str, origin: Point = (0.0, 0.0)
) -> tuple[Figure, Axes]:
    """Make a figure in inches, with its message above; ``origin`` is its lower left corner."""
    figure = Figure(figsize=(width, height), dpi=150)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    left, low = origin
    axes.set(xlim=(left, left + width), ylim=(low, low + height))
    look: Any = {"fontsize": 10.5, "weight": "bold", "va": "top"}
    axes.set_title(title, loc="left", x=0.15 / width, y=1, pad=-8.6, **look)
    return figure, axes


def arrow(
    axes: Axes, start: Point, end: Point, colour: str, *, dashed: bool = False, width: float = 1.4,
    head: float = 11, **options: Any,
) -> None:  # fmt: skip
    """Draw an arrow between two points of the data; its head is ``head`` points long.

    ``options`` are those of a ``FancyArrowPatch``, such as the patches that it joins.
    """
    look: Any = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": head}
    look |= {"color": colour, "lw": width, "ls": (0, (3, 1.5)) if dashed else "-", "zorder": 2}
    axes.add_patch(FancyArrowPatch(start, end, **look | options))


def saved(figure: Figure, path: str | PathLike[str] | None) -> Figure:
    """Return the figure, and write it if there is a path, whose suffix says the format."""
    if path is not None:
        with replacing(path) as file, without_raw_warnings():
            figure.savefig(file, format=Path(path).suffix[1:].lower() or "png")
    return figure


def percent(share: float) -> str:
    """Return a share as a percentage that can be read at any size.

    Parameters
    ----------
    share : float

    Examples
    --------
    >>> percent(0.25), percent(0.00125), percent(3e-9), percent(4200.0)
    ('25 %', '0.125 %', '3e-07 %', '4e+05 %')
    """
    value = 100 * share
    if value == 0 or 1e-3 <= value < 1e5:
        return f"{value:,.3g} %" if value < 1e3 else f"{value:,.0f} %"
    return f"{value:.0e} %"


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions apart until neighbours stand at least ``gap`` from each other.

    Of all such places these are the nearest, by the sum of squares: an isotonic regression.

    Parameters
    ----------
    positions : sequence of float
        Where each label would like to be, in any order.
    gap : float
        The least distance between two labels.
    low, high : float
        The range to stay in; where it is too small for all, labels run over ``high``.

    Returns
    -------
    list of float
        The new position of each label, in the order given.

    Examples
    --------
    >>> spread([0.5, 0.5, 0.0], gap=0.25, low=0.0, high=1.0)
    [0.375, 0.625, 0.0]
    """
    order = np.argsort(positions, kind="stable")
    steps = gap * np.arange(len(order))  # from the lowest; without them labels may touch
    free = isotonic_regression(np.asarray(positions, dtype=float)[order] - steps).x
    placed = np.empty(len(order))
    placed[order] = np.maximum(np.minimum(free, high - gap * (len(order) - 1)), low) + steps
    return placed.tolist()
