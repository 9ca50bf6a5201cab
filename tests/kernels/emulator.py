"""The CUDA kernels on a processor: their sources through a C++ compiler, called with host memory.

This is slow and proves nothing about speed. It runs the very sources and the very launches that a
GPU would get, on any machine with a C++ compiler.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.kernels.cuda import launching

HERE = Path(__file__).parent
SOURCES = {file.stem: file for file in sorted(launching.HERE.glob("*.cu"))}


def kernels_of(text: str) -> list[str]:
    """Names of the kernels that a source has."""
    return re.findall(r'extern "C" __global__ void (?:__launch_bounds__\(\w+\) )?(\w+)\(', text)


KERNELS = [
    name for file in SOURCES.values() for name in kernels_of(file.read_text(encoding="utf-8"))
]


def compiler() -> str | None:
    """The C++ compiler of this machine, if it has one."""
    return shutil.which("g++") or shutil.which("clang++")


def build(folder: Path, letter: str, *flags: str) -> ctypes.CDLL:
    """Compile all sources for a number type."""
    parts = [HERE / "emulator.h", launching.HERE / "common.cuh", *SOURCES.values()]
    text = "\n".join(part.read_text(encoding="utf-8") for part in parts)
    text += "".join(f"\nENTRY({name})" for name in KERNELS) + "\n"
    source, library = folder / f"kernels_{letter}.cpp", folder / f"kernels_{letter}.so"
    source.write_text(text, encoding="utf-8")
    defines = [option for option in launching.options(letter) if option.startswith("-D")]
    command = [compiler(), "-std=c++20", "-O1", "-shared", "-fPIC", *flags, *defines]
    subprocess.run([*command, str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


class Emulator:
    """What stands in place of `launching.device`. `launches` has the names of all kernels run."""

    room = (3, 1 << 18)

    def __init__(self, libraries: dict[str, ctypes.CDLL]) -> None:
        self.libraries = libraries
        self.launches: list[str] = []

    def pointer(self, array: Any) -> int:
        return int(array.ctypes.data)

    def launch(
        self,
        name: str,
        letter: str,
        grid: tuple[int, ...],
        threads: int,
        arguments: tuple[Any, ...],
        shared: int | None = None,
    ) -> None:
        library = self.libraries[letter]
        tell = library[f"letters_{name}"]
        tell.restype = ctypes.c_char_p
        expected = tell().decode()
        given = [_as_c(argument) for argument in arguments]
        fits = len(expected) == len(given) and all(
            e in letters for e, (letters, _) in zip(expected, given, strict=True)
        )
        assert fits, f"{name} takes {expected}, got {arguments}"
        assert all(1 <= blocks < limit for blocks, limit in zip(grid, (2**31, 2**16)))
        assert 1 <= threads <= 1024
        pointers = (ctypes.c_void_p * len(given))(*(address(value) for _, value in given))
        columns, rows = (*grid, 1)[:2]
        assert shared is None or (columns * rows <= self.room[0] and 0 < shared <= self.room[1])
        library[f"launch_{name}"](pointers, columns, rows, threads, shared or 0)
        self.launches.append(name)


def _as_c(argument: Any) -> tuple[str, Any]:
    """For which letters of a signature an argument stands, and its value in memory."""
    if isinstance(argument, np.ndarray):
        assert argument.size == 1, "only a structure is handed over by value"
        return "s", argument
    if isinstance(argument, float):
        return "d", ctypes.c_double(argument)
    if isinstance(argument, np.uint64):
        return "i", ctypes.c_uint64(int(argument))
    assert type(argument) is int, f"not an argument of a kernel: {argument!r}"
    return "pi", ctypes.c_int64(argument)


def address(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.ctypes.data)
    return ctypes.addressof(value)
