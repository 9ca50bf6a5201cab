"""Gradient descent: plain, and with a velocity."""

from collections.abc import Iterable
from typing import Annotated

from deepnlp.backend import Array
from deepnlp.optimizers.optimizer import LearningRate, Optimizer, WeightDecay, decayed
from deepnlp.options import Option
from deepnlp.parameter import Parameter

Velocity = Annotated[float, Option("fraction of the velocity kept per step", low=0, below=1)]


class SGD(Optimizer):
    r"""Stochastic gradient descent.

    .. math:: W \leftarrow W - \mathrm{lr} \cdot g

    Parameters
    ----------
    parameters : iterable of Parameter
    lr : float
    weight_decay : float

    Raises
    ------
    TypeError, ValueError
        As :class:`Optimizer`.

    Examples
    --------
    >>> W = Parameter([1.0])
    >>> optimizer = SGD([W], lr=0.5)
    >>> W.accumulate(W.value)
    >>> optimizer.step()
    >>> W.value
    array([0.5])
    """

    _row_by_row = True

    @staticmethod
    def _formula(W: Array, g: Array, *, lr: float, decay: float) -> None:
        W -= lr * decayed(g, W, decay)


class Momentum(Optimizer):
    r"""Gradient descent with momentum (Polyak 1964).

    .. math:: v \leftarrow \mu v + g, \qquad W \leftarrow W - \mathrm{lr} \cdot v

    Parameters
    ----------
    parameters : iterable of Parameter
    lr : float
    momentum : float
        mu, in [0, 1).
    weight_decay : float

    Raises
    ------
    TypeError, ValueError
        As :class:`Optimizer`; also if momentum is outside [0, 1).

    Examples
    --------
    >>> optimizer = Momentum([Parameter([1.0])], lr=0.1, momentum=0.9)
    """

    _slots = ("v",)
    _letters = ("momentum",)

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate,
        momentum: Velocity = 0.9,
        weight_decay: WeightDecay = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        self.momentum = self._checked("momentum", momentum, below=1)

    @staticmethod
    def _formula(W: Array, g: Array, v: Array, *, lr: float, momentum: float, decay: float) -> None:
        v *= momentum
        v += decayed(g, W, decay)
        W -= lr * v


class Nesterov(Momentum):
    r"""Gradient descent with Nesterov's momentum (Sutskever et al. 2013).

    .. math:: v \leftarrow \mu v + g, \qquad W \leftarrow W - \mathrm{lr} (g + \mu v)

    Parameters
    ----------
    parameters : iterable of Parameter
    lr : float
    momentum : float
        mu, in [0, 1).
    weight_decay : float

    Raises
    ------
    TypeError, ValueError
        As :class:`Momentum`.

    Examples
    --------
    >>> optimizer = Nesterov([Parameter([1.0])], lr=0.1, momentum=0.9)
    """

    @staticmethod
    def _formula(W: Array, g: Array, v: Array, *, lr: float, momentum: float, decay: float) -> None:
        g = decayed(g, W, decay)
        v *= momentum
        v += g
        W -= lr * (g + momentum * v)
