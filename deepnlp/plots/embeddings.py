"""Word vectors on a plane."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.backend import HostArray
from deepnlp.plots.fonts import in_any_script
from deepnlp.plots.labels import label_words
from deepnlp.plots.style import GREY, LOOKS, headed, legend_above, saved

MOST_GROUPS = 6


class Vectors(Protocol):
    """A vector (D,) for each of some words, such as a WordVectors or a dict."""

    def __contains__(self, word: object, /) -> bool: ...
    def __getitem__(self, word: str, /) -> HostArray: ...


@in_any_script
def embeddings(
    groups: Mapping[str, Sequence[str]],
    vectors: Vectors,
    *,
    title: str,
    path: str | PathLike[str] | None = None,
) -> Figure:
    """Draw words by the two directions in which their vectors differ most.

    The vectors are brought to length 1, so that near means alike in direction; the directions
    are the first two principal components of the words that are shown.

    Parameters
    ----------
    groups : mapping of str to sequence of str
        Words by the name of their group, at most six groups; a single group needs no name.
    vectors : WordVectors, or mapping of str to array (D,)
        A vector for every word.
    title : str
    path : str or path, optional
        Where to save the figure.

    Raises
    ------
    ValueError
        If there are fewer than three words or more than six groups, a word is repeated or has no
        vector, or there are more words than the figure has room for.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> vectors = {word: rng.normal(size=5) for word in "one two red blue".split()}
    >>> figure = embeddings({"numbers": ["one", "two"], "colours": ["red", "blue"]}, vectors,
    ...                     title="Numbers and colours")
    >>> len(figure.axes[0].texts)
    4
    """
    words = [word for group in groups.values() for word in group]
    missing = [word for word in words if word not in vectors]
    if len(words) < 3 or len(groups) > MOST_GROUPS or missing:
        raise ValueError(
            f"embeddings: expected 3 or more words in at most {MOST_GROUPS} groups, each with a "
            f"vector, got {len(words)} words in {len(groups)} groups; without a vector: {missing}"
        )
    if len(set(words)) < len(words):
        repeated = next(word for n, word in enumerate(words) if word in words[:n])
        raise ValueError(f"embeddings: expected each word once, but {repeated!r} is repeated")
    X = np.array([vectors[word] for word in words], dtype=float)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(float).tiny)
    X -= X.mean(axis=0)
    U, S, _ = np.linalg.svd(X, full_matrices=False)
    places = dict(zip(words, U[:, :2] * S[:2], strict=True))
    shown = S[:2] ** 2 / np.sum(S**2)

    figure = headed(7.0, 4.6 + 0.04 * max(0, len(words) - 40), title)
    axes = figure.add_subplot()
    axes.margins(x=0.12, y=0.1)
    draw_groups(axes, groups, places)
    axes.set_xlabel(f"first principal component ({shown[0]:.0%} of the variance)", color=GREY)
    axes.set_ylabel(f"second ({shown[1]:.0%})", color=GREY)
    return saved(figure, path)


def draw_groups(
    axes: Axes, groups: Mapping[str, Sequence[str]], places: Mapping[str, HostArray]
) -> None:
    """Mark each word at its place (2,), with its name, in the colour of its group."""
    colours: dict[str, str] = {}
    for (name, group), (colour, _, marker) in zip(groups.items(), LOOKS, strict=False):
        xy = np.array([places[word] for word in group])
        axes.plot(*xy.T, marker, color=colour, ms=5.5, mec="white", mew=0.6, label=name)
        colours |= dict.fromkeys(group, colour)
    axes.spines[["top", "right"]].set_visible(False)
    if len(groups) > 1:
        legend_above(axes, len(groups))
    label_words(axes, places, colours)
