"""The gradient of a function from its values alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from deepnlp.backend import asnumpy
from deepnlp.gradcheck.walking import HostArray

_COMPLEX_STEP = 1e-30
_CENTRAL_STEPS = (1e-2, *(10.0**-k for k in range(4, 11)))
_QUICK_STEP = 1e-4
_KINK_STEPS = (1e-4, 1e-6)


def numerical_gradient(
    f: Callable[[HostArray], Any],
    x: Any,
    method: str = "central",
    rounding: float = 1e-15,
    expected: HostArray | None = None,
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
    expected : array of the shape of ``x``, optional
        Where D_k(1e-4) is as expected, to 1e-7 of the largest entry, it is not refined: a quarter
        of the cost for a gradient that is right.

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
    steps = _steps(x)
    if expected is None or expected.shape != x.shape:
        expected = numpy.full(x.shape, math.nan)
    near_enough = 1e-7 * float(numpy.abs(expected).max(initial=0.0))
    for index in numpy.ndindex(x.shape):
        here = probe[index]

        def along(step: complex, index: tuple[int, ...] = index, here: Any = here) -> Any:
            probe[index] = here + step
            return f(probe)

        if method == "complex":
            gradient[index] = numpy.imag(along(1j * _COMPLEX_STEP)) / _COMPLEX_STEP
        else:
            guess = float(expected[index])
            gradient[index] = _quick_slope(along, guess, near_enough)
            if math.isnan(gradient[index]):
                gradient[index] = _central_slope(along, rounding, steps)
        probe[index] = here
    return gradient


def typical_size(x: HostArray) -> float:
    """The root of the mean square; 1 for zeros.

    >>> typical_size(numpy.array([3.0, -3.0])), typical_size(numpy.zeros(2))
    (3.0, 1.0)
    """
    with numpy.errstate(over="ignore"):
        size = float(numpy.sqrt(numpy.mean(numpy.square(x)))) if x.size else 1.0
    return size if 0 < size < numpy.inf else 1.0


def _steps(x: HostArray) -> tuple[float, ...]:
    """Steps of central differences: a hundredth or less; of large numbers first a larger one."""
    size = typical_size(x)
    return ((1e-2 * size,) if size > 100 else ()) + _CENTRAL_STEPS


def _quick_slope(along: Callable[[float], Any], guess: float, near_enough: float) -> float:
    """A single central difference at 0, if it confirms a guess; else nan."""
    if not (math.isfinite(guess) and near_enough > 0):
        return math.nan
    slope = float((along(_QUICK_STEP) - along(-_QUICK_STEP)) / (2 * _QUICK_STEP))
    return slope if abs(slope - guess) <= near_enough else math.nan


def _central_slope(
    along: Callable[[float], Any], precision: float, steps: tuple[float, ...] = _CENTRAL_STEPS
) -> float:
    """Slope at 0 of a function of one number, stepping around kinks."""
    best, least = math.nan, math.inf
    for h in steps:
        above, below = along(h), along(-h)
        near = (above - below) / (2 * h)
        far = (along(2 * h) - along(-2 * h)) / (4 * h)
        # What was added up on the way may have been larger than f, as in log(1 + e^-20).
        rounding = precision * max(abs(above), abs(below), 1.0) / h
        apart = abs(near - far)
        if apart <= 1e-7 * abs(near) + 10 * rounding:
            return float((4 * near - far) / 3)
        if apart + rounding < least:
            best, least = float(near), float(apart + rounding)
    return best


def noise_of(along: Callable[[float], Any], step: float = 3e-7, count: int = 10) -> float:
    """The rounding of a function of one number, seen in its third differences over tiny steps.

    Those of a smooth function vanish there, and a kink is in few of them.
    """
    values = numpy.array([float(along(k * step)) for k in range(count)])
    return float(numpy.median(numpy.abs(numpy.diff(values, 3))))


def has_kink(along: Callable[[float], Any], precision: float) -> bool:
    """Whether the slopes of a function of one number at 0, from both sides, differ."""
    here = along(0.0)
    apart = []
    for h in _KINK_STEPS:
        # One-sided slopes of second order, so that mere curvature is no difference.
        right = (4 * along(h) - along(2 * h) - 3 * here) / (2 * h)
        left = (3 * here - 4 * along(-h) + along(-2 * h)) / (2 * h)
        rounding = 100 * precision * max(abs(here), 1e-300) / h
        if not abs(right - left) > rounding + 1e-3 * max(abs(right), abs(left)):
            return False
        apart.append(right - left)
    return bool(abs(apart[0] - apart[1]) <= 0.2 * abs(apart[1]))
