"""A recurrent network unrolled in time, with the windows of truncated backpropagation."""

from itertools import pairwise

from matplotlib.figure import Figure

from deepnlp.plots.style import BLUE, VERMILLION, arrow, sheet
from material.figures.drawing import RADIUS, STEP, both_ways, box, cell, word, writes


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
    title = "The same weights at every step"
    if steps > T:
        title = f"In windows of {T} the state goes on, the gradient stops"
    figure, axes = sheet(STEP * (steps - 1) + 2.3, 3.3, title, (-1.25, -1.4))
    for start in range(0, steps, T) if steps > T else ():
        first, last = start * STEP, (min(start + T, steps) - 1) * STEP
        wide = (last - first) / 2 + 0.42
        box(axes, (first + last) / 2, 0.08, wide, 1.36, fc="#F3F3F3", ec="#C8C8C8", zorder=0)
    for t, (token, target) in enumerate(pairwise(tokens)):
        x = t * STEP
        cell(axes, x, f"$h_{{{t + 1}}}$", token)
        writes(axes, x, f"$L_{{{t + 1}}}$", f"{target}?")
        left, right = x + RADIUS + 0.01, x + STEP - RADIUS - 0.01
        if t == steps - 1:
            break
        if (t + 1) % T:
            both_ways(axes, (left, 0), (right, 0), 0.09)
        else:
            arrow(axes, (left, 0.09), (right, 0.09), BLUE)
            axes.plot((left + right) / 2, -0.09, "x", color=VERMILLION, ms=8, mew=2.2, zorder=5)
    arrow(axes, (-0.78, 0.09), (-RADIUS, 0.09), BLUE)
    word(axes, -0.82, 0.09, "$h_0$", ha="right")
    return figure
