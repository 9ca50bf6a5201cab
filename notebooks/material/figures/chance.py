"""How often words occur together, against how often they would by chance."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.backend import HostArray
from deepnlp.plots.curves import log_ticks
from deepnlp.plots.labels import BEHIND, label_words
from deepnlp.plots.style import BLUE, GREY, VERMILLION, headed, plain
from material.figures.drawing import word


def against_chance(
    words: Sequence[str],
    observed: HostArray,
    expected: HostArray,
    *,
    label: Sequence[str],
    title: str,
) -> Figure:
    r"""Draw the contexts of one word: their counts over the counts expected by chance.

    The height of a point above the diagonal is its PMI,
    :math:`\log \mathrm{observed} - \log \mathrm{expected}`.

    Parameters
    ----------
    words : sequence of str
        The contexts, M words.
    observed, expected : array (M,)
        Counts; contexts that never occurred are left out.
    label : sequence of str
        The contexts to name.
    title : str

    Raises
    ------
    ValueError
        If there is not one number for each word, or nothing was observed.

    Examples
    --------
    >>> figure = against_chance(["of", "cat"], [90, 3], [80, 0.1], label=["cat"], title="Of a dog")
    >>> figure.axes[0].get_xlabel()
    'times expected by chance'
    """
    observed, expected = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    if not len(words) == len(observed) == len(expected) or not observed.any():
        raise ValueError(
            f"against_chance: expected two numbers for each of {len(words)} words, some of them "
            f"above zero, got {len(observed)} and {len(expected)}"
        )
    there = observed > 0
    x, y = expected[there], observed[there]
    above = y > x
    figure = headed(6.2, 4.9, title)
    axes = figure.add_subplot()
    for side, colour in ((above, BLUE), (~above, "#9A9A9A")):
        axes.plot(x[side], y[side], "o", color=colour, ms=3.4, mec="white", mew=0.3)
    axes.set(xscale="log", yscale="log", xlim=(x.min() / 1.6, x.max() * 5))
    axes.set_ylim(0.6, y.max() * 5)
    log_ticks(axes.xaxis, 0.001, 100)
    log_ticks(axes.yaxis, 0.001, 100)
    _diagonals(axes)
    plain(axes)
    places = dict(zip(np.asarray(words)[there].tolist(), zip(x, y)))
    named = {word: np.array(places[word]) for word in label if word in places}
    for place in named.values():
        axes.plot(*place, "o", color=VERMILLION, ms=4.2)
    if named:
        label_words(axes, named, dict.fromkeys(named, VERMILLION), BEHIND)
    axes.set(xlabel="times expected by chance", ylabel="times observed")
    return figure


def _diagonals(axes: Axes) -> None:
    """Lines of equal PMI: 0, named below, and multiples of log 10, named above."""
    low, high = axes.get_xlim()
    top = axes.get_ylim()[1]
    behind: Any = {"fc": "white", "ec": "none", "pad": 1.5}
    for factor in (1, 10, 100, 1000):
        dashes: Any = "-" if factor == 1 else (0, (4, 3))
        axes.axline((1, factor), (2, 2 * factor), color=GREY, lw=0.9, ls=dashes, zorder=1)
        x = min(high, top / factor) / 1.3
        if low < x:
            name = f"PMI {np.log(factor):.2g}"
            word(axes, x, x * factor, name, GREY, fontsize=8.5, bbox=behind)
