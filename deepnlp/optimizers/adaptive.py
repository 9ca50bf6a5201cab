"""A step size for each entry of a weight, from the squares of its gradients."""

import math
from collections.abc import Iterable, Sequence
from typing import Annotated

from deepnlp.backend import Array, xp
from deepnlp.optimizers.optimizer import LearningRate, Optimizer, WeightDecay, decayed
from deepnlp.options import Option, check_options
from deepnlp.parameter import Parameter, as_bases

Betas = Annotated[
    tuple[float, float] | float | list[float],
    Option("decay of the moments, beta1 and beta2", low=0, below=1),
]


class AdaGrad(Optimizer):
    r"""Steps that shrink where gradients have been large (Duchi, Hazan and Singer 2011).

    .. math:: s \leftarrow s + g^2, \qquad W \leftarrow W - \mathrm{lr} \frac{g}{\sqrt s + \epsilon}

    Parameters
    ----------
    parameters : iterable of Parameter
    lr : float
    eps : float
    weight_decay : float

    Raises
    ------
    TypeError, ValueError
        As :class:`Optimizer`.

    Examples
    --------
    >>> optimizer = AdaGrad([Parameter([1.0])], lr=0.01)
    """

    _slots = ("s",)
    _sums_of_squares = ("s",)
    _letters = ("eps",)
    _row_by_row = True

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate = 0.01,
        eps: float = 1e-10,
        weight_decay: WeightDecay = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        self.eps = self._checked("eps", eps)

    @staticmethod
    def _formula(W: Array, g: Array, s: Array, *, lr: float, eps: float, decay: float) -> None:
        g = decayed(g, W, decay)
        s += g * g
        W -= lr * g / (xp.sqrt(s) + eps)


class RMSprop(Optimizer):
    r"""Gradients divided by a running root mean square (Tieleman and Hinton 2012).

    .. math::
        s \leftarrow \alpha s + (1 - \alpha) g^2, \qquad
        W \leftarrow W - \mathrm{lr} \frac{g}{\sqrt s + \epsilon}

    Parameters
    ----------
    parameters : iterable of Parameter
    lr : float
    alpha : float
        In [0, 1).
    eps : float
    weight_decay : float

    Raises
    ------
    TypeError, ValueError
        As :class:`Optimizer`; also if alpha is outside [0, 1).

    Examples
    --------
    >>> optimizer = RMSprop([Parameter([1.0])], lr=0.01)
    """

    _slots = ("s",)
    _sums_of_squares = ("s",)
    _letters = ("alpha", "eps")

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate = 0.01,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: WeightDecay = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        self.alpha = self._checked("alpha", alpha, below=1)
        self.eps = self._checked("eps", eps)

    @staticmethod
    def _formula(
        W: Array, g: Array, s: Array, *, lr: float, alpha: float, eps: float, decay: float
    ) -> None:
        g = decayed(g, W, decay)
        s *= alpha
        s += (1 - alpha) * g * g
        W -= lr * g / (xp.sqrt(s) + eps)


class Adam(Optimizer):
    r"""Adaptive moments (Kingma and Ba 2015, algorithm 1).

    .. math::
        m &\leftarrow \beta_1 m + (1 - \beta_1) g \\
        s &\leftarrow \beta_2 s + (1 - \beta_2) g^2 \\
        W &\leftarrow W - \mathrm{lr}
            \frac{m / (1 - \beta_1^t)}{\sqrt{s / (1 - \beta_2^t)} + \epsilon}

    Parameters
    ----------
    parameters : iterable of Parameter
    lr : float
    betas : (float, float)
        Each in [0, 1).
    eps : float
    weight_decay : float
        Added to the gradient; :class:`AdamW` decays the weights themselves.
    lazy : bool
        From a sparse gradient, update W, m and s only in its rows, as ``torch.optim.SparseAdam``
        does. This is quicker for a large table, but a different rule: in the other rows m and s do
        not decay, and momentum does not move W. It has no effect on dense gradients.

    Raises
    ------
    TypeError, ValueError
        As :class:`Optimizer`; also if a beta is outside [0, 1), or if ``lazy`` comes with weight
        decay, which changes every row.

    Examples
    --------
    >>> W = Parameter([1.0])
    >>> optimizer = Adam([W], lr=0.1)
    >>> W.accumulate(W.value)
    >>> optimizer.step()                # the first step is lr in size, whatever the gradient
    >>> W.value.round(6)
    array([0.9])
    """

    _slots = ("m", "s")
    _sums_of_squares = ("s",)

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: WeightDecay = 0.0,
        lazy: Annotated[
            bool, Option("with a sparse gradient, update only its rows and their moments")
        ] = False,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        if not isinstance(lazy, bool):
            raise TypeError(f"Adam: lazy should be true or false, got {lazy!r}")
        if lazy and weight_decay:
            raise ValueError("Adam: lazy updates leave rows as they are, weight_decay changes all")
        self.lazy = self._row_by_row = lazy
        if not isinstance(betas, Sequence) or len(betas) != 2:
            raise ValueError(f"{type(self).__name__}: betas should be two numbers, got {betas!r}")
        beta1, beta2 = betas
        self.betas = self._checked("beta1", beta1, 1), self._checked("beta2", beta2, 1)
        self.eps = self._checked("eps", eps)

    def _scalars(self, t: int) -> dict[str, float]:
        beta1, beta2 = self.betas
        return {
            "beta1": beta1,
            "beta2": beta2,
            # both moments started at zero: what divides them after t steps
            "step": self.lr / (1 - beta1**t),
            "root": math.sqrt(1 - beta2**t),
            "eps": self.eps,
            "decay": self.weight_decay,
            "shrink": 1.0,
        }

    @staticmethod
    def _formula(
        W: Array,
        g: Array,
        m: Array,
        s: Array,
        *,
        beta1: float,
        beta2: float,
        step: float,
        root: float,
        eps: float,
        decay: float,
        shrink: float,
    ) -> None:
        g = decayed(g, W, decay)
        if shrink != 1:  # the decay of AdamW
            W *= shrink
        m += (1 - beta1) * (g - m)
        # in place: many short-lived arrays would keep two threads from working side by side
        square = (1 - beta2) * g
        square *= g
        s *= beta2
        s += square
        divisor = xp.sqrt(s, out=square)
        divisor /= root
        divisor += eps
        W -= step * m / divisor


class AdamW(Adam):
    r"""Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2).

    .. math:: W \leftarrow (1 - \mathrm{lr} \lambda) W, \quad \text{then as Adam without decay}

    Parameters
    ----------
    parameters : iterable of Parameter
    lr : float
    betas : (float, float)
        Each in [0, 1).
    eps : float
    weight_decay : float
        lambda.
    decay : {"all", "matrices", "products"}
        Which weights decay: all; those with two axes or more, so that gains and biases keep their
        size; or of these the ones that multiply alone, without embeddings, whose rows are looked
        up (of a tied weight too).
    undecayed : iterable of Parameter
        Others that do not decay.

    Raises
    ------
    TypeError, ValueError
        As :class:`Adam`; also if ``decay`` is neither.

    Examples
    --------
    >>> optimizer = AdamW([Parameter([1.0])], lr=1e-3, weight_decay=0.1)
    """

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: WeightDecay = 0.01,
        decay: Annotated[str, Option(choices=("all", "matrices", "products"))] = "all",
        undecayed: Iterable[Parameter] = (),
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)
        check_options(AdamW, {"decay": decay})
        self.decay = decay
        vectors = [p for p in self.parameters if decay != "all" and len(p.shape) < 2]
        tables = [p for p in self.parameters if decay == "products" and p.looked_up]
        self._undecayed = {*vectors, *tables, *as_bases(undecayed)}

    def _scalars_of(self, parameter: Parameter, t: int) -> dict[str, float]:
        shrink = {"shrink": 1.0} if parameter in self._undecayed else {}
        return {**self._scalars(t), **shrink}

    def _scalars(self, t: int) -> dict[str, float]:
        shrink = 1 - self.lr * self.weight_decay
        return {**super()._scalars(t), "decay": 0.0, "shrink": shrink}
