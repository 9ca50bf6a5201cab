"""Which loss reaches which state: a map of gradients by the step they start at and arrive at."""

from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from deepnlp.plots.style import BLACK, headed, percent

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
    if norms.shape != (T, T) or not np.tril(norms, -1).any() or window < 1:
        raise ValueError(
            "gradient_reach: expected a square matrix with entries above zero below its diagonal "
            f"and a window of one or more steps, got shape {norms.shape} and {window}"
        )
    kept = np.subtract.outer(np.arange(T) // window, np.arange(T) // window) == 0
    lower = np.tril(np.ones((T, T), dtype=bool))
    back = np.tril(lower, -1)  # a path to the step itself goes nowhere
    pairs, amount = kept[back].mean(), norms[kept & back].sum() / norms[back].sum()
    title = (
        f"Windows of {window} compute {percent(pairs)} of the paths back in time\n"
        f"and {percent(amount)} of what goes back (sum of the norms)"
    )
    figure = headed(6.0, 4.6, title)
    axes = figure.add_subplot()
    top = float(norms.max())
    shown = np.ma.masked_where(~lower, norms.clip(LEAST * top))
    edges = np.arange(T + 1) + 0.5
    image = axes.pcolormesh(
        edges, edges, shown, norm=LogNorm(LEAST * top, top), cmap="Blues", rasterized=True
    )
    for start in range(0, T, window):
        stop = min(start + window, T)  # the outline of the cells start <= k <= t < stop
        tops, low = edges[start:stop], np.full(stop - start, edges[stop])
        for colour, width in (("white", 3.0), (BLACK, 1.4)):
            axes.stairs(tops, edges[start : stop + 1], baseline=low, color=colour, lw=width)
    axes.set(xlim=(0.5, T + 0.5), ylim=(T + 0.5, 0.5), aspect="equal")
    axes.set_xlabel("state $h_k$ that the gradient reaches, $k$")
    axes.set_ylabel("loss $L_t$ that it starts from, $t$")
    axes.locator_params(integer=True, nbins=7)
    axes.spines[["top", "right"]].set_visible(False)
    scale = figure.colorbar(image, ticks=LogLocator(numticks=6))
    scale.set_label(r"norm of $\partial L_t / \partial h_k$")
    return figure
