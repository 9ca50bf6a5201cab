"""Distributions over the next word, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILLION

BAR_COLOURS = [BLUE, VERMILLION, GREEN, ORANGE]


def next_words(
    tokens: Sequence[str],
    distributions: Mapping[str, Sequence[float] | np.ndarray[Any, Any]],
    *,
    title: str,
    most: int = 10,
) -> Figure:
    """Draw the likeliest next words under a few distributions, a panel for each.

    The words are those that the first distribution finds likeliest, in its order; the last bar of
    each panel holds all other words together.

    Parameters
    ----------
    tokens : sequence of str
        The vocabulary, V words.
    distributions : mapping of str to array (V,)
        At most four, by name.
    title : str
    most : int
        Words to show by name.

    Raises
    ------
    ValueError
        If there are no distributions, or more than four, or one has not V numbers.

    Examples
    --------
    >>> figure = next_words(["a", "b", "c"], {"one": [0.5, 0.3, 0.2]}, title="a leads", most=2)
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['a', 'b', 'all others']
    """
    if not 0 < len(distributions) <= len(BAR_COLOURS):
        raise ValueError(
            f"next_words: expected 1 to {len(BAR_COLOURS)} distributions, got {len(distributions)}"
        )
    values = {name: np.asarray(p, dtype=float) for name, p in distributions.items()}
    for name, p in values.items():
        if p.shape != (len(tokens),):
            raise ValueError(
                f"next_words: {name} should have a number for each of {len(tokens)} words, "
                f"got shape {p.shape}"
            )
    first = next(iter(values.values()))
    order = np.argsort(-first, kind="stable")[:most]
    names = [*(tokens[k] for k in order), "all others"]
    height = 1.15 + 0.23 * len(names) + 0.18 * title.count("\n")
    figure = Figure(figsize=(7.0, height), dpi=150)
    head = (0.62 + 0.18 * title.count("\n")) / height
    longest = max(len(name) for name in names)
    left = min(0.24, 0.035 + 0.0125 * longest)
    figure.subplots_adjust(left=left, right=0.975, top=1 - head, bottom=0.5 / height, wspace=0.12)
    panels: Any = figure.subplots(1, len(values), sharey=True, squeeze=False)[0]
    highest = max(max(p[order].max(), 1 - p[order].sum()) for p in values.values())
    rows = np.arange(len(names))
    for axes, (name, p), colour in zip(panels, values.items(), BAR_COLOURS, strict=False):
        shares = np.append(p[order], 1 - p[order].sum())
        colours = [*([colour] * len(order)), "#BBBBBB"]
        axes.barh(rows, shares, color=colours, height=0.7)
        for row, share in zip(rows, shares, strict=True):
            axes.text(
                share + 0.02 * highest, row, f"{share:.2f}", va="center", fontsize=8, color=BLACK
            )
        axes.set_title(name, loc="left", fontsize=9.5, color=colour)
        axes.set_xlim(0, 1.2 * highest)
        axes.set_xlabel("probability", fontsize=9, color=GREY)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(rows, names)
    panels[0].invert_yaxis()
    figure.text(0.015, 1 - 0.1 / height, title, fontsize=10.5, weight="bold", va="top")
    return figure
