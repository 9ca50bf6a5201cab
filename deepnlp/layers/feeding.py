"""Decoders whose steps wait for the attention: their loop over time, and input feeding."""

from collections.abc import Callable
from typing import Any, TypeAlias

from deepnlp.backend import Array, xp
from deepnlp.layer import backward_for_each, no_backward
from deepnlp.layers.decoders import ReadingDecoder
from deepnlp.layers.lengths import check_lengths, check_steps

Arrays: TypeAlias = tuple[Array, ...]


class FeedingDecoder(ReadingDecoder):
    """A decoder at each step of which something is fed that the step before made.

    A subclass says what is fed into the first step and what a step does with it: one of input
    feeding is fed the output, one of Bahdanau the state.

    Attributes
    ----------
    weights : array (N, T, S) or None
        The attention of all steps of the last forward.
    """

    # (x) -> what is fed into the first step of x (N, T, D): (N, 1, F)
    _first_fed: Callable[..., Array]
    # (x_t, fed, read, recurrent) -> what the step gives, and what it feeds into the next, each
    # (N, 1, ...); read is what attend reads, and recurrent a step of the recurrent layers
    _fed_step: Callable[..., Arrays]
    # (dgiven, dfed, dstate, C) -> gradients of x_t, of what was fed into the step, of the keys and
    # of the memory
    _fed_step_backward: Callable[..., Arrays]

    def _outputs(self, given: Array) -> Array:
        """y (N, T, M) from what the steps gave; here they gave y."""
        return given

    def _outputs_backward(self, dy: Array) -> Array:
        """Return the gradient of what the steps gave, from dy (N, T, M)."""
        return dy

    def forward(self, x: Array, memory: Array, lengths: Any = None) -> Array:
        """y at every step, (N, T, M)."""
        lengths = check_lengths(type(self).__name__, lengths, *memory.shape[:2])
        check_steps(type(self).__name__, x)
        memory, padding = self.attention.without_padding(memory, lengths)
        given, fed = [], self._first_fed(x)
        weights: list[Any] = []
        with backward_for_each(self.recurrent, self.attention, self.combine):
            read = self.attention.project(memory), memory, padding
            for t in range(x.shape[1]):
                if t > 0:
                    self.recurrent.keep_state()
                y_t, fed = self._fed_step(x[:, t : t + 1], fed, read, self.recurrent.forward)
                given.append(y_t)
                weights.append(self.attention.weights)
        self.attention.weights = xp.concatenate(weights, axis=1)
        self.save_for_backward(memory)
        return self._outputs(xp.concatenate(given, axis=1))

    def backward(self, dy: Array) -> tuple[Array, Array]:
        """dx (N, T, D) and dmemory (N, S, C)."""
        (memory,) = self.saved()
        dgiven = self._outputs_backward(dy)
        dx, dmemory = [], xp.zeros_like(memory)
        dfed: Any = 0
        dkeys: Any = 0
        dstate: Any = ()
        for t in reversed(range(dy.shape[1])):
            dx_t, dfed, dkeys_t, dmemory_t = self._fed_step_backward(
                dgiven[:, t : t + 1], dfed, dstate, memory.shape[2]
            )
            dx.append(dx_t)
            dstate = self.recurrent.dstate0
            # keys and memory are the same at all steps
            dkeys, dmemory = dkeys + dkeys_t, dmemory + dmemory_t
        self._first_fed_backward(dfed)
        dmemory = dmemory + self.attention.project_backward(dkeys)
        return xp.concatenate(dx[::-1], axis=1), dmemory

    def _first_fed_backward(self, dfed: Array) -> None:
        """Go back through :meth:`_first_fed`; zeros have no gradient."""

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """y (N, M) of one step, from x (N, D)."""
        fed, inner, *read = state

        def recurrent(x: Array) -> Array:
            nonlocal inner
            h, inner = self.recurrent.step(x[:, 0], inner)
            return h[:, None]

        with no_backward():
            given, fed = self._fed_step(x[:, None], fed[:, None], read, recurrent)
            y = self._outputs(given)[:, 0]
        return y, (fed[:, 0], inner, *read)


class InputFeedingDecoder(FeedingDecoder):
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

    def _first_fed(self, x: Array) -> Array:
        return xp.zeros((len(x), 1, self.M), dtype=x.dtype)  # y_0

    def _fed_step(self, x: Array, fed: Array, read: Any, recurrent: Any) -> Arrays:
        h = recurrent(xp.concatenate([x, fed], axis=2))
        context = self.attention.attend(h, *read)
        y = self.combine.forward(xp.concatenate([context, h], axis=2))
        return y, y

    def _fed_step_backward(self, dgiven: Array, dfed: Any, dstate: Any, C: int) -> Arrays:
        # y_t goes to the layer above and to step t + 1; y_t = tanh([c_t, h_t] W + b)
        dboth = self.combine.backward(dgiven + dfed)
        # c_t = attention(h_t, memory)
        dquery, dkeys, dmemory = self.attention.attend_backward(dboth[..., :C])
        # h_t = cell([x_t, y_(t-1)], h_(t-1))
        dinput = self.recurrent.backward(dboth[..., C:] + dquery, *dstate)
        D = dinput.shape[2] - self.M
        return dinput[..., :D], dinput[..., D:], dkeys, dmemory

    def begin(self, state: Any, memory: Array, lengths: Any = None) -> Any:
        """(y of the step before: zeros, state of the recurrent layers, keys, memory, padding)."""
        return self._first_fed(memory)[:, 0], *super().begin(state, memory, lengths)
