"""The decoder of Bahdanau, Cho and Bengio: it attends first, and what it finds enters the step."""

from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.layers.feeding import Arrays, FeedingDecoder


class BahdanauDecoder(FeedingDecoder):
    r"""A decoder that attends with the state before a step; the context enters the step.

    .. math::
        c_t &= \mathrm{attention}(h_{t-1}, m) \\
        h_t &= \mathrm{cell}([x_t, c_t],\; h_{t-1}) \\
        y_t &= \tanh([c_t, h_t] W + b)

    The loop over time holds the first two lines; the third is one product of all steps.

    Parameters
    ----------
    recurrent : TimeRNN, TimeLSTM, TimeGRU, TimeDeepTransition or TimeStacked
        From D + C inputs to H units. Of a stack, the last layer asks.
    attention : AdditiveAttention, ConcatAttention, DotAttention or GeneralAttention
        Of queries of size H and a memory of size C.
    W : Parameter, View, or array (C + H, M)
    b : Parameter or array (M,), optional
        No bias by default.

    Attributes
    ----------
    state, dstate0
        Those of ``recurrent``.
    weights : array (N, T, S) or None
        The attention of all steps of the last forward.

    Notes
    -----
    ``forward(x, memory, lengths=None)`` takes (N, T, D) and (N, S, C) and gives (N, T, M);
    ``backward(dy)`` gives ``(dx, dmemory)``. The gradient of h_t comes from y_t, from the state of
    step t + 1, and from the query of step t + 1. Bahdanau, Cho and Bengio 2015, eq. 4-6; their
    output is a maxout layer which sees x_t as well, and here one tanh layer as in Luong et al.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> from deepnlp.layers import AdditiveAttention, TimeGRU
    >>> attention = AdditiveAttention.init(5, 8, 4)
    >>> decoder = BahdanauDecoder.init(TimeGRU.init(3 + 8, 5), attention, C=8, M=6)
    >>> x, memory = xp.ones((1, 4, 3), "float32"), xp.ones((1, 7, 8), "float32")
    >>> decoder.forward(x, memory).shape, decoder.weights.shape
    ((1, 4, 6), (1, 4, 7))
    """

    def _first_fed(self, x: Array) -> Array:
        return self.recurrent.top.first_h(len(x), x.dtype)[:, None]  # h_0

    def _first_fed_backward(self, dfed: Array) -> None:
        self.recurrent.top.dh0 += dfed[:, 0]

    def _fed_step(self, x: Array, fed: Array, read: Any, recurrent: Any) -> Arrays:
        context = self.attention.attend(fed, *read)
        h = recurrent(xp.concatenate([x, context], axis=2))
        return xp.concatenate([context, h], axis=2), h

    def _fed_step_backward(self, dgiven: Array, dfed: Any, dstate: Any, C: int) -> Arrays:
        # h_t goes to y_t, and is state and query of step t + 1; h_t = cell([x_t, c_t], h_(t-1))
        dinput = self.recurrent.backward(dgiven[..., C:] + dfed, *dstate)
        # c_t goes to step t and to y_t; c_t = attention(h_(t-1), memory)
        D = dinput.shape[2] - C
        dcontext = dinput[..., D:] + dgiven[..., :C]
        dquery, dkeys, dmemory = self.attention.attend_backward(dcontext)
        return dinput[..., :D], dquery, dkeys, dmemory

    def _outputs(self, given: Array) -> Array:
        y: Array = self.combine.forward(given)  # y_t = tanh([c_t, h_t] W + b), all steps at once
        return y

    def _outputs_backward(self, dy: Array) -> Array:
        dgiven: Array = self.combine.backward(dy)
        return dgiven

    def begin(self, state: Any, memory: Array, lengths: Any = None) -> Any:
        """(h: the first query, state of the recurrent layers, keys, memory, padding)."""
        inner, *read = super().begin(state, memory, lengths)
        last = inner[-1] if isinstance(inner, list) else inner  # a list has a tuple for each layer
        return last[0], inner, *read
