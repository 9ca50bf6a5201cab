"""A recurrent network unrolled in time, with the windows of truncated backpropagation."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepnlp.lessons.figures.drawing import both_ways, box, disc, word
from deepnlp.plots.style import BLUE, GREY, VERMILLION, arrow, canvas

STEP = 1.25  # from one cell to the next


def unrolled(tokens: list[str], window: int | None = None) -> Figure:
    """Draw a recurrent language model over the words of a text.

    Blue arrows are values, red dashed ones gradients. Where one window of truncated
    backpropagation ends and the next begins, the state goes on and the gradient stops.

    Parameters
    ----------
    tokens : list of str
        Two or more: each is read, and the next one is to be predicted.
    window : int, optional
        T, steps in a window; by default one window holds the whole text.

    Raises
    ------
    ValueError
        If there are fewer than two tokens, or the window is below one step.

    Examples
    --------
    >>> figure = unrolled(["you", "say", "goodbye", "and", "i"], window=2)
    >>> figure.axes[0].get_title(loc="left")
    'In windows of 2 the state goes on, the gradient stops'
    """
    steps = len(tokens) - 1
    T = steps if window is None else window
    if steps < 1 or T < 1:
        raise ValueError(
            f"unrolled: expected two or more tokens and a window of one or more steps, "
            f"got {len(tokens)} and {window}"
        )
    width = 0.762 * ((steps - 1) * STEP + 2.9)  # so that circles are round
    figure, axes = canvas(width, 3.3, (0.01, 0.02, 0.98, 0.86))
    axes.set(xlim=(-1.6, (steps - 1) * STEP + 1.3), ylim=(-1.75, 2.05))
    for start in range(0, steps, T) if steps > T else ():
        first, last = start * STEP, (min(start + T, steps) - 1) * STEP
        wide = (last - first) / 2 + 0.53
        box(axes, (first + last) / 2, 0.075, wide, 1.775, fc="#F3F3F3", ec="#C8C8C8", zorder=0)
    for t in range(steps):
        _draw_step(axes, t, tokens[t], tokens[t + 1])
        if t < steps - 1:
            _draw_between(axes, t, stops=(t + 1) % T == 0)
    arrow(axes, (-1.0, 0.12), (-0.34, 0.12), BLUE)
    word(axes, -1.06, 0.12, "$h_0$", ha="right", fontsize=11)
    title = "The same weights at every step"
    if steps > T:
        title = f"In windows of {T} the state goes on, the gradient stops"
    axes.set_title(title, loc="left", fontsize=10.5, weight="bold")
    return figure


def _draw_step(axes: Axes, t: int, token: str, target: str) -> None:
    x = t * STEP
    disc(axes, x, 0, 0.34, f"$h_{{{t + 1}}}$")
    arrow(axes, (x, -1.12), (x, -0.36), BLUE)
    word(axes, x, -1.32, token)
    both_ways(axes, (x, 0.36), (x, 1.12), 0.09)
    word(axes, x, 1.30, f"$L_{{{t + 1}}}$", fontsize=11)
    word(axes, x, 1.62, f"{target}?", GREY, fontsize=9)


def _draw_between(axes: Axes, t: int, stops: bool) -> None:
    left, right = t * STEP + 0.36, (t + 1) * STEP - 0.36
    if stops:
        arrow(axes, (left, 0.12), (right, 0.12), BLUE)
        middle = (left + right) / 2
        axes.plot([middle], [-0.12], "x", color=VERMILLION, markersize=8, mew=2.2, zorder=5)
    else:
        both_ways(axes, (left, 0), (right, 0), 0.12)
