"""All gradients together, along one random direction: for large models."""

from __future__ import annotations

import math

import numpy

from deepnlp.backend import Generator
from deepnlp.gradcheck.comparing import NOISE, SLOPE_ROUNDING
from deepnlp.gradcheck.numeric import typical_size
from deepnlp.gradcheck.report import Row
from deepnlp.gradcheck.shapes import told_shapes
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.walking import HostArray

ALL = "all gradients"
"""Name of the row for all together."""


def compare_directions(
    subject: Subject, analytic: dict[str, HostArray], step: str, tolerance: float, rng: Generator
) -> list[Row]:
    """A row for all gradients together; one for each alone only where these disagree."""
    directions = subject.random_directions(rng)
    rows = [_row(subject, analytic, directions, ALL, list(directions), step, tolerance)]
    if not rows[0].ok:
        for name in directions:
            rows.append(_row(subject, analytic, directions, name, [name], step, tolerance))
    return rows


def _row(
    subject: Subject,
    analytic: dict[str, HostArray],
    directions: dict[str, HostArray],
    title: str,
    names: list[str],
    step: str,
    tolerance: float,
) -> Row:
    """One number: the slope along a direction, relative to the size of its terms."""
    wrong = [name for name in names if analytic[name].shape != directions[name].shape]
    if wrong:
        found, wanted = analytic[wrong[0]], directions[wrong[0]]
        note = told_shapes(wrong[0], found.shape, wanted.shape)
        return Row(title, math.inf, (), False, found, wanted, note=note)
    found_slope = sum(float((analytic[name] * directions[name]).sum()) for name in names)
    sizes = {name: typical_size(subject.variables[name].get()) for name in names}
    size = sum(float(((analytic[name] * sizes[name]) ** 2).sum()) for name in names) ** 0.5
    slope = subject.slope({name: directions[name] for name in names}, step)
    error = abs(found_slope - slope) / max(abs(slope), size, NOISE[step] * subject.scale(), 1e-300)
    error = error if math.isfinite(error) else math.inf
    rounding = SLOPE_ROUNDING[step] * max(
        (subject.rounding_of_slopes(name) * max(sizes[name], 1.0) for name in names), default=0.0
    )
    ok = bool(error <= tolerance or abs(found_slope - slope) <= rounding)
    return Row(title, error, (), ok, numpy.array(found_slope), numpy.array(slope))
