"""The check of a reader's own backward pass, with the diagnosis of what is wrong in it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from deepnlp.backend import asarray
from deepnlp.exercises.values import compare_values
from deepnlp.exercises.verdict import ERROR, Verdict, is_empty
from deepnlp.gradcheck import CAUSES, Report, check_gradients
from deepnlp.gradcheck.causes import ZERO


def check_backward(
    layer: Any,
    *inputs: Any,
    expected: Any = None,
    tolerance: float = 1e-6,
    hints: dict[str, str] | None = None,
    weights: tuple[str, ...] = (),
) -> Verdict:
    """Check forward against the right outputs, then backward against numerical gradients.

    Parameters
    ----------
    layer : object with ``forward`` and ``backward``
        An object of the reader's class, with pairs such as ``W`` and ``dW``, lists ``params`` and
        ``grads``, or Parameters.
    *inputs : arrays
        What forward takes.
    expected : array or tuple of arrays, optional
        What forward should give.
    tolerance : float
        Of the outputs, relative to the largest.
    hints : dict of str to str, optional
        A further sentence by the name of the diagnosis.
    weights : tuple of str
        Names of the weights whose gradients backward must give; without them a class that
        forgets to set one would have nothing wrong with it.

    Returns
    -------
    Verdict
        Its diagnosis is the first cause that :func:`deepnlp.gradcheck.check_gradients` names.

    Examples
    --------
    >>> from deepnlp.layers import Tanh
    >>> check_backward(Tanh(), np.array([[0.5, -1.0]])).ok
    True
    """
    owner = type(layer).__name__
    for method in ("forward", "backward"):
        if not callable(getattr(layer, method, None)):
            return Verdict.empty(f"{owner} has no {method}")
    tried = copy.deepcopy(layer)
    outputs = tried.forward(*inputs)
    if is_empty(outputs) or (isinstance(outputs, tuple) and any(map(is_empty, outputs))):
        return Verdict.empty("forward returned None")
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    if expected is not None:
        verdict = _compare_outputs(outputs, expected, tolerance)
        if not verdict.ok:
            return verdict
    dys = [asarray(np.ones_like(np.asarray(y))) for y in outputs]
    gradients = tried.backward(*dys)
    has_float_input = any(np.asarray(x).dtype.kind in "fc" for x in inputs)
    if has_float_input and is_empty(gradients):
        kept = [name for name in weights if not is_empty(getattr(tried, f"d{name}", None))]
        if kept:
            set_ = ", ".join(f"d{name}" for name in kept)
            return Verdict.wrong("dx missing", f"backward set {set_}; it must also return dx.")
        return Verdict.empty("backward returned None")
    report = check_gradients(layer, *inputs)
    found = {row.name for row in report.rows}
    missing = [name for name in weights if name not in found]
    if missing and not any(name.startswith("params") for name in found):
        named = ", ".join(f"d{name}" for name in missing)
        return Verdict.wrong(
            ZERO, f"backward left no {named}. Is it set in backward, and spelt so?"
        )
    if report.ok:
        return Verdict.right(f"Every gradient agrees with the numbers, to {report.error:.0e}.")
    return _diagnosis(report, hints or {})


def _compare_outputs(outputs: tuple[Any, ...], expected: Any, tolerance: float) -> Verdict:
    right = expected if isinstance(expected, tuple) else (expected,)
    if len(outputs) != len(right):
        return Verdict.wrong(
            "wrong type", f"forward should give {len(right)} arrays, it gives {len(outputs)}."
        )
    for number, (got, want) in enumerate(zip(outputs, right, strict=True), start=1):
        which = f"output {number} of forward" if len(right) > 1 else "the output of forward"
        verdict = compare_values(got, want, which, tolerance)
        if not verdict.ok:
            return verdict
    return Verdict.right("forward is right.")


def _diagnosis(report: Report, hints: dict[str, str]) -> Verdict:
    """The verdict on a wrong backward: the rows that are off, and the likeliest cause."""
    wrong = [row for row in report.rows if not row.ok]
    right = [row.name for row in report.rows if row.ok]
    names = ", ".join(row.name for row in wrong)
    off = f"Wrong: {names}." + (f" Right: {', '.join(right)}." if right else "")
    if not report.causes:
        return Verdict.wrong(ERROR, off)
    cause = report.causes[0]
    lines = [off, f"Likely cause: {cause}.", CAUSES[cause.name]]
    if cause.name in hints:
        lines.append(hints[cause.name])
    return Verdict.wrong(cause.name, "\n".join(lines))
