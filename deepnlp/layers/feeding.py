"""Input feeding: a decoder that knows at each step what it attended to before."""

from __future__ import annotations

from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.layer import no_backward
from deepnlp.layers.decoders import ReadingDecoder
from deepnlp.layers.lengths import check_steps


class InputFeedingDecoder(ReadingDecoder):
    r"""A decoder with attention whose output enters its next step.

    .. math::
        h_t &= \mathrm{cell}([x_t, y_{t-1}],\; h_{t-1}), \qquad y_0 = 0 \\
        c_t &= \mathrm{attention}(h_t, m) \\
        y_t &= \tanh([c_t, h_t] W + b)

    So it knows what it has attended to before. Each step waits for the attention of the step
    before: there is a loop, in place of the one product over all T of :class:`AttentionDecoder`.

    Parameters
    ----------
    recurrent : TimeRNN, TimeLSTM, TimeGRU, TimeDeepTransition or TimeStacked
        From D + M inputs to H units.
    attention : DotAttention, GeneralAttention, ConcatAttention or AdditiveAttention
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
    ``backward(dy)`` gives ``(dx, dmemory)``. The gradient of y_t comes from above and from step
    t + 1. Luong, Pham and Manning 2015, section 3.3.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> from deepnlp.layers import DotAttention, TimeLSTM
    >>> decoder = InputFeedingDecoder.init(TimeLSTM.init(3 + 6, 5), DotAttention(), C=5, M=6)
    >>> x, memory = xp.ones((1, 4, 3), "float32"), xp.ones((1, 7, 5), "float32")
    >>> decoder.forward(x, memory).shape, decoder.weights.shape
    ((1, 4, 6), (1, 4, 7))
    """

    weights: Array | None = None

    def forward(self, x: Array, memory: Array, lengths: Any = None) -> Array:
        """y at every step, (N, T, M)."""
        lengths = self._check(x, memory, lengths)
        check_steps(type(self).__name__, x)
        (N, T, D) = x.shape
        memory, padding = self.attention.without_padding(memory, lengths)
        keys = self.attention.project(memory)
        y_t = xp.zeros((N, 1, self.M), dtype=x.dtype)
        ys, weights = [], []
        for t in range(T):
            if t > 0:
                self.recurrent.keep_state()
            with self._caches.at(t):
                h = self.recurrent.forward(xp.concatenate([x[:, t : t + 1], y_t], axis=2))
                context = self.attention.attend(h, keys, memory, padding)
                y_t = self.combine.forward(xp.concatenate([context, h], axis=2))
            ys.append(y_t)
            weights.append(self.attention.weights)
        self.weights = xp.concatenate(weights, axis=1)
        self.save_for_backward((N, T, D), memory)
        return xp.concatenate(ys, axis=1)

    def backward(self, dy: Array) -> tuple[Array, Array]:
        """dx (N, T, D) and dmemory (N, S, C)."""
        (N, T, D), memory = self.saved()
        C = memory.shape[2]
        self._expect("dy", dy, "N T M", N=N, T=T, M=self.M)
        dx, dmemory = [], xp.zeros_like(memory)
        dfed: Any
        dkeys: Any
        dstate: Any
        dfed, dkeys, dstate = 0, 0, ()
        for t in reversed(range(T)):
            with self._caches.at(t):
                # y_t goes to the layer above and to step t + 1; y_t = tanh([c_t, h_t] W + b)
                dboth = self.combine.backward(dy[:, t : t + 1] + dfed)
                # c_t = attention(h_t, memory)
                dquery, dkeys_t, dmemory_t = self.attention.attend_backward(dboth[..., :C])
                # h_t = cell([x_t, y_(t-1)], h_(t-1))
                dinput = self.recurrent.backward(dboth[..., C:] + dquery, *dstate)
            dx_t, dfed, dstate = dinput[..., :D], dinput[..., D:], self.recurrent.dstate0
            dx.append(dx_t)
            # keys and memory are the same at all steps
            dkeys, dmemory = dkeys + dkeys_t, dmemory + dmemory_t
        dmemory = dmemory + self.attention.project_backward(dkeys)
        return xp.concatenate(dx[::-1], axis=1), dmemory

    def begin(self, state: Any, memory: Array, lengths: Any = None) -> Any:
        """(y of the step before: zeros, state of the recurrent layers, keys, memory, padding)."""
        y = xp.zeros((len(memory), self.M), dtype=memory.dtype)
        return y, *super().begin(state, memory, lengths)

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """y (N, M) of one step, from x (N, D)."""
        y, inner, *read = state
        h, inner = self.recurrent.step(xp.concatenate([x, y], axis=1), inner)
        with no_backward():
            query = h[:, None]
            context = self.attention.attend(query, *read)
            y = self.combine.forward(xp.concatenate([context, query], axis=2))[:, 0]
        self.weights = self.attention.weights
        return y, (y, inner, *read)
