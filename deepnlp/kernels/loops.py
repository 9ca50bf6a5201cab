"""The loop of the LSTM over time around steps that work in place, on NumPy and on CuPy.

Backward through time is divided in two. Each gradient of a step is a factor known since the
forward pass times a gradient that arrives from later steps. The factors of all steps ("slopes")
are computed together before the loop, which is left with a few products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.backend.products import product_with, product_with_transpose
from deepnlp.kernels import New, Watch


def lstm_loops(
    step: Callable[..., None], slopes: Callable[..., None], step_backward: Callable[..., None]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``lstm_forward`` and ``lstm_backward``, from the element-wise parts of a step.

    ``step(a, p, c_prev, h, c, tanh_c)`` makes gates of a + p, in a, and writes h, c and tanh(c).
    ``slopes(gates, c_prev, tanh_c, da)`` writes the factors dc/da_i, dc/da_f, dc/da_g and dh/da_o
    of all steps, and dh/dc over tanh(c). ``step_backward(dh_above, dh_next, dc, gates, dh_dc, da)``
    makes gradients of these factors, and dc_prev of dc.
    """

    def lstm_forward(
        a: Array, Wh: Array, h0: Array, c0: Array, ended: Array | None, new: New
    ) -> tuple[Array, Array, Any]:
        T, (N, H) = len(a), h0.shape
        h, c = new("h", (T + 1, N, H), a.dtype), new("c", (T + 1, N, H), a.dtype)
        tanh_c = new("tanh_c", (T, N, H), a.dtype)
        h[0], c[0] = h0, c0
        p = xp.empty((N, 4 * H), dtype=a.dtype)
        times_Wh = product_with(Wh, N)
        for t in range(T):
            times_Wh(h[t], p)
            step(a[t], p, c[t], h[t + 1], c[t + 1], tanh_c[t])
            if ended is not None:
                xp.copyto(h[t + 1], h[t], where=ended[t])
                xp.copyto(c[t + 1], c[t], where=ended[t])
        return h, c, (a, tanh_c)

    def lstm_backward(
        dhs: Array,
        dh: Array,
        dc: Array,
        Wh: Array,
        h: Array,
        c: Array,
        saved: Any,
        ended: Array | None,
        watch: Watch,
        new: New,
    ) -> tuple[Array, Array, Array]:
        gates, tanh_c = saved
        da = new("da", gates.shape, gates.dtype)
        slopes(gates, c[:-1], tanh_c, da)
        times_Wh_T = product_with_transpose(Wh, h.shape[1])
        dh, dc = xp.ascontiguousarray(dh.T).T, dc.copy()
        for t in reversed(range(len(da))):
            if watch is not None:
                watch(t, h[t], dhs[t] + dh, c[t], dc.copy())
            if ended is not None:
                dh_held, dc_held = dhs[t] + dh, dc.copy()
            step_backward(dhs[t], dh, dc, gates[t], tanh_c[t], da[t])
            if ended is not None:
                xp.copyto(da[t], 0, where=ended[t])
            times_Wh_T(da[t], dh)
            if ended is not None:
                xp.copyto(dh, dh_held, where=ended[t])
                xp.copyto(dc, dc_held, where=ended[t])
        return da, dh, dc

    return lstm_forward, lstm_backward
