"""Gradients of a wrong shape: the sentence that says so, and the likely reason."""

import itertools
import math

import numpy

from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.causes import say
from deepnlp.gradcheck.report import Row
from deepnlp.gradcheck.subject import Subject

Shape = tuple[int, ...]


def gradient_name(name: str) -> str:
    """The name of the gradient of a variable.

    >>> gradient_name("x"), gradient_name("layers.0.W")
    ('dx', 'the gradient of layers.0.W')
    """
    return f"d{name}" if name.isidentifier() else f"the gradient of {name}"


def told_shapes(name: str, found: Shape, wanted: Shape) -> str:
    """The sentence that says both.

    >>> told_shapes("x", (5, 3), (5, 4))
    'dx has shape (5, 3), should have (5, 4)'
    """
    return f"{gradient_name(name)} has shape {found}, should have {wanted}"


def reason_for_shape(subject: Subject, row: Row) -> tuple[str, str]:
    """A cause, and a sentence with the likely reason for the shape of a gradient."""
    found, wanted = row.analytic.shape, row.numeric.shape
    dys = [numpy.shape(weight) for weight in subject.weights]
    if found in dys:
        return c.UNKNOWN, say("shape of dy")
    if found == ():
        return c.UNKNOWN, say("shape of a number")
    if len(found) > 1 and sorted(found) == sorted(wanted) and found[::-1] == wanted:
        return (
            c.TRANSPOSED,
            "it looks transposed, as if two factors of a product were in each other's place",
        )
    for axis in range(len(wanted)):
        rest = wanted[:axis] + wanted[axis + 1 :]
        if found in (rest, (*wanted[:axis], 1, *wanted[axis + 1 :])):
            return c.WRONG_AXIS, say("axis gone", axis=axis, size=wanted[axis])
    for axis in range(len(found)):
        if found[:axis] + found[axis + 1 :] == wanted:
            size = found[axis]
            key = "axis of size 1" if size == 1 else "axis too many"
            return c.WRONG_AXIS, say(key, axis=axis, size=size)
    for dy in dys:
        sums = [kept for kept in itertools.combinations(dy, len(found)) if len(kept) < len(dy)]
        if len(found) == len(wanted) and {found, wanted} <= set(sums):
            return c.WRONG_AXIS, say("sum over another axis", dy=dy)
    if math.prod(found) == math.prod(wanted):
        return c.UNKNOWN, "it has as many entries: a reshape (or a transpose) back is missing"
    try:
        if numpy.broadcast_shapes(found, wanted) == wanted:
            return c.WRONG_AXIS, "it is too small: it was summed where forward does not broadcast"
        if numpy.broadcast_shapes(found, wanted) == found:
            return c.WRONG_AXIS, "it is too large: it should be summed over what forward broadcasts"
    except ValueError:
        pass
    return c.UNKNOWN, "compare, line by line, the shapes in backward with those in forward"
