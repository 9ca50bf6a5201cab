"""The softmax with its loss, a kernel each way."""

from __future__ import annotations

from deepnlp.backend import Array, xp
from deepnlp.kernels import plain
from deepnlp.kernels.cuda import launching
from deepnlp.kernels.cuda.launching import BLOCK, REALS, form_of, is_dense, launch_over

_NOWHERE = 0  # the pointer to a bias that is not there


def _can_take(s: Array, b: Array | None, t: Array) -> bool:
    """Whether there is a kernel for these scores. Backward has to decide as forward did."""
    letter = s.dtype.char
    dense = is_dense(s, letter) and (b is None or is_dense(b, letter))
    return letter in REALS and dense and type(t) is xp.ndarray and s.size > 0


@form_of(plain.softmax_nll)
def softmax_nll(s: Array, b: Array | None, t: Array) -> tuple[Array, Array]:
    """Loss and log of the sum of exponentials of each row, which a block goes through twice."""
    if not _can_take(s, b, t):
        return plain.softmax_nll(s, b, t)
    n, V = s.shape
    nll, log_sum = xp.empty(n, s.dtype), xp.empty(n, s.dtype)
    t = xp.ascontiguousarray(t, dtype=xp.int64)
    pointer = launching.device.pointer
    bias = _NOWHERE if b is None else pointer(b)
    arguments = (n, V, pointer(s), bias, pointer(t), pointer(nll), pointer(log_sum))
    grid = (min(n, launching.most_blocks),)
    launching.device.launch("softmax_nll", s.dtype.char, grid, BLOCK, arguments)
    return nll, log_sum


@form_of(plain.softmax_nll_backward)
def softmax_nll_backward(s: Array, b: Array | None, t: Array, kept: Array, dnll: Array) -> Array:
    """From scores to p - [j = t] in one reading and one writing; the factor is dnll."""
    if not _can_take(s, b, t):
        return plain.softmax_nll_backward(s, b, t, kept, dnll)
    t = xp.ascontiguousarray(t, dtype=xp.int64)
    pointer = launching.device.pointer
    bias = _NOWHERE if b is None else pointer(b)
    arguments = (pointer(s), bias, pointer(t), pointer(kept))
    launch_over(s.shape, "softmax_nll_backward", s.dtype.char, arguments)
    return dnll
