"""Every rule by which the checker forgives, with the largest wrong gradient that it can hide.

A gradient is compared with numbers, relative to the largest entry of its own variable. What else
is let pass, and how far, stands here alone; a search (``make fuzz``) looks for larger mistakes that
pass.
"""

import math
import tomllib
from importlib.resources import files
from typing import NamedTuple

import numpy

from deepnlp.gradcheck.walking import HostArray

TOLERANCES = {"complex": 1e-10, "central": 1e-6}
"""Largest error that is ok, relative to the largest entry of the gradient of a variable."""

LARGEST = 1e-3
"""No gradient with a larger error is ok, whatever the reason."""

ENTRIES = {"complex": 1e-12, "central": 1e-9}
"""An entry that is this small beside the largest of its gradient is not compared by itself."""

NUDGE = 2.0**-44
"""A relative change of all numbers, as small as their rounding makes on the way."""

NOISE = 100.0
"""A gradient within so many times what a nudge makes of it is rounding."""

LIFTED = 1e-9
"""Of a saturated function: a gradient so much smaller than at a fraction of the same numbers."""

INTENDED = "intended?"
"""What is asked of arrays and numbers that have no gradient, though they reach the outputs."""

FLOAT32 = 1e-3
"""What a chain of operations in float32 may lose, relative to the largest entry."""

EPSILON = 1e-5
"""A constant in code that is smaller is there to keep a logarithm or a division finite."""

SHIFT = 1e3
"""A gradient may be off by so many times such a constant, of its largest entry: 1 / y counts."""


class Rule(NamedTuple):
    """A rule that forgives.

    Attributes
    ----------
    name, forgives, bound : str
    says : str
        What the report says then.
    hides : str
        The largest error that the bound lets pass, relative to the largest entry of a gradient.
    """

    name: str
    forgives: str
    bound: str
    says: str
    hides: str


_DATA = tomllib.loads(files(__package__).joinpath("rules.toml").read_text("utf-8"))
RULES = tuple(Rule(**rule) for rule in _DATA["rules"])
"""All of them, as docs/maintaining/reliability.md shows them."""


def error_of(
    analytic: HostArray, numeric: HostArray, step: str = "complex"
) -> tuple[float, tuple[int, ...]]:
    """The error of a gradient, relative to its largest entry, and the entry that is furthest off.

    Where that is none, but a smaller entry is wrong beside its own size, it is the error of that.
    """
    if numeric.size == 0:
        return 0.0, ()
    with numpy.errstate(all="ignore"):
        off = numpy.abs(analytic - numeric)
        off = numpy.where(numpy.isfinite(off), off, math.inf)
        size = numpy.abs(numeric)
        scale = float(size.max())
        worst = int(off.argmax())
        largest = float(off.flat[worst])
        error = largest / scale if 0 < scale < math.inf and largest < math.inf else math.inf
        error = 0.0 if largest == 0 else error
        if error <= TOLERANCES[step]:
            small = (off > LARGEST * size) & (off > ENTRIES[step] * scale)
            if small.any():
                relative = numpy.where(small, off / numpy.maximum(size, off), 0.0)
                worst = int(relative.argmax())
                error = float(relative.flat[worst])
    return error, tuple(map(int, numpy.unravel_index(worst, off.shape)))


def sizes(x: HostArray) -> HostArray:
    """The size of each entry beside the others: a common one, and its own where that is larger.

    >>> sizes(numpy.array([1.0, -3.0, 2.0, -1e30]))
    array([2.5e+00, 2.5e+00, 2.5e+00, 1.0e+30])
    """
    size = numpy.abs(x)
    known = size[(size > 0) & (size < numpy.inf)]
    common = float(numpy.median(known)) if known.size else 1.0
    return numpy.where((size > 1e3 * common) & (size < numpy.inf), size, common)
