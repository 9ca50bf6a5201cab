"""The layers of a language model over a few words: what is stacked, dropped, and used twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from deepnlp.layer import Layer
from deepnlp.layers import Embedding, TimeDropout, TimeLSTM, Unrolled
from deepnlp.layers.recurrent import Recurrent, TimeRecurrent
from deepnlp.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    arrow,
    canvas,
)

STEP, ROW, HALF, HIGH = 1.7, 0.86, 0.47, 0.19  # inches: a word, a layer, half a box
MASKS = (ORANGE, SKY, GREEN, PURPLE, VERMILLION, GREY)
TIED = "#E3F0F8"


class Row(NamedTuple):
    """A layer, what stands in its boxes, and the dropout on what it reads, if any."""

    layer: Any
    name: str
    below: TimeDropout | None


def layers_in_time(model: Any, tokens: Sequence[str], *, title: str) -> Figure:
    """Draw the layers of a model, bottom to top, for each word of a text.

    A disc on an arrow is a mask of dropout; discs of one colour are one mask. Two boxes in blue
    use the same matrix.

    Parameters
    ----------
    model : RNNLM or Sequential
        Recurrent layers may be :class:`~deepnlp.layers.Unrolled`, with dropout in time.
    tokens : sequence of str
        Two or more: each is read, and the next one is to be predicted.
    title : str
        Line breaks are kept.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there are fewer than two tokens.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> model = RNNLM(9, 4, 4, layers=2, dropout=0.5)
    >>> figure = layers_in_time(model, ["you", "say", "goodbye"], title="Two layers")
    >>> [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "t = 1"]
    ['E', 'LSTM', 'LSTM', '$E^T$']
    """
    steps = len(tokens) - 1
    if steps < 1:
        raise ValueError(f"layers_in_time: expected two or more tokens, got {len(tokens)}")
    rows = _rows(model)
    is_tied = any(row.name == "$E^T$" for row in rows)
    left = 1.0 if is_tied else 0.3
    height, head = ROW * (len(rows) + 1) + 0.35, 0.35 + 0.18 * title.count("\n")
    width = max(4.6, left + STEP * steps + 0.5)
    figure, axes = canvas(width, height + head)
    axes.set(xlim=(-left - HALF, width - left - HALF), ylim=(-ROW, height + head - ROW))
    for t in range(steps):
        x = STEP * t
        axes.text(x, -0.62, tokens[t], ha="center", va="center", fontsize=10)
        axes.text(
            x, ROW * len(rows) - 0.22, f"{tokens[t + 1]}?", ha="center", va="center", fontsize=10,
            color=GREY,
        )  # fmt: skip
        for number, row in enumerate(rows):
            y = ROW * number
            arrow(axes, (x, y - (ROW - HIGH if number else 0.45)), (x, y - HIGH), BLUE, head=9)
            _box(axes, x, y, row, f"t = {t + 1}", is_tied)
            if row.below is not None:
                _disc(axes, x, y - ROW / 2, _colour(number, t, row.below.locked))
            if _is_recurrent(row.layer) and t < steps - 1:
                _to_the_right(axes, x, y, row.layer, number, t)
        arrow(axes, (x, ROW * (len(rows) - 1) + HIGH), (x, ROW * len(rows) - 0.36), BLUE, head=9)
    if is_tied:
        _link(axes, 0.0, ROW * (len(rows) - 1))
    axes.text(
        -left - HALF + 0.12, height + head - ROW - 0.12, title, va="top", fontsize=10.5,
        weight="bold",
    )  # fmt: skip
    return figure


def _rows(model: Any) -> list[Row]:
    layers = [*model.layers, *([model.output] if hasattr(model, "output") else [])]
    rows, dropout, table = [], None, None
    for layer in layers:
        if isinstance(layer, TimeDropout):
            dropout = layer
            continue
        if isinstance(layer, Embedding):
            table = layer.W
        rows.append(Row(layer, _name(layer, table), dropout))
        dropout = None
    return rows


def _name(layer: Any, table: Any) -> str:
    if isinstance(layer, Embedding):
        return "E"
    if _is_recurrent(layer):
        return type(layer.cell if isinstance(layer, Unrolled) else layer).__name__.removeprefix(
            "Time"
        )
    if table is not None and layer.W.bases == table.bases:
        return "$E^T$"
    return layer.W.name or "W"


def _is_recurrent(layer: Layer) -> bool:
    return isinstance(layer, TimeRecurrent | Unrolled)


def _colour(number: int, t: int, locked: bool) -> str:
    """Of a mask: the same at every step where it is locked."""
    return MASKS[(2 * number + (0 if locked else t)) % len(MASKS)]


def _box(axes: Axes, x: float, y: float, row: Row, gid: str, is_tied: bool) -> None:
    pad = 0.05
    box = FancyBboxPatch(
        (x - HALF + pad, y - HIGH + pad), 2 * (HALF - pad), 2 * (HIGH - pad), f"round,pad={pad}"
    )
    shared = is_tied and row.name in ("E", "$E^T$")
    box.set(facecolor=TIED if shared else "white", edgecolor=BLUE if shared else BLACK, zorder=3)
    axes.add_patch(box)
    axes.text(x, y, row.name, ha="center", va="center", fontsize=10, zorder=4, gid=gid)


def _disc(axes: Axes, x: float, y: float, colour: str) -> None:
    axes.add_patch(Circle((x, y), 0.085, facecolor=colour, edgecolor=BLACK, lw=0.8, zorder=4))


def _to_the_right(axes: Axes, x: float, y: float, layer: Any, number: int, t: int) -> None:
    """h, and c of an LSTM, on the way to the next step, with the masks on them."""
    inner = layer.cell if isinstance(layer, Unrolled) else layer
    is_lstm = isinstance(inner, TimeLSTM) or (
        isinstance(inner, Recurrent) and len(inner.start(1)) == 2
    )
    heights = (0.1, -0.1) if is_lstm else (0.0,)
    noise = [one.p for one in layer.noise] if isinstance(layer, Unrolled) else []
    for k, up in enumerate(heights):
        arrow(axes, (x + HALF, y + up), (x + STEP - HALF, y + up), BLUE, head=9)
        beside = y + up + (0.11 if up >= 0 else -0.12)
        axes.text(x + HALF + 0.12, beside, "hc"[k], ha="center", va="center", fontsize=9,
                  style="italic", color=BLUE)  # fmt: skip
        if k < len(noise) and noise[k]:
            colour = _colour(number + k, t, layer.locked)
            _disc(axes, x + STEP / 2, y + up, colour)


def _link(axes: Axes, low: float, high: float) -> None:
    """What joins the two uses of a tied matrix."""
    x = -HALF - 0.28
    axes.plot([-HALF, x, x, -HALF], [low, low, high, high], color=BLUE, lw=1.6, ls=(0, (4, 2)))
    axes.text(x - 0.1, (low + high) / 2, "one matrix, used twice", rotation=90, ha="right",
              va="center", fontsize=9.5, color=BLUE)  # fmt: skip
