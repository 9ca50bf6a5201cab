"""Element-wise functions and the softmax, and mistakes in their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from deepnlp.diagnosis.derivatives import UNARY
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.diagnosis.trace import Trace
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.numeric import HostArray

Derivative = Callable[[HostArray, HostArray, HostArray], HostArray]
"""Gradient with respect to x of y = f(x), from the gradient with respect to y, x and y."""

Slope = Callable[[HostArray, HostArray], Any]
"""The derivative of y = f(x), from x and y."""


@dataclass
class Activation:
    """A value y = f(x) of a known function, however the forward computes it.

    Attributes
    ----------
    function : str
        ``"tanh"``, ``"sigmoid"``, ``"softmax"`` or another.
    number : int
        Of the node that gives y.
    x, tickets : array
        What goes in, and its tickets.
    """

    function: str
    number: int
    x: HostArray
    tickets: HostArray


def _sigmoid(x: HostArray) -> HostArray:
    return 0.5 * (1 + numpy.tanh(0.5 * x))


def _softmax(x: HostArray) -> HostArray:
    e = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return numpy.asarray(e / e.sum(axis=-1, keepdims=True))


def _softplus(x: HostArray) -> HostArray:
    return numpy.asarray(numpy.logaddexp(0.0, x))


FUNCTIONS: dict[str, Callable[[HostArray], HostArray]] = {
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "softmax": _softmax,
    "log-softmax": lambda x: x - numpy.logaddexp.reduce(x, axis=-1, keepdims=True),
}
"""Functions that take several operations."""

SINGLE = ("tanh", "exp", "sin", "cos", "arctan", "sinh", "cosh", "square", "sqrt", "log")
"""Functions that are one operation."""


def activations(trace: Trace) -> dict[tuple[str, object], list[Activation]]:
    """All known functions in a forward, by name and by the statement that called them."""
    found: dict[tuple[str, object], list[Activation]] = {}
    for number, node in enumerate(trace.nodes):
        one = _recognise(trace, number, node)
        if one is not None:
            found.setdefault((one.function, node.site.call), []).append(one)
    return found


def _recognise(trace: Trace, number: int, node: Node) -> Activation | None:
    y = node.values
    single = Activation(node.op, number, *node.operands[0]) if node.op in SINGLE else None
    may_be_log = node.op == "subtract" and y.ndim and y.shape[-1] > 1 and y.size and y.max() <= 0
    if may_be_log and numpy.allclose(numpy.exp(y).sum(axis=-1), 1):
        source = _furthest_source(trace, node, FUNCTIONS["log-softmax"])
        return None if source is None else Activation("log-softmax", number, *source)
    if node.op not in ("divide", "reciprocal", "multiply", "add", "log", "power", "log1p"):
        return single
    if not y.size or y.min() < 0 or not y.any():
        return single
    sums = y.sum(axis=-1) if y.ndim else y
    may_be = ["softplus"] if y.max() >= 1 else ["sigmoid", "softplus"]
    if numpy.allclose(sums, 1) and y.shape[-1:] != (1,):
        may_be = ["softmax"]
    for name in may_be:
        source = _furthest_source(trace, node, FUNCTIONS[name])
        if source is not None:
            return Activation(name, number, *source)
    return single


def _furthest_source(
    trace: Trace, node: Node, function: Callable[[HostArray], HostArray]
) -> tuple[HostArray, HostArray] | None:
    """The earliest array before a node from which a function gives its result."""
    best: tuple[int, HostArray, HostArray] | None = None
    waiting = [node]
    seen: set[int] = set()
    while waiting and len(seen) < 16:
        one = waiting.pop()
        for values, tickets in one.operands:
            if values.shape != node.values.shape or not tickets.any():
                continue
            close = numpy.allclose(function(values), node.values, rtol=1e-9, atol=1e-12)
            first = int(tickets.max())
            if close and (best is None or first < best[0]):
                best = (first, values, tickets)
            owner = int(trace.owner[first])
            if owner >= 0 and owner not in seen and trace.nodes[owner].op != "matmul":
                seen.add(owner)
                waiting.append(trace.nodes[owner])
    return None if best is None else best[1:]


# --- Derivatives, right and wrong ------------------------------------------------------------


RIGHT: dict[str, Slope] = {
    "sigmoid": lambda x, y: y * (1 - y),
    "softplus": lambda x, y: _sigmoid(x),
    **{name: UNARY[name] for name in SINGLE},
}
"""Derivatives from x and y; those of tanh, sigmoid and exp are usually written with y."""

AT_INPUT = {
    "tanh": ("1 - x^2 in place of 1 - y^2", lambda x, y: 1 - x * x),
    "sigmoid": ("x (1 - x) in place of y (1 - y)", lambda x, y: x * (1 - x)),
    "exp": ("x in place of y", lambda x, y: x),
    "sqrt": ("0.5 / x in place of 0.5 / y", lambda x, y: 0.5 / x),
}
AT_OUTPUT = {
    "tanh": ("tanh'(y), though y is tanh(x) already", lambda x, y: 1 - numpy.tanh(y) ** 2),
    "sigmoid": (
        "sigmoid'(y), though y is sigmoid(x) already",
        lambda x, y: _sigmoid(y) * (1 - _sigmoid(y)),
    ),
    "softplus": ("sigmoid(y) in place of sigmoid(x)", lambda x, y: _sigmoid(y)),
    "exp": ("exp(y), though y is exp(x) already", lambda x, y: numpy.exp(y)),
}
OTHERS: dict[str, Slope] = {
    "1 - y^2, which is tanh's": lambda x, y: 1 - y * y,
    "y (1 - y), which is the sigmoid's": lambda x, y: y * (1 - y),
    "1 - y": lambda x, y: 1 - y,
    "y": lambda x, y: y,
    "y^2": lambda x, y: y * y,
    "(1 - y)^2": lambda x, y: (1 - y) ** 2,
    "1 + y^2": lambda x, y: 1 + y * y,
    "y (1 + y)": lambda x, y: y * (1 + y),
    "1 where y > 0": lambda x, y: 1.0 * (y > 0),
}
"""Derivatives of other functions, or of none."""


def _mistakes(function: str) -> Iterator[tuple[str, str, Derivative]]:
    """Wrong derivatives of a function, each with its cause and its description."""
    if function in COMPOSITE:
        yield from COMPOSITE[function]
        return
    right = RIGHT[function]
    wrong: list[tuple[str, str, Slope]] = [
        (c.DERIVATIVE_AT_INPUT, *table[function])
        for table in (AT_INPUT, AT_OUTPUT)
        if function in table
    ]
    if function not in AT_OUTPUT:
        told = f"{function}'(y) in place of {function}'(x)"
        wrong.append((c.DERIVATIVE_AT_INPUT, told, lambda x, y: right(y, y)))
    missing, derivative = c.DERIVATIVE_MISSING, "the derivative"
    wrong.append((missing, "dy is passed on without the derivative", lambda x, y: 1.0))
    wrong += [(missing, f"{derivative} is {told}", slope) for told, slope in OTHERS.items()]
    wrong += [
        (missing, f"{derivative} is {derivative} squared", lambda x, y: right(x, y) ** 2),
        (c.SIGN, f"{derivative} has the wrong sign", lambda x, y: -right(x, y)),
        (c.FACTOR, f"{derivative} is half the right one", lambda x, y: right(x, y) / 2),
        (c.FACTOR, f"{derivative} is twice the right one", lambda x, y: right(x, y) * 2),
    ]
    for cause, told, slope in wrong:
        yield cause, told, _elementwise(slope)


def _elementwise(slope: Slope) -> Derivative:
    return lambda g, x, y: g * slope(x, y)


def _sum(g: HostArray, y: HostArray, axis: int | None = -1) -> HostArray:
    return numpy.asarray((g * y).sum(axis=axis, keepdims=True))


SOFTMAX_MISTAKES: list[tuple[str, str, Derivative]] = [
    (c.WRONG_AXIS, "the sum of dy * y runs over axis 0", lambda g, x, y: y * (g - _sum(g, y, 0))),
    (
        c.WRONG_AXIS,
        "the sum of dy * y runs over all axes",
        lambda g, x, y: y * (g - _sum(g, y, None)),
    ),
    (
        c.WRONG_AXIS,
        "the sum of dy * y runs over axis 1",
        lambda g, x, y: y * (g - _sum(g, y, min(1, y.ndim - 1))),
    ),
    (c.TERM_MISSING, "the sum over the row is left out: dx = y dy", lambda g, x, y: y * g),
    (
        c.TERM_MISSING,
        "it is treated as element-wise: dx = dy y (1 - y)",
        lambda g, x, y: g * y * (1 - y),
    ),
    (
        c.TERM_MISSING,
        "the sum is over dy and not over dy * y",
        lambda g, x, y: y * (g - g.sum(axis=-1, keepdims=True)),
    ),
    (
        c.TERM_MISSING,
        "the sum is over dy y, but y does not multiply it: dx = y dy - sum",
        lambda g, x, y: y * g - _sum(g, y),
    ),
    (c.FACTOR, "y multiplies the difference twice", lambda g, x, y: y * y * (g - _sum(g, y))),
    (
        c.FACTOR,
        "the mean of dy * y is taken, not the sum",
        lambda g, x, y: y * (g - _sum(g, y) / y.shape[-1]),
    ),
    (c.SIGN, "the sum over the row is added, not subtracted", lambda g, x, y: y * (g + _sum(g, y))),
    (c.SIGN, "the derivative has the wrong sign", lambda g, x, y: -y * (g - _sum(g, y))),
    (
        c.DERIVATIVE_AT_INPUT,
        "it is taken with x in place of y",
        lambda g, x, y: x * (g - _sum(g, x)),
    ),
    (
        c.DERIVATIVE_AT_INPUT,
        "it is taken with softmax(y), though y is the softmax already",
        lambda g, x, y: _softmax(y) * (g - _sum(g, _softmax(y))),
    ),
    (c.DERIVATIVE_MISSING, "dy is passed on without the derivative", lambda g, x, y: g),
]


LOG_SOFTMAX_MISTAKES: list[tuple[str, str, Derivative]] = [
    (c.TERM_MISSING, "dy is not summed: dx = dy - p dy", lambda g, x, y: g - numpy.exp(y) * g),
    (c.SIGN, "the sum is added", lambda g, x, y: g + numpy.exp(y) * g.sum(axis=-1, keepdims=True)),
    (
        c.DERIVATIVE_AT_INPUT,
        "y stands in place of exp(y)",
        lambda g, x, y: g - y * g.sum(axis=-1, keepdims=True),
    ),
    (
        c.DERIVATIVE_AT_INPUT,
        "exp(x) stands in place of exp(y)",
        lambda g, x, y: g - numpy.exp(x) * g.sum(axis=-1, keepdims=True),
    ),
    (
        c.WRONG_AXIS,
        "the sum runs over axis 0",
        lambda g, x, y: g - numpy.exp(y) * g.sum(axis=0, keepdims=True),
    ),
    (c.WRONG_AXIS, "the sum runs over all axes", lambda g, x, y: g - numpy.exp(y) * g.sum()),
    (c.TERM_MISSING, "exp(y) is left out", lambda g, x, y: g - g.sum(axis=-1, keepdims=True)),
    (
        c.FACTOR,
        "the mean is taken, not the sum",
        lambda g, x, y: g - numpy.exp(y) * g.mean(axis=-1, keepdims=True),
    ),
    (c.TERM_MISSING, "dy is passed on without p sum(dy)", lambda g, x, y: g),
    (
        c.TERM_MISSING,
        "only the second term is there",
        lambda g, x, y: -numpy.exp(y) * g.sum(axis=-1, keepdims=True),
    ),
]

COMPOSITE = {"softmax": SOFTMAX_MISTAKES, "log-softmax": LOG_SOFTMAX_MISTAKES}
"""Functions of a whole row."""


def wrong_derivatives(problem: Problem) -> Iterator[Guess]:
    """The derivative of an activation, taken at the wrong place or left out.

    Wrong: ``dx = dy * (1 - x ** 2)`` for y = tanh(x). Right: ``dx = dy * (1 - y ** 2)``.
    """
    trace = problem.followed
    places = activations(trace)
    for (function, _), found in places.items():
        if function not in RIGHT and function not in COMPOSITE:
            continue
        statement = trace.line(found[0].number)
        for cause, told, derivative in _mistakes(function):
            gradients = _replace(found, derivative)
            evidence = f"behind `{statement}` ({function}), {told}"
            yield Guess(cause, evidence, gradients)
    # The same mistake at every call of a function, as where a helper holds the derivative.
    for function in {f for f, _ in places if f in RIGHT}:
        found = [one for (f, _), ones in places.items() if f == function for one in ones]
        if len({trace.nodes[one.number].site.call for one in found}) < 2:
            continue
        for cause, told, derivative in _mistakes(function):
            gradients = _replace(found, derivative)
            yield Guess(cause, f"behind every {function}, {told}", gradients)


def _replace(found: list[Activation], derivative: Derivative) -> Edit:
    by_number = {one.number: one for one in found}

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        one = by_number[number]
        value = numpy.asarray(derivative(g, one.x, node.values))
        return [(one.tickets, numpy.broadcast_to(value, one.tickets.shape))]

    return Edit(mistake, by_number)
