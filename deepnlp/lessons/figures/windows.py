"""The window of word vectors moving over a text."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.lessons.figures.drawing import box, sheet, word
from deepnlp.plots.style import BLUE, GREY, VERMILLION, arrow

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
    >>> len(figure.axes[0].texts)       # the words of two rows
    8
    """
    reaches = [window] * len(centres) if isinstance(window, int) else list(window)
    below = list(notes) if notes is not None else [""] * len(centres)
    if arrows not in ROW or not all(0 <= c < len(tokens) for c in centres):
        raise ValueError(
            f"moving_window: expected centres from 0 to {len(tokens) - 1} and arrows none, in or "
            f"out, got {list(centres)} and {arrows!r}"
        )
    if not len(reaches) == len(below) == len(centres):
        raise ValueError(
            f"moving_window: expected a reach and a note for each of {len(centres)} rows, got "
            f"{len(reaches)} and {len(below)}"
        )
    spans = _spans(tokens)
    row = ROW[arrows] + (0.24 if notes is not None else 0.0)
    head = 0.42 + 0.18 * title.count("\n")
    width, height = max(WIDEST, spans[-1][1] + 0.25), head + row * len(centres) + 0.08
    figure, axes = sheet(width, height, title)
    for k, (centre, reach, note) in enumerate(zip(centres, reaches, below, strict=True)):
        y = height - head - row * k - (ROW[arrows] - 0.24)
        _draw_row(axes, tokens, spans, centre, reach, y, arrows)
        if note:
            word(axes, spans[0][0], y - 0.34, note, GREY, fontsize=9, ha="left")
    return figure


def _spans(tokens: Sequence[str]) -> list[tuple[float, float]]:
    """Left and right end of every word, in inches."""
    spans, x = [], 0.3
    for token in tokens:
        spans.append((x, x + LETTER * len(token)))
        x = spans[-1][1] + SPACE
    return spans


def _draw_row(
    axes: Axes, tokens: Sequence[str], spans: list[tuple[float, float]], centre: int, reach: int,
    y: float, arrows: str,
) -> None:  # fmt: skip
    """The text, with a box round the window and the centre set off."""
    low, high = max(0, centre - reach), min(len(tokens) - 1, centre + reach)
    left, right = spans[low][0] - 0.1, spans[high][1] + 0.1
    middle, wide = (left + right) / 2, (right - left) / 2
    box(axes, middle, y, wide, 0.14, facecolor="#EAF3F9", edgecolor=BLUE, zorder=1)
    for k, (token, (start, end)) in enumerate(zip(tokens, spans, strict=True)):
        inside = low <= k <= high
        colour = VERMILLION if k == centre else BLUE if inside else "#8A8A8A"
        weight = "bold" if inside else "normal"
        middle = (start + end) / 2
        word(axes, middle, y, token, colour, weight=weight)
        if arrows != "none" and inside and k != centre:
            there = sum(spans[centre]) / 2
            begin, end = (middle, there) if arrows == "in" else (there, middle)
            bend = min(0.5, 0.3 / abs(end - begin)) * (1 if end < begin else -1)
            way = f"arc3,rad={bend}"
            ends = (begin, y + 0.15), (end, y + 0.15)
            arrow(axes, *ends, VERMILLION, width=1.1, head=8, connectionstyle=way)
