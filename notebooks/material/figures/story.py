"""A sentence whose last word depends on one far before it."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION, arrow, sheet
from material.figures.drawing import word

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
        line, column = divmod(k, WORDS_A_LINE)
        x, y = 0.47 + 0.61 * column, height - 0.75 - LINE_HEIGHT * line
        colour = {cause: BLUE, distractor: GREY, last: VERMILLION}.get(k, BLACK)
        weight = "normal" if colour == BLACK else "bold"
        word(axes, x, y, "?" if k == last else token, colour, weight=weight)
        if k > cause:  # the gradient comes back, below the words
            back = (x + 0.28, y - 0.2), (x - 0.31, y - 0.2)
            arrow(axes, *back, VERMILLION, dashed=True, width=1.0, head=7)
    note = f"the gradient of “{tokens[last]}” must travel {last - 1 - cause} steps back in time"
    word(axes, 0.15, 0.2, note, VERMILLION, fontsize=9.5, ha="left")
    return figure
