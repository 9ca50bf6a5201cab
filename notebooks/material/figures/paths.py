"""The way of word vectors through the plane while they are trained."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from deepnlp.backend import HostArray
from deepnlp.plots.embeddings import MOST_GROUPS, draw_groups
from deepnlp.plots.style import GREY, LOOKS, headed


def vector_paths(
    groups: Mapping[str, Sequence[str]], paths: Mapping[str, HostArray], *, title: str
) -> Figure:
    """Draw where vectors of two dimensions went in training, a line for each word.

    A line begins pale, at the first vector, and ends with a mark
    and the word, at the last.

    Parameters
    ----------
    groups : mapping of str to sequence of str
        Words by the name of their group, at most six groups.
    paths : mapping of str to array (S, 2)
        The vector of each word at S moments.
    title : str
        What the figure says; line breaks are kept.

    Raises
    ------
    ValueError
        If there are no groups or more than six, or a word has no path of shape (S, 2).

    Examples
    --------
    >>> steps = np.linspace(0, 1, 5)[:, None]
    >>> figure = vector_paths({"a": ["up"], "b": ["right"]},
    ...                       {"up": steps * [0, 1], "right": steps * [1, 0]}, title="Apart")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['up', 'right']
    """
    words = [word for group in groups.values() for word in group]
    wrong = [word for word in words if np.shape(paths.get(word, ()))[1:] != (2,)]
    if not 0 < len(groups) <= MOST_GROUPS or wrong:
        raise ValueError(
            f"vector_paths: expected 1 to {MOST_GROUPS} groups of words, each with a path (S, 2), "
            f"got {len(groups)} groups; without such a path: {wrong}"
        )
    figure = headed(7.0, 5.2, title)
    axes = figure.add_subplot()
    for group, (colour, *_) in zip(groups.values(), LOOKS, strict=False):
        for word in group:
            xy = np.asarray(paths[word], dtype=float)
            shades = [to_rgba(colour, alpha) for alpha in np.linspace(0.12, 0.75, len(xy) - 1)]
            segments = np.stack([xy[:-1], xy[1:]], axis=1)
            axes.add_collection(LineCollection(list(segments), colors=shades, linewidths=1.2))
    axes.axhline(0, color="#DDDDDD", lw=0.8, zorder=0)
    axes.axvline(0, color="#DDDDDD", lw=0.8, zorder=0)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.12)
    axes.set_xlabel("first number of the vector", color=GREY)
    axes.set_ylabel("second", color=GREY)
    draw_groups(axes, groups, {word: np.asarray(paths[word])[-1] for word in words})
    return figure
