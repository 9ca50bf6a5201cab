r"""Can a layer that remembers as an LSTM does be simpler? One state h, and two gates.

One step takes an input x (N, D) and the state before it, h_prev (N, H), and gives the state after
it. With the weights Wx (D, 3H), Wh (H, 3H) and b (3H,), in three blocks r, z, n::

    r = sigmoid(x Wx_r + h_prev Wh_r + b_r)             reset gate (N, H)
    z = sigmoid(x Wx_z + h_prev Wh_z + b_z)             update gate
    n = tanh(x Wx_n + (r * h_prev) Wh_n + b_n)          new state
    h = (1 - z) * n + z * h_prev                        between the new and the old

The answer is one term of the backward pass, ``dh_prev = dh * z + ...``: where the update gate stays
open, z near 1, the gradient passes the step almost whole, as it passes the forget gate of an LSTM.
With ``reset_after`` the reset gate acts after the product, n = tanh(x Wx_n + b_n + r * p_n) with
p = h_prev Wh + bh, so that a step has one product and not two.

The file goes from the equations to the layers: :func:`gru_step` and :func:`gru_step_backward`,
then :class:`GRU`, one step, and :class:`TimeGRU`, T steps. The gradients of the weights and the
loop over time are in ``recurrent.py``. On NumPy TimeGRU runs these equations; its quick form on a
GPU is ``kernels/cuda/gru.cu``.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

from deepnlp.backend import Array, Rng, xp
from deepnlp.backend.functions import column_sums, sigmoid, sigmoid_grad, split_gates, tanh_grad
from deepnlp.kernels import kernel
from deepnlp.kernels.steps import New, PlainSteps, States, Steps
from deepnlp.layers.recurrent import OneStep, Recurrent, TimeRecurrent
from deepnlp.parameter import Parameter


def gru_step(
    a: Array, h_prev: Array, Wh: Array, bh: Array | None, reset_after: bool
) -> tuple[States, States]:
    """Compute one step from the input's part a = x Wx + b, (N, 3H): the equations above.

    Gives the new state (h,), (N, H), and what the step back needs; first u (N, H), which Wh_n is
    multiplied with.
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
    return (h,), (u, h_prev, r, z, n, p_n)


def gru_step_backward(
    dh: Array, saved: States, Wh: Array, _bh: Array | None, reset_after: bool
) -> tuple[States, States]:
    """Go back through :func:`gru_step`, last line first, from dh (N, H).

    Gives (da, dp), (N, 3H) each, the gradients with respect to the input's part and to the products
    with Wh, or (da,) where they are the same; and dh_prev (N, H).
    """
    H = len(Wh)
    _, h_prev, r, z, n, p_n = saved
    # h = (1 - z) * n + z * h_prev: dh goes to both products, and in each to both factors
    dz = dh * (h_prev - n)
    dn = dh * (1 - z)
    dh_prev = dh * z  # the way back through time that lasts
    # z = sigmoid(a_z + p_z), n = tanh(...): times the slope there
    da_z = dz * sigmoid_grad(z)
    da_n = dn * tanh_grad(n)
    if reset_after:
        # n = tanh(a_n + r * p_n): the gradient of a factor is da_n times the other factor
        da_r = da_n * p_n * sigmoid_grad(r)
        da = xp.concatenate([da_r, da_z, da_n], axis=1)
        dp = xp.concatenate([da_r, da_z, da_n * r], axis=1)
        # p = h_prev Wh + bh: back by the transpose
        return (da, dp), (dh_prev + dp @ Wh.T,)
    # n = tanh(a_n + u Wh_n) and u = r * h_prev: back by the transpose, then to both factors
    du = da_n @ Wh[:, 2 * H :].T
    da_r = du * h_prev * sigmoid_grad(r)
    da = xp.concatenate([da_r, da_z, da_n], axis=1)
    # p_r, p_z = h_prev Wh_r, h_prev Wh_z: h_prev went four ways, and its gradients add up
    return (da,), (dh_prev + du * r + da[:, : 2 * H] @ Wh[:, : 2 * H].T,)


@kernel
def gru_steps(
    a: Array, start: States, Wh: Array, bh: Array | None, reset_after: bool, new: New
) -> Steps:
    """Return the steps through one sequence, for the loop over time.

    ``over_time(0)`` of theirs gives u of all steps, (T, N, H).
    """
    weights = Wh, bh, reset_after
    return PlainSteps(gru_step, gru_step_backward, a, start, weights, new, 2 if reset_after else 1)


class GRUWeights(Recurrent):
    """Weights of the three gates r, z, n, for one step and for T steps."""

    gates = "rzn"
    loop = gru_steps
    init_options = ("reset_after",)

    def __init__(
        self, Wx: Any, Wh: Any, b: Any, bh: Any = None, reset_after: bool = False, **options: Any
    ) -> None:
        super().__init__(Wx, Wh, b, **options)
        if bh is not None and not reset_after:
            raise ValueError(f"{type(self).__name__}: bh belongs to the form with reset_after=True")
        self.bh = None if bh is None else self._weight("bh", bh, "3H", **{"3H": 3 * self.H})
        self.reset_after = reset_after
        self.products = {} if reset_after else {"n": 0}  # p_n = u Wh_n
        self._gradients = 2 if reset_after else 1

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Rng = None,
        dtype: Any = "float32",
        reset_after: bool = False,
        **options: Any,
    ) -> Self:
        """Draw fresh weights: Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b (and bh) zero.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        reset_after : bool
            The form with bh.
        **options
            ``scheme``, and other arguments of the constructor, such as ``stateful``.
        """
        bh = Parameter.zeros(3 * H, dtype=dtype, name="bh") if reset_after else None
        return super().init(D, H, rng, dtype, bh=bh, reset_after=reset_after, **options)

    def formula(self) -> Any:
        """Return :func:`gru_step` and its way back, with Wh, bh and the form."""
        bh = None if self.bh is None else self.bh.value
        return gru_step, gru_step_backward, (self.Wh.value, bh, self.reset_after)

    def _accumulate_recurrent(
        self, h_prev: Array, da: Sequence[Array], saved: Callable[..., Array]
    ) -> None:
        super()._accumulate_recurrent(h_prev, da, saved)  # p = h_prev Wh + bh
        if self.bh is not None:
            self.bh.accumulate(column_sums(da[-1]))


class GRU(GRUWeights, OneStep):
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

    axes = "N D, N H -> N H"

    def forward(self, x: Array, h_prev: Array) -> Array:
        """New state from x and the state before."""
        return self._forward(x, h_prev)[0]

    def backward(self, dh: Array) -> tuple[Array, ...]:
        """(dx, dh_prev) from dh; dWx, dWh, db and dbh accumulate."""
        return self._backward(dh)


class TimeGRU(GRUWeights, TimeRecurrent):
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
        super().__init__(Wx, Wh, b, bh, reset_after, stateful=stateful)
