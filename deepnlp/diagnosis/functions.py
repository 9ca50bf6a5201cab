"""The functions of NumPy that compute something new, on arrays that are followed."""

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy

from deepnlp.diagnosis.tape import Tape, TraceError
from deepnlp.diagnosis.traced import (
    FUNCTIONS,
    Traced,
    by_differences,
    pair,
    record,
    strip,
    traced_in,
)


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    """The axes that are summed, or of which the largest is taken, counted from the first."""
    given = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(k % x.ndim for k in given)


def _sum(x: Any, axis: Any = None, *_: Any, keepdims: bool = False, **options: Any) -> Any:
    axes = _axes(x, axis)
    total = record(x.tape, "sum", numpy.sum(x.values_, axis=axes), x, axes=axes)
    return numpy.expand_dims(total, axes) if keepdims else total


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


def _extreme(pick: Any) -> Any:
    """The largest or the smallest number: one entry is taken, the first of those that are equal."""

    def extreme(x: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        axes = _axes(x, axis)
        last = numpy.moveaxis(x, axes, range(-len(axes), 0))
        flat = last.reshape((*last.shape[: x.ndim - len(axes)], -1))
        where = numpy.expand_dims(pick(flat.values_, axis=-1), -1)
        taken = flat._move(lambda a: numpy.take_along_axis(a, where, -1)[..., 0])
        found = record(x.tape, "extreme", taken.values_, taken)
        return numpy.expand_dims(found, axes) if keepdims else found

    return extreme


def _dot(a: Any, b: Any) -> Any:
    if numpy.ndim(strip(a)) == 0 or numpy.ndim(strip(b)) == 0:
        return numpy.multiply(a, b)
    if numpy.ndim(strip(b)) > 2:
        return _tensordot(a, b, ([-1], [-2]))
    return numpy.matmul(a, b)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    na, nb = numpy.ndim(strip(a)), numpy.ndim(strip(b))
    if isinstance(axes, int):
        axes = (range(na - axes, na), range(axes))
    left, right = ([one] if isinstance(one, int) else list(one) for one in axes)
    names = list("abcdefghijklmnopqrstuvwxyz")
    of_a = names[:na]
    of_b = names[na : na + nb]
    for k, m in zip(left, right):
        of_b[m % nb] = of_a[k % na]
    summed = {of_a[k % na] for k in left}
    out = "".join(c for c in of_a + of_b if c not in summed)
    return _einsum(f"{''.join(of_a)},{''.join(of_b)}->{out}", a, b)


def _einsum(subscripts: Any, *operands: Any, **options: Any) -> Any:
    tape = next(one.tape for one in (subscripts, *operands) if isinstance(one, Traced))
    if isinstance(subscripts, str):
        dims = [numpy.ndim(strip(o)) for o in operands]
        explicit = _explicit(subscripts.replace(" ", ""), dims)
    if not isinstance(subscripts, str) or any(
        len(set(part)) < len(part) for part in explicit.split("->")[0].split(",")
    ):
        return by_differences(tape, numpy.einsum, (subscripts, *operands), options)
    values = numpy.einsum(explicit, *strip(operands))
    return record(tape, "einsum", values, *operands, subscripts=explicit)


def _explicit(subscripts: str, dims: list[int]) -> str:
    """Subscripts without dots, and with the result written out.

    >>> _explicit("...i,ij", [3, 2])
    'ABi,ij->ABj'
    """
    left, arrow, right = subscripts.partition("->")
    parts = left.split(",")
    most = max((n - len(p) + 3 for p, n in zip(parts, dims) if "..." in p), default=0)
    letters = "ABCDEFGH"[:most]
    named = [
        p.replace("...", letters[most - (n - len(p) + 3) :]) if "..." in p else p
        for p, n in zip(parts, dims)
    ]
    if not arrow:
        joined = "".join(named)
        right = letters + "".join(
            c for c in sorted(set(joined)) if joined.count(c) == 1 and c not in letters
        )
    return f"{','.join(named)}->{right.replace('...', letters)}"


def _pad(x: Any, width: Any, mode: Any = "constant", **options: Any) -> Any:
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap"):
        raise TraceError(f"numpy.pad with mode {mode!r} is not followed")
    values = numpy.pad(x.values_, width, mode, **options)
    if mode == "constant":  # the numbers around it are constants
        options = {}
    return Traced(x.tape, values, numpy.pad(x.tickets, width, mode, **options))


def _clip(x: Any, low: Any = None, high: Any = None, **options: Any) -> Any:
    low = options.get("a_min", options.get("min", low))
    high = options.get("a_max", options.get("max", high))
    x = x if low is None else numpy.maximum(x, low)
    return x if high is None else numpy.minimum(x, high)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord == 1:
        return _sum(numpy.absolute(x), axis, keepdims=keepdims)
    if ord not in (None, 2, "fro"):
        return by_differences(x.tape, numpy.linalg.norm, (x, ord, axis, keepdims), {})
    return numpy.sqrt(_sum(x * x, axis, keepdims=keepdims))


def _take_along_axis(x: Any, indices: Any, axis: Any = -1) -> Any:
    found = x._move(lambda a: numpy.take_along_axis(a, indices, axis))
    return record(x.tape, "gather", found.values_, found)


def _take(x: Any, indices: Any, axis: Any = None, **options: Any) -> Any:
    found = x._move(lambda a: numpy.take(a, indices, axis=axis))
    return record(x.tape, "gather", found.values_, found)


def _where(condition: Any, a: Any = None, b: Any = None) -> Any:
    condition = strip(condition)
    if a is None:
        return numpy.where(condition)
    followed = [one for one in (a, b) if isinstance(one, Traced)]
    if not followed:
        return numpy.where(condition, a, b)
    tape = followed[0].tape
    (va, ta), (vb, tb) = pair(a), pair(b)
    return Traced(tape, numpy.where(condition, va, vb), numpy.where(condition, ta, tb))


def _copyto(target: Any, source: Any, where: Any = True) -> None:
    target[...] = _where(where, source, target)


def _like(value: float) -> Any:
    def build(x: Any, dtype: Any = None, **options: Any) -> Any:
        if dtype is not None and numpy.dtype(dtype).kind not in "fc":
            return numpy.full(x.shape, value, dtype=dtype)
        return Traced(x.tape, numpy.full(x.shape, value), numpy.zeros(x.shape, dtype=int))

    return build


FUNCTIONS.update({
    "sum": _sum, "mean": _mean, "var": _var, "std": _std, "norm": _norm,
    "outer": lambda a, b: numpy.multiply(numpy.reshape(a, (-1, 1)), numpy.reshape(b, (1, -1))),
    "dot": _dot, "vdot": lambda a, b: _dot(a.reshape(-1), b.reshape(-1)),
    "inner": lambda a, b: _dot(a, numpy.swapaxes(b, -1, -2) if b.ndim > 1 else b),
    "tensordot": _tensordot, "einsum": _einsum,
    "max": _extreme(numpy.argmax), "amax": _extreme(numpy.argmax),
    "min": _extreme(numpy.argmin), "amin": _extreme(numpy.argmin),
    "clip": _clip, "take": _take, "take_along_axis": _take_along_axis, "where": _where,
    "copyto": _copyto, "pad": _pad,
    "nansum": _sum, "nanmean": _mean,
    "zeros_like": _like(0.0), "ones_like": _like(1.0), "empty_like": _like(0.0),
    "full_like": lambda x, value, **options: _like(value)(x, **options),
})  # fmt: skip


# --- Making arrays and numbers --------------------------------------------------------------------


def _constant(tape: Tape, values: Any) -> Traced:
    """An array that is followed from here on, as what is written into it may be."""
    return Traced(tape, numpy.array(values, float), numpy.zeros(numpy.shape(values), dtype=int))


def _new(function: Any) -> Any:
    """``zeros`` and the like; of integers as they are."""

    def build(tape: Tape, *args: Any, **options: Any) -> Any:
        made = function(*strip(args), **strip(options))
        if made.dtype.kind not in "fc":
            return made
        filled = _constant(tape, numpy.zeros(made.shape) if "empty" in function.__name__ else made)
        if traced_in([args, options]) and function is numpy.full:
            filled[...] = options.get("fill_value", args[-1])
        return filled

    return build


def _converted(function: Any) -> Any:
    """``asarray`` and the like, also of a list in which numbers are followed."""

    def convert(tape: Tape, value: Any, dtype: Any = None, **options: Any) -> Any:
        if isinstance(value, Traced):
            return value.copy() if function is numpy.array else value
        if isinstance(value, list | tuple) and traced_in(value):
            parts = [
                convert(tape, one) if traced_in(one) else numpy.asarray(one, float) for one in value
            ]
            return numpy.stack(parts)
        return function(value, dtype=dtype, **options)

    return convert


def vectorized(tape: Tape, each: Any, function: Any, args: Any) -> Any:
    """Apply a function of single numbers to each, as ``np.vectorize`` does."""
    if not traced_in(args):
        return function(*args)
    arrays = numpy.broadcast_arrays(
        *(a if isinstance(a, Traced) else _constant(tape, a) for a in args)
    )
    found = [each(*numbers) for numbers in zip(*(one.reshape(-1) for one in arrays))]
    return BUILDERS[numpy.array](tape, found).reshape(arrays[0].shape)


def _as_strided(tape: Tape, x: Any, *args: Any, **options: Any) -> Any:
    as_strided = numpy.lib.stride_tricks.as_strided
    if not isinstance(x, Traced):
        return as_strided(x, *args, **options)
    if x.values_.strides != x.tickets.strides:
        raise TraceError("as_strided of this array is not followed")
    return Traced(tape, *(as_strided(one, *args, **options) for one in (x.values_, x.tickets)))


def _number(kind: Any) -> Any:
    """``float`` and the like, which leave a number that is followed as it is."""

    def convert(tape: Tape, value: Any = 0.0) -> Any:
        is_followed = isinstance(value, Traced) and value.size == 1
        return value.item() if is_followed else kind(value)

    return convert


def _native(value: Any) -> Any:
    """Return the plain array or number for one that is followed."""
    return value.values_[()] if isinstance(value, Traced) else value


def _of_math(name: str) -> Any:
    """A function of ``math``, for numbers that are followed."""
    function = getattr(math, name)
    same = {"fabs": "absolute", "pow": "power", "atan": "arctan", "atan2": "arctan2"}.get(
        name, name
    )

    def call(tape: Tape, *args: Any) -> Any:
        if not traced_in(args):
            return function(*args)
        ufunc = getattr(numpy, same, None) or getattr(import_module("scipy.special"), same, None)
        return function(*args) if ufunc is None else ufunc(*args)

    return call


BUILDERS: dict[Any, Callable[..., Any]] = {
    **{f: _new(f) for f in (numpy.zeros, numpy.ones, numpy.empty, numpy.full)},
    **{f: _converted(f) for f in (numpy.array, numpy.asarray, numpy.asanyarray,
                                  numpy.ascontiguousarray)},
    **{kind: _number(kind) for kind in (float, numpy.float64, numpy.float32)},
    **{f: _of_math(name) for name, f in vars(math).items() if callable(f) and name[0] != "_"},
    numpy.lib.stride_tricks.as_strided: _as_strided,
    int: lambda tape, *args: int(*map(_native, args)),
    isinstance: lambda tape, one, kinds: isinstance(_native(one), kinds),
    type: lambda tape, *args: type(*map(_native, args)),
}  # fmt: skip
"""What stands for functions that make arrays or numbers while a forward is followed."""
