"""Sequence to sequence: an encoder reads a text, a decoder writes another."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from deepnlp.backend import Array, Rng, xp
from deepnlp.backend.initialisers import fan_in_bound, uniform
from deepnlp.layer import Layer, Sequential, no_backward
from deepnlp.layers import AffineSoftmaxWithLoss, Embedding, TimeAffine, TimeDropout
from deepnlp.layers.bahdanau import BahdanauDecoder
from deepnlp.layers.decoders import AttentionDecoder, ContextDecoder
from deepnlp.layers.feeding import InputFeedingDecoder
from deepnlp.layers.lengths import reverse_by_length
from deepnlp.models import options
from deepnlp.models.model import Model
from deepnlp.models.parts import ATTENTIONS, Bridge, attention_of, draw_as_in_the_book, stack_of
from deepnlp.options import Option
from deepnlp.parameter import Parameter, View
from deepnlp.text import Vocabulary
from deepnlp.views import SharedRows


class EncoderDecoder(Model):
    """The base of models that read a source and write a target: all but the layers between.

    A subclass offers ``_features(source, lengths, inputs)``, what its ``output`` is computed from,
    with ``backward``, ``start`` and ``step``.

    Attributes
    ----------
    attention_weights : array or None
        After a forward (N, T, S), after a step (N, S): zero in the padding, rows sum to one.
    source_vocab, target_vocab : Vocabulary or None
        What the ids stand for. A task sets them, a checkpoint keeps them.
    """

    vocab_names = ("source_vocab", "target_vocab")
    source_vocab: Vocabulary | None = None
    target_vocab: Vocabulary | None = None
    source_vocab_size: int
    target_vocab_size: int
    attention_weights: Array | None = None
    output: AffineSoftmaxWithLoss

    def forward(self, source: Array, lengths: Any, inputs: Array, targets: Array) -> Array:
        """Compute the mean cross-entropy of the targets that count: a number."""
        return self.output.forward(self._features(source, lengths, inputs), targets)

    def losses(self, source: Array, lengths: Any, inputs: Array, targets: Array) -> Array:
        """Return the cross-entropy of each target (N, T), zero where ignored, nothing saved."""
        with no_backward():
            return self.output.losses(self._features(source, lengths, inputs), targets)

    def logits(self, source: Array, lengths: Any, inputs: Array) -> Array:
        """Return scores (N, T, V) of the words after each input, nothing saved for a backward."""
        with no_backward():
            return self.output.scores(self._features(source, lengths, inputs))

    def _features(self, source: Array, lengths: Any, inputs: Array) -> Array:
        """Compute the input of the output layer, (N, T, ...)."""
        raise NotImplementedError

    def _embeddings(self, tie: str, draw: Callable[[int], Array]) -> tuple[View, View]:
        """Return the embeddings of source and target; ``draw(V)`` gives V fresh rows."""
        E = Parameter(draw(self.source_vocab_size), "E")
        ids = self._config["shared_ids"]
        if tie == "all" and ids is None:
            return E, E
        apart = self.target_vocab_size if ids is None else sum(id_ < 0 for id_ in ids)
        F = Parameter(draw(apart), "F")
        return E, (F if ids is None else SharedRows(E, ids, F if apart else None))


class Seq2Seq(EncoderDecoder):
    r"""Encoder and decoder, with or without attention.

    .. math::
        h^e_s &= \mathrm{encoder}(E_{x_s}, h^e_{s-1}), \qquad s = 1, \dots, S \\
        h^d_t &= \mathrm{decoder}(F_{y_{t-1}}, h^d_{t-1}), \qquad h^d_0 = h^e_S \\
        P(y_t \mid y_1 \dots y_{t-1}, x) &= \mathrm{softmax}(h^d_t W + b)

    That is ``context="start"`` (Sutskever, Vinyals and Le 2014, eq. 1): all that the decoder knows
    of the source is the state it starts from. With ``context="every"`` (Cho et al. 2014, section
    2.2) the last h of the encoder's last layer enters each step and each output as well:
    :class:`~deepnlp.layers.ContextDecoder`. With attention each step reads the states of all places
    of the source: :class:`~deepnlp.layers.AttentionDecoder`, or with ``input_feeding``
    :class:`~deepnlp.layers.InputFeedingDecoder` (Luong, Pham and Manning 2015), and for
    ``"additive"`` :class:`~deepnlp.layers.BahdanauDecoder` (Bahdanau, Cho and Bengio 2015).

    Parameters
    ----------
    source_vocab_size, target_vocab_size : int
        Words of both vocabularies.
    embed_size : int
        D, size of a word vector.
    hidden_size : int
        H, size of a hidden state.
    layers : int
        Number of recurrent layers, of the encoder and of the decoder.
    cell : {"lstm", "gru", "rnn", "mogrifier"}, a scan's, or a cell of one's own
        Recurrent layer. A key of ``deepnlp.models.options.CELLS``.
    context : {"start", "every"}
        Start: the encoder's state starts the decoder; every: it enters each step too (peeky). With
        attention ``"start"``.
    attention : {"none", "dot", "general", "concat", "additive"}
        Score of attention; additive is the model of Bahdanau et al., the others of Luong et al.
    input_feeding : bool
        Dot, general, concat: what a step attended to enters the next step.
    bidirectional : bool
        The encoder reads from both ends, H units each. A bridge, one tanh layer for each layer
        of the stack, then makes the decoder's first state.
    reverse : bool
        The encoder reads the source from its end (Sutskever et al. 2014). So the first words of
        both texts are near each other (section 3.3). Sources are given, and attention weights come
        back, in their own order.
    dropout : float
        Probability of zeroing a number between layers. Also on both embeddings and before the
        output.
    tie : {"none", "output", "all"}
        Output: the output weight is the target embedding, transposed; all: the source's too. Where
        what goes into the output is not D wide, a matrix L stands between.
    shared_ids : sequence of int, optional
        For ``tie="all"`` with two vocabularies: for each target id the source id of the same word,
        or -1 for a word that the source does not have. By default both are one vocabulary.
    init : {"uniform", "book"}
        Distribution of fresh weights: uniform, or book (normal). ``"uniform"``: embeddings from
        U(-0.1, 0.1), other matrices from U(-1/sqrt(n), 1/sqrt(n)), with n = H for recurrent ones
        and the fan-in else; forget bias 1. ``"book"``: embeddings from N(0, 1) / 100, other
        matrices from N(0, 1) / sqrt(fan-in); forget bias 0.
    reset_after : bool
        Gru: reset gate after the recurrent product, as in cuDNN.
    attention_scale : float
        Dot, general: factor of the scores, such as 1 / sqrt(H).
    dtype : data-type
        Number type of the weights.
    rng : numpy.random.Generator, optional

    Notes
    -----
    ``forward(source, lengths, inputs, targets)`` takes ids (N, S) with any id as padding, their
    lengths (N,) or None, the decoder's inputs (N, T), which are the targets one step later (teacher
    forcing), and the targets (N, T), -1 where they do not count; it gives the mean cross-entropy in
    nats, a 0-d array. ``backward()`` accumulates all gradients. For writing, ``start(source,
    lengths)`` gives a state and ``step(ids, state)`` scores (N, V) and the next state.

    Raises
    ------
    ValueError
        If an option is out of its range, or options do not fit each other.

    Examples
    --------
    >>> model = Seq2Seq(10, 8, embed_size=4, hidden_size=5, attention="dot")
    >>> source, inputs = xp.asarray([[1, 2, 3], [4, 5, 0]]), xp.asarray([[0, 1], [0, 3]])
    >>> loss = model.forward(source, [3, 2], inputs, targets=xp.asarray([[1, 7], [3, -1]]))
    >>> model.backward()
    >>> model.attention_weights.shape
    (2, 2, 3)
    >>> state = model.start(source, [3, 2])
    >>> scores, state = model.step(xp.asarray([0, 0]), state)
    >>> scores.shape
    (2, 8)
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        embed_size: options.Size,
        hidden_size: options.Size,
        layers: options.Layers = 1,
        cell: options.Cell = "lstm",
        context: Annotated[str, Option(choices=("start", "every"))] = "start",
        attention: Annotated[str, Option(choices=ATTENTIONS)] = "none",
        input_feeding: options.Switch = False,
        bidirectional: options.Switch = False,
        reverse: options.Switch = False,
        dropout: options.Probability = 0.0,
        tie: Annotated[str, Option(choices=("none", "output", "all"))] = "none",
        *,
        shared_ids: options.Ids = None,
        init: options.Init = "uniform",
        reset_after: options.Switch = False,
        attention_scale: Annotated[float, Option(above=0)] = 1.0,
        dtype: options.DType = "float32",
        rng: Rng = None,
    ) -> None:
        self._remember(Seq2Seq, **locals())
        _check_together(self._config)
        D, H, width = embed_size, hidden_size, (2 if bidirectional else 1) * hidden_size

        def dropped(*layers: Layer) -> Sequential:
            noise = [TimeDropout(dropout, rng=rng)] if dropout else []
            return Sequential(*layers, *noise)

        sizes, bias = (H, layers, dropout, dtype, rng), 0.0 if init == "book" else 1.0

        def stack(D: int, bidirectional: bool = False) -> Any:
            return stack_of(cell, D, *sizes, bidirectional, bias, reset_after)

        E, F = self._embeddings(tie, lambda V: uniform((V, D), 0.1, rng, dtype))
        self.source, self.encoder = dropped(Embedding(E)), stack(D, bidirectional)
        states = len(options.CELLS[cell]._states)
        first = self.encoder.layers[0]
        M = first.forward_layer.state_size if bidirectional else H  # of a state
        self.bridge = Bridge(layers, states, 2 * M, M, rng, dtype) if bidirectional else None
        self.target = dropped(Embedding(F))
        features = H  # what a step of the decoder gives
        # What the decoder reads beside its first state: nothing, the encoder's last h, or all of h
        self._reads = "states" if attention != "none" else {"start": "", "every": "h"}[context]
        if self._reads == "states":
            kind: Any = InputFeedingDecoder if input_feeding else AttentionDecoder
            fed = H if input_feeding else 0  # what enters a step beside the word
            if attention == "additive":
                kind, fed = BahdanauDecoder, width
            score = attention_of(attention, H, width, dtype, rng, attention_scale)
            self.decoder = kind.init(stack(D + fed), score, width, H, rng, dtype)
        elif self._reads == "h":
            self.decoder = ContextDecoder(stack(D + width))
            features = H + width
        else:
            self.decoder = stack(D)
        self.head = dropped()
        W = F.T
        if tie == "none":
            bound = fan_in_bound(features)
            W = Parameter(uniform((features, target_vocab_size), bound, rng, dtype), "W")
        elif features != D:
            self.head.layers.append(TimeAffine.init(features, D, rng, dtype, bias=False))
        b = Parameter.zeros(target_vocab_size, dtype=dtype, name="b")
        self.output = AffineSoftmaxWithLoss(W, b)
        if init == "book":
            draw_as_in_the_book(self, [*E.bases, *F.bases], rng)

    # --- Training -----------------------------------------------------------------------------

    def backward(self, dloss: Any = 1) -> None:
        """Go back through the decoder, and then the encoder with the gradient of what was read."""
        shape, lengths = self.saved()
        gradient = self.decoder.backward(self.head.backward(self.output.backward(dloss)))
        dx, dread = gradient if self._reads else (gradient, None)
        self.target.backward(dx)
        # the decoder's first state is the encoder's last, by way of the bridge
        dstate = self.decoder.dstate0
        if self.bridge is not None:
            dstate = self.bridge.backward(dstate)
        # "every": the decoder read the encoder's last h; attention: all its states
        dhs: Any = xp.zeros(shape, dtype=dx.dtype)
        if self._reads == "h":
            *below, (dh, *others) = dstate
            dstate = [*below, (dh + dread, *others)]
        elif self._reads == "states":
            dhs = self._turned(dread, lengths)
        self.source.backward(self.encoder.backward(dhs, *dstate))

    # --- Writing, step by step ----------------------------------------------------------------

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
            state, read = self._encode(source, lengths)
            return self.decoder.begin(state, *read) if self._reads else state

    def step(self, ids: Array, state: Any = None) -> tuple[Array, Any]:
        """Return scores (N, V) of the words after the ids (N,), and the new state."""
        x, _ = self.target.step(ids)
        y, state = self.decoder.step(x, state)
        y, _ = self.head.step(y)
        if self._reads == "states":
            self.attention_weights = self.decoder.weights[:, 0]
        return self.output.scores(y), state

    # --- Helpers ------------------------------------------------------------------------------

    def _encode(self, source: Array, lengths: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the decoder's first state, and what else the decoder reads."""
        self._expect("source", source, "N S")
        hs = self.encoder.forward(self.source.forward(self._turned(source, lengths)), lengths)
        self.save_for_backward(hs.shape, lengths)
        state = self.encoder.state
        read: tuple[Any, ...] = ()
        if self._reads == "h":
            read = (state[-1][0],)
        elif self._reads == "states":
            read = (self._turned(hs, lengths), lengths)
        return (state if self.bridge is None else self.bridge.forward(state)), read

    def _turned(self, x: Any, lengths: Any) -> Array:
        """Reverse each sequence of x (N, S, ...) if sources are read from their ends."""
        return reverse_by_length(x, lengths) if self._config["reverse"] else x

    def _features(self, source: Array, lengths: Any, inputs: Array) -> Array:
        """Compute the input of the output layer, (N, T, ...)."""
        state, read = self._encode(source, lengths)
        self._expect("inputs", inputs, "N T", N=len(source))
        self.decoder.set_state(*state)
        y = self.decoder.forward(self.target.forward(inputs), *read)
        if self._reads == "states":
            self.attention_weights = self.decoder.weights
        return self.head.forward(y)


def _check_together(given: Mapping[str, Any]) -> None:
    """Raise an error where options do not fit each other."""
    attention = given["attention"]
    shows_state = options.CELLS[given["cell"]].shows_state
    broken = {
        "context='every', attention='additive' and input_feeding read a state that is an output, "
        f"which cell={given['cell']!r} has not": not shows_state
        and (given["context"] == "every" or attention == "additive" or given["input_feeding"]),
        "context='every' is for attention='none'; with attention each step reads the whole "
        "source": attention != "none" and given["context"] == "every",
        "input_feeding is for attention='dot', 'general' or 'concat', got "
        f"{attention!r} (with 'additive' the context enters the step itself)": (
            given["input_feeding"] and attention in ("none", "additive")
        ),
        f"attention_scale is for attention='dot' or 'general', got {attention!r}": (
            given["attention_scale"] != 1 and attention not in ("dot", "general")
        ),
        "attention='dot' needs states of encoder and decoder of one size, and a bidirectional "
        "encoder has 2H; attention='general' has a matrix between": (
            attention == "dot" and given["bidirectional"]
        ),
    }
    options.check_cell("Seq2Seq", given["cell"], reset_after=given["reset_after"])
    options.refuse("Seq2Seq", {**broken, **broken_ties(given)})


def broken_ties(given: Mapping[str, Any]) -> dict[str, bool]:
    """Return what may be wrong with the tying of two embeddings, for :func:`options.refuse`."""
    tie, ids = given["tie"], given["shared_ids"]
    source, target = given["source_vocab_size"], given["target_vocab_size"]
    return {
        f"shared_ids belong to tie='all' and hold an id for each of the {target} target words, "
        f"got tie={tie!r} and {len(ids or ())} ids": (
            ids is not None and (tie != "all" or len(ids) != target)
        ),
        f"tie='all' needs one vocabulary, got {source} and {target} words; for two, shared_ids "
        "says which words they share": tie == "all" and ids is None and source != target,
    }
