"""Checking a backward pass against numbers."""

import io
import math
import sys
import types
from collections.abc import Collection, Mapping
from contextlib import nullcontext, redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy

from deepnlp.backend import Generator
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.adapters import BackwardError
from deepnlp.gradcheck.causes import Cause, say
from deepnlp.gradcheck.cells import text_of
from deepnlp.gradcheck.checks import (
    check_behaviour,
    compare_forward,
    failed_row,
    ignores_dout,
    not_finite,
)  # fmt: skip
from deepnlp.gradcheck.comparing import Comparison
from deepnlp.gradcheck.doubles import in_float64
from deepnlp.gradcheck.engines import assignment, is_operation, operations
from deepnlp.gradcheck.epsilon import note_epsilon
from deepnlp.gradcheck.explaining import Diagnosis, accept_means, explain, explain_as_sums
from deepnlp.gradcheck.report import NO_GRADIENT, Check, Report, Row
from deepnlp.gradcheck.rules import INTENDED
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.walking import HostArray, is_tensor, private

METHODS = ("auto", "complex", "central", "direction")


def check_gradients(
    layer: Any,
    /,
    *inputs: Any,
    method: str = "auto",
    rng: Generator | None = None,
    tolerance: float | None = None,
    reference: Any = None,
    constants: Collection[str] = (),
    gradients: Mapping[str, str] = types.MappingProxyType({}),
    quiet: bool = False,
    strict: bool = False,
    **named: Any,
) -> Report:
    """Check every gradient that a backward gives: of inputs, parameters and initial states.

    The layer is copied and checked in float64, so that it is left as it was. Before each forward,
    hidden states, dropout counters and random generators are put back. Recurrent layers that
    carry no state yet start from a random one, so that ``h0`` and ``c0`` are checked too. A wrong
    gradient is compared with those that known mistakes would give: ``row.causes`` says which.

    Parameters
    ----------
    layer : Layer, model, or any object with ``forward`` and ``backward``
        Also a pair of functions ``(forward, backward)``, of which the first may give a cache
        behind its outputs; a class whose forward and backward take a context ``ctx``; a function
        or a net that gives a loss and its gradients, or an output and its backward; a function of
        nodes that go backward by themselves, as in micrograd; or lines of code, as a text or the
        ``Path`` of a file. The gradient of a weight ``W`` is found in a Parameter, in ``dW``,
        ``grad_W`` or ``W_grad``, in lists or dicts ``params`` and ``grads``, or among what
        backward returns; a float array without one is reported as wrong.
    *inputs : arrays, or dicts, lists and tuples of arrays
        What forward takes. Integers (ids, targets) have no gradient, and neither do the
        arguments called ``targets``, ``labels`` or ``t``.
    method : {"auto", "complex", "central", "direction"}
        ``"auto"`` takes the complex step where it agrees with a central difference along one
        random direction, that is, where the forward is analytic. ``"direction"`` is for large
        models: all gradients together, along one random direction, at the cost of a few forwards.
    rng : numpy.random.Generator, optional
        For the weights of the outputs; they are fixed by default. They follow from it, but are
        none of its own numbers, which the inputs may be made of.
    tolerance : float, optional
        Largest error that is ok: 1e-10 for the complex step, 1e-6 for central differences.
    reference : callable or layer, optional
        Gives the right outputs for the same inputs; forward is compared with it.
    constants : collection of str
        Names of float arrays that are no weights and need no gradient.
    gradients : mapping of str to str
        Where gradients are whose names do not say it: ``{"layer.W": "layer.dLdW"}``, or
        ``{"W": "returned[1]"}`` for the second array that backward returns.
    quiet : bool
        Whether prints of the checked code are dropped.
    strict : bool
        Whether what is left to the reader to judge, such as an array without a gradient, is wrong.
    **named
        What forward takes by name, such as ``mask=mask``.

    Raises
    ------
    TypeError
        If the object has no forward or backward, or forward does not take these inputs.
    ValueError
        If the method is unknown, if there is no gradient to check, if forward gives something
        else each time, or if the complex step is requested and the forward is not analytic.
    RuntimeError
        If the code that is checked ends the program (``sys.exit``).

    Notes
    -----
    The code that is checked runs as it is, a few dozen times for the numbers of the complex step
    or the differences. Where a gradient is wrong, changed forms of its backward are evaluated as
    well, and never run (:mod:`deepnlp.diagnosis.rewriting`). Checks may run in several threads,
    of objects or functions that share no weights.

    Examples
    --------
    >>> from deepnlp.layers import Tanh
    >>> import numpy as np
    >>> print(check_gradients(Tanh(), np.array([[0.5, -1.0]])).ok)
    True
    """
    if method not in METHODS:
        raise ValueError(f"check_gradients: method should be one of {METHODS}, got {method!r}")
    rng = private(rng)
    silence = redirect_stdout(io.StringIO()) if quiet else nullcontext()
    with _doubles(layer), silence:
        subject = Subject(layer, inputs, named, constants, gradients)
        try:
            subject.draw_states(rng)
            subject.draw_weights(rng)
            comparison = Comparison(subject, method, rng, tolerance)
            diagnosis = None if method == "direction" else _diagnosis
            report = not_finite(subject, method) or _check(comparison, diagnosis)
            if reference is not None:
                compare_forward(report, subject, reference)
            report.strict = strict
            return report
        except BackwardError as error:
            check = Check("backward", False, str(error).removeprefix("check_gradients: "))
            row = failed_row(subject, check, c.UNKNOWN)
            return Report(subject.name, "central", 0.0, [row], [check], strict=strict)
        except SystemExit as error:
            ended = f"its code ended the program with sys.exit({error.code!r})"
            raise RuntimeError(f"{subject.name}: {ended}") from error
        finally:
            subject.leave()  # what is not the object's own is left as it was


def _doubles(given: Any) -> Any:
    """Context in which torch makes tensors of float64, if it is there or lines import it."""
    text = text_of(given) if isinstance(given, Path) else given
    if isinstance(text, str) and "torch" in text:
        import_module("torch")
    return in_float64(sys.modules["torch"]) if "torch" in sys.modules else nullcontext()


def _diagnosis(*given: Any) -> None:
    """The diagnosis, which is large, and not needed while all is right."""
    import_module("deepnlp.diagnosis").diagnose(*given)


def _check(comparison: Comparison, diagnosis: Diagnosis | None) -> Report:
    """Everything but the outputs."""
    subject, is_along = comparison.subject, comparison.method == "direction"
    analytic = subject.analytic_gradients()
    _expect_something(subject)
    remarks = []
    lines = subject.caller.lines
    if not subject.caller.needs_gradients and ignores_dout(subject, analytic):
        subject.weights = [numpy.ones_like(w) for w in subject.weights]
        analytic = subject.analytic_gradients()
        remarks.append(Check("dout", True, say("ignores dout", names=", ".join(analytic)), 1))
    if (cost := subject.caller.way.cost) is not None:
        remarks.append(Check("cost", True, say("cost", cost=cost.title)))
    checks: list[Check] = []
    failed: list[Row] = []
    if not is_along and lines is None:
        is_linear = not remarks
        checks, failed = check_behaviour(subject, analytic, comparison.rng, is_linear)
    rows = comparison.rows(analytic)
    kinks = comparison.kinks(rows)
    if kinks:
        told = f"not differentiable at {', '.join(kinks)} (a kink or a tie): checked a little aside"
        remarks.append(Check("kinks", True, told))
        rows = comparison.rows_aside()
    if lines is not None:
        remarks += comparison.rows_of_lines(rows)
    rows = comparison.note_small(rows)
    if not (is_along or lines or kinks):
        comparison.judge_small_entries(rows)
    if not any(row.is_wrong for row in rows) and not (is_along or lines or kinks):
        rows = comparison.rows_for_sizes() or comparison.rows_elsewhere() or rows
    if not any(row.is_wrong for row in rows) and not (is_along or kinks):
        remarks += comparison.note_elsewhere(rows)
    note_epsilon(subject, rows)
    if any(row.is_wrong for row in rows):
        remarks += _explain(comparison, rows, failed, diagnosis)
    if not is_along and any(row.is_wrong for row in rows):
        with suppress(Exception):  # a file that backward writes is left as these inputs leave it
            subject.analytic_gradients()
    rows += [_missing(subject, held) for held in subject.missing] + failed
    if (alone := subject.alone()) and lines is None and not any(row.is_wrong for row in rows):
        remarks.append(Check("one entry", True, say("one entry", names=", ".join(alone)), 1))
    if subject.not_checked:
        notes = [f"{name} ({reason})" for name, reason in subject.not_checked.items()]
        asked = [n for n in notes if INTENDED in n or "if it is a weight" in n]
        remarks.append(Check("not checked", True, ", ".join(notes), len(asked)))
    used, runs = comparison.step if not is_along else "direction", dict(subject.caller.runs)
    checks += remarks
    return Report(subject.name, used, comparison.tolerance, rows, checks, subject.sources(), runs)


def _explain(
    comparison: Comparison, rows: list[Row], failed: list[Row], diagnosis: Diagnosis | None
) -> list[Check]:
    """Give wrong rows their causes, and say where gradients of weights are means."""
    subject = comparison.subject
    shapes = [w.shape for w in subject.weights] if diagnosis is not None else []
    means = accept_means(subject, rows) if any(shapes) else []
    if any(row.is_wrong for row in rows) and not _is_of_operation(subject, rows):
        explain(subject, rows, failed, diagnosis)
    as_sums = []
    if shapes and all(shapes) and diagnosis is not None:
        as_sums = explain_as_sums(subject, rows, failed, comparison.tolerance, diagnosis)
    return as_sums or means


def _expect_something(subject: Subject) -> None:
    if not subject.variables and not subject.missing:
        listed = ", ".join(f"{n} ({reason})" for n, reason in subject.not_checked.items())
        more = f"; not checked: {listed}" if listed else ""
        raise ValueError(say("nothing", name=subject.name, more=more))


def _missing(subject: Subject, held: Any) -> Row:
    """The row of a weight for which no gradient was found."""
    told = Cause(c.ZERO, f"{subject.name}: {held.told_missing()}")
    shape = numpy.zeros(held.value.shape)
    return Row(held.name, math.inf, (), False, numpy.zeros(()), shape, [told], NO_GRADIENT)


def _is_of_operation(subject: Subject, rows: list[Row]) -> bool:
    """Return whether a single operation of an engine is wrong, and so the cause of wrong rows."""
    causes = _causes_of_operation(subject) if subject.caller.is_engine else []
    is_of_torch = any(map(is_tensor, subject.caller._results))  # all else is autograd's
    is_known = bool(causes) and (is_of_torch or causes[0].name != c.UNKNOWN)
    for row in rows if is_known else ():
        row.causes = causes if row.is_wrong else row.causes
    return is_known


def _causes_of_operation(subject: Subject) -> list[Cause]:
    """Return the causes of an operation that overwrites, and of the first wrong one."""
    is_one = is_operation(subject.caller.code.forward) or subject.caller.code.in_torch is not None
    found, overwriting = [] if is_one else operations(subject.raw_forward), list[Any]()
    causes = list[Cause]()
    for operation in found:
        try:
            code, given = operation.alone
            report = check_gradients(code, *given)
            causes = causes or ([] if report.ok else report.causes)
            if code is not operation:  # autograd adds up by itself
                continue
            before = _gradients_of_operation(operation)
            operation.seed = 1.0
            after = _gradients_of_operation(operation)
        except Exception:  # it does not run by itself
            continue
        if any(v.any() and numpy.allclose(v, after[n]) for n, v in before.items()):
            overwriting.append(operation)
    subject.caller.is_walk_right = len(found) < 2 or bool(causes)
    if not overwriting or len(overwriting) == len(found) > 1:  # backward may begin at zero
        return causes
    place = assignment(overwriting[0])
    told = say("keeps one", name=overwriting[0].__name__, place=place)
    return [Cause(c.ASSIGNED, f"{subject.name}: {told}", place=place), *causes]


def _gradients_of_operation(operation: Any) -> dict[str, HostArray]:
    subject = Subject(operation, tuple(operation.nodes))
    subject.draw_weights(private(None))
    return {n: v for n, v in subject.analytic_gradients().items() if n in subject.input_names}
