r"""Can input and state of an LSTM meet before the gates do? In a Mogrifier they scale each other.

One step takes an input x (N, D) and the state before it, h_prev and c_prev (N, H). In rounds
i = 1, 2, ..., r one of x and h is multiplied, number by number, by a gate that the other opens::

    x = 2 sigmoid(h L_i R_i) * x          in round 1, 3, 5, with L_i (H, k) and R_i (k, D)
    h = 2 sigmoid(x L_i R_i) * h          in round 2, 4, with L_i (D, k) and R_i (k, H)

and then an LSTM takes its step from these x and h. A gate of 1/2 changes nothing, as do weights of
zero. In a language model x is the vector of a word: what it says depends on what came before it.

Going back, each round is a product of two factors and a gate, last round first:
``d_old = 2 gate * d_new``, and through the gate ``d_by = du R^T L^T`` to the other of the two. So h
has more ways back in time than in an LSTM.

The gates of the rounds need h, so x Wx cannot be made of all steps before the loop over time; the
weights' gradients are made of all steps after it, as in every recurrent layer.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

from deepnlp.backend import Array, Rng, xp
from deepnlp.backend.functions import column_sums, sigmoid
from deepnlp.backend.initialisers import drawn, fan_in_bound
from deepnlp.backend.products import product
from deepnlp.kernels.steps import States
from deepnlp.layers.lstm import TimeLSTM, lstm_step, lstm_step_backward

Rounds = Sequence[tuple[Array, Array]]  # L_i and R_i


def mogrify(x: Array, h: Array, rounds: Rounds) -> tuple[Array, Array, list[Array]]:
    """Compute the rounds above: the new x and h, and each round's opener, old value and gate.

    An even place in ``rounds`` changes x, an odd one h.
    """
    pair, saved = [x, h], []
    for i, (L, R) in enumerate(rounds):
        changed, other = i % 2, 1 - i % 2
        old, by = pair[changed], pair[other]
        gate = sigmoid(by @ L @ R)
        pair[changed] = 2 * gate * old
        saved += [by, old, gate]
    return *pair, saved  # type: ignore[return-value]


def mogrify_backward(
    dx: Array, dh: Array, saved: list[Array], rounds: Rounds
) -> tuple[Array, Array, list[Array]]:
    """Go back through :func:`mogrify`: dx, dh, and du of each round, u = by L R."""
    gradients = [dx, dh]
    dus: list[Array] = []
    for i, (L, R) in reversed([*enumerate(rounds)]):
        changed, other = i % 2, 1 - i % 2
        _, old, gate = saved[3 * i : 3 * i + 3]
        d_new = gradients[changed]
        # new = 2 gate * old: the gradient of a factor is d_new times the other factor
        gradients[changed] = d_new * (2 * gate)
        # gate = sigmoid(u), whose slope is gate (1 - gate), and u = by L R: back by the transposes
        du = d_new * (2 * old) * (gate * (1 - gate))
        gradients[other] = gradients[other] + du @ R.T @ L.T
        dus.insert(0, du)
    return *gradients, dus  # type: ignore[return-value]


def mogrifier_step(
    x: Array, h_prev: Array, c_prev: Array, Wx: Array, Wh: Array, b: Array, rounds: Rounds
) -> tuple[States, list[Any]]:
    """Compute one step: the rounds, and an LSTM's step with what they make of x and h_prev."""
    x, h, saved = mogrify(x, h_prev, rounds)
    states, of_lstm = lstm_step(x @ Wx + b, h, c_prev, Wh)
    return states, [x, h, *saved, of_lstm]


def mogrifier_step_backward(
    dh: Array, dc: Array, saved: list[Any], Wx: Array, Wh: Array, _b: Array, rounds: Rounds
) -> tuple[list[Array], States]:
    """Go back through :func:`mogrifier_step`: dx, du of each round, da, and (dh_prev, dc_prev)."""
    _, _, *of_rounds, of_lstm = saved
    (da,), (dh, dc_prev) = lstm_step_backward(dh, dc, of_lstm, Wh)
    dx, dh_prev, dus = mogrify_backward(da @ Wx.T, dh, of_rounds, rounds)
    return [dx, *dus, da], (dh_prev, dc_prev)


class TimeMogrifierLSTM(TimeLSTM):
    r"""An LSTM over T steps whose input and state scale each other first, in r rounds.

    .. math::
        x^{(i)} &= 2 \sigma(h^{(i-1)} L_i R_i) \odot x^{(i-2)}, \qquad i = 1, 3, \dots \\
        h^{(i)} &= 2 \sigma(x^{(i-1)} L_i R_i) \odot h^{(i-2)}, \qquad i = 2, 4, \dots

    with :math:`x^{(-1)} = x_t` and :math:`h^{(0)} = h_{t-1}`; the step of :class:`TimeLSTM` takes
    the last of both.

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 4H)
        Gates in the order i, f, g, o.
    Wh : Parameter, View, or array (H, 4H)
    b : Parameter or array (4H,)
    Ls : sequence of Parameter or array
        L_1 ... L_r, in turn (H, k) and (D, k), for a rank k of each round.
    Rs : sequence of Parameter or array
        R_1 ... R_r, in turn (k, D) and (k, H).
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives all states h (N, T, H); ``backward(dhs,
    dh=None, dc=None)`` gives dx and leaves ``dh0`` and ``dc0``. Melis, Kočiský and Blunsom 2020,
    eq. 1 and 2; L R is the low-rank form of their Q and R.

    Raises
    ------
    ValueError
        If shapes do not fit, there are no rounds, or a carried state has another batch size.

    Examples
    --------
    >>> layer = TimeMogrifierLSTM.init(3, 5, rounds=2, rank=1)
    >>> [name for name, _ in layer.named_parameters()]
    ['Wx', 'Wh', 'b', 'Ls.0', 'Ls.1', 'Rs.0', 'Rs.1']
    >>> layer.forward(xp.zeros((2, 4, 3), dtype="float32")).shape
    (2, 4, 5)
    """

    loop = None  # no quick form
    init_options = ("forget_bias", "rounds", "rank")

    def __init__(
        self,
        Wx: Any,
        Wh: Any,
        b: Any,
        Ls: Sequence[Any],
        Rs: Sequence[Any],
        stateful: bool = False,
    ) -> None:
        super().__init__(Wx, Wh, b, stateful)
        if not Ls or len(Ls) != len(Rs):
            got = f"got {len(Ls)} and {len(Rs)}"
            raise ValueError(f"TimeMogrifierLSTM: expected as many Ls as Rs, one or more, {got}")
        sizes = {"D": self.D, "H": self.H}
        self.Ls, self.Rs = [], []
        for i, (L, R) in enumerate(zip(Ls, Rs, strict=True), 1):
            by, to = ("H", "D") if i % 2 else ("D", "H")
            L = self._weight(f"L{i}", L, f"{by} k", **sizes)
            self.Ls.append(L)
            self.Rs.append(self._weight(f"R{i}", R, f"k {to}", k=L.shape[1], **sizes))
        self._gradients = [self.D, *(R.shape[1] for R in self.Rs), 4 * self.H]

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Rng = None,
        dtype: Any = "float32",
        forget_bias: float | None = None,
        rounds: int = 5,
        rank: int = 40,
        *,
        scheme: str = "uniform",
        **options: Any,
    ) -> Self:
        """Draw fresh weights: as of an LSTM, and L and R from U(-1/sqrt(fan-in), 1/sqrt(fan-in)).

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        forget_bias : float, optional
            Of the gate f.
        rounds, rank : int
            r and k.
        scheme : {"uniform", "book"}
            Book: matrices from N(0, 1) / sqrt(fan-in).
        **options
            Other arguments of the constructor, such as ``stateful``.
        """
        shapes = [
            ((D, rank), (rank, H)) if i % 2 else ((H, rank), (rank, D)) for i in range(rounds)
        ]
        blank = [[xp.zeros(shape, dtype) for shape in pair] for pair in shapes]
        Ls, Rs = ([*side] for side in zip(*blank, strict=True)) if blank else ([], [])
        layer = super().init(D, H, rng, dtype, forget_bias, scheme=scheme, Ls=Ls, Rs=Rs, **options)
        weights: list[Any] = [*layer.Ls, *layer.Rs]
        for weight in weights:  # drawn last, as they came last to the LSTM
            bound = fan_in_bound(weight.shape[0])
            weight.value = drawn(scheme, weight.shape, bound, rng, dtype)
        return layer

    def _input_product(self, x: Array) -> Array:
        """Return the input itself: each step computes x Wx + b, from what the rounds make of x."""
        return x.astype(xp.result_type(x.dtype, self.Wh.dtype), copy=False)

    def _input_product_backward(self, x: Array, da: Array) -> Array:
        return da.copy()  # da is memory of the layer

    def formula(self) -> Any:
        """Return :func:`mogrifier_step` and its way back, with all weights."""
        rounds = [(L.value, R.value) for L, R in zip(self.Ls, self.Rs)]
        weights = self.Wx.value, self.Wh.value, self.b.value, rounds
        return mogrifier_step, mogrifier_step_backward, weights

    def _accumulate_recurrent(
        self, _h_prev: Array, da: Sequence[Array], saved: Callable[..., Array]
    ) -> None:
        _, *dus, da_t = da
        # a_t = x Wx + h Wh + b, with x and h after the rounds, all steps at once
        self.Wx.accumulate_product(saved(0, self.D).T, da_t)
        self.Wh.accumulate_product(saved(1, self.H).T, da_t)
        self.b.accumulate(column_sums(da_t))
        # u_i = by L_i R_i
        for i, (L, R, du) in enumerate(zip(self.Ls, self.Rs, dus, strict=True)):
            by = saved(2 + 3 * i, L.shape[0])
            R.accumulate_product(product(by, L.value).T, du)
            L.accumulate_product(by.T, product(du, R.value.T))
