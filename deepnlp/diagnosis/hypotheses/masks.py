"""Dropout: the mask that zeroes in the forward must zero in the backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from deepnlp.diagnosis.edits.edge import name_of_operand
from deepnlp.diagnosis.hypotheses.losses import targets_of
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck.causes import DERIVATIVE_MISSING, MASK_MISSING, MASK_SCALE, TERM_MISSING
from deepnlp.gradcheck.numeric import HostArray


def wrong_masks(problem: Problem) -> Iterator[Guess]:
    """The mask of a dropout or of a rectifier is left out, or its factor is wrong.

    Wrong: ``return dy`` or ``return dy * mask / (1 - p) / (1 - p)``.
    Right: ``return dy * mask / (1 - p)``.
    """
    trace = problem.followed
    if targets_of(problem) is not None:
        return
    for numbers in trace.sites.values():
        first = trace.nodes[numbers[0]]
        mask = _mask_of(first)
        if mask is None:
            continue
        line = trace.line(numbers[0])
        x = next(v for v, t in first.operands if t.any())
        if _is_rectifier(mask, x):
            told = f"behind `{line}`, what is cut off gets a gradient"
            yield Guess(DERIVATIVE_MISSING, told, _with(problem, numbers, lambda m, s: 0 * m + 1))
            continue
        told = f"behind `{line}`, what the mask zeroes gets a gradient"
        cause = MASK_MISSING if problem.is_random or mask.max() != 1 else TERM_MISSING
        if cause == TERM_MISSING:
            k = next(k for k, (_, t) in enumerate(first.operands) if not t.any())
            mask_name = name_of_operand(problem, first, k)
            told = f"behind `{line}`, the factor {mask_name} is left out: what it zeroes counts"
        yield Guess(cause, told, _with(problem, numbers, lambda m, s: 0 * m + 1))
        yield Guess(cause, told, _with(problem, numbers, lambda m, s: 0 * m + s))
        scales = {float(mask.max()), *_scales(problem, numbers)} - {1.0}
        for scale in scales:
            for power, word in ((2, "twice"), (0, "not at all"), (-1, "the wrong way round")):
                change = scale ** (power - 1)
                told = f"behind `{line}`, the factor {scale:.6g} of the mask is applied {word}"
                gradients = _with(problem, numbers, lambda m, s, c=change: m * c)
                yield Guess(MASK_SCALE, told, gradients)
            told = f"behind `{line}`, mask and factor are both left out"
            gradients = _with(problem, numbers, lambda m, s, c=scale: 0 * m + 1 / c)
            yield Guess(MASK_MISSING, told, gradients)


def rectifier_passed(problem: Problem) -> Iterator[Guess]:
    """A rectifier passes the gradient where its output was cut off.

    Wrong: ``return dy``. Right: ``return dy * (x > 0)``.
    """
    trace = problem.followed
    for numbers in trace.sites.values():
        if trace.nodes[numbers[0]].op not in ("maximum", "minimum", "absolute"):
            continue

        def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
            return [(t, numpy.broadcast_to(g, g.shape)) for _, t in node.operands if t.any()]

        told = f"behind `{trace.line(numbers[0])}`, what is cut off gets a gradient"
        yield Guess(DERIVATIVE_MISSING, told, Edit(mistake, numbers))


def _with(problem: Problem, numbers: list[int], change: Callable[..., Any]) -> Edit:

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints | None:
        mask = _mask_of(node)
        if mask is None:
            return None
        tickets = next(t for _, t in node.operands if t.any())
        scale = float(mask.max())
        return [(tickets, g * numpy.broadcast_to(change(mask, scale), g.shape))]

    return Edit(mistake, numbers)


def _mask_of(node: Node) -> HostArray | None:
    """The constant operand of a product, if it holds zeros and one other number."""
    if node.op != "multiply":
        return None
    constants = [v for v, t in node.operands if not t.any()]
    if len(constants) != 1 or constants[0].ndim == 0 or constants[0].size < 2:
        return None
    mask = numpy.asarray(constants[0], dtype="float64")
    values = numpy.unique(mask.round(12))
    is_mask = (len(values) == 2 and values[0] == 0) or (len(values) == 1 and values[0] != 1)
    return mask if is_mask and values[-1] > 0 else None


def _is_rectifier(mask: HostArray, x: HostArray) -> bool:
    return mask.shape == x.shape and bool(((mask > 0) == (x > 0)).all()) and mask.max() == 1


def _scales(problem: Problem, numbers: list[int]) -> set[float]:
    """Constant numbers by which the masked value is multiplied or divided elsewhere."""
    trace = problem.followed
    found = set()
    for node in trace.nodes:
        for values, tickets in node.operands:
            if node.op in ("multiply", "divide") and not tickets.any() and values.size == 1:
                number = float(values.reshape(-1)[0])
                if number > 0:
                    found.add(1 / number if node.op == "divide" else number)
    return found
