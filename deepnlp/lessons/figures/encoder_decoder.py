"""An encoder and a decoder unrolled in time, with the gradient that goes through the state."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.lessons.figures.drawing import both_ways, disc, word
from deepnlp.plots.style import BLUE, GREEN, GREY, VERMILLION, arrow, canvas

STEP = 0.95  # from one cell to the next
RADIUS = 0.27
SHADE = "#E8F1F8"  # of the encoder


def encoder_decoder(
    source: Sequence[str],
    target: Sequence[str],
    *,
    mark: str = "end",
    peeky: bool = False,
    title: str | None = None,
) -> Figure:
    """Draw an encoder that reads a text, and a decoder that starts from its last state.

    Blue arrows are values, red dashed ones gradients. Under each cell stands what it reads, over
    the decoder's cells what they should predict.

    Parameters
    ----------
    source, target : sequence of str
        Symbols, at least one each; the target without the mark.
    mark : str
        What begins and ends a target.
    peeky : bool
        Whether the encoder's last state enters every step of the decoder (green).
    title : str, optional

    Raises
    ------
    ValueError
        If source or target is empty.

    Examples
    --------
    >>> figure = encoder_decoder("57+5", "62")
    >>> figure.axes[0].get_title(loc="left")
    'All that the decoder knows of the source passes through one state'
    """
    if not source or not target:
        raise ValueError(
            f"encoder_decoder: expected at least one symbol each, got {source!r} and {target!r}"
        )
    S, T = len(source), len(target) + 1
    xs = [STEP * k for k in range(S)] + [STEP * (k + 0.55) for k in range(S, S + T)]
    low, high = -RADIUS - 0.2, xs[-1] + RADIUS + 0.2
    width = 7.0
    height = width * 3.55 / (high - low)
    figure, axes = canvas(width, height + 0.35, (0, 0, 1, height / (height + 0.35)))
    axes.set(xlim=(low, high), ylim=(-1.85, 1.7))
    for k, x in enumerate(xs):
        name = f"$h^e_{{{k + 1}}}$" if k < S else f"$h^d_{{{k - S + 1}}}$"
        disc(axes, x, 0, RADIUS, name, SHADE if k < S else "white")
        arrow(axes, (x, -0.98), (x, -RADIUS - 0.02), BLUE)
        reads = source[k] if k < S else [mark, *target][k - S]
        word(axes, x, -1.16, reads)
        if k < S + T - 1:
            _between(axes, x, xs[k + 1], joint=k == S - 1)
        if k >= S:
            both_ways(axes, (x, RADIUS), (x, 1.02), 0.07)
            word(axes, x, 1.2, [*target, mark][k - S])
    if peeky:
        _context(axes, xs[S - 1], xs[S:])
    word(axes, (xs[0] + xs[S - 1]) / 2, -1.6, "the encoder reads", GREY)
    word(axes, (xs[S] + xs[-1]) / 2, -1.6, "the decoder reads", GREY)
    word(axes, (xs[S] + xs[-1]) / 2, 1.52, "and should write", GREY)
    text = "All that the decoder knows of the source passes through one state"
    if peeky:
        text = "Peeky: the encoder's last state enters every step of the decoder"
    axes.set_title(title or text, loc="left", x=0.02, fontsize=10.5, weight="bold")
    return figure


def _between(axes: Axes, left: float, right: float, joint: bool) -> None:
    """The state to the next cell and its gradient back; stronger between the two networks."""
    width = 2.2 if joint else 1.4
    both_ways(axes, (left + RADIUS, 0), (right - RADIUS, 0), 0.09, width)
    if joint:
        middle = (left + right) / 2
        word(axes, middle, 0.36, "$h$, $c$", BLUE)
        word(axes, middle, -0.36, "$dh$, $dc$", VERMILLION)


def _context(axes: Axes, last: float, cells: Sequence[float]) -> None:
    """The encoder's last state on its way to each cell of the decoder."""
    rail, start = -0.68, last + 0.7 * RADIUS
    xs, ys = [start, start + 0.12, cells[-1] - 0.13], [-0.72 * RADIUS, rail, rail]
    axes.plot(xs, ys, color=GREEN, lw=1.4, zorder=2)
    for x in cells:
        arrow(axes, (x - 0.13, rail), (x - 0.13, -RADIUS + 0.02), GREEN, head=9)
