"""Long short-term memory: one step, and T steps at once."""

from __future__ import annotations

from typing import Any, Self

from deepnlp.backend import Array, Generator, xp
from deepnlp.backend.functions import sigmoid, sigmoid_grad, split_gates, tanh_grad
from deepnlp.kernels import New, Watch, kernel
from deepnlp.layers.recurrent import Recurrent, States, TimeRecurrent, steps_as_rows

LARGEST_BIAS = 1000.0  # of a forget gate that starts open or shut


def lstm_step(a: Array, c_prev: Array) -> tuple[Array, Array, tuple[Array, ...]]:
    """One step from the pre-activation a = x Wx + h_prev Wh + b, (N, 4H).

    Gives h and c, (N, H), and what the step backward needs: i, f, g, o and tanh(c).
    """
    a_i, a_f, a_g, a_o = split_gates(a, 4)
    i = sigmoid(a_i)  # input gate
    f = sigmoid(a_f)  # forget gate
    g = xp.tanh(a_g)  # new memory
    o = sigmoid(a_o)  # output gate
    c = f * c_prev + i * g
    tanh_c = xp.tanh(c)
    h = o * tanh_c
    return h, c, (i, f, g, o, tanh_c)


def lstm_step_backward(
    dh: Array, dc: Array, c_prev: Array, saved: tuple[Array, ...]
) -> tuple[Array, Array]:
    """Back through :func:`lstm_step`: da (N, 4H) and dc_prev (N, H).

    dh and dc are the gradients with respect to both outputs, (N, H).
    """
    i, f, g, o, tanh_c = saved
    # h = o * tanh(c)
    do = dh * tanh_c
    dc = dc + dh * o * tanh_grad(tanh_c)
    # c = f * c_prev + i * g
    df = dc * c_prev
    dc_prev = dc * f
    di = dc * g
    dg = dc * i
    # i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o) and g = tanh(a_g)
    da_i = di * sigmoid_grad(i)
    da_f = df * sigmoid_grad(f)
    da_g = dg * tanh_grad(g)
    da_o = do * sigmoid_grad(o)
    return xp.concatenate([da_i, da_f, da_g, da_o], axis=1), dc_prev


@kernel
def lstm_forward(
    a: Array, Wh: Array, h0: Array, c0: Array, ended: Array | None, new: New
) -> tuple[Array, Array, Any]:
    """All states of the loop over time.

    a (T, N, 4H) holds x_t Wx + b and may be overwritten; ``ended`` (T, N, 1) says which sequences
    have ended before step t; ``new(name, shape, dtype)`` gives memory. The states h and c are
    (T + 1, N, H), with h[t] before step t; what is saved is for :func:`lstm_backward`.
    """
    (T, N, _), H = a.shape, Wh.shape[0]
    h, c = new("h", (T + 1, N, H), a.dtype), new("c", (T + 1, N, H), a.dtype)
    h[0], c[0] = h0, c0
    saved = []
    for t in range(T):
        h[t + 1], c[t + 1], saved_t = lstm_step(a[t] + h[t] @ Wh, c[t])
        saved.append(saved_t)
        if ended is not None:  # past its end a sequence holds its state
            h[t + 1] = xp.where(ended[t], h[t], h[t + 1])
            c[t + 1] = xp.where(ended[t], c[t], c[t + 1])
    return h, c, saved


@kernel
def lstm_backward(
    dhs: Array,
    dh: Array,
    dc: Array,
    Wh: Array,
    h: Array,
    c: Array,
    saved: Any,
    ended: Array | None,
    watch: Watch,
    new: New,
) -> tuple[Array, Array, Array]:
    """Back through :func:`lstm_forward`, last step first.

    dhs (T, N, H) are the gradients from the layer above, dh and dc (N, H) those with respect to
    the last state. Gives da (T, N, 4H) and the gradients with respect to the first state.
    """
    (T, N, H) = dhs.shape
    da = new("da", (T, N, 4 * H), h.dtype)
    for t in reversed(range(T)):
        # h_t goes to the layer above and to step t + 1; c_t to step t + 1
        dh = dhs[t] + dh
        if watch is not None:
            watch(t, h[t], dh, c[t], dc)
        # h_t, c_t from a_t and c_(t-1)
        da[t], dc_prev = lstm_step_backward(dh, dc, c[t], saved[t])
        if ended is not None:  # h_t, c_t = h_(t-1), c_(t-1) past the end
            da[t] = xp.where(ended[t], 0, da[t])
        # a_t = x_t Wx + h_(t-1) Wh + b
        dh_prev = da[t] @ Wh.T
        if ended is not None:
            dh_prev, dc_prev = xp.where(ended[t], dh, dh_prev), xp.where(ended[t], dc, dc_prev)
        dh, dc = dh_prev, dc_prev
    return da, dh, dc


class _LSTMWeights(Recurrent):
    """Weights of the four gates i, f, g, o, for one step and for T steps."""

    _gates = 4
    _states = ("h", "c")

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Generator | None = None,
        dtype: Any = "float32",
        forget_bias: float = 1.0,
        **options: Any,
    ) -> Self:
        """Fresh weights: Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b zero but for the gate f.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        forget_bias : float
            With 1 the gate starts mostly open (f about 0.73), so that memory lasts.
        **options
            Other arguments of the constructor, such as ``stateful``.

        Returns
        -------
        layer
        """
        layer = super().init(D, H, rng, dtype, **options)
        if not abs(forget_bias) <= LARGEST_BIAS:
            raise ValueError(
                f"{cls.__name__}: forget_bias should be from {-LARGEST_BIAS:g} to "
                f"{LARGEST_BIAS:g}, got {forget_bias}"
            )
        layer.b.value[H : 2 * H] = forget_bias  # the second block of b, that of the gate f
        return layer


class LSTM(_LSTMWeights):
    r"""One step of an LSTM.

    .. math::
        a &= x W_x + h_{prev} W_h + b = [a_i, a_f, a_g, a_o] \\
        i, f, o &= \sigma(a_i), \sigma(a_f), \sigma(a_o) \qquad g = \tanh(a_g) \\
        c &= f \odot c_{prev} + i \odot g \\
        h &= o \odot \tanh(c)

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 4H)
        Gates in the order i, f, g, o: input, forget, new memory, output.
    Wh : Parameter, View, or array (H, 4H)
    b : Parameter or array (4H,)

    Notes
    -----
    ``forward(x, h_prev, c_prev)`` gives ``(h, c)``, each (N, H); it saves its inputs, the gates
    and tanh(c). ``backward(dh, dc)`` gives ``(dx, dh_prev, dc_prev)``. Hochreiter and Schmidhuber
    1997; the forget gate is from Gers, Schmidhuber and Cummins 2000.

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

    def forward(self, x: Array, h_prev: Array, c_prev: Array) -> tuple[Array, Array]:
        """(h, c) from x and the state before."""
        self._expect_step(x, h_prev=h_prev, c_prev=c_prev)
        h, c, saved = lstm_step(self._input_product(x) + h_prev @ self.Wh.value, c_prev)
        self.save_for_backward(x, h_prev, c_prev, saved)
        return h, c

    def backward(self, dh: Array, dc: Array) -> tuple[Array, Array, Array]:
        """(dx, dh_prev, dc_prev) from the gradients of both outputs."""
        x, h_prev, c_prev, saved = self.saved()
        self._expect("dh", dh, "N H", N=x.shape[0], H=self.H)
        self._expect("dc", dc, "N H", N=x.shape[0], H=self.H)
        # h, c from a and c_prev
        da, dc_prev = lstm_step_backward(dh, dc, c_prev, saved)
        # a = x Wx + h_prev Wh + b
        self.Wh.accumulate_product(h_prev.T, da)
        dh_prev = da @ self.Wh.value.T
        dx = self._input_product_backward(x, da)
        return dx, dh_prev, dc_prev


class TimeLSTM(_LSTMWeights, TimeRecurrent):
    r"""An LSTM over T steps.

    .. math::
        a_t &= x_t W_x + h_{t-1} W_h + b \\
        c_t &= \sigma(a_{t,f}) \odot c_{t-1} + \sigma(a_{t,i}) \odot \tanh(a_{t,g}) \\
        h_t &= \sigma(a_{t,o}) \odot \tanh(c_t)

    It equals T objects of :class:`LSTM` that share their Parameters. x Wx is one matrix product of
    all steps before the loop, and so is each weight's gradient after it.

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 4H)
        Gates in the order i, f, g, o.
    Wh : Parameter, View, or array (H, 4H)
    b : Parameter or array (4H,)
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives all states h (N, T, H); ``h`` and ``c``
    hold the last ones. ``backward(dhs, dh=None, dc=None)`` gives dx (N, T, D) and leaves ``dh0``
    and ``dc0``. Two paths lead back in time: through h by the product with Wh^T, and through c by
    the product with the forget gate alone, which is why an LSTM can remember. Hochreiter and
    Schmidhuber 1997.

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

    def _forward_loop(self, a: Array, states: States, ended: Array | None) -> tuple[States, Any]:
        h0, c0 = states
        h, c, saved = lstm_forward(a, self.Wh.value, h0, c0, ended, self._workspace)
        return (h, c), saved

    def _backward_loop(
        self,
        dhs: Array,
        final: States,
        states: States,
        saved: Any,
        ended: Array | None,
        watch: Watch,
    ) -> tuple[Array, States]:
        (dh, dc), (h, c), Wh = final, states, self.Wh
        da, dh0, dc0 = lstm_backward(
            dhs, dh, dc, Wh.value, h, c, saved, ended, watch, self._workspace
        )
        # a_t = x_t Wx + h_(t-1) Wh + b, all steps at once
        Wh.accumulate_product(steps_as_rows(h[:-1]).T, steps_as_rows(da))
        return da, (dh0, dc0)
