"""Labels beside points, none over another label or a point."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from matplotlib.text import Text

from deepnlp.backend import HostArray
from deepnlp.plots.style import GREY

# In points of print.
SIZE = 9.0  # of the letters
MARK = 4.0  # half the size of a mark, with some air
STEP = 3.0  # between the distances that are tried
NEAR = 3.0  # a label farther away from its mark is joined to it by a line
DISTANCES = 60
LINE = 3.0  # between the boxes that stand for a line
BEHIND = {"fc": "white", "ec": "none", "pad": 0.3, "alpha": 0.85}  # of a label over a line
TRIED = 64  # free places, the nearest, of which one is taken
# To the right first, then left, above, below, and between.
DIRECTIONS = [k * math.pi / 8 for k in (0, 8, 4, 12, 2, 14, 6, 10, 1, 15, 7, 9, 3, 13, 5, 11)]


def label_words(
    axes: Axes, places: Mapping[str, Any], colours: Mapping[str, str], behind: Any = None
) -> None:
    """Write each word beside its place (2,) in the data, with a box behind it if one is given."""
    figure: Any = axes.figure
    figure.draw_without_rendering()  # limits and the place of the axes are final then
    renderer: Any = FigureCanvasAgg(figure).get_renderer()
    unit = 72 / figure.dpi  # of a pixel, in points
    ruler = Text(fontsize=SIZE, parse_math=False, figure=figure)
    sizes = []
    for word in places:
        ruler.set_text(word)
        sizes.append(ruler.get_window_extent(renderer).size * unit)
    points = axes.transData.transform(np.array(list(places.values()))) * unit
    left, low, right, high = axes.get_window_extent().extents * unit
    corners, joined = place_labels(points, np.array(sizes), (left, low, right, high))
    for word, point, corner, size, line in zip(places, points, corners, sizes, joined, strict=True):
        offset = corner - point
        axes.annotate(
            word, tuple(places[word]), xytext=tuple(offset), textcoords="offset points",
            fontsize=SIZE, color=colours[word], va="bottom", parse_math=False,
            bbox=behind,
        )  # fmt: skip
        if line:
            nearest = point + np.clip(0, offset, offset + size)
            ends = axes.transData.inverted().transform([point / unit, nearest / unit])
            axes.add_artist(Line2D(*ends.T, color=GREY, linewidth=0.6, zorder=1))


def place_labels(
    points: HostArray, sizes: HostArray, bounds: tuple[float, float, float, float]
) -> tuple[HostArray, HostArray]:
    """Return places for labels beside points, as near as there is room.

    One label after the other, those of crowded points first, takes the nearest place that is
    within bounds and free of marks, lines and earlier labels. Where the label is not near its own
    mark, or nearer to another, a line joins the two. Of the nearest
    places the first is taken whose line crosses nothing.

    Parameters
    ----------
    points : array (n, 2)
        In points of print.
    sizes : array (n, 2)
        Widths and heights of the labels.
    bounds : (left, low, right, high)

    Returns
    -------
    corners : array (n, 2)
        The lower left corner of each label.
    joined : array (n,)
        bool, which labels need a line.

    Raises
    ------
    ValueError
        If there is no room for all labels.

    Examples
    --------
    >>> corners, joined = place_labels(np.array([[20.0, 20], [32, 20]]), np.full((2, 2), 10.0),
    ...                                (0, 0, 100, 100))
    >>> corners.tolist(), joined.tolist()
    ([[6.0, 15.0], [36.0, 15.0]], [False, False])
    """
    marks = np.concatenate([points - MARK, points + MARK], axis=1)
    corners, joined = np.empty((len(points), 2)), np.zeros(len(points), dtype=bool)
    labels, lines = np.empty((0, 4)), np.empty((0, 4))
    near = np.linalg.norm(points[:, None] - points, axis=2) < 5 * sizes[:, 1:]
    for n in np.argsort(-near.sum(axis=1), kind="stable"):
        others = np.delete(marks, n, axis=0)
        possible = points[n] + _offsets(sizes[n])
        boxes = np.concatenate([possible, possible + sizes[n]], axis=1)
        inside = (boxes[:, :2] >= bounds[:2]).all(1) & (boxes[:, 2:] <= bounds[2:]).all(1)
        taken = np.concatenate([marks, labels, lines])
        free = boxes[inside & ~_overlap(boxes, taken).any(axis=1)][:TRIED]
        if not len(free):
            raise ValueError(
                f"there is no room for {len(points)} labels: show fewer, or on a larger figure"
            )
        crossing = (
            _crosses(box, points[n], others, np.concatenate([labels, lines])) for box in free
        )
        best = free[next((k for k, crosses in enumerate(crossing) if not crosses), 0)]
        corners[n], joined[n] = best[:2], _needs_line(best, points[n], others)
        labels = np.concatenate([labels, [best]])
        if joined[n]:
            lines = np.concatenate([lines, _line(points[n], best)])
    return corners, joined


def _offsets(size: HostArray) -> HostArray:
    """Return corners of a label around the origin, the nearest first, (candidates, 2)."""
    reach = MARK + STEP * np.repeat(np.arange(DISTANCES), len(DIRECTIONS))[:, None]
    angles = np.tile(DIRECTIONS, DISTANCES)
    towards = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # the side that faces the point stands at the reach, the middle of the label at right angles
    return np.round(reach * towards + size * (towards - 1) / 2, 9)


def _needs_line(box: HostArray, point: HostArray, others: HostArray) -> bool:
    """Return whether a label needs a line to the mark that it names."""
    marks = np.concatenate([[[*(point - MARK), *(point + MARK)]], others])
    apart = np.maximum(marks[:, :2] - box[2:], box[:2] - marks[:, 2:]).clip(0)
    gaps = np.hypot(*apart.T)
    return bool(gaps[0] > gaps[1:].min(initial=NEAR))


def _crosses(box: HostArray, point: HostArray, others: HostArray, drawn: HostArray) -> bool:
    """Return whether the line from a label to its mark would cross another mark."""
    line = _line(point, box)
    across = _overlap(line, np.concatenate([others, drawn])).any()
    return bool(across) and _needs_line(box, point, others)


def _line(point: HostArray, box: HostArray) -> HostArray:
    """Return a line from a point to the nearest place of a box, as small boxes along it, (k, 4)."""
    end = np.clip(point, box[:2], box[2:])
    parts = 2 + int(math.dist(point, end) / LINE)
    along = point + np.linspace(0, 1, parts)[:, None] * (end - point)
    return np.concatenate([along - LINE / 2, along + LINE / 2], axis=1)


def _overlap(boxes: HostArray, others: HostArray) -> HostArray:
    """Return which boxes (n, 4) overlap which others (m, 4), (n, m)."""
    low = np.maximum(boxes[:, None, :2], others[:, :2])
    high = np.minimum(boxes[:, None, 2:], others[:, 2:])
    return np.asarray((low < high).all(axis=2))
