"""An array that a forward uses like any other, and whose numbers carry tickets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from deepnlp.diagnosis.derivatives import BINARY, UNARY, HostArray
from deepnlp.diagnosis.tape import Tape, TraceError

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Functions of NumPy that compute, by name; ``functions`` fills it in."""

_REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod"}


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
        return record(self.tape, "gather", picked.values_, picked)

    def __setitem__(self, index: Any, value: Any) -> None:
        values, tickets = pair(value)
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
        """A copy; of floating-point numbers the type stays, others have no gradient."""
        if dtype is bool or dtype is int or numpy.dtype(dtype).kind in "biu":
            return self.values_.astype(dtype)
        return self.copy()

    def fill(self, value: Any) -> None:
        """As of an array."""
        self[...] = value

    def item(self, *index: int) -> Any:
        """A number of it, followed like the array."""
        return self.reshape(-1)[0] if not index else self[index]

    @property
    def strides(self) -> tuple[int, ...]:
        """As of an array of the same layout; values and tickets are equally wide."""
        return self.values_.strides

    @property
    def flat(self) -> Traced:
        """All numbers in a row; a copy."""
        return self.reshape(-1)

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "ndim", "size", "dtype"):
            return getattr(self.values_, name)
        if name in MOVERS or name == "flatten":
            function = getattr(numpy.ndarray, name, None)
            if function is not None:
                return lambda *args, **options: self._move(function, *args, **options)
        if name in FUNCTIONS:
            return lambda *args, **options: FUNCTIONS[name](self, *args, **options)
        if name in PLAIN:
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
        values = [pair(one)[0] for one in inputs]
        if method == "reduce" and name in _REDUCTIONS:
            options.setdefault("axis", 0)
            result = FUNCTIONS[_REDUCTIONS[name]](*inputs, **options)
        elif method == "outer" and name == "multiply":
            result = FUNCTIONS["outer"](*inputs)
        elif method == "at" and name in ("add", "subtract", "multiply"):
            return _at(getattr(numpy, name), *inputs)
        elif method != "__call__":
            raise TraceError(f"numpy.{ufunc.__name__}.{method} is not followed")
        elif name in UNARY or name in BINARY or name == "matmul":
            where = options.pop("where", True)
            if where is not True or options:
                raise TraceError(f"options of numpy.{name} are not followed")
            result = record(self.tape, name, ufunc(*values), *inputs)
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
        if name in FUNCTIONS:
            return FUNCTIONS[name](*args, **options)
        if name in MOVERS:
            return _apply_to_both(self.tape, function, args, options)
        if name in PLAIN or name in ("shape", "ndim", "size", "array_equal", "allclose"):
            return function(*strip(args), **options)
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

MOVERS = {
    "sliding_window_view", "require", "asfortranarray",
    "concatenate", "stack", "hstack", "vstack", "column_stack", "dstack", "split",
    "array_split", "hsplit", "vsplit", "reshape", "transpose", "swapaxes", "moveaxis",
    "rollaxis", "expand_dims", "squeeze", "ravel", "copy", "broadcast_to", "repeat", "tile",
    "flip", "fliplr", "flipud", "roll", "rot90", "atleast_1d", "atleast_2d", "atleast_3d",
    "diagonal", "tril", "triu", "append", "delete", "insert", "ascontiguousarray",
    "broadcast_arrays",
}  # fmt: skip
"""Functions that move numbers and compute nothing."""

PLAIN = {
    "argmax", "argmin", "argsort", "any", "all", "isnan", "isfinite", "tolist", "searchsorted",
}  # fmt: skip
"""Functions whose result has no gradient."""


def _apply_to_both(tape: Tape, function: Any, args: Any, options: Any) -> Any:
    """Move numbers and tickets in the same way."""
    values = function(*strip(args), **options)
    tickets = function(*tickets_in(args), **options)
    if isinstance(values, list | tuple):
        return [Traced(tape, v, t) for v, t in zip(values, tickets)]
    return Traced(tape, values, tickets)


def strip(args: Any) -> Any:
    """The numbers without their tickets."""
    if isinstance(args, Traced):
        return args.values_
    if isinstance(args, list | tuple):
        return type(args)(strip(one) for one in args)
    return args


def tickets_in(args: Any) -> Any:
    """Tickets for arrays that are followed, 0 for other arrays of floating-point numbers."""
    if isinstance(args, Traced):
        return args.tickets
    if isinstance(args, list | tuple):
        return type(args)(tickets_in(one) for one in args)
    if isinstance(args, float | numpy.floating):
        return 0
    if isinstance(args, numpy.ndarray) and args.dtype.kind == "f":
        return numpy.zeros(args.shape, dtype=int)
    return args


def pair(value: Any) -> tuple[HostArray, HostArray]:
    """Numbers and their tickets; those of constants are 0."""
    if isinstance(value, Traced):
        return value.values_, value.tickets
    if isinstance(value, list | tuple) and any(isinstance(one, Traced) for one in value):
        pairs = [pair(one) for one in value]
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


def variable(tape: Tape, values: HostArray) -> Traced:
    """An array in which every number has its own ticket."""
    return Traced(tape, numpy.array(values, dtype="float64"), tape.hand_out(values))


def record(tape: Tape, op: str, values: Any, *operands: Any, **details: Any) -> Traced:
    """Note an operation; a result without tickets is a constant."""
    values = numpy.asarray(values)
    tickets = tape.record(op, values, [pair(operand) for operand in operands], **details)
    return Traced(tape, values.copy(), tickets)


def _at(ufunc: Any, target: Any, index: Any, other: Any) -> None:
    """``np.add.at``: a place that is picked twice is changed twice, one change after the other."""
    if not isinstance(target, Traced):
        raise TraceError("a result was written into an array that is not followed")
    places = numpy.arange(target.size).reshape(target.shape)[index]
    flat_values, flat_tickets = target.values_.reshape(-1), target.tickets.reshape(-1)
    values, tickets = (numpy.broadcast_to(one, places.shape).reshape(-1) for one in pair(other))
    rest = places.reshape(-1)
    while rest.size:
        _, first = numpy.unique(rest, return_index=True)
        here = Traced(target.tape, flat_values[rest[first]], flat_tickets[rest[first]])
        new = ufunc(here, Traced(target.tape, values[first], tickets[first]))
        flat_values[rest[first]], flat_tickets[rest[first]] = new.values_, new.tickets
        kept = numpy.delete(numpy.arange(rest.size), first)
        rest, values, tickets = rest[kept], values[kept], tickets[kept]
    target.values_[...] = flat_values.reshape(target.shape)
    target.tickets[...] = flat_tickets.reshape(target.shape)
