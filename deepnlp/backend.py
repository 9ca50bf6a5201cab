"""The array module in use: NumPy by default, CuPy by one switch.

Every layer writes ``from deepnlp.backend import xp`` and then ``xp.tanh(a)``, never ``numpy`` or
``cupy``. Arrays cross between the host (NumPy) and the backend at two doors and nowhere else:
:func:`asarray` on the way in, :func:`asnumpy` on the way out. This is the only file that imports
cupy.
"""

from __future__ import annotations

import math
import os
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeAlias

import numpy

from deepnlp.errors import DeepNLPError

# numpy.ndarray, or the array type of the backend in use: Any, since mypy cannot follow the switch.
Array: TypeAlias = Any

# Random numbers come from the host, whatever the backend.
Generator: TypeAlias = numpy.random.Generator

NAMES = ("numpy", "cupy")

_BLOCK = 1 << 18  # numbers; as many float32 as a core's own cache holds, with room to spare


class _ArrayModule:
    """A name that stands for the array module in use; each attribute is looked up once."""

    def _stand_for(self, module: Any) -> None:
        self.__dict__.clear()
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        # Called only for a name that is not in __dict__ yet: from then on it is found there.
        if name == "_module":
            _use_environment()
            return self.__dict__["_module"]
        attribute = getattr(self._module, name)
        self.__dict__[name] = attribute
        return attribute

    def __repr__(self) -> str:
        return f"<deepnlp.backend.xp standing for {self._module.__name__}>"


xp: Any = _ArrayModule()


def _use_environment() -> None:
    """Choose the backend that ``DEEPNLP_BACKEND`` names, where ``xp`` is read before ``use``."""
    try:
        use(os.environ.get("DEEPNLP_BACKEND") or "numpy")
    except ValueError as error:
        raise DeepNLPError(f"DEEPNLP_BACKEND: {error}") from error


def use(name: str) -> None:
    """Choose the array module, before layers are built.

    Parameters
    ----------
    name : {"numpy", "cupy"}
        ``"numpy"`` computes on the CPU, ``"cupy"`` on an NVIDIA GPU.

    Raises
    ------
    ValueError
        If the name is neither.
    DeepNLPError
        If CuPy is not installed, or there is no GPU it can use: the text says which.

    Examples
    --------
    >>> import deepnlp
    >>> deepnlp.use("numpy")
    >>> deepnlp.use("abacus")
    Traceback (most recent call last):
        ...
    ValueError: unknown backend 'abacus': choose 'numpy' or 'cupy'
    """
    if name == "numpy":
        use_module(numpy)
    elif name == "cupy":
        use_module(_import_cupy())
        if os.environ.get("DEEPNLP_TF32") == "1":
            use_tf32(True)
    else:
        raise ValueError(f"unknown backend {name!r}: choose 'numpy' or 'cupy'")


def _import_cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise DeepNLPError(
            "the cupy backend needs CuPy, which is not installed: "
            "pip install 'deepnlp[gpu]' for CUDA 13, or 'deepnlp[gpu-cuda12]' for CUDA 12"
        ) from error
    # `import cupy` works on a machine without a GPU; only this says whether there is one.
    if not cupy.cuda.is_available():
        raise DeepNLPError(
            "the cupy backend needs an NVIDIA GPU and its driver, and CuPy finds none here: "
            "check nvidia-smi, or stay with the numpy backend"
        )
    return cupy


def use_tf32(on: bool) -> None:
    """Let the GPU round the operands of float32 matrix products to 10 bits of mantissa, or not.

    TF32 products are several times as fast and have a relative error of about 1e-3 per operand
    instead of 6e-8; sums stay in float32. Off by default. It needs the cupy backend and a GPU of
    compute capability 8.0 or later. ``DEEPNLP_TF32=1`` in the environment switches it on when the
    cupy backend is chosen.

    Parameters
    ----------
    on : bool

    Raises
    ------
    DeepNLPError
        If the cupy backend is not in use.
    """
    if name() != "cupy":
        raise DeepNLPError(
            f"TF32 is a mode of NVIDIA GPUs and the {name()} backend is in use: "
            "choose the cupy backend first, deepnlp.use('cupy')"
        )
    from cupy import _core  # CuPy has no public switch but an environment variable, read once
    from cupy._core import _routines_linalg as modes

    mode = modes.COMPUTE_TYPE_TF32 if on else modes.COMPUTE_TYPE_DEFAULT
    _core.set_compute_type(numpy.float32, mode)


def use_module(module: Any) -> None:
    """Put any array module with NumPy's names in place of the one in use.

    This is how a strict stand-in for CuPy is tested on a machine without a GPU.

    Parameters
    ----------
    module : module
        It needs ``ndarray``, ``asarray`` and the functions the layers call. Where it also has
        ``asnumpy``, that is the door out.
    """
    xp._stand_for(module)


def name() -> str:
    """Name of the array module in use, such as ``"numpy"`` or ``"cupy"``.

    Returns
    -------
    str
    """
    return str(xp._module.__name__)


def asarray(values: Any, dtype: Any = None) -> Array:
    """Door in: host data (lists, NumPy arrays, numbers) as an array of the backend.

    Parameters
    ----------
    values : array_like
        Host data, or an array that is on the backend already (which is returned as it is).
    dtype : data-type, optional
        Type of the result; that of the values by default.

    Returns
    -------
    array
        Shares memory with ``values`` where no copy was needed.

    Examples
    --------
    >>> from deepnlp.backend import asarray
    >>> asarray([[1.0, 2.0]]).shape
    (1, 2)
    """
    try:
        array = xp.asarray(values, dtype=dtype)
    except (ValueError, TypeError, OverflowError) as error:
        kind = type(values).__name__
        raise type(error)(
            f"expected numbers, with as many in each row: no array can be made of this {kind} "
            f"({error})"
        ) from error
    check_numbers("asarray", "values", array)
    return array


def check_numbers(owner: str, what: str, array: Array) -> None:
    """Raise a TypeError if an array is not made of numbers, but of text, dates or objects.

    Parameters
    ----------
    owner : str
        Name of the caller, which begins the message.
    what : str
        What the array is called.
    array : array
    """
    if array.dtype.kind not in "fiubc":
        raise TypeError(f"{owner}: {what} should be numbers, got an array of {array.dtype}")


def check_number(name: str, value: Any, whole: bool = False) -> None:
    """Raise a TypeError if a value is not a number, or not a whole one.

    Parameters
    ----------
    name : str
        What the value is called.
    value
    whole : bool

    Examples
    --------
    >>> check_number("top_k", 2.5, whole=True)
    Traceback (most recent call last):
        ...
    TypeError: top_k should be a whole number, got 2.5
    """
    if not isinstance(value, Integral if whole else Real) or isinstance(value, bool):
        raise TypeError(f"{name} should be a {'whole ' if whole else ''}number, got {value!r}")


def float_type(dtype: Any) -> Any:
    """The number type of weights that a name stands for.

    Parameters
    ----------
    dtype : data-type

    Returns
    -------
    numpy.dtype

    Raises
    ------
    TypeError
        If it is no type of floating-point or complex numbers.

    Examples
    --------
    >>> float_type("float32").name
    'float32'
    """
    try:
        found = None if dtype is None or isinstance(dtype, bytes) else xp.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.kind not in "fc":
        raise TypeError(
            f"the number type of weights should be float32, float64 or complex128, got {dtype!r}"
        )
    return found


def check_shape(shape: tuple[Any, ...], least: int = 0) -> None:
    """Raise an error if a size of an array is not a whole number, ``least`` or more.

    Parameters
    ----------
    shape : tuple
    least : int

    Raises
    ------
    ValueError
        Naming the first size that is wrong.

    Examples
    --------
    >>> check_shape((3, 2.5))
    Traceback (most recent call last):
        ...
    ValueError: the sizes of a layer should be whole numbers, 0 or more, got 2.5
    """
    for size in shape:
        if not isinstance(size, Integral) or isinstance(size, bool) or size < least:
            raise ValueError(
                f"the sizes of a layer should be whole numbers, {least} or more, got {size!r}"
            )


def check_memory(shape: tuple[int, ...]) -> None:
    """Raise a MemoryError if an array of float64 numbers is larger than the memory of the host.

    The system would promise the memory, and kill the process that uses it.

    Parameters
    ----------
    shape : tuple of int
    """
    wanted, there = 8 * math.prod(shape), _memory()
    if there is not None and wanted > there:
        raise MemoryError(
            f"an array of shape {tuple(shape)} takes {wanted / 2**30:,.0f} GB, and there are "
            f"{there / 2**30:,.0f} GB"
        )


@lru_cache(maxsize=1)
def _memory() -> int | None:
    """Bytes of memory that the host has, or the group of processes may use; None if unknown."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = Path("/sys/fs/cgroup", name).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        there = min(there, int(text)) if text.isdigit() else there
    return there


def asnumpy(array: Array) -> numpy.ndarray[Any, Any]:
    """Door out: an array of the backend as a NumPy array. Waits for the device.

    Parameters
    ----------
    array : array
        An array of the backend, or host data.

    Returns
    -------
    numpy.ndarray
        Shares memory with ``array`` where the backend is NumPy.
    """
    if isinstance(array, numpy.ndarray | numpy.generic):
        return numpy.asarray(array)
    convert = getattr(xp._module, "asnumpy", numpy.asarray)
    result: numpy.ndarray[Any, Any] = convert(array)
    return result


_generator = numpy.random.default_rng()


def seed(number: int) -> None:
    """Make a run repeatable: everything drawn afterwards follows from this number.

    Parameters
    ----------
    number : int
        Zero or more. The same seed gives the same weights and dropout masks on every backend.

    Raises
    ------
    ValueError
        If the number is negative or no integer.

    Examples
    --------
    >>> import deepnlp
    >>> deepnlp.seed(0)
    """
    global _generator
    if isinstance(number, bool) or not isinstance(number, int | numpy.integer) or number < 0:
        raise ValueError(f"a seed is an integer of zero or more, got {number!r}")
    _generator = numpy.random.default_rng(number)


def rng() -> Generator:
    """Generator of random numbers on the host that layers use when they are given none.

    Returns
    -------
    numpy.random.Generator
        The one that :func:`seed` set.
    """
    return _generator


def host_generator(rng: Generator | None) -> Generator:
    """The generator that was given, or the one that :func:`seed` set.

    Parameters
    ----------
    rng : numpy.random.Generator, optional

    Returns
    -------
    numpy.random.Generator

    Raises
    ------
    TypeError
        If something else was given, such as a seed.
    """
    if rng is not None and not isinstance(rng, numpy.random.Generator):
        raise TypeError(
            f"rng should be a numpy.random.Generator, such as numpy.random.default_rng(0), got a "
            f"{type(rng).__name__}"
        )
    return _generator if rng is None else rng


def check_ids(owner: str, ids: Array, size: int, what: str = "ids") -> None:
    """Raise an error if an id lies outside 0 ... size - 1.

    On a GPU the check would wait for the device at every step, so it is left out there: the ids
    that a vocabulary gives are in range by construction.

    Parameters
    ----------
    owner : str
        Name of the caller, which begins the message.
    ids : array of int
    size : int
        Ids are from 0 to size - 1.
    what : str
        What they are called.

    Raises
    ------
    ValueError
        Naming the first id that is out of range.
    """
    if name() == "cupy" or ids.size == 0:
        return
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= size:
        outsider = low if low < 0 else high
        raise ValueError(f"{owner}: {what} should be from 0 to {size - 1}, got {outsider}")


def cache_blocks(shape: tuple[int, ...], arrays: int) -> list[Any]:
    """Slices of rows, each small enough to stay in the cache of one core.

    A formula of several operations, applied block by block, reads and writes memory once instead
    of once per operation.

    Parameters
    ----------
    shape : tuple of int
        Of an array; its rows are along the first axis.
    arrays : int
        How many arrays of this shape the formula goes through.

    Returns
    -------
    list of slice
        For a number, of shape (), the one index that keeps it an array.

    Examples
    --------
    >>> cache_blocks((10, 1 << 14), arrays=4)
    [slice(0, 4, None), slice(4, 8, None), slice(8, 12, None)]
    """
    if not shape:
        return [...]
    n = shape[0]
    rows = max(1, _BLOCK // (arrays * max(1, math.prod(shape[1:]))))
    return [slice(start, start + rows) for start in range(0, n, rows)]


def philox_uint16(key: int, counter: int, size: int) -> numpy.ndarray[Any, Any]:
    """Random 16-bit integers that are a pure function of (key, counter).

    Philox is counter-based: it has no state but these two numbers (Salmon, Moraes, Dror, Shaw
    2011, "Parallel random numbers: as easy as 1, 2, 3").

    Parameters
    ----------
    key, counter : int
        Zero or more and below 2**64.
    size : int
        How many integers.

    Returns
    -------
    numpy.ndarray of uint16, shape (size,)
        On the host; the caller brings it over.
    """
    stream = numpy.random.Philox(key=(counter << 64) | key)
    words = numpy.asarray(stream.random_raw((size + 3) // 4))
    return words.view(numpy.uint16)[:size]
