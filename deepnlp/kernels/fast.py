"""The kernels on NumPy with as few passes over memory as there can be.

The same formulas as :mod:`deepnlp.kernels.plain`, which has their equations and docstrings. What is
done to them:

- results go into arrays that are there already (``out=``), nothing is allocated in a loop;
- all four gates of an LSTM pass through one tanh, for sigmoid(x) = tanh(x / 2) / 2 + 1 / 2;
- large arrays are worked on a block of rows at a time, so that all operations but the first find
  the block in the cache, and blocks are shared out between threads: NumPy lets go of the
  interpreter's lock while it computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from deepnlp.backend import Array, cache_blocks, xp
from deepnlp.kernels import plain
from deepnlp.kernels.plain import Update, split_gates
from deepnlp.threads import in_parallel

# --- LSTM ------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _tanh_to_gates(N: int, H: int, dtype: Any) -> tuple[Array, Array]:
    """Scale and shift (N, 4H) that make gates of tanh: 1/2 and 1/2 for i, f, o; 1 and 0 for g.

    One row would do, but to repeat it for each row of a small matrix takes longer than to read it.
    """
    scale = xp.full((N, 4 * H), 0.5, dtype=dtype)
    scale[:, 2 * H : 3 * H] = 1
    shift = xp.full((N, 4 * H), 0.5, dtype=dtype)
    shift[:, 2 * H : 3 * H] = 0
    return scale, shift


def lstm_step(a: Array, p: Array, c_prev: Array, h: Array, c: Array, tanh_c: Array) -> None:
    """See :func:`deepnlp.kernels.plain.lstm_step`."""
    scale, shift = _tanh_to_gates(*c.shape, a.real.dtype)
    # i, f, o = sigmoid(a), g = tanh(a), by one tanh
    a += p
    a *= scale
    xp.tanh(a, out=a)
    a *= scale
    a += shift
    i, f, g, o = split_gates(a, 4)
    # c = f * c_prev + i * g, h = o * tanh(c)
    i_g = xp.multiply(i, g, out=tanh_c)
    xp.multiply(f, c_prev, out=c)
    c += i_g
    xp.tanh(c, out=tanh_c)
    xp.multiply(o, tanh_c, out=h)


def lstm_slopes(gates: Array, c_prev: Array, tanh_c: Array, da: Array) -> None:
    """See :func:`deepnlp.kernels.plain.lstm_slopes`."""

    def some_steps(t: Any) -> None:
        y, dy = gates[t], da[t]
        i, f, g, o = split_gates(y, 4)
        di, df, dg, do = split_gates(dy, 4)
        xp.multiply(y, y, out=dy)
        # sigmoid' = y - y^2, tanh' = 1 - y^2
        for gate, slope in ((i, di), (f, df), (1, dg), (o, do)):
            xp.subtract(gate, slope, out=slope)
        for other, slope in ((g, di), (c_prev[t], df), (i, dg), (tanh_c[t], do)):
            slope *= other
        # dh/dc = o (1 - tanh(c)^2)
        dh_dc = tanh_c[t]
        dh_dc *= dh_dc
        xp.subtract(1, dh_dc, out=dh_dc)
        dh_dc *= o

    in_parallel(some_steps, cache_blocks(gates.shape, arrays=3))


def lstm_step_backward(
    dh_above: Array, dh_next: Array, dc: Array, gates: Array, dh_dc: Array, da: Array
) -> None:
    """See :func:`deepnlp.kernels.plain.lstm_step_backward`."""
    N, H = dc.shape
    dh = dh_above + dh_next
    da[:, 3 * H :] *= dh
    dh *= dh_dc
    dc += dh
    da_ifg = da[:, : 3 * H].reshape(N, 3, H)
    da_ifg *= dc[:, None, :]
    dc *= gates[:, H : 2 * H]


# --- GRU -------------------------------------------------------------------------------------


def _sigmoid_in_place(a: Array) -> None:
    a *= 0.5
    xp.tanh(a, out=a)
    a *= 0.5
    a += 0.5


def gru_gates(a: Array, p: Array, h_prev: Array, u: Array) -> None:
    """See :func:`deepnlp.kernels.plain.gru_gates`."""
    H = u.shape[1]
    rz = a[:, : 2 * H]
    rz += p
    _sigmoid_in_place(rz)
    xp.multiply(a[:, :H], h_prev, out=u)


def _gru_state(n: Array, z: Array, h_prev: Array, h: Array) -> None:
    """h = n + z (h_prev - n)."""
    xp.subtract(h_prev, n, out=h)
    h *= z
    h += n


def gru_output(a: Array, p_n: Array, h_prev: Array, h: Array) -> None:
    """See :func:`deepnlp.kernels.plain.gru_output`."""
    _, z, n = split_gates(a, 3)
    n += p_n
    xp.tanh(n, out=n)
    _gru_state(n, z, h_prev, h)


def gru_step(a: Array, p: Array, bh: Array | None, h_prev: Array, h: Array) -> None:
    """See :func:`deepnlp.kernels.plain.gru_step`."""
    H = h.shape[1]
    if bh is not None:
        p += bh
    rz, p_n = a[:, : 2 * H], p[:, 2 * H :]
    rz += p[:, : 2 * H]
    _sigmoid_in_place(rz)
    r, z, n = split_gates(a, 3)
    xp.multiply(r, p_n, out=h)
    n += h
    xp.tanh(n, out=n)
    _gru_state(n, z, h_prev, h)


def gru_slopes(gates: Array, h_prev: Array, p_n: Array | None, da: Array) -> None:
    """See :func:`deepnlp.kernels.plain.gru_slopes`."""

    def some_steps(t: Any) -> None:
        y, dy = gates[t], da[t]
        r, z, n = split_gates(y, 3)
        dr, dz, dn = split_gates(dy, 3)
        xp.multiply(y, y, out=dy)
        # sigmoid' = y - y^2, tanh' = 1 - y^2
        for gate, slope in ((r, dr), (z, dz), (1, dn)):
            xp.subtract(gate, slope, out=slope)
        dn *= 1 - z
        dz *= h_prev[t] - n
        dr *= h_prev[t] if p_n is None else dn * p_n[t]

    in_parallel(some_steps, cache_blocks(gates.shape, arrays=4))


def gru_output_backward(
    dh_above: Array, dh_next: Array, carry: Array, gates: Array, da: Array
) -> None:
    """See :func:`deepnlp.kernels.plain.gru_output_backward`."""
    N, H = carry.shape
    dh = dh_above + dh_next
    dh += carry
    da_zn = da[:, H:].reshape(N, 2, H)
    da_zn *= dh[:, None, :]
    xp.multiply(dh, gates[:, H : 2 * H], out=carry)


def gru_step_backward(
    dh_above: Array, dh_next: Array, carry: Array, gates: Array, da: Array, dp: Array
) -> None:
    """See :func:`deepnlp.kernels.plain.gru_step_backward`."""
    N, H = carry.shape
    dh = dh_above + dh_next
    dh += carry
    da_rzn = da.reshape(N, 3, H)
    da_rzn *= dh[:, None, :]
    dp[:, : 2 * H] = da[:, : 2 * H]
    xp.multiply(da[:, 2 * H :], gates[:, :H], out=dp[:, 2 * H :])
    xp.multiply(dh, gates[:, H : 2 * H], out=carry)


# --- Softmax with its loss -------------------------------------------------------------------


def softmax_nll(s: Array, b: Array | None, t: Array) -> tuple[Array, Array]:
    """See :func:`deepnlp.kernels.plain.softmax_nll`."""
    n = xp.arange(len(t))
    ones = xp.ones(s.shape[1], dtype=s.dtype)
    s_t, total = xp.empty(len(t), dtype=s.dtype), xp.empty(len(t), dtype=s.dtype)

    def some_rows(rows: Any) -> None:
        x = s[rows]
        if b is not None:
            x += b
        x -= x.real.max(axis=1, keepdims=True)
        s_t[rows] = s[n[rows], t[rows]]
        xp.exp(x, out=x)
        xp.matmul(x, ones, out=total[rows])

    in_parallel(some_rows, cache_blocks(s.shape, arrays=1))
    return xp.log(total) - s_t, total


def softmax_nll_backward(s: Array, b: Array | None, t: Array, kept: Array, dnll: Array) -> Array:
    """See :func:`deepnlp.kernels.plain.softmax_nll_backward`."""
    # p = e / total, and total is left to the factor: no pass over the n V numbers
    s[xp.arange(len(t)), t] -= kept
    return dnll / kept


# --- Sums ------------------------------------------------------------------------------------


def add_bias(a: Array, b: Array) -> Array:
    """See :func:`deepnlp.kernels.plain.add_bias`."""
    if a.dtype != b.dtype or len(a) == 1:
        return plain.add_bias(a, b)

    def some_rows(rows: Any) -> None:
        x = a[rows]
        x += b

    in_parallel(some_rows, cache_blocks(a.shape, arrays=1))
    return a


def sum_rows(a: Array) -> Array:
    """See :func:`deepnlp.kernels.plain.sum_rows`: a product with a vector of ones."""
    return xp.ones(a.shape[0], dtype=a.dtype) @ a


def add_rows(table: Array, ids: Array, rows: Array) -> None:
    """See :func:`deepnlp.kernels.plain.add_rows`: a loop, since ``add.at`` is slower than one."""
    for id_, row in zip(ids.tolist(), rows, strict=True):
        table[id_] += row


# --- All weights at once ---------------------------------------------------------------------


def clip_all(gradients: Sequence[Array], max_norm: float) -> Array:
    """See :func:`deepnlp.kernels.plain.clip_all`."""
    norm = xp.sqrt(sum((xp.vdot(g, g) for g in gradients), start=xp.zeros(())))
    if math.isfinite(max_norm):
        scale = xp.minimum(1, max_norm / (norm + 1e-6))

        def some_rows(block: tuple[Array, Array]) -> None:
            g, factor = block
            g *= factor

        in_parallel(
            some_rows,
            [
                (g[rows], scale.astype(g.dtype))
                for g in gradients
                for rows in cache_blocks(g.shape, arrays=1)
            ],
        )
    return norm


def update_all(rule: str, formula: Callable[..., None], updates: Sequence[Update]) -> None:
    """See :func:`deepnlp.kernels.plain.update_all`: a block of rows at a time."""

    def some_rows(block: tuple[Update, Any]) -> None:
        (W, g, kept, scalars), rows = block
        formula(W[rows], g[rows], **{name: k[rows] for name, k in kept.items()}, **scalars)

    in_parallel(
        some_rows,
        [(update, rows) for update in updates for rows in cache_blocks(update.W.shape, arrays=3)],
    )
