"""Derivatives of the operations that a tape holds: vector-Jacobian products.

For an operation y = f(a, b) and the gradient g with respect to y, those with respect to a and b
are g (dy/da) and g (dy/db). Every g here has one axis more than y, its last: reverse passes that
differ by one edit each are run side by side, one in each column.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy

HostArray = numpy.ndarray[Any, Any]

UNARY: dict[str, Callable[[HostArray, HostArray], Any]] = {
    "gather": lambda x, y: 1.0,
    "extreme": lambda x, y: 1.0,  # of the entries that were taken
    "negative": lambda x, y: -1.0,
    "exp": lambda x, y: y,
    "expm1": lambda x, y: y + 1,
    "log": lambda x, y: 1 / x,
    "log1p": lambda x, y: 1 / (1 + x),
    "tanh": lambda x, y: 1 - y * y,
    "expit": lambda x, y: y * (1 - y),
    "erf": lambda x, y: 2 / numpy.sqrt(numpy.pi) * numpy.exp(-x * x),
    "sqrt": lambda x, y: 0.5 / y,
    "square": lambda x, y: 2 * x,
    "reciprocal": lambda x, y: -y * y,
    "absolute": lambda x, y: numpy.sign(x),
    "sin": lambda x, y: numpy.cos(x),
    "cos": lambda x, y: -numpy.sin(x),
    "arctan": lambda x, y: 1 / (1 + x * x),
    "sinh": lambda x, y: numpy.cosh(x),
    "cosh": lambda x, y: numpy.sinh(x),
}
"""Derivative of y = f(x), from x and y."""

BINARY: dict[str, Callable[[HostArray, HostArray, HostArray], tuple[Any, Any]]] = {
    "add": lambda a, b, y: (1.0, 1.0),
    "subtract": lambda a, b, y: (1.0, -1.0),
    "multiply": lambda a, b, y: (b, a),
    "divide": lambda a, b, y: (1 / b, -a / (b * b)),
    "power": lambda a, b, y: (b * a ** (b - 1.0), y * numpy.log(numpy.where(a > 0, a, 1.0))),
    "maximum": lambda a, b, y: (1.0 * (a >= b), 1.0 * (a < b)),
    "minimum": lambda a, b, y: (1.0 * (a <= b), 1.0 * (a > b)),
    "fmax": lambda a, b, y: (1.0 * (a >= b), 1.0 * (a < b)),
    "fmin": lambda a, b, y: (1.0 * (a <= b), 1.0 * (a > b)),
    "logaddexp": lambda a, b, y: (numpy.exp(a - y), numpy.exp(b - y)),
    "arctan2": lambda a, b, y: (b / (a * a + b * b), -a / (a * a + b * b)),
    "hypot": lambda a, b, y: (a / y, b / y),
}
"""Derivatives of y = f(a, b) with respect to a and to b."""

LINEAR = ("matmul", "sum", "einsum", "call")
"""Operations whose derivative is more than a product entry by entry."""

LARGEST_CALL = 2000
"""A function without a formula is followed up to so many numbers that go in, or come out."""


def partials(op: str, operands: list[HostArray], y: HostArray) -> list[Any]:
    """Derivatives of an operation that works entry by entry; numbers, or arrays of y's shape."""
    if op in UNARY:
        return [UNARY[op](operands[0], y)]
    if op in BINARY:
        return list(BINARY[op](operands[0], operands[1], y))
    function = getattr(numpy, op, None) or getattr(import_module("scipy.special"), op)
    found = []
    for j, x in enumerate(operands):  # a ufunc without a formula here: by central differences
        step = 1e-5 * numpy.maximum(numpy.abs(x), 1.0)
        ends = [function(*operands[:j], x + s, *operands[j + 1 :]) for s in (step, -step)]
        found.append((ends[0] - ends[1]) / (2 * step))
    return found


def linear_vjp(node: Any, g: HostArray, operands: list[HostArray]) -> list[HostArray]:
    """The same for one of ``LINEAR``: gradients with respect to the operands.

    Parameters
    ----------
    node : Node
        For its ``op``, ``axes`` and ``subscripts``.
    g : array (*y.shape, columns)
    operands : list of array

    Returns
    -------
    list of array
        Each of a shape to which (*operand.shape, columns) broadcasts.
    """
    if node.op == "matmul":
        return _matmul(g, *operands)
    if node.op == "call":
        axes = range(g.ndim - 1)
        found = node.jacobians(operands)
        return [numpy.tensordot(one, g, axes=(axes, axes)) for one in found]
    if node.op == "sum":
        kept = numpy.expand_dims(g, node.axes)
        return [numpy.broadcast_to(kept, (*operands[0].shape, g.shape[-1]))]
    return _einsum(node.subscripts, g, operands)


def _matmul(g: HostArray, A: HostArray, B: HostArray) -> list[HostArray]:
    """dA = g B^T and dB = A^T g, for each column; matrices may be stacked, vectors may stand in."""
    A2 = A[None, :] if A.ndim == 1 else A
    B2 = B[:, None] if B.ndim == 1 else B
    batch = numpy.broadcast_shapes(A2.shape[:-2], B2.shape[:-2])
    n, k, m, e = A2.shape[-2], A2.shape[-1], B2.shape[-1], g.shape[-1]
    g = g.reshape((*batch, n, m, e))
    dA = numpy.matmul(B2[..., None, :, :], g)  # (*batch, n, k, e)
    dB = numpy.matmul(numpy.swapaxes(A2, -1, -2), g.reshape((*batch, n, m * e)))
    dB = dB.reshape((*dB.shape[:-1], m, e))
    return [
        dA.reshape((*dA.shape[:-3], k, e)) if A.ndim == 1 else dA,
        dB.reshape((*dB.shape[:-3], k, e)) if B.ndim == 1 else dB,
    ]


def jacobians(function: Any, operands: list[HostArray]) -> list[HostArray]:
    """Derivatives of a function of arrays with respect to each operand; see :func:`jacobian`."""
    return [jacobian(function, operands, j) for j in range(len(operands))]


def jacobian(function: Callable[..., Any], operands: list[HostArray], j: int) -> HostArray:
    """Derivatives of a function of arrays with respect to operand j, by central differences.

    Returns
    -------
    array (*y.shape, *operand.shape)
        To some ten digits: two steps, the second half as long, cancel the first error.
    """
    x = numpy.asarray(operands[j], dtype="float64")
    columns = []
    for k in range(x.size):
        size = 1e-3 * max(1.0, abs(float(x.flat[k])))
        slopes = []
        for step in (size, size / 2):
            ends = []
            for s in (step, -step):
                moved = x.copy()
                moved.flat[k] += s
                ends.append(function(*operands[:j], moved, *operands[j + 1 :]))
            slopes.append((ends[0] - ends[1]) / (2 * step))
        columns.append(slopes[1] + (slopes[1] - slopes[0]) / 3)
    shape = numpy.shape(columns[0])
    return numpy.stack(columns, axis=-1).reshape((*shape, *x.shape))


def summed(value: HostArray, shape: tuple[int, ...], columns: int = 0) -> HostArray:
    """The sum over the axes along which an array of that shape was broadcast.

    So many last axes of the value, its columns, do not belong to the array.
    """
    more = value.ndim - columns - len(shape)
    if more > 0:
        value = value.sum(axis=tuple(range(more)))
    ones = [k for k, n in enumerate(shape) if n == 1 and k < value.ndim - columns]
    axes = tuple(k for k in ones if value.shape[k] != 1)
    return value.sum(axis=axes, keepdims=True) if axes else value


def _einsum(subscripts: str, g: HostArray, operands: list[HostArray]) -> list[HostArray]:
    left, right = subscripts.split("->")
    names = left.split(",")
    column = next(c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in subscripts)
    sizes = {c: n for name, o in zip(names, operands) for c, n in zip(name, o.shape)}
    gradients = []
    for j, own in enumerate(names):
        others = [(n, o) for k, (n, o) in enumerate(zip(names, operands)) if k != j]
        known = set(right).union(*(n for n, _ in others))
        missing = "".join(c for c in own if c not in known)  # summed in this operand alone
        if missing:
            others.append((missing, numpy.ones([sizes[c] for c in missing])))
        terms = ",".join([right + column, *(n for n, _ in others)])
        arrays = [o for _, o in others]
        gradients.append(numpy.einsum(f"{terms}->{own}{column}", g, *arrays, optimize=True))
    return gradients
