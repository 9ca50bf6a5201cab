"""Dropout whose kernel draws the mask: only the key and the call are saved for backward."""

import math
from typing import Any, NamedTuple

import numpy

from deepnlp.backend import Array, xp
from deepnlp.kernels.cuda import launching
from deepnlp.kernels.cuda.launching import BLOCK, REALS, is_dense, pointers

MASK_LEVELS = 1 << 16  # a mask compares integers of 16 bits


class Mask(NamedTuple):
    """The numbers that determine a mask."""

    shape: tuple[int, ...]
    key: int
    call: int
    p: float


def _repeats(shape: tuple[int, ...], mask_shape: tuple[int, ...]) -> tuple[int, int] | None:
    """How often each run of the mask is repeated in the array, and how long a run is.

    None unless the mask has the shape of the array, or (N, 1, D) where that has (N, T, D).
    """
    if mask_shape == shape:
        return 1, 1
    if len(shape) == 3 and mask_shape == (shape[0], 1, shape[2]):
        return shape[1], shape[2]
    return None


def dropout(x: Array, mask_shape: tuple[int, ...], key: int, call: int, p: float) -> Any:
    """The mask is drawn where it is applied and never written to memory."""
    letter = x.dtype.char
    repeats = _repeats(x.shape, tuple(mask_shape))
    if letter not in REALS or not is_dense(x, letter) or repeats is None:
        return NotImplemented
    y = xp.empty(x.shape, x.dtype)
    if x.size:
        entries = math.prod(mask_shape)
        arguments = (
            *(entries, *repeats, *pointers(x, y)),
            *(numpy.uint64(key), numpy.uint64(call), round(p * MASK_LEVELS), 1 / (1 - p)),
        )
        grid = (min(-(-entries // (4 * BLOCK)) * repeats[0], launching.most_blocks),)
        launching.device.launch("dropout", letter, grid, BLOCK, arguments)
    return y, Mask(tuple(mask_shape), key, call, p)


def dropout_backward(dy: Array, saved: Any) -> Any:
    """Forward again, with the same mask and the gradient in place of x."""
    if not isinstance(saved, Mask):
        return NotImplemented
    dtype = dy.dtype if dy.dtype.char in REALS else xp.float32
    return dropout(xp.ascontiguousarray(dy, dtype=dtype), *saved)[0].astype(dy.dtype, copy=False)
