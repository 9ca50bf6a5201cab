"""Gated recurrent unit, with its reset gate before or after the product: one step, and T steps."""

from __future__ import annotations

from typing import Any, NamedTuple

from deepnlp.backend import Array, Generator, xp
from deepnlp.kernels import gru_gates, gru_gates_backward, gru_output, gru_output_backward
from deepnlp.layer import expect
from deepnlp.layers.recurrent import OverTime, Recurrent, batch_first, steps_as_rows, time_first
from deepnlp.parameter import Parameter, Transpose, as_parameter


class _Kept(NamedTuple):
    """What the backward of one step needs."""

    r: Array
    z: Array
    n: Array
    u: Array  # (N, H): what the third block of Wh multiplied, r * h_prev or h_prev
    p_n: Array | None  # (N, H): h_prev Wh_n + bh_n, where r multiplies it


class _Hidden:
    """The hidden side of a GRU: Wh, bh, and where the reset gate acts.

    With ax = x Wx + b given for one step, in blocks r, z, n, and Wh in the same blocks:

    before (Cho et al. 2014)     n = tanh(ax_n + (r h_prev) Wh_n)
    after (cuDNN, PyTorch)       n = tanh(ax_n + r (h_prev Wh_n + bh_n))
    """

    def __init__(self, Wh: Parameter | Transpose, bh: Parameter | Transpose | None, after: bool):
        self.Wh, self.bh, self.after = Wh, bh, after
        self.H = Wh.shape[0]

    def step(self, ax: Array, h_prev: Array) -> tuple[Array, _Kept]:
        """New state (N, H) from the input's share ax (N, 3H) and the state before."""
        Wh, H2 = self.Wh.value, 2 * self.H
        p_n = None
        if self.after:
            p = h_prev @ Wh
            if self.bh is not None:
                p += self.bh.value
            r, z = gru_gates(ax[:, :H2] + p[:, :H2])
            u, p_n = h_prev, p[:, H2:]
            a_n = ax[:, H2:] + r * p_n
        else:
            r, z = gru_gates(ax[:, :H2] + h_prev @ Wh[:, :H2])
            u = r * h_prev
            a_n = ax[:, H2:] + u @ Wh[:, H2:]
        n = xp.tanh(a_n)
        return gru_output(n, z, h_prev), _Kept(r, z, n, u, p_n)

    def step_backward(self, dh: Array, h_prev: Array, kept: _Kept, dax: Array, dp: Array) -> Array:
        """dh_prev from dh; dax (N, 3H) and dp (N, 3H), by the product with Wh, are written."""
        r, z, n, _, p_n = kept
        Wh, H2 = self.Wh.value, 2 * self.H
        # h = (1 - z) n + z h_prev, n = tanh(a_n)
        da_n, dz, dh_prev = gru_output_backward(dh, n, z, h_prev)
        if self.after:
            # a_n = ax_n + r * p_n, p = h_prev Wh + bh
            dr = da_n * p_n
            dp[:, H2:] = da_n * r
            gru_gates_backward(dr, dz, r, z, dp[:, :H2])
            dh_prev = dh_prev + dp @ Wh.T
        else:
            # a_n = ax_n + u Wh_n, u = r * h_prev
            du = da_n @ Wh[:, H2:].T
            dr = du * h_prev
            dp[:, H2:] = da_n
            gru_gates_backward(dr, dz, r, z, dp[:, :H2])
            dh_prev = dh_prev + du * r + dp[:, :H2] @ Wh[:, :H2].T
        dax[:, :H2] = dp[:, :H2]
        dax[:, H2:] = da_n
        return dh_prev

    def accumulate(self, h_prev: Array, u: Array, dp: Array) -> None:
        """Gradients of Wh and bh over the rows of one or all steps."""
        H2 = 2 * self.H
        # the blocks r and z of Wh multiplied h_prev, the block n multiplied u
        dWh = [h_prev.T @ dp[:, :H2], u.T @ dp[:, H2:]]
        self.Wh.accumulate(xp.concatenate(dWh, axis=1))
        if self.bh is not None:
            self.bh.accumulate(xp.sum(dp, axis=0))


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
        h, kept = self._hidden().step(self._input_product(x), h_prev)
        self._keep(x, h_prev, kept)
        return h

    def backward(self, dh: Array) -> tuple[Array, Array]:
        """(dx, dh_prev) from dh."""
        x, h_prev, kept = self._take()
        N = x.shape[0]
        self._expect("dh", dh, "N H", N=N, H=self.H)
        dax = xp.empty((N, 3 * self.H), dtype=h_prev.dtype)
        dp = xp.empty_like(dax)
        hidden = self._hidden()
        dh_prev = hidden.step_backward(dh, h_prev, kept, dax, dp)
        hidden.accumulate(h_prev, kept.u, dp)
        # ax = x Wx + b
        return self._input_product_backward(x, dax), dh_prev

    def _hidden(self) -> _Hidden:
        return _Hidden(self.Wh, self.bh, self.reset_after)


class TimeGRU(OverTime):
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
        h = xp.empty((T + 1, N, self.H), dtype=dtype)  # h[t] before step t, h[t + 1] after
        (h[0],) = self._start(N, dtype)
        steps = []
        for t in range(T):
            h[t + 1], kept = hidden.step(ax[t], h[t])
            steps.append(kept)

        self._keep(x, h, steps)
        self._finish(h[T])
        return batch_first(h[1:]).copy()  # the caller's own: h is kept for backward

    def backward(self, dhs: Array) -> Array:
        """Dx from the gradients of all states; back through time, last step first."""
        x, h, steps = self._take()
        T, N, _ = x.shape
        self._expect("dhs", dhs, "N T H", N=N, T=T, H=self.H)
        hidden = self._hidden()

        dhs = time_first(dhs)
        dax = xp.empty((T, N, 3 * self.H), dtype=h.dtype)
        dp = xp.empty_like(dax)
        dh_next = xp.zeros((N, self.H), dtype=h.dtype)
        for t in reversed(range(T)):
            # h_t goes to the layer above and to step t + 1
            dh = dhs[t] + dh_next
            if self.watch is not None:
                self.watch(t, x[t], h[t], dh)
            dh_next = hidden.step_backward(dh, h[t], steps[t], dax[t], dp[t])
        self.dh0 = dh_next

        u = xp.concatenate([kept.u for kept in steps])
        hidden.accumulate(steps_as_rows(h[:T]), u, steps_as_rows(dp))
        # ax_t = x_t Wx + b
        dx = self._input_product_backward(steps_as_rows(x), steps_as_rows(dax))
        return batch_first(dx.reshape(T, N, self.D))

    def _hidden(self) -> _Hidden:
        return _Hidden(self.Wh, self.bh, self.reset_after)
