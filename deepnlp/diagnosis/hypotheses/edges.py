"""A square weight is used where its transpose should be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit, Mistake
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck.causes import TRANSPOSED
from deepnlp.gradcheck.numeric import HostArray


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
            yield Guess(TRANSPOSED, told, Edit(_transposed(j), numbers))
        shape = first.values.shape
        if first.values.ndim >= 2 and shape[-1] == shape[-2]:
            for j in range(2):
                told = (
                    f"behind `{trace.line(numbers[0])}`, the gradient that comes in is transposed"
                )
                yield Guess(TRANSPOSED, told, Edit(_turned(j), numbers))


def _turned(j: int) -> Mistake:
    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        values = [v for v, _ in node.operands]
        right = node.vjp(g, values, node.values)
        right[j] = node.vjp(numpy.swapaxes(g, -1, -2), values, node.values)[j]
        return node.beside(right)

    return mistake


def _transposed(j: int) -> Mistake:
    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        values = [v for v, _ in node.operands]
        right = node.vjp(g, values, node.values)
        values[j] = numpy.swapaxes(values[j], -1, -2)
        wrong = node.vjp(g, values, node.values)
        wrong[j] = right[j]  # the operand itself does not enter its own gradient
        return node.beside(wrong)

    return mistake
