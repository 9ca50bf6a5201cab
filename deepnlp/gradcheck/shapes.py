"""The likely reason why a gradient has a wrong shape."""

from __future__ import annotations

import math

import numpy

from deepnlp.gradcheck import causes as c

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


def reason_for_shape(found: Shape, wanted: Shape, dys: list[Shape]) -> tuple[str, str]:
    """A cause, and a sentence with the likely reason for a shape.

    Parameters
    ----------
    found, wanted : tuple of int
    dys : list of tuple
        Shapes of the gradients with respect to the outputs.
    """
    if found in dys:
        return c.UNKNOWN, (
            "that is the shape of dy: is dy returned as it came in, without the way back through "
            "forward, such as the product with W.T?"
        )
    if found == ():
        return c.UNKNOWN, (
            "it is a number: does it come from a sum over all axes, or is it a placeholder such as "
            "0? Every entry has a gradient of its own"
        )
    if len(found) > 1 and sorted(found) == sorted(wanted) and found[::-1] == wanted:
        return c.TRANSPOSED, "it looks transposed: are two factors of a product in the wrong order?"
    for axis in range(len(wanted)):
        rest = wanted[:axis] + wanted[axis + 1 :]
        if found in (rest, (*wanted[:axis], 1, *wanted[axis + 1 :])):
            return c.WRONG_AXIS, (
                f"axis {axis} is gone: it was summed, averaged or indexed, and each of its "
                f"{wanted[axis]} entries has a gradient of its own"
            )
    for axis in range(len(found)):
        if found[:axis] + found[axis + 1 :] == wanted:
            size = found[axis]
            what = "of size 1 too many: take [0], or squeeze it" if size == 1 else (
                f"of size {size} too many: forward uses the same numbers {size} times, so their "
                "gradients are to be summed over it"
            )  # fmt: skip
            return c.WRONG_AXIS, f"axis {axis} is one {what}"
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
