r"""How is a deep network made of attention, so that its gradient neither dies nor blows up?

Every part f, attention or feed-forward, stands beside a road that passes it by::

    y = x + f(norm(x))                  "pre": the road from input to output is a plain sum
    y = norm(x + f(x))                  "post": as in the first Transformer

With ``"pre"`` the gradient with respect to x is dy, unchanged, plus what comes through f. So it
reaches the lowest block however many there are above, and training needs no careful warm-up.

:class:`FeedForward` is the part that works on each place alone, :class:`Residual` the road around
a part, :class:`TransformerBlock` attention and feed-forward with a road each, and
:class:`TransformerDecoderBlock` has a third between them, which reads a memory.
"""

from typing import Any, Self

from deepnlp.backend import Array, Rng
from deepnlp.layer import Layer, Sequential, check_layers
from deepnlp.layers.activations import GELU, ReLU, SiLU, SwiGLU
from deepnlp.layers.dense import Affine
from deepnlp.layers.dropout import Dropout
from deepnlp.layers.multihead import CrossAttention, MultiHeadAttention, hidden_by
from deepnlp.layers.norm import LayerNorm, RMSNorm

ACTIVATIONS: dict[str, Any] = {
    "gelu": GELU,
    "gelu_tanh": lambda: GELU("tanh"),
    "relu": ReLU,
    "silu": SiLU,
    "swiglu": SwiGLU,
}
NORMS: dict[str, Any] = {
    "layer": LayerNorm.init,
    "rms": lambda D, bias, dtype: RMSNorm.init(D, dtype),  # noqa: ARG005 (it never has a bias)
}
ORDERS = ("pre", "post")


def _one_of(owner: str, name: str, value: str, choices: Any) -> None:
    if value not in choices:
        names = ", ".join(map(repr, choices))
        raise ValueError(f"{owner}: {name} should be one of {names}, got {value!r}")


class FeedForward(Sequential):
    r"""Two affine maps with a function of every entry between them, for each place alone.

    .. math:: y = f(x W_1 + b_1) W_2 + b_2

    Parameters
    ----------
    W1 : Parameter, View, or array (D, M)
        For ``"swiglu"`` (D, 2M): both matrices beside each other.
    b1 : Parameter or array (M,) or None
    W2 : Parameter, View, or array (M, D)
    b2 : Parameter or array (D,) or None
    activation : {"gelu", "gelu_tanh", "relu", "silu", "swiglu"}
        f; with ``"swiglu"`` it is :class:`SwiGLU`.

    Notes
    -----
    ``forward(x)`` takes (..., D) and gives (..., D). It is a :class:`Sequential` of
    :class:`Affine`, f and :class:`Affine`, whose backward it has. Vaswani et al. 2017, eq. 2, with
    the rectifier.

    Raises
    ------
    ValueError
        If the activation is unknown or the shapes do not fit.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> FeedForward.init(D=4, M=16).forward(xp.ones((2, 3, 4), "float32")).shape
    (2, 3, 4)
    """

    axes = "... D"

    def __init__(self, W1: Any, b1: Any, W2: Any, b2: Any, activation: str = "gelu") -> None:
        _one_of("FeedForward", "activation", activation, ACTIVATIONS)
        first, second = Affine(W1, b1), Affine(W2, b2)
        self.D = first.D
        wide = 2 * second.D if activation == "swiglu" else second.D
        if (wide, self.D) != (first.M, second.M):
            raise ValueError(
                f"FeedForward: W1 {first.W.shape} and W2 {second.W.shape} should be (D, M) and "
                "(M, D), or for 'swiglu' (D, 2M) and (M, D)"
            )
        super().__init__(first, ACTIVATIONS[activation](), second)

    def forward(self, x: Array) -> Array:
        """y = f(x W1 + b1) W2 + b2."""
        self.save_for_backward()
        y: Array = super().forward(x)
        return y

    def backward(self, dy: Array) -> Array:
        """dx: back through the second map, f and the first map."""
        self.saved()
        dx: Array = super().backward(dy)
        return dx

    @classmethod
    def init(
        cls,
        D: int,
        M: int,
        activation: str = "gelu",
        rng: Rng = None,
        dtype: Any = "float32",
        bias: bool = True,
    ) -> Self:
        """Draw fresh weights: matrices from U(-1/sqrt(n), 1/sqrt(n)), n the fan-in, biases zero.

        Parameters
        ----------
        D, M : int
            Sizes outside and inside.
        activation : str
        rng : numpy.random.Generator, optional
        dtype : data-type
        bias : bool
        """
        sizes = (D, 2 * M if activation == "swiglu" else M), (M, D)
        first, second = (Affine.init(*size, rng, dtype, bias) for size in sizes)
        return cls(first.W, first.b, second.W, second.b, activation)


class Residual(Layer):
    r"""A layer with a road that passes it by, and a norm before the layer or after the sum.

    .. math::
        y = x + \mathrm{dropout}(f(\mathrm{norm}(x))) \quad\text{(pre)}, \qquad
        y = \mathrm{norm}(x + \mathrm{dropout}(f(x))) \quad\text{(post)}

    Parameters
    ----------
    layer : Layer
        f; its first input and its output have one shape.
    norm : Layer
    order : {"pre", "post"}
    dropout : float
        Probability of zeroing an entry of what f gives, while training.
    rng : numpy.random.Generator, optional

    Notes
    -----
    ``forward(x, *others)`` takes (..., D) and what f takes beside it, and gives (..., D). The
    gradient of x is the sum of two, that of the road and that of f; a gradient of the first of the
    others, if f gives one, stands after it. He et al. 2016; Xiong et al. 2020, table 1.

    Raises
    ------
    ValueError
        If the order is neither.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> block = Residual(FeedForward.init(4, 8), LayerNorm.init(4))
    >>> block.forward(xp.ones((2, 4), "float32")).shape
    (2, 4)
    """

    axes = "... D"

    def __init__(
        self, layer: Layer, norm: Layer, order: str = "pre", dropout: float = 0.0, rng: Rng = None
    ) -> None:
        check_layers("Residual", layer=layer, norm=norm)
        _one_of("Residual", "order", order, ORDERS)
        self.norm, self.layer, self.order = norm, layer, order
        if hasattr(norm, "D"):
            self.D = norm.D
        self.dropout = Dropout(dropout, rng) if dropout else None

    def forward(self, x: Array, *others: Any) -> Array:
        """y = x + f(norm(x)), or norm(x + f(x))."""
        self.save_for_backward()
        f = self.layer.forward(self.norm.forward(x) if self.order == "pre" else x, *others)
        if self.dropout is not None:
            f = self.dropout.forward(f)
        y: Array = x + f if self.order == "pre" else self.norm.forward(x + f)
        return y

    def backward(self, dy: Array) -> Any:
        """dx = what comes by the road + what comes through f; and dothers, where f gives them."""
        self.saved()
        # post: y = norm(sum)
        dsum = dy if self.order == "pre" else self.norm.backward(dy)
        # sum = x + dropout(f(...)): both get its gradient
        df = dsum if self.dropout is None else self.dropout.backward(dsum)
        given = self.layer.backward(df)
        dx, *dothers = given if isinstance(given, tuple) else (given,)
        if self.order == "pre":
            dx = self.norm.backward(dx)
        dx = dsum + dx
        return (dx, *dothers) if dothers else dx

    def start(self, N: int) -> Any:
        """Return the state of f."""
        return self.layer.start(N)

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """Compute one step of f, with the road."""
        y, state = self.layer.step(self.norm.step(x)[0] if self.order == "pre" else x, state)
        if self.dropout is not None:
            y, _ = self.dropout.step(y)
        return (x + y if self.order == "pre" else self.norm.step(x + y)[0]), state


class TransformerBlock(Layer):
    r"""Attention and a feed-forward network, each with a norm and a road that passes it by.

    .. math::
        u &= x + \mathrm{attention}(\mathrm{norm}_1(x)) \\
        y &= u + \mathrm{feedforward}(\mathrm{norm}_2(u))

    which is ``norm="pre"``; with ``"post"`` each norm is taken of the sum.

    Parameters
    ----------
    attention : MultiHeadAttention
    feed_forward : Layer
    norm1, norm2 : Layer
        :class:`LayerNorm` or :class:`RMSNorm`, for attention and feed-forward.
    norm : {"pre", "post"}
    dropout : float
        Probability of zeroing an entry of what either gives, while training.
    rng : numpy.random.Generator, optional

    Notes
    -----
    ``forward(x, mask=None)`` takes (N, T, D) and a mask for the attention, and gives (N, T, D).
    Vaswani et al. 2017, section 3.1 (post); Radford et al. 2019, section 2.3 (pre).

    Raises
    ------
    ValueError
        If the shapes do not fit, or norm is neither.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> block = TransformerBlock.init(D=8, heads=2, causal=True)
    >>> block.forward(xp.ones((2, 3, 8), "float32")).shape
    (2, 3, 8)
    """

    axes = "N T D"
    attentions: tuple[Any, ...] = (MultiHeadAttention,)

    def __init__(
        self,
        attention: Layer,
        feed_forward: Layer,
        norm1: Layer,
        norm2: Layer,
        norm: str = "pre",
        dropout: float = 0.0,
        rng: Rng = None,
    ) -> None:
        self.attention = Residual(attention, norm1, norm, dropout, rng)
        self.feed_forward = Residual(feed_forward, norm2, norm, dropout, rng)

    @classmethod
    def init(
        cls,
        D: int,
        heads: int,
        M: int | None = None,
        activation: str = "gelu",
        norm: str = "pre",
        norms: str = "layer",
        bias: bool = True,
        dropout: float = 0.0,
        rng: Rng = None,
        dtype: Any = "float32",
        **options: Any,
    ) -> Self:
        """Draw fresh weights, as the parts draw them.

        Parameters
        ----------
        D, heads : int
        M : int, optional
            Size inside the feed-forward network; 4 D by default.
        activation : str
            Of the feed-forward network.
        norm : {"pre", "post"}
        norms : {"layer", "rms"}
            Kind of the norms.
        bias : bool
            Whether affine maps and norms have biases.
        dropout : float
            After attention and feed-forward, and of the weights of attention.
        rng : numpy.random.Generator, optional
        dtype : data-type
        **options
            ``causal``, ``rotary``, ``scale`` and ``room`` of :class:`MultiHeadAttention`.
        """
        _one_of(cls.__name__, "norms", norms, NORMS)
        sizes: Any = D, heads, rng, dtype, bias
        attentions = [
            cls.attentions[0].init(*sizes, dropout=dropout, **options),
            *(kind.init(*sizes, dropout=dropout) for kind in cls.attentions[1:]),
        ]
        parts = [*attentions, FeedForward.init(D, M or 4 * D, activation, rng, dtype, bias)]
        fresh_norms = [NORMS[norms](D, bias=bias, dtype=dtype) for _ in parts]
        make: Any = cls
        layer: Self = make(*parts, *fresh_norms, norm, dropout, rng)
        return layer

    def forward(self, x: Array, mask: Array | None = None) -> Array:
        """Attention, then the feed-forward network."""
        hidden_by(self, mask, len(x), x.shape[1], x.shape[1])
        self.save_for_backward()
        return self.feed_forward.forward(self.attention.forward(x, mask))

    def backward(self, dy: Array) -> Array:
        """Go back through both."""
        self.saved()
        dx: Array = self.attention.backward(self.feed_forward.backward(dy))
        return dx

    def start(self, N: int) -> Any:
        """Return the state of the attention."""
        return self.attention.start(N)

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """Compute one step of attention, then the feed-forward network."""
        u, state = self.attention.step(x, state)
        return self.feed_forward.step(u)[0], state


class TransformerDecoderBlock(TransformerBlock):
    r"""A block that also reads a memory: self-attention, cross-attention, feed-forward network.

    .. math::
        u &= x + \mathrm{attention}(\mathrm{norm}_1(x)) \\
        v &= u + \mathrm{cross}(\mathrm{norm}_2(u), m) \\
        y &= v + \mathrm{feedforward}(\mathrm{norm}_3(v))

    which is ``norm="pre"``; with ``"post"`` each norm is taken of the sum.

    Parameters
    ----------
    attention : MultiHeadAttention
        Causal, where the block writes a text.
    cross : CrossAttention
    feed_forward : Layer
    norm1, norm2, norm3 : Layer
    norm, dropout, rng
        As for :class:`TransformerBlock`.

    Notes
    -----
    ``forward(x, memory, mask=None)`` takes (N, T, D), (N, S, D) and a mask (N, S), True where the
    memory may be read, and gives (N, T, D). ``backward(dy)`` gives ``(dx, dmemory)``. Steps begin
    with ``begin(memory, mask)``. Vaswani et al. 2017, section 3.1.

    Raises
    ------
    ValueError
        If the shapes do not fit, or norm is neither.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> block = TransformerDecoderBlock.init(D=8, heads=2, causal=True)
    >>> block.forward(xp.ones((2, 3, 8), "float32"), xp.ones((2, 5, 8), "float32")).shape
    (2, 3, 8)
    """

    axes = "N T D, N S D -> N T D"
    attentions = (MultiHeadAttention, CrossAttention)

    def __init__(
        self,
        attention: Layer,
        cross: Layer,
        feed_forward: Layer,
        norm1: Layer,
        norm2: Layer,
        norm3: Layer,
        norm: str = "pre",
        dropout: float = 0.0,
        rng: Rng = None,
    ) -> None:
        self.attention = Residual(attention, norm1, norm, dropout, rng)
        self.cross = Residual(cross, norm2, norm, dropout, rng)
        self.feed_forward = Residual(feed_forward, norm3, norm, dropout, rng)

    def forward(self, x: Array, memory: Array, mask: Array | None = None) -> Array:  # type: ignore[override]
        """Self-attention, attention to the memory, then the feed-forward network."""
        hidden_by(self, mask, len(x), x.shape[1], memory.shape[1])
        self.save_for_backward()
        u = self.attention.forward(x)
        return self.feed_forward.forward(self.cross.forward(u, memory, mask))

    def backward(self, dy: Array) -> Any:
        """Go back through all three; the memory was read by the cross-attention alone."""
        self.saved()
        du, dmemory = self.cross.backward(self.feed_forward.backward(dy))
        return self.attention.backward(du), dmemory

    def begin(self, memory: Array, mask: Array | None = None) -> Any:
        """Return the state of steps that read a memory."""
        cross: Any = self.cross.layer
        return self.attention.start(len(memory)), cross.begin(memory, mask)

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """Compute one step, from the state that :meth:`begin` or the step before gave."""
        past, memory = state
        u, past = self.attention.step(x, past)
        v, memory = self.cross.step(u, memory)
        return self.feed_forward.step(v)[0], (past, memory)
