"""The decoder of Bahdanau, Cho and Bengio: it attends first, and what it finds enters the step."""

from __future__ import annotations

from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.layer import no_backward
from deepnlp.layers.decoders import ReadingDecoder
from deepnlp.layers.lengths import check_steps


class BahdanauDecoder(ReadingDecoder):
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

    weights: Array | None = None

    def forward(self, x: Array, memory: Array, lengths: Any = None) -> Array:
        """y at every step, (N, T, M)."""
        lengths = self._check(x, memory, lengths)
        check_steps(type(self).__name__, x)
        N, T, D = x.shape
        memory, padding = self.attention.without_padding(memory, lengths)
        keys = self.attention.project(memory)
        h = self.recurrent.top.first_h(N, x.dtype)[:, None]
        contexts, hs, weights = [], [], []
        for t in range(T):
            if t > 0:
                self.recurrent.keep_state()
            with self._caches.at(t):
                context = self.attention.attend(h, keys, memory, padding)
                h = self.recurrent.forward(xp.concatenate([x[:, t : t + 1], context], axis=2))
            contexts.append(context)
            hs.append(h)
            weights.append(self.attention.weights)
        self.weights = xp.concatenate(weights, axis=1)
        self.save_for_backward((N, T, D), memory)
        both = [xp.concatenate(contexts, axis=1), xp.concatenate(hs, axis=1)]
        return self.combine.forward(xp.concatenate(both, axis=2))

    def backward(self, dy: Array) -> tuple[Array, Array]:
        """dx (N, T, D) and dmemory (N, S, C)."""
        (N, T, D), memory = self.saved()
        C = memory.shape[2]
        self._expect("dy", dy, "N T M", N=N, T=T, M=self.M)
        # y_t = tanh([c_t, h_t] W + b), all steps at once
        dboth = self.combine.backward(dy)
        dx, dmemory = [], xp.zeros_like(memory)
        dquery: Any
        dkeys: Any
        dstate: Any
        dquery, dkeys, dstate = 0, 0, ()
        for t in reversed(range(T)):
            with self._caches.at(t):
                # h_t goes to y_t, and is state and query of step t + 1
                dh = dboth[:, t : t + 1, C:] + dquery
                # h_t = cell([x_t, c_t], h_(t-1))
                dinput = self.recurrent.backward(dh, *dstate)
                # c_t goes to step t and to y_t; c_t = attention(h_(t-1), memory)
                dcontext = dinput[..., D:] + dboth[:, t : t + 1, :C]
                dquery, dkeys_t, dmemory_t = self.attention.attend_backward(dcontext)
            dx.append(dinput[..., :D])
            dstate = self.recurrent.dstate0
            # keys and memory are the same at all steps
            dkeys, dmemory = dkeys + dkeys_t, dmemory + dmemory_t
        self.recurrent.top.dh0 += dquery[:, 0]  # the first query is the state at the start
        dmemory = dmemory + self.attention.project_backward(dkeys)
        return xp.concatenate(dx[::-1], axis=1), dmemory

    def begin(self, state: Any, memory: Array, lengths: Any = None) -> Any:
        """(h: the first query, state of the recurrent layers, keys, memory, padding)."""
        inner, *read = super().begin(state, memory, lengths)
        last = inner[-1] if isinstance(inner, list) else inner  # a list has a tuple for each layer
        return last[0], inner, *read

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """y (N, M) of one step, from x (N, D)."""
        h, inner, *read = state
        with no_backward():
            context = self.attention.attend(h[:, None], *read)[:, 0]
            h, inner = self.recurrent.step(xp.concatenate([x, context], axis=1), inner)
            both = xp.concatenate([context, h], axis=1)
            y = self.combine.forward(both[:, None])[:, 0]
        self.weights = self.attention.weights
        return y, (h, inner, *read)
