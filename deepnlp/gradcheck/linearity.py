"""A backward pass is linear in dy: what it gives for a sum of two is the sum of what it gives."""

from __future__ import annotations

from typing import Any

import numpy

from deepnlp.backend import Generator
from deepnlp.gradcheck.report import Check
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.walking import HostArray

# Large, so that a clip inside shows, and of both signs, so that a mask on dy does.
_FACTORS = (-4000.0, 1500.0)
_TOLERANCES = {False: 1e-7, True: 2e-3}  # of float64, and where numbers are in float32

Gradients = dict[str, HostArray]


def ignores_dout(subject: Subject, analytic: Gradients) -> bool:
    """Whether the backward of a loss gives the same for any dout."""
    if not subject.caller.takes_gradients or subject.caller.code.has_context:
        return False
    if all(value.size == 1 for value in subject.values().values()):
        return False  # a function of numbers, and no loss
    if len(subject.weights) != 1 or subject.weights[0].size != 1:
        return False
    twice = subject.gradients_for([2.0 * subject.weights[0] + 1.0])
    return all(numpy.array_equal(twice[name], analytic[name], equal_nan=True) for name in analytic)


def check_linearity(subject: Subject, analytic: Gradients, rng: Generator) -> Check | None:
    """Compare backward for a sum of two dys, the second one drawn here, with the sum of both."""
    if not subject.caller.takes_gradients:
        return None
    second = [rng.normal(size=w.shape) for w in subject.weights]
    a, b = _FACTORS
    other = subject.gradients_for(second)
    both = subject.gradients_for(
        [a * w + b * v for w, v in zip(subject.weights, second, strict=True)]
    )
    off = [
        name
        for name in analytic
        if _apart(analytic[name], other[name], both[name], subject.rounding_of_slopes(name))
    ]
    if not off:
        return Check("linear in dy", True, "the gradient for a sum of two dy is the sum")
    told = (
        f"the gradient of {', '.join(off)} does not grow in proportion to the gradient that comes "
        "in: twice as large a dy must give twice as large a gradient, and -dy the opposite. Is dy "
        "left out, squared or clipped, or is a mask taken from dy in place of x?"
    )
    return Check("linear in dy", False, told)


def _apart(one: HostArray, other: HostArray, both: HostArray, rounding: float) -> bool:
    """Whether a gradient is not linear; what is not finite is another matter."""
    if not one.shape == other.shape == both.shape:
        return True
    a, b = _FACTORS
    finite = numpy.isfinite(one) & numpy.isfinite(other) & numpy.isfinite(both)
    one, other, both = one[finite], other[finite], both[finite]
    size = abs(a) * _largest(one) + abs(b) * _largest(other)
    rounding *= abs(a) + abs(b)
    tolerance = _TOLERANCES[all(map(_is_single, (one, other, both)))]
    return bool(_largest(both - a * one - b * other) > tolerance * size + rounding)


def _largest(array: HostArray) -> float:
    return float(numpy.abs(array).max(initial=0.0))


def _is_single(array: Any) -> bool:
    with numpy.errstate(all="ignore"):
        return bool(numpy.array_equal(array.astype("float32"), array))
