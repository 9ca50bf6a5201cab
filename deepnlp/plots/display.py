"""Showing figures in a notebook, without pyplot and without a magic command."""

import sys
from io import BytesIO
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from deepnlp.plots.fonts import without_raw_warnings

PIXELS_PER_INCH = 160  # of the picture; it is shown at 96 an inch, sharp on dense screens too


def show_figures_in_notebooks() -> bool:
    """Have a Figure that is the value of a notebook cell shown as a picture.

    Outside of IPython, nothing happens.

    Returns
    -------
    bool
        Whether there is a notebook to show figures in.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return False
    shell.display_formatter.formatters["image/png"].for_type(Figure, _as_png)
    return True


def _as_png(figure: Figure) -> tuple[bytes, dict[str, Any]]:
    """Return the picture of a figure, and how large to show it."""
    buffer = BytesIO()
    with without_raw_warnings():
        figure.savefig(buffer, format="png", dpi=PIXELS_PER_INCH)
    width, height = figure.get_size_inches()
    sizes = {"width": round(96 * width), "height": round(96 * height)}
    return buffer.getvalue(), {**sizes, "alt": described(figure)}


def as_svg(figure: Figure) -> str:
    """A figure as the text of an SVG, whose letters are outlines: it needs no fonts.

    >>> as_svg(Figure()).lstrip()[:5]
    '<?xml'
    """
    buffer = BytesIO()
    with without_raw_warnings(), rc_context({"svg.hashsalt": "deepnlp"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return buffer.getvalue().decode("utf-8")


def described(figure: Figure) -> str:
    """Make a figure in words, for those who do not see it: its titles, and what is over what.

    >>> figure = Figure()
    >>> axes = figure.subplots()
    >>> _ = axes.set(title="It falls", xlabel="epoch", ylabel="perplexity")
    >>> described(figure)
    'Figure: It falls: perplexity over epoch.'
    """
    parts = ["Figure", figure.get_suptitle()]
    for axes in figure.axes:
        titles = (axes.get_title(loc) for loc in ("left", "center", "right"))
        labels = " over ".join(filter(None, (axes.get_ylabel(), axes.get_xlabel())))
        parts += [*titles, labels]
    return " ".join(f"{': '.join(dict.fromkeys(filter(None, parts)))}.".split())
