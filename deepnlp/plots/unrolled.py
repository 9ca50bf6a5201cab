"""A recurrent network unrolled in time, with the windows of truncated backpropagation."""

from __future__ import annotations

from os import PathLike

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION, saved

STEP = 1.25  # from one cell to the next


def unrolled(
    tokens: list[str], window: int | None = None, path: str | PathLike[str] | None = None
) -> Figure:
    """Draw a recurrent language model over the words of a text.

    Blue arrows are values, red dashed ones gradients. Where one window of truncated
    backpropagation ends and the next begins, the state goes on and the gradient stops.

    Parameters
    ----------
    tokens : list of str
        Two or more: each is read, and the next one is to be predicted.
    window : int, optional
        T, steps in a window; by default one window holds the whole text.
    path : str or path, optional
        Where to save the figure.

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
    figure = Figure(figsize=(width, 3.3), dpi=150)
    axes = figure.add_axes((0.01, 0.02, 0.98, 0.86))
    axes.set_axis_off()
    axes.set_xlim(-1.6, (steps - 1) * STEP + 1.3)
    axes.set_ylim(-1.75, 2.05)
    for start in range(0, steps, T):
        _draw_window(axes, start, min(start + T, steps), steps > T)
    for t in range(steps):
        _draw_step(axes, t, tokens[t], tokens[t + 1])
        ends_here = (t + 1) % T == 0
        if t < steps - 1:
            _draw_between(axes, t, stops=ends_here)
    _arrow(axes, (-1.0, 0.12), (-0.34, 0.12), BLUE)
    axes.text(-1.06, 0.12, "$h_0$", ha="right", va="center", fontsize=11)
    title = "The same weights at every step"
    if steps > T:
        title = f"In windows of {T} the state goes on, the gradient stops"
    axes.set_title(title, loc="left", fontsize=10.5, weight="bold")
    return saved(figure, path)


def _draw_window(axes: Axes, start: int, stop: int, several: bool) -> None:
    if not several:
        return
    left, right = start * STEP - 0.53, (stop - 1) * STEP + 0.53
    box = FancyBboxPatch(
        (left, -1.7),
        right - left,
        3.55,
        boxstyle="round,pad=0,rounding_size=0.12",
        facecolor="#F3F3F3",
        edgecolor="#C8C8C8",
        lw=0.8,
        zorder=0,
    )
    axes.add_patch(box)


def _draw_step(axes: Axes, t: int, token: str, target: str) -> None:
    x = t * STEP
    axes.add_patch(Circle((x, 0), 0.34, facecolor="white", edgecolor=BLACK, lw=1.3, zorder=3))
    axes.text(x, 0, f"$h_{{{t + 1}}}$", ha="center", va="center", fontsize=11, zorder=4)
    _arrow(axes, (x, -1.12), (x, -0.36), BLUE)
    axes.text(x, -1.32, token, ha="center", va="center", fontsize=10)
    _arrow(axes, (x - 0.09, 0.36), (x - 0.09, 1.12), BLUE)
    _arrow(axes, (x + 0.09, 1.12), (x + 0.09, 0.36), VERMILLION, dashed=True)
    axes.text(x, 1.30, f"$L_{{{t + 1}}}$", ha="center", va="center", fontsize=11)
    axes.text(x, 1.62, f"{target}?", ha="center", va="center", fontsize=9, color=GREY)


def _draw_between(axes: Axes, t: int, stops: bool) -> None:
    left, right = t * STEP + 0.36, (t + 1) * STEP - 0.36
    _arrow(axes, (left, 0.12), (right, 0.12), BLUE)
    if stops:
        middle = (left + right) / 2
        axes.plot([middle], [-0.12], "x", color=VERMILLION, markersize=8, mew=2.2, zorder=5)
    else:
        _arrow(axes, (right, -0.12), (left, -0.12), VERMILLION, dashed=True)


def _arrow(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    colour: str,
    dashed: bool = False,
) -> None:
    axes.annotate(
        "",
        xy=end,
        xytext=start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": colour,
            "lw": 1.4,
            "ls": (0, (3, 1.5)) if dashed else "-",
            "shrinkA": 0,
            "shrinkB": 0,
            "mutation_scale": 11,
        },
    )
