"""Requirements besides right gradients: nothing changes in place, and dx is linear in dy."""

import math
from typing import Any

import numpy

from deepnlp.backend import Generator, asnumpy
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.adapters import WithContext
from deepnlp.gradcheck.causes import FORWARD, NOT_A_NUMBER, Cause, say
from deepnlp.gradcheck.comparing import Gradients, is_single, largest
from deepnlp.gradcheck.report import Check, Report, Row
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.variables import Weight
from deepnlp.gradcheck.walking import HostArray, near, same
from deepnlp.layers.recurrent import TimeRecurrent

# Large, so that a clip inside shows, and of both signs, so that a mask on dy does.
_FACTORS = (-4000.0, 1500.0)
_TOLERANCES = {False: 1e-7, True: 2e-3}  # of float64, and where numbers are in float32


def ignores_dout(subject: Subject, analytic: Gradients) -> bool:
    """Return whether the backward of a loss gives the same for any dout."""
    takes_dout = subject.caller.takes_gradients and not isinstance(subject.caller, WithContext)
    is_number = len(subject.weights) == 1 and subject.weights[0].size == 1
    is_of_numbers = all(value.size == 1 for value in subject.values().values())  # and no loss
    if not (takes_dout and is_number) or is_of_numbers:
        return False
    twice = subject.gradients_for([2.0 * subject.weights[0] + 1.0])
    return all(same(twice[name], gradient) for name, gradient in analytic.items())


def _linear(subject: Subject, analytic: Gradients, rng: Generator) -> Check | None:
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
    """Return whether a gradient is not linear; what is not finite is another matter."""
    if not one.shape == other.shape == both.shape:
        return True
    a, b = _FACTORS
    finite = numpy.isfinite(one) & numpy.isfinite(other) & numpy.isfinite(both)
    one, other, both = one[finite], other[finite], both[finite]
    size = abs(a) * largest(one) + abs(b) * largest(other)
    rounding *= abs(a) + abs(b)
    tolerance = _TOLERANCES[all(map(is_single, (one, other, both)))]
    return bool(largest(both - a * one - b * other) > tolerance * size + rounding)


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
    seen = [  # in this order: the second backward must follow the first
        (_second_backward(subject), c.TWO_BACKWARDS),
        (_accumulation(subject, analytic), c.ASSIGNED),
        (_inputs(subject), c.INPUT_CHANGED),
        (_outputs(subject), c.CACHE),
        (_stale(subject, analytic), c.CACHE),
        (_rebound(subject), c.ASSIGNED),
        (_linear(subject, analytic, rng) if is_linear else None, c.NOT_LINEAR),
        (_state(subject), c.STATE_WRONG),
    ]
    known = [(check, cause) for check, cause in seen if check is not None]
    failed = [failed_row(subject, check, cause) for check, cause in known if not check.ok]
    return [check for check, _ in known], failed


def failed_row(subject: Subject, check: Check, cause: str) -> Row:
    """The row of a check that failed."""
    nothing = numpy.zeros(())
    told = Cause(cause, f"{subject.name}: {check.note}")
    return Row(check.name, math.inf, (), False, nothing, nothing, [told])


def _second_backward(subject: Subject) -> Check:
    """A forward allows one backward: its saved values may be gone or replaced."""
    if subject.backward_again():
        return Check("second backward", True, "refused")
    provided = type(subject.layer).__module__.startswith("deepnlp.")
    return Check("second backward", not provided, "not refused: it runs on what is left")


def _accumulation(subject: Subject, analytic: dict[str, HostArray]) -> Check:
    """Two passes give twice the gradient, where gradients are Parameters."""
    twice, variables = subject.gradients_of_two(), subject.variables
    assigned = [
        name
        for name, once in analytic.items()
        if name not in subject.input_names
        and not name.endswith(("h0", "c0"))
        and variables[name].grad() is not None
        and not near(twice[name], 2 * once, atol=1e-12)
    ]
    weights = [name for name in assigned if isinstance(variables[name], Weight)]
    if broken := [name for name in weights if near(twice[name], analytic[name], atol=1e-12)]:
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
        is_ours = type(subject.layer).__module__.startswith("deepnlp.")
        return Check("outputs", not is_ours, "an output is overwritten by the next forward")
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
    layer = subject.layer
    if not isinstance(layer, TimeRecurrent) or not layer.shows_state or len(subject.inputs) > 1:
        return None  # with lengths, the output at the last step may be past the end
    (hs,) = subject.forward()
    is_last = numpy.array_equal(asnumpy(layer.state[0]), hs[:, -1])
    told = "h is the last output" if is_last else "h is not the last output"
    return Check("state", is_last, told)


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
        told += _difference(which, y, r, _OF_OUTPUTS[subject.precision > 1e-15])
    check = Check("forward", not told, "; ".join(told) or "agrees with the reference")
    report.checks.append(check)
    if told:
        report.rows.append(failed_row(subject, check, FORWARD))


def _difference(which: str, y: HostArray, right: HostArray, tolerance: float) -> list[str]:
    """Return what is wrong with an output, if anything is."""
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
