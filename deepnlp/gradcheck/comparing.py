"""One row of a report: an analytic gradient beside a numeric one."""

from __future__ import annotations

import math

import numpy

from deepnlp.gradcheck.causes import FLOAT32, Cause
from deepnlp.gradcheck.report import Row
from deepnlp.gradcheck.shapes import told_shapes
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.walking import HostArray

# A gradient this many times smaller than |f| is rounding: it counts as zero.
# (Where the analytic gradient is the one that is rounded, see Function.rounding_of_slopes.)
NOISE = {"complex": 1e-15, "central": 1e-12}
# Of saturated functions; what a difference loses is divided by the step besides.
SLOPE_ROUNDING = {"complex": 1.0, "central": 1e3}
# What a chain of operations in float32 may lose, relative to the largest entry.
_FLOAT32_TOLERANCE = 2e-4


def compare(
    name: str, analytic: HostArray, numeric: HostArray, tolerance: float, noise: float = 0.0
) -> Row:
    """One row: how far two gradients are apart, relative to the largest numeric entry.

    Parameters
    ----------
    name : str
    analytic, numeric : numpy.ndarray of one shape
    tolerance : float
        Largest error that is ok.
    noise : float
        Rounding: where both gradients stay below it, they are zero.
    """
    if analytic.shape != numeric.shape:
        note = told_shapes(name, analytic.shape, numeric.shape)
        return Row(name, math.inf, (), False, analytic, numeric, note=note)
    if numeric.size == 0:
        return Row(name, 0.0, (), True, analytic, numeric)
    with numpy.errstate(invalid="ignore"):
        difference = numpy.abs(analytic - numeric)
    difference = numpy.where(numpy.isfinite(difference), difference, math.inf)
    worst = numpy.unravel_index(int(difference.argmax()), difference.shape)
    index = tuple(int(i) for i in worst)
    largest, scale = float(difference[index]), float(numpy.abs(numeric).max())
    if max(largest, scale) <= noise:
        return Row(name, 0.0, index, True, analytic, numeric)
    error = largest / scale if 0 < scale < math.inf and largest < math.inf else math.inf
    return Row(name, error, index, error <= tolerance, analytic, numeric)


def compare_all(
    subject: Subject,
    analytic: dict[str, HostArray],
    numeric: dict[str, HostArray],
    method: str,
    tolerance: float,
) -> list[Row]:
    """A row for every variable; differences that come from rounding are ok."""
    noise = NOISE[method] * subject.scale()
    rows = []
    for name in subject.variables:
        row = compare(name, analytic[name], numeric[name], tolerance, noise)
        rounding = SLOPE_ROUNDING[method] * subject.rounding_of_slopes(name)
        row.ok = row.ok or _is_rounding(row, rounding)
        _forgive_float32(row, subject.in_single)
        rows.append(row)
    return rows


def _is_rounding(row: Row, rounding: float) -> bool:
    """Whether two gradients of one shape differ by no more than rounding."""
    if row.analytic.shape != row.numeric.shape:
        return False
    return bool(numpy.abs(row.analytic - row.numeric).max(initial=0.0) <= rounding)


def _forgive_float32(row: Row, single: bool) -> None:
    """A gradient made of float32 numbers cannot be better than float32."""
    tolerance = _FLOAT32_TOLERANCE * (10 if single else 1)
    with numpy.errstate(all="ignore"):
        rounded = row.analytic.astype("float32").astype("float64")
    in_float32 = row.analytic.size > 0 and numpy.array_equal(rounded, row.analytic)
    if not row.ok and row.error <= tolerance and (in_float32 or single):
        row.ok = True
        evidence = (
            f"the gradient of {row.name} was computed in float32, and it is off by "
            f"{row.error:.0e}, about what float32 loses; here {tolerance:.0e} is tolerated"
        )
        row.causes = [Cause(FLOAT32, evidence, row.error)]
