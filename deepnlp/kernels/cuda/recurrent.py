"""The steps of the recurrent layers on CuPy: one or two launches between two products.

Of an LSTM all steps are one launch where that is possible (:mod:`.loop`). They work in place as
:class:`deepnlp.kernels.steps.LSTMSteps` does: forward writes the gates over a, and the way back
turns factors, computed for all steps together, into gradients. What the kernels do not take, such
as complex numbers, is left to the plain steps.
"""

from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.kernels.cuda import loop, steps
from deepnlp.kernels.cuda.launching import REALS
from deepnlp.kernels.steps import ElementWise, LSTMSteps, New, States, Steps

LSTM_PARTS = ElementWise(steps.lstm_step, steps.lstm_slopes, steps.lstm_step_backward)


def lstm_steps(a: Array, start: States, Wh: Array, new: New) -> Any:
    """One launch per step, or for all; on the way back, one for all factors before them."""
    if a.dtype.char not in REALS:
        return NotImplemented
    return LSTMLoop(LSTM_PARTS, a, start, Wh, new)


def rnn_steps(a: Array, start: States, Wh: Array, activation: str, new: New) -> Any:
    """One launch per step; on the way back, one for all factors before them."""
    return RNNSteps(a, start, (Wh, activation), new) if a.dtype.char in REALS else NotImplemented


def gru_steps(
    a: Array, start: States, Wh: Array, bh: Array | None, reset_after: bool, new: New
) -> Any:
    """One launch per step, two where the reset gate acts before the product."""
    if a.dtype.char not in REALS:
        return NotImplemented
    return (GRUAfter if reset_after else GRUBefore)(a, start, (Wh, bh), new)


class LSTMLoop(LSTMSteps):
    """Steps of an LSTM, and all of them at once."""

    def forward_all(self) -> bool:
        """All steps in one launch."""
        (h, c), (Wh,) = self.states, self.weights
        return loop.lstm_loop(self.a, Wh, h, c, self._tanh_c)

    def backward_all(self, dhs_above: Array, *final: Array) -> Any:
        """All steps back in one launch, which turns the gradients given into those returned."""
        (dh, dc), (Wh,), (da,) = final, self.weights, self.da
        done = loop.lstm_loop_backward(dhs_above, self.a, Wh, self._tanh_c, da, dh, dc)
        return final if done else None


class RNNSteps(Steps):
    """Steps of a simple recurrent layer."""

    def forward(self, t: int) -> None:
        """The product, and the function f of the sum."""
        (h,), (Wh, activation) = self.states, self.weights
        steps.rnn_step(self.a[t], h[t] @ Wh, h[t + 1], activation)

    def begin_backward(self) -> None:
        """The slopes of f, of all steps."""
        super().begin_backward()
        steps.rnn_slopes(self.states[0][1:], self.da[0], self.weights[1])

    def backward(self, t: int, dh_above: Array, dh_next: Array, *_: Array) -> Any:
        """The slopes become gradients, then the product."""
        da = self.da[0][t]
        steps.rnn_step_backward(dh_above, dh_next, da)
        return (da @ self.weights[0].T,)


class GRUBefore(Steps):
    """Steps of a GRU whose reset gate acts before the product."""

    def __init__(self, a: Array, start: States, weights: Any, new: New) -> None:
        super().__init__(a, start, weights, new)
        Wh, H = weights[0], start[0].shape[1]
        self._Wh_rz, self._Wh_n = Wh[:, : 2 * H], Wh[:, 2 * H :]
        self._u = new("u", self.states[0][1:].shape, a.dtype)

    def forward(self, t: int) -> None:
        """Product, gates r and z, product, new state."""
        (h,), a, u = self.states, self.a[t], self._u[t]
        steps.gru_gates(a, h[t] @ self._Wh_rz, h[t], u)
        steps.gru_output(a, u @ self._Wh_n, h[t], h[t + 1])

    def over_time(self, number: int, width: int | None = None) -> Array:
        """u of all steps."""
        return self._u

    def begin_backward(self) -> None:
        """The factors of all steps."""
        super().begin_backward()
        steps.gru_slopes(self.a, self.states[0][:-1], None, self.da[0])

    def backward(self, t: int, dh_above: Array, dh_next: Array, *_: Array) -> Any:
        """New state, product, gates, product."""
        da, dh_prev = self.da[0][t], xp.empty_like(self.states[0][t])
        H = dh_prev.shape[1]
        steps.gru_output_backward(dh_above, dh_next, dh_prev, self.a[t], da)
        steps.gru_gates_backward(da[:, 2 * H :] @ self._Wh_n.T, dh_prev, self.a[t], da)
        dh_prev += da[:, : 2 * H] @ self._Wh_rz.T
        return (dh_prev,)


class GRUAfter(Steps):
    """Steps of a GRU whose reset gate acts after the product."""

    def __init__(self, a: Array, start: States, weights: Any, new: New) -> None:
        super().__init__(a, start, weights, new, gradients=2)
        self._p = new("p", a.shape, a.dtype)

    def forward(self, t: int) -> None:
        """The product, then all that is element-wise."""
        (h,), (Wh, bh) = self.states, self.weights
        xp.matmul(h[t], Wh, out=self._p[t])
        steps.gru_step(self.a[t], self._p[t], bh, h[t], h[t + 1])

    def begin_backward(self) -> None:
        """The factors of all steps."""
        super().begin_backward()
        p_n = self._p[..., 2 * len(self.weights[0]) :]
        steps.gru_slopes(self.a, self.states[0][:-1], p_n, self.da[0])

    def backward(self, t: int, dh_above: Array, dh_next: Array, *_: Array) -> Any:
        """All that is element-wise, then the product."""
        (da, dp), dh_prev = self.da, xp.empty_like(self.states[0][t])
        steps.gru_step_backward(dh_above, dh_next, dh_prev, self.a[t], da[t], dp[t])
        dh_prev += dp[t] @ self.weights[0].T
        return (dh_prev,)
