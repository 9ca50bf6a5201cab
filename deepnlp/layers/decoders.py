"""Decoders that read a memory: what they share, and the two whose steps all run at once."""

from typing import Any, NoReturn, TypeAlias

from deepnlp.backend import Array, Rng, check_shape, xp
from deepnlp.layer import Layer, Sequential, check_layers, no_backward
from deepnlp.layers.activations import Tanh
from deepnlp.layers.attention import Attention
from deepnlp.layers.dense import TimeAffine
from deepnlp.layers.lengths import check_lengths
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.layers.stacked import TimeStacked

Cells: TypeAlias = TimeRecurrent | TimeStacked  # what a decoder steps through time


class Decoder(Layer):
    """A recurrent layer, or a stack of them, that reads a memory beside its input.

    ``forward(x, memory, ...)`` gives the outputs from the inputs (N, T, D); ``backward`` gives dx
    and dmemory. The recurrent layers start from zeros or from what :meth:`set_state` gave. To go
    step by step, :meth:`begin` makes a state for ``step`` from that of the recurrent layers and a
    memory.
    """

    def __init__(self, recurrent: Cells) -> None:
        check_layers(type(self).__name__, recurrent=recurrent)
        self.recurrent = recurrent

    @property
    def state(self) -> Any:
        """The state of the recurrent layers after the last forward."""
        return self.recurrent.state

    @property
    def dstate0(self) -> Any:
        """After backward: the gradients with respect to the state at the start."""
        return self.recurrent.dstate0

    def set_state(self, *state: Any) -> None:
        """Set the state from which the next forward starts."""
        self.recurrent.set_state(*state)

    def start(self, N: int) -> NoReturn:
        """Raise an error: a start needs a memory, see :meth:`begin`."""
        raise TypeError(f"{type(self).__name__}: a start needs a memory: begin(state, memory)")


class ContextDecoder(Decoder):
    r"""A decoder that sees the same vector at every step, and beside every output.

    .. math::
        h_t = \mathrm{cell}([x_t, c],\; h_{t-1}), \qquad y_t = [h_t, c]

    Parameters
    ----------
    recurrent : TimeRNN, TimeLSTM, TimeGRU, TimeDeepTransition or TimeStacked
        From D + C inputs to H units.

    Attributes
    ----------
    state, dstate0
        Those of ``recurrent``.

    Notes
    -----
    ``forward(x, memory)`` takes (N, T, D) and the vectors c (N, C), and gives (N, T, H + C).
    ``backward(dy)`` gives dx and dc: c enters every step, twice, so that its gradient is a sum over
    all of them. Cho et al. 2014, section 2.2.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> from deepnlp.layers import TimeLSTM
    >>> decoder = ContextDecoder(TimeLSTM.init(3 + 2, 5))
    >>> x, c = xp.ones((1, 4, 3), "float32"), xp.ones((1, 2), "float32")
    >>> decoder.forward(x, c).shape
    (1, 4, 7)
    """

    axes = "N T D, N C -> N T H+C"

    def forward(self, x: Array, memory: Array) -> Array:
        """[h_t, c] at every step, (N, T, H + C)."""
        N, T, D = x.shape
        c = xp.broadcast_to(memory[:, None], (N, T, memory.shape[1]))
        hs = self.recurrent.forward(xp.concatenate([x, c], axis=2))
        self.save_for_backward(D)
        return xp.concatenate([hs, c], axis=2)

    def backward(self, dy: Array) -> tuple[Array, Array]:
        """dx (N, T, D) and dmemory (N, C)."""
        (D,) = self.saved()
        H = self.recurrent.H
        # y_t = [h_t, c]
        dhs, dc_out = dy[..., :H], dy[..., H:]
        # h_t = cell([x_t, c], h_(t-1))
        dboth = self.recurrent.backward(dhs)
        dx, dc_in = dboth[..., :D], dboth[..., D:]
        return dx, xp.sum(dc_in + dc_out, axis=1)

    def begin(self, state: Any, memory: Array, lengths: Any = None) -> Any:
        """(state of the recurrent layers, c)."""
        return state, memory

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """[h, c] (N, H + C) of one step, from x (N, D)."""
        inner, c = state
        h, inner = self.recurrent.step(xp.concatenate([x, c], axis=1), inner)
        return xp.concatenate([h, c], axis=1), (inner, c)


class ReadingDecoder(Decoder):
    """A decoder with attention, and ``combine``, which joins a context to a state.

    y = tanh([c, h] W + b), with c (N, T, C), h (N, T, H) and y (N, T, M).
    """

    axes = "N T D, N S C -> N T M"

    def __init__(self, recurrent: Cells, attention: Attention, W: Any, b: Any = None) -> None:
        super().__init__(recurrent)
        check_layers(type(self).__name__, attention=attention)
        self.attention = attention
        output = TimeAffine(W, b)
        self.combine, self.M = Sequential(output, Tanh()), output.W.shape[1]

    @classmethod
    def init(
        cls,
        recurrent: Cells,
        attention: Attention,
        C: int,
        M: int,
        rng: Rng = None,
        dtype: Any = "float32",
    ) -> Any:
        """Make a decoder with fresh W and b, those of ``Affine.init``.

        Parameters
        ----------
        recurrent, attention : Layer
        C, M : int
            Sizes of a place of the memory and of an output.
        rng : numpy.random.Generator, optional
        dtype : data-type
        """
        check_layers(cls.__name__, recurrent=recurrent, attention=attention)
        check_shape((C, M))
        affine = TimeAffine.init(C + recurrent.H, M, rng, dtype)
        return cls(recurrent, attention, affine.W, affine.b)

    @property
    def weights(self) -> Array | None:
        """The weights of the last forward or step: those of the attention."""
        return self.attention.weights

    def begin(self, state: Any, memory: Array, lengths: Any = None) -> Any:
        """(state of the recurrent layers, keys, memory, padding)."""
        with no_backward():
            memory, padding = self.attention.without_padding(memory, lengths)
            keys = self.attention.project(memory)
        return state, keys, memory, padding


class AttentionDecoder(ReadingDecoder):
    r"""A decoder that attends to a memory with its state at each step.

    .. math::
        h_t &= \mathrm{cell}(x_t, h_{t-1}) \\
        c_t &= \mathrm{attention}(h_t, m) \\
        y_t &= \tanh([c_t, h_t] W + b)

    The states do not depend on the contexts, so that all T steps of the recurrent layers run first,
    and the attention of all steps is one batched product.

    Parameters
    ----------
    recurrent : TimeRNN, TimeLSTM, TimeGRU, TimeDeepTransition or TimeStacked
        From D inputs to H units.
    attention : DotAttention, GeneralAttention, ConcatAttention or AdditiveAttention
        Of queries of size H and a memory of size C.
    W : Parameter, View, or array (C + H, M)
    b : Parameter or array (M,), optional
        No bias by default.

    Attributes
    ----------
    state, dstate0
        Those of ``recurrent``.

    Notes
    -----
    ``forward(x, memory, lengths=None)`` takes (N, T, D) and (N, S, C) and gives (N, T, M);
    ``backward(dy)`` gives ``(dx, dmemory)``. ``attention.weights`` holds the weights (N, T, S).
    Luong, Pham and Manning 2015, section 3.1 and eq. 5.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> from deepnlp.layers import DotAttention, TimeLSTM
    >>> decoder = AttentionDecoder.init(TimeLSTM.init(3, 5), DotAttention(), C=5, M=6)
    >>> x, memory = xp.ones((1, 4, 3), "float32"), xp.ones((1, 7, 5), "float32")
    >>> decoder.forward(x, memory).shape, decoder.attention.weights.shape
    ((1, 4, 6), (1, 4, 7))
    """

    def forward(self, x: Array, memory: Array, lengths: Any = None) -> Array:
        """y at every step, (N, T, M)."""
        lengths = check_lengths("AttentionDecoder", lengths, *memory.shape[:2])
        hs = self.recurrent.forward(x)
        contexts = self.attention.forward(hs, memory, lengths)
        y: Array = self.combine.forward(xp.concatenate([contexts, hs], axis=2))
        self.save_for_backward(contexts.shape[2])
        return y

    def backward(self, dy: Array) -> tuple[Array, Array]:
        """dx (N, T, D) and dmemory (N, S, C)."""
        (C,) = self.saved()
        # y_t = tanh([c_t, h_t] W + b)
        dboth = self.combine.backward(dy)
        dcontexts, dhs = dboth[..., :C], dboth[..., C:]
        # c_t = attention(h_t, memory): h_t is the query too
        dquery, dmemory = self.attention.backward(dcontexts)
        # h_t = cell(x_t, h_(t-1))
        return self.recurrent.backward(dhs + dquery), dmemory

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """y (N, M) of one step, from x (N, D)."""
        inner, *read = state
        h, inner = self.recurrent.step(x, inner)
        with no_backward():
            query = h[:, None]
            context = self.attention.attend(query, *read)
            y = self.combine.forward(xp.concatenate([context, query], axis=2))
        return y[:, 0], (inner, *read)
