"""Requirements on a layer besides right gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy

from deepnlp.backend import Generator, asnumpy
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.causes import Cause
from deepnlp.gradcheck.linearity import check_linearity
from deepnlp.gradcheck.report import Check, Row
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.variables import Weight
from deepnlp.gradcheck.walking import HostArray
from deepnlp.layers.recurrent import TimeRecurrent


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
    told = (
        f"after forward(x') and forward(x), the gradient of {', '.join(stale)} is not that for x: "
        "backward reads what an earlier forward saved"
    )
    return Check("cache", False, told) if stale else None


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
