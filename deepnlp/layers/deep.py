"""Deep recurrent networks: a transition of several layers, and an output of several layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

from deepnlp.backend import Array, Generator, xp
from deepnlp.backend.functions import column_sums, tanh_grad
from deepnlp.backend.initialisers import fan_in_bound, uniform
from deepnlp.kernels import New, Watch
from deepnlp.layer import Sequential, expect
from deepnlp.layers.activations import Tanh
from deepnlp.layers.dense import TimeAffine
from deepnlp.layers.recurrent import States, TimeRecurrent, steps_as_rows
from deepnlp.parameter import Parameter, as_parameter


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
            raise ValueError(
                "TimeDeepTransition: Ws and bs should hold W_2 ... W_L and b_2 ... b_L, as many of "
                f"both and at least one, got {len(Ws)} and {len(bs)}"
            )
        self.Ws = [as_parameter(W, f"W{k}") for k, W in enumerate(Ws, 2)]
        self.bs = [as_parameter(b, f"b{k}") for k, b in enumerate(bs, 2)]
        self.S = None if S is None else as_parameter(S, "S")
        owner, H = type(self).__name__, self.H
        for k, (W, bias) in enumerate(zip(self.Ws, self.bs, strict=True), 2):
            expect(owner, f"W_{k}", W.value, "H H", H=H)
            expect(owner, f"b_{k}", bias.value, "H", H=H)
        if self.S is not None:
            expect(owner, "S", self.S.value, "H H", H=H)

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Generator | None = None,
        dtype: Any = "float32",
        layers: int = 2,
        shortcut: bool = False,
        **options: Any,
    ) -> Self:
        """Fresh weights: matrices from U(-1/sqrt(H), 1/sqrt(H)), biases zero.

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

        Returns
        -------
        layer
        """

        def matrix() -> Array:
            return uniform((H, H), fan_in_bound(H), rng, dtype)

        Ws = [matrix() for _ in range(layers - 1)]
        bs = [Parameter.zeros(H, dtype=dtype) for _ in Ws]
        S = matrix() if shortcut else None
        return super().init(D, H, rng, dtype, Ws=Ws, bs=bs, S=S, **options)

    def _forward_loop(self, a: Array, states: States, ended: Array | None) -> tuple[States, Any]:
        (h0,), S = states, None if self.S is None else self.S.value
        Ws, bs = [W.value for W in self.Ws], [b.value for b in self.bs]
        h, z = deep_transition_forward(a, self.Wh.value, Ws, bs, S, h0, ended, self._workspace)
        return (h,), z

    def _backward_loop(
        self,
        dhs: Array,
        final: States,
        states: States,
        saved: Any,
        ended: Array | None,
        watch: Watch,
    ) -> tuple[Array, States]:
        (dh,), (h,), z, S = final, states, saved, None if self.S is None else self.S.value
        Ws = [W.value for W in self.Ws]
        da, dh0 = deep_transition_backward(
            dhs, dh, self.Wh.value, Ws, S, h, z, ended, watch, self._workspace
        )
        # a_1 = x_t Wx + h_(t-1) Wh + b and a_L = ... + h_(t-1) S, all steps at once
        h_prev, rows = steps_as_rows(h[:-1]), [steps_as_rows(gradient) for gradient in da]
        self.Wh.accumulate_product(h_prev.T, rows[0])
        if self.S is not None:
            self.S.accumulate_product(h_prev.T, rows[-1])
        # a_k = z_(k-1) W_k + b_k
        for W, b, z_below, da_k in zip(self.Ws, self.bs, z, rows[1:]):
            W.accumulate_product(steps_as_rows(z_below).T, da_k)
            b.accumulate(column_sums(da_k))
        return da[0], (dh0,)


def deep_transition_forward(
    a: Array,
    Wh: Array,
    Ws: list[Array],
    bs: list[Array],
    S: Array | None,
    h0: Array,
    ended: Array | None,
    new: New,
) -> tuple[Array, Array]:
    """All states h (T + 1, N, H), with h[t] before step t, and all z (L, T, N, H).

    a (T, N, H) holds x_t Wx + b; ``ended`` (T, N, 1) says which sequences have ended before step
    t; ``new(name, shape, dtype)`` gives memory.
    """
    T, N, H = a.shape
    h, z = new("h", (T + 1, N, H), a.dtype), new("z", (1 + len(Ws), T, N, H), a.dtype)
    h[0] = h0
    for t in range(T):
        z[0, t] = xp.tanh(a[t] + h[t] @ Wh)
        for k, (W, b) in enumerate(zip(Ws, bs, strict=True), 1):
            a_k = z[k - 1, t] @ W + b
            if S is not None and k == len(Ws):
                a_k = a_k + h[t] @ S
            z[k, t] = xp.tanh(a_k)
        # past its end a sequence holds its state
        h[t + 1] = z[-1, t] if ended is None else xp.where(ended[t], h[t], z[-1, t])
    return h, z


def deep_transition_backward(
    dhs: Array,
    dh: Array,
    Wh: Array,
    Ws: list[Array],
    S: Array | None,
    h: Array,
    z: Array,
    ended: Array | None,
    watch: Watch,
    new: New,
) -> tuple[Array, Array]:
    """Back through :func:`deep_transition_forward`, last step first.

    dhs (T, N, H) are the gradients from the layer above, dh (N, H) the one with respect to the
    last state. Gives da (L, T, N, H), those with respect to what each tanh is taken of, and the
    gradient with respect to the first state.
    """
    da = new("da", z.shape, h.dtype)
    for t in reversed(range(len(dhs))):
        # h_t goes to the layer above and to step t + 1
        dh = dhs[t] + dh
        if watch is not None:
            watch(t, h[t], dh)
        # h_t = h_(t-1) past the end, else z_L
        dz = dh if ended is None else xp.where(ended[t], 0, dh)
        for k in range(len(Ws), 0, -1):
            # z_k = tanh(a_k), a_k = z_(k-1) W_k + b_k
            da[k, t] = dz * tanh_grad(z[k, t])
            dz = da[k, t] @ Ws[k - 1].T
        # z_1 = tanh(a_1), a_1 = x_t Wx + h_(t-1) Wh + b, and a_L = ... + h_(t-1) S
        da[0, t] = dz * tanh_grad(z[0, t])
        dh_prev = da[0, t] @ Wh.T
        if S is not None:
            dh_prev = dh_prev + da[-1, t] @ S.T
        dh = dh_prev if ended is None else xp.where(ended[t], dh, dh_prev)
    return da, dh


def deep_output(*sizes: int, rng: Generator | None = None, dtype: Any = "float32") -> Sequential:
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
