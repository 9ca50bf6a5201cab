"""Three decoders with attention, side by side: what waits for what."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.lessons.figures.drawing import disc, word
from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION, arrow, sheet

PANEL, STEP, ROW, RADIUS = 2.36, 1.12, 0.82, 0.2  # inches
ROWS = {"x": 0.3, "h": 0.3 + ROW, "c": 0.3 + 2 * ROW, "y": 0.3 + 3 * ROW}

# Arrows of one step, (from, to) with the number of the step; those in red pass an attention on to
# a later step.
COMMON = [("x0", "h0"), ("x1", "h1"), ("h0", "h1"), ("c0", "y0"), ("c1", "y1")]
LUONG = [*COMMON, ("h0", "c0"), ("h1", "c1")]
PANELS: dict[str, tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {
    "Luong": (LUONG, []),
    "with input feeding": (LUONG, [("y0", "h1")]),
    "Bahdanau": ([*COMMON, ("c0", "h0")], [("h0", "c1"), ("c1", "h1")]),
}


def arrangements(*, title: str) -> Figure:
    """Draw two steps of Luong's decoder, without and with input feeding, and of Bahdanau's.

    Arrows in red lead from one step's attention to the next step.

    Parameters
    ----------
    title : str
        Line breaks are kept.

    Examples
    --------
    >>> figure = arrangements(title="What waits for what")
    >>> [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "name"]
    ['Luong', 'with input feeding', 'Bahdanau']
    """
    head = 0.72 + 0.18 * title.count("\n")
    figure, axes = sheet(3 * PANEL + 0.1, ROWS["y"] + 0.3 + head, title)
    for number, (name, (plain, waiting)) in enumerate(PANELS.items()):
        left = 0.1 + PANEL * number
        at = left + 0.08, ROWS["y"] + 0.48
        word(axes, *at, name, BLUE, weight="bold", ha="left", gid="name")
        _draw(axes, left, plain, waiting)
    return figure


def _draw(
    axes: Axes, left: float, plain: list[tuple[str, str]], waiting: list[tuple[str, str]]
) -> None:
    """One panel: the circles of two steps, and the arrows between them."""
    places = {
        f"{row}{step}": (left + 0.62 + STEP * step, y) for row, y in ROWS.items() for step in (0, 1)
    }
    steps = ("t-1", "t")
    circles = {}
    for node, (x, y) in places.items():
        text = f"${node[0]}_{{{steps[int(node[1])]}}}$"
        circles[node] = disc(axes, x, y, RADIUS, text, "#E3F0F8" if node[0] == "c" else "white")
    x, y = places["h0"]
    arrow(axes, (left + 0.06, y), (x - RADIUS, y), BLACK, head=8, width=1.1)

    def join(one: str, other: str, colour: str, **look: Any) -> None:
        patches: Any = {"patchA": circles[one], "patchB": circles[other]}
        arrow(axes, places[one], places[other], colour, head=8, **patches, **look)

    for one, other in plain:
        join(one, other, BLACK, width=1.1)
    for one, other in waiting:
        join(one, other, VERMILLION, width=2.0)
    for step in "01":  # the state enters the output beside the context
        join(f"h{step}", f"y{step}", GREY, width=1.1, connectionstyle="arc3,rad=-0.45")
