r"""How does every place of a text look at every other, in several ways at once?

A place t asks with a query q_t, a place s answers with its key k_s, and what is read is a weighted
average of the values v_s. All three are linear in x (N, T, D), and cut into heads, each with
d = D / heads of their numbers, that look independently::

    q, k, v = heads of x W + b                          (N, heads, T, d) each
    z = scale q k^T                                     scores (N, heads, T, S)
    a = softmax(z), zero where the mask is False        weights (N, heads, T, S)
    y = a v                                             (N, heads, T, d), then (N, T, D) again
    output = y Wo + bo                                  (N, T, D)

Going back, ``da = dy v^T`` and ``dv = a^T dy`` undo the average, the Jacobian of the softmax makes
``dz = a * (da - sum(da * a))`` of da row by row, and ``dq = scale dz k``, ``dk = scale dz^T q``.

A mask says where a place may be looked at: (N, S) for the words of a text that are no padding, or
(N, T, S) for each query. ``causal`` hides what comes later. :class:`MultiHeadAttention` looks at
its own input, :class:`CrossAttention` at a memory.
"""

import math
from typing import Any, Self

from deepnlp.backend import Array, Rng, check_number, xp
from deepnlp.backend.functions import masked_softmax, softmax_grad
from deepnlp.backend.products import TILE, batched_product, filled
from deepnlp.backend.shapes import expect
from deepnlp.backend.threads import slices
from deepnlp.kernels import back_of, kernel
from deepnlp.layer import Layer, keeping, no_backward
from deepnlp.layers.dense import Affine
from deepnlp.layers.dropout import Dropout
from deepnlp.layers.positions import RotaryPositions

SCORES_AT_ONCE = 1 << 20  # where no backward follows
KEYS = 64  # of a tile


@kernel
def attention(
    q: Array, k: Array, v: Array, hidden: Array | None, scale: float, noise: Array | None, y: Array
) -> Array:
    """Return the weights a = softmax(scale q k^T) over the keys that are not hidden; y gets a v.

    ``noise`` (N, heads, T, S), a mask of dropout, multiplies the weights by which v is read.
    """
    a = masked_softmax(scale * batched_product(q, k.swapaxes(-1, -2)), hidden)
    y[...] = batched_product(a if noise is None else noise * a, v)
    return a


@back_of(attention)
def attention_backward(
    dy: Array,
    saved: tuple[Array, Array, Array, Array, Array | None],
    scale: float,
    dq: Array,
    dk: Array,
    dv: Array,
) -> None:
    """Write dq, dk and dv, from dy and the q, k, v, weights a and noise of the forward."""
    q, k, v, a, noise = saved
    # y = (noise * a) v, for each head
    batched_product((a if noise is None else noise * a).swapaxes(-1, -2), dy, out=dv)
    da = batched_product(dy, v.swapaxes(-1, -2))
    # a = softmax(z), z = scale q k^T
    dscores = scale * softmax_grad(da if noise is None else noise * da, a)
    # a key is used by all queries, a query by all keys
    batched_product(dscores, k, out=dq)
    batched_product(dscores.swapaxes(-1, -2), q, out=dk)


@kernel
def attention_by_tiles(
    q: Array, k: Array, v: Array, hidden: Array | None, scale: float, noise: Array | None, y: Array
) -> Array:
    """:func:`attention` in float64, where a query has the same bits among however many others.

    All products are of 8 queries and 64 keys; those of the keys are added up in their order, so
    that what is hidden, and what fills up the last tile, adds zeros.
    """
    N, heads, T, d = q.shape
    S = k.shape[2]
    queries = filled(q, 2, TILE).reshape(N, heads, -1, TILE, d)
    tiles = [slice(s, s + KEYS) for s in range(0, S, KEYS)]
    keys, values = (filled(each, 2, KEYS)[:, :, None] for each in (k, v))
    scores = [scale * xp.matmul(queries, keys[..., s, :].swapaxes(-1, -2)) for s in tiles]
    z = xp.concatenate(scores, axis=-1).reshape(N, heads, -1, len(tiles) * KEYS)[:, :, :T, :S]
    if hidden is not None:
        z = xp.where(hidden, -xp.inf, z)
    top = z.max(axis=-1, keepdims=True)
    e = filled(xp.exp(z - xp.where(xp.isfinite(top), top, 0)), 3, KEYS)
    total = sum(e[..., s].sum(axis=-1, keepdims=True) for s in tiles)
    a = e / xp.where(total == 0, 1, total)
    read = a if noise is None else a * filled(noise, 3, KEYS)
    read = filled(read, 2, TILE).reshape(N, heads, -1, TILE, len(tiles) * KEYS)
    parts = (xp.matmul(read[..., s], values[..., s, :]) for s in tiles)
    y[...] = sum(parts).reshape(N, heads, -1, d)[:, :, :T]
    return a[..., :S]


def _with_room(kept: Array, S: int) -> Array:
    """Copy keys or values (N, heads, room, d), with twice the room where it is below S."""
    return xp.concatenate([kept, xp.zeros_like(kept)], axis=2) if kept.shape[2] < S else kept.copy()


def hidden_by(owner: Layer, mask: Array | None, N: int, T: int, S: int) -> Array | None:
    """Where a mask is False, (N, 1, 1, S) or (N, 1, T, S); None if there is no mask.

    ``owner`` is the layer that a message about a wrong mask names.
    """
    if mask is None:
        return None
    letters, sizes = ("N T S", {"T": T}) if getattr(mask, "ndim", 0) == 3 else ("N S", {})
    expect(type(owner).__name__, "mask", mask, letters, "truth values", N=N, **sizes, S=S)
    return ~(mask[:, None] if mask.ndim == 3 else mask[:, None, None])


class HeadedAttention(Layer):
    """The base of both kinds: from the heads' queries, keys and values to the output.

    Attributes
    ----------
    weights : array (N, heads, T, S) or None
        a of the last forward; None where a block of queries was taken at a time.
    """

    weights: Array | None = None

    def __init__(
        self, Wo: Any, bo: Any, heads: int, scale: float | None, dropout: float, rng: Rng
    ) -> None:
        owner = type(self).__name__
        self.output = Affine(Wo, bo)
        self.D = self.output.M
        check_number(f"{owner}: heads", heads, whole=True, low=1)
        if self.output.D != self.D or self.D % heads or not self.D:
            raise ValueError(
                f"{owner}: Wo should be (D, D) with D a multiple of the number of heads, got "
                f"({self.output.D}, {self.D}) and {heads} heads"
            )
        self.heads, self.d = heads, self.D // heads
        self.scale = 1 / math.sqrt(self.d) if scale is None else scale
        check_number(f"{owner}: scale", self.scale)
        self.dropout = Dropout(dropout, rng) if dropout else None

    def _heads(self, x: Array, heads: int | None = None) -> Any:
        """Split (N, T, n D) into the heads of its n parts, (n, N, heads, T, d), as views."""
        (N, T, width), heads = x.shape, heads or self.heads
        n = width // (heads * self.d)
        return x.reshape(N, T, n, heads, self.d).transpose(2, 0, 3, 1, 4)

    def _attend(
        self, q: Array, k: Array, v: Array, hidden: Array | None, causal: bool = False
    ) -> Array:
        """Compute the output (N, T, D) of queries (N, heads, T, d), and keys and values of S steps.

        Where no backward follows, a block of queries at a time.
        """
        N, heads, T, _ = q.shape
        S = k.shape[2]
        rows = T if keeping() else SCORES_AT_ONCE // max(1, N * heads * S)
        y = xp.empty((N, T, self.D), xp.result_type(q.dtype, v.dtype))
        (read,) = self._heads(y)
        blocks = slices(T, max(1, rows)) or [slice(0, 0)]
        by_tiles = y.dtype.char == "d" and y.size and S
        by_tiles = by_tiles and attention_by_tiles.formula.is_current()
        attend = attention_by_tiles if by_tiles else attention
        for t in blocks:
            unseen = hidden if hidden is None or hidden.shape[2] == 1 else hidden[:, :, t]
            s = slice(min(t.stop, S) if causal else S)
            if causal:
                later = xp.arange(S)[s] > xp.arange(T)[t][:, None]
                unseen = later if unseen is None else unseen[..., s] | later
            noise = None
            if self.dropout is not None:
                noise = self.dropout.mask((N, heads, len(range(T)[t]), len(range(S)[s])), q.dtype)
            seen = q[:, :, t], k[:, :, s], v[:, :, s]
            a = attend(*seen, unseen, self.scale, noise, read[:, :, t])
        self.weights = a if len(blocks) == 1 else None
        self.save_for_backward(q, k, v, a, noise)
        return self.output.forward(y)

    def _attend_backward(self, doutput: Array, *widths: int) -> list[Array]:
        """dq, dk and dv beside each other as q, k and v were.

        That is (N, T, 3D) for ``widths`` of 3, and (N, T, D) and (N, S, 2D) for 1, 2.
        """
        saved = self.saved()
        q, k = saved[:2]
        N, _, T, _ = q.shape
        lengths = {3: T, 1: T, 2: k.shape[2]}
        beside = [xp.empty((N, lengths[n], n * self.D), q.dtype) for n in widths]
        dq, dk, dv = (head for array in beside for head in self._heads(array))
        # output = y Wo + bo
        (dy,) = self._heads(self.output.backward(doutput))
        attention_backward(dy, saved, self.scale, dq, dk, dv)
        return beside

    def _one_query(self, q: Array, k: Array, v: Array, hidden: Array | None) -> Array:
        """Return the output (N, D) of one query (N, heads, 1, d) each."""
        with no_backward():
            return self._attend(q, k, v, hidden)[:, 0]


class MultiHeadAttention(HeadedAttention):
    r"""Attention of each place of a text to all places, by several heads.

    .. math::
        (q, k, v) &= x W + b, \qquad \text{each cut into heads} \\
        a &= \mathrm{softmax}(\mathrm{scale} \cdot q k^T + \text{mask}), \qquad y = a v \\
        \mathrm{output} &= (y_1, \dots, y_{heads}) W_o + b_o

    With fewer heads of keys and values than of queries, ``kv_heads``, each serves a group of
    neighbouring queries, and a state is so much smaller.

    Parameters
    ----------
    W : Parameter, View, or array (D, 3D), or (D, D + 2 kv_heads d)
        What makes queries, keys and values, beside each other.
    b : Parameter or array (3D,) or None
    Wo : Parameter, View, or array (D, D)
    bo : Parameter or array (D,) or None
    heads : int
        It divides D.
    causal : bool
        Whether a place sees itself and what stands before it alone.
    scale : float, optional
        What multiplies the scores; 1 / sqrt(d) by default, for heads of d = D / heads numbers.
    rotary : bool
        Turn queries and keys by their places (:class:`RotaryPositions`).
    dropout : float
        Probability of zeroing a weight while training.
    room : int
        Places that a fresh state has room for; it is doubled when they are taken.
    rng : numpy.random.Generator, optional
    kv_heads : int, optional
        Heads of keys and values, which divide ``heads``; as many by default.

    Notes
    -----
    ``forward(x, mask=None)`` takes (N, T, D) and a mask (N, T), or (N, T, T) by query and key,
    True where a place may be looked at; it gives (N, T, D) and saves x, q, k, v and the weights. A
    query that may look nowhere reads zeros. Where no backward follows, scores are held for a block
    of queries at a time. The state of a step are the keys and values so far, each
    (N, kv_heads, room, d), how many of them the state has in use, (N,), and how many are written,
    (N,), since states that follow from each other share their memory. Vaswani et al. 2017, eq. 1
    and section 3.2.2; Ainslie et al. 2023 (grouped queries).

    Raises
    ------
    ValueError
        If the shapes do not fit, D is no multiple of the heads, or these not of ``kv_heads``.

    Examples
    --------
    >>> attention = MultiHeadAttention.init(D=4, heads=2, causal=True)
    >>> attention.forward(xp.ones((1, 3, 4), "float32")).shape
    (1, 3, 4)
    >>> attention.weights[0, 0].round(2)
    array([[1.  , 0.  , 0.  ],
           [0.5 , 0.5 , 0.  ],
           [0.33, 0.33, 0.33]], dtype=float32)
    """

    axes = "N T D"

    def __init__(
        self,
        W: Any,
        b: Any,
        Wo: Any,
        bo: Any,
        heads: int,
        causal: bool = False,
        scale: float | None = None,
        rotary: bool = False,
        dropout: float = 0.0,
        room: int = 64,
        rng: Rng = None,
        kv_heads: int | None = None,
    ) -> None:
        self.qkv = Affine(W, b)
        super().__init__(Wo, bo, heads, scale, dropout, rng)
        self.kv_heads = heads if kv_heads is None else kv_heads
        check_number("MultiHeadAttention: kv_heads", self.kv_heads, whole=True, low=1)
        if heads % self.kv_heads:
            raise ValueError(
                f"MultiHeadAttention: kv_heads should divide the {heads} heads, got {kv_heads}"
            )
        self.group = heads // self.kv_heads  # queries of a key
        width = self.D + 2 * self.kv_heads * self.d
        if self.qkv.W.shape != (self.D, width):
            letters = "(D, 3D)" if self.group == 1 else "(D, D + 2 kv_heads d)"
            expected = f"{letters} = {(self.D, width)}"
            raise ValueError(
                f"MultiHeadAttention: W should have shape {expected}, got {self.qkv.W.shape}"
            )
        self.causal, self.room = causal, room
        self.rotary = RotaryPositions(self.d) if rotary else None

    @classmethod
    def init(
        cls,
        D: int,
        heads: int,
        rng: Rng = None,
        dtype: Any = "float32",
        bias: bool = True,
        **options: Any,
    ) -> Self:
        """Draw fresh weights: matrices from U(-1/sqrt(D), 1/sqrt(D)), biases zero.

        Parameters
        ----------
        D, heads : int
        rng : numpy.random.Generator, optional
        dtype : data-type
        bias : bool
            Whether there are b and bo.
        **options
            Other arguments of the constructor.
        """
        check_number(f"{cls.__name__}: D", D, whole=True, low=1)
        width = D + 2 * D * (options.get("kv_heads") or heads) // max(1, heads)
        qkv, output = (Affine.init(D, M, rng, dtype, bias) for M in (width, D))
        return cls(qkv.W, qkv.b, output.W, output.b, heads, rng=rng, **options)

    def forward(self, x: Array, mask: Array | None = None) -> Array:
        """Return the output (N, T, D) of self-attention."""
        N, T, _ = x.shape
        q, k, v = self._parts(self.qkv.forward(x))
        if self.rotary is not None:
            places = xp.arange(T)
            q, k = self.rotary.at(q, places), self.rotary.at(k, places)
        k, v = self._served(k), self._served(v)
        return self._attend(q, k, v, hidden_by(self, mask, N, T, T), self.causal)

    def _parts(self, x: Array) -> list[Array]:
        """q (N, heads, T, d), k and v (N, kv_heads, T, d), views."""
        return [*self._heads(x[..., : self.D]), *self._heads(x[..., self.D :], self.kv_heads)]

    def _served(self, k: Array) -> Array:
        """Keys or values, each as often as there are queries in its group: (N, heads, S, d)."""
        return k if self.group == 1 else xp.repeat(k, self.group, axis=1)

    def backward(self, doutput: Array) -> Array:
        """dx: through the output, the average, the softmax and the scores to q, k and v."""
        (dqkv,) = self._attend_backward(doutput, 3)
        if self.rotary is not None:  # turned by t steps: turned back
            for turned in self._heads(dqkv)[:2]:
                turned[...] = self.rotary.at(turned, -xp.arange(turned.shape[2]))
        if self.group > 1:  # a key served all queries of its group
            N, T, _ = dqkv.shape
            dkv = dqkv[..., self.D :].reshape(N, T, 2, self.kv_heads, self.group, self.d)
            dkv = dkv.sum(axis=4).reshape(N, T, 2 * self.kv_heads * self.d)
            dqkv = xp.concatenate([dqkv[..., : self.D], dkv], axis=2)
        # q, k, v = x W + b
        return self.qkv.backward(dqkv)

    def start(self, N: int) -> tuple[Array, ...]:
        """Room for keys and values (N, kv_heads, room, d), none of them in use or written."""
        shape = (N, self.kv_heads, self.room, self.d)
        dtype = self.qkv.W.dtype
        counts = (xp.zeros(N, dtype="int64") for _ in range(2))
        return xp.zeros(shape, dtype), xp.zeros(shape, dtype), *counts

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """Return the output (N, D) at the next place, which sees itself and those before."""
        self._expect("x", x, "N D", D=self.D)
        if not self.causal:
            raise TypeError(f"{type(self).__name__}: a step sees what came before: causal=True")
        keys, values, t, written = self.start(len(x)) if state is None else state
        first, last = (int(t.min()), int(t.max())) if len(x) else (0, 0)
        with no_backward():
            q, k, v = self._parts(self.qkv.forward(x[:, None]))
        if self.rotary is not None:
            q, k = (self.rotary.at(each, t[:, None, None]) for each in (q, k))
        # Several steps may begin with one state. The first writes behind what the state has in use,
        # where nobody reads; a later one finds the place written, and takes a copy.
        if last >= keys.shape[2] or (written > t).any():
            keys, values = (_with_room(each, last + 1) for each in (keys, values))
            written = t.copy()
        place = (
            (slice(None), slice(None), last)
            if first == last
            else (xp.arange(len(x)), slice(None), t)
        )
        keys[place], values[place] = k[:, :, 0], v[:, :, 0]
        written += 1
        S, hidden = last + 1, None
        if first < last:
            hidden = (xp.arange(S) > t[:, None])[:, None, None]
        seen = self._served(keys[:, :, :S]), self._served(values[:, :, :S])
        y = self._one_query(q, *seen, hidden)
        return y, (keys, values, t + 1, written)


class CrossAttention(HeadedAttention):
    r"""Attention of each place of a text to all places of a memory, by several heads.

    .. math::
        q &= x W + b, \qquad (k, v) = m W_m + b_m, \qquad \text{each cut into heads} \\
        a &= \mathrm{softmax}(\mathrm{scale} \cdot q k^T + \text{mask}), \qquad y = a v \\
        \mathrm{output} &= (y_1, \dots, y_{heads}) W_o + b_o

    Parameters
    ----------
    W : Parameter, View, or array (D, D)
        What makes queries.
    b : Parameter or array (D,) or None
    Wm : Parameter, View, or array (D, 2D)
        What makes keys and values of the memory, beside each other.
    bm : Parameter or array (2D,) or None
    Wo : Parameter, View, or array (D, D)
    bo : Parameter or array (D,) or None
    heads : int
        It divides D.
    scale, dropout, rng
        As for :class:`MultiHeadAttention`.

    Notes
    -----
    ``forward(x, memory, mask=None)`` takes (N, T, D), (N, S, D) and a mask (N, S), or (N, T, S) by
    query and key, True where a place may be looked at; it gives (N, T, D). ``backward(doutput)``
    gives ``(dx, dmemory)``. A step begins with ``begin(memory, mask)``, whose keys and values stay.
    Vaswani et al. 2017, section 3.2.3.

    Raises
    ------
    ValueError
        If the shapes do not fit, or D is no multiple of the heads.

    Examples
    --------
    >>> attention = CrossAttention.init(D=4, heads=2)
    >>> x, memory = xp.ones((1, 3, 4), "float32"), xp.ones((1, 2, 4), "float32")
    >>> attention.forward(x, memory, mask=xp.asarray([[True, False]])).shape
    (1, 3, 4)
    >>> attention.weights[0, 0, 0].tolist()
    [1.0, 0.0]
    """

    axes = "N T D, N S D -> N T D"

    def __init__(
        self,
        W: Any,
        b: Any,
        Wm: Any,
        bm: Any,
        Wo: Any,
        bo: Any,
        heads: int,
        scale: float | None = None,
        dropout: float = 0.0,
        rng: Rng = None,
    ) -> None:
        self.query, self.memory = Affine(W, b), Affine(Wm, bm)
        super().__init__(Wo, bo, heads, scale, dropout, rng)
        shapes, D = (self.query.W.shape, self.memory.W.shape), self.D
        if shapes != ((D, D), (D, 2 * D)):
            raise ValueError(
                "CrossAttention: W and Wm should have shapes (D, D) and (D, 2D) with D = "
                f"{D}, got {shapes[0]} and {shapes[1]}"
            )

    @classmethod
    def init(
        cls,
        D: int,
        heads: int,
        rng: Rng = None,
        dtype: Any = "float32",
        bias: bool = True,
        **options: Any,
    ) -> Self:
        """Draw fresh weights: matrices from U(-1/sqrt(D), 1/sqrt(D)), biases zero.

        Parameters
        ----------
        D, heads : int
        rng : numpy.random.Generator, optional
        dtype : data-type
        bias : bool
        **options
            Other arguments of the constructor.
        """
        check_number(f"{cls.__name__}: D", D, whole=True, low=1)
        query, memory, output = (Affine.init(D, n * D, rng, dtype, bias) for n in (1, 2, 1))
        weights = query.W, query.b, memory.W, memory.b, output.W, output.b
        return cls(*weights, heads, rng=rng, **options)

    def forward(self, x: Array, memory: Array, mask: Array | None = None) -> Array:
        """Return the output (N, T, D) of attention to a memory."""
        hidden = hidden_by(self, mask, len(x), x.shape[1], memory.shape[1])
        (q,) = self._heads(self.query.forward(x))
        k, v = self._heads(self.memory.forward(memory))
        return self._attend(q, k, v, hidden)

    def backward(self, doutput: Array) -> tuple[Array, Array]:
        """dx by way of the queries, and dmemory by way of keys and values."""
        dquery, dmemory = self._attend_backward(doutput, 1, 2)
        # q = x W + b, and k, v = m Wm + bm
        return self.query.backward(dquery), self.memory.backward(dmemory)

    def begin(self, memory: Array, mask: Array | None = None) -> tuple[Array, ...]:
        """Return the state of steps that read a memory: keys, values, and the hidden places."""
        N, S, _ = memory.shape
        hidden = hidden_by(self, mask, N, 1, S)
        with no_backward():
            k, v = self._heads(self.memory.forward(memory))
        return k, v, xp.zeros((N, 1, 1, S), dtype=bool) if hidden is None else hidden

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """Return the output (N, D) of one query for each text; the state stays."""
        self._expect("x", x, "N D", D=self.D)
        k, v, hidden = state
        with no_backward():
            (q,) = self._heads(self.query.forward(x[:, None]))
        return self._one_query(q, k, v, hidden), state
