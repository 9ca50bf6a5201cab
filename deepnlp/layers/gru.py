"""Gated recurrent unit, with its reset gate before or after the product: one step, and T steps."""

from __future__ import annotations

from typing import Any, Self

from deepnlp.backend import Array, Generator, xp
from deepnlp.backend.functions import column_sums, sigmoid, sigmoid_grad, split_gates, tanh_grad
from deepnlp.backend.products import product
from deepnlp.kernels import New, Watch, kernel
from deepnlp.layer import expect
from deepnlp.layers.recurrent import Recurrent, States, TimeRecurrent, steps_as_rows
from deepnlp.parameter import Parameter, View, as_parameter


def gru_step(
    a: Array, h_prev: Array, Wh: Array, bh: Array | None, reset_after: bool
) -> tuple[Array, Array, tuple[Array, ...]]:
    """One step from the input's part a = x Wx + b, (N, 3H).

    Gives h (N, H); u (N, H), which Wh_n is multiplied with; and what the step backward needs.
    """
    H = len(Wh)
    a_r, a_z, a_n = split_gates(a, 3)
    if reset_after:
        p = h_prev @ Wh if bh is None else h_prev @ Wh + bh
        p_r, p_z, p_n = split_gates(p, 3)
        r = sigmoid(a_r + p_r)  # reset gate
        z = sigmoid(a_z + p_z)  # update gate
        u = h_prev
        n = xp.tanh(a_n + r * p_n)  # new state
    else:
        p_r, p_z = split_gates(h_prev @ Wh[:, : 2 * H], 2)
        r = sigmoid(a_r + p_r)
        z = sigmoid(a_z + p_z)
        u = r * h_prev
        p_n = u @ Wh[:, 2 * H :]
        n = xp.tanh(a_n + p_n)
    h = (1 - z) * n + z * h_prev
    return h, u, (r, z, n, p_n)


def gru_step_backward(
    dh: Array, h_prev: Array, Wh: Array, saved: tuple[Array, ...], reset_after: bool
) -> tuple[Array, Array, Array]:
    """Back through :func:`gru_step`.

    Gives da and dp (N, 3H), the gradients with respect to the input's part and to the products
    with Wh, and dh_prev (N, H).
    """
    H = len(Wh)
    r, z, n, p_n = saved
    # h = (1 - z) * n + z * h_prev
    dz = dh * (h_prev - n)
    dn = dh * (1 - z)
    dh_prev = dh * z
    # z = sigmoid(a_z + p_z), n = tanh(...)
    da_z = dz * sigmoid_grad(z)
    da_n = dn * tanh_grad(n)
    if reset_after:
        # n = tanh(a_n + r * p_n) and p = h_prev Wh + bh
        da_r = da_n * p_n * sigmoid_grad(r)
        da = xp.concatenate([da_r, da_z, da_n], axis=1)
        dp = xp.concatenate([da_r, da_z, da_n * r], axis=1)
        return da, dp, dh_prev + dp @ Wh.T
    # n = tanh(a_n + u Wh_n) and u = r * h_prev
    du = da_n @ Wh[:, 2 * H :].T
    da_r = du * h_prev * sigmoid_grad(r)
    da = xp.concatenate([da_r, da_z, da_n], axis=1)
    # a_r + h_prev Wh_r, a_z + h_prev Wh_z
    return da, da, dh_prev + du * r + da[:, : 2 * H] @ Wh[:, : 2 * H].T


@kernel
def gru_forward(
    a: Array,
    Wh: Array,
    bh: Array | None,
    h0: Array,
    reset_after: bool,
    ended: Array | None,
    new: New,
) -> tuple[Array, Array, Any]:
    """All states of the loop over time.

    a (T, N, 3H) holds x_t Wx + b and may be overwritten; ``ended`` (T, N, 1) says which sequences
    have ended before step t; ``new(name, shape, dtype)`` gives memory. The states h are
    (T + 1, N, H), with h[t] before step t; u (T, N, H) is what Wh_n is multiplied with; what is
    saved is for :func:`gru_backward`.
    """
    (T, N, _), H = a.shape, len(Wh)
    h, u = new("h", (T + 1, N, H), a.dtype), new("u", (T, N, H), a.dtype)
    h[0] = h0
    saved = []
    for t in range(T):
        h[t + 1], u[t], saved_t = gru_step(a[t], h[t], Wh, bh, reset_after)
        saved.append(saved_t)
        if ended is not None:  # past its end a sequence holds its state
            h[t + 1] = xp.where(ended[t], h[t], h[t + 1])
    return h, u, saved


@kernel
def gru_backward(
    dhs: Array,
    dh: Array,
    Wh: Array,
    h: Array,
    saved: Any,
    reset_after: bool,
    ended: Array | None,
    watch: Watch,
    new: New,
) -> tuple[Array, Array, Array]:
    """Back through :func:`gru_forward`, last step first.

    dhs (T, N, H) are the gradients from the layer above, dh (N, H) the one with respect to the
    last state. Gives da and dp (T, N, 3H), the same array where the reset gate acts before the
    product, and the gradient with respect to the first state.
    """
    T, N, H = dhs.shape
    da = new("da", (T, N, 3 * H), h.dtype)
    dp = new("dp", da.shape, h.dtype) if reset_after else da
    for t in reversed(range(T)):
        # h_t goes to the layer above and to step t + 1
        dh = dhs[t] + dh
        if watch is not None:
            watch(t, h[t], dh)
        # h_t from a_t and h_(t-1)
        da[t], dp[t], dh_prev = gru_step_backward(dh, h[t], Wh, saved[t], reset_after)
        if ended is not None:  # h_t = h_(t-1) past the end
            da[t], dp[t] = xp.where(ended[t], 0, da[t]), xp.where(ended[t], 0, dp[t])
            dh_prev = xp.where(ended[t], dh, dh_prev)
        dh = dh_prev
    return da, dp, dh


def _accumulate_recurrent(
    Wh: View, bh: View | None, h_prev: Array, u: Array, dp: Array, reset_after: bool
) -> None:
    """Gradients of Wh and bh over the rows of one or all steps.

    p_r, p_z = h_prev Wh_r, h_prev Wh_z and p_n = u Wh_n, with u = h_prev if reset after.
    """
    if reset_after:
        Wh.accumulate_product(h_prev.T, dp)
    else:
        H2 = 2 * u.shape[1]
        dWh = [product(h_prev.T, dp[:, :H2]), product(u.T, dp[:, H2:])]
        Wh.accumulate(xp.concatenate(dWh, axis=1))
    if bh is not None:
        bh.accumulate(column_sums(dp))


def _check_bh(owner: str, bh: Any, reset_after: bool, H: int) -> View | None:
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


class _GRUWeights(Recurrent):
    """Weights of the three gates r, z, n, for one step and for T steps."""

    _gates = 3

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Generator | None = None,
        dtype: Any = "float32",
        reset_after: bool = False,
        **options: Any,
    ) -> Self:
        """Fresh weights: Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b (and bh) zero.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        reset_after : bool
            The form with bh.
        **options
            Other arguments of the constructor, such as ``stateful``.

        Returns
        -------
        layer
        """
        bh = Parameter.zeros(3 * H, dtype=dtype, name="bh") if reset_after else None
        return super().init(D, H, rng, dtype, bh=bh, reset_after=reset_after, **options)


class GRU(_GRUWeights):
    r"""One step of a gated recurrent unit.

    .. math::
        r &= \sigma(x W_{x,r} + h_{prev} W_{h,r} + b_r) \\
        z &= \sigma(x W_{x,z} + h_{prev} W_{h,z} + b_z) \\
        n &= \tanh(x W_{x,n} + (r \odot h_{prev}) W_{h,n} + b_n) \\
        h &= (1 - z) \odot n + z \odot h_{prev}

    With ``reset_after=True`` the reset gate acts after the product, as in cuDNN and PyTorch, and
    the product with the hidden state may have a bias too:

    .. math:: n = \tanh(x W_{x,n} + b_n + r \odot (h_{prev} W_{h,n} + b_{h,n}))

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 3H)
        Blocks in the order r, z, n: reset, update, new.
    Wh : Parameter, View, or array (H, 3H)
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

    def __init__(self, Wx: Any, Wh: Any, b: Any, bh: Any = None, reset_after: bool = False) -> None:
        super().__init__(Wx, Wh, b)
        self.bh = _check_bh(type(self).__name__, bh, reset_after, self.H)
        self.reset_after = reset_after

    def forward(self, x: Array, h_prev: Array) -> Array:
        """New state from x and the state before."""
        self._expect_step(x, h_prev=h_prev)
        bh = None if self.bh is None else self.bh.value
        h, u, saved = gru_step(self._input_product(x), h_prev, self.Wh.value, bh, self.reset_after)
        self.save_for_backward(x, h_prev, u, saved)
        return h

    def backward(self, dh: Array) -> tuple[Array, Array]:
        """(dx, dh_prev) from dh."""
        x, h_prev, u, saved = self.saved()
        self._expect("dh", dh, "N H", N=x.shape[0], H=self.H)
        # h from a and h_prev
        da, dp, dh_prev = gru_step_backward(dh, h_prev, self.Wh.value, saved, self.reset_after)
        _accumulate_recurrent(self.Wh, self.bh, h_prev, u, dp, self.reset_after)
        # a = x Wx + b
        return self._input_product_backward(x, da), dh_prev


class TimeGRU(_GRUWeights, TimeRecurrent):
    r"""A gated recurrent unit over T steps.

    .. math:: h_t = (1 - z_t) \odot n_t + z_t \odot h_{t-1}

    with the gates of :class:`GRU`. It equals T objects of that class that share their Parameters.

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 3H)
        Blocks in the order r, z, n.
    Wh : Parameter, View, or array (H, 3H)
    b : Parameter or array (3H,)
    bh : Parameter or array (3H,), optional
        Only with ``reset_after=True``.
    reset_after : bool
        Whether the reset gate acts after the product, as in cuDNN and PyTorch.
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives all states (N, T, H).
    ``backward(dhs, dh=None)`` gives dx (N, T, D) and leaves ``dh0``. Cho et al. 2014.

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

    def _forward_loop(self, a: Array, states: States, ended: Array | None) -> tuple[States, Any]:
        (h0,), Wh = states, self.Wh.value
        bh = None if self.bh is None else self.bh.value
        h, u, saved = gru_forward(a, Wh, bh, h0, self.reset_after, ended, self._workspace)
        return (h,), (u, saved)

    def _backward_loop(
        self,
        dhs: Array,
        final: States,
        states: States,
        saved: Any,
        ended: Array | None,
        watch: Watch,
    ) -> tuple[Array, States]:
        (dh,), (h,), (u, saved_steps), after = final, states, saved, self.reset_after
        da, dp, dh0 = gru_backward(
            dhs, dh, self.Wh.value, h, saved_steps, after, ended, watch, self._workspace
        )
        h_prev, u, dp = steps_as_rows(h[:-1]), steps_as_rows(u), steps_as_rows(dp)
        _accumulate_recurrent(self.Wh, self.bh, h_prev, u, dp, after)
        return da, (dh0,)
