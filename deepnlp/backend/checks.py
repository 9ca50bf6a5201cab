"""Checks of numbers and sizes that people hand over, before an array is made of them."""

import math
import os
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy

from deepnlp.options import Option


def check_numbers(owner: str, what: str, array: Any) -> None:
    """Raise a TypeError if an array is not made of numbers, but of text, dates or objects.

    Masked arrays and ``numpy.matrix`` are refused too: their operators mean something else.

    Parameters
    ----------
    owner : str
        Name of the caller, which begins the message.
    what : str
        What the array is called.
    array : array
    """
    if isinstance(array, numpy.matrix | numpy.ma.MaskedArray):
        raise TypeError(
            f"{owner}: {what} should be a plain array, got a {type(array).__name__}: make one of "
            "it with numpy.asarray, and of a masked one with .filled(value)"
        )
    if array.dtype.kind not in "fiubc":
        raise TypeError(f"{owner}: {what} should be numbers, got an array of {array.dtype}")


def check_number(name: str, value: Any, whole: bool = False, **limits: float) -> None:
    """Raise a TypeError if a value is no number, a ValueError if it is outside its limits.

    Parameters
    ----------
    name : str
        What the value is called.
    value
    whole : bool
        Whether it should be a whole number.
    **limits : float
        ``low``, ``above``, ``high`` and ``below``, as an :class:`~deepnlp.options.Option` has them.

    Examples
    --------
    >>> check_number("top_k", 2.5, whole=True)
    Traceback (most recent call last):
        ...
    TypeError: top_k should be a whole number, got 2.5
    >>> check_number("p", 1.5, low=0, below=1)
    Traceback (most recent call last):
        ...
    ValueError: p should be 0 or more and below 1, got 1.5
    """
    if not isinstance(value, Integral if whole else Real) or isinstance(value, bool):
        raise TypeError(f"{name} should be a {'whole ' if whole else ''}number, got {value!r}")
    option = Option("", kind=float, **limits)  # type: ignore[arg-type]
    if limits and not option.in_range(value):
        raise ValueError(f"{name} should be {option.limits()}, got {value}")


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

    Otherwise the system would grant the memory, and kill the process when it uses it.

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
    """Return the bytes of memory of the host, or of its control group; None if unknown."""
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
