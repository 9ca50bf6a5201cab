"""An encoder and a decoder unrolled in time, with the gradient that goes through the state."""

from collections.abc import Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.plots.style import BLUE, GREEN, GREY, VERMILLION, arrow, sheet
from material.figures.drawing import RADIUS, STEP, both_ways, cell, word, writes

SHADE = "#E8F1F8"  # of the encoder


def encoder_decoder(
    source: Sequence[str],
    target: Sequence[str],
    *,
    peeky: bool = False,
) -> Figure:
    """Draw an encoder that reads a text, and a decoder that starts from its last state.

    Blue arrows are values, red dashed ones gradients. Under each cell stands what it reads, over
    the decoder's cells what they should predict.

    Parameters
    ----------
    source, target : sequence of str
        Symbols, at least one each; the target without the mark ``end`` before and after it.
    peeky : bool
        Whether the encoder's last state enters every step of the decoder (green).

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
    title = "All that the decoder knows of the source passes through one state"
    if peeky:
        title = "Peeky: the encoder's last state enters every step of the decoder"
    S, T = len(source), len(target) + 1
    xs = [STEP * k for k in range(S)] + [STEP * (k + 0.55) for k in range(S, S + T)]
    figure, axes = sheet(max(5.8, xs[-1] + 1.5), 3.45, title, (-0.75, -1.6))
    for k, (x, reads) in enumerate(zip(xs, [*source, "end", *target], strict=True)):
        if k < S:
            cell(axes, x, f"$h^e_{{{k + 1}}}$", reads, SHADE)
        else:
            cell(axes, x, f"$h^d_{{{k - S + 1}}}$", reads)
            writes(axes, x, [*target, "end"][k - S])
    for k, (left, right) in enumerate(pairwise(xs)):
        width = 2.2 if k == S - 1 else 1.4
        both_ways(axes, (left + RADIUS, 0), (right - RADIUS, 0), 0.09, width)
    joint, read, written = (xs[S - 1] + xs[S]) / 2, xs[S - 1] / 2, (xs[S] + xs[-1]) / 2
    word(axes, joint, 0.33, "$h$, $c$", BLUE)
    word(axes, joint, -0.33, "$dh$, $dc$", VERMILLION)
    word(axes, read, -1.4, "the encoder reads", GREY)
    word(axes, written, -1.4, "the decoder reads", GREY)
    word(axes, written, 1.3, "and should write", GREY)
    if peeky:
        _context(axes, xs[S - 1], xs[S:])
    return figure


def _context(axes: Axes, last: float, cells: Sequence[float]) -> None:
    """The encoder's last state on its way to each cell of the decoder."""
    rail, start = -0.62, last + 0.7 * RADIUS
    xs, ys = [start, start + 0.12, cells[-1] - 0.13], [-0.72 * RADIUS, rail, rail]
    axes.plot(xs, ys, color=GREEN, lw=1.4, zorder=2)
    for x in cells:
        arrow(axes, (x - 0.13, rail), (x - 0.13, -RADIUS + 0.02), GREEN, head=9)
