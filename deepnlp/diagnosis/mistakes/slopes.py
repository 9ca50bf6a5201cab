"""Wrong derivatives: of an operation, of a mask, and of a function however forward computes it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.derivatives import LINEAR, partials
from deepnlp.diagnosis.mistakes.edges import Edge, edges, is_mask, quoted
from deepnlp.diagnosis.mistakes.table import Row, formula, functions, rows, say
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit, Run
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.diagnosis.trace import Trace
from deepnlp.gradcheck import causes as c

_KINDS = {"multiply": "multiply", "power": "power"} | dict.fromkeys(
    ("maximum", "minimum", "fmax", "fmin"), "extreme"
)


# --- Operations -----------------------------------------------------------------------------------


def wrong_slopes(problem: Problem) -> Iterator[Guess]:
    """A local derivative is written wrongly.

    Wrong: ``dg = dh`` for h = g * u. Right: ``dg = dh * u``.
    """
    for edge in edges(problem):
        op, j = edge.first.op, edge.j
        if j < 0 or op in LINEAR or op in ("add", "subtract", "gather", "extreme", "negative"):
            continue
        kind = "unary" if len(edge.first.operands) == 1 else _KINDS.get(op, "")
        if op == "divide":
            kind = "denominator" if j == 1 else "numerator"
        elif op == "power" and j == 1:
            kind = "exponent"
        for row in rows(kind):
            found = []
            for node in edge.nodes:
                a, p = node.arrays[j], numpy.asarray(partials(op, node.arrays, node.values)[j])
                b = node.arrays[1 - j] if edge.has_partner else a
                found.append(row.formula(p=p, a=a, b=b, y=node.values))
            edit = _with_slopes(edge, found)
            if edit is not None:
                words = edge.words | {"says": row.says.format_map(edge.words)}
                yield say("slope", edit, cause=_cause(problem, edge, row), tier=1, **words)


def _with_slopes(edge: Edge, slopes: list[HostArray]) -> Edit | None:
    """Return the gradient that other derivatives would pass on; None where it is not finite."""
    pairs = zip(edge.nodes, slopes)
    arrays = [numpy.broadcast_to(s, n.values.shape).astype("float64") for n, s in pairs]
    if not all(numpy.isfinite(a).all() for a in arrays):
        return None
    by_number = dict(zip(edge.numbers, arrays))
    return Edit([(edge.numbers, lambda run: {edge.j: run.g * by_number[run.number]})])


def _cause(problem: Problem, edge: Edge, row: Row) -> str:
    """A factor that is left out may be a number or a mask."""
    cause = row.cause
    if cause not in (c.TERM_MISSING, c.WRONG_VALUE) or edge.first.op not in ("multiply", "divide"):
        return cause
    other, tickets = edge.first.operands[1 - edge.j]
    if tickets.any():
        return cause
    if other.size == 1:
        return cause if "{own}" in row.says or "1 - " in row.says else c.FACTOR
    if is_mask(other) and problem.is_random:
        return c.MASK_MISSING if cause == c.TERM_MISSING else c.MASK_SCALE
    return cause


# --- Functions ------------------------------------------------------------------------------------


@dataclass
class Activation:
    """A value y = f(x) of a known function, however the forward computes it.

    Attributes
    ----------
    function : str
        A key of the table of functions.
    number : int
        Of the node that gives y.
    x, tickets : array
        What goes in, and its tickets.
    scale : array
        Of a norm: what x minus its mean is divided by.
    """

    function: str
    number: int
    x: HostArray
    tickets: HostArray
    scale: HostArray | float = 1.0


def activations(problem: Problem) -> dict[tuple[str, object], list[Activation]]:
    """All known functions in a forward, by name and by the statement that called them."""

    def read() -> dict[tuple[str, object], list[Activation]]:
        found: dict[tuple[str, object], list[Activation]] = {}
        for number, node in enumerate(problem.followed.nodes):
            one = _recognise(problem.followed, number, node)
            if one is not None:
                found.setdefault((one.function, node.site.call), []).append(one)
        return found

    told: dict[tuple[str, object], list[Activation]] = problem.recall("activations", read)
    return told


_ENDS = ("divide", "reciprocal", "multiply", "add", "subtract", "log", "power", "log1p",
         "logaddexp")  # fmt: skip
"""Operations with which a function of several operations ends."""


def _recognise(trace: Trace, number: int, node: Node) -> Activation | None:
    y = node.values
    single = None
    if "slope" in functions().get(node.op, ()):
        single = Activation(node.op, number, node.arrays[0], node.operands[0][1])
    if node.op not in _ENDS or y.size < 2 or not y.any():
        return single
    sources = _sources(trace, node)
    for name, entry in functions().items():
        if "value" not in entry or not _may_be(name, entry, y):
            continue
        for x, tickets in sources:
            with numpy.errstate(all="ignore"):
                if numpy.allclose(entry["value"](x=x), y, rtol=1e-9, atol=1e-12):
                    return Activation(name, number, x, tickets)
    if node.op in ("divide", "multiply") and y.ndim > 1 and y.shape[-1] > 2:
        return _norm(number, y, sources) or single
    return single


def _may_be(name: str, entry: dict[str, Any], y: HostArray) -> bool:
    """Return whether values can be those of a function, which is soon seen."""
    low, high = entry["range"]
    if y.min() < low or y.max() > high:
        return False
    if name not in ("softmax", "log-softmax"):
        return True
    has_rows = y.ndim > 0 and y.shape[-1] > 1
    return has_rows and (name != "softmax" or numpy.allclose(y.sum(axis=-1), 1))


def _norm(
    number: int, y: HostArray, sources: list[tuple[HostArray, HostArray]]
) -> Activation | None:
    """A norm over the last axis: in each row x, centred or as it is, is a multiple of y."""
    for name, centre in (("layer norm", True), ("RMS norm", False)):
        if abs((y * y).mean(axis=-1) - 1).max() > 0.2:
            continue
        for x, tickets in sources:
            centred = x - x.mean(axis=-1, keepdims=True) if centre else x
            scale = numpy.sqrt((centred * centred).mean(-1, keepdims=True))
            with numpy.errstate(all="ignore"):
                quotient = numpy.nanmedian(centred / y, axis=-1, keepdims=True)
            close = numpy.allclose(quotient * y, centred, rtol=1e-9, atol=1e-12)
            if close and numpy.allclose(quotient, scale, rtol=0.1) and (quotient > 0).all():
                return Activation(name, number, x, tickets, quotient)
    return None


def _sources(trace: Trace, node: Node) -> list[tuple[HostArray, HostArray]]:
    """Arrays before a node of the same shape, from which it may be computed; the earliest first."""
    found: dict[int, tuple[HostArray, HostArray]] = {}
    waiting, seen = [node], 0
    while waiting and seen < 16:
        one, seen = waiting.pop(), seen + 1
        for values, tickets in one.operands:
            first = int(tickets.max(initial=0))
            if values.shape != node.values.shape or not first or first in found:
                continue
            found[first] = (numpy.asarray(values, dtype="float64"), tickets)
            owner = int(trace.owner[first])
            if owner >= 0 and trace.nodes[owner].op != "matmul":
                waiting.append(trace.nodes[owner])
    return [found[first] for first in sorted(found)]


def _mistakes(function: str) -> list[Row]:
    """Wrong derivatives of a function."""
    entry = functions()[function]
    if "slope" not in entry:
        return [*rows(function)]
    found = [*rows("product")] if entry.get("product") else []
    for place, x, y in (("at input", "x", "y"), ("at output", "y", "x")):
        if place in entry:
            says = f"the derivative is taken with {x} in place of {y}, `{entry[place]}`"
            found.append(Row(place, c.DERIVATIVE_AT_INPUT, says, formula(entry[place])))
    found += rows("function")
    if "value" in entry or function == "tanh":
        found += rows("another function")
        found += () if entry.get("product") else rows("another function, no product")
    return found


def wrong_derivatives(problem: Problem) -> Iterator[Guess]:
    """The derivative of an activation, taken at the wrong place or left out.

    Wrong: ``dx = dy * (1 - x ** 2)`` for y = tanh(x). Right: ``dx = dy * (1 - y ** 2)``.
    """
    for (function, _), ones in activations(problem).items():
        line = quoted(problem.followed.nodes[ones[0].number])
        for row in _mistakes(function):
            says = row.says or f"the derivative is `{row.text}`"
            words = {"function": function, "line": line, "says": says}
            words["right"] = functions()[function]["right"]
            yield say("function", _with_derivative(row, ones), cause=row.cause, **words)


def _with_derivative(row: Row, ones: list[Activation]) -> Edit:
    """The edit by which a function passes on another gradient, wherever it is called."""
    by_number = {one.number: one for one in ones}

    def change(run: Run) -> Adjoints:
        one, y = by_number[run.number], run.node.values
        entry = functions()[one.function]
        if "slope" in entry:
            p = entry["slope"](x=one.x, y=y)
            value = run.g * row.formula(p=p, x=one.x, y=y)
        else:
            value = row.formula(g=run.g, x=one.x, y=y, s=one.scale)
        return [(one.tickets, numpy.broadcast_to(value, one.tickets.shape))]

    return Edit([(by_number, change)])
