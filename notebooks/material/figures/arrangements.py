"""Three decoders with attention, side by side: what waits for what."""

from typing import Any

from matplotlib.figure import Figure

from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION, arrow, sheet
from material.figures.drawing import disc, word

PANEL, STEP, ROW, RADIUS = 2.36, 1.12, 0.82, 0.2  # inches
ROWS = {"x": 0.3, "h": 0.3 + ROW, "c": 0.3 + 2 * ROW, "y": 0.3 + 3 * ROW}

# Arrows of one step, (from, to) with the number of the step; those in red pass an attention on to
# a later step.
COMMON = [("x0", "h0"), ("x1", "h1"), ("h0", "h1"), ("c0", "y0"), ("c1", "y1")]
LUONG = [*COMMON, ("h0", "c0"), ("h1", "c1")]
PANELS: dict[str, tuple[Any, Any]] = {
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
        circles: dict[str, Any] = {}
        for row, y in ROWS.items():
            for step, index in enumerate(("t-1", "t")):
                at = left + 0.62 + STEP * step, y
                face = "#E3F0F8" if row == "c" else "white"
                text = f"${row}_{{{index}}}$"
                circles[f"{row}{step}"] = disc(axes, *at, RADIUS, text, face)
        before = left + 0.06, ROWS["h"]
        arrow(axes, before, (left + 0.62 - RADIUS, ROWS["h"]), BLACK, head=8, width=1.1)
        bent = [("h0", "y0"), ("h1", "y1")]  # the state enters the output beside the context
        for pairs, colour, width, bend in (
            (plain, BLACK, 1.1, 0),
            (waiting, VERMILLION, 2.0, 0),
            (bent, GREY, 1.1, -0.45),
        ):
            for one, other in ((circles[a], circles[b]) for a, b in pairs):
                look: Any = {"patchA": one, "patchB": other, "head": 8, "width": width}
                way = f"arc3,rad={bend}"
                arrow(axes, one.center, other.center, colour, connectionstyle=way, **look)
    return figure
