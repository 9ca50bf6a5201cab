"""A figure with sliders in a live notebook, and the same figure at rest everywhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure


def explore(draw: Callable[..., Figure], **sliders: tuple[Any, Any, Any] | list[Any]) -> Any:
    """Draw a figure again whenever a slider is moved.

    It needs a running notebook and the package ipywidgets. Without them, and while the outputs of
    a lesson are built (``DEEPNLP_LESSON`` is set), this is the figure where the sliders start.

    Parameters
    ----------
    draw : callable
        Takes a value for each slider by name, gives a Figure.
    **sliders : tuple (lowest, highest, start) or list
        The values of each: a range of whole numbers where all three are int, else of real numbers;
        or a list of values, the first of which is the start.

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
    starts = {name: _start(name, values) for name, values in sliders.items()}
    if not starts:
        raise ValueError("explore: expected one or more sliders, such as width=(0.5, 2.0, 1.0)")
    widgets = _widgets()
    if widgets is None:
        return draw(**starts)
    controls = {name: _control(widgets, name, values) for name, values in sliders.items()}
    return widgets.interactive(draw, {"auto_display": True}, **controls)


def _start(name: str, values: Any) -> Any:
    if isinstance(values, list) and values:
        return values[0]
    if isinstance(values, tuple) and len(values) == 3 and values[0] <= values[2] <= values[1]:
        return values[2]
    raise ValueError(
        f"explore: {name} should be (lowest, highest, start) or a list of values, got {values!r}"
    )


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


def _control(widgets: Any, name: str, values: Any) -> Any:
    """The slider of a range or of a list; the figure follows when it is let go."""
    shared = {"description": name.replace("_", " "), "continuous_update": False}
    if isinstance(values, list):
        return widgets.SelectionSlider(options=values, value=values[0], **shared)
    low, high, start = values
    if all(isinstance(value, int) for value in values):
        return widgets.IntSlider(start, low, high, **shared)
    return widgets.FloatSlider(start, min=low, max=high, step=(high - low) / 50, **shared)
