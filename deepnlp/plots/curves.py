"""A few lines over a common axis, each named at its end."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import (
    EngFormatter,
    Formatter,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
)

from deepnlp.plots.style import GREY, LOOKS, Label, headed, label_in_margin, plain, saved

THOUSANDS = 10_000  # an axis that reaches it may count in k and M
MOST_MARKERS = 25  # with more points than this a line has no markers
Points = tuple[Sequence[float], Sequence[float]]


def curves(
    lines: Mapping[str, Points],
    *,
    title: str,
    xlabel: str,
    ylabel: str,
    levels: Mapping[str, float] | None = None,
    dots: Mapping[str, Points] | None = None,
    logx: bool = False,
    logy: bool = False,
    path: str | PathLike[str] | None = None,
) -> Figure:
    """Draw a few lines, each with its name at its end and its own style.

    Parameters
    ----------
    lines : mapping of str to (x, y)
        At most seven. Points that are not finite are left out.
    title : str
        What the figure says; line breaks are kept.
    xlabel, ylabel : str
        With units.
    levels : mapping of str to float, optional
        Thin horizontal lines to compare with.
    dots : mapping of str to (x, y), optional
        Small dots in the colour of the line of this name, such as the runs of which it is the mean.
    logx, logy : bool
        Logarithmic axes. A logarithmic x axis has a tick at every x where these are few
        and round, and over a short range at 1, 2 and 5 times powers of ten.
    path : str or path, optional
        Where to save the figure.

    Raises
    ------
    ValueError
        If there is no line, or there are more than seven.

    Examples
    --------
    >>> figure = curves({"square": ([1, 2, 3], [1, 4, 9])}, title="Squares grow",
    ...                 xlabel="n", ylabel="n squared")
    >>> figure.axes[0].get_title(loc="left")
    'Squares grow'
    """
    if not 0 < len(lines) <= len(LOOKS):
        raise ValueError(f"curves: expected 1 to {len(LOOKS)} lines, got {len(lines)}")
    figure = headed(7.0, 3.8)
    axes = figure.add_subplot()
    labels = []
    for (name, (x, y)), (colour, dash, marker) in zip(lines.items(), LOOKS, strict=False):
        xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        kept = np.isfinite(xs) & np.isfinite(ys)
        size = 5 if kept.sum() <= MOST_MARKERS else 0
        look: Any = {"color": colour, "ls": dash, "marker": marker, "markersize": size, "lw": 1.8}
        axes.plot(xs[kept], ys[kept], label=name, **look)
        if dots and name in dots:
            axes.plot(*dots[name], "o", color=colour, ms=6, alpha=0.5, mew=0)
        if kept.any():
            labels.append(Label(name, float(ys[kept][-1]), colour))
    for name, level in (levels or {}).items():
        axes.axhline(level, color=GREY, lw=1.0, ls=(0, (5, 2)), zorder=1)
        labels.append(Label(name, level, GREY))
    places = [float(x) for xs, _ in lines.values() for x in xs]
    if logx:
        axes.set_xscale("log")
        log_ticks(axes.xaxis, min(places), max(places))
        if len(set(places)) <= 12 and all(x == float(f"{x:.4g}") for x in places):
            axes.set_xticks(sorted(set(places)), [f"{x:g}" for x in sorted(set(places))])
    elif all(x.is_integer() for x in places):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if logy:
        axes.set_yscale("log")
        log_ticks(axes.yaxis, *axes.get_ylim())
    axes.margins(x=0.02)
    axes.set_ylim(axes.get_ylim())
    plain(axes)
    label_in_margin(axes, labels, height=0.075)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_title(title, loc="left", fontsize=10.5, weight="bold", x=-0.06)
    return saved(figure, path)


def log_ticks(axis: Axis, low: float, high: float) -> None:
    """Set ticks at powers of ten, and between them where there is room."""
    subs = [1.0] if high / low > 3e3 else [1.0, 2.0, 5.0]
    if high / low < 10:
        subs = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]
    as_written: Formatter = FuncFormatter(lambda value, _: f"{value:,.10g}")
    axis.set_major_locator(LogLocator(subs=subs, numticks=9))
    axis.set_major_formatter(EngFormatter(sep="") if high >= THOUSANDS else as_written)
    axis.set_minor_locator(NullLocator())
