"""Distributions over the next word, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.plots.style import GREY, LOOKS, headed

MOST_PANELS = 4


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
    values = {name: np.asarray(p, dtype=float) for name, p in distributions.items()}
    shapes = [p.shape for p in values.values()]
    if not 0 < len(values) <= MOST_PANELS or set(shapes) != {(len(tokens),)}:
        raise ValueError(
            f"next_words: expected 1 to {MOST_PANELS} distributions, each with a number for each "
            f"of {len(tokens)} words, got shapes {shapes}"
        )
    first = next(iter(values.values()))
    order = np.argsort(-first, kind="stable")[:most]
    names = [*(tokens[k] for k in order), "all others"]
    height = 1.15 + 0.23 * len(names) + 0.18 * title.count("\n")
    figure = headed(7.0, height, title)
    panels: Any = figure.subplots(1, len(values), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (name, p), (colour, *_) in zip(panels, values.items(), LOOKS, strict=False):
        shares = np.append(p[order], 1 - p[order].sum())
        drawn = axes.barh(names, shares, color=[colour] * len(order) + ["#BBBBBB"], height=0.7)
        axes.bar_label(drawn, fmt="%.2f", padding=3, fontsize=8)
        axes.margins(x=0.2)
        axes.set_title(name, loc="left", fontsize=9.5, color=colour)
        axes.set_xlabel("probability", fontsize=9, color=GREY)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].invert_yaxis()
    return figure
