"""What a forward computes, number by number.

A forward is run once on arrays in which every number carries a ticket. Slicing, reshaping, joining
and writing into a buffer move tickets about; an operation that computes something new hands out
new ones and notes in the tape which tickets it took. Read backwards, the tape gives the gradient
of everything, by the chain rule; read with one operation altered, it gives the gradient of a
backward with that mistake, which is compared with the wrong gradient.

The tape does not decide what is right: that comes from numerical gradients alone.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy

HostArray = numpy.ndarray[Any, Any]

Adjoints = list[tuple[HostArray, HostArray]]
"""Tickets, and what is to be added to the gradient of each."""

_ASSIGNMENT = re.compile(r"^\s*([A-Za-z_]\w*)\s*(\[.*?\])?\s*(?:[-+*/@]?=)(?!=)")
_OWN_FILES = ("diagnosis/tape.py", "diagnosis\\tape.py")


class TraceError(Exception):
    """A forward does something that the tape cannot follow; the message says what."""


@dataclass(frozen=True)
class Site:
    """The place in a program where an operation was called; a loop passes it more than once.

    Attributes
    ----------
    key : tuple
        The calls that led there, each as code and position.
    call : tuple
        The same for the statement that the learner would recognise.
    file, number : str, int
        Where that statement is.
    """

    key: tuple[Any, ...]
    call: tuple[Any, ...]
    file: str
    number: int

    @property
    def text(self) -> str:
        """The statement."""
        return linecache.getline(self.file, self.number).strip()

    @property
    def target(self) -> str | None:
        """The name it assigns to, where it is one name."""
        match = _ASSIGNMENT.match(self.text)
        return match.group(1) if match else None


@dataclass
class Node:
    """One operation.

    Attributes
    ----------
    op : str
        Such as ``"multiply"``, ``"matmul"``, ``"sum"`` or ``"gather"`` (a look-up by ids).
    operands : list of (values, tickets)
        As they entered; ticket 0 marks a constant.
    values, tickets : array
        What came out.
    site : Site
    subscripts : str
        Of an ``einsum``.
    axes : tuple of int
        Of a ``sum``.
    """

    op: str
    operands: list[tuple[HostArray, HostArray]]
    values: HostArray
    tickets: HostArray
    site: Site
    subscripts: str = ""
    axes: tuple[int, ...] = ()

    def vjp(self, g: HostArray, operands: list[HostArray], y: HostArray) -> list[HostArray]:
        """Gradient with respect to each operand, from values of the operands and of the result.

        Parameters
        ----------
        g : array
            Gradient with respect to the result.
        operands : list of array
        y : array

        Returns
        -------
        list of array
            Of a shape to which the operand's tickets broadcast.
        """
        if self.op == "matmul":
            A, B = operands
            A2 = A[None, :] if A.ndim == 1 else A
            B2 = B[:, None] if B.ndim == 1 else B
            batch = numpy.broadcast_shapes(A2.shape[:-2], B2.shape[:-2])
            g2 = g.reshape((*batch, A2.shape[-2], B2.shape[-1]))
            dA = g2 @ numpy.swapaxes(B2, -1, -2)
            dB = numpy.swapaxes(A2, -1, -2) @ g2
            return [
                dA.reshape(dA.shape[:-2] + A.shape) if A.ndim == 1 else dA,
                dB.reshape(dB.shape[:-2] + B.shape) if B.ndim == 1 else dB,
            ]
        if self.op == "sum":
            kept = numpy.expand_dims(g, self.axes)
            return [numpy.broadcast_to(kept, operands[0].shape)]
        if self.op == "einsum":
            return self._einsum_vjp(g, operands)
        if self.op in UNARY:
            return [g * UNARY[self.op](operands[0], y)]
        a, b = operands
        return [g * partial for partial in BINARY[self.op](a, b, y)]

    def passed(self, g: HostArray, operands: list[HostArray], y: HostArray) -> Adjoints:
        """The same, beside the tickets of each operand that has some."""
        found = self.vjp(g, operands, y)
        return [(t, v) for (_, t), v in zip(self.operands, found) if t.any()]

    def _einsum_vjp(self, g: HostArray, operands: list[HostArray]) -> list[HostArray]:
        left, right = self.subscripts.split("->")
        names = left.split(",")
        gradients = []
        for j, own in enumerate(names):
            others = [(n, o) for k, (n, o) in enumerate(zip(names, operands)) if k != j]
            terms = ",".join([right, *(n for n, _ in others)])
            gradients.append(numpy.einsum(f"{terms}->{own}", g, *(o for _, o in others)))
        return gradients


UNARY: dict[str, Callable[[HostArray, HostArray], Any]] = {
    "gather": lambda x, y: 1.0,
    "negative": lambda x, y: -1.0,
    "exp": lambda x, y: y,
    "expm1": lambda x, y: y + 1,
    "log": lambda x, y: 1 / x,
    "log1p": lambda x, y: 1 / (1 + x),
    "tanh": lambda x, y: 1 - y * y,
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
    "logaddexp": lambda a, b, y: (numpy.exp(a - y), numpy.exp(b - y)),
}
"""Derivatives of y = f(a, b) with respect to a and to b."""


@dataclass
class Tape:
    """All operations in order, and the value that belongs to each ticket.

    Attributes
    ----------
    nodes : list of Node
    overwritten : list of (tickets before, tickets after)
        What was written in place, over what.
    """

    nodes: list[Node] = field(default_factory=list)
    overwritten: list[tuple[HostArray, HostArray]] = field(default_factory=list)
    _values: list[HostArray] = field(default_factory=lambda: [numpy.zeros(1)])
    _size: int = 1

    @property
    def size(self) -> int:
        """Number of tickets."""
        return self._size

    @property
    def values(self) -> HostArray:
        """Value by ticket; that of ticket 0 has no meaning."""
        if len(self._values) > 1:
            self._values = [numpy.concatenate(self._values)]
        return self._values[0]

    def variable(self, values: HostArray) -> Traced:
        """An array in which every number has its own ticket."""
        return Traced(self, numpy.array(values, dtype="float64"), self._hand_out(values))

    def _hand_out(self, values: HostArray) -> HostArray:
        tickets = numpy.arange(self._size, self._size + values.size).reshape(values.shape)
        self._size += values.size
        self._values.append(numpy.array(values, dtype="float64").reshape(-1))
        return tickets

    def record(self, op: str, values: Any, *operands: Any, **details: Any) -> Any:
        """Note an operation; a result without tickets is a constant."""
        pairs = [_pair(operand) for operand in operands]
        values = numpy.asarray(values)
        if not any(tickets.any() for _, tickets in pairs):
            return Traced(self, values, numpy.zeros(values.shape, dtype=int))
        tickets = self._hand_out(values)
        copies = [(numpy.array(v), numpy.array(t)) for v, t in pairs]
        self.nodes.append(Node(op, copies, values.copy(), tickets, _site(), **details))
        return Traced(self, values.copy(), tickets.copy())


class Traced:
    """An array whose numbers carry tickets; a forward uses it like a NumPy array.

    Parameters
    ----------
    tape : Tape
    values, tickets : array
        Of one shape. Views of them are views of the array: writing goes through.
    """

    __array_priority__ = 1000.0

    def __init__(self, tape: Tape, values: HostArray, tickets: HostArray) -> None:
        self.tape, self.values_, self.tickets = tape, values, tickets

    # --- What it looks like ------------------------------------------------------------------

    @property
    def T(self) -> Any:
        """As of an array."""
        return self._move(numpy.transpose)

    @property
    def real(self) -> Traced:
        """Itself: nothing here is complex."""
        return self

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.values_)

    def __neg__(self) -> Any:
        return numpy.negative(self)

    def __abs__(self) -> Any:
        return numpy.absolute(self)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> HostArray:
        raise TraceError("a number left the arrays that are followed")

    def __float__(self) -> float:
        raise TraceError("a number was turned into a float")

    def __repr__(self) -> str:
        return f"Traced({self.values_!r})"

    # --- Moving tickets ----------------------------------------------------------------------

    def _move(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return _apply_to_both(self.tape, function, (self, *args), options)

    def __getitem__(self, index: Any) -> Any:
        values, tickets = self.values_[index], self.tickets[index]
        picked = Traced(self.tape, numpy.asarray(values), numpy.asarray(tickets))
        if not _looks_up(index):
            return picked
        return self.tape.record("gather", picked.values_, picked)

    def __setitem__(self, index: Any, value: Any) -> None:
        values, tickets = _pair(value)
        before = numpy.array(self.tickets[index])
        self.values_[index] = values
        self.tickets[index] = tickets
        self.tape.overwritten.append((before, numpy.array(self.tickets[index])))

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """As of an array."""
        if len(shape) == 1 and isinstance(shape[0], tuple | list):
            shape = tuple(shape[0])
        return self._move(lambda a: a.reshape(shape))

    def transpose(self, *axes: Any) -> Any:
        """As of an array."""
        return self._move(lambda a: a.transpose(*axes))

    def astype(self, dtype: Any, **options: Any) -> Any:
        """A copy; the number type stays."""
        return self.copy()

    def fill(self, value: Any) -> None:
        """As of an array."""
        self[...] = value

    def item(self, *index: int) -> Any:
        """Not followed."""
        raise TraceError("a number was taken out with item()")

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "ndim", "size", "dtype"):
            return getattr(self.values_, name)
        if name in _MOVERS or name == "flatten":
            function = getattr(numpy.ndarray, name, None)
            if function is not None:
                return lambda *args, **options: self._move(function, *args, **options)
        if name in _FUNCTIONS:
            return lambda *args, **options: _FUNCTIONS[name](self, *args, **options)
        if name in _PLAIN:
            return lambda *args, **options: getattr(self.values_, name)(*args, **options)
        if name.startswith("__"):
            raise AttributeError(name)
        raise TraceError(f"arrays that are followed have no {name}")

    # --- Computing ---------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        options.pop("dtype", None)
        name = {"true_divide": "divide", "float_power": "power", "abs": "absolute"}.get(
            ufunc.__name__, ufunc.__name__
        )
        values = [_pair(one)[0] for one in inputs]
        if method == "reduce" and name in ("add", "maximum", "minimum"):
            function = {"add": "sum", "maximum": "max", "minimum": "min"}[name]
            result = _FUNCTIONS[function](*inputs, **options)
        elif method != "__call__":
            raise TraceError(f"numpy.{ufunc.__name__}.{method} is not followed")
        elif name in UNARY or name in BINARY or name == "matmul":
            where = options.pop("where", True)
            if where is not True or options:
                raise TraceError(f"options of numpy.{name} are not followed")
            result = self.tape.record(name, ufunc(*values), *inputs)
        elif name in ("positive", "conjugate"):
            result = inputs[0]
        elif ufunc(*[numpy.ones(1)] * ufunc.nin).dtype.kind in "bi" or name in ("sign", "floor"):
            return ufunc(*values, **options)  # comparisons and the like have no gradient
        else:
            raise TraceError(f"numpy.{name} is not followed")
        if out is None:
            return result
        (target,) = out
        if not isinstance(target, Traced):
            raise TraceError("a result was written into an array that is not followed")
        target[...] = result
        return target

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        name = function.__name__
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](*args, **options)
        if name in _MOVERS:
            return _apply_to_both(self.tape, function, args, options)
        if name in _PLAIN or name in ("shape", "ndim", "size", "array_equal", "allclose"):
            return function(*_strip(args), **options)
        raise TraceError(f"numpy.{name} is not followed")


def _operator(name: str, swapped: bool = False) -> Any:
    ufunc = getattr(numpy, name)
    return lambda self, other: ufunc(other, self) if swapped else ufunc(self, other)


def _in_place(name: str) -> Any:
    def apply(self: Traced, other: Any) -> Traced:
        self[...] = getattr(numpy, name)(self, other)
        return self

    return apply


for _symbol, _name in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power",
    "matmul": "matmul",
}.items():  # fmt: skip
    setattr(Traced, f"__{_symbol}__", _operator(_name))
    setattr(Traced, f"__r{_symbol}__", _operator(_name, swapped=True))
    setattr(Traced, f"__i{_symbol}__", _in_place(_name))
for _symbol, _name in {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal",
}.items():  # fmt: skip
    setattr(Traced, f"__{_symbol}__", _operator(_name))

_MOVERS = {
    "concatenate", "stack", "hstack", "vstack", "column_stack", "dstack", "split",
    "array_split", "hsplit", "vsplit", "reshape", "transpose", "swapaxes", "moveaxis",
    "rollaxis", "expand_dims", "squeeze", "ravel", "copy", "broadcast_to", "repeat", "tile",
    "flip", "fliplr", "flipud", "roll", "rot90", "atleast_1d", "atleast_2d", "atleast_3d",
    "diagonal", "tril", "triu", "pad", "append", "delete", "insert", "ascontiguousarray",
    "broadcast_arrays",
}  # fmt: skip
"""Functions that move numbers and compute nothing."""

_PLAIN = {
    "argmax", "argmin", "argsort", "any", "all", "isnan", "isfinite", "tolist", "searchsorted",
}  # fmt: skip
"""Functions whose result has no gradient."""


def _apply_to_both(tape: Tape, function: Any, args: Any, options: Any) -> Any:
    """Move numbers and tickets in the same way."""
    values = function(*_strip(args), **options)
    tickets = function(*_tickets(args), **options)
    if isinstance(values, list | tuple):
        return [Traced(tape, v, t) for v, t in zip(values, tickets)]
    return Traced(tape, values, tickets)


def _strip(args: Any) -> Any:
    if isinstance(args, Traced):
        return args.values_
    if isinstance(args, list | tuple):
        return type(args)(_strip(one) for one in args)
    return args


def _tickets(args: Any) -> Any:
    """Tickets for arrays that are followed, 0 for other arrays of floating-point numbers."""
    if isinstance(args, Traced):
        return args.tickets
    if isinstance(args, list | tuple):
        return type(args)(_tickets(one) for one in args)
    if isinstance(args, float | numpy.floating):
        return 0
    if isinstance(args, numpy.ndarray) and args.dtype.kind == "f":
        return numpy.zeros(args.shape, dtype=int)
    return args


def _pair(value: Any) -> tuple[HostArray, HostArray]:
    if isinstance(value, Traced):
        return value.values_, value.tickets
    if isinstance(value, list | tuple) and any(isinstance(one, Traced) for one in value):
        pairs = [_pair(one) for one in value]
        return numpy.array([v for v, _ in pairs]), numpy.array([t for _, t in pairs])
    values = numpy.asarray(value)
    return values, numpy.zeros(values.shape, dtype=int)


def _looks_up(index: Any) -> bool:
    """Whether an index picks by an array of integers, so that a row may be picked twice."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(
        isinstance(part, list)
        or (isinstance(part, numpy.ndarray) and part.dtype.kind in "iu" and part.ndim > 0)
        for part in parts
    )


# --- Functions that compute -------------------------------------------------------------------


def _sum(x: Any, axis: Any = None, *_: Any, keepdims: bool = False, **options: Any) -> Any:
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        axes = tuple(a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,)))
    total = x.tape.record("sum", numpy.sum(x.values_, axis=axes), x, axes=axes)
    if keepdims:
        shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
        total = total.reshape(shape)
    return total


def _mean(x: Any, axis: Any = None, *_: Any, keepdims: bool = False, **options: Any) -> Any:
    total = _sum(x, axis, keepdims=keepdims)
    return total / (x.size / max(total.size, 1))


def _var(
    x: Any, axis: Any = None, *_: Any, ddof: int = 0, keepdims: bool = False, **options: Any
) -> Any:
    centred = x - _mean(x, axis, keepdims=True)
    squares = _sum(centred * centred, axis, keepdims=keepdims)
    return squares / (x.size / max(squares.size, 1) - ddof)


def _std(x: Any, axis: Any = None, **options: Any) -> Any:
    return numpy.sqrt(_var(x, axis, **options))


def _extreme(name: str) -> Any:
    pick = {"max": numpy.argmax, "min": numpy.argmin}[name]

    def extreme(x: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        if axis is None:
            found = x.reshape(-1)._move(lambda a: a[pick(x.values_)])
            return found.reshape((1,) * x.ndim) if keepdims else found
        where = numpy.expand_dims(pick(x.values_, axis=axis), axis)
        found = x._move(lambda a: numpy.take_along_axis(a, where, axis))
        return found if keepdims else found._move(lambda a: a.squeeze(axis))

    return extreme


def _dot(a: Any, b: Any) -> Any:
    if numpy.ndim(_strip(a)) == 0 or numpy.ndim(_strip(b)) == 0:
        return numpy.multiply(a, b)
    if numpy.ndim(_strip(b)) > 2:
        raise TraceError("numpy.dot of more than two axes is not followed")
    return numpy.matmul(a, b)


def _einsum(subscripts: str, *operands: Any, **options: Any) -> Any:
    tape = next(one.tape for one in operands if isinstance(one, Traced))
    subscripts = subscripts.replace(" ", "")
    if (
        "->" not in subscripts
        or "." in subscripts
        or any(len(set(part)) < len(part) for part in subscripts.split("->")[0].split(","))
    ):
        raise TraceError("this form of numpy.einsum is not followed")
    left, right = subscripts.split("->")
    for j, own in enumerate(left.split(",")):
        rest = right + "".join(p for k, p in enumerate(left.split(",")) if k != j)
        if set(own) - set(rest):
            raise TraceError("this form of numpy.einsum is not followed")
    values = numpy.einsum(subscripts, *_strip(operands))
    return tape.record("einsum", values, *operands, subscripts=subscripts)


def _outer(a: Any, b: Any) -> Any:
    return numpy.multiply(a.reshape(-1, 1), b.reshape(1, -1))


def _clip(x: Any, low: Any = None, high: Any = None, **options: Any) -> Any:
    low, high = options.get("a_min", low), options.get("a_max", high)
    x = x if low is None else numpy.maximum(x, low)
    return x if high is None else numpy.minimum(x, high)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord not in (None, 2, "fro"):
        raise TraceError("this norm is not followed")
    return numpy.sqrt(_sum(x * x, axis, keepdims=keepdims))


def _take(x: Any, indices: Any, axis: Any = None, **options: Any) -> Any:
    found = x._move(lambda a: numpy.take(a, indices, axis=axis))
    return x.tape.record("gather", found.values_, found)


def _where(condition: Any, a: Any, b: Any) -> Any:
    tape = a.tape if isinstance(a, Traced) else b.tape
    (va, ta), (vb, tb) = _pair(a), _pair(b)
    return Traced(tape, numpy.where(condition, va, vb), numpy.where(condition, ta, tb))


def _copyto(target: Any, source: Any, where: Any = True) -> None:
    target[...] = _where(where, source, target)


def _like(value: float) -> Any:
    def build(x: Any, dtype: Any = None, **options: Any) -> Any:
        if dtype is not None and numpy.dtype(dtype).kind not in "fc":
            return numpy.full(x.shape, value, dtype=dtype)
        return Traced(x.tape, numpy.full(x.shape, value), numpy.zeros(x.shape, dtype=int))

    return build


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _sum, "mean": _mean, "var": _var, "std": _std, "norm": _norm, "outer": _outer,
    "dot": _dot, "inner": lambda a, b: _dot(a, b.T), "einsum": _einsum,
    "max": _extreme("max"), "amax": _extreme("max"),
    "min": _extreme("min"), "amin": _extreme("min"),
    "clip": _clip, "take": _take, "where": _where, "copyto": _copyto,
    "zeros_like": _like(0.0), "ones_like": _like(1.0), "empty_like": _like(0.0),
    "full_like": lambda x, value, **options: _like(value)(x, **options),
}  # fmt: skip


# --- Standing for numpy -----------------------------------------------------------------------


class TracingNumpy:
    """NumPy, except that new buffers are arrays that are followed."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        # isinstance(x, xp.ndarray) takes a tuple of types as well
        self.ndarray = (numpy.ndarray, Traced)
        for name in ("zeros", "ones", "empty"):
            setattr(self, name, self._new(name))
        for name in ("asarray", "array", "ascontiguousarray"):
            setattr(self, name, self._from(name))

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)

    def asnumpy(self, array: Any) -> Any:
        """Numbers without tickets."""
        return _strip(array)

    def _new(self, name: str) -> Any:
        def build(shape: Any, dtype: Any = "float64", **options: Any) -> Any:
            if numpy.dtype(dtype).kind not in "fc":
                return getattr(numpy, name)(shape, dtype=dtype)
            values = numpy.zeros(shape) if name != "ones" else numpy.ones(shape)
            return Traced(self._tape, values, numpy.zeros(values.shape, dtype=int))

        return build

    def _from(self, name: str) -> Any:
        def convert(value: Any, dtype: Any = None, **options: Any) -> Any:
            if isinstance(value, Traced):
                return value.copy() if name == "array" else value
            if isinstance(value, list | tuple) and _holds_traced(value):
                return numpy.stack([convert(one) for one in value])
            return getattr(numpy, name)(value, dtype=dtype)

        return convert


def _holds_traced(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_traced(one) for one in value)
    return isinstance(value, Traced)


@contextmanager
def numpy_replaced(namespaces: list[dict[str, Any]], stand_in: TracingNumpy) -> Iterator[None]:
    """Replace NumPy in some modules, under the name they give it.

    Parameters
    ----------
    namespaces : list of dict
        The global names of the modules.
    stand_in : TracingNumpy
    """
    changed = [(names, key) for names in namespaces for key, v in names.items() if v is numpy]
    for names, key in changed:
        names[key] = stand_in
    try:
        yield
    finally:
        for names, key in changed:
            names[key] = numpy


def _site() -> Site:
    """The place in the user's program."""
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and len(frames) < 24:
        name = frame.f_code.co_filename
        if frame.f_code.co_name == "_call_forward":
            break
        if not name.endswith(_OWN_FILES) and "numpy" not in name:
            frames.append(frame)
        frame = frame.f_back
    key = tuple((f.f_code, f.f_lasti) for f in frames)
    if not frames:
        return Site((), (), "", 0)
    assigns = [
        bool(_ASSIGNMENT.match(linecache.getline(f.f_code.co_filename, f.f_lineno))) for f in frames
    ]
    depth = assigns.index(True) if any(assigns) else 0
    f = frames[depth]
    return Site(key, key[depth:], f.f_code.co_filename, f.f_lineno)
