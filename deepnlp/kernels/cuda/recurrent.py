"""The loops over time on CuPy: one or two launches between two products.

The kernels work like the steps in :mod:`deepnlp.kernels.loops`: forward writes the gates over a,
and backward turns factors, computed for all steps together, into gradients.
"""

from __future__ import annotations

from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.kernels import New, Watch, loops
from deepnlp.kernels.cuda import steps
from deepnlp.kernels.cuda.launching import REALS

_lstm_forward, _lstm_backward = loops.lstm_loops(
    steps.lstm_step, steps.lstm_slopes, steps.lstm_step_backward
)


def lstm_forward(a: Array, *others: Any) -> Any:
    """One launch per step."""
    return _lstm_forward(a, *others) if a.dtype.char in REALS else NotImplemented


def lstm_backward(dhs: Array, dh: Array, *others: Any) -> Any:
    """One launch for all factors, then one per step."""
    if dh.dtype.char not in REALS:
        return NotImplemented
    return _lstm_backward(dhs.astype(dh.dtype, copy=False), dh, *others)


def rnn_forward(
    a: Array, Wh: Array, h0: Array, activation: str, ended: Array | None, new: New
) -> Any:
    """One launch per step."""
    if a.dtype.char not in REALS:
        return NotImplemented
    h = new("h", (len(a) + 1, *h0.shape), a.dtype)
    h[0] = h0
    for t in range(len(a)):
        steps.rnn_step(a[t], h[t] @ Wh, h[t + 1], activation)
        if ended is not None:
            xp.copyto(h[t + 1], h[t], where=ended[t])
    return h


def rnn_backward(
    dhs: Array,
    dh: Array,
    Wh: Array,
    h: Array,
    activation: str,
    ended: Array | None,
    watch: Watch,
    new: New,
) -> Any:
    """One launch for all factors, then one per step."""
    if h.dtype.char not in REALS:
        return NotImplemented
    dhs = dhs.astype(h.dtype, copy=False)
    da = new("da", dhs.shape, h.dtype)
    steps.rnn_slopes(h[1:], da, activation)
    for t in reversed(range(len(da))):
        if watch is not None:
            watch(t, h[t], dhs[t] + dh)
        held = None if ended is None else dhs[t] + dh
        steps.rnn_step_backward(dhs[t], dh, da[t])
        if ended is not None:
            xp.copyto(da[t], 0, where=ended[t])
        dh = da[t] @ Wh.T
        if ended is not None:
            dh = xp.where(ended[t], held, dh)
    return da, dh


def gru_forward(
    a: Array,
    Wh: Array,
    bh: Array | None,
    h0: Array,
    reset_after: bool,
    ended: Array | None,
    new: New,
) -> Any:
    """One launch per step, two where the reset gate acts before the product."""
    if a.dtype.char not in REALS:
        return NotImplemented
    T, (N, H) = len(a), h0.shape
    h = new("h", (T + 1, N, H), a.dtype)
    h[0] = h0
    v = new("v", (T, N, 3 * H if reset_after else H), a.dtype)  # the products p, or u
    for t in range(T):
        if reset_after:
            xp.matmul(h[t], Wh, out=v[t])
            steps.gru_step(a[t], v[t], bh, h[t], h[t + 1])
        else:
            steps.gru_gates(a[t], h[t] @ Wh[:, : 2 * H], h[t], v[t])
            steps.gru_output(a[t], v[t] @ Wh[:, 2 * H :], h[t], h[t + 1])
        if ended is not None:
            xp.copyto(h[t + 1], h[t], where=ended[t])
    u = h[:-1] if reset_after else v
    return h, u, (a, v[..., 2 * H :] if reset_after else None)


def gru_backward(
    dhs: Array,
    dh: Array,
    Wh: Array,
    h: Array,
    saved: Any,
    reset_after: bool,
    ended: Array | None,
    watch: Watch,
    new: New,
) -> Any:
    """A launch for all factors, then one or two a step.

    Of dh, the gradient with respect to the state before a step, one part comes through Wh (dh) and
    one past it (carry).
    """
    if h.dtype.char not in REALS:
        return NotImplemented
    gates, p_n = saved
    H = h.shape[2]
    dhs = dhs.astype(h.dtype, copy=False)
    da = new("da", gates.shape, gates.dtype)
    dp = new("dp", gates.shape, gates.dtype) if reset_after else da
    steps.gru_slopes(gates, h[:-1], p_n, da)
    carry = xp.zeros_like(dh)
    for t in reversed(range(len(da))):
        if watch is not None:
            watch(t, h[t], dhs[t] + dh + carry)
        held = None if ended is None else dhs[t] + dh + carry
        if reset_after:
            steps.gru_step_backward(dhs[t], dh, carry, gates[t], da[t], dp[t])
            if ended is not None:
                xp.copyto(da[t], 0, where=ended[t])
                xp.copyto(dp[t], 0, where=ended[t])
            dh = dp[t] @ Wh.T
        else:
            steps.gru_output_backward(dhs[t], dh, carry, gates[t], da[t])
            du = da[t, :, 2 * H :] @ Wh[:, 2 * H :].T
            steps.gru_gates_backward(du, carry, gates[t], da[t])
            if ended is not None:
                xp.copyto(da[t], 0, where=ended[t])
            dh = da[t, :, : 2 * H] @ Wh[:, : 2 * H].T
        if ended is not None:
            dh = xp.where(ended[t], held, dh)
            xp.copyto(carry, 0, where=ended[t])
    return da, dp, dh + carry
