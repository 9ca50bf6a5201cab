"""Gradient descent whose steps are averaged, from a moment that validation decides."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Annotated, Any

from deepnlp.backend import Array, asarray, asnumpy, check_number
from deepnlp.optimizers.descent import SGD
from deepnlp.optimizers.optimizer import LearningRate, Optimizer, WeightDecay
from deepnlp.options import Option
from deepnlp.parameter import Parameter

Kept = dict[Parameter, dict[str, Array]]

AVERAGE_AFTER = "epochs back behind which validation must fall to begin averaging; 0 for at once"


@contextmanager
def _holding(kept: Kept, slot: str) -> Iterator[None]:
    """Context in which parameters hold what is kept for them under a name."""
    raw = {parameter: parameter.value.copy() for parameter in kept}
    for parameter, arrays in kept.items():
        parameter.value[...] = arrays[slot]
    try:
        yield
    finally:
        for parameter, value in raw.items():
            parameter.value[...] = value


class NTASGD(Optimizer):
    r"""Gradient descent whose result is an average of the weights, from a moment of its own choice.

    .. math::
        W \leftarrow W - \mathrm{lr} \cdot g, \qquad
        \overline W_k = \overline W_{k-1} + \tfrac1k (W - \overline W_{k-1})

    The steps are those of :class:`SGD`, with the same learning rate throughout. At the k-th step
    since averaging began, the mean of the weights after each of these steps is updated.
    :meth:`averaged` puts the means in place of the weights for an evaluation; training goes on with
    the weights themselves. With v_e the validation after epoch e, averaging begins after

    .. math:: \text{the first epoch } e > n + 1 \text{ with } v_e > \min(v_1, \dots, v_{e-1-n}),

    the first whose validation is worse than one that lies more than n epochs back.

    Parameters
    ----------
    parameters : iterable of Parameter
    lr : float
    weight_decay : float
    average_after : int
        n; 0 to average from the first step on.

    Raises
    ------
    TypeError, ValueError
        As :class:`Optimizer`; also if ``average_after`` is below 0.

    Notes
    -----
    Averaging: Polyak and Juditsky 1992; the trigger: Merity, Keskar and Socher 2018, algorithm 1,
    with n = 5, one validation an epoch.

    Examples
    --------
    >>> W = Parameter([1.0])
    >>> optimizer = NTASGD([W], lr=0.5, average_after=0)
    >>> for _ in range(3):                       # 0.5, 0.25, 0.125
    ...     W.zero_grad()
    ...     W.accumulate(W.value)
    ...     optimizer.step()
    >>> with optimizer.averaged():
    ...     W.value.round(4)
    array([0.2917])
    >>> W.value
    array([0.125])
    """

    _slots = ("average",)

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate,
        weight_decay: WeightDecay = 0.0,
        average_after: Annotated[int, Option(AVERAGE_AFTER, low=0)] = 5,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        check_number("NTASGD: average_after", average_after, whole=True, low=0)
        self.average_after = average_after
        self.averaging = average_after == 0
        self._averaged = 0  # k
        self._losses: list[float] = []  # v, up to the epoch in which averaging began

    def step(self) -> None:
        """Update every trainable parameter from its gradient, and its average."""
        self._averaged += self.averaging
        super().step()

    def epoch_end(self, valid: float) -> None:
        """Begin to average if the rule above says so."""
        n = self.average_after
        if not self.averaging:
            self.averaging = len(self._losses) > n and valid > min(self._losses[:-n])
            self._losses.append(valid)

    def averaged(self, tail: int = 0) -> AbstractContextManager[None]:
        """Context in which the parameters hold their averages, if there are any."""
        return _holding(self._kept, "average") if self._averaged else nullcontext()

    def state(self) -> dict[str, Any]:
        """Return the state of :meth:`Optimizer.state`, with the validations and their effects."""
        counters = {"averaging": self.averaging, "averaged": self._averaged}
        return {**super().state(), **counters, "losses": asarray(self._losses)}

    def load_state(self, state: dict[str, Any]) -> None:
        """Put back what :meth:`state` gave.

        Parameters
        ----------
        state : dict of str to array or number

        Raises
        ------
        ValueError
            If it is the state of another optimizer or of other parameters.
        """
        names = ("averaging", "averaged", "losses")
        if missing := [name for name in names if name not in state]:
            raise ValueError(f"NTASGD: not a state of this optimizer: it lacks {missing}")
        averaging, averaged, losses = (state[name] for name in names)
        losses = asnumpy(losses)
        right = losses.ndim == 1 and losses.dtype.kind == "f" and all(map(math.isfinite, losses))
        right = right and type(averaged) is int and averaged >= 0
        if not (right and isinstance(averaging, bool) and averaging >= (averaged > 0)):
            raise ValueError(f"NTASGD: not a state of this optimizer: one of {names} cannot be")
        super().load_state({name: value for name, value in state.items() if name not in names})
        self.averaging, self._averaged, self._losses = averaging, averaged, losses.tolist()

    def _scalars(self, t: int) -> dict[str, float]:
        return {**super()._scalars(t), "share": 1 / self._averaged if self._averaged else 0.0}

    @staticmethod
    def _formula(
        W: Array, g: Array, average: Array, *, lr: float, decay: float, share: float
    ) -> None:
        SGD._formula(W, g, lr=lr, decay=decay)
        if share:
            average += share * (W - average)


class TwoTails(Optimizer):
    r"""Gradient descent whose result is an average of its last steps, as many as serve validation.

    .. math::
        W \leftarrow W - \mathrm{lr} \cdot g, \qquad
        \overline S \leftarrow \overline S + \tfrac1s (W - \overline S), \qquad
        \overline L \leftarrow \overline L + \tfrac1l (W - \overline L)

    The steps are those of :class:`SGD`, and two means run beside them: a short one of the last s
    steps and a long one of the last l. Each epoch both are validated. Where the short one is at
    least as good, it takes the place of the long one, and a new short one begins:

    .. math:: v(\overline S) \le v(\overline L):\qquad \overline L \leftarrow \overline S,\;
        l \leftarrow s,\; s \leftarrow 0

    so there is nothing to choose, and at every epoch the long mean is one that counts.

    Parameters
    ----------
    parameters : iterable of Parameter
    lr : float
    weight_decay : float

    Raises
    ------
    TypeError, ValueError
        As :class:`Optimizer`.

    Notes
    -----
    Melis 2022, "Two-tailed averaging" (arXiv:2209.12581). An epoch takes two validations.

    Examples
    --------
    >>> W = Parameter([1.0])
    >>> optimizer = TwoTails([W], lr=0.5)
    >>> for _ in range(2):                       # 0.5, 0.25
    ...     W.zero_grad()
    ...     W.accumulate(W.value)
    ...     optimizer.step()
    >>> optimizer.choose([3.0, 3.0])             # the short mean becomes the long one
    0
    >>> W.zero_grad()
    >>> W.accumulate(W.value)
    >>> optimizer.step()                         # 0.125
    >>> with optimizer.averaged(0):
    ...     W.value
    array([0.125])
    >>> with optimizer.averaged():
    ...     W.value.round(4)
    array([0.2917])
    """

    _slots = ("short", "long")
    tails = 2

    def __init__(
        self, parameters: Iterable[Parameter], lr: LearningRate, weight_decay: WeightDecay = 0.0
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        self._lengths = [0, 0]  # s and l

    def step(self) -> None:
        """Update every trainable parameter from its gradient, and both means."""
        self._lengths = [length + 1 for length in self._lengths]
        super().step()

    def choose(self, losses: Sequence[float]) -> int:
        """Compare the validation of both means; the long one is the better of them then."""
        short, long = losses
        if short > long:
            return 1
        for kept in self._kept.values():
            kept["long"][...] = kept["short"]
        self._lengths = [0, self._lengths[0]]
        return 0

    def averaged(self, tail: int = 1) -> AbstractContextManager[None]:
        """Context in which the parameters hold the short mean, 0, or the long one, 1.

        As long as the short one is of no step, the weights themselves stand for it.
        """
        return _holding(self._kept, self._slots[tail]) if self._lengths[tail] else nullcontext()

    def state(self) -> dict[str, Any]:
        """Return the state of :meth:`Optimizer.state`, with the lengths of both means."""
        short, long = self._lengths
        return {**super().state(), "short": short, "long": long}

    def load_state(self, state: dict[str, Any]) -> None:
        """Put back what :meth:`state` gave.

        Parameters
        ----------
        state : dict of str to array or number

        Raises
        ------
        ValueError
            If it is the state of another optimizer or of other parameters.
        """
        lengths: list[Any] = [state.get(name) for name in self._slots]
        if not all(type(n) is int and n >= 0 for n in lengths) or lengths[0] > lengths[1]:
            raise ValueError(f"TwoTails: not a state of this optimizer: lengths {lengths}")
        super().load_state(
            {name: value for name, value in state.items() if name not in self._slots}
        )
        self._lengths = lengths

    def _scalars(self, t: int) -> dict[str, float]:
        short, long = self._lengths
        return {**super()._scalars(t), "new": 1 / short, "old": 1 / long}

    @staticmethod
    def _formula(
        W: Array,
        g: Array,
        short: Array,
        long: Array,
        *,
        lr: float,
        decay: float,
        new: float,
        old: float,
    ) -> None:
        SGD._formula(W, g, lr=lr, decay=decay)
        short += new * (W - short)
        long += old * (W - long)
