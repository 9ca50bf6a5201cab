"""Numbers of words with words, or of words with axes, as shaded tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.backend import HostArray
from deepnlp.plots.style import BLACK

CELL_WIDTH, CELL_HEIGHT = 0.285, 0.225  # of an entry, in inches
LETTER = 0.077  # width of a letter of a label, in inches


def word_table(
    panels: Mapping[str, HostArray],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    cell_width: float = CELL_WIDTH,
) -> Figure:
    """Draw tables of numbers below each other, the larger a number the darker its cell.

    Numbers below zero are drawn in red; zeros, and fractions that would round to 0.0, are left
    blank.

    Parameters
    ----------
    panels : mapping of str to array (R, C)
        Tables over the same rows and columns, by what stands above each.
    rows, columns : sequence of str
        R and C labels.
    title : str
    cell_width : float
        In inches.

    Raises
    ------
    ValueError
        If there is no panel, or one has not R rows and C columns.

    Examples
    --------
    >>> figure = word_table({"counts": np.array([[0, 3]])}, ["cat"], ["dog", "tea"],
    ...                     title="A row of a matrix of counts")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['3']
    """
    R, C = len(rows), len(columns)
    tables = {name: np.asarray(table, dtype=float) for name, table in panels.items()}
    shapes = [table.shape for table in tables.values()]
    if not tables or any(shape != (R, C) for shape in shapes):
        raise ValueError(
            f"word_table: expected tables of {R} rows and {C} columns, got {shapes or 'none'}"
        )
    left = 0.15 + LETTER * max(map(len, rows))
    longest = max(map(len, columns))
    turned = LETTER * longest > cell_width - 0.05
    low = 0.15 + LETTER * longest if turned else 0.3
    top, between = 0.36 + 0.18 * title.count("\n"), 0.3 if any(tables) else 0.05
    width = max(left + cell_width * C + 0.15, 0.3 + LETTER * max(map(len, title.split("\n"))))
    height = top + (CELL_HEIGHT * R + between) * len(tables) + low
    figure = Figure(figsize=(width, height), dpi=150)
    for k, (name, table) in enumerate(tables.items()):
        bottom = height - top - (CELL_HEIGHT * R + between) * (k + 1)
        place = (left / width, bottom / height, cell_width * C / width, CELL_HEIGHT * R / height)
        axes = figure.add_axes(place)
        _draw(axes, table)
        axes.set_title(name, loc="left", fontsize=9, pad=4)
        axes.set_yticks(range(R), rows, fontsize=8.5)
        last = k == len(tables) - 1
        shown = columns if last else [""] * C
        axes.set_xticks(range(C), shown, fontsize=8.5, rotation=90 if turned else 0)
    figure.text(0.1 / width, 1 - 0.1 / height, title, fontsize=10.5, weight="bold", va="top")
    return figure


def _draw(axes: Axes, table: HostArray) -> None:
    """One table, its numbers in the cells."""
    top = float(np.abs(table).max()) or 1.0
    axes.imshow(table, cmap="RdBu", vmin=-1.6 * top, vmax=1.6 * top, aspect="auto")
    whole = np.array_equal(table, np.round(table))
    for i, j in np.argwhere(np.abs(table) > (0 if whole else 0.05)):
        number = f"{table[i, j]:.0f}" if whole else f"{table[i, j]:.1f}".replace("-", "−")
        axes.text(j, i, number, ha="center", va="center", fontsize=7.5, color=BLACK)
    axes.set_xticks(np.arange(-0.5, table.shape[1]), minor=True)
    axes.set_yticks(np.arange(-0.5, table.shape[0]), minor=True)
    axes.grid(which="minor", color="#E3E3E3", linewidth=0.6)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
