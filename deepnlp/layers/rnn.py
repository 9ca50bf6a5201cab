"""The simple recurrent layer of Elman 1990: one step, and T steps at once."""

from __future__ import annotations

from typing import Any

from deepnlp.backend import Array, Generator, xp
from deepnlp.kernels import ACTIVATIONS, rnn_slopes, rnn_step, rnn_step_backward
from deepnlp.layers.recurrent import (
    Recurrent,
    TimeRecurrent,
    batch_first,
    steps_as_rows,
    time_first,
)


def _activation(owner: str, name: str) -> str:
    if name not in ACTIVATIONS:
        raise ValueError(f"{owner}: activation should be 'tanh' or 'relu', got {name!r}")
    return name


class RNN(Recurrent):
    r"""One step of a simple recurrent layer.

    .. math:: h = f(x W_x + h_{prev} W_h + b)

    Parameters
    ----------
    Wx : Parameter, its transpose, or array (D, H); or None
        None for the form without an input matrix, h = f(x + h_prev Wh + b), with D = H.
    Wh : Parameter, its transpose, or array (H, H)
    b : Parameter or array (H,)
    activation : {"tanh", "relu"}
        The function f.

    Notes
    -----
    ``forward(x, h_prev)`` takes (N, D) and (N, H), gives h (N, H), and keeps all three.
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

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Generator | None = None,
        dtype: Any = "float32",
        activation: str = "tanh",
    ) -> RNN:
        """Fresh weights: Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b zero.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        activation : {"tanh", "relu"}

        Returns
        -------
        RNN
        """
        return cls(*cls._fresh_weights(D, H, rng, dtype), activation=activation)

    def forward(self, x: Array, h_prev: Array) -> Array:
        """h = f(x Wx + h_prev Wh + b)."""
        self._expect_step(x, h_prev=h_prev)
        a = self._input_product(x) + h_prev @ self.Wh.value
        h = ACTIVATIONS[self.activation].function(a)
        self.save_for_backward(x, h_prev, h)
        return h

    def backward(self, dh: Array) -> tuple[Array, Array]:
        """(dx, dh_prev) from dh."""
        x, h_prev, h = self.saved()
        self._expect("dh", dh, "N H", N=h.shape[0], H=self.H)
        # h = f(a)
        da = dh * ACTIVATIONS[self.activation].grad(h)
        # a = x Wx + h_prev Wh + b
        self.Wh.accumulate_product(h_prev.T, da)
        dh_prev = da @ self.Wh.value.T
        dx = self._input_product_backward(x, da)
        return dx, dh_prev


class TimeRNN(TimeRecurrent):
    r"""A simple recurrent layer over T steps.

    .. math:: h_t = f(x_t W_x + h_{t-1} W_h + b), \qquad t = 1, \dots, T

    It equals T objects of :class:`RNN` that share their Parameters. The input product of all
    steps is one matrix product before the loop, the weight gradients are one each after it.

    Parameters
    ----------
    Wx : Parameter, its transpose, or array (D, H); or None
        None for the form without an input matrix, with D = H.
    Wh : Parameter, its transpose, or array (H, H)
    b : Parameter or array (H,)
    activation : {"tanh", "relu"}
        The function f.
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x)`` takes (N, T, D) and gives all states (N, T, H); it keeps the input and the
    states. ``backward(dhs)`` is backpropagation through time: the gradient by h_t is that from
    above plus that from step t + 1. It gives dx (N, T, D) and leaves ``dh0``. The gradient stops
    at the first step (truncated BPTT). Elman 1990; Werbos 1990.

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

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Generator | None = None,
        dtype: Any = "float32",
        activation: str = "tanh",
        stateful: bool = False,
    ) -> TimeRNN:
        """Fresh weights: Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b zero.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        activation : {"tanh", "relu"}
        stateful : bool

        Returns
        -------
        TimeRNN
        """
        return cls(*cls._fresh_weights(D, H, rng, dtype), activation, stateful)

    def forward(self, x: Array) -> Array:
        """All states h_1 ... h_T from all inputs x_1 ... x_T."""
        self._expect("x", x, "N T D", D=self.D)
        N, T, _ = x.shape
        Wh = self.Wh.value

        x = time_first(x)
        a = self._input_product(steps_as_rows(x)).reshape(T, N, self.H)
        dtype = xp.result_type(a.dtype, Wh.dtype)
        a = a.astype(dtype, copy=False)
        h = self._workspace("h", (T + 1, N, self.H), dtype)  # h[t] before step t, h[t + 1] after
        p = xp.empty((N, self.H), dtype=dtype)
        (h[0],) = self._start(N, dtype)
        for t in range(T):
            xp.matmul(h[t], Wh, out=p)
            rnn_step(a[t], p, h[t + 1], self.activation)

        self.save_for_backward(x, h)
        self._finish(h[T])
        return batch_first(h[1:]).copy()  # the caller's own: h is kept for backward

    def advance(self, x: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
        """One step from given states; see :meth:`TimeRecurrent.advance`."""
        (h_prev,) = states
        h = xp.empty_like(h_prev)
        rnn_step(self._input_product(x), h_prev @ self.Wh.value, h, self.activation)
        return (h,)

    def backward(self, dhs: Array) -> Array:
        """Dx from the gradients of all states; back through time, last step first."""
        x, h = self.saved()
        T, N, _ = x.shape
        self._expect("dhs", dhs, "N T H", N=N, T=T, H=self.H)
        Wh = self.Wh.value

        dhs = time_first(dhs)
        da = self._workspace("da", (T, N, self.H), h.dtype)
        rnn_slopes(h[1:], da, self.activation)  # f'(a_t), for all t
        dh_next = xp.zeros((N, self.H), dtype=h.dtype)
        for t in reversed(range(T)):
            # h_t goes to the layer above and to step t + 1
            if self.watch is not None:
                self.watch(t, x[t], h[t], dhs[t] + dh_next)
            # h_t = f(a_t)
            rnn_step_backward(dhs[t], dh_next, da[t])
            # a_t = x_t Wx + h_(t-1) Wh + b
            dh_next = (Wh @ da[t].T).T  # da Wh^T, in the order that reads Wh as it lies
        self.dh0 = dh_next

        da_rows = steps_as_rows(da)
        self.Wh.accumulate_product(steps_as_rows(h[:T]).T, da_rows)
        dx = self._input_product_backward(steps_as_rows(x), da_rows)
        return batch_first(dx.reshape(T, N, self.D))
