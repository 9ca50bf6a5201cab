"""Compiling the CUDA sources of this folder when they are first needed, and launching kernels."""

from __future__ import annotations

import math
from operator import attrgetter
from pathlib import Path
from typing import Any

from deepnlp.backend import Array, xp

REALS = {"f": "float", "d": "double"}
"""Number types that there are kernels for, by NumPy's letter: their names in C."""

BLOCK = 256  # threads of a block whose threads work together; a power of two
WEIGHTS = 32  # weights that one launch knows of: their description has to fit 4096 bytes

# Limits of a grid. What is more, the kernels go through in several rounds.
most_blocks = 1 << 16
most_rows = (1 << 16) - 1

HERE = Path(__file__).parent


def source(name: str) -> str:
    """The CUDA C++ text that has a kernel.

    Parameters
    ----------
    name : str
        Of the kernel. Its first word is the name of a file: ``lstm_step`` is in ``lstm.cu``.

    Returns
    -------
    str
    """
    files = (HERE / "common.cuh", HERE / f"{name.split('_')[0]}.cu")
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def options(letter: str) -> tuple[str, ...]:
    """What the compiler is told.

    Parameters
    ----------
    letter : str
        Number type, of :data:`REALS`.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> options("f")
    ('--std=c++17', '-DREAL=float', '-DBLOCK=256', '-DWEIGHTS=32')
    """
    return ("--std=c++17", f"-DREAL={REALS[letter]}", f"-DBLOCK={BLOCK}", f"-DWEIGHTS={WEIGHTS}")


class Gpu:
    """The device that CuPy has chosen. Tests put one in its place that is no GPU."""

    pointer = staticmethod(attrgetter("data.ptr"))

    def __init__(self) -> None:
        self._kernels: dict[tuple[str, str], Any] = {}

    def launch(
        self,
        name: str,
        letter: str,
        grid: tuple[int, ...],
        threads: int,
        arguments: tuple[Any, ...],
    ) -> None:
        """Have the device run a kernel, without waiting for it.

        Parameters
        ----------
        name : str
        letter : str
            Number type, of :data:`REALS`.
        grid : tuple of int
            Blocks along x, y and z.
        threads : int
            Of each block.
        arguments : tuple
            Pointers and integers as int, real numbers as float (a ``double`` to the kernel), and
            structures as NumPy arrays of one element.
        """
        kernel = self._kernels.get((name, letter))
        if kernel is None:
            raw_module = xp.RawModule  # keeps the compiled code, for each device and on disk
            module = raw_module(code=source(name), options=options(letter))
            kernel = self._kernels[name, letter] = module.get_function(name)
        kernel(grid, (threads,), arguments)


device: Any = Gpu()


def is_dense(array: Any, letter: str) -> bool:
    """Whether a kernel can take an array: on the backend, of that number type, in C order.

    Parameters
    ----------
    array : Any
    letter : str
        Number type, of :data:`REALS`.

    Returns
    -------
    bool
    """
    return (
        type(array) is xp.ndarray and array.dtype.char == letter and bool(array.flags.c_contiguous)
    )


def strides(array: Array) -> tuple[int, int] | None:
    """How many entries lie from row to row and from column to column.

    Parameters
    ----------
    array : array (N, M) or (T, N, M)
        In the latter case its rows are counted through.

    Returns
    -------
    (int, int) or None
        None if the rows of (T, N, M) are not evenly spaced.
    """
    size = array.itemsize
    if array.ndim == 2:
        row, column = array.strides
    else:
        step, row, column = array.strides
        T, N, _ = array.shape
        if N == 1:
            row = step
        elif T > 1 and step != N * row:
            return None
    return row // size, column // size


def launch_over(shape: tuple[int, ...], name: str, letter: str, arguments: tuple[Any, ...]) -> None:
    """Launch a kernel that is written with ``FOR_EACH``, unless there is nothing to do.

    Parameters
    ----------
    shape : tuple of int
        (..., M); the kernel's first two arguments are the number of rows and M.
    name, letter : str
    arguments : tuple
        The others.
    """
    M = shape[-1]
    rows = math.prod(shape[:-1])
    if rows * M == 0:
        return
    threads = min(128, -(-M // 32) * 32)
    grid = (min(-(-M // threads), most_blocks), min(rows, most_rows))
    device.launch(name, letter, grid, threads, (rows, M, *arguments))
