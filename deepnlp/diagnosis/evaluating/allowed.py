"""The functions that an evaluated function may call, and how large their results may become."""

import math
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy

_BUILTINS = """
    abs all any bool complex dict divmod enumerate filter float frozenset getattr hasattr id int
    isinstance issubclass iter len list map max min next range repr reversed round set setattr slice
    sorted str sum tuple type zip
"""
BUILTINS = frozenset(_BUILTINS.split())

_METHODS = """
    add all any append appendleft argmax argmin argsort astype clear clip conj conjugate copy count
    cumprod cumsum diagonal dot endswith extend fill flatten format get index insert item items join
    keys max mean min nonzero pop popleft prod put ravel remove repeat reshape reverse round
    setdefault sort split squeeze startswith std sum swapaxes take tolist trace transpose update
    values var view outer at reduce accumulate reduceat
"""
METHODS = frozenset(_METHODS.split())
"""Methods of arrays, numbers, strings and containers; they change nothing but these."""

_NUMPY = """
    abs all allclose amax amin any append apply_along_axis arange argmax argmin argpartition
    argsort argwhere around array array_equal array_split as_strided asanyarray asarray
    ascontiguousarray atleast_1d atleast_2d atleast_3d average bincount block broadcast_arrays
    broadcast_shapes broadcast_to ceil cholesky choose clip column_stack compress concatenate
    convolve copy copyto corrcoef correlate count_nonzero cov cross cumprod cumsum delete det diag
    diagonal diff digitize dot dstack dtype einsum empty empty_like equal expand_dims eye fft fft2
    fftfreq fftshift fill_diagonal finfo flatnonzero flip fliplr flipud full full_like hsplit
    hstack identity ifft ifft2 ifftshift iinfo imag indices inner insert inv irfft isclose
    iscomplexobj isin isnan isreal isscalar ix_ kron lexsort linspace logspace matmul matrix_rank
    matrix_transpose max maximum mean median meshgrid min moveaxis multi_dot nan_to_num nanmax
    nanmean nanmin nansum ndenumerate ndim ndindex nonzero norm ones ones_like outer pad partition
    percentile permute_dims piecewise pinv polyval prod promote_types ptp put put_along_axis
    quantile ravel ravel_multi_index real real_if_close repeat require reshape resize result_type
    rfft roll rollaxis rot90 round row_stack searchsorted select shape shares_memory size
    sliding_window_view slogdet solve sort split squeeze stack std sum svd swapaxes take
    take_along_axis tensordot tile trace transpose trapezoid tri tril tril_indices triu
    triu_indices unique unravel_index vander var vdot vectorize vsplit vstack where zeros
    zeros_like
"""
NUMPY = frozenset(_NUMPY.split())
"""Functions and classes of NumPy that only compute; all ufuncs and types of numbers besides."""

_LIBRARIES = {
    "math": " ".join(vars(math).keys() - {"factorial", "comb", "perm"}),
    "operator": "add sub truediv neg getitem itemgetter gt lt ge le",
    "itertools": "accumulate chain combinations islice pairwise permutations product zip_longest",
    "functools": "reduce",
    "collections": "OrderedDict defaultdict deque namedtuple",
    "copy": "copy deepcopy",
    "inspect": "isroutine isclass",
    "scipy": "erf expit logit log_softmax softmax logsumexp convolve2d correlate2d",
}
LIBRARIES = {module: frozenset(names.split()) for module, names in _LIBRARIES.items()}
"""Other modules, with the functions of each that only compute."""

PACKAGE = frozenset({"backend", "kernels", "layer", "layers", "models", "parameter", "views"})
"""Rooms of this package whose functions only compute."""

PLAIN = frozenset({
    numpy.ndarray, int, float, bool, complex, str, tuple, list, dict, set, frozenset, deque, range,
    slice, type(None), type(Ellipsis), bytes, OrderedDict, defaultdict, *numpy.sctypeDict.values(),
})  # fmt: skip
"""Types whose operators and methods only compute."""

LARGEST = 1 << 22
"""As many numbers an array may hold that a changed form makes."""


def size_of_result(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> int:
    """The most numbers that one of ``GROWS`` makes from its arguments."""
    given = [options.get("shape", 1)] if name.endswith("_like") else [*args, *options.values()]
    return _SIZES[name](given or [1])


def _of_arange(given: list[Any]) -> int:
    numbers = [abs(float(one)) for one in given if isinstance(one, int | float)]
    return int(sum(numbers) / (min(numbers[2:], default=1) or 1))


def _of_product(given: list[Any], left: Any) -> int:
    """Return the size of ``a @ b`` and the like: all sizes multiplied, without a's summed axes."""
    a, b = map(numpy.asarray, given[:2])
    summed = [a.shape[k] for k in left] if a.ndim else []
    return a.size * b.size // max(math.prod(summed), 1) ** 2


def _of_tensordot(given: list[Any]) -> int:
    axes = given[2] if len(given) > 2 else 2
    left = axes[0] if isinstance(axes, tuple | list) else range(-axes, 0)
    return _of_product(given, [left] if isinstance(left, int) else left)


def _of_einsum(given: list[Any]) -> int:
    sizes: dict[str, int] = {}
    for part, operand in zip(str(given[0]).partition("->")[0].split(","), given[1:]):
        letters = part.replace(" ", "").replace("...", "")
        sizes |= dict(zip(letters[::-1], numpy.shape(operand)[::-1]))
    return math.prod(sizes.values())


def _size(value: Any) -> int:
    if isinstance(value, numpy.ndarray):
        return value.size
    return sum(map(_size, value[:1000])) if isinstance(value, list | tuple) else 1


def _whole(value: Any) -> int:
    """The size that an argument may stand for: the product of those in a shape or a width."""
    if isinstance(value, list | tuple):
        return math.prod(map(_whole, value))
    if isinstance(value, numpy.ndarray):
        return int(numpy.abs(value).sum())
    return abs(int(value)) + 1 if isinstance(value, int | numpy.integer) else 1


_BY_ARGUMENTS: dict[str, Callable[[list[Any]], int]] = {
    "zeros ones empty full indices": lambda given: _whole(given[0]),
    "zeros_like ones_like empty_like full_like": lambda given: _whole(given[0]),
    "eye identity tri": lambda given: _whole(given[0]) * max(map(_whole, given[:2])),
    "linspace logspace": lambda given: max(map(_whole, given[2:]), default=50),
    "arange": _of_arange,
    "diag diagflat vander": lambda given: _size(given[0]) ** 2,
    "bincount": lambda given: int(numpy.max(given[0], initial=0)) + sum(map(_whole, given[2:])),
    "tile repeat pad broadcast_to resize fft ifft rfft irfft": lambda given: (
        _size(given[0]) * math.prod(map(_whole, given[1:]))
    ),
    "einsum": _of_einsum,
    "dot matmul inner": lambda given: _of_product(given, [-1]),
    "tensordot": _of_tensordot,
    "outer kron meshgrid ix_": lambda given: math.prod(map(_size, given)),
}
_SIZES = {name: size for names, size in _BY_ARGUMENTS.items() for name in names.split()}

GROWS = frozenset(_SIZES)
"""Functions of which the result may be larger than what goes in."""
