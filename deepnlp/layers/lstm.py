"""Long short-term memory: one step, and T steps at once."""

from __future__ import annotations

from typing import Any

from deepnlp.backend import Array, Generator, xp
from deepnlp.kernels import lstm_slopes, lstm_step, lstm_step_backward
from deepnlp.layers.recurrent import (
    Recurrent,
    TimeRecurrent,
    batch_first,
    steps_as_rows,
    time_first,
)
from deepnlp.parameter import Parameter


def _with_forget_bias(
    weights: tuple[Parameter, Parameter, Parameter], H: int, forget_bias: float
) -> tuple[Parameter, Parameter, Parameter]:
    """Set the second block of b, that of the gate f."""
    weights[2].value[H : 2 * H] = forget_bias
    return weights


class LSTM(Recurrent):
    r"""One step of an LSTM.

    .. math::
        a &= x W_x + h_{prev} W_h + b = [a_i, a_f, a_g, a_o] \\
        i, f, o &= \sigma(a_i), \sigma(a_f), \sigma(a_o) \qquad g = \tanh(a_g) \\
        c &= f \odot c_{prev} + i \odot g \\
        h &= o \odot \tanh(c)

    Parameters
    ----------
    Wx : Parameter, its transpose, or array (D, 4H)
        Gates in the order i, f, g, o: input, forget, new memory, output.
    Wh : Parameter, its transpose, or array (H, 4H)
    b : Parameter or array (4H,)

    Notes
    -----
    ``forward(x, h_prev, c_prev)`` gives ``(h, c)``, each (N, H); it keeps its inputs, the gates
    and tanh(c). ``backward(dh, dc)`` gives ``(dx, dh_prev, dc_prev)``; the element-wise part of
    both is in :func:`deepnlp.kernels.lstm_step`. Hochreiter and Schmidhuber 1997; the forget gate
    is from Gers, Schmidhuber and Cummins 2000.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> step = LSTM.init(3, 2, dtype="float64")
    >>> h, c = step.forward(xp.ones((1, 3)), xp.zeros((1, 2)), xp.zeros((1, 2)))
    >>> h.shape, c.shape
    ((1, 2), (1, 2))
    """

    _gates = 4

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Generator | None = None,
        dtype: Any = "float32",
        forget_bias: float = 1.0,
    ) -> LSTM:
        """Fresh weights: Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b zero but for the forget gate.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        forget_bias : float
            With 1 the gate starts mostly open (f about 0.73), so that memory lasts.

        Returns
        -------
        LSTM
        """
        return cls(*_with_forget_bias(cls._fresh_weights(D, H, rng, dtype), H, forget_bias))

    def forward(self, x: Array, h_prev: Array, c_prev: Array) -> tuple[Array, Array]:
        """(h, c) from x and the state before."""
        self._expect_step(x, h_prev=h_prev, c_prev=c_prev)
        p = h_prev @ self.Wh.value
        dtype = xp.result_type(p.dtype, x.dtype, c_prev.dtype)
        gates = self._input_product(x).astype(dtype, copy=False)
        h, c, tanh_c = (xp.empty(c_prev.shape, dtype=dtype) for _ in range(3))
        lstm_step(gates, p, c_prev, h, c, tanh_c)
        self.save_for_backward(x, h_prev, c_prev, gates, tanh_c)
        return h, c

    def backward(self, dh: Array, dc: Array) -> tuple[Array, Array, Array]:
        """(dx, dh_prev, dc_prev) from the gradients of both outputs."""
        x, h_prev, c_prev, gates, tanh_c = self.saved()
        self._expect("dh", dh, "N H", N=x.shape[0], H=self.H)
        self._expect("dc", dc, "N H", N=x.shape[0], H=self.H)
        # h, c from a and c_prev
        da, dc_prev = xp.empty_like(gates), dc.astype(gates.dtype)
        lstm_slopes(gates[None], c_prev[None], tanh_c[None], da[None])
        lstm_step_backward(dh, xp.zeros_like(dh), dc_prev, gates, tanh_c, da)
        # a = x Wx + h_prev Wh + b
        self.Wh.accumulate_product(h_prev.T, da)
        dh_prev = da @ self.Wh.value.T
        dx = self._input_product_backward(x, da)
        return dx, dh_prev, dc_prev


class TimeLSTM(TimeRecurrent):
    r"""An LSTM over T steps.

    .. math::
        a_t &= x_t W_x + h_{t-1} W_h + b \\
        c_t &= \sigma(a_{t,f}) \odot c_{t-1} + \sigma(a_{t,i}) \odot \tanh(a_{t,g}) \\
        h_t &= \sigma(a_{t,o}) \odot \tanh(c_t)

    It equals T objects of :class:`LSTM` that share their Parameters. The input product of all
    steps is one matrix product before the loop, the weight gradients are one each after it.

    Parameters
    ----------
    Wx : Parameter, its transpose, or array (D, 4H)
        Gates in the order i, f, g, o.
    Wh : Parameter, its transpose, or array (H, 4H)
    b : Parameter or array (4H,)
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x)`` takes (N, T, D) and gives all states h (N, T, H); ``h`` and ``c`` hold the last
    ones. ``backward(dhs)`` gives dx (N, T, D) and leaves ``dh0`` and ``dc0``. Two paths lead back
    in time: through h by the product with Wh^T, and through c by the product with the forget gate
    alone, which is why an LSTM can remember. Hochreiter and Schmidhuber 1997.

    Raises
    ------
    ValueError
        If shapes do not fit, or a carried state has another batch size.

    Examples
    --------
    >>> layer = TimeLSTM.init(3, 5)
    >>> layer.forward(xp.zeros((2, 4, 3), dtype="float32")).shape
    (2, 4, 5)
    >>> layer.c.shape
    (2, 5)
    """

    _gates = 4
    _states = ("h", "c")

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Generator | None = None,
        dtype: Any = "float32",
        stateful: bool = False,
        forget_bias: float = 1.0,
    ) -> TimeLSTM:
        """Fresh weights: Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b zero but for the forget gate.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        stateful : bool
        forget_bias : float
            With 1 the gate starts mostly open (f about 0.73), so that memory lasts.

        Returns
        -------
        TimeLSTM
        """
        weights = _with_forget_bias(cls._fresh_weights(D, H, rng, dtype), H, forget_bias)
        return cls(*weights, stateful=stateful)

    def forward(self, x: Array) -> Array:
        """All states h_1 ... h_T from all inputs x_1 ... x_T."""
        self._expect("x", x, "N T D", D=self.D)
        N, T, _ = x.shape
        Wh = self.Wh.value

        x = time_first(x)
        a = self._input_product(steps_as_rows(x)).reshape(T, N, 4 * self.H)
        dtype = xp.result_type(a.dtype, Wh.dtype)
        a = a.astype(dtype, copy=False)
        h = self._workspace("h", (T + 1, N, self.H), dtype)  # h[t] before step t, h[t + 1] after
        c = self._workspace("c", (T + 1, N, self.H), dtype)
        tanh_c = self._workspace("tanh_c", (T, N, self.H), dtype)
        p = xp.empty((N, 4 * self.H), dtype=dtype)
        h[0], c[0] = self._start(N, dtype)
        for t in range(T):
            xp.matmul(h[t], Wh, out=p)
            lstm_step(a[t], p, c[t], h[t + 1], c[t + 1], tanh_c[t])  # a[t] becomes the gates

        self.save_for_backward(x, h, c, a, tanh_c)
        self._finish(h[T], c[T])
        return batch_first(h[1:]).copy()  # the caller's own: h is kept for backward

    def advance(self, x: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
        """One step from given states; see :meth:`TimeRecurrent.advance`."""
        h_prev, c_prev = states
        a, p = self._input_product(x), h_prev @ self.Wh.value
        h, c, tanh_c = xp.empty((3, *c_prev.shape), dtype=c_prev.dtype)
        lstm_step(a, p, c_prev, h, c, tanh_c)
        return h, c

    def backward(self, dhs: Array) -> Array:
        """Dx from the gradients of all states; back through time, last step first."""
        x, h, c, gates, tanh_c = self.saved()
        T, N, _ = x.shape
        self._expect("dhs", dhs, "N T H", N=N, T=T, H=self.H)
        Wh = self.Wh.value

        dhs = time_first(dhs)
        da = self._workspace("da", gates.shape, gates.dtype)
        lstm_slopes(gates, c[:T], tanh_c, da)  # dc/da and dh/da for all t; tanh_c becomes dh/dc
        dh_next = xp.zeros((N, self.H), dtype=h.dtype)
        dc_next = xp.zeros_like(dh_next)
        for t in reversed(range(T)):
            # h_t goes to the layer above and to step t + 1; c_t to step t + 1
            if self.watch is not None:
                self.watch(t, x[t], h[t], dhs[t] + dh_next, c[t], dc_next.copy())
            lstm_step_backward(dhs[t], dh_next, dc_next, gates[t], tanh_c[t], da[t])
            # a_t = x_t Wx + h_(t-1) Wh + b
            dh_next = (Wh @ da[t].T).T  # da Wh^T, in the order that reads Wh as it lies
        self.dh0, self.dc0 = dh_next, dc_next

        da_rows = steps_as_rows(da)
        self.Wh.accumulate_product(steps_as_rows(h[:T]).T, da_rows)
        dx = self._input_product_backward(steps_as_rows(x), da_rows)
        return batch_first(dx.reshape(T, N, self.D))
