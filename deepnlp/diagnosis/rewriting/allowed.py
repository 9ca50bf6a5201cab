"""What an evaluated function may call, by name, and how large the results may become."""

import math
from collections import OrderedDict, defaultdict, deque
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
    abs all allclose amax amin any append apply_along_axis arange argmax argmin argpartition argsort
    argwhere around array array_equal array_split asanyarray asarray ascontiguousarray as_strided
    atleast_1d atleast_2d atleast_3d average bincount broadcast_arrays broadcast_shapes broadcast_to
    ceil choose clip column_stack compress concatenate convolve copy copyto corrcoef count_nonzero
    cov cross cumprod cumsum delete det diag diagonal diff digitize dot dstack dtype einsum empty
    empty_like equal expand_dims eye fft fftfreq fftshift fill_diagonal finfo flatnonzero flip
    fliplr flipud full full_like hsplit hstack identity ifft iinfo imag indices inner insert inv
    irfft isclose isin isnan isreal isscalar iscomplexobj ix_ kron lexsort linspace logspace matmul
    matrix_rank matrix_transpose max maximum mean median meshgrid min moveaxis multi_dot nan_to_num
    nanmax nanmean nanmin nansum ndenumerate ndim ndindex nonzero norm ones ones_like outer
    pad partition percentile permute_dims pinv prod promote_types ptp put put_along_axis quantile
    ravel ravel_multi_index real real_if_close repeat require reshape resize result_type rfft roll
    rollaxis rot90 round row_stack searchsorted select shape shares_memory size slogdet
    sliding_window_view solve sort split squeeze stack std sum svd swapaxes take take_along_axis
    tensordot tile trace transpose trapezoid tri tril tril_indices triu triu_indices unique
    unravel_index vander var vdot vectorize vsplit vstack where zeros zeros_like
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


_GROWS = """
    zeros ones empty full indices eye identity tri arange linspace logspace diag diagflat vander
    bincount tile repeat pad broadcast_to resize einsum dot matmul inner tensordot outer kron
    meshgrid ix_ zeros_like ones_like empty_like full_like fft ifft rfft irfft
"""
GROWS = frozenset(_GROWS.split())
"""Functions of which the result may be larger than what goes in."""


def size_of_result(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> int:
    """The most numbers that a function of NumPy makes from its arguments."""
    values = [*args, *options.values()]
    first = values[0] if values else 1
    if name in ("zeros", "ones", "empty", "full", "indices"):
        return _whole(first)
    if name.endswith("_like"):
        return _whole(options.get("shape", 1))
    if name in ("eye", "identity", "tri"):
        return _whole(first) * max(map(_whole, values[:2]))
    if name in ("linspace", "logspace"):
        return max(map(_whole, values[2:]), default=50)
    if name == "arange":
        numbers = [abs(float(one)) for one in values if isinstance(one, int | float)]
        return int(sum(numbers) / (min(numbers[2:], default=1) or 1))
    if name in ("diag", "diagflat", "vander"):
        return _size(first) ** 2
    if name == "bincount":
        return int(numpy.max(first, initial=0)) + max(map(_whole, values[2:]), default=0)
    if name in ("tile", "repeat", "pad", "broadcast_to", "resize") or name.endswith("fft"):
        return _size(first) * math.prod(_whole(one) for one in values[1:])
    if name == "einsum":
        return _size_of_einsum(args)
    if name in ("dot", "matmul", "inner", "tensordot"):
        return _size_of_product(name, *map(numpy.asarray, args[:2]), *values[2:3])
    return math.prod(map(_size, args))


def _size_of_product(name: str, a: Any, b: Any, axes: Any = 2) -> int:
    """Of ``a @ b`` and the like: the sizes multiplied, without the axes that are summed."""
    summed = a.shape[-1:]
    if name == "tensordot":
        pair = isinstance(axes, tuple | list)
        left = axes[0] if pair else list(range(a.ndim))[a.ndim - axes :]
        summed = tuple(a.shape[k] for k in ([left] if isinstance(left, int) else left))
    return a.size * b.size // max(math.prod(summed), 1) ** 2


def _size_of_einsum(args: tuple[Any, ...]) -> int:
    sizes: dict[str, int] = {}
    for part, operand in zip(str(args[0]).partition("->")[0].split(","), args[1:]):
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
