"""The gradient of a function from its values alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from deepnlp.backend import asnumpy

_COMPLEX_STEP = 1e-30
_CENTRAL_STEPS = (1e-2, 1e-3, 1e-4, 1e-5)

HostArray = numpy.ndarray[Any, Any]


def numerical_gradient(
    f: Callable[[HostArray], Any], x: Any, method: str = "central", rounding: float = 1e-15
) -> HostArray:
    r"""Gradient of a scalar function of an array, entry by entry.

    .. math::
        \frac{\partial f}{\partial x_k} = \frac{4 D_k(h) - D_k(2h)}{3}, \quad
        D_k(h) = \frac{f(x + h e_k) - f(x - h e_k)}{2h}
        \qquad\text{or}\qquad \frac{\mathrm{Im}\, f(x + i h e_k)}{h}

    Parameters
    ----------
    f : callable
        Takes a NumPy array of the shape of ``x``, returns a number.
    x : array_like
        Where; left as it is.
    method : {"central", "complex"}
    rounding : float
        Relative error of f: central differences do not take it for a kink.

    Returns
    -------
    numpy.ndarray of float64, the shape of ``x``

    Raises
    ------
    ValueError
        If the method is neither.

    Examples
    --------
    >>> import numpy as np
    >>> numerical_gradient(lambda x: (x ** 3).sum(), np.array([1.0, 2.0]), method="complex")
    array([ 3., 12.])
    """
    if method not in ("central", "complex"):
        raise ValueError(
            f"numerical_gradient: method should be 'central' or 'complex', got {method!r}"
        )
    x = asnumpy(x)
    gradient = numpy.zeros(x.shape)
    probe = x.astype("complex128" if method == "complex" else "float64")
    for index in numpy.ndindex(x.shape):
        here = probe[index]

        def along(step: complex, index: tuple[int, ...] = index, here: Any = here) -> Any:
            probe[index] = here + step
            return f(probe)

        if method == "complex":
            gradient[index] = numpy.imag(along(1j * _COMPLEX_STEP)) / _COMPLEX_STEP
        else:
            gradient[index] = _central_slope(along, rounding)
        probe[index] = here
    return gradient


def _central_slope(along: Callable[[float], Any], precision: float) -> float:
    """Slope at 0 of a function of one number, stepping around kinks."""
    for h in _CENTRAL_STEPS:
        above, below = along(h), along(-h)
        near = (above - below) / (2 * h)
        far = (along(2 * h) - along(-2 * h)) / (4 * h)
        rounding = precision * max(abs(above), abs(below)) / h
        if abs(near - far) <= 1e-5 * abs(near) + 10 * rounding:
            return float((4 * near - far) / 3)
    return float(near)
