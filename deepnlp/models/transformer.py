"""The encoder-decoder Transformer: blocks that read a text, blocks that write another."""

import math
from typing import Annotated, Any

from deepnlp.backend import Array, Rng
from deepnlp.backend.initialisers import normal
from deepnlp.layer import Layer, Sequential, no_backward
from deepnlp.layers import AffineSoftmaxWithLoss, Dropout, Embedding, TransformerBlock
from deepnlp.layers.lengths import past_end
from deepnlp.layers.positions import SinusoidalPositions
from deepnlp.layers.transformer import ACTIVATIONS, NORMS, ORDERS, TransformerDecoderBlock
from deepnlp.models import options
from deepnlp.models.parts import Scale, draw_by_depth
from deepnlp.models.seq2seq import EncoderDecoder, broken_ties
from deepnlp.options import Option
from deepnlp.parameter import Parameter


class TransformerTranslator(EncoderDecoder):
    r"""Encoder and decoder of Transformer blocks.

    .. math::
        m &= \mathrm{encoder}(\sqrt D E_{x_s} + P_s), \qquad s = 1, \dots, S \\
        h &= \mathrm{decoder}(\sqrt D F_{y_{t-1}} + P_t, m) \qquad \text{(causal)} \\
        P(y_t \mid y_1 \dots y_{t-1}, x) &= \mathrm{softmax}(h_t W + b)

    P are sines (:class:`~deepnlp.layers.SinusoidalPositions`).

    Parameters
    ----------
    source_vocab_size, target_vocab_size : int
        Words of both vocabularies.
    embed_size : int
        D, size of a word vector and of what is between blocks.
    layers : int
        Number of blocks, of the encoder and of the decoder.
    heads : int
        Heads of each attention; they divide D.
    feed_size : int, optional
        M, size inside the feed-forward networks; 4 D by default.
    activation : {"gelu", "gelu_tanh", "relu", "silu", "swiglu"}
        Function inside the feed-forward networks.
    norms : {"layer", "rms"}
        Kind of the norms.
    norm : {"pre", "post"}
        Norms before each part of a block, or after its sum.
    bias : bool
        Whether affine maps and norms have biases.
    dropout : float
        Probability of zeroing a number after the embeddings, of the weights of attention, and after
        each part of a block.
    tie : {"none", "output", "all"}
        Output: the output weight is the target embedding, transposed; all: the source's too.
    shared_ids : sequence of int, optional
        As for :class:`~deepnlp.models.Seq2Seq`.
    dtype : data-type
        Number type of the weights.
    rng : numpy.random.Generator, optional

    Attributes
    ----------
    attention_weights : array or None
        Mean over the heads of the last block, (N, T, S) after a forward, (N, S) after a step.

    Notes
    -----
    ``forward(source, lengths, inputs, targets)``, ``start(source, lengths)`` and ``step(ids,
    state)`` are those of :class:`~deepnlp.models.Seq2Seq`. Embeddings start at N(0, 1 / D), other
    matrices at N(0, 0.02^2), the last of each part of a block, which adds to the road that passes
    it by, at 1 / sqrt(number of parts) of that. Vaswani et al. 2017.

    Raises
    ------
    ValueError
        If an option is out of its range, or options do not fit each other.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> model = TransformerTranslator(10, 8, embed_size=8, layers=1, heads=2)
    >>> source, inputs = xp.asarray([[1, 2, 3], [4, 5, 0]]), xp.asarray([[0, 1], [0, 3]])
    >>> loss = model.forward(source, [3, 2], inputs, targets=xp.asarray([[1, 7], [3, -1]]))
    >>> model.backward()
    >>> model.attention_weights.shape
    (2, 2, 3)
    >>> scores, state = model.step(xp.asarray([0, 0]), model.start(source, [3, 2]))
    >>> scores.shape
    (2, 8)
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        embed_size: options.Size,
        layers: options.Layers = 3,
        dropout: options.Probability = 0.0,
        tie: Annotated[str, Option(choices=("none", "output", "all"))] = "output",
        *,
        heads: Annotated[int, Option(low=1)] = 4,
        feed_size: Annotated[int | None, Option(low=1)] = None,
        activation: Annotated[str, Option(choices=tuple(ACTIVATIONS))] = "relu",
        norms: Annotated[str, Option(choices=tuple(NORMS))] = "layer",
        norm: Annotated[str, Option(choices=ORDERS)] = "pre",
        bias: options.Switch = True,
        shared_ids: options.Ids = None,
        dtype: options.DType = "float32",
        rng: Rng = None,
    ) -> None:
        self._remember(TransformerTranslator, **locals())
        D, V = embed_size, target_vocab_size
        options.refuse("TransformerTranslator", broken_ties(self._config))

        def embedded(table: Any) -> Sequential:
            noise = [Dropout(dropout, rng)] if dropout else []
            return Sequential(Embedding(table), Scale(math.sqrt(D)), SinusoidalPositions(D), *noise)

        def blocks(kind: Any, **others: Any) -> list[Any]:
            sizes: Any = D, heads, feed_size, activation, norm, norms, bias, dropout, rng, dtype
            return [kind.init(*sizes, **others) for _ in range(layers)]

        def last() -> list[Layer]:
            return [NORMS[norms](D, bias=bias, dtype=dtype)] if norm == "pre" else []

        E, F = self._embeddings(tie, lambda V: normal((V, D), 1 / math.sqrt(D), rng, dtype))
        self.source, self.encoder = embedded(E), blocks(TransformerBlock)
        self.target, self.decoder = embedded(F), blocks(TransformerDecoderBlock, causal=True)
        self.source_norm, self.target_norm = Sequential(*last()), Sequential(*last())
        W = F.T if tie != "none" else Parameter(normal((D, V), 0.02, rng, dtype), "W")
        self.output = AffineSoftmaxWithLoss(W, Parameter.zeros(V, dtype=dtype, name="b"))
        draw_by_depth(self.encoder, rng)
        draw_by_depth(self.decoder, rng)

    def backward(self, dloss: Any = 1) -> None:
        """Go back through the decoder, whose blocks all read the memory, and the encoder."""
        dy = self.target_norm.backward(self.output.backward(dloss))
        dmemory: Any = 0
        for block in reversed(self.decoder):
            dy, dread = block.backward(dy)
            dmemory = dmemory + dread
        self.target.backward(dy)
        dx = self.source_norm.backward(dmemory)
        for block in reversed(self.encoder):
            dx = block.backward(dx)
        self.source.backward(dx)

    def start(self, source: Any, lengths: Any = None) -> Any:
        """Return the state from which :meth:`step` writes, after reading N sources.

        Parameters
        ----------
        source : array of int (N, S)
        lengths : sequence of int (N,), optional

        Returns
        -------
        nested tuples and lists of arrays with N rows
            :func:`~deepnlp.layer.map_state` reorders, repeats or selects rows.
        """
        with no_backward():
            memory, mask = self._encode(source, lengths)
            begun = [block.begin(memory, mask) for block in self.decoder]
        return self.target.start(len(source)), begun

    def step(self, ids: Array, state: Any = None) -> tuple[Array, Any]:
        """Return scores (N, V) of the words after the ids (N,), and the new state."""
        places, states = state
        y, places = self.target.step(ids, places)
        after = []
        for block, past in zip(self.decoder, states):
            y, past = block.step(y, past)
            after.append(past)
        y, _ = self.target_norm.step(y)
        self.attention_weights = self._read()[:, 0]
        return self.output.scores(y), (places, after)

    def _encode(self, source: Array, lengths: Any) -> tuple[Array, Array | None]:
        """Return the memory (N, S, D), and where it is no padding (N, S)."""
        self._expect("source", source, "N S")
        mask = None
        if lengths is not None:
            mask = ~past_end(type(self).__name__, lengths, *source.shape)
        x = self.source.forward(source)
        for block in self.encoder:
            x = block.forward(x, mask)
        return self.source_norm.forward(x), mask

    def _features(self, source: Array, lengths: Any, inputs: Array) -> Array:
        """Compute the input of the output layer, (N, T, D)."""
        memory, mask = self._encode(source, lengths)
        self._expect("inputs", inputs, "N T", N=len(source))
        y = self.target.forward(inputs)
        for block in self.decoder:
            y = block.forward(y, memory, mask)
        self.attention_weights = self._read()
        return self.target_norm.forward(y)

    def _read(self) -> Any:
        """Return the attention of the last block, on average over its heads."""
        weights = self.decoder[-1].cross.layer.weights
        return None if weights is None else weights.mean(axis=1)

    def numbers_for_backward(self) -> int:
        """Estimate how many numbers the blocks save for backward, per source and target token."""
        given = self.config()
        D, M = given["embed_size"], given["feed_size"] or 4 * given["embed_size"]
        return int(given["layers"] * (34 * D + 8 * M))
