"""Numbers of words with words, or of words with axes, as shaded tables."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.backend import HostArray
from deepnlp.plots.style import BLACK, cell_borders, headed

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
    longest, widest = (LETTER * max(map(len, labels)) for labels in (rows, columns))
    turned = widest > cell_width - 0.05
    width = max(0.35 + longest + cell_width * C, 0.3 + 0.092 * max(map(len, title.split("\n"))))
    height = 0.5 + 0.18 * title.count("\n") + (CELL_HEIGHT * R + 0.25) * len(tables)
    figure = headed(width, height + (widest if turned else 0.1), title)
    panels_of = figure.subplots(len(tables), squeeze=False)[:, 0]
    for axes, (name, table) in zip(panels_of, tables.items(), strict=True):
        _draw(axes, table)
        axes.set_aspect(CELL_HEIGHT / cell_width)
        axes.set_title(name, loc="left", fontsize=9, pad=4)
        axes.set_yticks(range(R), rows, fontsize=8.5)
        axes.set_xticks(range(C), [""] * C)
    axes.set_xticks(range(C), columns, fontsize=8.5, rotation=90 if turned else 0)
    return figure


def _draw(axes: Axes, table: HostArray) -> None:
    """One table, its numbers in the cells."""
    top = float(np.abs(table).max()) or 1.0
    axes.imshow(table, cmap="RdBu", vmin=-1.6 * top, vmax=1.6 * top)
    whole = np.array_equal(table, np.round(table))
    for i, j in np.argwhere(np.abs(table) > (0 if whole else 0.05)):
        number = f"{table[i, j]:.0f}" if whole else f"{table[i, j]:.1f}".replace("-", "−")
        axes.text(j, i, number, ha="center", va="center", fontsize=7.5, color=BLACK)
    cell_borders(axes)
    axes.spines[:].set_visible(False)
