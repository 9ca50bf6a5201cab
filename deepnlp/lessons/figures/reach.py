"""Which loss reaches which state: a map of gradients by the step they start at and arrive at."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from deepnlp.plots.style import BLACK, percent

LEAST = 1e-4  # of the largest norm: smaller ones have the palest colour


def gradient_reach(norms: np.ndarray[Any, Any], window: int) -> Figure:
    r"""Draw :math:`\|\partial L_t / \partial h_k\|` for all t and k, and the windows of TBPTT.

    The part inside the outlined triangles is computed, the rest is dropped.

    Parameters
    ----------
    norms : array (T, T)
        Row t, column k; zero for k > t.
    window : int
        Steps in a window of truncated backpropagation through time.

    Raises
    ------
    ValueError
        If the norms are no square matrix, or all zero, or the window is below one step.

    Examples
    --------
    >>> norms = np.tril(0.5 ** np.subtract.outer(np.arange(6), np.arange(6)).clip(0))
    >>> gradient_reach(norms, window=3).axes[0].get_xlabel()
    'state $h_k$ that the gradient reaches, $k$'
    """
    norms = np.asarray(norms, dtype=float)
    T = len(norms)
    if norms.shape != (T, T) or not norms.any() or window < 1:
        raise ValueError(
            "gradient_reach: expected a square matrix with entries above zero and a window of one "
            f"or more steps, got shape {norms.shape} and {window}"
        )
    figure = Figure(figsize=(6.0, 4.6), dpi=150)
    axes = figure.add_axes((0.11, 0.12, 0.68, 0.74))
    top = float(norms.max())
    shown = np.ma.masked_where(np.triu(np.ones((T, T)), 1) > 0, norms.clip(LEAST * top))
    edges = np.arange(T + 1) + 0.5
    image = axes.pcolormesh(
        edges, edges, shown, norm=LogNorm(LEAST * top, top), cmap="Blues", rasterized=True
    )
    kept = np.zeros((T, T), dtype=bool)
    for start in range(0, T, window):
        stop = min(start + window, T)
        kept[start:stop, start:stop] = True
        line = _staircase(start, stop)
        axes.plot(*line, color="white", lw=3.0, solid_joinstyle="miter")
        axes.plot(*line, color=BLACK, lw=1.4, solid_joinstyle="miter")
    axes.set(xlim=(0.5, T + 0.5), ylim=(T + 0.5, 0.5), aspect="equal")
    axes.set_xlabel("state $h_k$ that the gradient reaches, $k$")
    axes.set_ylabel("loss $L_t$ that it starts from, $t$")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
    axes.spines[["top", "right"]].set_visible(False)
    scale = figure.add_axes((0.83, 0.12, 0.025, 0.74))
    figure.colorbar(image, cax=scale)
    scale.set_ylabel(r"norm of $\partial L_t / \partial h_k$")
    scale.yaxis.set_major_locator(LogLocator(numticks=6))
    lower = np.tril(np.ones((T, T), dtype=bool))
    pairs = (kept & lower).sum() / lower.sum()
    amount = norms[kept & lower].sum() / norms[lower].sum()
    title = (
        f"Windows of {window} compute {percent(pairs)} of the paths back in time\n"
        f"and {percent(amount)} of the gradient (sum of the norms)"
    )
    figure.text(0.03, 0.975, title, fontsize=10.5, weight="bold", va="top")
    return figure


def _staircase(start: int, stop: int) -> tuple[list[float], list[float]]:
    """The outline of the cells start <= k <= t < stop, as one closed line."""
    xs, ys = [start + 0.5], [start + 0.5]
    for k in range(start, stop):
        xs += [k + 1.5, k + 1.5]
        ys += [ys[-1], k + 1.5]
    xs += [start + 0.5, start + 0.5]
    ys += [stop + 0.5, start + 0.5]
    return xs, ys
