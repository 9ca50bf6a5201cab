"""Attention by hand: one query, a small memory, its scores, weights and weighted sum."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from deepnlp.backend import HostArray
from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION, arrow, sheet
from material.figures.drawing import word

STEP, CELL, BAR = 0.78, 0.3, 0.62  # inches: between columns, height of a number, of a full bar
LEFT = 1.6  # inches: the column of the query, with the names of the rows before it
HIDDEN = "#B5B5B5"


def weighted_sum(
    tokens: Sequence[str],
    memory: HostArray,
    query: HostArray,
    *,
    length: int | None = None,
    title: str = "A query reads a memory",
) -> Figure:
    """Draw how one query reads a memory: scores, weights, and the sum that they give.

    Parameters
    ----------
    tokens : sequence of str
        S short names, of the places of the memory.
    memory : numpy.ndarray, shape (S, H)
        H is small: every number is written out.
    query : numpy.ndarray, shape (H,)
    length : int, optional
        Places that count, from 1 to S; S by default. The others are drawn as padding.
    title : str

    Raises
    ------
    ValueError
        If shapes do not fit or the length is out of its range.

    Examples
    --------
    >>> memory = np.array([[2.0, 0.0], [0.0, 1.0], [9.0, 9.0]])
    >>> figure = weighted_sum(["a", "b", "-"], memory, np.array([1.0, 0.0]), length=2)
    >>> [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "weight"]
    ['0.88', '0.12', '0']
    """
    memory, query = np.asarray(memory), np.asarray(query)
    S, H = memory.shape if memory.ndim == 2 else (0, 0)
    length = S if length is None else length
    if query.shape != (H,) or len(tokens) != S or not 1 <= length <= S:
        raise ValueError(
            f"weighted_sum: expected a memory (S, H) with S = {len(tokens)}, a query (H,) and a "
            f"length from 1 to S, got {memory.shape}, {query.shape} and {length}"
        )
    scores = memory @ query
    e = np.exp(scores[:length] - scores[:length].max())
    weights = np.concatenate([e / e.sum(), np.zeros(S - length)])
    top = 0.4 + CELL * H  # of the vectors
    base, middle = top + 0.62, top - CELL * H / 2  # of the bars, and of the vectors
    figure, axes = sheet(max(7.0, LEFT + STEP * (S + 1) + 1.15), base + BAR + 0.72, title)
    for name, y in (("weight $a_s$", base + 0.1), ("score $e_s$", top + 0.22)):
        word(axes, 0.15, y, name, GREY, ha="left")
    word(axes, 0.15, middle, "memory $m_s$", GREY, ha="left")
    columns = [LEFT + STEP * (s + 1) + 0.25 for s in range(S)]
    last = columns[-1] + STEP + 0.25
    vectors = [
        (LEFT, query, "query $q$", VERMILLION),
        (last, weights @ memory, "context $c$", BLUE),
    ]
    for s, x in enumerate(columns):
        counts = s < length
        colour = BLACK if counts else HIDDEN
        vectors.append((x, memory[s], tokens[s], colour))
        word(axes, x, top + 0.22, _number(scores[s]) if counts else "$-\\infty$", colour)
        axes.add_patch(Rectangle((x - 0.2, base), 0.4, BAR * weights[s], color=BLUE))
        label, shade = (f"{weights[s]:.2f}", BLUE) if counts else ("0", HIDDEN)
        word(axes, x, base + BAR * weights[s] + 0.1, label, shade, gid="weight")
    axes.plot([columns[0] - 0.3, columns[-1] + 0.3], [base, base], color=GREY, lw=0.8)
    arrow(axes, (columns[-1] + 0.34, middle), (last - 0.32, middle), BLUE)
    for x, numbers, name, colour in vectors:
        for low, number in zip(top - CELL * np.arange(1, H + 1), numbers, strict=True):
            look: Any = {"facecolor": "white", "edgecolor": colour, "lw": 1.0}
            axes.add_patch(Rectangle((x - 0.28, low), 0.56, CELL, **look))
            word(axes, x, low + CELL / 2, _number(number), colour)
        word(axes, x, 0.23, name, colour)
    return figure


def _number(number: float) -> str:
    """A number with one digit, a true minus sign and no minus before zero."""
    return f"{number:z.1f}".replace("-", "−")
