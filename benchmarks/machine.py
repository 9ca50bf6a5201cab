"""The machine, the versions and the commit behind the numbers. No names, no paths."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp import __version__, backend
from deepnlp.backend import xp

cupy: Any = xp

ROOT = Path(__file__).parents[1]
WRITTEN = ("benchmarks/results", "docs")  # by the benchmarks themselves: no change of the source


def cores() -> int:
    """The number of cores this process may use.

    Examples
    --------
    >>> cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def has_torch() -> bool:
    """Return whether PyTorch is installed, without importing it."""
    return importlib.util.find_spec("torch") is not None


def machine() -> dict[str, Any]:
    """Processor, cores, caches, memory and operating system; the GPU where one is in use.

    Examples
    --------
    >>> sorted(machine())
    ['caches', 'cores', 'cpu', 'gpu', 'memory_gb', 'os']
    """
    return {
        "cpu": _first(r"^model name\s*:\s*(.+)$", "/proc/cpuinfo") or platform.machine(),
        "cores": cores(),
        "caches": _caches(),
        "memory_gb": _memory_gb(),
        "os": f"{platform.system()} {platform.release()}",
        "gpu": _gpu(),
    }


def versions(torch: bool) -> dict[str, str]:
    """Versions of everything that computes.

    Parameters
    ----------
    torch : bool
        Whether PyTorch takes part.
    """
    found = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": _blas(),
        "deepnlp": __version__,
    }
    if backend.name() == "cupy":
        found["cupy"] = str(cupy.__version__)
        found["cuda"] = _cuda(cupy.cuda.runtime.runtimeGetVersion())
    if torch:
        found["torch"] = importlib.metadata.version("torch")
    return found


def commit() -> dict[str, Any]:
    """The commit of the source, and whether the source differs from it.

    Returns
    -------
    dict
        ``commit`` is None where the package is not in a checkout.
    """
    if not _git("ls-files", "deepnlp/__init__.py"):
        return {"commit": None, "dirty": None}
    others = [f":(exclude){path}" for path in WRITTEN]
    changes = _git("status", "--porcelain", "--", ".", *others)
    return {"commit": _git("rev-parse", "HEAD"), "dirty": bool(changes)}


def _git(*arguments: str) -> str:
    """Return git's answer in the folder of the package; nothing where it cannot be run."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _first(pattern: str, path: str | Path) -> str | None:
    """Return the first match of a pattern in a file of the system, None without file or match."""
    try:
        found = re.search(pattern, Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return None
    return found[1].strip() if found else None


def _caches() -> dict[str, str]:
    """Size of each cache that the first core sees, such as ``{"L2": "2048K"}``."""
    sizes = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (
            _first(r"^(.+)$", folder / name) or "" for name in ("level", "type", "size")
        )
        if size and kind != "Instruction":
            sizes[f"L{level}"] = size
    return sizes


def _memory_gb() -> float | None:
    total = _first(r"^MemTotal:\s+(\d+) kB$", "/proc/meminfo")
    return None if total is None else round(int(total) / 2**20, 1)


def _blas() -> str:
    """Name and version of NumPy's BLAS; with threadpoolctl its kernels too."""
    library: Any = np.show_config(mode="dicts")
    blas = library["Build Dependencies"]["blas"]
    told = f"{blas['name']} {blas['version']}"
    if importlib.util.find_spec("threadpoolctl") is None:
        return told
    import threadpoolctl

    kinds = {pool.get("architecture") for pool in threadpoolctl.threadpool_info()} - {None}
    return f"{told} ({', '.join(sorted(kinds))})" if kinds else told


def _gpu() -> str | None:
    if backend.name() != "cupy":
        return None
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def _cuda(number: int) -> str:
    """13.1 for 13010."""
    return f"{number // 1000}.{number % 1000 // 10}"
