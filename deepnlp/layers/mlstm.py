r"""May the gates of an LSTM be as large as they like, and its memory a matrix?

The mLSTM keeps pairs of key and value in a matrix C for each head, as linear attention does
(``linear_attention.py``), with an input gate exp(a_i), which may weigh a place a thousand times as
much as another, and the forget gate of an LSTM. A vector n sums the keys with the same weights, so
that what is read can be divided by the weight that it has. For each head, d = H / heads::

    q, k, v = x Wx + b, k divided by sqrt(d)            queries, keys, values (N, heads, d)
    i, f, o = exp(a_i), sigmoid(a_f), sigmoid(a_o)      gates: i, f (N, heads), o (N, H)
    C = f C_prev + i k^T v                              memory (N, heads, d, d)
    n = f n_prev + i k                                  weights of the keys (N, heads, d)
    y = o * q C / max(|q n|, 1)                         output (N, H)

exp(a_i) overflows where a_i is large. The answer is a number m that takes the scale out of C and n:
C = exp(m) C', with m = max(log f + m_prev, a_i, 0), so that C' = f' C'_prev + i' k^T v with the
gates f' = exp(log f + m_prev - m) and i' = exp(a_i - m), none of which is above 1; and
y = o * q C' / max(|q n'|, exp(-m)). Since y does not depend on m, the way back takes every m as
given; only a loss of the last C' and m themselves sees it.
"""

from typing import Any, Self

from deepnlp.backend import Array, Rng, xp
from deepnlp.backend.functions import sigmoid, sigmoid_grad, softplus
from deepnlp.layers.linear_attention import check_heads, heads_for
from deepnlp.layers.scans import (
    TimeScan,
    linear_attention,
    linear_attention_backward,
    scan_backward,
    where_ended,
)


def stabilisers(log_f: Array, a_i: Array, m_0: Array, ended: Array | None) -> tuple[Array, Array]:
    """Return m_0 ... m_T (T + 1, N, heads), and where m came from: 0 for f, 1 for a_i, 2 for 0."""
    m = xp.empty((len(a_i) + 1, *m_0.shape), xp.result_type(a_i.dtype, m_0.dtype))
    new, m[0] = xp.where(a_i.real > 0, a_i, 0), m_0
    for t in range(len(a_i)):
        kept = log_f[t] + m[t]
        m[t + 1] = xp.where(new[t].real > kept.real, new[t], kept)
        if ended is not None:
            xp.copyto(m[t + 1], m[t], where=ended[t])
    is_new = where_ended(ended, False, new.real > (log_f + m[:-1]).real)
    return m, xp.where(is_new, xp.where(a_i.real > 0, 1, 2), 0)


class TimeMLSTM(TimeScan):
    r"""An LSTM over T steps whose memory is a matrix, with an exponential input gate.

    .. math::
        C_t &= f_t C_{t-1} + e^{a_{i,t}} k_t^T v_t, \qquad n_t = f_t n_{t-1} + e^{a_{i,t}} k_t \\
        y_t &= \sigma(a_{o,t}) \odot \frac{q_t C_t}{\max(|q_t n_t^T|, 1)}

    for each head, with :math:`f_t = \sigma(a_{f,t})`, and q, k sqrt(d), v and all a linear in x.

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 4H + 2 heads)
        Blocks in the order q, k, v, o, i, f.
    b : Parameter or array (4H + 2 heads,)
    heads : int
        It divides H.
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives (N, T, H); the state ``h`` is
    (N, heads (d (d + 1) + 1)): C' and n' beside each other, and m. ``backward(dhs, dh=None)`` gives
    dx and leaves ``dh0``. Beck et al. 2024, eq. 19-27; their m may be below 0.

    Raises
    ------
    ValueError
        If shapes do not fit, H is no multiple of the heads, or a carried state has another batch.

    Examples
    --------
    >>> layer = TimeMLSTM.init(3, 4, heads=2)
    >>> layer.forward(xp.zeros((2, 5, 3), dtype="float32")).shape, layer.h.shape
    ((2, 5, 4), (2, 14))
    """

    gates = "qkvo"
    shows_state = False
    init_options = ("forget_bias", "heads")

    def __init__(self, Wx: Any, b: Any, heads: int, stateful: bool = False) -> None:
        self.heads = heads
        super().__init__(Wx, b, stateful, "4H+2heads", 2 * heads)
        check_heads("TimeMLSTM", self.H, heads)
        self.d = self.H // heads

    @property
    def state_size(self) -> int:
        """Numbers of a state: d (d + 1) + 1 of each head."""
        return self.heads * (self.d * (self.d + 1) + 1)

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Rng = None,
        dtype: Any = "float32",
        forget_bias: float | None = None,
        heads: int | None = None,
        **options: Any,
    ) -> Self:
        """Fresh weights: Wx from U(-1/sqrt(D), 1/sqrt(D)), b zero but for the gate f.

        Parameters
        ----------
        D, H : int
            Sizes of input and output.
        rng : numpy.random.Generator, optional
        dtype : data-type
        forget_bias : float, optional
            Of f; 1 by default.
        heads : int, optional
            By default the fewest that divide H and are not larger than 64.
        **options
            ``scheme``, and other arguments of the constructor, such as ``stateful``.
        """
        width = 4 * H + 2 * (heads := heads or heads_for(H))
        layer = cls._fresh(D, width, rng, dtype, heads=heads, **options)
        layer._open(width - heads, width, forget_bias)
        return layer

    def _cut(self, a: Array) -> list[Array]:
        """q, k, v and a_o (T, N, heads, d), a_i and a_f (T, N, heads)."""
        H, heads = self.H, self.heads
        whole = a[..., : 4 * H].reshape(*a.shape[:2], 4, heads, self.d)
        return [*(whole[:, :, j] for j in range(4)), a[..., 4 * H : -heads], a[..., -heads:]]

    def scanned(self, a: Array, start: Array, ended: Array | None) -> tuple[Array, Array, Any]:
        """Return y (T, N, H), the last state (N, M) and what the way back needs."""
        (T, N, _), heads, d = a.shape, self.heads, self.d
        q, k, v, a_o, a_i, a_f = self._cut(a)
        k = d**-0.5 * k
        log_f = -softplus(-a_f)
        m, source = stabilisers(log_f, a_i, start[:, -heads:], ended)
        f = where_ended(ended, 1, xp.exp(log_f + m[:-1] - m[1:]))[..., None]
        i = where_ended(ended, 0, xp.exp(a_i - m[1:]))[..., None]
        # C' and n' beside each other: n' is the memory of a value that is always 1
        v = xp.concatenate([v, xp.ones_like(v[..., :1])], axis=-1)
        C_0 = start[:, :-heads].reshape(N, heads, d, d + 1)
        r, C, saved = linear_attention(q, i * k, v, f, C_0)
        r_n, floor = r[..., d:], xp.exp(-m[1:])[..., None]
        is_above = abs(r_n.real) > floor.real
        divisor = xp.where(is_above, xp.where(r_n.real < 0, -r_n, r_n), floor)
        c, o = r[..., :d] / divisor, sigmoid(a_o)
        last = xp.concatenate([C.reshape(N, heads * d * (d + 1)), m[-1]], axis=1)
        kept = saved, q, k, v, f, i, C_0, m, source, r_n, is_above, divisor, c, o, a_f, last
        return (o * c).reshape(T, N, self.H), last, kept

    def scanned_backward(
        self, dy: Array, dh: Array, kept: Any, ended: Array | None
    ) -> tuple[Array, Array, Any]:
        """Return da (T, N, W), the gradients with respect to the states, and the states."""
        saved, q, k, v, f, i, C_0, m, source, r_n, is_above, divisor, c, o, a_f, last = kept
        (T, N, _), heads, d = dy.shape, self.heads, self.d
        # y = o * c
        dy = dy.reshape(c.shape)
        dc, da_o = dy * o, dy * c * sigmoid_grad(o)
        # c = r / divisor, which is |r_n| or no variable
        dr = dc / divisor
        ddivisor = xp.where(is_above, -xp.sum(dr * c, axis=-1, keepdims=True), 0)
        dr = xp.concatenate([dr, xp.where(r_n.real < 0, -ddivisor, ddivisor)], axis=-1)
        # C' = f C'_prev + (i k)^T v
        back: Any = linear_attention_backward
        if self.watch is not None:  # all states are looked at
            saved, back = linear_attention.plain(q, i * k, v, f, C_0)[2], back.plain
        dC = dh[:, :-heads]
        dq, dik, dv, df, g = back(dr, dC.reshape(C_0.shape), saved, q, i * k, v, f)
        # the last C' = exp(-m) C: its m comes from log f or a_i, as the largest of both
        dm = dh[:, -heads:] - (dC * last[:, :-heads]).reshape(N, heads, d * (d + 1)).sum(axis=-1)
        stays = source == 0
        dm = scan_backward(stays.astype(dm.dtype), xp.zeros_like(a_f), dm)
        # f = exp(log f + m_prev - m), i = exp(a_i - m)
        dlog_f = (df * f)[..., 0] + where_ended(ended, 0, dm[1:] * stays)
        da_i = xp.sum(dik * k, axis=-1) * i[..., 0] + dm[1:] * (source == 1)
        dm_0 = dm[0] + ((df * f)[0, ..., 0] if T else 0)  # past an end f = exp(m_prev - m) too
        # log f = -log(1 + exp(-a_f))
        da_f = where_ended(ended, 0, dlog_f * sigmoid(-a_f))
        blocks = dq, d**-0.5 * i * dik, dv[..., :d], da_o
        da = [*(x.reshape(T, N, self.H) for x in blocks), where_ended(ended, 0, da_i), da_f]
        g = g.reshape(len(g), N, heads * d * (d + 1))
        dm = xp.concatenate([dm_0[None], xp.zeros((len(g) - 1, N, heads), dm.dtype)])
        states = (
            xp.concatenate([saved.reshape(T + 1, *dC.shape), m], axis=-1) if len(g) > 1 else None
        )
        return xp.concatenate(da, axis=-1), xp.concatenate([g, dm], axis=-1), states

    def gate_values(self, a: Array) -> dict[str, Array]:
        """Return o and f."""
        *_, a_o, _, a_f = self._cut(a[None])
        return {"o": sigmoid(a_o).reshape(len(a), self.H), "f": sigmoid(a_f[0])}
