"""A sentence whose last word depends on one far before it."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.lessons.figures.drawing import sheet, word
from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION, arrow

WORDS_A_LINE = 11
LINE_HEIGHT = 0.62  # inches


def long_link(
    tokens: Sequence[str], cause: int, *, title: str, distractor: int | None = None
) -> Figure:
    """Draw a text that ends in a question, with the word that answers it.

    Parameters
    ----------
    tokens : sequence of str
        The words; the last one is to be predicted.
    cause : int
        Place of the word that it depends on.
    title : str
    distractor : int, optional
        Place of a word that might be taken for it.

    Raises
    ------
    ValueError
        If the cause is not before the last word.

    Examples
    --------
    >>> figure = long_link("Tom came . Mary came . hi Tom".split(), 0, title="Far away")
    >>> len(figure.axes)
    1
    """
    last = len(tokens) - 1
    if not 0 <= cause < last:
        raise ValueError(f"long_link: the cause should be from 0 to {last - 1}, got {cause}")
    lines = -(-len(tokens) // WORDS_A_LINE)
    height = 0.85 + LINE_HEIGHT * lines
    figure, axes = sheet(7.0, height, title)
    for k, token in enumerate(tokens):
        x, y = _place(k, height)
        shown = "?" if k == last else token
        colour = {cause: BLUE, distractor: GREY, last: VERMILLION}.get(k, BLACK)
        weight = "normal" if colour == BLACK else "bold"
        word(axes, x, y, shown, colour, weight=weight)
        if k > cause:
            _arrow_back(axes, k, height)
    note = f"the gradient of “{tokens[last]}” must travel {last - 1 - cause} steps back in time"
    axes.text(0.15, 0.2, note, fontsize=9.5, color=VERMILLION, va="center")
    return figure


def _place(k: int, height: float) -> tuple[float, float]:
    line, column = divmod(k, WORDS_A_LINE)
    return 0.47 + 0.61 * column, height - 0.75 - LINE_HEIGHT * line


def _arrow_back(axes: Axes, k: int, height: float) -> None:
    """A dashed arrow under the words, from word k to the one before it."""
    (x, y), (x_before, y_before) = _place(k, height), _place(k - 1, height)
    if y == y_before:
        ways = [((x - 0.02, y), (x_before + 0.02, y))]
    else:  # out at the left of this line, in at the right of the one above
        ways = [((x - 0.02, y), (x - 0.33, y)), ((x_before + 0.33, y_before), (x_before, y_before))]
    for (start, start_y), (end, end_y) in ways:
        begin, tip = (start, start_y - 0.2), (end, end_y - 0.2)
        arrow(axes, begin, tip, VERMILLION, dashed=True, width=1.0, head=7)
