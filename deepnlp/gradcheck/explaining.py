"""Why a gradient is wrong: a diagnosis is asked, and what else is known is added."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy

from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.causes import Cause, say
from deepnlp.gradcheck.comparing import compare
from deepnlp.gradcheck.names import STATE, WEIGHT
from deepnlp.gradcheck.report import Check, Row
from deepnlp.gradcheck.shapes import reason_for_shape
from deepnlp.gradcheck.subject import Subject, in_numpy_form
from deepnlp.gradcheck.variables import Input
from deepnlp.gradcheck.walking import copy_of, is_real, near, states_kept

Diagnosis = Callable[[Subject, list[Row], list[Row]], None]
"""Gives wrong rows their causes; the second rows are those of checks that failed."""


def explain(
    subject: Subject, rows: list[Row], failed: list[Row], diagnosis: Diagnosis | None
) -> None:
    """Give wrong rows their causes; along a direction there is no diagnosis."""
    lines = subject.caller.lines
    if lines is not None:
        bad = next(row for row in rows if row.is_wrong)
        bad.causes = [_named(subject, bad, lines.told(bad, rows), diagnosis)]
        return
    if diagnosis is not None:
        _diagnose(subject, rows, failed, diagnosis)
    not_linear = [row.causes[0] for row in failed if row.name == "linear in dy"]
    for row in [row for row in rows if row.is_wrong]:
        unknown = not row.causes or row.causes[0].name == c.UNKNOWN
        if subject.returns_nothing and row.name in subject.input_names:
            told = say("returned None", name=row.name)
            row.causes = [Cause(c.ZERO, f"{subject.name}: {told}")]
        elif row.note and (other := _exchanged(row, rows)):
            told = say("exchanged", name=row.name, other=other.name)
            row.causes = [Cause(c.EXCHANGED, f"{subject.name}: {told}")]
        elif row.note:
            cause, reason = reason_for_shape(subject, row)
            first = row.causes[0] if row.causes else Cause(cause, f"{subject.name}: {row.note}")
            row.causes = [replace(first, evidence=f"{first.evidence}; {reason}"), *row.causes[1:]]
        elif unknown and not_linear:
            row.causes = not_linear + row.causes


def _exchanged(row: Row, rows: list[Row]) -> Row | None:
    """The other wrong row whose gradient stands in the place of this one, of another shape."""
    return next((r for r in rows if r.is_wrong and near(row.analytic, r.numeric, 1e-5)), None)


def _named(subject: Subject, row: Row, first: Cause, diagnosis: Diagnosis | None) -> Cause:
    """The cause of the first wrong value of lines, if one is found for the lines behind it."""
    known = replace(row)
    with states_kept():
        twin = in_numpy_form(subject, row.name)
        if twin is None or diagnosis is None:
            return first
        _diagnose(twin, [known], [], diagnosis)
    named = known.causes[0] if known.causes else first
    if named.name == c.UNKNOWN:
        return first
    return replace(named, evidence=f"{named.evidence}; {first.evidence}", place=first.place)


def _diagnose(subject: Subject, rows: list[Row], failed: list[Row], diagnosis: Diagnosis) -> None:
    """Look for causes; a gradient that the diagnosis cannot work with has none."""
    subject = in_numpy_form(subject) or subject
    try:
        diagnosis(subject, rows, failed)
    except Exception as error:  # the verdict on the gradients stands without it
        told = f"{subject.name}: the diagnosis ended in {type(error).__name__}: {error}"
        for row in rows:
            row.causes = row.causes or ([Cause(c.UNKNOWN, told)] if row.is_wrong else [])


# --- Means over the samples -----------------------------------------------------------------------


def accept_means(subject: Subject, rows: list[Row]) -> list[Check]:
    """Gradients of the weights divided by the number of samples, while those of inputs are right.

    So it is agreed where the gradient with respect to the outputs is that of a sum of losses, and
    the cost is their mean. Most must be means, and the others neither means nor sums.
    """
    wrong = [row.name for row in rows if row.is_wrong]
    if subject.input_names[:1] == wrong[:1]:
        return []
    weights = [row for row in rows if row.numeric.shape and _is_weight(subject, row.name)]
    for axis, letter, n in _axes_of_samples(subject):
        # What is there for each sample is no mean over them.
        held = [row for row in weights if row.numeric.shape[axis] != n]
        means = [row for row in held if n > 1 and row.is_wrong and _is_multiple(row, 1 / n)]
        rest = [row for row in held if all(row is not mean for mean in means)]
        names = {"names": ", ".join(row.name for row in means), "n": n, "letter": letter}
        sums = ", ".join(row.name for row in rest if row.ok)
        if not means or not {row.name for row in means} <= {*_stay(subject, axis, n)}:
            continue
        if sums:
            return [Check("means", True, say("means and sums", sums=sums, **names))]
        if len(means) > max(1, len(rest)):
            for row in means:
                row.ok, row.error = True, 0.0
            return [Check("means", True, say("means", **names), 1)]
    return []


def _is_weight(subject: Subject, name: str) -> bool:
    variable = subject.variables.get(name)
    return not isinstance(variable, Input) or _is_weights_name(variable.key)


def _is_weights_name(name: str) -> bool:
    return WEIGHT.search(name) is not None and STATE.search(name) is None


def explain_as_sums(
    subject: Subject, rows: list[Row], failed: list[Row], tolerance: float, diagnosis: Diagnosis
) -> list[Check]:
    """Look for causes again where gradients of weights are means, if more is known then."""
    means, told = _means(subject, rows) if _count_vague(rows) else ({}, [])
    if not means:
        return []
    n = subject.inputs[0].shape[next(iter(means.values()))]
    again = [
        compare(row.name, n * row.analytic, row.numeric, tolerance)
        if row.name in means
        else replace(row, causes=[])
        for row in rows
    ]
    subject.means = means
    _diagnose(subject, again, failed, diagnosis)
    if _count_vague(again) >= _count_vague(rows):
        subject.means = {}
        return []
    rows[:] = again
    return told


def _means(subject: Subject, rows: list[Row]) -> tuple[dict[str, int], list[Check]]:
    """The gradients that are means, with the axis of the samples; nothing unless all are.

    A mean stays what it is where every sample is given twice, whatever else is wrong with it.
    """
    for axis, letter, n in _axes_of_samples(subject):
        held = [row.name for row in rows if row.analytic.any()]
        held = [name for name in held if _is_weight(subject, name)]
        if len(held) > 1 and {*held} <= {*_stay(subject, axis, n)}:
            told = say("means", names=", ".join(held), n=n, letter=letter)
            return dict.fromkeys(held, axis), [Check("means", True, told, 1)]
    return {}, []


def _stay(subject: Subject, axis: int, n: int) -> list[str]:
    """The gradients that stay what they are where every sample is given twice.

    None where the outputs are not twice the same: then it is no axis of samples.
    """
    twice, once = copy_of(subject), subject.analytic_gradients()

    def double(value: Any) -> Any:
        is_ids = numpy.asarray(value).dtype.kind in "iu"
        is_long = numpy.ndim(value) > 1 - is_ids and numpy.shape(value)[axis] == n
        return numpy.concatenate([value, value], axis) if is_long else value

    names = subject.input_names
    twice.inputs = [v if _is_weights_name(k) else double(v)
                    for k, v in zip(names, twice.inputs, strict=True)]  # fmt: skip
    for variable in twice.variables.values():
        if isinstance(variable, Input):
            variable.inputs = twice.inputs
    twice.weights = list(map(double, twice.weights))
    try:
        outputs = zip(twice.forward(), subject.forward(), strict=True)
        found = twice.analytic_gradients()
    except Exception:  # it takes no other number of samples
        return []
    if not all(near(y, double(x), atol=1e-12) for y, x in outputs):
        return []
    return [n for n, g in once.items() if n in found and near(found[n], g, atol=1e-12)]


def _axes_of_samples(subject: Subject) -> list[tuple[int, str, int]]:
    """The axes of the first input along which samples may stand, their name and number."""
    data: Any = subject.inputs[0] if subject.inputs else None
    is_data = is_real(data) and data.ndim > 1
    return [(-1, "columns", data.shape[-1]), (0, "rows", data.shape[0])] if is_data else []


def _is_multiple(row: Row, factor: float) -> bool:
    return near(row.analytic, factor * row.numeric, atol=1e-12)


def _count_vague(rows: list[Row]) -> int:
    """How many wrong rows have no cause that says much."""
    causes = [row.causes[0].name for row in rows if row.is_wrong and row.causes]
    return sum(name in (c.UNKNOWN, c.FACTOR) for name in causes)
