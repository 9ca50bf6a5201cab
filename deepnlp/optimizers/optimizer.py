"""The base of all optimizers: which arrays are updated, and the state that is saved."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Real
from typing import Annotated, Any, NamedTuple

from deepnlp.backend import Array, asarray, table_rows, xp
from deepnlp.kernels import kernel
from deepnlp.options import Option
from deepnlp.parameter import Parameter, as_bases, at_every_place

LearningRate = Annotated[float, Option("learning rate at the start", above=0)]
WeightDecay = Annotated[float, Option("pull of the weights towards zero", low=0)]


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


class Optimizer:
    """The base of all optimizers: the parameters, the learning rate, weight decay, the state.

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

    tails = 1  # averages that are validated, each epoch
    _slots: tuple[str, ...] = ()  # names of the arrays kept for each parameter
    _sums_of_squares: tuple[str, ...] = ()  # those of them that are never below 0
    _letters: tuple[str, ...] = ()  # attributes that are numbers of the formula, beside lr

    # Changes W and what is kept for it in place, element by element, on any block of rows.
    _formula: Callable[..., None]

    _row_by_row = False  # whether a sparse gradient changes only its rows

    def __init__(
        self, parameters: Iterable[Parameter], lr: LearningRate, weight_decay: WeightDecay = 0.0
    ):
        self.parameters = as_bases(parameters)
        if not self.parameters:
            raise ValueError(f"{type(self).__name__}: there are no parameters to update")
        self.lr = self._checked("lr", lr)
        self.weight_decay = self._checked("weight_decay", weight_decay)
        self._steps: dict[Parameter, int] = {}  # updates of each; none of a frozen one
        self._kept: dict[Parameter, dict[str, Array]] = {}

    def step(self) -> None:
        """Update every trainable parameter from its gradient, in place."""
        self._update(self.parameters)

    def _update(self, parameters: Iterable[Parameter]) -> None:
        """Update those of some parameters that are trainable, element by element."""
        updates, written_back = [], []
        for parameter in parameters:
            if not parameter.trainable:
                continue
            t, kept = self._counted(parameter)
            W = parameter.value
            if parameter.sparse_grad is None or self.weight_decay or not self._row_by_row:
                updates.append(Update(W, parameter.grad, kept, self._scalars_of(parameter, t)))
                continue
            ids, rows = parameter.sparse_grad
            some = {slot: table_rows(array, ids) for slot, array in kept.items()}
            g = at_every_place(ids, rows)  # so that copies of a row are updated alike
            scalars = self._scalars_of(parameter, t)
            updates.append(Update(table_rows(W, ids), g, some, scalars))
            written_back.append((ids, {"W": W, **kept}, {"W": updates[-1].W, **some}))
        update_all(self._formula, updates)
        for ids, arrays, some in written_back:
            for slot, array in arrays.items():
                array[ids] = some[slot]

    def _counted(self, parameter: Parameter) -> tuple[int, dict[str, Array]]:
        """The number of this update of a parameter, and what is kept for it."""
        t = self._steps[parameter] = self._steps.get(parameter, 0) + 1
        slots = self._slots_of(parameter)
        if slots and parameter not in self._kept:
            self._kept[parameter] = {slot: xp.zeros_like(parameter.value) for slot in slots}
        return t, self._kept.get(parameter, {})

    def _slots_of(self, parameter: Parameter) -> tuple[str, ...]:
        """Names of the arrays kept for a parameter."""
        return self._slots

    def epoch_end(self, valid: float) -> None:
        """Take note of the validation of the epoch that has just ended: the lower, the better."""

    def choose(self, losses: Sequence[float]) -> int:
        """Choose which of its averages counts, by the lowest validation."""
        return 0

    def averaged(self, tail: int = 0) -> AbstractContextManager[None]:
        """Context in which the parameters have the values that count: here, those they have.

        Parameters
        ----------
        tail : int
            Which of several averages, ``tails``; by default that which counts.
        """
        return nullcontext()

    def state(self) -> dict[str, Any]:
        """Return all that the next step depends on, besides the parameters.

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
        counts = ((n, state.get(f"{n}.steps")) for n in range(len(self.parameters)))
        steps = {n: count for n, count in counts if count is not None}
        slots = {n: self._slots_of(self.parameters[n]) for n in steps}
        arrays = {f"{n}.{slot}": self.parameters[n] for n in steps for slot in slots[n]}
        if strange := sorted(set(state) ^ {"lr", *(f"{n}.steps" for n in steps), *arrays}):
            raise ValueError(f"{owner}: not a state of this optimizer: {strange}")
        lr = state["lr"]
        if type(lr) not in (int, float) or not 0 <= lr < math.inf:
            raise ValueError(f"{owner}: state lr should be a finite number, got {lr!r}")
        for n, count in steps.items():
            if type(count) is not int or count < 1:
                expected = "a whole number, 1 or more"
                raise ValueError(f"{owner}: state {n}.steps should be {expected}, got {count!r}")
        for key, parameter in arrays.items():
            shape, dtype = tuple(state[key].shape), state[key].dtype
            if shape != parameter.shape or dtype != parameter.dtype:
                raise ValueError(
                    f"{owner}: state {key} should have shape {parameter.shape} and be "
                    f"{parameter.dtype}, got {shape} and {dtype}"
                )
            if key.split(".")[1] in self._sums_of_squares and (state[key] < 0).any():
                raise ValueError(f"{owner}: {key} should be 0 or more, being a sum of squares")
        self.lr = float(lr)
        self._steps = {self.parameters[n]: count for n, count in steps.items()}
        self._kept = {
            self.parameters[n]: {slot: asarray(state[f"{n}.{slot}"]).copy() for slot in slots[n]}
            for n in steps
        }

    def _scalars_of(self, parameter: Parameter, t: int) -> dict[str, float]:
        """Return the same for one parameter, where its rule differs from that of the others."""
        return self._scalars(t)

    def _scalars(self, t: int) -> dict[str, float]:
        """Return the numbers of the formula at update t of a parameter, by their names in it."""
        others = {name: getattr(self, name) for name in self._letters}
        return {"lr": self.lr, "decay": self.weight_decay, **others}

    def _checked(self, name: str, value: float, below: float = math.inf) -> float:
        """Return a number, or a ValueError if it is outside [0, below)."""
        if not (isinstance(value, Real) and 0 <= value < below):
            expected = "finite and 0 or more" if below == math.inf else f"in [0, {below})"
            raise ValueError(f"{type(self).__name__}: {name} should be {expected}, got {value!r}")
        return value


def decayed(g: Array, W: Array, decay: float) -> Array:
    """Return the gradient of the loss with decay / 2 times the square of W added."""
    return g + decay * W if decay else g
