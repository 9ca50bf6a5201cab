"""A few numbers for a few things, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

import numpy as np
from matplotlib.figure import Figure

from deepnlp.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, VERMILLION, saved

FACES = [(BLUE, ""), (SKY, "///"), (VERMILLION, ""), (ORANGE, "..."), (GREEN, "")]


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
    if not 0 < len(names) <= len(FACES) or any(list(one) != names for one in values.values()):
        raise ValueError(
            f"bars: every group should have the same 1 to {len(FACES)} bars, got "
            f"{[list(one) for one in values.values()]}"
        )
    lines = 1 + title.count("\n")
    height = 3.3 + 0.2 * lines
    figure = Figure(figsize=(7.0, height), dpi=150)
    labels_below = 1 + max(group.count("\n") for group in values)
    bottom = (0.18 + 0.19 * labels_below) / height
    legend = 0.3 if len(names) > 1 else 0.06
    top = 1 - (0.12 + 0.2 * lines + legend) / height
    right = 0.97 if not levels else 0.97 - 0.0135 * max(map(len, levels))
    axes = figure.add_axes((0.095, bottom, right - 0.095, top - bottom))
    width = 0.8 / len(names)
    finite = [value for one in values.values() for value in one.values() if np.isfinite(value)]
    highest = max(finite, default=1.0)
    for place, (name, (colour, hatch)) in enumerate(zip(names, FACES, strict=False)):
        numbers = [one[name] for one in values.values()]
        heights = [value if np.isfinite(value) else 0.0 for value in numbers]
        xs = np.arange(len(values)) + (place - (len(names) - 1) / 2) * width
        axes.bar(
            xs, heights, 0.92 * width, color=colour, hatch=hatch, edgecolor="white", label=name
        )
        for x, height_of_bar, value in zip(xs, heights, numbers, strict=True):
            text = format(value, number) if np.isfinite(value) else missing
            axes.text(
                x, height_of_bar + 0.015 * highest, text, ha="center", fontsize=8.5, color=BLACK,
                zorder=4, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
            )  # fmt: skip
    for name, level in (levels or {}).items():
        axes.axhline(level, color=GREY, lw=1.0, ls=(0, (5, 2)), zorder=3)
        axes.text(
            1.01, level, name, color=GREY, fontsize=9, va="center",
            transform=axes.get_yaxis_transform(),
        )  # fmt: skip
    axes.set_xticks(np.arange(len(values)), list(values), fontsize=9.5)
    axes.tick_params(axis="x", length=0)
    top_value = 1.12 * max([highest, *(levels or {}).values()])
    axes.set(xlim=(-0.5, len(values) - 0.5), ylim=(0, top_value), ylabel=ylabel)
    axes.spines[["top", "right"]].set_visible(False)
    if len(names) > 1:
        figure.legend(
            loc="upper left", bbox_to_anchor=(0.085, 1 - (0.1 + 0.2 * lines) / height),
            ncols=len(names), frameon=False, fontsize=9, borderaxespad=0,
        )  # fmt: skip
    figure.text(0.02, 1 - 0.1 / height, title, fontsize=10.5, weight="bold", va="top")
    return saved(figure, path)
