"""A gradient check in sixty lines, to be read first.

A backward pass is right if it gives the slopes of its forward pass. The slopes are known from
forward alone: change one number a little, and see how much the result changes. The checker does
the same with more care; what it adds stands in :mod:`~deepnlp.gradcheck.numeric`.
"""

from collections.abc import Callable
from typing import Any

import numpy

HostArray = numpy.ndarray[Any, Any]


def in_entry(f: Callable[[HostArray], Any], x: HostArray, index: Any) -> Callable[[Any], Any]:
    """Return f as a function of a step in one entry of x; x is put back after each call."""

    def of_step(step: Any) -> Any:
        here = x[index]
        x[index] = here + step
        try:
            return f(x)
        finally:
            x[index] = here

    return of_step


def central_slope(of_step: Callable[[Any], Any], h: float = 1e-5) -> float:
    """Return (f(h) - f(-h)) / 2h: right but for terms in h^2, and for rounding divided by h."""
    return float((of_step(h) - of_step(-h)) / (2 * h))


def complex_slope(of_step: Callable[[Any], Any], h: float = 1e-30) -> float:
    """Return Im f(i h) / h: nothing is subtracted, so h may be tiny (Squire and Trapp 1998)."""
    return float(numpy.imag(of_step(1j * h)) / h)


def slopes(f: Callable[[HostArray], Any], x: Any, is_analytic: bool = True) -> HostArray:
    """Return the gradient of a number f(x) with respect to each entry of the array x."""
    probe = numpy.array(x, dtype="complex128" if is_analytic else "float64")
    slope = complex_slope if is_analytic else central_slope
    gradient = numpy.zeros(probe.shape)
    for index in numpy.ndindex(probe.shape):
        gradient[index] = slope(in_entry(f, probe, index))
    return gradient


def relative_error(analytic: HostArray, numeric: HostArray) -> float:
    """Return max |analytic - numeric| / max |numeric| over the entries; of two shapes, infinity."""
    if numpy.shape(analytic) != numpy.shape(numeric):
        return numpy.inf  # (1, 3) less (3,) has a shape, too
    off, size = numpy.abs(analytic - numeric).max(), numpy.abs(numeric).max()
    return float(off / size) if size else float(off > 0)


def first_check(layer: Any, **inputs: HostArray) -> dict[str, float]:
    """Compare the gradients that ``layer.backward`` returns with numbers; print a table.

    The outputs are summed with random weights dy: in a plain sum mistakes may cancel. Forward is to
    be analytic, without abs, norms and comparisons, which the complex step does not follow.

    >>> class Product:
    ...     def forward(self, x, W):
    ...         self.x, self.W = x, W
    ...         return x @ W
    ...     def backward(self, dy):
    ...         return dy @ self.W.T, self.x.T @ dy / 2
    >>> errors = first_check(Product(), x=numpy.eye(2, 3), W=numpy.ones((3, 4)))
    x          0.0e+00  ok
    W          5.0e-01  WRONG
    """
    dy = numpy.random.default_rng(0).normal(size=layer.forward(**inputs).shape)
    returned = layer.backward(dy)
    errors = {}
    for (name, x), analytic in zip(inputs.items(), returned, strict=True):

        def f(changed: HostArray, name: str = name) -> Any:
            return (dy * layer.forward(**{**inputs, name: changed})).sum()

        errors[name] = relative_error(analytic, slopes(f, x))
        print(f"{name:10} {errors[name]:.1e}  {'ok' if errors[name] < 1e-10 else 'WRONG'}")
    return errors
