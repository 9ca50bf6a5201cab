"""The rows and checks of a report: gradients compared, and what else is required of a layer."""

import copy
import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy

from deepnlp.backend import Generator, asnumpy
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.adapters import WithContext
from deepnlp.gradcheck.causes import FLOAT32, FORWARD, NOT_A_NUMBER, Cause, say
from deepnlp.gradcheck.numeric import typical_size
from deepnlp.gradcheck.report import Check, Report, Row
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.variables import Input, Weight
from deepnlp.gradcheck.walking import HostArray, is_real
from deepnlp.layers.recurrent import TimeRecurrent

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
        evidence = say("float32", name=row.name, error=row.error, tolerance=tolerance)
        row.causes = [Cause(FLOAT32, evidence, row.error)]


def accept_means(subject: Subject, rows: list[Row]) -> list[Check]:
    """Gradients of the weights divided by the number of samples, while those of inputs are right.

    So it is agreed where the gradient with respect to the outputs is that of a sum of losses, and
    the cost is their mean. Most must be means, and the others neither means nor sums.
    """
    data: Any = subject.inputs[0] if subject.inputs else None
    wrong = [row.name for row in rows if not row.ok]
    if not is_real(data) or data.ndim < 2 or subject.input_names[:1] == wrong[:1]:
        return []
    for axis, letter in ((-1, "columns"), (0, "rows")):
        n = data.shape[axis]
        others = [row for row in rows if row.name != subject.input_names[0] and row.numeric.shape]
        # What is there for each sample is no mean over them.
        held = [row for row in others if row.numeric.shape[axis] != n]
        means = [row for row in held if n > 1 and not row.ok and _is_multiple(row, 1 / n)]
        rest = [row for row in held if all(row is not mean for mean in means)]
        names = {"names": ", ".join(row.name for row in means), "n": n, "letter": letter}
        sums = ", ".join(row.name for row in rest if row.ok)
        if means and sums:
            return [Check("means", True, say("means and sums", sums=sums, **names))]
        if len(means) > max(1, len(rest)) and not sums:
            for row in means:
                row.ok, row.error = True, 0.0
            return [Check("means", True, say("means", **names))]
    return []


def as_sums(subject: Subject, rows: list[Row], limit: float) -> tuple[list[Row], list[Check]]:
    """The rows where the gradients of all weights are means, as if they were sums; else none.

    A mean stays what it is where every sample is given twice, whatever else is wrong with it.
    """
    data: Any = subject.inputs[0] if subject.inputs else None
    for axis, letter in ((-1, "columns"), (0, "rows")) if is_real(data) and data.ndim > 1 else ():
        n, twice = data.shape[axis], copy.deepcopy(subject)
        for values in (twice.inputs, twice.weights):
            for k, value in enumerate(values):
                is_ids = numpy.asarray(value).dtype.kind in "iu"
                if numpy.ndim(value) > 1 - is_ids and numpy.shape(value)[axis] == n:
                    values[k] = numpy.concatenate([value, value], axis)
        try:
            found = twice.analytic_gradients()
        except Exception:  # it takes no other number of samples
            continue
        held = {r.name: r.analytic for r in rows if r.name in found and r.analytic.any()}
        held = {name: g for name, g in held.items() if g.shape == found[name].shape}
        if len(held) > 1 and all(numpy.allclose(found[name], g) for name, g in held.items()):
            subject.means = dict.fromkeys(held, axis)
            told = say("means", names=", ".join(held), n=n, letter=letter)
            sums = [compare(r.name, n * r.analytic, r.numeric, limit)
                    if r.name in held else replace(r, causes=[]) for r in rows]  # fmt: skip
            return sums, [Check("means", True, told)]
    return [], []


def _is_multiple(row: Row, factor: float) -> bool:
    same = row.analytic.shape == row.numeric.shape
    return same and bool(numpy.allclose(row.analytic, factor * row.numeric, rtol=1e-6, atol=1e-12))


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


def compare_each(
    subject: Subject, analytic: dict[str, HostArray], step: str, tolerance: float, rng: Generator
) -> list[Row]:
    """A row for each gradient alone, along a direction; the first wrong one entry by entry."""
    directions = subject.random_directions(rng)
    rows: list[Row] = []
    for name in directions:
        row = _row(subject, analytic, directions, name, [name], step, tolerance)
        is_first = not row.note and not row.ok and all(one.ok for one in rows)
        if is_first or (row.note and row.analytic.size == directions[name].size):
            numeric = subject.numeric_gradient(name, step, analytic[name])
            row = compare(name, analytic[name], numeric, tolerance, NOISE[step] * subject.scale())
        rows.append(row)
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


# Large, so that a clip inside shows, and of both signs, so that a mask on dy does.
_FACTORS = (-4000.0, 1500.0)
_TOLERANCES = {False: 1e-7, True: 2e-3}  # of float64, and where numbers are in float32

Gradients = dict[str, HostArray]


def ignores_dout(subject: Subject, analytic: Gradients) -> bool:
    """Whether the backward of a loss gives the same for any dout."""
    if not subject.caller.takes_gradients or isinstance(subject.caller, WithContext):
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
    return Check("linear in dy", False, say("not linear", names=", ".join(off)))


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


def check_behaviour(
    subject: Subject, analytic: dict[str, HostArray], rng: Generator, is_linear: bool = True
) -> tuple[list[Check], list[Row]]:
    """All checks except those of the gradients.

    Parameters
    ----------
    subject : Subject
        Which has just gone backward.
    analytic : dict of str to array
        The gradients it gave.
    rng : numpy.random.Generator
        For a second dy.
    is_linear : bool
        Whether backward should be linear in dy: not that of a loss that ignores dout = 1.

    Returns
    -------
    checks : list of Check
    failed : list of Row
        One for each check that failed, with its cause.
    """
    checks, failed = [], []
    for check, cause in _all(subject, analytic, rng, is_linear):
        checks.append(check)
        if not check.ok:
            failed.append(failed_row(subject, check, cause))
    return checks, failed


def failed_row(subject: Subject, check: Check, cause: str) -> Row:
    """The row of a check that failed."""
    nothing = numpy.zeros(())
    told = Cause(cause, f"{subject.name}: {check.note}")
    return Row(check.name, math.inf, (), False, nothing, nothing, [told])


def _all(
    subject: Subject, analytic: dict[str, HostArray], rng: Generator, is_linear: bool
) -> Iterator[tuple[Check, str]]:
    # The order matters: the second backward must follow the first.
    yield _second_backward(subject), c.TWO_BACKWARDS
    yield _accumulation(subject, analytic), c.ASSIGNED
    yield _inputs(subject), c.INPUT_CHANGED
    yield _outputs(subject), c.CACHE
    for told, cause in ((_stale(subject, analytic), c.CACHE), (_rebound(subject), c.ASSIGNED)):
        if told is not None:
            yield told, cause
    linear = check_linearity(subject, analytic, rng) if is_linear else None
    if linear is not None:
        yield linear, c.NOT_LINEAR
    state = _state(subject)
    if state is not None:
        yield state, c.STATE_WRONG


def _second_backward(subject: Subject) -> Check:
    """A forward allows one backward: its saved values may be gone or replaced."""
    refused = subject.backward_again()
    if refused:
        return Check("second backward", True, "refused")
    provided = type(subject.layer).__module__.startswith("deepnlp.")
    return Check("second backward", not provided, "not refused: it runs on what is left")


def _accumulation(subject: Subject, analytic: dict[str, HostArray]) -> Check:
    """Two passes give twice the gradient, where gradients are Parameters."""
    weights = [name for name, v in subject.variables.items() if isinstance(v, Weight)]
    subject.zero_grad()
    subject.pass_again(times=2)
    twice = subject.read_gradients()
    assigned = [
        name
        for name, variable in subject.variables.items()
        if name not in subject.input_names
        and variable.grad() is not None
        and not numpy.allclose(twice[name], 2 * analytic[name], rtol=1e-6, atol=1e-12)
        and not name.endswith(("h0", "c0"))
    ]
    broken = [
        name
        for name in assigned
        if name in weights and numpy.allclose(twice[name], analytic[name], rtol=1e-6, atol=1e-12)
    ]
    if broken:
        told = f"after two passes the gradient of {', '.join(broken)} is that of one"
        return Check("two passes", False, told)
    if assigned:
        return Check("two passes", True, f"not added up, for {', '.join(assigned)}")
    return Check("two passes", True, "added up" if len(twice) else "nothing to add up")


def _inputs(subject: Subject) -> Check:
    changed = [told for told in subject.changed if not told.startswith("output")]
    if changed:
        return Check("inputs", False, f"changed in place: {', '.join(changed)}")
    return Check("inputs", True, "left as they were")


def _outputs(subject: Subject) -> Check:
    changed = [told for told in subject.changed if told.startswith("output")]
    if changed:
        return Check("outputs", False, f"changed in place: {', '.join(changed)}")
    if not subject.earlier_output_is_kept():
        return Check("outputs", False, "an output is overwritten by the next forward")
    return Check("outputs", True, "left as they were")


def _stale(subject: Subject, analytic: dict[str, HostArray]) -> Check | None:
    """After forward(x') and forward(x), backward uses what the second one saved."""
    stale = subject.stale_gradients(analytic)
    return Check("cache", False, say("stale", names=", ".join(stale))) if stale else None


def _rebound(subject: Subject) -> Check | None:
    """Gradients in a list are written into its arrays, all or none of them."""
    kept, rebound = subject.kept_entries()
    if not rebound:
        return None
    name = rebound[0]
    told = f"backward puts another array at {', '.join(rebound)}"
    if kept:
        told += f", not at {', '.join(kept)}: who collected grads before sees the old one. Write "
        return Check("grads", False, f"{told}{name}[...] = ...")
    return Check("grads", True, f"{told}: collect grads anew after each backward")


def _state(subject: Subject) -> Check | None:
    """The state of a layer over time after a forward is its output at the last step."""
    if not isinstance(subject.layer, TimeRecurrent) or len(subject.inputs) > 1:
        return None  # with lengths, the output at the last step may be past the end
    (hs,) = subject.forward()
    same = numpy.array_equal(asnumpy(subject.layer.h), hs[:, -1])
    return Check("state", same, "h is the last output" if same else "h is not the last output")


_OF_OUTPUTS = {False: 1e-6, True: 1e-3}  # of outputs in float64, in float32


def not_finite(subject: Subject, method: str) -> Report | None:
    """A report on outputs that are not finite: no gradient can be checked beside them."""
    outputs = subject.forward()
    told = []
    for which, y in _named(outputs):
        where = numpy.argwhere(~numpy.isfinite(y))
        if len(where):
            place = {"count": len(where), "size": y.size, "at": where[0].tolist()}
            told.append(say("not finite", which=which, **place))
    if not told:
        return None
    check = Check("forward", False, "; ".join(told))
    row = failed_row(subject, check, NOT_A_NUMBER)
    return Report(subject.name, "central" if method == "auto" else method, 0.0, [row], [check])


def compare_forward(report: Report, subject: Subject, reference: Any) -> None:
    """Add to a report whether forward gives what a reference, a function or a layer, gives."""
    positional, named = subject.caller.split(subject.fresh_inputs())
    right = getattr(reference, "forward", reference)(*positional, **named)
    wanted = [asnumpy(y) for y in (right if isinstance(right, tuple | list) else [right])]
    outputs = subject.forward()
    told = []
    if len(outputs) > len(wanted):
        told.append(f"it gives {len(outputs)} outputs, the reference {len(wanted)}")
    for (which, y), r in zip(_named(outputs), wanted, strict=False):
        told += _difference(which, y, r, _OF_OUTPUTS[subject.in_single])
    check = Check("forward", not told, "; ".join(told) or "agrees with the reference")
    report.checks.append(check)
    if told:
        report.rows.append(failed_row(subject, check, FORWARD))


def _difference(which: str, y: HostArray, right: HostArray, tolerance: float) -> list[str]:
    """What is wrong with an output, if anything is."""
    if y.shape != right.shape:
        return [f"{which} has shape {y.shape}, the reference gives {right.shape}"]
    with numpy.errstate(invalid="ignore"):
        off = numpy.abs(y - right)
    off = numpy.where(numpy.isnan(off), numpy.isnan(y) != numpy.isnan(right), off)
    if off.max(initial=0.0) <= tolerance * numpy.nanmax(numpy.abs(right), initial=0.0):
        return []
    index = numpy.unravel_index(int(off.argmax()), off.shape)
    at = f" at {[int(i) for i in index]}" if index else ""
    return [f"{which} differs from the reference, most{at}: {y[index]:.6g} for {right[index]:.6g}"]


def _named(outputs: list[HostArray]) -> list[tuple[str, HostArray]]:
    names = [f"output {k}" for k in range(len(outputs))]
    return list(zip(names if len(outputs) > 1 else ["the output"], outputs, strict=True))


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
        return c.TRANSPOSED, "it looks transposed: are two factors of a product in the wrong order?"
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
