"""Gated recurrent unit, with its reset gate before or after the product: one step, and T steps."""

from __future__ import annotations

from typing import Any

from deepnlp.backend import Array, Generator, xp
from deepnlp.kernels import (
    gru_gates,
    gru_gates_backward,
    gru_output,
    gru_output_backward,
    gru_slopes,
    gru_step,
    gru_step_backward,
    sum_rows,
)
from deepnlp.layer import expect
from deepnlp.layers.recurrent import (
    Recurrent,
    TimeRecurrent,
    batch_first,
    steps_as_rows,
    time_first,
)
from deepnlp.parameter import Parameter, Transpose, as_parameter


class _Hidden:
    """The hidden side of a GRU for N rows: Wh, bh, and where the reset gate acts.

    With ax = x Wx + b given for one step, in blocks r, z, n, and Wh in the same blocks:

    before (Cho et al. 2014)     n = tanh(ax_n + (r h_prev) Wh_n)
    after (cuDNN, PyTorch)       n = tanh(ax_n + r (h_prev Wh_n + bh_n))

    What a step keeps besides its gates is v: before, u = r h_prev (N, H); after, the product
    p = h_prev Wh + bh (N, 3H).
    """

    def __init__(self, Wh: Parameter | Transpose, bh: Parameter | Transpose | None, after: bool):
        self.Wh, self.bh, self.after = Wh, bh, after
        self.H = Wh.shape[0]
        self.width = 3 * self.H if after else self.H  # of v

    def step(self, ax: Array, h_prev: Array, v: Array, h: Array) -> None:
        """One step: ax (N, 3H) becomes the gates; v (N, width) and h (N, H) are written."""
        Wh, H2 = self.Wh.value, 2 * self.H
        if self.after:
            xp.matmul(h_prev, Wh, out=v)
            gru_step(ax, v, None if self.bh is None else self.bh.value, h_prev, h)
        else:
            gru_gates(ax, h_prev @ Wh[:, :H2], h_prev, v)
            gru_output(ax, v @ Wh[:, H2:], h_prev, h)

    def slopes(self, gates: Array, h_prev: Array, v: Array, dax: Array) -> None:
        """Factors of all steps, written into dax (T, N, 3H)."""
        gru_slopes(gates, h_prev, v[..., 2 * self.H :] if self.after else None, dax)

    def step_backward(
        self, dh: Array, dh_next: Array, carry: Array, gates: Array, dax: Array, dp: Array
    ) -> Array:
        """Back through :meth:`step`: the gradient by h_prev that comes through Wh.

        What comes past Wh is in carry (N, H). dax and dp (N, 3H) go from factors to gradients by
        ax and by the product with Wh; before, they are one array.
        """
        Wh, H2 = self.Wh.value, 2 * self.H
        if self.after:
            # p = h_prev Wh + bh
            gru_step_backward(dh, dh_next, carry, gates, dax, dp)
            return (Wh @ dp.T).T
        # a_n = ax_n + u Wh_n, u = r * h_prev, and a_r, a_z = ax_r, ax_z + h_prev Wh_r, Wh_z
        gru_output_backward(dh, dh_next, carry, gates, dax)
        du = (Wh[:, H2:] @ dax[:, H2:].T).T
        gru_gates_backward(du, carry, gates, dax)
        return (Wh[:, :H2] @ dax[:, :H2].T).T

    def accumulate(self, h_prev: Array, v: Array, dp: Array) -> None:
        """Gradients of Wh and bh over the rows of one or all steps."""
        if self.after:
            self.Wh.accumulate_product(h_prev.T, dp)
            if self.bh is not None:
                self.bh.accumulate(sum_rows(dp))
            return
        # the blocks r and z of Wh multiplied h_prev, the block n multiplied u
        H2 = 2 * self.H
        dWh = [h_prev.T @ dp[:, :H2], v.T @ dp[:, H2:]]
        self.Wh.accumulate(xp.concatenate(dWh, axis=1))


def _check_bh(owner: str, bh: Any, reset_after: bool, H: int) -> Parameter | Transpose | None:
    if bh is None:
        return None
    if not reset_after:
        raise ValueError(
            f"{owner}: bh is the hidden bias of the form with reset_after=True; "
            "leave it out, or set reset_after=True"
        )
    bh = as_parameter(bh, "bh")
    expect(owner, "bh", bh.value, "3H", **{"3H": 3 * H})
    return bh


def _fresh_bh(H: int, dtype: Any, reset_after: bool) -> Parameter | None:
    return Parameter.zeros(3 * H, dtype=dtype, name="bh") if reset_after else None


class GRU(Recurrent):
    r"""One step of a gated recurrent unit.

    .. math::
        r &= \sigma(x W_{x,r} + h_{prev} W_{h,r} + b_r) \\
        z &= \sigma(x W_{x,z} + h_{prev} W_{h,z} + b_z) \\
        n &= \tanh(x W_{x,n} + (r \odot h_{prev}) W_{h,n} + b_n) \\
        h &= (1 - z) \odot n + z \odot h_{prev}

    With ``reset_after=True`` the reset gate acts after the product, as in cuDNN and PyTorch, and
    the hidden side may have a bias of its own:

    .. math:: n = \tanh(x W_{x,n} + b_n + r \odot (h_{prev} W_{h,n} + b_{h,n}))

    Parameters
    ----------
    Wx : Parameter, its transpose, or array (D, 3H)
        Blocks in the order r, z, n: reset, update, new.
    Wh : Parameter, its transpose, or array (H, 3H)
    b : Parameter or array (3H,)
    bh : Parameter or array (3H,), optional
        Only with ``reset_after=True``.
    reset_after : bool

    Notes
    -----
    ``forward(x, h_prev)`` gives h (N, H); ``backward(dh)`` gives ``(dx, dh_prev)``. Cho et al.
    2014, eq. 5-8; Chung et al. 2014 write z for our 1 - z.

    Raises
    ------
    ValueError
        If shapes do not fit, or bh is given without ``reset_after=True``.

    Examples
    --------
    >>> step = GRU.init(3, 2, dtype="float64")
    >>> step.forward(xp.ones((1, 3)), xp.zeros((1, 2))).shape
    (1, 2)
    """

    _gates = 3

    def __init__(self, Wx: Any, Wh: Any, b: Any, bh: Any = None, reset_after: bool = False) -> None:
        super().__init__(Wx, Wh, b)
        self.bh = _check_bh(type(self).__name__, bh, reset_after, self.H)
        self.reset_after = reset_after

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Generator | None = None,
        dtype: Any = "float32",
        reset_after: bool = False,
    ) -> GRU:
        """Fresh weights: Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b (and bh) zero.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        reset_after : bool
            The form with bh.

        Returns
        -------
        GRU
        """
        weights = cls._fresh_weights(D, H, rng, dtype)
        return cls(*weights, _fresh_bh(H, dtype, reset_after), reset_after)

    def forward(self, x: Array, h_prev: Array) -> Array:
        """New state from x and the state before."""
        self._expect_step(x, h_prev=h_prev)
        hidden = self._hidden()
        dtype = xp.result_type(x.dtype, h_prev.dtype, self.Wh.dtype)
        gates = self._input_product(x).astype(dtype, copy=False)
        v, h = (xp.empty((len(x), width), dtype=dtype) for width in (hidden.width, self.H))
        hidden.step(gates, h_prev, v, h)
        self.save_for_backward(x, h_prev, gates, v)
        return h

    def backward(self, dh: Array) -> tuple[Array, Array]:
        """(dx, dh_prev) from dh."""
        x, h_prev, gates, v = self.saved()
        self._expect("dh", dh, "N H", N=x.shape[0], H=self.H)
        hidden = self._hidden()
        dax = xp.empty_like(gates)
        dp = xp.empty_like(gates) if self.reset_after else dax
        hidden.slopes(gates[None], h_prev[None], v[None], dax[None])
        carry = xp.zeros(dh.shape, dtype=gates.dtype)
        dh_prev = hidden.step_backward(dh, carry.copy(), carry, gates, dax, dp) + carry
        hidden.accumulate(h_prev, v, dp)
        # ax = x Wx + b
        return self._input_product_backward(x, dax), dh_prev

    def _hidden(self) -> _Hidden:
        return _Hidden(self.Wh, self.bh, self.reset_after)


class TimeGRU(TimeRecurrent):
    r"""A gated recurrent unit over T steps.

    .. math::
        h_t = (1 - z_t) \odot n_t + z_t \odot h_{t-1}

    with the gates of :class:`GRU`, of which it equals T objects that share their Parameters.

    Parameters
    ----------
    Wx : Parameter, its transpose, or array (D, 3H)
        Blocks in the order r, z, n.
    Wh : Parameter, its transpose, or array (H, 3H)
    b : Parameter or array (3H,)
    bh : Parameter or array (3H,), optional
        Only with ``reset_after=True``.
    reset_after : bool
        Whether the reset gate acts after the product, as in cuDNN and PyTorch.
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x)`` takes (N, T, D) and gives all states (N, T, H). ``backward(dhs)`` gives dx
    (N, T, D) and leaves ``dh0``. Cho et al. 2014.

    Raises
    ------
    ValueError
        If shapes do not fit, bh is given without ``reset_after=True``, or a carried state has
        another batch size.

    Examples
    --------
    >>> layer = TimeGRU.init(3, 5)
    >>> layer.forward(xp.zeros((2, 4, 3), dtype="float32")).shape
    (2, 4, 5)
    """

    _gates = 3

    def __init__(
        self,
        Wx: Any,
        Wh: Any,
        b: Any,
        bh: Any = None,
        reset_after: bool = False,
        stateful: bool = False,
    ) -> None:
        super().__init__(Wx, Wh, b, stateful)
        self.bh = _check_bh(type(self).__name__, bh, reset_after, self.H)
        self.reset_after = reset_after

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Generator | None = None,
        dtype: Any = "float32",
        reset_after: bool = False,
        stateful: bool = False,
    ) -> TimeGRU:
        """Fresh weights: Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b (and bh) zero.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        reset_after : bool
            The form with bh.
        stateful : bool

        Returns
        -------
        TimeGRU
        """
        weights = cls._fresh_weights(D, H, rng, dtype)
        return cls(*weights, _fresh_bh(H, dtype, reset_after), reset_after, stateful)

    def forward(self, x: Array) -> Array:
        """All states h_1 ... h_T from all inputs x_1 ... x_T."""
        self._expect("x", x, "N T D", D=self.D)
        N, T, _ = x.shape
        hidden = self._hidden()

        x = time_first(x)
        ax = self._input_product(steps_as_rows(x)).reshape(T, N, 3 * self.H)
        dtype = xp.result_type(ax.dtype, self.Wh.dtype)
        ax = ax.astype(dtype, copy=False)
        h = self._workspace("h", (T + 1, N, self.H), dtype)  # h[t] before step t, h[t + 1] after
        v = self._workspace("v", (T, N, hidden.width), dtype)
        (h[0],) = self._start(N, dtype)
        for t in range(T):
            hidden.step(ax[t], h[t], v[t], h[t + 1])  # ax[t] becomes the gates

        self.save_for_backward(x, h, ax, v)
        self._finish(h[T])
        return batch_first(h[1:]).copy()  # the caller's own: h is kept for backward

    def advance(self, x: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
        """One step from given states; see :meth:`TimeRecurrent.advance`."""
        (h_prev,) = states
        hidden = self._hidden()
        v = xp.empty((len(x), hidden.width), dtype=h_prev.dtype)
        h = xp.empty_like(h_prev)
        hidden.step(self._input_product(x), h_prev, v, h)
        return (h,)

    def backward(self, dhs: Array) -> Array:
        """Dx from the gradients of all states; back through time, last step first."""
        x, h, gates, v = self.saved()
        T, N, _ = x.shape
        self._expect("dhs", dhs, "N T H", N=N, T=T, H=self.H)
        hidden = self._hidden()

        dhs = time_first(dhs)
        dax = self._workspace("dax", gates.shape, gates.dtype)
        dp = self._workspace("dp", gates.shape, gates.dtype) if self.reset_after else dax
        hidden.slopes(gates, h[:T], v, dax)
        dh_next = xp.zeros((N, self.H), dtype=h.dtype)
        carry = xp.zeros_like(dh_next)
        for t in reversed(range(T)):
            # h_t goes to the layer above and to step t + 1, past Wh (carry) and through it
            if self.watch is not None:
                self.watch(t, x[t], h[t], dhs[t] + dh_next + carry)
            dh_next = hidden.step_backward(dhs[t], dh_next, carry, gates[t], dax[t], dp[t])
        self.dh0 = dh_next + carry

        hidden.accumulate(steps_as_rows(h[:T]), steps_as_rows(v), steps_as_rows(dp))
        # ax_t = x_t Wx + b
        dx = self._input_product_backward(steps_as_rows(x), steps_as_rows(dax))
        return batch_first(dx.reshape(T, N, self.D))

    def _hidden(self) -> _Hidden:
        return _Hidden(self.Wh, self.bh, self.reset_after)
