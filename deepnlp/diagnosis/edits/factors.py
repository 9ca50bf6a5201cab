"""A local derivative with a factor missing, one too many, or another value in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from deepnlp.diagnosis.derivatives import LINEAR, UNARY, partials
from deepnlp.diagnosis.edits.edge import Edge, edges, name_of_ticket
from deepnlp.diagnosis.edits.values import Value, is_whole_statement, values_of
from deepnlp.diagnosis.hypotheses.activations import activations
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.numeric import HostArray

Local = Callable[[HostArray, HostArray, HostArray, HostArray], Any]
"""A local derivative from the right one, the operand, the other operand and the result."""

MULTIPLY: list[tuple[str, str, Local]] = [
    (c.TERM_MISSING, "the factor {other} is left out", lambda p, a, b, y: 1.0),
    (c.WRONG_VALUE, "the factor {other} stands there twice", lambda p, a, b, y: p * p),
    (c.WRONG_VALUE, "it is divided by {other} and not multiplied", lambda p, a, b, y: 1 / p),
    (c.WRONG_VALUE, "the derivative is {own} and not {other}", lambda p, a, b, y: a),
    (c.WRONG_VALUE, "the factor is 1 - {other} and not {other}", lambda p, a, b, y: 1 - p),
]
NUMERATOR: list[tuple[str, str, Local]] = [
    (c.TERM_MISSING, "it is not divided by {other}", lambda p, a, b, y: 1.0),
    (c.WRONG_VALUE, "it is divided by {other} twice", lambda p, a, b, y: p * p),
    (c.WRONG_VALUE, "it is multiplied by {other} and not divided", lambda p, a, b, y: b),
]
DENOMINATOR: list[tuple[str, str, Local]] = [
    (c.TERM_MISSING, "{other} / {own}^2 lacks its square", lambda p, a, b, y: -b / a),
    (c.TERM_MISSING, "{other} is left out of {other} / {own}^2", lambda p, a, b, y: -1 / a**2),
    (c.TERM_MISSING, "it is not divided by {own}", lambda p, a, b, y: -b + 0 * a),
    (c.WRONG_VALUE, "{own} stands there to the power of three", lambda p, a, b, y: -b / a**3),
    (c.WRONG_VALUE, "{other} stands there twice", lambda p, a, b, y: -b * b / a**2),
    (c.WRONG_VALUE, "the derivative is that of the numerator", lambda p, a, b, y: 1 / a + 0 * b),
]
POWER: list[tuple[str, str, Local]] = [
    (c.FACTOR, "the exponent is left out as a factor", lambda p, a, b, y: p / b),
    (c.WRONG_VALUE, "the exponent is not lowered by 1", lambda p, a, b, y: b * y),
    (c.DERIVATIVE_MISSING, "the derivative is left out", lambda p, a, b, y: 1.0),
    (c.WRONG_VALUE, "the power itself is taken", lambda p, a, b, y: y),
    (c.WRONG_VALUE, "the exponent times {own} is taken", lambda p, a, b, y: b * a),
    (c.WRONG_VALUE, "the exponent is lowered by 2", lambda p, a, b, y: p / a),
]
EXTREME: list[tuple[str, str, Local]] = [
    (c.DERIVATIVE_MISSING, "what is cut off gets a gradient", lambda p, a, b, y: 1.0),
    (c.WRONG_VALUE, "what is kept and what is cut off are exchanged", lambda p, a, b, y: 1 - p),
    (c.DERIVATIVE_MISSING, "the derivative is the result", lambda p, a, b, y: y),
    (c.DERIVATIVE_MISSING, "the derivative is the operand", lambda p, a, b, y: a),
]
UNARY_MISTAKES: list[tuple[str, str, Local]] = [
    (c.DERIVATIVE_MISSING, "the derivative is left out", lambda p, a, b, y: 1.0),
    (c.DERIVATIVE_MISSING, "the derivative is squared", lambda p, a, b, y: p * p),
    (c.DERIVATIVE_MISSING, "it is divided by the derivative", lambda p, a, b, y: 1 / p),
    (c.DERIVATIVE_MISSING, "the derivative is the result", lambda p, a, b, y: y),
    (c.DERIVATIVE_MISSING, "the derivative is {own}", lambda p, a, b, y: a),
    (c.DERIVATIVE_MISSING, "the derivative is 1 / {own}", lambda p, a, b, y: 1 / a),
    (c.DERIVATIVE_MISSING, "the derivative is 1 / result", lambda p, a, b, y: 1 / y),
]


def wrong_factors(problem: Problem) -> Iterator[Guess]:
    """A local derivative is written wrongly.

    Wrong: ``dg = dh`` for h = g * u. Right: ``dg = dh * u``.
    """
    trace = problem.followed
    for edge in edges(problem):
        op = edge.first.op
        if edge.j < 0 or op in LINEAR or op in ("add", "subtract", "gather", "negative"):
            continue
        for cause, told, local in _mistakes(op, edge.j):
            partial: dict[int, HostArray] = {}
            for number in edge.numbers:
                node = trace.nodes[number]
                own, other, right = _local(node, edge.j)
                value = numpy.asarray(local(right, own, other, node.values), dtype="float64")
                partial[number] = numpy.broadcast_to(value, node.values.shape)
            if not all(numpy.isfinite(v).all() for v in partial.values()):
                continue
            names = {"own": edge.operand, "other": edge.partner() if len(edge.first.operands) > 1 else ""}
            of = "" if "derivative" in told and "{" not in told else f" with respect to {edge.operand}"
            evidence = f"behind {edge.line}, in the gradient{of}, {told.format(**names)}"
            if not of:
                evidence = f"behind {edge.line}, {told.format(**names)}"
            yield Guess(_cause(edge, cause), evidence, Edit(partial=(edge.j, partial), at=partial))


def other_factors(problem: Problem) -> Iterator[Guess]:
    """Another value of the same shape stands in a product, of this step or the one before.

    Wrong: ``di = dc * i`` for c = f c_prev + i g. Right: ``di = dc * g``.
    """
    for edge in edges(problem):
        if edge.first.op not in ("multiply", "divide", "matmul", "einsum") or edge.j < 0:
            continue
        if len(edge.first.operands) != 2:
            continue
        shape = edge.first.operands[1 - edge.j][0].shape
        for value in values_of(problem):
            if value.arrays[0].shape != shape or not value.arrays[0].size > 1:
                continue
            for shift in (0, -1, 1) if len(value.arrays) > 1 else (0,):
                yield from _other_factor(problem, edge, value, shift)


def lacking_factors(problem: Problem) -> Iterator[Guess]:
    """A factor of the forward is left out of all the terms that it belongs to.

    Wrong: ``dx = g - g.mean() - xn * (g * xn).mean()``. Right: all of it divided by ``std``.
    """
    yield from _besides(problem, lacking=True)


def extra_factors(problem: Problem) -> Iterator[Guess]:
    """The gradient of a statement's result is multiplied once more.

    Wrong: ``dx = dxn * gamma / std`` where dxn holds gamma already. Right: ``dx = dxn / std``.
    """
    yield from _besides(problem, lacking=False)


def _besides(problem: Problem, lacking: bool) -> Iterator[Guess]:
    trace = problem.followed
    known = {one.number for ones in activations(trace).values() for one in ones}
    multipliers, divisors = _factors_of(problem)
    for edge in edges(problem):
        whole = is_whole_statement(problem, edge.numbers[0])
        alone = edge.j < 0 or len(edge.first.operands) == 1 or edge.first.op in ("add", "subtract")
        reaches_variable = edge.j >= 0 and name_of_ticket(
            problem, int(edge.tickets(edge.numbers[0]).max())
        )
        if not (whole and alone) and not reaches_variable:
            continue
        to_operand = edge.first.operands[edge.j][0].shape if edge.j >= 0 else None
        shape = edge.first.values.shape if not reaches_variable or not to_operand else to_operand
        for value in values_of(problem):
            own = value.arrays[0]
            if own.size < 2 or own.ndim > len(shape) or not _broadcasts(own.shape, shape):
                continue
            v = value.name
            forms: list[tuple[bool, str, str, Any]] = [
                (id(value) in divisors, f"is not divided by {v}", f"is multiplied by {v} besides", _same),
                (id(value) in multipliers, f"lacks the factor {v}", f"is divided by {v} besides", _inverse),
            ]
            if not value.is_constant and own.shape == shape:
                forms.append((False, "", f"is multiplied by 1 - {v}^2 besides", lambda a: 1 - a * a))
                forms.append((False, "", f"is multiplied by {v} (1 - {v}) besides", lambda a: a * (1 - a)))
            for missing, lacks, told, form in forms:
                found = [value.at(k, len(edge.numbers)) for k in range(len(edge.numbers))]
                if missing is not lacking or any(f is None for f in found):
                    continue
                factors = dict(zip(edge.numbers, [form(f) for f in found]))
                if not all(numpy.isfinite(f).all() for f in factors.values()):
                    continue
                what = "through it" if edge.j < 0 else f"with respect to {edge.operand}"
                evidence = f"behind {edge.line}, the gradient {what} {lacks if lacking else told}"
                cause = c.TERM_MISSING if lacking else c.MASK_SCALE if _is_mask(own) else c.WRONG_VALUE
                if "1 - " in told and edge.numbers[0] in known:
                    cause = c.DERIVATIVE_MISSING
                yield Guess(cause, evidence, _times(edge, factors, bool(reaches_variable)))


def _same(a: HostArray) -> HostArray:
    return a


def _inverse(a: HostArray) -> HostArray:
    return numpy.asarray(1 / a)


def _factors_of(problem: Problem) -> tuple[set[int], set[int]]:
    """Values by which the forward multiplies, and by which it divides, by ``id``."""
    multipliers, divisors = set(), set()
    nodes = problem.followed.nodes
    for value in values_of(problem):
        own = value.arrays[0]
        for node in nodes:
            if node.op in ("multiply", "divide"):
                for j, (other, _) in enumerate(node.operands):
                    if other.shape == own.shape and numpy.array_equal(other, own):
                        (divisors if node.op == "divide" and j else multipliers).add(id(value))
    return multipliers, divisors


def _times(edge: Edge, factors: dict[int, HostArray], after: bool) -> Edit:
    """Multiply what goes into a node, or what it passes on."""
    trace, j = edge.problem.followed, edge.j

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        right = trace.backward(number, g)
        if after:
            own = node.operands[j][1]
            return [(t, _reduced(v, t) * factors[number]) if t is own else (t, v) for t, v in right]
        wrong = trace.backward(number, g * factors[number])
        if j < 0:
            return wrong
        own = node.operands[j][1]
        return [w if w[0] is own else r for r, w in zip(right, wrong)]

    return Edit(mistake, factors)


def _reduced(value: HostArray, tickets: HostArray) -> HostArray:
    """What is passed on to an operand that was broadcast, in the operand's shape."""
    while value.ndim > tickets.ndim:
        value = value.sum(axis=0)
    axes = tuple(k for k, n in enumerate(tickets.shape) if n == 1 and value.shape[k] != 1)
    return numpy.broadcast_to(value.sum(axis=axes, keepdims=True) if axes else value, tickets.shape)


def _other_factor(problem: Problem, edge: Edge, value: Value, shift: int) -> Iterator[Guess]:
    trace, j, runs = problem.followed, edge.j, len(edge.numbers)
    replaced: dict[int, HostArray] = {}
    for k, number in enumerate(edge.numbers):
        found = value.at(min(max(k + shift, 0), runs - 1), runs)
        if found is None:
            return
        replaced[number] = found
    others = [trace.nodes[n].operands[1 - j][0] for n in edge.numbers]
    if all(numpy.array_equal(a, b) for a, b in zip(others, replaced.values())):
        return

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        operands = [v for v, _ in node.operands]
        right = node.vjp(g, operands, node.values)
        operands[1 - j] = replaced[number]
        wrong = node.vjp(g, operands, node.values)
        wrong[1 - j] = right[1 - j]
        return [(t, v) for (_, t), v in zip(node.operands, wrong) if t.any()]

    when = {0: "", -1: " of the step before", 1: " of the step after"}[shift]
    told = (
        f"behind {edge.line}, in the gradient with respect to {edge.operand}, {value.name}{when} is "
        f"used in place of {edge.partner()}"
    )
    late = shift or _is_neighbour(others, list(replaced.values()))
    yield Guess(c.TIME_SHIFTED if late else c.WRONG_VALUE, told, Edit(mistake, replaced))


def _is_neighbour(own: list[HostArray], other: list[HostArray]) -> bool:
    """Whether one sequence is the other, a step earlier or later."""
    pairs = [(own[1:], other[:-1]), (own[:-1], other[1:])]
    return len(own) > 1 and any(
        all(numpy.array_equal(a, b) for a, b in zip(one, two)) for one, two in pairs
    )


def _mistakes(op: str, j: int) -> list[tuple[str, str, Local]]:
    if op in UNARY:
        return UNARY_MISTAKES
    if op == "divide":
        return DENOMINATOR if j == 1 else NUMERATOR
    if op in ("maximum", "minimum", "fmax", "fmin"):
        return EXTREME
    return {"multiply": MULTIPLY, "power": POWER}.get(op, [])


def _local(node: Node, j: int) -> tuple[HostArray, HostArray, HostArray]:
    """An operand, the other one, and the right derivative."""
    operands = [numpy.asarray(v, dtype="float64") for v, _ in node.operands]
    right = numpy.asarray(partials(node.op, operands, node.values)[j])
    return operands[j], operands[1 - j] if len(operands) > 1 else operands[0], right


def _cause(edge: Edge, cause: str) -> str:
    """A factor that is left out may be a number or a mask."""
    if cause not in (c.TERM_MISSING, c.WRONG_VALUE) or edge.first.op not in ("multiply", "divide"):
        return cause
    other, tickets = edge.first.operands[1 - edge.j]
    if tickets.any():
        return cause
    if other.size == 1:
        return c.FACTOR
    if _is_mask(other):
        return c.MASK_MISSING if cause == c.TERM_MISSING else c.MASK_SCALE
    return cause


def _is_mask(array: HostArray) -> bool:
    kinds = numpy.unique(numpy.asarray(array, dtype="float64").round(12))
    return len(kinds) == 2 and kinds[0] == 0


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return all(a in (1, b) for a, b in zip(shape[::-1], to[::-1]))
