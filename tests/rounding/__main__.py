"""Python with NumPy's matrix products rounded as on another processor.

``python -m tests.rounding -m pytest tests/layers`` runs what follows in a Python of its own, whose
products have other rounding errors, which depend on the shapes (see ``products.c``). A test that
fails there, and only there, asks for equal bits of different computations, or for the digits of one
processor. It needs Linux, a C compiler, and NumPy's own wheel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("products.c")


def blas() -> Path | None:
    """The library that a wheel of NumPy brings for its products, with 64-bit sizes."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    return next(iter(folder.glob("libscipy_openblas64_*.so")), None)


def missing() -> str | None:
    """What this machine lacks."""
    if not sys.platform.startswith("linux"):
        return "only Linux can put other products in place of NumPy's"
    if blas() is None:
        return "NumPy is not the wheel from PyPI with OpenBLAS"
    return None if shutil.which("cc") else "there is no C compiler (cc)"


def compiled(folder: Path) -> Path:
    """The library to preload."""
    library = folder / "products.so"
    command = ["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", f'-DBLAS="{blas()}"']
    subprocess.run([*command, str(SOURCE), "-o", str(library), "-ldl"], check=True)
    return library


def run(*arguments: str) -> int:
    """Run Python with these arguments; its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LD_PRELOAD": str(compiled(Path(folder)))}
        return subprocess.run([sys.executable, *arguments], env=environment, check=False).returncode


if __name__ == "__main__":
    if reason := missing():
        print(f"not run with other rounding: {reason}", file=sys.stderr)
        sys.exit(0)
    sys.exit(run(*sys.argv[1:]))
