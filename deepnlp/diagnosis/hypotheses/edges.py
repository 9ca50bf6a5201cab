"""One term of the chain rule is left out, has the wrong sign, or is multiplied by a number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from deepnlp.diagnosis.hypotheses.paths import letter_of
from deepnlp.diagnosis.hypotheses.patterns import is_one
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.diagnosis.trace import Mistake
from deepnlp.gradcheck.causes import C_PATH, FACTOR, H_PATH, SIGN, TERM_MISSING, TRANSPOSED
from deepnlp.gradcheck.numeric import HostArray


def scaled_terms(problem: Problem) -> Iterator[Guess]:
    """One term of the chain rule is missing, or multiplied by a number.

    Wrong: ``dz = dh * (n - h_prev)`` for h = (1 - z) n + z h_prev.
    Right: ``dz = dh * (h_prev - n)``.
    """
    trace = problem.followed
    right = trace.gradients()
    for site, j in _terms(problem):
        without = _scaled(problem, site, j, 0.0)
        if not _changes_the_bad_rows(problem, right, without):
            continue
        factors = [0.0, -1.0]
        found = _factor(problem, right, without)
        if found is not None and min(abs(found), abs(found + 1)) > 1e-6 and not is_one(found):
            factors.append(found)
        factors += [2.0, 0.5]
        for factor in dict.fromkeys(factors):
            gradients = _scaled(problem, site, j, factor) if factor else without
            cause, told = _named(problem, site, j, factor)
            yield Guess(cause, told, gradients)


def transposed_products(problem: Problem) -> Iterator[Guess]:
    """A square weight is used where its transpose should be.

    Wrong: ``dx = dy @ W``. Right: ``dx = dy @ W.T``.
    """
    trace = problem.followed
    for numbers in trace.sites.values():
        first = trace.nodes[numbers[0]]
        if first.op != "matmul":
            continue
        for j, (values, _) in enumerate(first.operands):
            if values.ndim < 2 or values.shape[-1] != values.shape[-2]:
                continue
            told = f"behind `{trace.line(numbers[0])}`, a matrix is not transposed"
            yield Guess(TRANSPOSED, told, trace.gradients(_transposed(j), at=numbers))


def _terms(problem: Problem) -> Iterator[tuple[object, int]]:
    """Every place and every operand; -1 stands for all of them, as one."""
    trace = problem.followed
    for site, numbers in trace.sites.items():
        operands = trace.nodes[numbers[0]].operands
        followed = [j for j, (_, tickets) in enumerate(operands) if tickets.any()]
        if len(followed) > 1:
            yield site, -1
        for j in followed:
            yield site, j


def _scaled(problem: Problem, site: object, j: int, factor: float) -> dict[str, HostArray]:
    trace = problem.followed

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        passed = trace.backward(number, g)
        target = node.operands[j][1] if j >= 0 else None
        return [(t, v * factor if target is None or t is target else v) for t, v in passed]

    return trace.gradients(mistake, at=trace.sites[site])


def _changes_the_bad_rows(
    problem: Problem, right: dict[str, HostArray], other: dict[str, HostArray]
) -> bool:
    """Whether a mistake changes all wrong gradients and no other."""
    for name in right:
        changes = not numpy.allclose(other[name], right[name], rtol=1e-7, atol=1e-13)
        if changes != (name in problem.bad):
            return False
    return True


def _factor(
    problem: Problem, right: dict[str, HostArray], without: dict[str, HostArray]
) -> float | None:
    """The number by which the term would have to be multiplied, if the gradient is linear in it."""
    names = [n for n in problem.bad if problem.wrong[n].shape == right[n].shape]
    term = numpy.concatenate([(right[n] - without[n]).ravel() for n in names])
    rest = numpy.concatenate([(problem.wrong[n] - without[n]).ravel() for n in names])
    if not names or not term.any() or not numpy.isfinite(rest).all():
        return None
    return float((term * rest).sum() / (term * term).sum())


def _named(problem: Problem, site: object, j: int, factor: float) -> tuple[str, str]:
    trace = problem.followed
    number = trace.sites[site][0]
    node, line = trace.nodes[number], trace.line(number)
    what = "through it" if j < 0 else f"with respect to {_operand(problem, node, j)}"
    place = f"behind `{line}`, the gradient {what}"
    if factor == 0:
        state = _state(problem, node, j)
        cause = {"h": H_PATH, "c": C_PATH}.get(state or "", TERM_MISSING)
        return cause, f"{place} is left out"
    if factor == -1:
        return SIGN, f"{place} has the wrong sign"
    return FACTOR, f"{place} is {problem.name_factor(factor)} times the right one"


def _state(problem: Problem, node: Node, j: int) -> str | None:
    trace = problem.followed
    if j < 0:
        return None
    tickets = node.operands[j][1]
    for name in problem.subject.variables:
        letter = letter_of(problem, name)
        if letter and numpy.isin(tickets, trace.variables[name]).any():
            return letter
    return None


def _operand(problem: Problem, node: Node, j: int) -> str:
    """What an operand is called: a variable, or the name that a statement gave it."""
    trace = problem.followed
    ticket = int(node.operands[j][1].max(initial=0))
    for name, tickets in trace.variables.items():
        if (tickets == ticket).any():
            return name
    owner = int(trace.owner[ticket])
    target = trace.nodes[owner].site.target if owner >= 0 else None
    return target or f"its {['first', 'second'][min(j, 1)]} operand"


def _transposed(j: int) -> Mistake:
    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        values = [v for v, _ in node.operands]
        right = node.vjp(g, values, node.values)
        values[j] = numpy.swapaxes(values[j], -1, -2)
        wrong = node.vjp(g, values, node.values)
        wrong[j] = right[j]  # the operand itself does not enter its own gradient
        return [(t, v) for (_, t), v in zip(node.operands, wrong) if t.any()]

    return mistake
