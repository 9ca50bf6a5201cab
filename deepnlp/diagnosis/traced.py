"""An array that a forward uses like any other, and whose numbers carry tickets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
from numpy.lib.mixins import NDArrayOperatorsMixin

from deepnlp.diagnosis.derivatives import LARGEST_CALL, HostArray
from deepnlp.diagnosis.tape import Tape, TraceError
from deepnlp.gradcheck.walking import leaves, mapped

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Functions of NumPy that compute, by name; ``functions`` fills it in."""

_REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min"}


class Traced(NDArrayOperatorsMixin):
    """An array whose numbers carry tickets; a forward uses it like a NumPy array.

    Its operators are the ufuncs of NumPy, which come to ``__array_ufunc__``.

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

    def __len__(self) -> int:
        return len(self.values_)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> HostArray:
        raise _left(self.tape, "a function that cannot be followed takes an array")

    def __float__(self) -> float:
        raise _left(self.tape, "a number is turned into a float of Python")

    def __bool__(self) -> bool:
        return bool(self.values_)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

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
        self.values_[index], self.tickets[index] = values, tickets
        self.tape.overwritten.append((before, numpy.array(self.tickets[index])))

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

    def __getattr__(self, name: str) -> Any:
        found = getattr(numpy.ndarray, name, None)
        if name.startswith("__") or found is None:
            raise AttributeError(f"an array has no {name}")
        if name in _VIEWS:
            return self._move(_VIEWS[name])
        if not callable(found):  # shape, dtype and the like
            return getattr(self.values_, name)
        if name in ("sort", "partition"):
            return lambda *args, **options: self.__setitem__(
                ..., getattr(numpy, name)(self, *args, **options)
            )
        return lambda *args, **options: called(self.tape, found, (self, *args), options)

    # --- Computing ---------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        options.pop("dtype", None)
        if options.get("where", True) is not True:
            if method != "__call__":
                return by_differences(self.tape, getattr(ufunc, method), inputs, options)
            where, old = options.pop("where"), numpy.nan if out is None else out[0]
            result = FUNCTIONS["where"](where, ufunc(*inputs, **options), old)
            return result if out is None else self._write(out, result)
        name = "power" if ufunc is numpy.float_power else ufunc.__name__
        values = [pair(one)[0] for one in inputs]
        if method == "reduce" and name in _REDUCTIONS:
            options.setdefault("axis", 0)
            result = FUNCTIONS[_REDUCTIONS[name]](*inputs, **options)
        elif method == "outer" and name == "multiply":
            result = FUNCTIONS["outer"](*inputs)
        elif method == "at" and name in ("add", "subtract", "multiply"):
            return _at(getattr(numpy, name), *inputs)
        elif method != "__call__" or (ufunc.signature and name != "matmul"):
            result = by_differences(self.tape, getattr(ufunc, method), inputs, options)
        elif name in ("positive", "conjugate"):
            result = inputs[0]
        elif ufunc.nout > 1 or ufunc(*values).dtype.kind != "f" or name in _FLAT:
            return ufunc(*values, **options)  # comparisons and the like have no gradient
        else:
            result = record(self.tape, name, ufunc(*values), *inputs)
        return result if out is None else self._write(out, result)

    def _write(self, out: Any, result: Any) -> Traced:
        (target,) = out if isinstance(out, tuple) else (out,)
        if not isinstance(target, Traced):
            raise TraceError("a result was written into an array that is not followed")
        target[...] = result
        return target

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        out = options.pop("out", None)
        result = called(self.tape, function, args, options)
        return result if out is None else self._write(out, result)


def _left(tape: Tape, what: str) -> TraceError:
    """An error that says where a number leaves the arrays that are followed."""
    site = tape.site()
    where = f" in `{site.text}` (line {site.number})" if site.text else ""
    return TraceError(f"{what}{where}")


def called(tape: Tape, function: Any, args: Any, options: Any) -> Any:
    """Call a function of NumPy: by its formula, by moving numbers, or by differences."""
    name = function.__name__
    if name in FUNCTIONS and (name == "copyto" or not {"where", "initial"} & set(options)):
        return FUNCTIONS[name](*args, **options)
    if name in MOVERS:
        return _apply_to_both(tape, function, args, options)
    return by_differences(tape, function, args, options)


def by_differences(tape: Tape, function: Any, args: Any, options: Any) -> Any:
    """The same for a function without a formula; what gives no numbers is called as it is."""
    followed = traced_in([args, options])
    values = [one.values_ for one in followed]

    def compute(*arrays: Any) -> Any:
        left = iter(arrays)

        def put(one: Any) -> Any:
            return next(left).copy() if isinstance(one, Traced) else one

        return function(*mapped(put, args), **mapped(put, options))

    result = compute(*values)
    several = isinstance(result, list | tuple)
    parts = [numpy.asarray(part) for part in (result if several else [result])]
    if any(part.dtype.kind == "c" for part in parts):
        raise _left(
            tape, f"numpy.{function.__name__} gives complex numbers, which are not followed,"
        )
    if any(part.dtype.kind != "f" for part in parts):
        return result
    if max(one.size for one in (*values, *parts)) > LARGEST_CALL:
        raise _left(
            tape, f"numpy.{function.__name__} of more than {LARGEST_CALL} numbers is not followed"
        )
    told = [
        record(tape, "call", part, *followed, function=_part(compute, k if several else None))
        for k, part in enumerate(parts)
    ]
    return told if several else told[0]


def _part(compute: Callable[..., Any], k: int | None) -> Callable[..., Any]:
    return lambda *arrays: numpy.asarray(compute(*arrays) if k is None else compute(*arrays)[k])


MOVERS = {
    "sliding_window_view", "require", "asfortranarray",
    "concatenate", "stack", "hstack", "vstack", "column_stack", "dstack", "split",
    "array_split", "hsplit", "vsplit", "reshape", "transpose", "swapaxes", "moveaxis",
    "rollaxis", "expand_dims", "squeeze", "ravel", "copy", "broadcast_to", "repeat", "tile",
    "flip", "fliplr", "flipud", "roll", "rot90", "atleast_1d", "atleast_2d", "atleast_3d",
    "diagonal", "tril", "triu", "append", "delete", "insert", "ascontiguousarray",
    "broadcast_arrays", "flatten", "matrix_transpose", "permute_dims", "concat", "unstack", "diag",
    "meshgrid", "compress", "extract", "choose", "resize", "real", "fill_diagonal",
    "put_along_axis", "putmask",
}  # fmt: skip
"""Functions that move numbers and compute nothing."""

_VIEWS: dict[str, Callable[..., Any]] = {
    "T": numpy.transpose, "mT": numpy.matrix_transpose, "real": numpy.real, "flat": numpy.ravel,
}  # fmt: skip
"""Attributes of an array that hold its numbers, and the functions that give the same."""

_FLAT = ("sign", "floor", "ceil", "rint", "trunc", "floor_divide")
"""Functions whose derivative is 0."""


def _apply_to_both(tape: Tape, function: Any, args: Any, options: Any) -> Any:
    """Move numbers and tickets in the same way."""
    values = function(*strip(args), **options)
    tickets = function(*tickets_in(args), **options)
    if values is None:  # it changed its first argument
        return None
    if isinstance(values, list | tuple):
        return [Traced(tape, v, t) for v, t in zip(values, tickets)]
    return Traced(tape, values, tickets)


def traced_in(args: Any) -> list[Traced]:
    """The arrays that are followed among arguments, in order."""
    return [one for _, one in leaves(args) if isinstance(one, Traced)]


def strip(args: Any) -> Any:
    """The numbers without their tickets."""
    return mapped(lambda one: one.values_ if isinstance(one, Traced) else one, args)


def tickets_in(args: Any) -> Any:
    """Tickets for arrays that are followed, 0 for other arrays of floating-point numbers."""
    return mapped(_tickets_of, args)


def _tickets_of(one: Any) -> Any:
    if isinstance(one, Traced):
        return one.tickets
    if isinstance(one, float | numpy.floating):
        return 0
    is_real = isinstance(one, numpy.ndarray) and one.dtype.kind == "f"
    return numpy.zeros(one.shape, dtype=int) if is_real else one


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
    """Return whether an index picks by an array of integers, so that a row may be picked twice."""
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
