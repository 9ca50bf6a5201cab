"""Checking a backward pass against numbers."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy

from deepnlp.backend import Generator
from deepnlp.gradcheck.behaviour import check_behaviour
from deepnlp.gradcheck.causes import FLOAT32, Cause
from deepnlp.gradcheck.numeric import HostArray
from deepnlp.gradcheck.report import Check, Report, Row
from deepnlp.gradcheck.subject import Subject

DIAGNOSIS = "deepnlp.diagnosis"
"""The package that names the causes of wrong gradients; it is imported by name when needed."""

METHODS = ("auto", "complex", "central", "direction")
TOLERANCES = {"complex": 1e-10, "central": 1e-6}

# A gradient this many times smaller than |f| is rounding: it counts as zero.
# (Where the analytic gradient is the one that is rounded, see Subject.rounding_of_slopes.)
_NOISE = {"complex": 1e-15, "central": 1e-12}
# Of saturated functions; what a difference loses is divided by the step besides.
_SLOPE_ROUNDING = {"complex": 1.0, "central": 1e3}
# What a chain of operations in float32 may lose, relative to the largest entry.
_FLOAT32_TOLERANCE = 2e-4
_KEEP = "a weight W is checked if it is a Parameter, has dW beside it, or is in params and grads"


def check_gradients(
    layer: Any,
    *inputs: Any,
    method: str = "auto",
    rng: Generator | None = None,
    tolerance: float | None = None,
) -> Report:
    """Check every gradient that a backward gives: of inputs, parameters and initial states.

    The layer is copied and checked in float64, so that it is left as it was. Before each forward,
    hidden states, dropout counters and random generators are put back. Recurrent layers that
    carry no state yet start from a random one, so that ``h0`` and ``c0`` are checked too. A wrong
    gradient is compared with those that known mistakes would give: ``row.causes`` says which.

    Parameters
    ----------
    layer : Layer, model, or any object with ``forward`` and ``backward``
        A class of your own may hold its gradients as Parameters, as two lists or dicts ``params``
        and ``grads``, or as pairs of attributes ``W`` and ``dW``.
    *inputs : arrays
        What forward takes. Integers (ids, targets) have no gradient, and neither do the
        arguments called ``targets``, ``labels`` or ``t``.
    method : {"auto", "complex", "central", "direction"}
        ``"auto"`` takes the complex step where it agrees with a central difference along one
        random direction, that is, where the forward is analytic. ``"direction"`` is for large
        models: all gradients together, along one random direction, at the cost of a few forwards.
    rng : numpy.random.Generator, optional
        For the weights of the outputs; a fixed one by default.
    tolerance : float, optional
        Largest error that is ok: 1e-10 for the complex step, 1e-6 for central differences.

    Returns
    -------
    Report

    Raises
    ------
    TypeError
        If the object has no forward or backward.
    ValueError
        If the method is unknown, if there is no gradient to check, or if the complex step is
        requested and the forward is not analytic.

    Examples
    --------
    >>> from deepnlp.layers import Tanh
    >>> import numpy as np
    >>> print(check_gradients(Tanh(), np.array([[0.5, -1.0]])).ok)
    True
    """
    if method not in METHODS:
        raise ValueError(f"check_gradients: method should be one of {METHODS}, got {method!r}")
    for name in ("forward", "backward"):
        if not callable(getattr(layer, name, None)):
            raise TypeError(f"check_gradients: a {type(layer).__name__} has no {name}")
    rng = numpy.random.default_rng(0) if rng is None else rng
    subject = Subject(layer, inputs)
    subject.draw_states(rng)
    subject.draw_weights(rng)
    analytic = subject.analytic_gradients()
    unchecked = subject.without_gradient()
    if not analytic:
        weights = f"; no gradient was found for {', '.join(unchecked)}" if unchecked else ""
        raise ValueError(
            f"check_gradients: nothing to check: {subject.name} takes no input of floating-point "
            f"numbers and holds no gradient that is found{weights}; {_KEEP}"
        )
    note = f"no gradient found for {', '.join(unchecked)}: {_KEEP}"
    notes = [Check("not checked", True, note)] if unchecked else []
    if method == "direction":
        report = _check_direction(subject, analytic, rng, tolerance)
        report.checks += notes
        return report
    checks, failed = check_behaviour(subject, analytic)
    checks += notes
    method, numeric = _numeric_gradients(subject, method, rng)
    tolerance = TOLERANCES[method] if tolerance is None else tolerance
    noise = _NOISE[method] * subject.scale()
    rows = []
    for name in subject.variables:
        row = compare(name, analytic[name], numeric[name], tolerance, noise)
        rounding = _SLOPE_ROUNDING[method] * subject.rounding_of_slopes(name)
        row.ok = row.ok or _is_rounding(row, rounding)
        rows.append(row)
    _forgive_float32(rows, subject.in_single)
    if not all(row.ok for row in rows):
        import_module(DIAGNOSIS).diagnose(subject, rows, failed)
    return Report(subject.name, method, tolerance, rows + failed, checks)


def _numeric_gradients(
    subject: Subject, method: str, rng: Generator
) -> tuple[str, dict[str, HostArray]]:
    """All gradients by one method, and the method that was used."""
    if method != "central":
        # A forward may lose or refuse the imaginary part anywhere.
        try:
            if subject.is_analytic(rng):
                found = {n: subject.numeric_gradient(n, "complex") for n in subject.variables}
                return "complex", found
        except (TypeError, ValueError, Warning):
            pass
        if method == "complex":
            raise ValueError(
                f"check_gradients: the forward of {subject.name} is not analytic, or loses the "
                "imaginary part on the way (as np.abs, np.linalg.norm and float32 do): use "
                "method='central'"
            )
    return "central", {n: subject.numeric_gradient(n, "central") for n in subject.variables}


def _is_rounding(row: Row, rounding: float) -> bool:
    """Whether two gradients of one shape differ by no more than rounding."""
    if row.analytic.shape != row.numeric.shape:
        return False
    return bool(numpy.abs(row.analytic - row.numeric).max(initial=0.0) <= rounding)


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

    Returns
    -------
    Row
    """
    if analytic.shape != numeric.shape:
        return Row(name, math.inf, (), False, analytic, numeric)
    if numeric.size == 0:
        return Row(name, 0.0, (), True, analytic, numeric)
    difference = numpy.abs(analytic - numeric)
    difference = numpy.where(numpy.isnan(difference), math.inf, difference)
    worst = numpy.unravel_index(int(difference.argmax()), difference.shape)
    index = tuple(int(i) for i in worst)
    largest, scale = float(difference[index]), float(numpy.abs(numeric).max())
    if max(largest, scale) <= noise:
        return Row(name, 0.0, index, True, analytic, numeric)
    error = largest / scale if scale > 0 else math.inf
    return Row(name, error, index, error <= tolerance, analytic, numeric)


def _check_direction(
    subject: Subject, analytic: dict[str, HostArray], rng: Generator, tolerance: float | None
) -> Report:
    """All gradients along one random direction; each alone only where that disagrees."""
    step = "complex" if subject.is_analytic(rng) else "central"
    tolerance = TOLERANCES[step] if tolerance is None else tolerance
    directions = subject.random_directions(rng)
    groups = [("all gradients", list(directions))]
    rows = [_directional_row(subject, analytic, directions, *groups[0], step, tolerance)]
    if not rows[0].ok:
        for name in directions:
            row = _directional_row(subject, analytic, directions, name, [name], step, tolerance)
            rows.append(row)
    return Report(subject.name, "direction", tolerance, rows)


def _directional_row(
    subject: Subject,
    analytic: dict[str, HostArray],
    directions: dict[str, HostArray],
    title: str,
    names: list[str],
    step: str,
    tolerance: float,
) -> Row:
    """One number: the slope along a direction, relative to the size of its terms."""
    if any(analytic[name].shape != directions[name].shape for name in names):
        nothing = numpy.zeros(())
        return Row(title, math.inf, (), False, nothing, nothing)
    found = sum(float((analytic[name] * directions[name]).sum()) for name in names)
    size = sum(float((analytic[name] ** 2).sum()) for name in names) ** 0.5
    slope = subject.slope({name: directions[name] for name in names}, step)
    error = abs(found - slope) / max(abs(slope), size, _NOISE[step] * subject.scale(), 1e-300)
    rounding = _SLOPE_ROUNDING[step] * max(subject.rounding_of_slopes(name) for name in names)
    ok = bool(error <= tolerance or abs(found - slope) <= rounding)
    return Row(title, error, (), ok, numpy.array(found), numpy.array(slope))


def _forgive_float32(rows: list[Row], single: bool) -> None:
    """Gradients made of float32 numbers cannot be better than float32."""
    tolerance = _FLOAT32_TOLERANCE * (10 if single else 1)
    for row in rows:
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
