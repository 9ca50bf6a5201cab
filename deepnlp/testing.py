"""For the test files of a course: a wrong gradient is a failed test that names the mistake."""

from typing import Any

from deepnlp.gradcheck import Report, check_gradients


def assert_gradients(layer: Any, *inputs: Any, **options: Any) -> Report:
    """Fail unless the backward pass of a layer is the derivative of its forward pass.

    Parameters
    ----------
    layer, *inputs, **options
        As for :func:`deepnlp.gradcheck.check_gradients`.

    Returns
    -------
    Report

    Raises
    ------
    AssertionError
        With the names of the wrong gradients, the likely cause and its line, then the table.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnlp.layers import Affine
    >>> assert_gradients(Affine.init(3, 2, dtype="float64"), np.ones((4, 3))).ok
    True
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    return check_gradients(layer, *inputs, **{"quiet": True, **options}).or_raise()
