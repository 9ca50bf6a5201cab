"""Decision regions: what a classifier says of every point of a plane."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from deepnlp.backend import asarray, asnumpy
from deepnlp.plots.style import BLACK, LOOKS, headed

COLOURS, _, MARKERS = zip(*LOOKS[:6], strict=True)
POINTS_A_SIDE = 200  # of the grid of points that are classified
PALE = 0.28  # how much of its colour a region shows


def decision_regions(
    scores: Callable[[Any], Any], x: Any, t: Any, title: str | None = None
) -> Figure:
    """Draw which class a model gives to every point of a plane, and the data over it.

    Each class has a colour and a marker; a point that is classified wrongly has a black rim.

    Parameters
    ----------
    scores : callable
        Scores (n, C) from points (n, 2), such as ``model.forward`` inside ``no_backward``; the
        largest decides.
    x : array (n, 2)
        Points of the data.
    t : array of int (n,)
        Their classes, from 0, at most six.
    title : str, optional
        By default how many points are on the wrong side.

    Raises
    ------
    ValueError
        If the points are not in a plane, or there are more than six classes.

    Examples
    --------
    >>> x = np.array([[-1.0, 0.0], [1.0, 0.0], [0.5, 1.0]])
    >>> figure = decision_regions(lambda x: x, x, np.array([0, 0, 1]))
    >>> figure.axes[0].get_title(loc="left")
    '1 of 3 points lies in the region of another class'
    """
    points, classes = np.asarray(asnumpy(x)), np.asarray(asnumpy(t))
    most = classes.max(initial=0)
    if points.shape != (classes.size, 2) or classes.ndim != 1 or most >= len(COLOURS):
        raise ValueError(
            f"decision_regions: expected points (n, 2) of at most {len(COLOURS)} classes (n,), got "
            f"{points.shape}, {classes.shape} and {most + 1} classes"
        )
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.08 * float(np.max(high - low))
    across, up = (np.linspace(low[k] - margin, high[k] + margin, POINTS_A_SIDE) for k in range(2))
    grid = np.stack(np.meshgrid(across, up), axis=-1)  # (rows, columns, 2)
    regions = _classes(scores, grid.reshape(-1, 2).astype(points.dtype))
    found = _classes(scores, points)

    figure = headed(5.8, 4.4)
    axes = figure.add_subplot()
    ground = regions.reshape(POINTS_A_SIDE, POINTS_A_SIDE)
    pale: Any = {"cmap": ListedColormap(COLOURS), "vmin": 0, "vmax": len(COLOURS), "alpha": PALE}
    axes.pcolormesh(across, up, ground, lw=0, rasterized=True, **pale)
    for k in range(most + 1):
        (x1, x2), wrong = points[classes == k].T, points[(classes == k) & (found != k)].T
        look: Any = {"marker": MARKERS[k], "color": COLOURS[k]}
        axes.scatter(x1, x2, s=16, edgecolors="white", lw=0.4, label=f"class {k}", **look)
        axes.scatter(wrong[0], wrong[1], s=30, edgecolors=BLACK, lw=1.1, zorder=4, **look)
    axes.locator_params(nbins=5)
    axes.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9)
    message = _message(int(np.sum(found != classes)), len(points))
    axes.set_title(title or message, loc="left", fontsize=10.5, weight="bold")
    return figure


def _classes(scores: Callable[[Any], Any], points: np.ndarray) -> np.ndarray:
    return np.asarray(asnumpy(scores(asarray(points)))).argmax(axis=1)


def _message(wrong: int, points: int) -> str:
    if not wrong:
        return f"All {points} points lie in the region of their class"
    lie = "lies" if wrong == 1 else "lie"
    return f"{wrong} of {points} points {lie} in the region of another class"
