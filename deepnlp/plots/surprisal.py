"""A text coloured by surprisal: the darker a word, the less it was expected."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from deepnlp.plots.style import BLACK, GREY, canvas, saved

COLOURS = "Oranges"  # one hue, so that darkness alone shows it, in print too
DARKEST = 0.92  # of the colour map
WHITE_LETTERS_FROM = 0.72  # share of the scale from which letters are white
WIDTH, LINE, LEFT, MARGIN, GAP = 7.0, 0.56, 0.18, 0.12, 0.09  # inches


@dataclass(frozen=True)
class SurprisalText:
    """A text with the surprisal of each word, as HTML in a notebook or as a figure.

    Parameters
    ----------
    tokens : list of str
    bits : list of float
        One for each token.
    title : str
    most : float
        Bits that have the darkest colour.

    Examples
    --------
    >>> shown = SurprisalText(["a", "b"], [1.0, 9.0], "Two letters", most=10.0)
    >>> "<ruby" in shown._repr_html_()
    True
    """

    tokens: list[str]
    bits: list[float]
    title: str
    most: float

    def _repr_html_(self) -> str:
        words = []
        for token, bits in zip(self.tokens, self.bits, strict=True):
            background, letters = self._colours(bits)
            words.append(
                f'<ruby style="background:{background};color:{letters};padding:2px 5px;'
                f'border-radius:3px;margin:0 2px">{html.escape(token)}'
                f'<rt style="color:#444">{bits:.1f}</rt></ruby>'
            )
        title = html.escape(self.title)
        return f"<div><b>{title}</b><p style='line-height:2.6'>{' '.join(words)}</p></div>"

    def figure(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draw the text, line by line, with the bits under each word.

        Parameters
        ----------
        path : str or path, optional
            Where to save the figure.
        """
        head = 0.34 + 0.19 * self.title.count("\n")
        figure, axes = canvas(WIDTH, 1.0)
        axes.text(LEFT, 0.1, self.title, fontsize=10.5, weight="bold", va="top")
        renderer = FigureCanvasAgg(figure).get_renderer()
        x, y = LEFT, head + 0.2
        for token, bits in zip(self.tokens, self.bits, strict=True):
            background, letters = self._colours(bits)
            behind = {"boxstyle": "round,pad=0.25", "fc": background, "ec": "#BBBBBB", "lw": 0.5}
            word = axes.text(0, 0, token, fontsize=10.5, color=letters, bbox=behind)
            below = axes.text(0, 0, f"{bits:.1f}", fontsize=8, color=GREY)
            width = max(t.get_window_extent(renderer).width for t in (word, below)) / figure.dpi
            if x > LEFT and x + width + MARGIN > WIDTH - LEFT:
                x, y = LEFT, y + LINE
            for text, down in ((word, 0.0), (below, 0.22)):
                text.set(x=x + (width + MARGIN) / 2, y=y + down, ha="center", va="center")
            x += width + MARGIN + GAP
        height = y + LINE + 0.22
        figure.set_figheight(height)
        axes.set(xlim=(0, WIDTH), ylim=(height, 0))
        mean = sum(self.bits) / len(self.bits)
        note = f"below each word its surprisal in bits; mean {mean:.2f}, perplexity {2**mean:,.1f}"
        axes.text(LEFT, height - 0.14, note, fontsize=8.5, color=GREY, va="center")
        return saved(figure, path)

    def _colours(self, bits: float) -> tuple[str, str]:
        """Background and letters, as hexadecimal colours."""
        share = min(max(bits / self.most, 0.0), 1.0)
        background = to_hex(colormaps[COLOURS](DARKEST * share))
        return background, "#FFFFFF" if share >= WHITE_LETTERS_FROM else BLACK


def surprisal_text(
    tokens: Sequence[str],
    bits: Sequence[float],
    title: str = "The darker a word, the less the model expected it",
    most: float = 14.0,
) -> SurprisalText:
    r"""Colour a text by the surprisal of its words.

    Parameters
    ----------
    tokens : sequence of str
    bits : sequence of float
        Surprisal of each token, :math:`-\log_2 p`.
    title : str
        What the picture says; line breaks are kept.
    most : float
        Bits that have the darkest colour; the same value makes two texts comparable.

    Returns
    -------
    SurprisalText
        HTML in a notebook (``_repr_html_``), a matplotlib figure with ``figure()``.

    Raises
    ------
    ValueError
        If there are no tokens, or not as many bits as tokens, or ``most`` is not above zero.

    Examples
    --------
    >>> shown = surprisal_text(["hello", "world"], [9.2, 1.5])
    >>> type(shown.figure()).__name__
    'Figure'
    """
    if not tokens or len(tokens) != len(bits) or not most > 0:
        raise ValueError(
            "surprisal_text: expected one or more tokens, as many bits, and most above zero, got "
            f"{len(tokens)} tokens, {len(bits)} bits and most={most}"
        )
    return SurprisalText(list(tokens), [float(value) for value in bits], title, most)
