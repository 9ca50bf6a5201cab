"""A gradient that is taken at another point of the graph than it should be."""

from __future__ import annotations

from collections.abc import Iterator

from deepnlp.diagnosis.edits.edge import Edge, edges
from deepnlp.diagnosis.edits.values import is_whole_statement
from deepnlp.diagnosis.hypotheses.activations import activations
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck.causes import DERIVATIVE_MISSING, MASK_MISSING, TERM_MISSING, WRONG_VALUE
from deepnlp.gradcheck.numeric import HostArray


def other_gradients(problem: Problem) -> Iterator[Guess]:
    """The gradient with respect to a later value is passed on.

    Wrong: ``dW = x.T @ dh`` for h = tanh(x W). Right: ``dW = x.T @ (dh * (1 - h ** 2))``.
    """
    trace = problem.followed
    sites = list(trace.sites.values())
    known = {one.number for ones in activations(trace).values() for one in ones}
    for edge in edges(problem):
        shape, runs = edge.first.values.shape, len(edge.numbers)
        for numbers in sites:
            later = trace.nodes[numbers[0]]
            if later.values.shape != shape or len(numbers) not in (1, runs):
                continue
            taken = dict(zip(edge.numbers, numbers if len(numbers) == runs else numbers * runs))
            if not is_whole_statement(problem, numbers[0]) or any(m <= n for n, m in taken.items()):
                continue
            name = later.site.target or f"`{later.site.text}`"
            what = "through it" if edge.j < 0 else f"with respect to {edge.operand}"
            told = (
                f"behind {edge.line}, the gradient {what} is computed from the gradient with "
                f"respect to {name}, which comes later"
            )
            tickets = {n: trace.nodes[m].tickets for n, m in taken.items()}
            cause = _cause(problem, edge, numbers[0], known)
            yield Guess(cause, told, Edit(instead=(edge.j, tickets), at=taken), tier=1)


def unused_conditions(problem: Problem) -> Iterator[Guess]:
    """The gradient that comes in is used where a condition should have cut it off.

    Wrong: ``da = (dy * x).sum(0)`` for a rectifier that leaks.
    Right: ``da = (dy * x * (x <= 0)).sum(0)``.
    """
    trace = problem.followed
    for edge in edges(problem):
        for dy in trace.weights:
            if dy.shape != edge.first.values.shape or dy.ndim == 0 or len(edge.numbers) > 1:
                continue

            def mistake(
                number: int, node: Node, g: HostArray, dy: HostArray = dy, edge: Edge = edge
            ) -> Adjoints:
                right, other = trace.backward(number, g), trace.backward(number, dy)
                own = node.operands[edge.j][1]
                return [o if edge.j < 0 or o[0] is own else r for r, o in zip(right, other)]

            what = "through it" if edge.j < 0 else f"with respect to {edge.operand}"
            told = f"behind {edge.line}, the gradient {what} is computed from dy as it comes in"
            yield Guess(DERIVATIVE_MISSING, told, Edit(mistake, edge.numbers), tier=2)


def forgotten_gradients(problem: Problem) -> Iterator[Guess]:
    """A local derivative is passed on without the gradient that comes in.

    Wrong: ``do = tanh_c``. Right: ``do = dh * tanh_c``.
    """
    trace = problem.followed

    for edge in edges(problem):

        def mistake(number: int, node: Node, g: HostArray, edge: Edge = edge) -> Adjoints:
            right, other = trace.backward(number, g), trace.backward(number, 0 * g + 1)
            own = node.operands[edge.j][1]
            return [o if edge.j < 0 or o[0] is own else r for r, o in zip(right, other)]

        what = "through it" if edge.j < 0 else f"with respect to {edge.operand}"
        told = (
            f"behind {edge.line}, the gradient {what} lacks the gradient that comes in, "
            f"`{problem.incoming()}` or what was computed from it"
        )
        yield Guess(TERM_MISSING, told, Edit(mistake, edge.numbers))


def _cause(problem: Problem, edge: Edge, later: int, known: set[int]) -> str:
    """What lies between the two values: an activation, a mask, or something else."""
    trace = problem.followed
    if later in known:
        return DERIVATIVE_MISSING
    node = trace.nodes[later]
    if node.op in ("maximum", "minimum"):
        return DERIVATIVE_MISSING
    if node.op == "multiply" and not all(t.any() for _, t in node.operands):
        return MASK_MISSING if problem.is_random else TERM_MISSING
    return WRONG_VALUE
