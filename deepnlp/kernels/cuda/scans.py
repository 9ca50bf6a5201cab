"""All steps of a scan in one launch, forward and backward."""

import math
from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.kernels.cuda import launching
from deepnlp.kernels.cuda.launching import BLOCK, REALS, pointers


def scan(a: Array, b: Array, h_0: Array) -> Any:
    """A thread for each number of a state."""
    return _launch(a, b, h_0, backwards=False)


def scan_backward(a: Array, dy: Array, dh: Array) -> Any:
    """The same, from the last step to the first."""
    return _launch(a, dy, dh, backwards=True)


def _launch(a: Array, b: Array, known: Array, backwards: bool) -> Any:
    """States from the first, or gradients from the last; for a in which the last axes are one."""
    letter, T = b.dtype.char, len(b)
    shared = next((k for k in range(b.ndim) if a.shape[k] != b.shape[k]), b.ndim)
    fits = all(size == 1 for size in a.shape[shared:]) and {a.dtype, known.dtype} == {b.dtype}
    if letter not in REALS or not fits:
        return NotImplemented
    h = xp.empty((T + 1, *known.shape), b.dtype)
    h[-1 if backwards else 0] = known
    M = known.size
    if M and T:
        a, b = xp.ascontiguousarray(a), xp.ascontiguousarray(b)
        arguments = T, M, math.prod(b.shape[shared:]), *pointers(a, b, h), int(backwards)
        grid = (min(-(-M // BLOCK), launching.most_blocks),)
        launching.device.launch("scan", letter, grid, BLOCK, arguments)
    return h
