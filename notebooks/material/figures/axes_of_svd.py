"""The axes of a singular value decomposition: where they point."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from deepnlp.plots.labels import BEHIND, label_words
from deepnlp.plots.style import BLUE, GREY, SKY, VERMILLION, arrow, headed, plain


def svd_plane(
    points: Mapping[str, tuple[float, float]], columns: tuple[str, str], *, title: str
) -> Figure:
    """Draw words in the plane of two columns of a matrix, and the axes that the SVD finds.

    The axes are the right singular vectors of the rows that are shown, through the origin, since no
    mean is taken off. From each point a dotted line leads to its place on the first axis.

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
    label_words(axes, labels, dict(zip(labels, colours, strict=True)), BEHIND)
    return figure
