"""A local derivative with a factor missing, one too many, or another value in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from deepnlp.diagnosis.derivatives import LINEAR, UNARY, partials
from deepnlp.diagnosis.edits.edge import Edge, edges, name_of_operand
from deepnlp.diagnosis.edits.values import Value, is_mask, values_of
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.diagnosis.trace import Trace
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
            names = {
                "own": edge.operand,
                "other": edge.partner() if len(edge.first.operands) > 1 else "",
            }
            of = (
                ""
                if "derivative" in told and "{" not in told
                else f" with respect to {edge.operand}"
            )
            evidence = f"behind {edge.line}, in the gradient{of}, {told.format(**names)}"
            if not of:
                evidence = f"behind {edge.line}, {told.format(**names)}"
            edit = Edit(partial=(edge.j, partial), at=partial)
            yield Guess(_cause(problem, edge, cause, told), evidence, edit, tier=1)


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
        if edge.first.op == "einsum":
            ones = Value("1", [numpy.ones(shape)], None, True)
            yield from _other_factor(problem, edge, ones, 0)
        for value in values_of(problem):
            if value.arrays[0].shape != shape or not value.arrays[0].size > 1:
                continue
            for shift in (0, -1, 1) if len(value.arrays) > 1 else (0,):
                yield from _other_factor(problem, edge, value, shift)


def other_slopes(problem: Problem) -> Iterator[Guess]:
    """The derivative of a function of one number is another value of its shape.

    Wrong: ``dy * np.where(x > 0, 1, y)`` for y = exp(x) - 1. Right: with ``y + 1``.
    """
    for edge in edges(problem):
        if edge.first.op not in UNARY or edge.first.op in ("gather", "negative"):
            continue
        for value in values_of(problem):
            arrays = [value.at(k, len(edge.numbers)) for k in range(len(edge.numbers))]
            if any(a is None or a.shape != edge.first.values.shape for a in arrays):
                continue
            told = f"behind {edge.line}, {value.name} stands in place of the derivative"
            partial = {n: a for n, a in zip(edge.numbers, arrays) if a is not None}
            edit = Edit(partial=(edge.j, partial), at=edge.numbers)
            yield Guess(c.DERIVATIVE_MISSING, told, edit)


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
        return node.beside(wrong)

    when = {0: "", -1: " of the step before", 1: " of the step after"}[shift]
    told = (
        f"behind {edge.line}, in the gradient with respect to {edge.operand}, {value.name}{when} "
        f"is used in place of {edge.partner()}"
    )
    late = shift or _is_neighbour(others, list(replaced.values()))
    cause = c.TIME_SHIFTED if late else c.WRONG_VALUE
    factor = _factor_left_out(trace, edge, list(replaced.values()))
    if factor and not shift:
        cause = c.TERM_MISSING
        told = f"behind {edge.line}, the factor {factor} is left out: {value.name} alone is used"
    if value.name == "1":
        cause, told = c.TERM_MISSING, f"behind {edge.line}, {edge.partner()} is left out"
    yield Guess(cause, told, Edit(mistake, replaced))


def _factor_left_out(trace: Trace, edge: Edge, used: list[HostArray]) -> str | None:
    """The name of the factor by which what is used differs from the other operand."""
    owners = [int(trace.owner[trace.nodes[n].operands[1 - edge.j][1]].max()) for n in edge.numbers]
    if min(owners) < 0:
        return None
    products = [trace.nodes[n] for n in owners]
    if any(p.op != "multiply" for p in products):
        return None
    for k in (0, 1):
        if all(numpy.array_equal(p.operands[k][0], one) for p, one in zip(products, used)):
            return name_of_operand(edge.problem, products[0], 1 - k)
    return None


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


def _cause(problem: Problem, edge: Edge, cause: str, told: str) -> str:
    """A factor that is left out may be a number or a mask."""
    if cause not in (c.TERM_MISSING, c.WRONG_VALUE) or edge.first.op not in ("multiply", "divide"):
        return cause
    other, tickets = edge.first.operands[1 - edge.j]
    if tickets.any():
        return cause
    if other.size == 1:
        return cause if "{own}" in told or "1 - " in told else c.FACTOR
    if is_mask(other) and problem.is_random:
        return c.MASK_MISSING if cause == c.TERM_MISSING else c.MASK_SCALE
    return cause
