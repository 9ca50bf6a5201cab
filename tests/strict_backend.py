"""A stand-in for CuPy that runs on any machine and is stricter than NumPy where CuPy is.

`strict` looks like a module. Its arrays are NumPy arrays in a box that

- refuses to be mixed with plain NumPy arrays, and refuses `np.asarray`;
- stays an array when NumPy would return a scalar (full reductions, full indexing);
- is indexed by integers, slices and its own arrays only;
- counts in `strict.waits` each time that the host would have to wait for the device.

The module offers only names and keywords which CuPy has too. So a layer that reaches for NumPy
behind `xp`'s back fails on it as it would fail on a GPU.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_MISSING = """
__array_namespace_info__ asmatrix block bmat busday_count busday_offset datetime_as_string
datetime_data einsum_path emath errstate f2py frompyfunc fromregex geomspace get_include
getbufsize geterr geterrcall histogram_bin_edges info insert is_busday isnat ma matrix matvec
memmap nanpercentile nanquantile ndenumerate nditer nested_iters polyder polydiv polyint seterr
seterrcall setbufsize show_runtime spacing strings test unstack vecdot vecmat
"""
MISSING = frozenset(_MISSING.split())
"""Names of NumPy which CuPy does not have."""

_METHODS = """
all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy cumprod
cumsum diagonal dot fill flatten max mean min nonzero partition prod put ravel repeat reshape
round searchsorted sort squeeze std sum swapaxes take trace transpose var view
"""
METHODS = _METHODS.split()
"""Methods of an array that both have."""

REFUSED_KEYWORDS = {
    "sum": {"where", "initial"},
    "prod": {"where", "initial"},
    "max": {"where", "initial"},
    "min": {"where", "initial"},
    "mean": {"where"},
    "var": {"where"},
    "std": {"where"},
    "any": {"where"},
    "all": {"where"},
    "clip": {"min", "max"},
}
"""Keywords which NumPy takes and CuPy does not."""

UFUNC_KEYWORDS = {"out", "dtype", "casting"}
"""The only keywords of CuPy's element-wise functions (its `matmul` takes more)."""

SIZE_ON_THE_DEVICE = {"nonzero", "flatnonzero", "argwhere", "unique", "extract", "compress"}
"""Functions whose result has a size that only the device knows: the host has to wait."""


class ndarray:
    """A NumPy array in a box (see the module's text)."""

    __hash__ = None
    __array_priority__ = 100
    _data: np.ndarray

    def __init__(self, shape: Any, dtype: Any = float) -> None:
        self._data = np.empty(shape, dtype)

    # What the host may know without waiting.

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    @property
    def dtype(self) -> np.dtype:
        return self._data.dtype

    @property
    def ndim(self) -> int:
        return self._data.ndim

    @property
    def size(self) -> int:
        return self._data.size

    @property
    def itemsize(self) -> int:
        return self._data.itemsize

    @property
    def nbytes(self) -> int:
        return self._data.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        return self._data.strides

    @property
    def flags(self) -> Any:
        return self._data.flags

    @property
    def T(self) -> ndarray:
        return box(self._data.T)

    @property
    def mT(self) -> ndarray:
        return box(self._data.mT)

    @property
    def real(self) -> ndarray:
        return box(self._data.real)

    @real.setter
    def real(self, value: Any) -> None:
        self._data.real = unbox(value)

    @property
    def imag(self) -> ndarray:
        return box(self._data.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        self._data.imag = unbox(value)

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[ndarray]:
        return (self[i] for i in range(len(self)))

    # What makes the host wait for the device.

    def get(self) -> np.ndarray:
        strict.waits += 1
        return self._data.copy()

    def item(self, *index: Any) -> Any:
        strict.waits += 1
        return self._data.item(*index)

    def tolist(self) -> Any:
        strict.waits += 1
        return self._data.tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return operator.index(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __bool__(self) -> bool:
        strict.waits += 1
        return bool(self._data)

    def __repr__(self) -> str:
        strict.waits += 1
        return repr(self._data)

    def __str__(self) -> str:
        strict.waits += 1
        return str(self._data)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    # The ways in which NumPy asks for the contents.

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        out = keywords.get("out")
        if isinstance(out, tuple) and len(out) == 1:
            keywords["out"] = out[0]
        if ufunc.__name__ in MISSING:
            return NotImplemented
        return getattr(StrictUfunc(ufunc), method)(*inputs, **keywords)

    def __array_function__(self, function: Any, types_: Any, args: Any, keywords: Any) -> Any:
        if not hasattr(np, function.__name__) or function.__name__ in MISSING:
            return NotImplemented
        return getattr(strict, function.__name__)(*args, **keywords)

    # Indexing.

    def __getitem__(self, index: Any) -> ndarray:
        index = unbox_index(index)
        parts = index if isinstance(index, tuple) else (index,)
        strict.waits += any(isinstance(p, np.ndarray) and p.dtype == bool for p in parts)
        return box(self._data[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._data[unbox_index(index)] = unbox(value)

    def set(self, values: np.ndarray) -> None:
        if not isinstance(values, np.ndarray):
            raise TypeError("Only a NumPy array can be set to a device array")
        self._data[...] = values

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()


class StrictUfunc:
    """An element-wise function on the boxes, with its methods (`add.at`, `add.reduce`, ...)."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc
        self.__name__ = ufunc.__name__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self.__name__ != "matmul" and not UFUNC_KEYWORDS.issuperset(keywords):
            raise TypeError(f"Wrong arguments {sorted(keywords)} for {self.__name__}")
        return call(self._ufunc, *args, **keywords)

    def at(self, array: ndarray, index: Any, *values: Any) -> None:
        self._ufunc.at(unbox(array), unbox_index(index), *[unbox(value) for value in values])

    def reduce(self, *args: Any, **keywords: Any) -> Any:
        return call(self._ufunc.reduce, *args, **keywords)

    def accumulate(self, *args: Any, **keywords: Any) -> Any:
        return call(self._ufunc.accumulate, *args, **keywords)

    def reduceat(self, *args: Any, **keywords: Any) -> Any:
        return call(self._ufunc.reduceat, *args, **keywords)

    def outer(self, *args: Any, **keywords: Any) -> Any:
        return call(self._ufunc.outer, *args, **keywords)


class StrictModule(types.ModuleType):
    """The names of NumPy which CuPy has, for boxes only."""

    def __init__(self, name: str, source: Any, waits: int = 0) -> None:
        super().__init__(name)
        self._source = source
        self.waits = waits
        self.ndarray = ndarray

    def __getattr__(self, name: str) -> Any:
        if name in MISSING or name.startswith("_") or not hasattr(self._source, name):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        if name == "random":
            raise AttributeError("random numbers are drawn on the host: see deepnlp.backend.rng")
        value = getattr(self._source, name)
        if isinstance(value, types.ModuleType):
            return StrictModule(f"{self.__name__}.{name}", value)
        if isinstance(value, np.ufunc):
            return StrictUfunc(value)
        if isinstance(value, type) or not callable(value):
            return value
        return self._function(name, value)

    def _function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*args: Any, **keywords: Any) -> Any:
            refused = REFUSED_KEYWORDS.get(name, set()) & keywords.keys()
            if refused:
                raise TypeError(f"{name}() got an unexpected keyword argument {sorted(refused)}")
            strict.waits += name in SIZE_ON_THE_DEVICE
            return call(function, *args, **keywords)

        checked.__name__ = name
        return checked

    def asarray(self, a: Any, dtype: Any = None, order: Any = None) -> ndarray:
        """Take `a` to the device: a copy, unless it is there already and of that dtype."""
        if isinstance(a, ndarray):
            return box(np.asarray(a._data, dtype, order))
        return box(np.array(upload(a), dtype, order=order or "K"))

    asanyarray = asarray

    def array(self, a: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> ndarray:
        """Take a copy of `a` to the device."""
        return box(np.array(upload(a), dtype, ndmin=ndmin))

    def asnumpy(self, a: Any) -> np.ndarray:
        """Bring `a` back to the host: a copy, and a wait."""
        return a.get() if isinstance(a, ndarray) else np.asarray(a)


def box(data: Any) -> ndarray:
    """The array `data` (or NumPy scalar) as an array of the stand-in, on the same memory."""
    boxed = object.__new__(ndarray)
    boxed._data = data if isinstance(data, np.ndarray) else np.asarray(data)
    return boxed


def upload(value: Any) -> Any:
    """What `asarray` may take to the device: also NumPy arrays, and nested lists of boxes."""
    if isinstance(value, ndarray):
        return value._data
    if isinstance(value, (list, tuple)):
        return [upload(item) for item in value]
    return value


def unbox(value: Any) -> Any:
    """The NumPy array in a box; containers of boxes are opened too, bare arrays refused."""
    if isinstance(value, ndarray):
        return value._data
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(unbox(item) for item in value)
    return value


def unbox_index(index: Any) -> Any:
    """An index as NumPy takes it; only integers, slices and boxes are indices here."""
    if isinstance(index, tuple):
        return tuple(unbox_index(part) for part in index)
    if isinstance(index, ndarray):
        return index._data
    if index is None or index is Ellipsis or isinstance(index, (int, np.integer, slice)):
        return index
    raise TypeError(f"an index of type {type(index).__name__} would be uploaded unasked")


def rebox(result: Any) -> Any:
    """What NumPy returned, with every array and NumPy scalar in a box."""
    if isinstance(result, (np.ndarray, np.generic)):
        return box(result)
    if isinstance(result, (list, tuple)) and type(result) in (list, tuple):
        return type(result)(rebox(item) for item in result)
    return result


def call(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """`function` of the contents of the boxes; with `out=`, that very box comes back."""
    arguments = [unbox(arg) for arg in args]
    options = {name: unbox(value) for name, value in keywords.items()}
    result = function(*arguments, **options)
    out = keywords.get("out")
    return rebox(result) if out is None else out


def _binary(name: str, ufunc: np.ufunc) -> None:
    """Give the box the operator `name`, its mirror image and its in-place form."""
    apply = StrictUfunc(ufunc)

    def forward(self: ndarray, other: Any) -> Any:
        return apply(self, other)

    def mirrored(self: ndarray, other: Any) -> Any:
        return apply(other, self)

    def in_place(self: ndarray, other: Any) -> Any:
        return apply(self, other, out=self)

    setattr(ndarray, f"__{name}__", forward)
    setattr(ndarray, f"__r{name}__", mirrored)
    setattr(ndarray, f"__i{name}__", in_place)


def _unary(name: str, ufunc: np.ufunc) -> None:
    apply = StrictUfunc(ufunc)
    setattr(ndarray, f"__{name}__", lambda self: apply(self))


def _comparison(name: str, ufunc: np.ufunc) -> None:
    apply = StrictUfunc(ufunc)
    setattr(ndarray, f"__{name}__", lambda self, other: apply(self, other))


def _method(name: str) -> None:
    """Give the box NumPy's method `name`."""

    def method(self: ndarray, *args: Any, **keywords: Any) -> Any:
        refused = REFUSED_KEYWORDS.get(name, set()) & keywords.keys()
        if refused:
            raise TypeError(f"{name}() got an unexpected keyword argument {sorted(refused)}")
        strict.waits += name in SIZE_ON_THE_DEVICE
        return call(getattr(self._data, name), *args, **keywords)

    method.__name__ = name
    setattr(ndarray, name, method)


for _name, _ufunc in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}.items():
    _binary(_name, _ufunc)
for _name, _ufunc in {
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
    "invert": np.invert,
}.items():
    _unary(_name, _ufunc)
for _name, _ufunc in {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}.items():
    _comparison(_name, _ufunc)
for _name in METHODS:
    _method(_name)


strict: Any = StrictModule("strict", np)
"""The stand-in itself: `backend.use_module(strict)` puts it in place."""
