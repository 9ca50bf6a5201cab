"""What a decoder looks at: attention weights as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.plots.style import GREY, cell_borders, headed, saved

COLOURS = "Blues"
CELL = 0.3  # inches
LETTER = 0.095  # inches, about the width of a letter of a label
SHOWN_AS = {"\n": "end", "<eos>": "end", " ": "␣"}


def attention_map(
    source: Sequence[str],
    target: Sequence[str],
    weights: np.ndarray[Any, Any],
    *,
    labels: tuple[str, str] = ("source", "written"),
    title: str = "Where the decoder looked, for each token it wrote",
    path: str | PathLike[str] | None = None,
) -> Figure:
    """Draw attention weights, a row for each token of the target.

    Parameters
    ----------
    source : sequence of str
        S tokens.
    target : sequence of str
        T tokens; the mark of the end is shown as such.
    weights : numpy.ndarray, shape (T, S)
        From 0, white, to 1, dark.
    labels : tuple of str
        What the columns and the rows are.
    title : str
    path : str or path, optional
        Where to save the figure.

    Raises
    ------
    ValueError
        If the weights are not (T, S), or there are none.

    Examples
    --------
    >>> figure = attention_map(["1", "0"], ["o", "<eos>"], np.array([[0.2, 0.8], [0.5, 0.5]]))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['o', 'end']
    """
    weights = np.asarray(weights)
    if weights.shape != (len(target), len(source)) or not weights.size:
        raise ValueError(
            f"attention_map: weights should have shape (T, S) = {(len(target), len(source))}, "
            f"with T and S of 1 or more, got {weights.shape}"
        )
    columns, rows = ([SHOWN_AS.get(token, token) for token in side] for side in (source, target))
    upright = all(len(token) == 1 for token in columns)
    width = 1.6 + LETTER * max(map(len, rows)) + CELL * len(columns)
    height = 1.05 + (0.1 if upright else LETTER * max(map(len, columns))) + CELL * len(rows)
    figure = headed(max(width, 0.105 * len(title)), height, title)
    axes = figure.add_subplot()
    image = axes.imshow(weights, cmap=COLOURS, vmin=0, vmax=1)
    axes.set_xticks(range(len(columns)), columns, rotation=0 if upright else 90)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(labelsize=10, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(labels[0], fontsize=9, color=GREY, loc="left")
    axes.set_ylabel(labels[1], fontsize=9, color=GREY, loc="top")
    cell_borders(axes)
    axes.spines[:].set_color("#BBBBBB")
    scale = figure.colorbar(image, ticks=[0, 0.5, 1], shrink=min(1, 1.2 / height), anchor=(0, 1))
    scale.ax.tick_params(length=0, labelsize=8.5, labelcolor=GREY)
    scale.outline.set_visible(False)
    scale.ax.set_title("weight", fontsize=9, color=GREY, loc="left", pad=8)
    return saved(figure, path)
