"""The softmax with its loss, one kernel for each direction."""

from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.kernels.cuda import launching
from deepnlp.kernels.cuda.launching import BLOCK, REALS, is_dense, launch_over, pointers


def softmax_nll(s: Array, b: Array | None, t: Array) -> Any:
    """Loss and log of the sum of exponentials of each row, which a block reads twice."""
    letter = s.dtype.char
    dense = is_dense(s, letter) and (b is None or is_dense(b, letter))
    if letter not in REALS or not dense or s.size == 0:
        return NotImplemented
    n, V = s.shape
    nll, log_sum = xp.empty(n, s.dtype), xp.empty(n, s.dtype)
    t = xp.ascontiguousarray(t, dtype=xp.int64)
    arguments = (n, V, *pointers(s, b, t, nll, log_sum))
    grid = (min(n, launching.most_blocks),)
    launching.device.launch("softmax_nll", letter, grid, BLOCK, arguments)
    return nll, (b, log_sum)


def softmax_nll_backward(s: Array, t: Array, saved: Any, dnll: Array) -> Any:
    """From scores to p - [j = t] in one reading and one writing; the factor is dnll."""
    if not isinstance(saved, tuple):  # the plain form was called
        return NotImplemented
    b, log_sum = saved
    t = xp.ascontiguousarray(t, dtype=xp.int64)
    launch_over(s.shape, "softmax_nll_backward", s.dtype.char, pointers(s, b, t, log_sum))
    return dnll
