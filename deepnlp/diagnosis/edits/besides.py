"""A factor that stands before a whole gradient: one that it lacks, or one too many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from deepnlp.diagnosis.edits.edge import Edge, edges, name_of_ticket
from deepnlp.diagnosis.edits.values import is_mask, is_whole_statement, values_of
from deepnlp.diagnosis.hypotheses.activations import activations
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.numeric import HostArray


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
                (
                    id(value) in divisors,
                    f"is not divided by {v}",
                    f"is multiplied by {v} besides",
                    _same,
                ),
                (
                    id(value) in multipliers,
                    f"lacks the factor {v}",
                    f"is divided by {v} once too often"
                    if id(value) in divisors
                    else f"lacks the factor {v}",
                    _inverse,
                ),
            ]
            if not value.is_constant and own.shape == shape:
                forms.append(
                    (False, "", f"is multiplied by 1 - {v}^2 besides", lambda a: 1 - a * a)
                )
                forms.append(
                    (False, "", f"is multiplied by {v} (1 - {v}) besides", lambda a: a * (1 - a))
                )
            for missing, lacks, told, form in forms:
                found = [value.at(k, len(edge.numbers)) for k in range(len(edge.numbers))]
                if missing is not lacking or any(f is None for f in found):
                    continue
                factors = dict(zip(edge.numbers, [form(f) for f in found]))
                if not all(numpy.isfinite(f).all() for f in factors.values()):
                    continue
                what = "through it" if edge.j < 0 else f"with respect to {edge.operand}"
                evidence = f"behind {edge.line}, the gradient {what} {lacks if lacking else told}"
                cause = (
                    c.TERM_MISSING
                    if lacking or told.startswith("lacks")
                    else c.MASK_SCALE
                    if is_mask(own) and problem.is_random
                    else c.WRONG_VALUE
                )
                if "1 - " in told and edge.numbers[0] in known:
                    cause = c.DERIVATIVE_MISSING
                yield Guess(cause, evidence, _times(edge, factors, bool(reaches_variable)), tier=1)


def _same(a: HostArray) -> HostArray:
    return a


def _inverse(a: HostArray) -> HostArray:
    return numpy.asarray(1 / a)


def _factors_of(problem: Problem) -> tuple[set[int], set[int]]:
    """Values by which the forward multiplies, and by which it divides, by ``id``."""
    multipliers: set[int] = set()
    divisors: set[int] = set()
    nodes = problem.followed.nodes
    by_content: dict[tuple[Any, ...], list[int]] = {}
    for value in values_of(problem):
        by_content.setdefault(_content(value.arrays[0]), []).append(id(value))
    for node in nodes:
        for j, (other, _) in enumerate(node.operands):
            if node.op in ("multiply", "divide", "matmul", "einsum", "log"):
                divides = (node.op == "divide" and j == 1) or node.op == "log"
                (divisors if divides else multipliers).update(by_content.get(_content(other), ()))
        if node.op in ("exp", "sqrt"):
            found = by_content.get(_content(node.values), ())
            (multipliers if node.op == "exp" else divisors).update(found)
    return multipliers, divisors


def _content(array: HostArray) -> tuple[Any, ...]:
    return array.shape, numpy.ascontiguousarray(array, dtype="float64").tobytes()


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


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return all(a in (1, b) for a, b in zip(shape[::-1], to[::-1]))
