"""GPT: a language model of Transformer blocks, in the form of GPT-2 or a modern one."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from deepnlp.backend import Array, Rng, xp
from deepnlp.backend.initialisers import normal
from deepnlp.backend.threads import later, one_blas_thread
from deepnlp.layer import Sequential, map_state, with_rows
from deepnlp.layers import AffineSoftmaxWithLoss, Dropout, Embedding, TransformerBlock
from deepnlp.layers.positions import PositionalEmbedding, SinusoidalPositions
from deepnlp.layers.transformer import ACTIVATIONS, NORMS, ORDERS
from deepnlp.models import options
from deepnlp.models.language_model import LayeredModel
from deepnlp.models.parts import Scale, draw_by_depth
from deepnlp.options import Option
from deepnlp.parameter import Parameter

POSITIONS = ("learned", "sinusoidal", "rotary")


Activation = Annotated[str, Option(choices=tuple(ACTIVATIONS))]
Norms = Annotated[str, Option(choices=tuple(NORMS))]
Order = Annotated[str, Option(choices=ORDERS)]
Positions = Annotated[str, Option(choices=POSITIONS)]


class GPT(LayeredModel):
    r"""Transformer language model.

    .. math::
        x_t &= E_{w_t} + P_t \\
        h &= \mathrm{norm}(\mathrm{block}_L(\dots \mathrm{block}_1(x))) \qquad \text{(causal)} \\
        P(w_{t+1} \mid w_1 \dots w_t) &= \mathrm{softmax}(h_t E^T)

    The output weight is the embedding, transposed. The defaults are the form of GPT-2 (Radford et
    al. 2019); ``norms="rms", positions="rotary", activation="swiglu", bias=False`` is that of
    LLaMA (Touvron et al. 2023).

    Parameters
    ----------
    vocab_size : int
        V, the number of words.
    embed_size : int
        D, size of a word vector.
    layers : int
        Number of blocks.
    dropout : float
        Probability of zeroing a number after the embedding, of the weights of attention, and after
        each part of a block.
    heads : int
        Heads of the attention; they divide D.
    kv_heads : int, optional
        Heads of keys and values, each of which serves a group of queries; as many by default.
    context : int
        Most words that the model reads at a time.
    feed_size : int, optional
        M, size inside the feed-forward networks; by default 4 D, with swiglu 8 D / 3, so that there
        are as many weights.
    activation : {"gelu", "gelu_tanh", "relu", "silu", "swiglu"}
        Function inside the feed-forward networks.
    positions : {"learned", "sinusoidal", "rotary"}
        How the model knows the order of words. Beside sines, which are of size 1, the embedding is
        multiplied by sqrt(D) (Vaswani et al. 2017, section 3.4).
    norms : {"layer", "rms"}
        Kind of the norms.
    norm : {"pre", "post"}
        Norms before each part of a block, or after its sum. With ``"post"`` there is none before
        the output.
    bias : bool
        Whether affine maps and norms have biases.
    dtype : data-type
        Number type of the weights.
    rng : numpy.random.Generator, optional

    Notes
    -----
    ``forward(ids, targets)`` takes integers (N, T), T at most ``context``, and gives the mean
    cross-entropy in nats, a 0-d array; ``backward()`` accumulates all gradients; ``logits(ids)``
    gives scores (N, T, V). Nothing is carried from call to call. Weights start at N(0, 0.02^2);
    the last matrix of each part of a block, which adds to the road that passes it by, at
    1 / sqrt(2 layers) of that. The state of a step keeps keys and values; when it holds
    ``context`` words, the last half of them is read again. In float64 a step has the bits of
    ``logits``, since all products of a forward are of tiles of one shape; in float32 they differ by
    rounding, since BLAS adds up one row in another order than many.

    Raises
    ------
    ValueError
        If an option is out of its range, or sizes do not fit each other.

    Examples
    --------
    >>> model = GPT(vocab_size=10, embed_size=8, layers=2, heads=2, context=16)
    >>> ids = xp.asarray([[1, 2, 3]])
    >>> loss = model.forward(ids, ids)
    >>> model.zero_grad()
    >>> model.backward()
    >>> model.size()    # 10 x 8, 16 x 8, blocks of 12 x 8^2 + 13 x 8, a norm of 16
    1968
    """

    def __init__(
        self,
        vocab_size: int,
        embed_size: options.Size,
        layers: options.Layers = 4,
        dropout: options.Probability = 0.0,
        *,
        heads: options.Size = 4,
        kv_heads: options.SizeOrNone = None,
        context: options.Size = 256,
        feed_size: options.SizeOrNone = None,
        activation: Activation = "gelu",
        positions: Positions = "learned",
        norms: Norms = "layer",
        norm: Order = "pre",
        bias: options.Switch = True,
        dtype: options.DType = "float32",
        rng: Rng = None,
    ) -> None:
        self._remember(GPT, **locals())
        V, D, self.context = self.vocab_size, embed_size, context
        M = feed_size or (8 * D // 3 if activation == "swiglu" else 4 * D)
        E = Parameter(normal((V, D), 0.02, rng, dtype), "E")
        self.layers = [Embedding(E)]
        if positions == "learned":
            self.layers.append(PositionalEmbedding.init(context, D, rng, dtype))
        elif positions == "sinusoidal":
            self.layers += [Scale(D**0.5), SinusoidalPositions(D)]
        if dropout:
            self.layers.append(Dropout(dropout, rng))
        kinds: Any = {"norm": norm, "norms": norms, "bias": bias, "rng": rng, "dtype": dtype}
        of_attention: Any = {"rotary": positions == "rotary", "causal": True}
        of_attention["kv_heads"] = kv_heads
        blocks = [
            TransformerBlock.init(D, heads, M, activation, dropout=dropout, **kinds, **of_attention)
            for _ in range(layers)
        ]
        self.layers += blocks
        if norm == "pre":
            self.layers.append(NORMS[norms](D, bias=bias, dtype=dtype))
        self.output = AffineSoftmaxWithLoss(E.T)
        draw_by_depth(blocks, rng)

    def forward(self, ids: Array, targets: Array) -> Array:
        """Compute the mean cross-entropy of the next words from ids (N, T) and targets (N, T)."""
        with one_blas_thread():
            return self.output.forward(self._features(ids), targets)

    def backward(self, dloss: Any = 1) -> None:
        """Go back through the output and every layer, last to first."""
        with one_blas_thread():
            dh = self.output.backward(dloss)
            with later():  # the gradients of weights, while that of x goes down
                Sequential(*self.layers).backward(dh)

    def start(self, N: int) -> Any:
        """Return the state of N texts of which nothing has been read.

        Returns
        -------
        tuple
            The last words read (N, context) and how many there are (N,), which say what is read
            again when the context is full; and the state of every layer.
        """
        places, count = xp.zeros((N, self.context), dtype="int64"), xp.zeros(N, dtype="int64")
        return places, count, Sequential(*self.layers).start(N)

    def step(self, ids: Array, state: Any = None) -> tuple[Array, Any]:
        """Return scores of the next words (N, V) and the new state, from the ids (N,) of a step."""
        read, count, state = self._with_room(self.start(len(ids)) if state is None else state)
        read = read.copy()
        read[xp.arange(len(ids)), count] = ids
        with one_blas_thread():
            h, state = Sequential(*self.layers).step(ids, state)
            return self.output.scores(h), (read, count + 1, state)

    def _with_room(self, state: Any) -> Any:
        """Return a state with room: of a full context, the last half is read again."""
        read, count, _ = state
        full = xp.flatnonzero(count == self.context)
        if not len(full):
            return state
        half = self.start(len(full))
        for t in range(self.context - self.context // 2, self.context):
            _, half = self.step(read[full, t], half)

        return map_state(partial(with_rows, full), state, half)

    def _features(self, ids: Array) -> Array:
        if ids.ndim == 2 and ids.shape[1] > self.context:
            raise ValueError(
                f"GPT: the model reads {self.context} words at a time, got {ids.shape[1]}"
            )
        return super()._features(ids)

    def numbers_for_backward(self) -> int:
        """Estimate how many numbers the blocks save for backward, per token."""
        given = self.config()
        D, M = given["embed_size"], given["feed_size"] or 4 * given["embed_size"]
        return int(given["layers"] * (14 * D + 4 * M + 3 * given["heads"] * self.context))
