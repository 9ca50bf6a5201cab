"""The layers of a language model over a few words: what is stacked, dropped, and used twice."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from deepnlp.layers import Embedding, TimeDropout, Unrolled
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.plots.style import BLUE, GREY, arrow, sheet
from material.figures.drawing import box, disc, word

STEP, ROW, HALF, HIGH = 1.7, 0.86, 0.47, 0.19  # inches: a word, a layer, half a box
MASKS = [to_hex(colormaps["tab20"](k)) for k in range(20)]  # of two layers and four steps
TIED = "$E^T$"  # the output of a model whose output is its embedding
RECURRENT = (TimeRecurrent, Unrolled)


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
    is_tied = any(name == TIED for _, name, _ in rows)
    left, top = 1.0 if is_tied else 0.3, ROW * (len(rows) - 1)
    size = max(4.6, left + STEP * steps + 0.5), top + 2 * ROW + 0.7 + 0.18 * title.count("\n")
    figure, axes = sheet(*size, title, (-left - HALF, -ROW))
    for t, (token, target) in enumerate(pairwise(tokens)):
        x = STEP * t
        word(axes, x, -0.62, token)
        word(axes, x, top + ROW - 0.22, f"{target}?", GREY)
        for number, (layer, name, below) in enumerate(rows):
            y = ROW * number
            arrow(axes, (x, y - (ROW - HIGH if number else 0.45)), (x, y - HIGH), BLUE, head=9)
            shared = {"facecolor": "#E3F0F8", "edgecolor": BLUE}
            box(axes, x, y, HALF, HIGH, **shared if is_tied and name in ("E", TIED) else {})
            word(axes, x, y, name, zorder=4, gid=f"t = {t + 1}")
            if below is not None:
                _mask(axes, x, y - ROW / 2, 2 * number, t, below.locked)
            if isinstance(layer, RECURRENT) and t < steps - 1:
                _to_the_right(axes, x, y, layer, number, t)
        arrow(axes, (x, top + HIGH), (x, top + ROW - 0.36), BLUE, head=9)
    if is_tied:  # what joins the two uses of the matrix
        x = -HALF - 0.28
        axes.plot([-HALF, x, x, -HALF], [0, 0, top, top], color=BLUE, lw=1.6, ls=(0, (4, 2)))
        look: dict[str, Any] = {"rotation": 90, "ha": "right", "fontsize": 9.5}
        word(axes, x - 0.1, top / 2, "one matrix, used twice", BLUE, **look)
    return figure


def _rows(model: Any) -> list[tuple[Any, str, TimeDropout | None]]:
    """Each layer, what stands in its boxes, and the dropout on what it reads, if any."""
    rows, dropout, table = [], None, None
    for layer in [*model.layers, *([model.output] if hasattr(model, "output") else [])]:
        if isinstance(layer, TimeDropout):
            dropout = layer
            continue
        if isinstance(layer, Embedding):
            table, name = layer.W, "E"
        elif isinstance(layer, RECURRENT):
            name = type(getattr(layer, "cell", layer)).__name__.removeprefix("Time")
        elif table is not None and layer.W.bases == table.bases:
            name = TIED
        else:
            name = layer.W.name or "W"
        rows.append((layer, name, dropout))
        dropout = None
    return rows


def _mask(axes: Axes, x: float, y: float, number: int, t: int, locked: bool) -> None:
    """A mask of dropout, of the same colour at every step where it is locked."""
    colour = MASKS[(4 * number + (0 if locked else t)) % len(MASKS)]
    disc(axes, x, y, 0.085, "", colour, lw=0.8, zorder=4)


def _to_the_right(axes: Axes, x: float, y: float, layer: Any, number: int, t: int) -> None:
    """h, and c of an LSTM, on the way to the next step, with the masks on them."""
    noise = [dropout.p for dropout in getattr(layer, "noise", ())]
    for k, up in enumerate((0.1, -0.1) if len(layer.start(1)) == 2 else (0.0,)):
        arrow(axes, (x + HALF, y + up), (x + STEP - HALF, y + up), BLUE, head=9)
        beside = y + up + (0.11 if up >= 0 else -0.12)
        word(axes, x + HALF + 0.12, beside, "hc"[k], BLUE, fontsize=9, style="italic")
        if any(noise[k : k + 1]):
            _mask(axes, x + STEP / 2, y + up, 2 * number + k, t, layer.locked)
