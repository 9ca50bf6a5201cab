"""One row of a report: an analytic gradient beside a numeric one."""

from __future__ import annotations

import math
from typing import Any

import numpy

from deepnlp.gradcheck.causes import FLOAT32, Cause
from deepnlp.gradcheck.report import Check, Row
from deepnlp.gradcheck.shapes import told_shapes
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.variables import Input
from deepnlp.gradcheck.walking import HostArray, is_real

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
    for name, variable in list(subject.variables.items()):
        if isinstance(variable, Input) and variable.grad() is None and not numeric[name].any():
            subject.not_checked[name] = "does not reach these outputs"
            del subject.variables[name]
            continue
        row = compare(name, analytic[name], numeric[name], tolerance, noise)
        rounding = SLOPE_ROUNDING[method] * subject.rounding_of_slopes(name)
        row.ok = row.ok or _is_rounding(row, rounding)
        rows.append(row)
    for row in rows:
        if not row.ok and row.error <= 10 * _FLOAT32_TOLERANCE:
            _forgive_float32(row, subject, analytic)
    return rows


def _is_rounding(row: Row, rounding: float) -> bool:
    """Whether two gradients of one shape differ by no more than rounding."""
    if row.analytic.shape != row.numeric.shape:
        return False
    return bool(numpy.abs(row.analytic - row.numeric).max(initial=0.0) <= rounding)


def _forgive_float32(row: Row, subject: Subject, analytic: dict[str, HostArray]) -> None:
    """A gradient made of float32 numbers cannot be better than float32."""
    tolerance = _FLOAT32_TOLERANCE * (10 if subject.in_single else 1)
    with numpy.errstate(all="ignore"):
        rounded = row.analytic.astype("float32").astype("float64")
    in_float32 = row.analytic.size > 0 and numpy.array_equal(rounded, row.analytic)
    if not (in_float32 or subject.in_single):
        rounding = subject.rounding_of_backward(row.name, analytic)
        tolerance = 1e3 * rounding if 1e-10 < rounding < 1e-6 else 0.0
    if row.error <= tolerance:
        row.ok = True
        evidence = (
            f"the gradient of {row.name} was computed in float32, and it is off by "
            f"{row.error:.0e}, about what float32 loses; here {tolerance:.0e} is tolerated"
        )
        row.causes = [Cause(FLOAT32, evidence, row.error)]


def accept_means(subject: Subject, rows: list[Row]) -> list[Check]:
    """Gradients of all weights divided by the number of samples, while those of inputs are right.

    So it is agreed where the gradient with respect to the outputs is that of a sum of losses, and
    the cost is their mean.
    """
    bad = [row for row in rows if not row.ok]
    held = [row.name for row in rows if not isinstance(subject.variables.get(row.name), Input)]
    names = [row.name for row in bad]
    data: Any = subject.inputs[0] if subject.inputs else None
    is_of_weights = set(held) <= set(names) and subject.input_names[:1] != names[:1]
    if len(bad) < 2 or not is_of_weights or not is_real(data) or data.ndim < 2:
        return []
    for axis, letter in ((-1, "columns"), (0, "rows")):
        n = data.shape[axis]
        shapes = [row.numeric.shape for row in bad]
        if any(shape and shape[axis] == n for shape in shapes):  # of each sample, no mean over them
            continue
        if n > 1 and all(_is_multiple(row, 1 / n) for row in bad):
            for row in bad:
                row.ok, row.error = True, 0.0
            told = (
                f"the gradients of {', '.join(names)} are means over the {n} {letter} of the first "
                "input: right where dy belongs to a sum of losses"
            )
            return [Check("means", True, told)]
    return []


def _is_multiple(row: Row, factor: float) -> bool:
    same = row.analytic.shape == row.numeric.shape
    return same and bool(numpy.allclose(row.analytic, factor * row.numeric, rtol=1e-6, atol=1e-12))
