"""The window of word vectors moving over a text."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from deepnlp.plots.style import BLUE, GREY, VERMILLION, arrow, sheet
from material.figures.drawing import box, word

LETTER, SPACE = 0.088, 0.24  # width of a letter and between two words, in inches
ROW = {"none": 0.52, "in": 0.78, "out": 0.78}  # height of a row, in inches
WIDEST = 7.0  # inches; a longer text makes the figure wider


def moving_window(
    tokens: Sequence[str],
    window: int | Sequence[int],
    centres: Sequence[int],
    *,
    title: str,
    arrows: str = "none",
    notes: Sequence[str] | None = None,
) -> Figure:
    """Draw a text several times, one row for each place of the window.

    Parameters
    ----------
    tokens : sequence of str
        A dozen words or so.
    window : int or sequence of int
        Words on each side of the centre that belong to its context; one number for each row
        where the reach of the window changes.
    centres : sequence of int
        Place of the centre in each row.
    title : str
        What the figure says; line breaks are kept.
    arrows : {"none", "in", "out"}
        Arrows from the context to the centre (CBOW), from the centre to the context (skip-gram),
        or none.
    notes : sequence of str, optional
        A text below each row, such as the pairs that are counted there.

    Raises
    ------
    ValueError
        If a centre is not in the text, ``arrows`` is unknown, or there is not one reach and one
        note for each row.

    Examples
    --------
    >>> figure = moving_window("the king eats bread".split(), 1, [1, 2], title="Two windows")
    >>> len(figure.axes[0].texts)       # the words of two rows, and a note below each
    10
    """
    reaches = [window] * len(centres) if isinstance(window, int) else list(window)
    below = list(notes) if notes is not None else [""] * len(centres)
    inside = all(0 <= c < len(tokens) for c in centres)
    if arrows not in ROW or not inside or not len(reaches) == len(below) == len(centres):
        raise ValueError(
            f"moving_window: expected centres from 0 to {len(tokens) - 1}, arrows none, in or "
            f"out, and a reach and a note for each of {len(centres)} rows, got {list(centres)}, "
            f"{arrows!r}, {len(reaches)} reaches and {len(below)} notes"
        )
    ends = np.cumsum([LETTER * len(token) + SPACE for token in tokens]) + 0.3
    left, right = np.append(0.3, ends[:-1]), ends - SPACE  # of every word, in inches
    row = ROW[arrows] + (0.24 if notes is not None else 0.0)
    head = 0.42 + 0.18 * title.count("\n")
    height = head + row * len(centres) + 0.08
    figure, axes = sheet(max(WIDEST, right[-1] + 0.25), height, title)
    for k, (centre, reach, note) in enumerate(zip(centres, reaches, below, strict=True)):
        y = height - head - row * k - (ROW[arrows] - 0.24)
        low, high = max(0, centre - reach), min(len(tokens) - 1, centre + reach)
        middle, wide = (left[low] + right[high]) / 2, (right[high] - left[low]) / 2 + 0.1
        box(axes, middle, y, wide, 0.14, facecolor="#EAF3F9", edgecolor=BLUE, zorder=1)
        for place, (token, x) in enumerate(zip(tokens, (left + right) / 2, strict=True)):
            inside = low <= place <= high
            colour = VERMILLION if place == centre else BLUE if inside else "#8A8A8A"
            word(axes, x, y, token, colour, weight="bold" if inside else "normal")
            if arrows != "none" and inside and place != centre:
                there = (left[centre] + right[centre]) / 2
                begin, end = (x, there) if arrows == "in" else (there, x)
                way = f"arc3,rad={min(0.5, 0.3 / abs(end - begin)) * np.sign(begin - end)}"
                points = (begin, y + 0.15), (end, y + 0.15)
                arrow(axes, *points, VERMILLION, width=1.1, head=8, connectionstyle=way)
        word(axes, left[0], y - 0.34, note, GREY, fontsize=9, ha="left")
    return figure
