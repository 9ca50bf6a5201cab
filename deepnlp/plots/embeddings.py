"""Word vectors on a plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION, saved

HostArray = np.ndarray[Any, Any]
LETTER_WIDTH = 5.0  # of a letter in a label, in points
MARKS = [(BLUE, "o"), (VERMILLION, "s"), (GREEN, "D"), (ORANGE, "^"), (PURPLE, "v"), (BLACK, "P")]


def embeddings(
    groups: Mapping[str, Sequence[str]],
    vectors: Mapping[str, HostArray],
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
        Words by the name of their group, at most six groups.
    vectors : mapping of str to array (D,)
        A vector for every word.
    title : str
    path : str or path, optional
        Where to save the figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there are fewer than three words, more than six groups, or a word has no vector.

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
    if len(words) < 3 or len(groups) > len(MARKS) or missing:
        raise ValueError(
            f"embeddings: expected 3 or more words in at most {len(MARKS)} groups, each with a "
            f"vector, got {len(words)} words in {len(groups)} groups; without a vector: {missing}"
        )
    X = np.array([vectors[word] for word in words], dtype=float)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X -= X.mean(axis=0)
    U, S, _ = np.linalg.svd(X, full_matrices=False)
    places = dict(zip(words, U[:, :2] * S[:2], strict=True))
    shown = S[:2] ** 2 / np.sum(S**2)

    figure = Figure(figsize=(7.0, 4.6), dpi=150)
    axes = figure.add_axes((0.12, 0.11, 0.85, 0.74))
    colours: dict[str, str] = {}
    for (name, group), (colour, marker) in zip(groups.items(), MARKS, strict=False):
        xy = np.array([places[word] for word in group])
        axes.plot(*xy.T, marker, color=colour, ms=5.5, mec="white", mew=0.6, label=name)
        colours |= dict.fromkeys(group, colour)
    axes.margins(x=0.12, y=0.1)
    axes.autoscale_view()
    label_words(axes, places, colours)
    axes.set_xlabel(f"first principal component ({shown[0]:.0%} of the variance)", color=GREY)
    axes.set_ylabel(f"second ({shown[1]:.0%})", color=GREY)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        loc="upper left", bbox_to_anchor=(0.112, 0.925), ncols=len(groups), frameon=False,
        fontsize=9.5, borderaxespad=0, handletextpad=0.2, columnspacing=1.4,
    )  # fmt: skip
    figure.text(0.02, 0.98, title, fontsize=10.5, weight="bold", va="top")
    return saved(figure, path)


def label_words(axes: Axes, places: Mapping[str, HostArray], colours: Mapping[str, str]) -> None:
    """Write each word beside its mark, on the side where it covers least of the others."""
    points = axes.transData.transform(np.array(list(places.values()))) * 72 / axes.figure.dpi
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]  # the marks, in points
    for (word, place), (x, y) in zip(places.items(), points, strict=True):
        width = LETTER_WIDTH * len(word)
        sides = [(5, 3), (5, -10), (-5 - width, 3), (-5 - width, -10), (-width / 2, 7),
                 (-width / 2, -14)]  # fmt: skip
        boxes = [(x + a, y + b, x + a + width, y + b + 9) for a, b in sides]
        best = int(np.argmin([sum(_overlap(box, other) for other in taken) for box in boxes]))
        taken.append(boxes[best])
        axes.annotate(
            word, (place[0], place[1]), xytext=sides[best], textcoords="offset points", fontsize=9,
            color=colours[word],
        )  # fmt: skip


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Area that two boxes (left, low, right, high) share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)
