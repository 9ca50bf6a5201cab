"""The simple recurrent layer of Elman 1990: one step, and T steps at once."""

from __future__ import annotations

from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.backend.functions import relu, relu_grad, tanh_grad
from deepnlp.kernels import New, Watch, kernel
from deepnlp.layers.recurrent import Recurrent, States, TimeRecurrent, steps_as_rows

ACTIVATIONS = ("tanh", "relu")


def rnn_step(a: Array, activation: str) -> Array:
    """h = f(a), from the pre-activation a = x Wx + h_prev Wh + b, (N, H)."""
    return xp.tanh(a) if activation == "tanh" else relu(a)


def rnn_step_backward(dh: Array, h: Array, activation: str) -> Array:
    """da = dh f'(a), with the derivative from the value h = f(a), (N, H)."""
    return dh * (tanh_grad(h) if activation == "tanh" else relu_grad(h))


@kernel
def rnn_forward(
    a: Array, Wh: Array, h0: Array, activation: str, ended: Array | None, new: New
) -> Array:
    """All states of the loop over time.

    a (T, N, H) holds x_t Wx + b and may be overwritten; ``ended`` (T, N, 1) says which sequences
    have ended before step t; ``new(name, shape, dtype)`` gives memory. The states h are
    (T + 1, N, H), with h[t] before step t.
    """
    T, N, H = a.shape
    h = new("h", (T + 1, N, H), a.dtype)
    h[0] = h0
    for t in range(T):
        h[t + 1] = rnn_step(a[t] + h[t] @ Wh, activation)
        if ended is not None:  # past its end a sequence holds its state
            h[t + 1] = xp.where(ended[t], h[t], h[t + 1])
    return h


@kernel
def rnn_backward(
    dhs: Array,
    dh: Array,
    Wh: Array,
    h: Array,
    activation: str,
    ended: Array | None,
    watch: Watch,
    new: New,
) -> tuple[Array, Array]:
    """Back through :func:`rnn_forward`, last step first.

    dhs (T, N, H) are the gradients from the layer above, dh (N, H) the one with respect to the
    last state. Gives da (T, N, H) and the gradient with respect to the first state.
    """
    da = new("da", dhs.shape, h.dtype)
    for t in reversed(range(len(dhs))):
        # h_t goes to the layer above and to step t + 1
        dh = dhs[t] + dh
        if watch is not None:
            watch(t, h[t], dh)
        # h_t = f(a_t)
        da[t] = rnn_step_backward(dh, h[t + 1], activation)
        if ended is not None:  # h_t = h_(t-1) past the end
            da[t] = xp.where(ended[t], 0, da[t])
        # a_t = x_t Wx + h_(t-1) Wh + b
        dh_prev = da[t] @ Wh.T
        dh = dh_prev if ended is None else xp.where(ended[t], dh, dh_prev)
    return da, dh


def _activation(owner: str, name: str) -> str:
    if name not in ACTIVATIONS:
        raise ValueError(f"{owner}: activation should be 'tanh' or 'relu', got {name!r}")
    return name


class RNN(Recurrent):
    r"""One step of a simple recurrent layer.

    .. math:: h = f(x W_x + h_{prev} W_h + b)

    Parameters
    ----------
    Wx : Parameter, View, or array (D, H); or None
        None for the form without an input matrix, h = f(x + h_prev Wh + b), with D = H.
    Wh : Parameter, View, or array (H, H)
    b : Parameter or array (H,)
    activation : {"tanh", "relu"}
        The function f.

    Notes
    -----
    ``forward(x, h_prev)`` takes (N, D) and (N, H), gives h (N, H), and saves all three.
    ``backward(dh)`` gives ``(dx, dh_prev)``. With a = x Wx + h_prev Wh + b: da = dh f'(a),
    dx = da Wx^T, dh_prev = da Wh^T, dWx = x^T da, dWh = h_prev^T da, db = sum_n da_n. Elman 1990.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> step = RNN(Wx=[[1.0]], Wh=[[0.5]], b=[0.0])
    >>> step.forward(xp.zeros((1, 1)), xp.ones((1, 1))).round(4)   # tanh(0.5)
    array([[0.4621]])
    """

    def __init__(self, Wx: Any, Wh: Any, b: Any, activation: str = "tanh") -> None:
        super().__init__(Wx, Wh, b)
        self.activation = _activation(type(self).__name__, activation)

    def forward(self, x: Array, h_prev: Array) -> Array:
        """h = f(x Wx + h_prev Wh + b)."""
        self._expect_step(x, h_prev=h_prev)
        h = rnn_step(self._input_product(x) + h_prev @ self.Wh.value, self.activation)
        self.save_for_backward(x, h_prev, h)
        return h

    def backward(self, dh: Array) -> tuple[Array, Array]:
        """(dx, dh_prev) from dh."""
        x, h_prev, h = self.saved()
        self._expect("dh", dh, "N H", N=h.shape[0], H=self.H)
        # h = f(a)
        da = rnn_step_backward(dh, h, self.activation)
        # a = x Wx + h_prev Wh + b
        self.Wh.accumulate_product(h_prev.T, da)
        dh_prev = da @ self.Wh.value.T
        dx = self._input_product_backward(x, da)
        return dx, dh_prev


class TimeRNN(TimeRecurrent):
    r"""A simple recurrent layer over T steps.

    .. math:: h_t = f(x_t W_x + h_{t-1} W_h + b), \qquad t = 1, \dots, T

    It equals T objects of :class:`RNN` that share their Parameters. x Wx is one matrix product of
    all steps before the loop, and so is each weight's gradient after it.

    Parameters
    ----------
    Wx : Parameter, View, or array (D, H); or None
        None for the form without an input matrix, with D = H.
    Wh : Parameter, View, or array (H, H)
    b : Parameter or array (H,)
    activation : {"tanh", "relu"}
        The function f.
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives all states (N, T, H); it saves the input
    and the states. ``backward(dhs, dh=None)`` is backpropagation through time: the gradient with
    respect to h_t is that from above plus that from step t + 1. It gives dx (N, T, D) and leaves
    ``dh0``, where the gradient stops in truncated BPTT. Elman 1990; Werbos 1990.

    Raises
    ------
    ValueError
        If shapes do not fit, or a carried state has another batch size.

    Examples
    --------
    >>> layer = TimeRNN.init(3, 5)
    >>> layer.forward(xp.zeros((2, 4, 3), dtype="float32")).shape
    (2, 4, 5)
    """

    def __init__(
        self, Wx: Any, Wh: Any, b: Any, activation: str = "tanh", stateful: bool = False
    ) -> None:
        super().__init__(Wx, Wh, b, stateful)
        self.activation = _activation(type(self).__name__, activation)

    def _forward_loop(self, a: Array, states: States, ended: Array | None) -> tuple[States, Any]:
        (h0,) = states
        h = rnn_forward(a, self.Wh.value, h0, self.activation, ended, self._workspace)
        return (h,), None

    def _backward_loop(
        self,
        dhs: Array,
        final: States,
        states: States,
        saved: Any,
        ended: Array | None,
        watch: Watch,
    ) -> tuple[Array, States]:
        (dh,), (h,), Wh = final, states, self.Wh
        da, dh0 = rnn_backward(dhs, dh, Wh.value, h, self.activation, ended, watch, self._workspace)
        # a_t = x_t Wx + h_(t-1) Wh + b, all steps at once
        Wh.accumulate_product(steps_as_rows(h[:-1]).T, steps_as_rows(da))
        return da, (dh0,)
