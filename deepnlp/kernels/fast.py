"""Quick forms on NumPy, with few passes over memory.

The formulas are those of the plain forms, in the layers and the optimizers. What makes them quick:

- results go into arrays that exist already (``out=``), so nothing is allocated in a loop;
- all four gates of an LSTM pass through one tanh, for sigmoid(x) = tanh(x / 2) / 2 + 1 / 2;
- large arrays are worked on a block at a time, so that all operations but the first find the block
  in the cache, and blocks are shared out between threads: NumPy releases the interpreter's lock
  while it computes.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from deepnlp.backend import Array, cache_blocks, xp
from deepnlp.backend.functions import column_sums, masked_softmax, split_gates
from deepnlp.backend.threads import even_blocks, in_parallel, slices
from deepnlp.kernels.steps import ElementWise, LSTMSteps

BLOCK = 1 << 19  # scores of a block: 2 MB of float32, about what a core's own cache holds
ROWS = 1024  # most rows of a block
NARROWEST = 128  # fewest columns of a block, where there are as many

FEW = 5  # fewer blocks of short operations are done before a thread has woken

ORDINARY = 30.0  # scores below it have exponentials that no sum or product can overflow

# --- LSTM ------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _tanh_to_gates(N: int, H: int, dtype: Any) -> tuple[Array, Array]:
    """Scale and shift (N, 4H) that make gates of tanh: 1/2 and 1/2 for i, f, o; 1 and 0 for g.

    One row would do, but repeating it for each row of a small matrix takes longer than reading it.
    """
    scale = xp.full((N, 4 * H), 0.5, dtype=dtype)
    scale[:, 2 * H : 3 * H] = 1
    shift = xp.full((N, 4 * H), 0.5, dtype=dtype)
    shift[:, 2 * H : 3 * H] = 0
    return scale, shift


def _lstm_step(a: Array, p: Array, c_prev: Array, h: Array, c: Array, tanh_c: Array) -> None:
    """h, c and tanh(c) from a + p; a becomes the gates."""
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


def _lstm_slopes(gates: Array, c_prev: Array, tanh_c: Array, da: Array) -> None:
    """Factors dc/da and dh/da of all steps into da, and dh/dc over tanh(c)."""

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


def _lstm_step_backward(
    dh_above: Array, dh_next: Array, dc: Array, gates: Array, dh_dc: Array, da: Array
) -> None:
    """From the factors in da to gradients, and from dc to dc_prev."""
    N, H = dc.shape
    dh = dh_above + dh_next
    da[:, 3 * H :] *= dh
    dh *= dh_dc
    dc += dh
    da_ifg = da[:, : 3 * H].reshape(N, 3, H)
    da_ifg *= dc[:, None, :]
    dc *= gates[:, H : 2 * H]


lstm_steps = partial(LSTMSteps, ElementWise(_lstm_step, _lstm_slopes, _lstm_step_backward))


# --- Scans -------------------------------------------------------------------------------------

SMALL_STEP = 1500  # numbers of a step of which two operations take less time than to begin them
FEW_STEPS = 32
PLACES = 16  # of a block of linear attention


def _side_by_side(a: Array, b: Array, h: Array) -> None:
    """Write h_1 ... h_T behind h_0, in blocks of L steps: the first of all, then the second, ...

    A block begins at zero, and what its first steps hand on, a_1 ... a_t h, is added at the end.
    The steps after the last whole block follow one by one.
    """
    T, L = len(b), steps_of_a_block(b)
    blocks = T // L
    rest = blocks * L
    if blocks > 1:
        inner, start = h[1 : rest + 1].reshape(blocks, L, *h.shape[1:]), h[: rest + 1 : L]
        a_l, b_l = (x[:rest].reshape(blocks, L, *x.shape[1:]) for x in (a, b))
        p = xp.empty(a_l.shape, h.dtype)  # a_1 ... a_t of the block
        p[:, 0], inner[:, 0] = a_l[:, 0], b_l[:, 0]
        for t in range(1, L):
            xp.multiply(a_l[:, t], p[:, t - 1], out=p[:, t])
            xp.multiply(a_l[:, t], inner[:, t - 1], out=inner[:, t])
            inner[:, t] += b_l[:, t]
        for k in range(blocks):
            start[k + 1] += p[k, -1] * start[k]
        inner[:, :-1] += p[:, :-1] * start[:-1, None]
    for t in range(rest if blocks > 1 else 0, T):
        xp.multiply(a[t], h[t], out=h[t + 1])
        h[t + 1] += b[t]


def steps_of_a_block(b: Array) -> int:
    """How many steps a block has: all, where a step is large or there are few of them."""
    T = len(b)
    small = T >= FEW_STEPS and b[0].size <= SMALL_STEP
    return math.isqrt(T) if small else max(1, T)


def scan(a: Array, b: Array, h_0: Array) -> Array:
    """In place, and in blocks side by side where a step is small."""
    h = xp.empty((len(b) + 1, *h_0.shape), xp.result_type(a.dtype, b.dtype, h_0.dtype))
    h[0] = h_0
    _side_by_side(a, b, h)
    return h


def scan_backward(a: Array, dy: Array, dh: Array) -> Array:
    """The same from the last step to the first: dh_t = dy_t + a_(t+1) dh_(t+1)."""
    T = len(dy)
    g = xp.empty((T + 1, *dh.shape), xp.result_type(a.dtype, dy.dtype, dh.dtype))
    g[-1] = dh
    if T:
        g[-1] += dy[-1]
        _side_by_side(a[:0:-1], dy[-2::-1], g[:0:-1])
        xp.multiply(a[0], g[1], out=g[0])
    return g


def mingru(a: Array) -> tuple[Array, Array, Array]:
    """Some steps at a time, in place."""
    a_z, n = split_gates(a, 2)
    f, u, z = (xp.empty(n.shape, a.dtype) for _ in range(3))

    def some_steps(t: Any) -> None:
        gate = xp.multiply(a_z[t], 0.5, out=z[t])
        xp.tanh(gate, out=gate)
        gate *= 0.5
        gate += 0.5
        xp.subtract(1, gate, out=f[t])
        xp.multiply(gate, n[t], out=u[t])

    in_parallel(some_steps, cache_blocks(a.shape, arrays=3), FEW)
    return f, u, z


def mingru_backward(df: Array, du: Array, z: Array, a: Array) -> Array:
    """Some steps at a time, in place."""
    _, n = split_gates(a, 2)
    da = xp.empty(a.shape, xp.result_type(a.dtype, du.dtype))
    da_z, da_n = split_gates(da, 2)

    def some_steps(t: Any) -> None:
        xp.multiply(du[t], n[t], out=da_z[t])
        da_z[t] -= df[t]
        da_z[t] *= z[t]
        da_z[t] *= 1 - z[t]
        xp.multiply(du[t], z[t], out=da_n[t])

    in_parallel(some_steps, cache_blocks(a.shape, arrays=3), FEW)
    return da


def _decays(f: Array) -> Array:
    """Products of f (N, heads, L, .) from after place j - 1 to place i: (N, heads, L, L + 1, .).

    Column 0 is from the beginning of the block, and what stands right of i is zero.
    """
    L = f.shape[2]
    D = xp.zeros((*f.shape[:3], L + 1, f.shape[3]), f.dtype)
    for i in range(L):
        D[:, :, i, i + 1] = 1
        before = D[:, :, i - 1, : i + 1] if i else 1
        D[:, :, i, : i + 1] = before * f[:, :, i, None]
    return D


def linear_attention(
    q: Array, k: Array, v: Array, f: Array, S_0: Array
) -> tuple[Array, Array, Any]:
    """A block of places at a time: y = (q D_0) S + (sum over d of q k D) v, lower triangle."""
    dtype = xp.result_type(q.dtype, k.dtype, v.dtype, f.dtype, S_0.dtype)
    y, S, starts = xp.empty(v.shape, dtype), S_0.astype(dtype), []
    for block in slices(len(q), PLACES):
        starts.append(S)
        q_b, k_b, v_b, D = _block(q, k, v, f, block)
        kD = k_b[:, :, None] * D[..., 1:, :]
        A = (kD @ q_b[..., None])[..., 0]
        y_b = (q_b * D[..., 0, :]) @ S + A @ v_b
        y[block] = y_b.transpose(2, 0, 1, 3)
        S = D[:, :, -1, 0, :, None] * S + kD[:, :, -1].swapaxes(-1, -2) @ v_b
    return y, S, starts


def _block(q: Array, k: Array, v: Array, f: Array, block: slice) -> list[Array]:
    """q, k and v of a block (N, heads, L, .), and its decays."""
    q, k, v, f = (x[block].transpose(1, 2, 0, 3) for x in (q, k, v, f))
    return [q, k, v, _decays(f)]


def linear_attention_backward(
    dy: Array, dS: Array, S: Any, q: Array, k: Array, v: Array, f: Array
) -> Any:
    """Back through each block, the last first, and through its decays, product by product."""
    if not isinstance(S, list):
        return NotImplemented
    dtype = xp.result_type(dy.dtype, dS.dtype, f.dtype)
    dq, dk, dv, df = (xp.empty(x.shape, dtype) for x in (q, k, v, f))
    for block, S_b in reversed([*zip(slices(len(q), PLACES), S)]):
        q_b, k_b, v_b, D = _block(q, k, v, f, block)
        dy_b, f_b = dy[block].transpose(1, 2, 0, 3), f[block].transpose(1, 2, 0, 3)
        kD, qD = k_b[:, :, None] * D[..., 1:, :], q_b * D[..., 0, :]
        # y = (q D_0) S + A v with A = sum_d q k D, and S_next = D_0 S + (k D_last)^T v
        dA = dy_b @ v_b.swapaxes(-1, -2)
        A = (kD @ q_b[..., None])[..., 0]
        d_qD, d_kD_last = dy_b @ S_b.swapaxes(-1, -2), v_b @ dS.swapaxes(-1, -2)
        d_kD = dA[..., None] * q_b[..., None, :]
        d_kD[:, :, -1] += d_kD_last
        dv[block] = (A.swapaxes(-1, -2) @ dy_b + kD[:, :, -1] @ dS).transpose(2, 0, 1, 3)
        dq_b = d_qD * D[..., 0, :] + (dA[..., None, :] @ kD)[..., 0, :]
        dq[block] = dq_b.transpose(2, 0, 1, 3)
        dk[block] = (d_kD * D[..., 1:, :]).sum(axis=2).transpose(2, 0, 1, 3)
        dD = xp.concatenate([(d_qD * q_b)[..., None, :], d_kD * k_b[:, :, None]], axis=3)
        dD[:, :, -1, 0] += (dS * S_b).sum(axis=-1)
        if f.shape[-1] == 1:
            dD = dD.sum(axis=-1, keepdims=True)
        dS = qD.swapaxes(-1, -2) @ dy_b + D[:, :, -1, 0, :, None] * dS
        # D_i = f_i D_(i-1), and 1 on the diagonal
        for i in reversed(range(q_b.shape[2])):
            d_i = dD[:, :, i, : i + 1]
            if i:
                df[block][i] = (d_i * D[:, :, i - 1, : i + 1]).sum(axis=2)
                dD[:, :, i - 1, : i + 1] += d_i * f_b[:, :, i, None]
            else:
                df[block][i] = d_i[:, :, 0]
    return dq, dk, dv, df, dS[None]


# --- Softmax with its loss -------------------------------------------------------------------


def _are_ordinary(s: Array) -> bool:
    """Return whether exponentials of scores need no precaution: float32, and none is large.

    In double precision, in which gradients are checked, the largest score is always subtracted: a
    loss near zero is more accurate with it.
    """
    return bool(s.dtype.char == "f" and abs(s).max(initial=0) < ORDINARY)


def _shift(s: Array, top: Array) -> None:
    """Subtract the largest score of each row, which cancels; leave ordinary scores as they are.

    What was subtracted is left in ``top``.
    """
    if s.dtype == top.dtype and _are_ordinary(top):
        top[...] = 0
    else:
        s -= top[:, None]


def softmax_nll(s: Array, b: Array | None, t: Array) -> tuple[Array, Array]:
    """Scores become exponentials, a block of rows at a time; their sums are saved."""
    n = xp.arange(len(t))
    ones = xp.ones(s.shape[1], dtype=s.dtype)
    s_t, total = xp.empty(len(t), dtype=s.dtype), xp.empty(len(t), dtype=s.dtype)

    def some_rows(rows: Any) -> None:
        x = s[rows]
        if b is not None:
            x += b
        _shift(x, x.real.max(axis=1))
        s_t[rows] = s[n[rows], t[rows]]
        xp.exp(x, out=x)
        xp.matmul(x, ones, out=total[rows])

    in_parallel(some_rows, cache_blocks(s.shape, arrays=1))
    return xp.log(total) - s_t, total


def softmax_nll_backward(s: Array, t: Array, saved: Array, dnll: Array) -> Array:
    """p = e / total; the division is left to the factor, so that no pass over s is needed."""
    s[xp.arange(len(t)), t] -= saved
    return dnll / saved


def affine_nll(x: Array, W: Array, b: Array | None, t: Array) -> Array:
    """A block of scores at a time: product, exponentials and their sum while it is in the cache."""
    n, V = len(x), W.shape[1]
    if n > ROWS:
        parts = [slice(k, k + ROWS) for k in range(0, n, ROWS)]
        return xp.concatenate([affine_nll(x[k], W, b, t[k]) for k in parts])
    width = max(NARROWEST, BLOCK // max(1, n))
    blocks = [slice(start, min(start + width, V)) for start in range(0, V, width)]
    dtype = xp.result_type(x.dtype, W.dtype)
    b_t: Any = 0.0
    weight = xp.ones(V, dtype=dtype)
    if b is not None and b.dtype == dtype and _are_ordinary(b):
        weight, b_t, b = xp.exp(b), b[t], None  # sum_j exp(s_j + b_j) = sum_j exp(s_j) exp(b_j)
    s_t = xp.empty(n, dtype=dtype)  # score of the target, less the largest of its block
    top = xp.empty((len(blocks), n), dtype=s_t.real.dtype)  # largest score of a block
    top_t = xp.empty(n, dtype=top.dtype)  # that of the target's block
    total = xp.empty((len(blocks), n), dtype=dtype)  # sum of weight exp(score - largest)

    free: list[Array] = []  # memory for a block, one per thread: fresh memory is slow to write

    def one_block(k: int) -> None:
        columns = blocks[k]
        try:  # asking first whether there is one would let two threads take the same
            memory = free.pop()
        except IndexError:
            memory = xp.zeros(n * width, dtype=dtype)
        shape = n, columns.stop - columns.start
        s = memory[: math.prod(shape)].reshape(shape)
        xp.matmul(x, W[:, columns], out=s)
        if b is not None:
            s += b[columns]
        s.real.max(axis=1, initial=xp.finfo(dtype).min, out=top[k])  # a block may be all -inf
        _shift(s, top[k])
        mine = xp.flatnonzero((t >= columns.start) & (t < columns.stop))
        s_t[mine], top_t[mine] = s[mine, t[mine] - columns.start], top[k, mine]
        xp.exp(s, out=s)
        xp.matmul(s, weight[columns], out=total[k])
        free.append(memory)

    in_parallel(one_block, range(len(blocks)))
    highest = top.max(axis=0)
    return xp.log((total * xp.exp(top - highest)).sum(axis=0)) - (s_t + b_t + (top_t - highest))


def rows_to_score(counts: Array) -> Any:
    """Only the rows that count; all as a slice, so that nothing is copied."""
    return slice(None) if counts.all() else xp.flatnonzero(counts)


# --- Transformer -------------------------------------------------------------------------------

# 1 - erf(u) = (p1 w + ... + p5 w^5) exp(-u^2) up to 1.5e-7, with w = 1 / (1 + p0 u) and u >= 0:
# Abramowitz and Stegun 1964, 7.1.26
_P0 = 0.3275911
_P = 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429


def gelu(x: Array) -> tuple[Array, Array]:
    """y and its slope, from one exponential that serves erf and the density of a normal number."""
    if x.dtype.char != "f" or not x.dtype.isnative:
        return NotImplemented
    y, slope = xp.empty(x.shape, x.dtype), xp.empty(x.shape, x.dtype)

    def some_rows(rows: Any) -> None:
        a, e, Phi = x[rows], slope[rows], y[rows]
        xp.multiply(a, a, out=e)
        e *= -0.5
        xp.exp(e, out=e)
        w = abs(a)
        w *= _P0 * math.sqrt(0.5)
        w += 1
        xp.divide(1, w, out=w)
        xp.multiply(-0.5 * _P[4], w, out=Phi)
        for p in _P[3::-1]:
            Phi -= 0.5 * p
            Phi *= w
        Phi *= e  # (erf(|x| / sqrt 2) - 1) / 2
        Phi += 0.5
        # copysign(Phi, a), which is slow: Phi has the sign + but for rounding where a is near 0
        sign = xp.bitwise_and(a.view("uint32"), 0x80000000, out=w.view("uint32"))
        xp.bitwise_xor(Phi.view("uint32"), sign, out=Phi.view("uint32"))
        Phi += 0.5
        e *= 1 / math.sqrt(2 * math.pi)
        e *= a
        e += Phi
        Phi *= a  # y

    in_parallel(some_rows, even_blocks(x.shape, arrays=1))
    return y, slope


def gelu_backward(dy: Array, saved: Any) -> Array:
    """dx = dy times the slope, which is what the quick form saves."""
    return NotImplemented if isinstance(saved, tuple) else dy * saved


def gelu_tanh(x: Array) -> tuple[Array, Array]:
    """y and its slope, a block at a time."""
    if x.dtype.char not in "fd":
        return NotImplemented
    y, slope = xp.empty(x.shape, x.dtype), xp.empty(x.shape, x.dtype)
    A, B = math.sqrt(2 / math.pi), 0.044715

    def some_rows(rows: Any) -> None:
        a = x[rows]
        square = a * a
        t = (A * B) * square
        t += A
        t *= a
        xp.tanh(t, out=t)
        half = 0.5 * t
        half += 0.5
        xp.multiply(a, half, out=y[rows])
        square *= 1.5 * A * B
        square += 0.5 * A
        square *= a  # x u' / 2
        t *= t
        xp.subtract(1, t, out=t)
        square *= t
        xp.add(half, square, out=slope[rows])

    in_parallel(some_rows, even_blocks(x.shape, arrays=2))
    return y, slope


def layer_norm(x: Array, g: Array, b: Array | None, eps: float) -> tuple[Array, Any]:
    """Means as products with a vector, the rest in place."""
    D = x.shape[-1]
    if x.dtype.char != "f" or x.dtype != g.dtype or not x.size:
        return NotImplemented
    average = xp.full(D, 1 / D, x.dtype)
    n, y = xp.empty(x.shape, x.dtype), xp.empty(x.shape, x.dtype)
    r = xp.empty((*x.shape[:-1], 1), x.dtype)

    def some_rows(rows: Any) -> None:
        a, c = x[rows], n[rows]
        xp.subtract(a, (a @ average)[..., None], out=c)
        variance = xp.multiply(c, c, out=y[rows]) @ average
        variance += eps
        xp.sqrt(variance, out=variance)
        xp.divide(1, variance[..., None], out=r[rows])
        c *= r[rows]
        xp.multiply(c, g, out=y[rows])
        if b is not None:
            y[rows] += b

    in_parallel(some_rows, even_blocks(x.shape, arrays=3), FEW)
    return y, (n, r)


def layer_norm_backward(dy: Array, g: Array, saved: Any) -> tuple[Array, Array]:
    """The same, with dg as a product too."""
    n, r = saved
    D = n.shape[-1]
    if n.dtype.char != "f" or dy.dtype != n.dtype or not n.size or n.dtype != g.dtype:
        return NotImplemented
    average = xp.full(D, 1 / D, n.dtype)
    dx, dy_n = xp.empty(n.shape, n.dtype), xp.empty(n.shape, n.dtype)

    def some_rows(rows: Any) -> None:
        d, product, a = dx[rows], dy_n[rows], n[rows]
        xp.multiply(dy[rows], a, out=product)
        slope = product @ (g * average)  # mean(dn n), with dn = g dy
        xp.multiply(dy[rows], g, out=d)
        d -= (d @ average)[..., None]
        d -= a * slope[..., None]
        d *= r[rows]

    in_parallel(some_rows, even_blocks(n.shape, arrays=4), FEW)
    return dx, column_sums(dy_n.reshape(-1, D))


def attention(
    q: Array, k: Array, v: Array, hidden: Array | None, scale: float, noise: Array | None, y: Array
) -> Array:
    """Some texts at a time: all of it while their scores are in the cache.

    The softmax is in place, without a look for the largest score where all are ordinary.
    """
    if {q.dtype.char, k.dtype.char, v.dtype.char} != {"f"} or not q.size or not k.size:
        return NotImplemented
    z = xp.empty((*q.shape[:-1], k.shape[-2]), q.dtype)
    seen = None if hidden is None else xp.asarray(~hidden, z.dtype)
    ones = xp.ones(z.shape[-1], z.dtype)

    def some_texts(n: Any) -> None:
        s = xp.matmul(scale * q[n], k[n].swapaxes(-1, -2), out=z[n])
        if s.max() < ORDINARY and s.min() > -ORDINARY:
            xp.exp(s, out=s)
            if seen is not None:
                s *= seen[n] if seen.ndim == 4 else seen
            total = s @ ones
            total[total == 0] = 1  # a row that may look nowhere
            s /= total[..., None]
        else:
            unseen = hidden[n] if hidden is not None and hidden.ndim == 4 else hidden
            s[...] = masked_softmax(s, unseen)
        xp.matmul(s if noise is None else noise[n] * s, v[n], out=y[n])

    in_parallel(some_texts, even_blocks(z.shape, arrays=2))
    return z


def attention_backward(
    dy: Array, saved: tuple[Any, ...], scale: float, dq: Array, dk: Array, dv: Array
) -> Any:
    """Some texts at a time."""
    q, k, v, a, noise = saved
    if a.dtype.char not in "fd" or {dy.dtype, q.dtype} != {a.dtype}:
        return NotImplemented

    def some_texts(n: Any) -> None:
        weights = a[n] if noise is None else noise[n] * a[n]
        xp.matmul(weights.swapaxes(-1, -2), dy[n], out=dv[n])
        d = xp.matmul(scale * dy[n], v[n].swapaxes(-1, -2))
        if noise is not None:
            d *= noise[n]
        d -= xp.einsum("...ts,...ts->...t", d, a[n])[..., None]
        d *= a[n]
        xp.matmul(d, k[n], out=dq[n])
        xp.matmul(d.swapaxes(-1, -2), q[n], out=dk[n])

    in_parallel(some_texts, even_blocks(a.shape, arrays=3), FEW)
    return None


# --- Weights -----------------------------------------------------------------------------------


def sum_by_id(ids: Array, rows: Array) -> tuple[Array, Array]:
    """Each id once, sorted, and its sum: the product of a sparse matrix of ones and the rows.

    Row u of the matrix has ones where the u-th id stands in ids, so that the rows of an id are
    added in their order.
    """
    from scipy.sparse import csr_array  # takes long to import

    n = len(ids)
    if n and ids.max() <= xp.iinfo("uint16").max:
        ids = ids.astype("uint16")  # these are sorted in time proportional to n
    order = xp.argsort(ids, kind="stable")
    in_order = ids[order]
    is_first = xp.ones(n, dtype=bool)
    xp.not_equal(in_order[1:], in_order[:-1], out=is_first[1:])
    first = xp.flatnonzero(is_first)  # where each id begins
    ones = csr_array(
        (xp.ones(n, dtype=rows.dtype), order, xp.append(first, n)), shape=(len(first), n)
    )
    return in_order[first].astype("int64"), ones @ rows


def at_every_place(ids: Array, sums: Array) -> Array:
    """The sums themselves where each id has one place, as :func:`sum_by_id` leaves it here."""
    return sums if (ids[1:] != ids[:-1]).all() else NotImplemented


def add_rows(table: Array, ids: Array, rows: Array) -> None:
    """The sums by id, of which the first term is what stands in the table."""
    seen = xp.unique(ids)
    both = xp.concatenate([seen, ids]), xp.concatenate([table[seen], rows])
    table[seen] = sum_by_id(*both)[1]


def update_all(formula: Callable[..., None], updates: Sequence[Any]) -> None:
    """A block of rows at a time."""

    def some_rows(block: tuple[Any, Any]) -> None:
        (W, g, kept, scalars), rows = block
        formula(W[rows], g[rows], **{name: k[rows] for name, k in kept.items()}, **scalars)

    in_parallel(
        some_rows,
        [(update, rows) for update in updates for rows in cache_blocks(update.W.shape, arrays=3)],
    )


FORMS: dict[str, Callable[..., Any]] = {
    "add_rows": add_rows,
    "affine_nll": affine_nll,
    "at_every_place": at_every_place,
    "attention": attention,
    "attention_backward": attention_backward,
    "gelu": gelu,
    "gelu_backward": gelu_backward,
    "gelu_tanh": gelu_tanh,
    "gelu_tanh_backward": gelu_backward,
    "mingru": mingru,
    "mingru_backward": mingru_backward,
    "linear_attention": linear_attention,
    "linear_attention_backward": linear_attention_backward,
    "layer_norm": layer_norm,
    "layer_norm_backward": layer_norm_backward,
    "lstm_steps": lstm_steps,
    "rows_to_score": rows_to_score,
    "scan": scan,
    "scan_backward": scan_backward,
    "softmax_nll": softmax_nll,
    "softmax_nll_backward": softmax_nll_backward,
    "sum_by_id": sum_by_id,
    "update_all": update_all,
}
"""The quick form of each kernel that has one on NumPy."""
