"""The layers of a language model over a few words: what is stacked, dropped, and used twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.layers import Embedding, TimeDropout, Unrolled
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.lessons.figures.drawing import box, disc, sheet, word
from deepnlp.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, arrow

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
    height = ROW * (len(rows) + 1) + 0.7 + 0.18 * title.count("\n")
    width = max(4.6, left + STEP * steps + 0.5)
    figure, axes = sheet(width, height, title, (-left - HALF, -ROW))
    top = ROW * (len(rows) - 1)
    for t in range(steps):
        x = STEP * t
        word(axes, x, -0.62, tokens[t])
        word(axes, x, top + ROW - 0.22, f"{tokens[t + 1]}?", GREY)
        for number, row in enumerate(rows):
            y = ROW * number
            arrow(axes, (x, y - (ROW - HIGH if number else 0.45)), (x, y - HIGH), BLUE, head=9)
            shared = is_tied and row.name in ("E", "$E^T$")
            look = {"facecolor": TIED, "edgecolor": BLUE} if shared else {}
            box(axes, x, y, HALF, HIGH, **look)
            word(axes, x, y, row.name, zorder=4, gid=f"t = {t + 1}")
            if row.below is not None:
                _mask(axes, x, y - ROW / 2, _colour(number, t, row.below.locked))
            if _is_recurrent(row.layer) and t < steps - 1:
                _to_the_right(axes, x, y, row.layer, number, t)
        arrow(axes, (x, top + HIGH), (x, top + ROW - 0.36), BLUE, head=9)
    if is_tied:
        _link(axes, 0.0, top)
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
        inner = layer.cell if isinstance(layer, Unrolled) else layer
        return type(inner).__name__.removeprefix("Time")
    if table is not None and layer.W.bases == table.bases:
        return "$E^T$"
    return layer.W.name or "W"


def _is_recurrent(layer: Any) -> bool:
    return isinstance(layer, TimeRecurrent | Unrolled)


def _colour(number: int, t: int, locked: bool) -> str:
    """Of a mask: the same at every step where it is locked."""
    return MASKS[(2 * number + (0 if locked else t)) % len(MASKS)]


def _mask(axes: Axes, x: float, y: float, colour: str) -> None:
    disc(axes, x, y, 0.085, "", colour, lw=0.8, zorder=4)


def _to_the_right(axes: Axes, x: float, y: float, layer: Any, number: int, t: int) -> None:
    """h, and c of an LSTM, on the way to the next step, with the masks on them."""
    is_unrolled = isinstance(layer, Unrolled)
    states = (layer.cell if is_unrolled else layer).start(1)
    noise = [one.p for one in layer.noise] if is_unrolled else []
    for k, up in enumerate((0.1, -0.1) if len(states) == 2 else (0.0,)):
        arrow(axes, (x + HALF, y + up), (x + STEP - HALF, y + up), BLUE, head=9)
        beside = y + up + (0.11 if up >= 0 else -0.12)
        word(axes, x + HALF + 0.12, beside, "hc"[k], BLUE, fontsize=9, style="italic")
        if k < len(noise) and noise[k]:
            _mask(axes, x + STEP / 2, y + up, _colour(number + k, t, layer.locked))


def _link(axes: Axes, low: float, high: float) -> None:
    """What joins the two uses of a tied matrix."""
    x = -HALF - 0.28
    axes.plot([-HALF, x, x, -HALF], [low, low, high, high], color=BLUE, lw=1.6, ls=(0, (4, 2)))
    middle, text = (low + high) / 2, "one matrix, used twice"
    word(axes, x - 0.1, middle, text, BLUE, rotation=90, ha="right", fontsize=9.5)
