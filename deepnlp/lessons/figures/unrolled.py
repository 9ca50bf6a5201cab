"""A recurrent network unrolled in time, with the windows of truncated backpropagation."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION, arrow, canvas

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

    Returns
    -------
    matplotlib.figure.Figure

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
        _draw_window(axes, start, min(start + T, steps))
    for t in range(steps):
        _draw_step(axes, t, tokens[t], tokens[t + 1])
        if t < steps - 1:
            _draw_between(axes, t, stops=(t + 1) % T == 0)
    arrow(axes, (-1.0, 0.12), (-0.34, 0.12), BLUE)
    axes.text(-1.06, 0.12, "$h_0$", ha="right", va="center", fontsize=11)
    title = "The same weights at every step"
    if steps > T:
        title = f"In windows of {T} the state goes on, the gradient stops"
    axes.set_title(title, loc="left", fontsize=10.5, weight="bold")
    return figure


def _draw_window(axes: Axes, start: int, stop: int) -> None:
    left, right = start * STEP - 0.53, (stop - 1) * STEP + 0.53
    box = FancyBboxPatch((left, -1.7), right - left, 3.55, "round,pad=0,rounding_size=0.12")
    box.set(facecolor="#F3F3F3", edgecolor="#C8C8C8", linewidth=0.8, zorder=0)
    axes.add_patch(box)


def _draw_step(axes: Axes, t: int, token: str, target: str) -> None:
    x = t * STEP
    axes.add_patch(Circle((x, 0), 0.34, facecolor="white", edgecolor=BLACK, lw=1.3, zorder=3))
    axes.text(x, 0, f"$h_{{{t + 1}}}$", ha="center", va="center", fontsize=11, zorder=4)
    arrow(axes, (x, -1.12), (x, -0.36), BLUE)
    axes.text(x, -1.32, token, ha="center", va="center", fontsize=10)
    arrow(axes, (x - 0.09, 0.36), (x - 0.09, 1.12), BLUE)
    arrow(axes, (x + 0.09, 1.12), (x + 0.09, 0.36), VERMILLION, dashed=True)
    axes.text(x, 1.30, f"$L_{{{t + 1}}}$", ha="center", va="center", fontsize=11)
    axes.text(x, 1.62, f"{target}?", ha="center", va="center", fontsize=9, color=GREY)


def _draw_between(axes: Axes, t: int, stops: bool) -> None:
    left, right = t * STEP + 0.36, (t + 1) * STEP - 0.36
    arrow(axes, (left, 0.12), (right, 0.12), BLUE)
    if stops:
        middle = (left + right) / 2
        axes.plot([middle], [-0.12], "x", color=VERMILLION, markersize=8, mew=2.2, zorder=5)
    else:
        arrow(axes, (right, -0.12), (left, -0.12), VERMILLION, dashed=True)
