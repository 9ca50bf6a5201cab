"""Heat maps over tokens: what a decoder or each head of a GPT looks at, and gates."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.plots.fonts import in_any_script
from deepnlp.plots.style import BLACK, GREY, cell_borders, headed, saved

SHADES: Any = {"cmap": "Blues", "vmin": 0, "vmax": 1}
CELL = 0.3  # inches
LETTER = 0.095  # inches, about the width of a letter of a label
WHITE_LETTERS_FROM = 0.55  # from this number on letters in a cell are white
MOST_TOKENS = 64  # of a text whose heads are drawn
SHOWN_AS = {"\n": "end", "<eos>": "end", " ": "␣"}


@in_any_script
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
    axes.imshow(weights, interpolation="none", **SHADES)
    axes.set_xticks(range(len(columns)), columns, rotation=0 if upright else 90)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(labelsize=10, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(labels[0], fontsize=9, color=GREY, loc="left")
    axes.set_ylabel(labels[1], fontsize=9, color=GREY, loc="top")
    cell_borders(axes)
    axes.spines[:].set_color("#BBBBBB")
    _scale(figure, axes, 1.2 / height, anchor=(0, 1))
    return saved(figure, path)


@in_any_script
def attention_heads(
    tokens: Sequence[str],
    weights: np.ndarray[Any, Any],
    path: str | PathLike[str] | None = None,
) -> Figure:
    """Draw the attention of every head of a text to itself, a row of maps for each block.

    Parameters
    ----------
    tokens : sequence of str
        T tokens, at most 64.
    weights : numpy.ndarray, shape (blocks, heads, T, T)
        From 0, white, to 1, dark.
    path : str or path, optional
        Where to save the figure.

    Raises
    ------
    ValueError
        If the weights are not (blocks, heads, T, T), there are none, or there are too many tokens.

    Examples
    --------
    >>> weights = np.tril(np.ones((2, 3, 4, 4))) / np.arange(1, 5)[:, None]
    >>> figure = attention_heads([*"abab"], weights)
    >>> [axes.get_title() for axes in figure.axes[:3]]
    ['head 1', 'head 2', 'head 3']
    """
    weights, T = np.asarray(weights), len(tokens)
    if weights.ndim != 4 or weights.shape[2:] != (T, T) or not weights.size:
        raise ValueError(
            f"attention_heads: weights should have shape (blocks, heads, T, T) with T = {T} "
            f"tokens, each of 1 or more, got {weights.shape}"
        )
    if T > MOST_TOKENS:
        raise ValueError(f"attention_heads: at most {MOST_TOKENS} tokens can be read, got {T}")
    names = [SHOWN_AS.get(token, token) for token in tokens]
    blocks, heads = weights.shape[:2]
    longest = LETTER * max(map(len, names))
    side = max(1.0, 0.11 * T)  # inches of a map
    width, height = 1.3 + longest + heads * (side + 0.12), blocks * (side + 0.12) + 0.9 + longest
    figure = headed(max(width, 4.9), height, "Where each head looks, from every token (rows)")
    panels = figure.subplots(blocks, heads, squeeze=False)
    for block, row in enumerate(panels):
        for head, axes in enumerate(row):
            axes.imshow(weights[block, head], interpolation="none", **SHADES)
            axes.spines[:].set_color("#BBBBBB")
            axes.tick_params(labelsize=6.5, length=0)
            axes.tick_params(axis="x", rotation=0 if max(map(len, names)) == 1 else 90)
            axes.set_yticks(*((range(T), names) if head == 0 else [()]))
            axes.set_xticks(*((range(T), names) if block == blocks - 1 else [()]))
            if block == 0:
                axes.set_title(f"head {head + 1}", fontsize=9, color=GREY)
        row[0].set_ylabel(f"block {block + 1}", fontsize=9, color=GREY)
    _scale(figure, panels, 2 / height)
    return saved(figure, path)


@in_any_script
def by_token(
    tokens: Sequence[str],
    rows: Mapping[str, Sequence[float]],
    *,
    title: str,
    scale: str,
    words: Mapping[str, Sequence[str]] | None = None,
    path: str | PathLike[str] | None = None,
) -> Figure:
    """Draw a number from 0 to 1 for each token in each row, such as how far a gate is open.

    Parameters
    ----------
    tokens : sequence of str
        T tokens, along the axis.
    rows : mapping of str to sequence of float
        T numbers by the name of the row, the first at the bottom.
    title : str
    scale : str
        What the numbers are.
    words : mapping of str to sequence of str, optional
        What to write in the cells of a row, such as what a layer would predict there.
    path : str or path, optional
        Where to save the figure.

    Raises
    ------
    ValueError
        If there is nothing to draw, or a row has not T numbers.

    Examples
    --------
    >>> figure = by_token([*"ab"], {"forget": [0.9, 0.2]}, title="It forgets", scale="mean")
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['forget']
    """
    lengths = [len(row) for row in rows.values()]
    if not rows or not tokens or set(lengths) != {len(tokens)}:
        raise ValueError(
            f"by_token: expected rows of {len(tokens)} numbers, 1 or more, got {lengths}"
        )
    names = [SHOWN_AS.get(token, token) for token in tokens]
    said = {name: [SHOWN_AS.get(word, word) for word in row] for name, row in (words or {}).items()}
    cell = max(CELL, LETTER * max((len(word) for row in said.values() for word in row), default=0))
    width = 2.2 + LETTER * max(map(len, rows)) + cell * len(names)
    height = 1.2 + LETTER * max(map(len, names)) + CELL * len(rows)
    figure = headed(max(width, 0.105 * len(title)), height, title)
    axes = figure.add_subplot()
    values = np.array([*rows.values()], dtype=float)
    axes.imshow(values, interpolation="none", aspect="auto", origin="lower", **SHADES)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(rows)), [*rows])
    axes.tick_params(labelsize=10)
    for y, row in enumerate(said[name] for name in rows if name in said):
        for x, word in enumerate(row):
            colour = "white" if values[y, x] > WHITE_LETTERS_FROM else BLACK
            look: Any = {"ha": "center", "va": "center", "fontsize": 9, "color": colour}
            axes.text(x, y, word, parse_math=False, **look)
    cell_borders(axes)
    _scale(figure, axes, 1.0, scale)
    return saved(figure, path)


def _scale(figure: Figure, axes: Any, shrink: float, name: str = "weight", **place: Any) -> None:
    """Draw the scale of the weights, or of other numbers, beside the maps."""
    image = np.ravel(axes)[0].images[0]
    scale = figure.colorbar(image, ax=axes, ticks=[0, 0.5, 1], shrink=min(1, shrink), **place)
    scale.ax.tick_params(length=0, labelsize=8.5, labelcolor=GREY)
    scale.outline.set_visible(False)
    scale.ax.set_title(name, fontsize=9, color=GREY, loc="left", pad=8)
