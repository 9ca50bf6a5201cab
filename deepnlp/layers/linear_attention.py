r"""Attention without its softmax: a recurrent layer whose state is a matrix.

A place t asks with a query q_t, and each place s before it answers with its value v_s, weighted by
q_t . k_s with its key k_s. Without a function around these weights the sum can be taken first, over
all places so far: S_t = sum_s k_s^T v_s, and what is read is q_t S_t. So nothing has to be kept but
a matrix. What came long ago is in the way of what is new, so that S fades by a decay f from 0 to
1 at each step, a number for each of its rows. For each head, with d = H / heads numbers::

    q, k, v = x Wx_q + b_q, x Wx_k + b_k, x Wx_v + b_v  queries, keys, values (N, heads, d)
    f = sigmoid(x Wx_f + b_f)^(1 / 16)                  decay by the data, or a fixed one
    S = f * S_prev + k^T v                              memory (N, heads, d, d)
    y = q S / sqrt(d)                                   output, the heads beside each other (N, H)

The answer is that the same numbers can be computed in two ways. :func:`linear_attention` takes the
equations as they are, a scan over matrices (``scans.py``). Its quick form takes the places in
blocks: within a block it is attention, of all places to those before them, by products of
matrices, with the decay between each two; what stood in S before the block is read once by all.
What a fixed state cannot do is to keep more than d pairs of key and value of a head apart.
"""

from typing import Any, Self

from deepnlp.backend import Array, Rng, check_number, check_shape, xp
from deepnlp.backend.functions import sigmoid, softplus, split_gates
from deepnlp.layers.scans import (
    TimeScan,
    linear_attention,
    linear_attention_backward,
    where_ended,
)

DECAYS = ("data", "fixed")
TEMPERATURE = 16  # a decay by data is the 16th root of a gate: fresh ones keep 0.96 of a number
LARGEST_HEAD = 64


def check_heads(owner: str, H: int, heads: int) -> None:
    """Raise an error where outputs cannot be cut into heads of one size."""
    check_number(f"{owner}: heads", heads, whole=True, low=1)
    if H % heads or not H:
        raise ValueError(f"{owner}: H = {H} should be a multiple of {heads} heads")


def heads_for(H: int) -> int:
    """Return the fewest heads of one size that is at most 64.

    >>> heads_for(650), heads_for(5)
    (13, 1)
    """
    check_shape((H,), least=1)
    return next(heads for heads in range(1, H + 1) if H % heads == 0 and heads * LARGEST_HEAD >= H)


class TimeLinearAttention(TimeScan):
    r"""Linear attention over T steps, with a memory that fades: gated, or retention.

    .. math::
        S_t = f_t \odot S_{t-1} + k_t^T v_t, \qquad y_t = q_t S_t / \sqrt d

    for each head, with q, k, v linear in x, and a decay f of each row of S. With ``decay="data"``
    (gated linear attention) :math:`f_t = \sigma(x_t W_{x,f} + b_f)^{1/16}`; with ``"fixed"``
    (retention) f of head j is :math:`1 - 2^{-5-j}`.

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 4H) or (D, 3H)
        Blocks in the order q, k, v, f; f with ``decay="data"`` only.
    b : Parameter or array (4H,) or (3H,)
    heads : int
        It divides H.
    decay : {"data", "fixed"}
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives (N, T, H); the state ``h`` is
    (N, heads d d). ``backward(dhs, dh=None)`` gives dx and leaves ``dh0``. Katharopoulos et al.
    2020; Sun et al. 2023 (retention); Yang et al. 2024, eq. 3 (gated), without the norm and the
    gate around it.

    Raises
    ------
    ValueError
        If shapes do not fit, H is no multiple of the heads, or a carried state has another batch.

    Examples
    --------
    >>> layer = TimeLinearAttention.init(3, 4, heads=2)
    >>> layer.forward(xp.zeros((2, 5, 3), dtype="float32")).shape, layer.h.shape
    ((2, 5, 4), (2, 8))
    """

    shows_state = False
    init_options = ("heads", "decay")

    def __init__(
        self, Wx: Any, b: Any, heads: int, decay: str = "data", stateful: bool = False
    ) -> None:
        owner = type(self).__name__
        if decay not in DECAYS:
            raise ValueError(f"{owner}: decay should be 'data' or 'fixed', got {decay!r}")
        self.gates, self.heads, self.decay = "qkvf" if decay == "data" else "qkv", heads, decay
        super().__init__(Wx, b, stateful)
        check_heads(owner, self.H, heads)

    @property
    def state_size(self) -> int:
        """Numbers of a state: d^2 of each head."""
        return self.H * self.H // self.heads

    @classmethod
    def init(  # type: ignore[override]
        cls,
        D: int,
        H: int,
        rng: Rng = None,
        dtype: Any = "float32",
        heads: int | None = None,
        decay: str = "data",
        **options: Any,
    ) -> Self:
        """Fresh weights: Wx from U(-1/sqrt(D), 1/sqrt(D)), b zero.

        Parameters
        ----------
        D, H : int
            Sizes of input and output.
        rng : numpy.random.Generator, optional
        dtype : data-type
        heads : int, optional
            By default the fewest that divide H and are not larger than 64.
        decay : {"data", "fixed"}
        **options
            ``scheme``, and other arguments of the constructor, such as ``stateful``.
        """
        options = {"heads": heads or heads_for(H), "decay": decay, **options}
        return cls._fresh(D, H * (4 if decay == "data" else 3), rng, dtype, **options)

    def _cut(self, a: Array) -> list[Array]:
        """The blocks of a (T, N, G H), each (T, N, heads, d)."""
        shape = *a.shape[:2], self.heads, self.H // self.heads
        return [x.reshape(shape) for x in split_gates(a, len(self.gates))]

    def scanned(self, a: Array, start: Array, ended: Array | None) -> tuple[Array, Array, Any]:
        """Return y (T, N, H), the last state (N, M) and what the way back needs."""
        q, k, v, *gate = self._cut(a)
        d = q.shape[-1]
        f = self.decays(gate[0] if gate else None, a)
        f, k = where_ended(ended, 1, f), where_ended(ended, 0, k)  # past its end S stays
        S_0 = start.reshape(len(start), self.heads, d, d)
        y, last, S = linear_attention(d**-0.5 * q, k, v, f, S_0)
        kept = S, d**-0.5 * q, k, v, f, S_0, gate
        return y.reshape(*a.shape[:2], self.H), last.reshape(start.shape), kept

    def scanned_backward(
        self, dy: Array, dh: Array, kept: Any, ended: Array | None
    ) -> tuple[Array, Array, Any]:
        """Return da (T, N, G H), and the gradients with respect to the states, and the states."""
        S, q, k, v, f, S_0, gate = kept
        if self.watch is not None:  # all states are looked at
            S = linear_attention.plain(q, k, v, f, S_0)[2]
        back = linear_attention_backward if self.watch is None else linear_attention_backward.plain
        dq, dk, dv, df, g = back(dy.reshape(v.shape), dh.reshape(S_0.shape), S, q, k, v, f)
        # past the end k is zero, and f is 1, whatever x is
        parts = [q.shape[-1] ** -0.5 * dq, where_ended(ended, 0, dk), dv]
        if gate:  # f = sigmoid(a_f)^(1 / 16), whose slope is f (1 - sigmoid(a_f)) / 16
            parts.append(where_ended(ended, 0, df) * f * sigmoid(-gate[0]) / TEMPERATURE)
        da = xp.concatenate([x.reshape(*x.shape[:2], self.H) for x in parts], axis=-1)
        return da, g.reshape(len(g), *dh.shape), S

    def decays(self, gate: Array | None, a: Array) -> Array:
        """Return f (T, N, heads, d), or (T, N, heads, 1) where it is fixed."""
        if gate is not None:
            return xp.exp(-softplus(-gate) / TEMPERATURE)  # a root of sigmoid(a_f)
        of_heads = 1 - 2.0 ** -(5 + xp.arange(self.heads))
        shape = *a.shape[:2], self.heads, 1
        return xp.broadcast_to(of_heads.astype(a.dtype)[:, None], shape)

    def gate_values(self, a: Array) -> dict[str, Array]:
        """Return f."""
        gate = self._cut(a[None])[3:]
        return {"f": self.decays(gate[0], a)[0].reshape(len(a), self.H)} if gate else {}
