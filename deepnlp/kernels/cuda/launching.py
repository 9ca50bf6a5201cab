"""Compiling the CUDA sources of this folder when they are first needed, and launching kernels."""

import math
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

from deepnlp.backend import Array, xp

cupy: Any = xp  # as it is wherever a kernel of this folder is launched

REALS = {"f": "float", "d": "double"}
"""Names in C of the number types that there are kernels for, by NumPy's letter."""

BLOCK = 256  # threads of a block whose threads work together; a power of two
TOGETHER = 512  # threads of a block where all blocks work together
WEIGHTS = 32  # weights of one launch: their description has to fit 4096 bytes

# Limits of a grid; what is larger the kernels process in several rounds.
most_blocks = 1 << 16
most_rows = (1 << 16) - 1

HERE = Path(__file__).parent


def source(name: str) -> str:
    """The CUDA C++ text of a kernel; its first word names the file: ``lstm_step``, ``lstm.cu``."""
    files = (HERE / "common.cuh", HERE / f"{name.split('_')[0]}.cu")
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def options(letter: str) -> tuple[str, ...]:
    """Options of the compiler for a number type of :data:`REALS`.

    >>> options("f")
    ('--std=c++17', '-DREAL=float', '-DBLOCK=256', '-DTOGETHER=512', '-DWEIGHTS=32')
    """
    sizes = {"BLOCK": BLOCK, "TOGETHER": TOGETHER, "WEIGHTS": WEIGHTS}
    defined = {"REAL": REALS[letter], **sizes}
    return ("--std=c++17", *(f"-D{name}={value}" for name, value in defined.items()))


class Gpu:
    """The device that CuPy has chosen; tests replace it with one that is no GPU."""

    pointer = staticmethod(attrgetter("data.ptr"))

    def __init__(self) -> None:
        self._kernels: dict[tuple[str, str], Any] = {}

    @cached_property
    def room(self) -> tuple[int, int]:
        """How many blocks are surely there at once, and bytes of shared memory for each."""
        has = cupy.cuda.Device().attributes
        return has["MultiProcessorCount"], has["MaxSharedMemoryPerBlockOptin"]

    def launch(
        self,
        name: str,
        letter: str,
        grid: tuple[int, ...],
        threads: int,
        arguments: tuple[Any, ...],
        shared: int | None = None,
    ) -> None:
        """Run a kernel on the device, on a grid of blocks (x, y, z), without waiting for it.

        With ``shared`` bytes of memory for each block all blocks run at once, or none does.

        Pointers and integers are passed as int, real numbers as float (a ``double`` to the kernel),
        and structures as NumPy arrays of one element.
        """
        kernel = self._kernels.get((name, letter))
        if kernel is None:
            raw_module = cupy.RawModule  # keeps the compiled code, for each device and on disk
            module = raw_module(
                code=source(name),
                options=options(letter),
                enable_cooperative_groups=shared is not None,
            )
            kernel = self._kernels[name, letter] = module.get_function(name)
            if shared is not None:
                kernel.max_dynamic_shared_size_bytes = self.room[1]
        kernel(grid, (threads,), arguments, shared_mem=shared or 0)


device: Any = Gpu()


def pointers(*arrays: Array | None) -> tuple[int, ...]:
    """The addresses of arrays on the device; 0 for None."""
    return tuple(0 if array is None else device.pointer(array) for array in arrays)


def is_dense(array: Any, letter: str) -> bool:
    """Return whether a kernel can take an array: on the backend, of that type, in C order."""
    return (
        type(array) is xp.ndarray and array.dtype.char == letter and bool(array.flags.c_contiguous)
    )


def strides(array: Array) -> tuple[int, int] | None:
    """Entries from row to row and from column to column of (N, M), or of (T, N, M) as T N rows.

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
    """Launch a kernel written with ``FOR_EACH`` over an array (..., M), unless that is empty.

    Its first arguments are the number of rows and M.
    """
    M = shape[-1]
    rows = math.prod(shape[:-1])
    if rows * M == 0:
        return
    threads = min(128, -(-M // 32) * 32)
    grid = (min(-(-M // threads), most_blocks), min(rows, most_rows))
    device.launch(name, letter, grid, threads, (rows, M, *arguments))
