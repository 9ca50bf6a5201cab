"""Gradients that are usually written in closed form: of a loss, of a maximum, after an update."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy

from deepnlp.diagnosis.edits.edge import edges, quoted
from deepnlp.diagnosis.edits.values import is_whole_statement, values_of
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck.causes import CACHE, DERIVATIVE_MISSING, TERM_MISSING, WRONG_VALUE
from deepnlp.gradcheck.numeric import HostArray

_FEWEST = 3
"""As many entries must agree with one factor that is free."""


def loss_gradients(problem: Problem) -> Iterator[Guess]:
    """The gradient with respect to the scores of a loss is another value, times a number.

    Wrong: ``ds = p`` for a cross entropy. Right: ``ds = p - t``.
    """
    trace = problem.followed
    if any(w.ndim for w in trace.weights):
        return
    places: list[tuple[str, int, HostArray]] = [
        (f"the gradient with respect to {name}", -1, tickets)
        for name, tickets in trace.variables.items()
        if name in problem.bad
    ]
    for numbers in trace.sites.values():
        node = trace.nodes[numbers[0]]
        if len(numbers) == 1 and is_whole_statement(problem, numbers[0]) and node.values.ndim:
            told = f"the gradient with respect to the result of {quoted(node)}"
            places.append((told, numbers[0], node.tickets))
    for what, number, tickets in places:
        right = trace.adjoint[tickets]
        if not problem.reached([tickets]) & set(problem.bad) or right.size < _FEWEST:
            continue
        for value in values_of(problem):
            own = value.arrays[0]
            if len(value.arrays) > 1 or own.shape != tickets.shape or not own.any():
                continue
            gradients = _with_gradient(problem, number, tickets, own)
            factor = _common_factor(problem, gradients)
            if factor is None:
                continue
            scaled = {name: factor * g for name, g in gradients.items()}
            rest = right / factor - own
            missing = _is_onehot(-rest) or any(
                numpy.allclose(rest, -other.arrays[0], atol=1e-9)
                for other in values_of(problem)
                if other.arrays[0].shape == rest.shape
            )
            cause = TERM_MISSING if missing else WRONG_VALUE
            told = f"{what} is {value.name} alone, times {factor:.6g}"
            if missing:
                told += f": {_subtracted(problem, rest)} is not subtracted"
            yield Guess(cause, told, scaled)


def _subtracted(problem: Problem, rest: HostArray) -> str:
    """The name of what is missing: a target, or another value of the forward."""
    for value in values_of(problem):
        if value.arrays[0].shape == rest.shape and numpy.allclose(rest, -value.arrays[0]):
            return value.name
    subject = problem.subject
    names = [name for name in subject.input_names if name not in subject.variables]
    return f"the target `{names[0]}` (1 at the right class)" if names else "the target"


def _is_onehot(a: HostArray) -> bool:
    """Whether each row has a single one, as targets of classes have."""
    return bool(numpy.allclose(a * a, a, atol=1e-9) and numpy.allclose(a.sum(axis=-1), 1))


def _with_gradient(
    problem: Problem, number: int, tickets: HostArray, g: HostArray
) -> dict[str, HostArray]:
    """The gradients if that with respect to one value is g, and nothing else counts for them."""
    trace = problem.followed
    if number < 0:
        name = next(n for n, t in trace.variables.items() if t is tickets)
        return {name: g}
    edit = Edit(lambda _, node, __: trace.backward(number, g), [number])
    found = trace.gradients(edit)
    return {name: found[name] for name in problem.reached([tickets])}


def _common_factor(problem: Problem, found: dict[str, HostArray]) -> float | None:
    """The number by which all found gradients must be multiplied to give the wrong ones."""
    names = [n for n in found if n in problem.bad and found[n].shape == problem.wrong[n].shape]
    if not names:
        return None
    one = numpy.concatenate([found[n].ravel() for n in names])
    other = numpy.concatenate([problem.wrong[n].ravel() for n in names])
    if numpy.count_nonzero(one) < _FEWEST or not numpy.isfinite(other).all():
        return None
    factor = float((one * other).sum() / (one * one).sum())
    fits = numpy.abs(other - factor * one).max() <= 1e-6 * numpy.abs(other).max()
    return factor if fits and abs(factor) > 1e-12 else None


def updated_weights(problem: Problem) -> Iterator[Guess]:
    """A weight is updated, by a multiple of its gradient, before backward uses it.

    Wrong: ``self.W -= lr * self.dW; return dy @ self.W.T``. Right: ``dx`` first, then the update.
    """
    trace = problem.followed
    for edge in edges(problem):
        if edge.j < 0 or len(edge.first.operands) != 2 or edge.first.op == "add":
            continue
        weight = edge.first.operands[1 - edge.j][1]
        for name, tickets in trace.variables.items():
            if name in problem.subject.input_names or tickets.shape != weight.shape:
                continue
            if not (tickets == weight).all():
                continue
            step = dict.fromkeys(edge.numbers, problem.wrong[name])
            if problem.wrong[name].shape != tickets.shape:
                continue
            mistake = partial(_through_another_weight, edge.j, step)
            other = trace.gradients(Edit(mistake, edge.numbers))
            dropped = trace.gradients(Edit(scaled=(edge.j, 0.0), at=edge.numbers))
            change = {n: other[n] - dropped[n] for n in other}
            off = {n: problem.wrong[n] - problem.right[n] for n in problem.bad}
            if any(off[n].shape != change[n].shape for n in off):
                continue
            one = numpy.concatenate([change[n].ravel() for n in off])
            rest = numpy.concatenate([off[n].ravel() for n in off])
            if numpy.count_nonzero(one) < _FEWEST:
                continue
            rate = float((one * rest).sum() / (one * one).sum())
            told = f"behind {edge.line}, {name} was changed by {rate:.6g} times its gradient"
            yield Guess(CACHE, told, {n: trace.right[n] + rate * change[n] for n in trace.right})


def _through_another_weight(
    j: int, weights: Mapping[int, HostArray], number: int, node: Node, g: HostArray
) -> Adjoints:
    """The gradients of a product's operands, that of operand j with another array beside it."""
    operands = [v for v, _ in node.operands]
    right = node.vjp(g, operands, node.values)
    operands[1 - j] = weights[number]
    right[j] = node.vjp(g, operands, node.values)[j]
    return node.beside(right)


def wrong_maxima(problem: Problem) -> Iterator[Guess]:
    """The gradient of a maximum goes to all entries, or is shared among them.

    Wrong: ``dx[:, :, w] = dy``. Right: ``dx[:, :, w] = dy * (x == x.max())``.
    """
    for edge in edges(problem):
        if edge.first.op != "extreme":
            continue
        size = edge.first.operands[0][0].size / max(edge.first.values.size, 1)
        for told, factor in (("goes to all entries", 1.0), ("is shared by all entries", 1 / size)):

            def mistake(number: int, node: Node, g: HostArray, factor: float = factor) -> Adjoints:
                ones = factor * numpy.ones(node.operands[0][0].shape)
                return [(node.operands[0][1], ones * numpy.expand_dims(g, node.axes))]

            evidence = f"behind {edge.line}, the gradient of the largest entry {told}"
            yield Guess(DERIVATIVE_MISSING, evidence, Edit(mistake, edge.numbers))
