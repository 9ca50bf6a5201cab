"""Checking a backward pass against numbers."""

import io
import math
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy

from deepnlp.backend import Generator
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.causes import Cause, say
from deepnlp.gradcheck.cells import text_of
from deepnlp.gradcheck.checks import (
    ALL,
    accept_means,
    as_sums,
    check_behaviour,
    compare_all,
    compare_directions,
    compare_each,
    compare_forward,
    ignores_dout,
    not_finite,
    reason_for_shape,
)
from deepnlp.gradcheck.engines import assignment, is_operation, operations
from deepnlp.gradcheck.names import is_tensor
from deepnlp.gradcheck.report import NO_GRADIENT, Check, Report, Row
from deepnlp.gradcheck.subject import Subject, in_numpy_form
from deepnlp.gradcheck.walking import HostArray, more_is_copied, private, states_kept

METHODS = ("auto", "complex", "central", "direction")
TOLERANCES = {"complex": 1e-10, "central": 1e-6}

_MANY = 4000  # numbers in lines: more are compared along directions
_MOVES = 3  # how often the variables are moved away from kinks
_ENTRIES = 24  # of a wrong gradient, looked at for kinks


_one_at_a_time = threading.RLock()  # the diagnosis exchanges the code of functions for a while


def check_gradients(
    layer: Any,
    /,
    *inputs: Any,
    method: str = "auto",
    rng: Generator | None = None,
    tolerance: float | None = None,
    reference: Any = None,
    constants: Collection[str] = (),
    gradients: Mapping[str, str] = MappingProxyType({}),
    quiet: bool = False,
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
    well, and never run (:mod:`deepnlp.diagnosis.rewriting`). One check runs at a time; others, in
    other threads, wait for it.

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
    with _one_at_a_time, _doubles(layer), silence, more_is_copied():
        subject = Subject(layer, inputs, named, constants, gradients)
        try:
            subject.draw_states(rng)
            subject.draw_weights(rng)
            report = not_finite(subject, method) or _check(subject, method, rng, tolerance)
            if reference is not None:
                compare_forward(report, subject, reference)
            return report
        except SystemExit as error:
            ended = f"its code ended the program with sys.exit({error.code!r})"
            raise RuntimeError(f"{subject.name}: {ended}") from error
        finally:
            subject.leave()  # what is not the object's own is left as it was


@contextmanager
def _doubles(given: Any) -> Iterator[None]:
    """Context in which torch makes tensors of float64, if it is there or lines import it."""
    text = text_of(given) if isinstance(given, Path) else given
    if isinstance(text, str) and "torch" in text:
        import_module("torch")
    torch = sys.modules.get("torch")
    kind = torch.get_default_dtype() if torch is not None else None
    if torch is not None:
        torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        if torch is not None:
            torch.set_default_dtype(kind)


def _check(subject: Subject, method: str, rng: Generator, tolerance: float | None) -> Report:
    """Everything but the outputs."""
    analytic = subject.analytic_gradients()
    _expect_something(subject)
    remarks = []
    lines = subject.caller.lines
    if ignores_dout(subject, analytic):
        subject.weights = [numpy.ones_like(w) for w in subject.weights]
        analytic = subject.analytic_gradients()
        remarks.append(Check("dout", True, "backward ignores dout: right only while dout is 1"))
    checks: list[Check] = []
    failed: list[Row] = []
    if method != "direction" and lines is None:
        checks, failed = check_behaviour(subject, analytic, rng, is_linear=not remarks)
    used, rows = _compare(subject, analytic, method, rng, tolerance)
    kinks = _kinks(subject, rows, rng)
    if lines is not None:
        _forgive_kinks(subject, rows)
        if named := lines.forgive(rows):
            told = f"{', '.join(named)}, and what follows is right"
            remarks.append(Check("on the way", True, told))
    elif kinks:
        told = f"not differentiable at {', '.join(kinks)} (a kink or a tie): checked a little aside"
        remarks.append(Check("kinks", True, told))
        used, rows = _compare_aside(subject, method, rng, tolerance)
    elif all(row.ok for row in rows) and method != "direction":
        used, rows = _compare_elsewhere(subject, used, rows, rng, tolerance)
    tolerance = TOLERANCES[used] if tolerance is None else tolerance
    if method != "direction" and any(w.ndim for w in subject.weights):
        remarks += accept_means(subject, rows)
    _explain(subject, rows, failed, method)
    if method != "direction" and all(w.ndim for w in subject.weights):
        means = _by_means(subject, rows, failed, tolerance)
        remarks = [one for one in remarks if not means or one.name != "means"] + means
    if method != "direction" and not all(row.ok for row in rows):
        with suppress(Exception):  # a file that backward writes is left as these inputs leave it
            subject.analytic_gradients()
    rows += [_missing(subject, held) for held in subject.missing] + failed
    if subject.not_checked:
        notes = [f"{name} ({reason})" for name, reason in subject.not_checked.items()]
        remarks.append(Check("not checked", True, ", ".join(notes)))
    shown = "direction" if method == "direction" else used
    runs = dict(subject.caller.runs)
    return Report(subject.name, shown, tolerance, rows, checks + remarks, subject.sources(), runs)


def _compare_elsewhere(
    subject: Subject, step: str, rows: list[Row], rng: Generator, tolerance: float | None
) -> tuple[str, list[Row]]:
    """The same for other weights where all entries of one are equal, as gamma is 1 at first."""
    values, limit = subject.values(), TOLERANCES[step] if tolerance is None else tolerance
    plain = [n for n, v in values.items() if v.size > 1 and numpy.ptp(v) == 0]
    if not plain:
        return step, rows
    subject.move(
        values, {n: numpy.asarray(30 * rng.normal(size=values[n].shape)) for n in plain}, 1
    )
    analytic = subject.analytic_gradients()
    along = compare_directions(subject, analytic, step, limit, rng)
    if not along[0].ok:
        used, other = _compare(subject, analytic, step, rng, tolerance)
        if not all(row.ok for row in other) and not _kinks(subject, other, rng):
            return used, other
    subject.move(values, {}, 1)
    return step, rows


def _expect_something(subject: Subject) -> None:
    if not subject.variables and not subject.missing:
        listed = ", ".join(f"{n} ({reason})" for n, reason in subject.not_checked.items())
        more = f"; not checked: {listed}" if listed else ""
        raise ValueError(say("nothing", name=subject.name, more=more))


def _compare(
    subject: Subject,
    analytic: dict[str, HostArray],
    method: str,
    rng: Generator,
    tolerance: float | None,
) -> tuple[str, list[Row]]:
    """The rows, and the kind of step that was taken."""
    is_long = subject.caller.lines is not None and sum(map(numpy.size, analytic.values())) > _MANY
    if method == "direction" or is_long:
        step = "complex" if subject.is_analytic(rng) else "central"
        limit = TOLERANCES[step] if tolerance is None else tolerance
        if subject.caller.lines is not None:
            return step, compare_each(subject, analytic, step, limit, rng)
        return step, compare_directions(subject, analytic, step, limit, rng)
    step, numeric = _numeric_gradients(subject, analytic, method, rng)
    limit = TOLERANCES[step] if tolerance is None else tolerance
    rows = compare_all(subject, analytic, numeric, step, limit)
    if method == "auto" and step == "complex" and any(_is_doubtful(subject, row) for row in rows):
        return _compare(subject, analytic, "central", rng, tolerance)
    return step, rows


def _is_doubtful(subject: Subject, row: Row) -> bool:
    """Whether a central difference contradicts the complex step where a gradient seems wrong.

    A forward may lose the imaginary part, as np.var does, in terms that are too small to be seen
    beside others.
    """
    if row.ok or row.analytic.shape != row.numeric.shape:
        return False
    direction = numpy.zeros(row.numeric.shape)
    direction[row.index] = 1.0
    apart = subject.slope({row.name: direction}, "central") - row.numeric[row.index]
    return bool(abs(apart) > 0.5 * abs(row.analytic - row.numeric)[row.index])


def _compare_aside(
    subject: Subject, method: str, rng: Generator, tolerance: float | None
) -> tuple[str, list[Row]]:
    """The same beside a point at which forward has a kink: on one side, then on the other."""
    values = subject.values()
    for number in range(2 * _MOVES):
        if number % 2 == 0:
            steps = subject.random_directions(rng)
        subject.move(values, steps, 1 - 2 * (number % 2))
        used, rows = _compare(subject, subject.analytic_gradients(), method, rng, tolerance)
        is_wrong = not all(row.ok for row in rows)
        if (number % 2 and not is_wrong) or (is_wrong and not _kinks(subject, rows, rng)):
            break
    else:  # there is a kink wherever one looks
        if method != "direction":
            _forgive_kinks(subject, rows)
    return used, rows


def _forgive_kinks(subject: Subject, rows: list[Row]) -> None:
    """A gradient is not wrong where forward has none."""
    for row in rows:
        if not row.ok and row.analytic.shape == row.numeric.shape:
            row.ok = all(subject.has_kink_at(row.name, index) for index in _worst(row))


def _worst(row: Row) -> list[tuple[int, ...]]:
    """The entries of a wrong gradient that are furthest off, the worst first."""
    off = numpy.abs(row.analytic - row.numeric)
    order = numpy.argsort(-off, axis=None)[:_ENTRIES]
    places = [numpy.unravel_index(int(k), off.shape) for k in order if off.flat[k] > 0]
    return [tuple(map(int, place)) for place in places]


def _numeric_gradients(
    subject: Subject, analytic: dict[str, HostArray], method: str, rng: Generator
) -> tuple[str, dict[str, HostArray]]:
    """All gradients by one method, and the method that was used."""
    if method != "central" and subject.is_analytic(rng):
        try:
            return "complex", {n: subject.numeric_gradient(n, "complex") for n in subject.variables}
        except Exception as error:  # a forward may lose or refuse the imaginary part anywhere
            if method == "complex":
                raise _not_analytic(subject) from error
    if method == "complex":
        raise _not_analytic(subject)
    subject.look_for_float32(rng)
    return "central", {n: subject.numeric_gradient(n, "central", g) for n, g in analytic.items()}


def _not_analytic(subject: Subject) -> ValueError:
    return ValueError(say("not analytic", name=subject.name))


def _kinks(subject: Subject, rows: list[Row], rng: Generator) -> list[str]:
    """An entry of every wrong gradient at which forward has no slope, such as ``"x[0, 1]"``."""
    found = []
    for row in rows:
        if not row.ok and row.name == ALL and not row.note:
            return ["this input"] if subject.has_kink(subject.random_directions(rng)) else []
        # A gradient of another shape has no entries to look at.
        is_own = row.name in subject.variables and (
            row.analytic.shape == row.numeric.shape == subject.variables[row.name].get().shape
        )
        if is_own and not row.ok:
            kinks = (index for index in _worst(row) if subject.has_kink_at(row.name, index))
            found += [f"{row.name}{list(index)}" for index in islice(kinks, 1)]
    return found


def _explain(subject: Subject, rows: list[Row], failed: list[Row], method: str) -> None:
    """Give wrong rows their causes."""
    bad = [row for row in rows if not row.ok]
    lines = subject.caller.lines
    if lines is not None and (first := lines.told(rows)) is not None:
        row = next(row for row in rows if not row.ok)
        row.causes = [_named(subject, row, first)]
        return
    of_one = _causes_of_operation(subject) if bad and subject.caller.is_engine else []
    if of_one and of_one[0].name != c.UNKNOWN:
        for row in bad:
            row.causes = of_one
        return
    if method != "direction" and bad:
        _diagnose(subject, rows, failed)
    not_linear = [row.causes[0] for row in failed if row.name == "linear in dy"]
    for row in bad:
        unknown = not row.causes or row.causes[0].name == c.UNKNOWN
        if subject.returns_nothing and row.name in subject.input_names:
            told = say("returned None", name=row.name)
            row.causes = [Cause(c.ZERO, f"{subject.name}: {told}")]
        elif row.note:
            cause, reason = reason_for_shape(subject, row)
            first = row.causes[0] if row.causes else Cause(cause, f"{subject.name}: {row.note}")
            row.causes = [replace(first, evidence=f"{first.evidence}; {reason}"), *row.causes[1:]]
        elif unknown and not_linear:
            row.causes = not_linear + row.causes


def _by_means(subject: Subject, rows: list[Row], failed: list[Row], limit: float) -> list[Check]:
    """Look for causes again where gradients of weights are means, if more is known then."""

    def open_rows(found: list[Row]) -> int:
        vague = (c.UNKNOWN, c.FACTOR)
        return sum(not row.ok and row.causes[0].name in vague for row in found if row.causes)

    again, told = as_sums(subject, rows, limit) if open_rows(rows) else ([], [])
    if again:
        _diagnose(subject, again, failed)
    if not again or open_rows(again) >= open_rows(rows):
        subject.means = {}
        return []
    rows[:] = again
    return told


def _named(subject: Subject, row: Row, first: Cause) -> Cause:
    """The cause of the first wrong value of lines, if one is found for the lines behind it."""
    known = replace(row)
    with states_kept():
        twin = in_numpy_form(subject, row.name)
        if twin is None:
            return first
        _diagnose(twin, [known], [])
    named = known.causes[0] if known.causes else first
    if named.name == c.UNKNOWN:
        return first
    return replace(named, evidence=f"{named.evidence}; {first.evidence}", place=first.place)


def _causes_of_operation(subject: Subject) -> list[Cause]:
    """Of an operation that overwrites, and of the first that goes backward wrong by itself."""
    is_one = is_operation(subject.caller.code.forward) or is_tensor(subject.caller.node)
    found, overwriting = [] if is_one else operations(subject.raw_forward), list[Any]()
    causes = list[Cause]()
    for operation in found:
        try:
            report = check_gradients(operation, *operation.nodes)
            causes = causes or ([] if report.ok else report.causes)
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


def _diagnose(subject: Subject, rows: list[Row], failed: list[Row]) -> None:
    """Look for causes; a gradient that the diagnosis cannot work with has none."""
    subject = in_numpy_form(subject) or subject
    try:
        from deepnlp.diagnosis import diagnose  # large, and not needed while all is right

        diagnose(subject, rows, failed)
    except Exception as error:  # the verdict on the gradients stands without it
        told = f"{subject.name}: the diagnosis ended in {type(error).__name__}: {error}"
        for row in rows:
            row.causes = row.causes or ([] if row.ok else [Cause(c.UNKNOWN, told)])


def _missing(subject: Subject, held: Any) -> Row:
    """The row of a weight for which no gradient was found."""
    told = Cause(c.ZERO, f"{subject.name}: {held.told_missing()}")
    shape = numpy.zeros(held.value.shape)
    return Row(held.name, math.inf, (), False, numpy.zeros(()), shape, [told], NO_GRADIENT)
