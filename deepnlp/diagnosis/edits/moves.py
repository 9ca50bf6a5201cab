"""An index or a step off by one, an order that is reversed, an axis that is exchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy

from deepnlp.diagnosis.edits.edge import Edge, edges
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck.causes import TIME_REVERSED, TIME_SHIFTED, TRANSPOSED
from deepnlp.gradcheck.numeric import HostArray

Move = Callable[[HostArray], HostArray]


def other_runs(problem: Problem) -> Iterator[Guess]:
    """A run of a loop uses the value of the next, or writes where the next should.

    Wrong: ``dx[:, t + k] += dy[:, t] @ W[K - 1 - k].T``. Right: with ``W[k]``.
    """
    trace = problem.followed
    for edge in edges(problem):
        n = edge.numbers
        if len(n) < 2 or edge.j < 0:
            continue
        orders = [
            (TIME_SHIFTED, "of the run after", [*n[1:], n[-1]]),
            (TIME_SHIFTED, "of the run before", [n[0], *n[:-1]]),
            (TIME_REVERSED, "of the runs in reversed order", n[::-1]),
        ]
        for period in _periods(edge):
            blocks = [n[k : k + period] for k in range(0, len(n), period)]
            inner = [m for block in blocks for m in block[::-1]]
            orders.append((TIME_REVERSED, "of the inner runs in reversed order", inner))
        for cause, told, order in orders:
            for what in ("value", "place"):
                replaced = {a: trace.nodes[b] for a, b in zip(n, order)}
                if what == "value" and len(edge.first.operands) < 2:
                    continue
                if not _compatible(edge, replaced, what):
                    continue
                evidence = (
                    f"behind {edge.line}, in the gradient with respect to {edge.operand}, "
                    + (
                        f"{edge.partner()} is that {told}"
                        if what == "value"
                        else f"the place is that {told}"
                    )
                )
                yield Guess(cause, evidence, _rerun(problem, edge, replaced, what))


def moved_axes(problem: Problem) -> Iterator[Guess]:
    """An operand, or what is passed on to it, is reversed, shifted or transposed."""
    for edge in edges(problem):
        node = edge.first
        deep = max(node.values.ndim, *(v.ndim for v, _ in node.operands))
        if edge.j < 0 or (len(edge.numbers) > 1 and deep < 3):
            continue
        own = node.operands[edge.j][1].shape
        for cause, told, move in moves(own):
            evidence = f"behind {edge.line}, the gradient with respect to {edge.operand} {told}"
            yield Guess(cause, evidence, _moved_result(problem, edge, move))
        if len(node.operands) == 2 and node.op in ("multiply", "matmul", "einsum"):
            for cause, told, move in moves(node.operands[1 - edge.j][0].shape):
                evidence = (
                    f"behind {edge.line}, in the gradient with respect to {edge.operand}, "
                    f"{edge.partner()} {told}"
                )
                yield Guess(cause, evidence, _moved_operand(edge, move))


def moves(shape: tuple[int, ...]) -> Iterator[tuple[str, str, Move]]:
    """Ways to put the entries of an array in another order."""
    for axis, size in enumerate(shape):
        if size < 2:
            continue
        yield TIME_REVERSED, f"is reversed along axis {axis}", partial(numpy.flip, axis=axis)
        for step, word in ((1, "later"), (-1, "earlier")):
            told = f"stands one place {word} along axis {axis}"
            yield TIME_SHIFTED, told, partial(numpy.roll, shift=step, axis=axis)
            if size > 2:
                yield TIME_SHIFTED, told, partial(shifted, step=step, axis=axis)
        for other in range(axis):
            if shape[other] == size:
                told = f"is transposed (axes {other} and {axis})"
                yield TRANSPOSED, told, partial(numpy.swapaxes, axis1=axis, axis2=other)
    if sum(n > 1 for n in shape) > 2:
        axes = tuple(range(len(shape) - 2, len(shape)))
        told = "is reversed along its last two axes"
        yield TIME_REVERSED, told, partial(numpy.flip, axis=axes)


def shifted(array: HostArray, step: int, axis: int) -> HostArray:
    """Moved along an axis, with zeros where nothing comes from.

    Examples
    --------
    >>> shifted(numpy.array([1.0, 2.0, 3.0]), 1, 0)
    array([0., 1., 2.])
    """
    moved = numpy.roll(array, step, axis)
    edge = [slice(None)] * array.ndim
    edge[axis] = slice(0, 1) if step > 0 else slice(-1, None)
    moved[tuple(edge)] = 0.0
    return moved


def _periods(edge: Edge) -> list[int]:
    """Lengths of an inner loop: after so many runs an operand's place comes again."""
    first = [edge.problem.followed.nodes[n].operands[edge.j][0] for n in edge.numbers]
    other = (
        [edge.problem.followed.nodes[n].operands[1 - edge.j][0] for n in edge.numbers]
        if len(edge.first.operands) > 1
        else first
    )
    n = len(first)
    return [
        p
        for p in range(2, n)
        if n % p == 0 and other[0].shape == other[p].shape and numpy.array_equal(other[0], other[p])
    ][:1]


def _compatible(edge: Edge, replaced: dict[int, Node], what: str) -> bool:
    trace, j = edge.problem.followed, edge.j
    k = 1 - j if what == "value" else j
    pairs = [(trace.nodes[n].operands[k][0], other.operands[k][0]) for n, other in replaced.items()]
    return all(a.shape == b.shape for a, b in pairs)


def _rerun(problem: Problem, edge: Edge, replaced: dict[int, Node], what: str) -> Edit:
    j, _trace = edge.j, problem.followed

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        operands, other = [v for v, _ in node.operands], replaced[number]
        right = node.vjp(g, operands, node.values)
        if what == "value":
            operands[1 - j] = other.operands[1 - j][0]
            right[j] = node.vjp(g, operands, node.values)[j]
        tickets = [t for _, t in node.operands]
        if what == "place":
            tickets[j] = other.operands[j][1]
        return [(t, v) for t, v in zip(tickets, right) if t.any()]

    return Edit(mistake, list(replaced))


def _moved_result(problem: Problem, edge: Edge, move: Move) -> Edit:
    j = edge.j

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        passed = node.vjp(g, [v for v, _ in node.operands], node.values)
        own = node.operands[j][1]
        while passed[j].ndim > own.ndim:
            passed[j] = passed[j].sum(axis=0)
        passed[j] = move(passed[j])
        return node.beside(passed)

    return Edit(mistake, edge.numbers)


def _moved_operand(edge: Edge, move: Move) -> Edit:
    j = edge.j

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        operands = [v for v, _ in node.operands]
        right = node.vjp(g, operands, node.values)
        operands[1 - j] = move(operands[1 - j])
        right[j] = node.vjp(g, operands, node.values)[j]
        return node.beside(right)

    return Edit(mistake, edge.numbers)
