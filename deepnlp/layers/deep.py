"""Deep recurrent networks: a transition of several layers, and an output of several layers."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Self

from deepnlp.backend import Array, Rng, xp
from deepnlp.backend.functions import column_sums, tanh_grad
from deepnlp.backend.initialisers import fan_in_bound, uniform
from deepnlp.kernels.steps import States
from deepnlp.layer import Sequential
from deepnlp.layers.activations import Tanh
from deepnlp.layers.dense import TimeAffine
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.parameter import Parameter


class TimeDeepTransition(TimeRecurrent):
    r"""A recurrent layer whose transition from h_(t-1) to h_t is a network of L layers.

    .. math::
        z_t^{(1)} &= \tanh(x_t W_x + h_{t-1} W_h + b) \\
        z_t^{(k)} &= \tanh(z_t^{(k-1)} W_k + b_k), \qquad k = 2, \dots, L \\
        h_t &= z_t^{(L)}

    With a shortcut S the last layer sees the state before the step as well, so that the gradient
    has a way back in time of one product and one tanh at each step:

    .. math:: h_t = \tanh(z_t^{(L-1)} W_L + b_L + h_{t-1} S)

    Parameters
    ----------
    Wx : Parameter, View, or array (D, H)
    Wh : Parameter, View, or array (H, H)
    b : Parameter or array (H,)
    Ws : sequence of Parameter or array (H, H)
        W_2 ... W_L, at least one: with none it is a simple recurrent layer.
    bs : sequence of Parameter or array (H,)
        b_2 ... b_L.
    S : Parameter or array (H, H), optional
        The shortcut.
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives all states (N, T, H);
    ``backward(dhs, dh=None)`` gives dx and leaves ``dh0``. All layers of the transition lie inside
    the recurrence. Layers that act on h_t and are not seen by h_(t+1) are a *deep output*
    (:func:`deep_output`), however many they are. Pascanu et al. 2013: DT-RNN, and with the
    shortcut DT(S)-RNN.

    Raises
    ------
    ValueError
        If shapes do not fit, there is no W_2, or a carried state has another batch size.

    Examples
    --------
    >>> layer = TimeDeepTransition.init(3, 5, layers=3, shortcut=True)
    >>> [name for name, _ in layer.named_parameters()]
    ['Wx', 'Wh', 'b', 'Ws.0', 'Ws.1', 'bs.0', 'bs.1', 'S']
    >>> layer.forward(xp.zeros((2, 4, 3), dtype="float32")).shape
    (2, 4, 5)
    """

    def __init__(
        self,
        Wx: Any,
        Wh: Any,
        b: Any,
        Ws: Sequence[Any],
        bs: Sequence[Any],
        S: Any = None,
        stateful: bool = False,
    ) -> None:
        super().__init__(Wx, Wh, b, stateful)
        if not Ws or len(Ws) != len(bs):
            got = f"got {len(Ws)} and {len(bs)}"
            raise ValueError(f"TimeDeepTransition: expected as many Ws as bs, one or more, {got}")
        H = self.H
        self.Ws = [self._weight(f"W{k}", W, "H H", H=H) for k, W in enumerate(Ws, 2)]
        self.bs = [self._weight(f"b{k}", b, "H", H=H) for k, b in enumerate(bs, 2)]
        self.S = None if S is None else self._weight("S", S, "H H", H=H)
        self._gradients = 1 + len(self.Ws)

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Rng = None,
        dtype: Any = "float32",
        layers: int = 2,
        shortcut: bool = False,
        **options: Any,
    ) -> Self:
        """Draw fresh weights: matrices from U(-1/sqrt(H), 1/sqrt(H)), biases zero.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        layers : int
            L, of the transition: 2 or more.
        shortcut : bool
            Whether there is an S.
        **options
            Other arguments of the constructor, such as ``stateful``.
        """

        def matrix() -> Array:
            return uniform((H, H), fan_in_bound(H), rng, dtype)

        Ws = [matrix() for _ in range(layers - 1)]
        bs = [Parameter.zeros(H, dtype=dtype) for _ in Ws]
        S = matrix() if shortcut else None
        return super().init(D, H, rng, dtype, Ws=Ws, bs=bs, S=S, **options)

    def formula(self) -> Any:
        """Return :func:`transition_step` and its way back, with the weights of the transition."""
        Ws, bs = [W.value for W in self.Ws], [b.value for b in self.bs]
        weights = self.Wh.value, Ws, bs, None if self.S is None else self.S.value
        return transition_step, transition_step_backward, weights

    def _accumulate_recurrent(
        self, h_prev: Array, da: Sequence[Array], saved: Callable[..., Array]
    ) -> None:
        # a_1 = x_t Wx + h_(t-1) Wh + b and a_L = ... + h_(t-1) S, all steps at once
        self.Wh.accumulate_product(h_prev.T, da[0])
        if self.S is not None:
            self.S.accumulate_product(h_prev.T, da[-1])
        # a_k = z_(k-1) W_k + b_k
        for k, (W, b) in enumerate(zip(self.Ws, self.bs, strict=True)):
            W.accumulate_product(saved(k).T, da[k + 1])
            b.accumulate(column_sums(da[k + 1]))


def transition_step(
    a: Array, h_prev: Array, Wh: Array, Ws: list[Array], bs: list[Array], S: Array | None
) -> tuple[States, list[Array]]:
    """Compute one step from a = x Wx + b, (N, H): the new state (z_L,), and all z_k."""
    z = [xp.tanh(a + h_prev @ Wh)]
    for k, (W, b) in enumerate(zip(Ws, bs, strict=True), 1):
        a_k = z[-1] @ W + b
        if S is not None and k == len(Ws):
            a_k = a_k + h_prev @ S
        z.append(xp.tanh(a_k))
    return (z[-1],), z


def transition_step_backward(
    dh: Array, z: list[Array], Wh: Array, Ws: list[Array], _bs: list[Array], S: Array | None
) -> tuple[list[Array], States]:
    """Go back through :func:`transition_step`: da_1 ... da_L and dh_prev, (N, H) each."""
    # z_L = tanh(a_L) is the state
    da = [dh * tanh_grad(z[-1])]
    for W, z_k in zip(Ws[::-1], z[-2::-1], strict=True):
        # a_(k+1) = z_k W_(k+1) + b_(k+1), and z_k = tanh(a_k)
        da.insert(0, (da[0] @ W.T) * tanh_grad(z_k))
    # a_1 = x_t Wx + h_(t-1) Wh + b, and a_L = ... + h_(t-1) S
    dh_prev = da[0] @ Wh.T
    if S is not None:
        dh_prev = dh_prev + da[-1] @ S.T
    return da, (dh_prev,)


def deep_output(*sizes: int, rng: Rng = None, dtype: Any = "float32") -> Sequential:
    r"""Several layers between the states of a recurrent layer and its outputs.

    .. math:: y_t = \tanh(\dots \tanh(h_t V_1 + c_1) \dots V_{L-1} + c_{L-1})\, V_L + c_L

    Nothing of it re-enters the recurrence: it makes the output deep, not the transition. Behind a
    :class:`TimeDeepTransition` it makes the DOT-RNN of Pascanu et al. 2013.

    Parameters
    ----------
    *sizes : int
        H, the sizes between, M: two or more.
    rng : numpy.random.Generator, optional
    dtype : data-type

    Returns
    -------
    Sequential
        Of :class:`TimeAffine`, with a :class:`Tanh` between two of them: it takes hs (N, T, H) and
        gives (N, T, M).

    Raises
    ------
    ValueError
        If there are fewer than two sizes.

    Examples
    --------
    >>> output = deep_output(5, 3, 7)        # from H = 5 by way of 3 to M = 7
    >>> output.forward(xp.zeros((2, 4, 5), dtype="float32")).shape
    (2, 4, 7)
    """
    if len(sizes) < 2:
        raise ValueError(f"deep_output: expected two sizes or more, from H to M, got {sizes}")
    first, *others = (TimeAffine.init(D, M, rng, dtype) for D, M in pairwise(sizes))
    return Sequential(first, *(part for layer in others for part in (Tanh(), layer)))
