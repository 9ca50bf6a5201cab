"""A figure with sliders in a live notebook, and the same figure at rest everywhere else."""

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure


def explore(draw: Callable[..., Figure], **sliders: tuple[float, float, float]) -> Any:
    """Draw a figure again whenever a slider is moved.

    It needs a running notebook and the package ipywidgets. Without them, and while the outputs of
    a lesson are built (``DEEPNLP_LESSON`` is set), this is the figure where the sliders start.

    Parameters
    ----------
    draw : callable
        Takes a value for each slider by name, gives a Figure.
    **sliders : tuple (lowest, highest, start)
        The values of each.

    Returns
    -------
    matplotlib.figure.Figure or ipywidgets.interactive
        A notebook cell shows either.

    Raises
    ------
    ValueError
        If there is no slider, or one does not start inside of its range.

    Examples
    --------
    >>> from deepnlp.plots import curves
    >>> def parabola(width):
    ...     return curves({"y": ([0, 1, 2], [0, width, 4 * width])}, title=f"{width} x²",
    ...                   xlabel="x", ylabel="y")
    >>> explore(parabola, width=(0.5, 2.0, 1.0)).axes[0].get_title(loc="left")
    '1.0 x²'
    """
    if not sliders:
        raise ValueError("explore: expected one or more sliders, such as width=(0.5, 2.0, 1.0)")
    for name, values in sliders.items():
        if np.shape(values) != (3,) or not values[0] <= values[2] <= values[1]:
            raise ValueError(f"explore: {name} should be (lowest, highest, start), got {values!r}")
    widgets = _widgets()
    if widgets is None:
        return draw(**{name: start for name, (_, _, start) in sliders.items()})
    controls = {
        name: widgets.FloatSlider(
            start, min=low, max=high, step=(high - low) / 50, description=name.replace("_", " "),
            continuous_update=False,
        )
        for name, (low, high, start) in sliders.items()
    }  # fmt: skip
    return widgets.interactive(draw, {"auto_display": True}, **controls)


def _widgets() -> Any:
    """The package ipywidgets where there is somebody to move a slider, else None."""
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None or "DEEPNLP_LESSON" in os.environ:
        return None
    try:
        import ipywidgets
    except ModuleNotFoundError:
        return None
    return ipywidgets
