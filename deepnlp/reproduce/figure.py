"""The figure of a table: a dot for each row beside the number of the source, or curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from deepnlp.plots import curves
from deepnlp.plots.curves import THOUSANDS, Points
from deepnlp.plots.style import BLUE, VERMILLION, plain, saved
from deepnlp.reproduce.found import DIVERGED, Found
from deepnlp.reproduce.table import CurvesOf, FigureOf, Panel

MANY = 4  # panels, each narrow then
OUTSIDE: dict[str, Any] = {"fontsize": 9, "ha": "right", "va": "center"}


def draw(of: FigureOf | CurvesOf, found: Sequence[Found], path: Path | None = None) -> Figure:
    """Draw the figure of a table.

    Parameters
    ----------
    of : FigureOf or CurvesOf
    found : sequence of Found
        The rows that are shown; those without runs are left out.
    path : path, optional
        Where to save it.

    Returns
    -------
    matplotlib.figure.Figure
    """
    found = [one for one in found if one.runs]
    return (
        _draw_curves(of, found, path) if isinstance(of, CurvesOf) else _draw_dots(of, found, path)
    )


def _draw_curves(of: CurvesOf, found: Sequence[Found], path: Path | None) -> Figure:
    """A curve for each ``line``, through the means of its rows in the order of x.

    Where a row has several runs, each is a small dot.
    """
    means: dict[str, list[tuple[float, float]]] = {}
    runs: dict[str, list[tuple[float, float]]] = {}
    for one in (one for one in found if not one.diverged()):
        xs, ys = _numbers(one, of.x), _numbers(one, of.y)
        means.setdefault(one.row.line, []).append((float(np.mean(xs)), float(np.mean(ys))))
        if len(xs) > 1:
            runs.setdefault(one.row.line, []).extend(zip(xs, ys, strict=True))
    return curves(
        _columns(means),
        dots=_columns(runs),
        title=of.title,
        xlabel=of.xlabel,
        ylabel=of.ylabel,
        logx=of.logx,
        path=path,
    )


def _columns(points: Mapping[str, list[tuple[float, float]]]) -> dict[str, Points]:
    """The x and the y of the points of each line, in the order of x."""
    return {
        line: ([x for x, _ in sorted(on)], [y for _, y in sorted(on)])
        for line, on in points.items()
    }


def _draw_dots(of: FigureOf, found: Sequence[Found], path: Path | None) -> Figure:
    """The runs of every row as small dots and their mean as a large one."""
    several = any(len(one.runs) > 1 for one in found)
    legend = several or any(panel.published for panel in of.panels)
    top = 0.7 if legend else 0.4
    width, height = 7.2, 0.65 + top + 0.3 * len(found)
    labels = (0.15 + 0.083 * max(len(one.row.label) for one in found)) / width
    low, high = 0.6 / height, 1 - top / height
    unit, gap, left = (1 - labels) / sum(panel.share for panel in of.panels), 0.035, labels
    narrow = len(of.panels) >= MANY
    figure = Figure(figsize=(width, height), dpi=150)
    published = False
    for place, panel in enumerate(of.panels):
        axes = figure.add_axes((left, low, unit * panel.share - gap, high - low))
        left += unit * panel.share
        published = _draw_panel(axes, panel, found, narrow) or published
        axes.set_yticklabels([one.row.label for one in found] if place == 0 else [], fontsize=9.5)
    figure.text(0.02, 1 - 0.1 / height, of.title, fontsize=11, weight="bold", va="top")
    marks = [("● mean", BLUE), ("• one run", BLUE)] if several else [("● ours", BLUE)] * published
    marks += [("◇ published", VERMILLION)] * published
    for place, (text, colour) in enumerate(marks):
        x, y = (0.15 + 0.85 * place) / width, 1 - 0.5 / height
        figure.text(x, y, text, color=colour, fontsize=9.5, va="center")
    return saved(figure, path)


def _draw_panel(axes: Axes, panel: Panel, found: Sequence[Found], narrow: bool) -> bool:
    """The rows of one panel, the first at the top; gives whether the source has a number."""
    published = False
    for y, one in enumerate(found):
        values = _numbers(one, panel.value)
        mean = float(np.mean(values)) if values else math.nan
        if mean > panel.highest or (one.diverged() and not values):
            text = f"{mean:,.0f} →" if values else DIVERGED
            axes.text(1, y, text, transform=axes.get_yaxis_transform(), color=BLUE, **OUTSIDE)
            continue
        axes.plot(values, [y] * len(values), "o", color=BLUE, ms=3.5, alpha=0.5, mew=0)
        if values:
            axes.plot(mean, y, "o", color=BLUE, ms=7.5)
        for value in _numbers(one, panel.published)[:1]:
            axes.plot(value, y, "D", color=VERMILLION, ms=7, mfc="none", mew=1.5)
            published = True
    axes.set(yticks=range(len(found)), xlabel=panel.xlabel, ylim=(len(found) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(round(3 * panel.share) if narrow else 4))
    axes.margins(x=0.12 if narrow else 0.05)
    if axes.get_xlim()[1] > THOUSANDS:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    plain(axes)
    return published


def _numbers(one: Found, path: str) -> list[float]:
    return [value for value in one.values(path) if value is not None] if path else []
