"""Updating parameters from their gradients. The formulas are those of torch.optim.

Throughout, g is the gradient of a parameter W after weight decay, lr the learning rate. An
optimizer changes ``Parameter.value`` in place and keeps its own arrays by parameter.

Where g is zero, SGD and AdaGrad change neither W nor what they keep. So from a sparse gradient
(:mod:`deepnlp.parameter`) they update only its rows, with the same result to the last bit. The
other optimizers change every row at every step, and so does weight decay: these use the dense
gradient, except for ``Adam(lazy=True)``. Clipping scales a sparse gradient without making it
dense.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Annotated, Any, NamedTuple

from deepnlp import backend
from deepnlp.backend import Array, asarray, asnumpy, check_number, xp
from deepnlp.kernels import kernel
from deepnlp.options import Choice, Option
from deepnlp.parameter import Parameter, as_bases, at_every_place

LearningRate = Annotated[float, Option("learning rate at the start", above=0)]
WeightDecay = Annotated[float, Option("pull of the weights towards zero", low=0)]
SMALLEST_NORM = 1e-15  # of which the squares are still whole in float32
NEVER_REACHED = 1e300  # a larger max_norm clips nothing; its quotient might overflow
AVERAGE_AFTER = "epochs back behind which validation must fall to begin averaging; 0 for at once"
Velocity = Annotated[float, Option("fraction of the velocity kept per step", low=0, below=1)]


class Update(NamedTuple):
    """One weight W, or rows of it, that an optimizer is to change, and its gradient g.

    ``kept`` holds the arrays that the optimizer keeps for the weight, changed in place, and
    ``scalars`` the other letters of the formula, both by name.
    """

    W: Array
    g: Array
    kept: Mapping[str, Array]
    scalars: Mapping[str, float]


@kernel
def update_all(formula: Callable[..., None], updates: Sequence[Update]) -> None:
    """Change all weights by an optimizer's formula."""
    for W, g, kept, scalars in updates:
        formula(W, g, **kept, **scalars)


@kernel
def clip_all(gradients: Sequence[Array], max_norm: float) -> Array:
    """Scale the gradients in place; gives their norm before, a 0-d float64 array.

    On a device, where a look at the norm would wait, float32 has a form that sums in float64.
    """
    norm = _norm(gradients)
    if backend.name() == "numpy" and not SMALLEST_NORM < norm < math.inf:
        m = max((float(abs(g).max()) for g in gradients if g.size), default=0.0)
        if 0 < m < math.inf:
            return _clip_extreme(gradients, max_norm, m)
    if max_norm < NEVER_REACHED:
        scale = xp.minimum(1, max_norm / (norm + 1e-6))
        for g in gradients:
            _multiply(g, scale)
    return norm


def _clip_extreme(gradients: Sequence[Array], max_norm: float, m: float) -> Array:
    """The same where squares overflow or vanish: g / m, with m = max |g|, is scaled instead.

    The norm is m n, with n that of g / m, and g min(1, max_norm / (m n + 1e-6)) is
    g / m times min(m, max_norm / (n + 1e-6 / m)).
    """
    n = _norm([g / g.dtype.type(m) for g in gradients])
    if math.isfinite(max_norm) and max_norm / m < n + 1e-6 / m:
        for g in gradients:
            g /= g.dtype.type(m)
            _multiply(g, max_norm / (n + 1e-6 / m))
    return xp.asarray(float(n) * m)  # infinite if the norm is above all numbers of float64


def _norm(gradients: Sequence[Array]) -> Array:
    """The root of the sum of all squares, a 0-d float64 array; those of float16 are summed wide."""
    wide = (g.astype("float32") if g.dtype == "float16" else g for g in gradients)
    return xp.sqrt(sum((xp.vdot(g, g).real for g in wide), start=xp.zeros(())))


def _multiply(g: Array, scale: Array) -> None:
    """Scale an array in place; of float16, by a factor that float16 need not hold."""
    if g.dtype == "float16":
        g[...] = g.astype("float32") * scale.astype("float32")
    else:
        g *= scale.astype(g.dtype)


def clip_gradients(parameters: Iterable[Parameter], max_norm: float) -> Array:
    r"""Scale all gradients together so that their norm is at most ``max_norm``.

    .. math::
        n = \Bigl(\sum_W \sum_{ij} g_{W,ij}^2\Bigr)^{1/2}, \qquad
        g \leftarrow g \cdot \min\Bigl(1, \frac{\mathrm{max\_norm}}{n + 10^{-6}}\Bigr)

    Parameters
    ----------
    parameters : iterable of Parameter
        A tied weight counts once, with the sum of its uses.
    max_norm : float
        Positive; infinity to measure only.

    Returns
    -------
    0-d array
        The norm before clipping.

    Raises
    ------
    ValueError
        If ``max_norm`` is not positive.

    Notes
    -----
    Pascanu, Mikolov and Bengio 2013, algorithm 1.

    Examples
    --------
    >>> W = Parameter([3.0, 4.0])
    >>> W.accumulate(W.value)
    >>> float(clip_gradients([W], max_norm=1.0))
    5.0
    >>> W.grad.round(4)
    array([0.6, 0.8])
    """
    check_number("clip_gradients: max_norm", max_norm)
    if not max_norm > 0:
        raise ValueError(f"clip_gradients: max_norm should be positive, got {max_norm}")
    trained = [p for p in as_bases(parameters) if p.trainable]
    gradients = [p.grad if p.sparse_grad is None else p.sparse_grad[1] for p in trained]
    return clip_all(gradients, max_norm)


class Optimizer:
    """What optimizers share: the parameters, the learning rate, weight decay, the state.

    Parameters
    ----------
    parameters : iterable of Parameter
        Such as ``model.parameters()``. Each is updated once, however often it is listed.
    lr : float
        Learning rate; an attribute that a schedule may change between steps.
    weight_decay : float
        Adds ``weight_decay * W`` to the gradient (L2 regularisation).

    Raises
    ------
    TypeError
        If ``parameters`` is not a list of Parameters.
    ValueError
        If it is empty, or ``lr`` or ``weight_decay`` is negative.
    """

    _slots: tuple[str, ...] = ()  # names of the arrays kept for each parameter

    # Changes W and what is kept for it in place, element by element, on any block of rows.
    _formula: Callable[..., None]

    _row_by_row = False  # whether a sparse gradient changes only its rows

    def __init__(
        self, parameters: Iterable[Parameter], lr: LearningRate, weight_decay: WeightDecay = 0.0
    ):
        self.parameters = as_bases(parameters)
        if not self.parameters:
            raise ValueError(f"{type(self).__name__}: there are no parameters to update")
        self._check(lr=lr, weight_decay=weight_decay)
        self.lr = lr
        self.weight_decay = weight_decay
        self._steps: dict[Parameter, int] = {}  # updates of each; none of a frozen one
        self._kept: dict[Parameter, dict[str, Array]] = {}

    def step(self) -> None:
        """Update every trainable parameter from its gradient, in place."""
        updates, written_back = [], []
        for parameter in self.parameters:
            if not parameter.trainable:
                continue
            t = self._steps[parameter] = self._steps.get(parameter, 0) + 1
            if self._slots and parameter not in self._kept:
                self._kept[parameter] = {
                    slot: xp.zeros_like(parameter.value) for slot in self._slots
                }
            W, kept = parameter.value, self._kept.get(parameter, {})
            if parameter.sparse_grad is None or self.weight_decay or not self._row_by_row:
                updates.append(Update(W, parameter.grad, kept, self._scalars(t)))
                continue
            ids, rows = parameter.sparse_grad
            some = {slot: xp.take(array, ids, axis=0) for slot, array in kept.items()}
            g = at_every_place(ids, rows)  # so that copies of a row are updated alike
            updates.append(Update(xp.take(W, ids, axis=0), g, some, self._scalars(t)))
            written_back.append((ids, {"W": W, **kept}, {"W": updates[-1].W, **some}))
        update_all(self._formula, updates)
        for ids, arrays, some in written_back:
            for slot, array in arrays.items():
                array[ids] = some[slot]

    def epoch_end(self, valid: float) -> None:
        """Take note of the validation of the epoch that has just ended: the lower, the better."""

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Context in which the parameters have the values that count: here, those they have."""
        yield

    def state(self) -> dict[str, Any]:
        """What the next step depends on, besides the parameters.

        Returns
        -------
        dict of str to array or number
            ``lr``, and for parameter number 3 ``3.steps`` and arrays such as ``3.m``.
        """
        state: dict[str, Any] = {"lr": self.lr}
        for number, parameter in enumerate(self.parameters):
            if parameter in self._steps:
                state[f"{number}.steps"] = self._steps[parameter]
            for slot, array in self._kept.get(parameter, {}).items():
                state[f"{number}.{slot}"] = array
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Put back what :meth:`state` gave, so that the next step has the same bits.

        Parameters
        ----------
        state : dict of str to array or number

        Raises
        ------
        ValueError
            If it is the state of another optimizer or of other parameters.
        """
        owner = type(self).__name__
        updated = [n for n in range(len(self.parameters)) if f"{n}.steps" in state]
        arrays = {f"{n}.{slot}": self.parameters[n] for n in updated for slot in self._slots}
        expected = {"lr", *(f"{n}.steps" for n in updated), *arrays}
        if set(state) != expected:
            strange = sorted(set(state) ^ expected)
            raise ValueError(f"{owner}: not a state of this optimizer: {strange}")
        if not _is_rate(state["lr"]):
            raise ValueError(f"{owner}: state lr should be a finite number, got {state['lr']!r}")
        for steps in (f"{n}.steps" for n in updated):
            if type(state[steps]) is not int or state[steps] < 1:
                raise ValueError(
                    f"{owner}: state {steps} should be a whole number, 1 or more, "
                    f"got {state[steps]!r}"
                )
        for key, parameter in arrays.items():
            shape, dtype = tuple(state[key].shape), state[key].dtype
            if shape != parameter.shape or dtype != parameter.dtype:
                raise ValueError(
                    f"{owner}: state {key} should have shape {parameter.shape} and be "
                    f"{parameter.dtype}, got {shape} and {dtype}"
                )
            if key.endswith(".s") and (state[key] < 0).any():
                raise ValueError(
                    f"{owner}: state {key} should be 0 or more, being a sum of squares"
                )
        self.lr = float(state["lr"])
        self._steps = {self.parameters[n]: int(state[f"{n}.steps"]) for n in updated}
        self._kept = {
            self.parameters[n]: {slot: asarray(state[f"{n}.{slot}"]).copy() for slot in self._slots}
            for n in updated
        }

    def most_steps(self) -> int:
        """The number of updates of the parameter that has had most.

        Returns
        -------
        int
        """
        return max(self._steps.values(), default=0)

    def _scalars(self, t: int) -> dict[str, float]:
        """The numbers of the formula at update t of a parameter, by their names in it."""
        return {"lr": self.lr, "decay": self.weight_decay}

    def _check(self, **at_least_zero: float) -> None:
        for name, value in at_least_zero.items():
            if not (isinstance(value, Real) and 0 <= value < math.inf):
                raise ValueError(
                    f"{type(self).__name__}: {name} should be finite and 0 or more, got {value!r}"
                )


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
        W -= lr * _decayed(g, W, decay)


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
        check_number("NTASGD: average_after", average_after, whole=True)
        self._check(average_after=average_after)
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

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Context in which the parameters hold their averages, if there are any."""
        if not self._averaged:
            yield
            return
        raw = {parameter: parameter.value.copy() for parameter in self._kept}
        for parameter, kept in self._kept.items():
            parameter.value[...] = kept["average"]
        try:
            yield
        finally:
            for parameter, value in raw.items():
                parameter.value[...] = value

    def state(self) -> dict[str, Any]:
        """As :meth:`Optimizer.state`, with the validations so far and what they led to.

        Returns
        -------
        dict of str to array or number
        """
        own = {"averaging": self.averaging, "averaged": self._averaged}
        return {**super().state(), **own, "losses": asarray(self._losses)}

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
        own = ("averaging", "averaged", "losses")
        if missing := [name for name in own if name not in state]:
            raise ValueError(f"NTASGD: not a state of this optimizer: it lacks {missing}")
        losses = asnumpy(state["losses"])
        right = losses.ndim == 1 and losses.dtype.kind == "f" and all(map(math.isfinite, losses))
        averaged = state["averaged"]
        if not right or type(averaged) is not int or averaged < 0:
            raise ValueError("NTASGD: not a state of this optimizer: losses or averaged")
        if not isinstance(state["averaging"], bool) or state["averaging"] < (averaged > 0):
            raise ValueError("NTASGD: not a state of this optimizer: averaging")
        super().load_state({name: value for name, value in state.items() if name not in own})
        self.averaging, self._averaged = state["averaging"], averaged
        self._losses = losses.tolist()

    def _scalars(self, t: int) -> dict[str, float]:
        return {**super()._scalars(t), "share": 1 / self._averaged if self._averaged else 0.0}

    @staticmethod
    def _formula(
        W: Array, g: Array, average: Array, *, lr: float, decay: float, share: float
    ) -> None:
        SGD._formula(W, g, lr=lr, decay=decay)
        if share:
            average += share * (W - average)


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

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate,
        momentum: Velocity = 0.9,
        weight_decay: WeightDecay = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        _check_fraction(self, momentum=momentum)
        self.momentum = momentum

    def _scalars(self, t: int) -> dict[str, float]:
        return {**super()._scalars(t), "momentum": self.momentum}

    @staticmethod
    def _formula(W: Array, g: Array, v: Array, *, lr: float, momentum: float, decay: float) -> None:
        v *= momentum
        v += _decayed(g, W, decay)
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
        g = _decayed(g, W, decay)
        v *= momentum
        v += g
        W -= lr * (g + momentum * v)


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
    _row_by_row = True

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate = 0.01,
        eps: float = 1e-10,
        weight_decay: WeightDecay = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        self._check(eps=eps)
        self.eps = eps

    def _scalars(self, t: int) -> dict[str, float]:
        return {**super()._scalars(t), "eps": self.eps}

    @staticmethod
    def _formula(W: Array, g: Array, s: Array, *, lr: float, eps: float, decay: float) -> None:
        g = _decayed(g, W, decay)
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

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate = 0.01,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: WeightDecay = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        _check_fraction(self, alpha=alpha)
        self._check(eps=eps)
        self.alpha, self.eps = alpha, eps

    def _scalars(self, t: int) -> dict[str, float]:
        return {**super()._scalars(t), "alpha": self.alpha, "eps": self.eps}

    @staticmethod
    def _formula(
        W: Array, g: Array, s: Array, *, lr: float, alpha: float, eps: float, decay: float
    ) -> None:
        g = _decayed(g, W, decay)
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

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
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
        _check_fraction(self, beta1=betas[0], beta2=betas[1])
        self._check(eps=eps)
        self.betas = (betas[0], betas[1])
        self.eps = eps

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
    ) -> None:
        g = _decayed(g, W, decay)
        m += (1 - beta1) * (g - m)
        s *= beta2
        s += (1 - beta2) * g * g
        W -= step * m / (xp.sqrt(s) / root + eps)


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

    Raises
    ------
    TypeError, ValueError
        As :class:`Adam`.

    Examples
    --------
    >>> optimizer = AdamW([Parameter([1.0])], lr=1e-3, weight_decay=0.1)
    """

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: WeightDecay = 0.01,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)

    def _scalars(self, t: int) -> dict[str, float]:
        shrink = 1 - self.lr * self.weight_decay
        return {**super()._scalars(t), "decay": 0.0, "shrink": shrink}

    @staticmethod
    def _formula(
        W: Array, g: Array, m: Array, s: Array, *, shrink: float = 1.0, **adam: Any
    ) -> None:
        W *= shrink
        Adam._formula(W, g, m, s, **adam)


OPTIMIZERS = Choice(
    "rule of the update", SGD, Momentum, Nesterov, AdaGrad, RMSprop, Adam, AdamW, NTASGD
)


def _decayed(g: Array, W: Array, decay: float) -> Array:
    """Gradient of the loss with decay / 2 times the square of W added."""
    return g + decay * W if decay else g


def _is_rate(value: Any) -> bool:
    """Whether a learning rate is one: finite, and 0 or more."""
    return type(value) in (int, float) and 0 <= value < math.inf


def _check_fraction(optimizer: Optimizer, **fractions: float) -> None:
    for name, value in fractions.items():
        if not (isinstance(value, Real) and 0 <= value < 1):
            raise ValueError(
                f"{type(optimizer).__name__}: {name} should be in [0, 1), got {value!r}"
            )
