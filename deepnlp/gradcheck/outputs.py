"""The outputs of a forward: whether they are finite, and whether they are right."""

from __future__ import annotations

from typing import Any

import numpy

from deepnlp.backend import asnumpy
from deepnlp.gradcheck.behaviour import failed_row
from deepnlp.gradcheck.causes import FORWARD, NOT_A_NUMBER
from deepnlp.gradcheck.report import Check, Report
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.walking import HostArray

_TOLERANCES = {False: 1e-6, True: 1e-3}  # of outputs in float64, in float32


def not_finite(subject: Subject, method: str) -> Report | None:
    """A report on outputs that are not finite: no gradient can be checked beside them."""
    outputs = subject.forward()
    told = []
    for which, y in _named(outputs):
        where = numpy.argwhere(~numpy.isfinite(y))
        if len(where):
            told.append(
                f"{len(where)} of {y.size} numbers in {which} are not finite, the first at "
                f"{where[0].tolist()}: there is no gradient to compare with"
            )
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
        told += _difference(which, y, r, _TOLERANCES[subject.in_single])
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
