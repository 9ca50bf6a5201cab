"""The array module in use: NumPy by default, CuPy by one switch.

Every layer writes ``from deepnlp.backend import xp`` and then ``xp.tanh(a)``, never ``numpy`` or
``cupy``. Arrays cross between the host (NumPy) and the backend at two doors and nowhere else:
:func:`asarray` on the way in, :func:`asnumpy` on the way out. This is the only file that imports
cupy.
"""

import os
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy

from deepnlp.backend.checks import check_numbers
from deepnlp.errors import DeepNLPError, required

HostArray: TypeAlias = numpy.ndarray[Any, Any]
Array: TypeAlias = HostArray  # or the array type of the backend in use, of the same interface

NAMES = ("numpy", "cupy")


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


_in_use = _ArrayModule()
if TYPE_CHECKING:
    xp = numpy  # CuPy has the same functions
else:
    xp = _in_use


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
    packages = "'cupy-cuda13x[ctk]' for CUDA 13, or 'cupy-cuda12x[ctk]' for CUDA 12"
    cupy = required("cupy", "the cupy backend needs CuPy", packages)
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
    _in_use._stand_for(module)


def name() -> str:
    """Return the name of the array module in use, such as ``"numpy"`` or ``"cupy"``."""
    return str(_in_use._module.__name__)


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
    is_masked = isinstance(values, numpy.ma.MaskedArray)  # what the mask hides would be read
    check_numbers("asarray", "values", values if is_masked else array)
    return array


def float_type(dtype: Any) -> Any:
    """Return the number type of weights that a name stands for.

    Parameters
    ----------
    dtype : data-type

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
        number_type = None if dtype is None or isinstance(dtype, bytes) else xp.dtype(dtype)
    except TypeError:
        number_type = None
    if number_type is None or number_type.kind not in "fc":
        expected = "float32, float64 or complex128"
        raise TypeError(f"the number type of weights should be {expected}, got {dtype!r}")
    return number_type


def asnumpy(array: Any) -> numpy.ndarray[Any, Any]:
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
    return numpy.asarray(getattr(_in_use._module, "asnumpy", numpy.asarray)(array))


def erf(x: Array) -> Array:
    r"""Return SciPy's error function, 2 / sqrt(pi) times the integral of exp(-u^2) from 0 to x.

    >>> erf(asarray([0.0, 1e4]))
    array([0., 1.])
    """
    if name() == "cupy":
        from cupyx.scipy.special import erf as of_device

        return of_device(x)
    from scipy.special import erf as of_host  # takes long to import

    if x.dtype.char == "g":  # SciPy has none for it
        return erf(x.astype("float64")).astype(x.dtype)
    return of_host(x) if name() == "numpy" else asarray(of_host(asnumpy(x)))


def table_rows(table: Array, ids: Array) -> Array:
    """Look up rows of a table (V, ...) by ids of any shape, whose type may be wider than an index.

    ``take`` is quicker than ``table[ids]``, and where addresses have 32 bits it refuses int64.

    >>> table_rows(asarray([[1.0], [2.0]]), asarray([1, 0, 1])).tolist()
    [[2.0], [1.0], [2.0]]
    """
    return xp.take(table, ids.astype("intp", copy=False), axis=0)


def check_ids(owner: str, ids: Array, size: int, what: str = "ids") -> None:
    """Raise an error if an id lies outside 0 ... size - 1.

    The ids that a vocabulary gives are in range by construction; see :func:`check_range`.

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
    check_range(owner, what, ids, 0, size - 1)


def check_range(owner: str, what: str, array: Array, low: float, high: float) -> None:
    """Raise a ValueError if a number lies outside low ... high.

    On a GPU the check would wait for the device at every step, so it is left out there.

    >>> check_range("SigmoidWithLoss", "targets", asarray([0.0, 2.0]), 0, 1)
    Traceback (most recent call last):
        ...
    ValueError: SigmoidWithLoss: targets should be from 0 to 1, got 2
    """
    if array.size == 0 or (name() == "cupy" and not isinstance(array, numpy.ndarray)):
        return
    least, most = array.min().item(), array.max().item()
    if not (least >= low and most <= high):
        outsider = most if least >= low else least
        raise ValueError(f"{owner}: {what} should be from {low} to {high}, got {outsider:.15g}")
