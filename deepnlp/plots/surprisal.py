"""A text coloured by surprisal: the darker a word, the less it was expected."""

from collections.abc import Sequence
from os import PathLike

from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from deepnlp.plots.fonts import in_any_script
from deepnlp.plots.style import BLACK, GREY, saved, sheet

COLOURS = "Oranges"  # one hue, so that darkness alone shows it, in print too
DARKEST = 0.92  # of the colour map
WHITE_LETTERS_FROM = 0.72  # share of the scale from which letters are white
WIDTH, LINE, LEFT, MARGIN, GAP = 7.0, 0.56, 0.18, 0.12, 0.09  # inches


@in_any_script
def surprisal_text(
    tokens: Sequence[str],
    bits: Sequence[float],
    title: str = "The darker a word, the less the model expected it",
    most: float = 14.0,
    path: str | PathLike[str] | None = None,
) -> Figure:
    r"""Draw a text, each word on a ground that is the darker the less it was expected.

    Parameters
    ----------
    tokens : sequence of str
    bits : sequence of float
        Surprisal of each token, :math:`-\log_2 p`.
    title : str
        What the picture says; line breaks are kept.
    most : float
        Bits that have the darkest colour; the same value makes two texts comparable.
    path : str or path, optional
        Where to save the figure.

    Raises
    ------
    ValueError
        If there are no tokens, or not as many bits as tokens, or ``most`` is not above zero.

    Examples
    --------
    >>> figure = surprisal_text(["hello", "world"], [9.2, 1.5], title="One is expected")
    >>> [text.get_text() for text in figure.axes[0].texts][:4]
    ['hello', '9.2', 'world', '1.5']
    """
    if not tokens or len(tokens) != len(bits) or not most > 0:
        raise ValueError(
            "surprisal_text: expected one or more tokens, as many bits, and most above zero, got "
            f"{len(tokens)} tokens, {len(bits)} bits and most={most}"
        )
    head = 0.34 + 0.19 * title.count("\n")
    figure, axes = sheet(WIDTH, 1.0, title)
    renderer = FigureCanvasAgg(figure).get_renderer()
    x, y = LEFT, head + 0.2
    for token, surprisal in zip(tokens, bits, strict=True):
        background, letters = _colours(surprisal, most)
        behind = {"boxstyle": "round,pad=0.25", "fc": background, "ec": "#BBBBBB", "lw": 0.5}
        word = axes.text(0, 0, token, fontsize=10.5, color=letters, bbox=behind)
        below = axes.text(0, 0, f"{surprisal:.1f}", fontsize=9.5, color=GREY)
        width = max(t.get_window_extent(renderer).width for t in (word, below)) / figure.dpi
        if x > LEFT and x + width + MARGIN > WIDTH - LEFT:
            x, y = LEFT, y + LINE
        for text, down in ((word, 0.0), (below, 0.22)):
            text.set(x=x + (width + MARGIN) / 2, y=y + down, ha="center", va="center")
        x += width + MARGIN + GAP
    height = y + LINE + 0.22
    figure.set_figheight(height)
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    mean = sum(bits) / len(bits)
    note = f"below each word its surprisal in bits; mean {mean:.2f}, perplexity {2**mean:,.1f}"
    axes.text(LEFT, height - 0.14, note, fontsize=8.5, color=GREY, va="center")
    return saved(figure, path)


def _colours(bits: float, most: float) -> tuple[str, str]:
    """Return the background and letters, as hexadecimal colours."""
    share = min(max(bits / most, 0.0), 1.0)
    background = to_hex(colormaps[COLOURS](DARKEST * share))
    return background, "#FFFFFF" if share >= WHITE_LETTERS_FROM else BLACK
