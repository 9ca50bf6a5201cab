"""Peak memory of this process, counted from a moment on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepnlp import backend
from deepnlp.backend import xp

MB = 2**20
STATUS = Path("/proc/self/status")


def host_peak_mb() -> float:
    """Most host memory this process has held so far.

    Linux counts it for the program (VmHWM). ``getrusage`` counts from the fork on, so that a
    large parent would hide what a small child needs; it is used only where there is no /proc.

    Returns
    -------
    float
        MB (2**20 bytes).

    Examples
    --------
    >>> host_peak_mb() > 1
    True
    """
    from deepnlp.training.result import peak_memory_mb

    return _status("VmHWM") or peak_memory_mb() or 0.0


def _status(name: str) -> float | None:
    """A number of /proc/self/status in MB, None where there is none."""
    if not STATUS.exists():
        return None
    text = STATUS.read_text(encoding="utf-8")
    found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) / 1024 if found else None


def host_mb() -> float:
    """Host memory that this process holds now (VmRSS); where there is no /proc, its peak.

    Returns
    -------
    float
        MB (2**20 bytes).

    Examples
    --------
    >>> host_mb() > 1
    True
    """
    return _status("VmRSS") or host_peak_mb()


def device_mb() -> float:
    """Memory of the GPU that is taken; a pool does not release memory, so this is the peak.

    Returns
    -------
    float
        MB (2**20 bytes).
    """
    cupy: Any = xp
    free, total = cupy.cuda.runtime.memGetInfo()
    return float(total - free) / MB


class Growth:
    """How much memory has grown since this object was made: after imports, before the model.

    Parameters
    ----------
    held : callable, optional
        Gives the MB held; by default those of the backend in use.

    Examples
    --------
    >>> growth = Growth()
    >>> 0 <= growth.mb() < 100
    True
    """

    def __init__(self, held: Callable[[], float] | None = None) -> None:
        self.held = held or (host_peak_mb if backend.name() == "numpy" else device_mb)
        self.before = self.held()

    def mb(self) -> float:
        """MB (2**20 bytes) more than at the beginning."""
        return self.held() - self.before
