"""The axes of a singular value decomposition: where they point, and which words lie on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import HostArray
from deepnlp.lessons.figures.drawing import word
from deepnlp.plots.labels import label_words
from deepnlp.plots.style import BLUE, GREY, SKY, VERMILLION, arrow, headed, plain, sheet


def svd_plane(
    points: Mapping[str, tuple[float, float]], columns: tuple[str, str], *, title: str
) -> Figure:
    """Draw words in the plane of two columns of a matrix, and the axes that the SVD finds.

    The axes are the right singular vectors of the rows that are shown. From each point a dotted
    line leads to its coordinate on the first axis.

    Parameters
    ----------
    points : mapping of str to (float, float)
        The two numbers of each word; words at one place share a mark.
    columns : (str, str)
        What the two numbers are.
    title : str

    Raises
    ------
    ValueError
        If there are fewer than two places.

    Examples
    --------
    >>> figure = svd_plane({"tea": (2.0, 1.0), "coffee": (1.0, 2.0)}, ("hot", "cup"), title="Two")
    >>> figure.axes[0].get_xlabel()
    'hot'
    """
    places: dict[tuple[float, float], list[str]] = {}
    for name, (x, y) in points.items():
        places.setdefault((round(float(x), 3), round(float(y), 3)), []).append(name)
    if len(places) < 2:
        raise ValueError(f"svd_plane: expected two or more places, got {len(places)}")
    M = np.array(list(points.values()), dtype=float)
    _, S, Vt = np.linalg.svd(M, full_matrices=False)
    Vt = Vt * np.where(Vt[np.arange(2), np.abs(Vt).argmax(axis=1)] < 0, -1, 1)[:, None]

    top = 1.22 * float(np.abs(M).max())
    figure = headed(5.6, 5.2, title)
    axes = figure.add_subplot()
    axes.set(xlim=(-0.25 * top, top), ylim=(-0.3 * top, top), aspect="equal")
    plain(axes)
    labels: dict[str, tuple[float, float]] = {}
    for k, colour in enumerate((VERMILLION, SKY)):
        x, y = 0.97 * top * S[k] / S[0] * Vt[k]
        arrow(axes, (0, 0), (x, y), colour, width=2.2, head=14)
        labels[f"axis {k + 1}: singular value {S[k]:.1f}"] = x, y
    for (x, y), words in places.items():
        foot = (Vt[0] @ (x, y)) * Vt[0]
        axes.plot([x, foot[0]], [y, foot[1]], color=GREY, lw=0.9, ls=":")
        axes.plot(x, y, "o", color=BLUE, ms=6.5, mec="white", mew=0.7, zorder=3)
        labels[", ".join(words)] = x, y
    axes.set(xlabel=columns[0], ylabel=columns[1])
    colours = [VERMILLION, SKY] + [BLUE] * len(places)
    label_words(axes, labels, dict(zip(labels, colours, strict=True)))
    return figure


def axis_words(
    words: Sequence[str],
    coordinates: HostArray,
    axes_shown: Sequence[int],
    *,
    title: str,
    most: int = 6,
) -> Figure:
    """Draw for each of a few axes the words that lie furthest out on both sides.

    Parameters
    ----------
    words : sequence of str
        V words.
    coordinates : array (V, D)
        A column for each axis.
    axes_shown : sequence of int
        Which columns, from 0.
    title : str
    most : int
        Words on each side.

    Raises
    ------
    ValueError
        If there is not one row for each word, or an axis is not there.

    Examples
    --------
    >>> figure = axis_words(["a", "b"], np.array([[1.0], [-1.0]]), [0], title="One axis", most=1)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['axis 1', 'b', 'a']
    """
    W = np.asarray(coordinates, dtype=float)
    if W.ndim != 2 or len(W) != len(words) or not all(0 <= k < W.shape[1] for k in axes_shown):
        raise ValueError(
            f"axis_words: expected coordinates of {len(words)} words and the axes "
            f"{list(axes_shown)}, got shape {W.shape}"
        )
    figure, axes = sheet(6.6, 0.5 + 0.72 * len(axes_shown), title)
    for line, k in enumerate(axes_shown, start=1):
        y = 0.47 + 0.72 * (len(axes_shown) - line)
        order = np.argsort(W[:, k], kind="stable")
        low = [words[i] for i in order[:most] if W[i, k] < 0]
        high = [words[i] for i in order[::-1][:most] if W[i, k] > 0]
        word(axes, 3.3, y + 0.1, f"axis {k + 1}", GREY, va="bottom", fontsize=8.5)
        for side, x, align, colour in ((low, 0.1, "left", BLUE), (high, 6.5, "right", VERMILLION)):
            arrow(axes, (3.3, y), (x, y), colour, width=1.6)
            word(axes, x, y - 0.09, _in_lines(side, align), colour, ha=align, va="top", fontsize=9)
    return figure


def _in_lines(words: Sequence[str], align: str) -> str:
    """The words in two lines, the outermost nearest to the margin."""
    half = (len(words) + 1) // 2
    lines = [words[:half], words[half:]]
    if align == "right":
        lines = [line[::-1] for line in lines]
    return "\n".join("  ".join(line) for line in lines if line)
