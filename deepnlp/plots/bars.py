"""A few numbers for a few things, side by side."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.plots.style import GREY, LOOKS, headed, legend_above, saved

HATCHES = ("", "///", "", "...", "")


def bars(
    values: Mapping[str, Mapping[str, float]],
    *,
    title: str,
    ylabel: str,
    levels: Mapping[str, float] | None = None,
    number: str = ".0f",
    missing: str = "none",
    path: str | PathLike[str] | None = None,
) -> Figure:
    """Draw groups of bars, each with its number above.

    Parameters
    ----------
    values : mapping of str to mapping of str to float
        By group, along the axis, the bars by name; the same names in every group, at most five.
    title : str
        What the figure says; line breaks are kept.
    ylabel : str
        With units.
    levels : mapping of str to float, optional
        Thin horizontal lines to compare with.
    number : str
        How the numbers are written, a format such as ``".2f"``.
    missing : str
        What stands in the place of a number that is not finite.
    path : str or path, optional
        Where to save the figure.

    Raises
    ------
    ValueError
        If there is nothing to draw, or the groups differ in their bars.

    Examples
    --------
    >>> figure = bars({"RNN": {"train": 5.0, "valid": 7.0}, "LSTM": {"train": 4.0, "valid": 6.0}},
    ...               title="The LSTM is ahead", ylabel="perplexity")
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['RNN', 'LSTM']
    """
    names = list(next(iter(values.values()), {}))
    if not 0 < len(names) <= len(HATCHES) or any(list(row) != names for row in values.values()):
        raise ValueError(
            f"bars: every group should have the same 1 to {len(HATCHES)} bars, got "
            f"{[list(row) for row in values.values()]}"
        )
    figure = headed(7.0, 3.5 + 0.2 * title.count("\n"), title)
    axes = figure.add_subplot()
    width = 0.8 / len(names)
    heights = np.array([list(group.values()) for group in values.values()], dtype=float)
    lowest, *_, highest = sorted([0.0, *heights[np.isfinite(heights)], 0.0])
    for place, (name, (colour, *_), hatch) in enumerate(zip(names, LOOKS, HATCHES)):
        numbers = heights[:, place]
        xs = np.arange(len(values)) + (place - (len(names) - 1) / 2) * width
        look: Any = {"color": colour, "hatch": hatch, "edgecolor": "white", "label": name}
        axes.bar(xs, np.where(np.isfinite(numbers), numbers, 0), 0.92 * width, **look)
        behind: Any = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        look = {"ha": "center", "fontsize": 8.5, "zorder": 4, "bbox": behind}
        for x, value in zip(xs, numbers):
            text = format(value, number) if np.isfinite(value) else missing
            at = x, max(0.0, value) if np.isfinite(value) else 0.0
            axes.annotate(text, at, (0, 3), textcoords="offset points", **look)
    for name, level in (levels or {}).items():
        axes.axhline(level, color=GREY, lw=1.0, ls=(0, (5, 2)), zorder=3)
        beside = axes.get_yaxis_transform()
        axes.text(1.01, level, name, color=GREY, fontsize=9, va="center", transform=beside)
    axes.set_xticks(np.arange(len(values)), list(values), fontsize=9.5)
    axes.tick_params(axis="x", length=0)
    top = 1.12 * max([highest, *(levels or {}).values()]) or 1.0
    axes.set(xlim=(-0.5, len(values) - 0.5), ylim=(1.12 * lowest, top), ylabel=ylabel)
    axes.spines[["top", "right"]].set_visible(False)
    if len(names) > 1:
        legend_above(axes, len(names))
    return saved(figure, path)
