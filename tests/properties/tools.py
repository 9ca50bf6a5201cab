"""What the property tests share: layouts of arrays, and whose sentence an error is."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.cli.mistakes import HOMES
from deepnlp.errors import DeepNLPError

Array = np.ndarray[Any, Any]

TYPED = (ValueError, TypeError, OSError, DeepNLPError)


def fortran(x: Array) -> Array:
    return np.asfortranarray(x)


def transposed(x: Array) -> Array:
    """A view whose axes lie in memory in reversed order, of a larger array."""
    wide = np.zeros((*x.shape[::-1], 2), x.dtype)
    view = wide[..., 0].T
    view[...] = x
    return view


def strided(x: Array) -> Array:
    """Every second entry of each axis."""
    view = np.zeros([2 * n + 1 for n in x.shape], x.dtype)[
        tuple(slice(1, None, 2) for _ in x.shape)
    ]
    view[...] = x
    return view


def reversed_(x: Array) -> Array:
    """Negative strides."""
    turn = tuple(slice(None, None, -1) for _ in x.shape)
    return np.ascontiguousarray(x[turn])[turn]


def read_only(x: Array) -> Array:
    x = x.copy()
    x.flags.writeable = False
    return x


def unaligned(x: Array) -> Array:
    """An array that begins at an odd address."""
    memory = np.zeros(x.nbytes + 1, np.uint8)
    view = memory[1:].view(x.dtype).reshape(x.shape) if x.nbytes else x.copy()
    view[...] = x
    return view


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    f.__name__: f for f in (np.ascontiguousarray, fortran, transposed, strided, reversed_)
} | {"read_only": read_only, "unaligned": unaligned}


def is_ours(error: BaseException) -> bool:
    """Whether an error is one of the types that users are promised, raised by a line of deepnlp.

    NumPy's own errors leave through a line that computes, and not through one that raises.
    """
    if not isinstance(error, TYPED) or not str(error) or error.__traceback__ is None:
        return False
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    file = Path(last.tb_frame.f_code.co_filename)
    line = linecache.getline(str(file), last.tb_lineno).strip()
    return any(home in file.parents for home in HOMES) and line.startswith("raise")


def check_ours(error: Exception, name: str = "") -> None:
    """Fail unless an error is ours, on one line, and names the file."""
    assert is_ours(error), repr(error)
    assert "\n" not in str(error)
    assert name in str(error)
