"""What stands for NumPy, ``math`` and ``float`` while a forward is followed."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import get_ident
from typing import Any

import numpy

from deepnlp.diagnosis import functions  # noqa: F401 (fills in what arrays can compute)
from deepnlp.diagnosis.tape import Tape, TraceError
from deepnlp.diagnosis.traced import Traced, strip, traced_in


class TracingNumpy:
    """NumPy, except that new buffers are arrays that are followed, in the thread that follows."""

    def __init__(self, tape: Tape) -> None:
        self._tape, self._thread = tape, get_ident()
        # isinstance(x, xp.ndarray) takes a tuple of types as well
        self.ndarray = (numpy.ndarray, Traced)
        tricks = numpy.lib.stride_tricks
        self.lib = _Module(numpy.lib, stride_tricks=_Module(tricks, as_strided=_as_strided))
        for name in ("zeros", "ones", "empty"):
            setattr(self, name, self._new(name))
        for name in ("asarray", "asanyarray", "array", "ascontiguousarray"):
            setattr(self, name, self._from(name))

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)

    def asnumpy(self, array: Any) -> Any:
        """Numbers without tickets."""
        return strip(array)

    def _new(self, name: str) -> Any:
        def build(shape: Any, dtype: Any = "float64", **options: Any) -> Any:
            if numpy.dtype(dtype).kind not in "fc" or get_ident() != self._thread:
                return getattr(numpy, name)(shape, dtype=dtype, **options)
            values = numpy.zeros(shape) if name != "ones" else numpy.ones(shape)
            return Traced(self._tape, values, numpy.zeros(values.shape, dtype=int))

        return build

    def full(self, shape: Any, value: Any, dtype: Any = None, **options: Any) -> Any:
        """As of NumPy."""
        kind = numpy.asarray(strip(value)).dtype if dtype is None else numpy.dtype(dtype)
        followed = kind.kind in "fc" and get_ident() == self._thread
        if not followed and not isinstance(value, Traced):
            return numpy.full(shape, value, dtype=dtype, **options)
        filled = self.zeros(shape)
        filled[...] = value
        return filled

    def vectorize(self, function: Any, *_: Any, **options: Any) -> Any:
        """A function of single numbers, applied to each."""

        def apply(*args: Any) -> Any:
            if not traced_in(args):
                return numpy.vectorize(function, **options)(*args)
            arrays = [a if isinstance(a, Traced) else numpy.asarray(a) for a in args]
            shape = numpy.broadcast_shapes(*(a.shape for a in arrays))
            flat = [numpy.broadcast_to(a, shape).reshape(-1) for a in arrays]
            called = _of_math(function) or function
            found = [called(*(one[k] for one in flat)) for k in range(flat[0].size)]
            return self.array(found).reshape(shape)

        return apply

    def _from(self, name: str) -> Any:
        def convert(value: Any, dtype: Any = None, **options: Any) -> Any:
            if isinstance(value, Traced):
                return value.copy() if name == "array" else value
            if traced_in(value):
                return numpy.stack([convert(one) for one in value])
            return getattr(numpy, name)(value, dtype=dtype)

        return convert


class _Module:
    """A module with some of its functions replaced."""

    def __init__(self, original: Any, **replaced: Any) -> None:
        self._original = original
        vars(self).update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def _as_strided(x: Any, shape: Any = None, strides: Any = None, **options: Any) -> Any:
    as_strided = numpy.lib.stride_tricks.as_strided
    if not isinstance(x, Traced):
        return as_strided(x, shape, strides, **options)
    if x.values_.strides != x.tickets.strides:
        raise TraceError("as_strided of this array is not followed")
    found = (as_strided(one, shape, strides, **options) for one in (x.values_, x.tickets))
    return Traced(x.tape, *found)


# --- Standing for Python's own functions ------------------------------------------------------


def _of_math(function: Any) -> Any:
    """The same function for numbers that are followed; None if it is not one of ``math``."""
    name = getattr(function, "__name__", "")
    if vars(math).get(name) != function:
        return None
    same = {"fabs": "absolute", "pow": "power", "atan": "arctan", "atan2": "arctan2"}.get(
        name, name
    )

    def call(*args: Any) -> Any:
        if not traced_in(args):
            return function(*args)
        ufunc = getattr(numpy, same, None) or getattr(import_module("scipy.special"), same, None)
        return function(*args) if ufunc is None else ufunc(*args)

    return call


class _FloatMeta(type):
    def __instancecheck__(cls, one: Any) -> bool:
        return isinstance(one, float)

    def __call__(cls, one: Any = 0.0) -> Any:
        if isinstance(one, Traced):
            return one.item() if one.size == 1 else float(one)
        return float(one)


class _FloatForTraced(metaclass=_FloatMeta):
    """``float``, which leaves a number that is followed as it is."""

    dtype = numpy.dtype("float64")


@contextmanager
def numpy_replaced(namespaces: list[dict[str, Any]], stand_in: TracingNumpy) -> Iterator[None]:
    """Replace NumPy, ``math`` and ``float`` in some modules, under the names they give them.

    Parameters
    ----------
    namespaces : list of dict
        The global names of the modules.
    stand_in : TracingNumpy
    """
    of_math = {name: _of_math(f) for name, f in vars(math).items() if _of_math(f)}
    others: dict[int, Any] = {id(numpy): stand_in, id(math): _Module(math, **of_math)}
    others |= {id(getattr(math, name)): f for name, f in of_math.items()}
    tricks = numpy.lib.stride_tricks
    others[id(tricks)] = stand_in.lib.stride_tricks
    others[id(tricks.as_strided)] = _as_strided
    others |= {
        id(getattr(numpy, name)): getattr(stand_in, name)
        for name in ("zeros", "ones", "empty", "full", "array", "asarray", "vectorize")
    }
    changed = [
        (names, key, v) for names in namespaces for key, v in names.items() if id(v) in others
    ]
    added = [names for names in namespaces if "float" not in names]
    for names, key, value in changed:
        names[key] = others[id(value)]
    for names in added:
        names["float"] = _FloatForTraced
    try:
        yield
    finally:
        for names, key, value in changed:
            names[key] = value
        for names in added:
            names.pop("float", None)
