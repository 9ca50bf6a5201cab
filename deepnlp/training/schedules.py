"""How the learning rate changes while a model trains.

The trainer multiplies the optimizer's first learning rate by ``schedule.scale(step)`` before each
update and calls ``schedule.epoch_end(valid)`` after each validation. ``state()`` gives what a
schedule remembers, for a checkpoint.
"""

import math
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from deepnlp.options import Choice, Option, check_options

CUT = "what a cut, or with exponential an epoch, multiplies the rate by"

Warmup = Annotated[int, Option("updates in which the rate rises in a straight line", low=0)]
Factor = Annotated[float, Option(CUT, above=0, high=1, name="lr_factor")]
Floor = Annotated[float, Option(low=0, high=1, name="lr_floor")]


@dataclass(eq=False)
class Schedule:
    """The learning rate as a fraction of its first value: here, always 1.

    A subclass keeps what it remembers between epochs in fields that are no arguments of the
    constructor.

    Parameters
    ----------
    warmup_steps : int
        In the first updates the rate rises in a straight line: (step + 1) / warmup_steps.

    Examples
    --------
    >>> [Schedule(warmup_steps=4).scale(step) for step in range(5)]
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """

    warmup_steps: Warmup = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        check_options(type(self), vars(self))

    def scale(self, step: int) -> float:
        """Return the learning rate of an update, as a fraction of the first.

        Parameters
        ----------
        step : int
            Updates made before this one.
        """
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps * self.shape(step)
        return self.shape(step)

    def shape(self, step: int) -> float:
        """Return the schedule without its warm-up; a subclass states its equation."""
        return 1.0

    def epoch_end(self, valid: float) -> None:
        """Take note of the validation of the epoch that has just ended."""

    def state(self) -> dict[str, Any]:
        """Return the numbers that a checkpoint must keep of this schedule, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if not each.init}

    def load_state(self, state: dict[str, Any]) -> None:
        """Put back what :meth:`state` gave."""
        for name in self.state():
            setattr(self, name, state[name])


class Constant(Schedule):
    """The same learning rate throughout, after the warm-up.

    Examples
    --------
    >>> Constant().scale(1000)
    1.0
    """


@dataclass(eq=False)
class Plateau(Schedule):
    r"""Annealing: a smaller rate after an epoch without a better validation.

    .. math:: s \leftarrow s \cdot \mathrm{factor} \quad\text{unless}\quad
        v < v_{best} - \mathrm{threshold} \, |v_{best}|

    v is the figure of the validation, lower being better; the trainer negates one of which higher
    is better.

    Parameters
    ----------
    factor : float
        0.25 in the word_language_model example of PyTorch, 0.5 in Gulordava, Aina and Boleda
        (2018).
    patience : int
        Epochs without a better validation to tolerate before a cut.
    threshold : float
        Relative improvement below which an epoch does not count as better.
    floor : float
        Smallest rate, as a fraction of the first.
    warmup_steps : int

    Examples
    --------
    >>> schedule = Plateau(factor=0.25)
    >>> for valid in (120.0, 110.0, 111.0):
    ...     schedule.epoch_end(valid)
    >>> schedule.scale(step=0)
    0.25
    """

    factor: Factor = 0.25
    patience: Annotated[int, Option(low=0, name="lr_patience")] = 0
    threshold: Annotated[float, Option(low=0, below=1, name="lr_threshold")] = 0.0
    floor: Floor = 0.0
    level: float = field(default=1.0, init=False)
    best: float | None = field(default=None, init=False)
    epochs_without: int = field(default=0, init=False)

    def shape(self, step: int) -> float:
        """Compute the equation above."""
        return self.level

    def epoch_end(self, valid: float) -> None:
        """Compare with the best validation so far."""
        # a validation of nan does not count as better
        if self.best is None or valid < self.best - self.threshold * abs(self.best):
            self.best, self.epochs_without = valid, 0
            return
        self.epochs_without += 1
        if self.epochs_without > self.patience:
            self.level = max(self.floor, self.level * self.factor)
            self.epochs_without = 0


@dataclass(eq=False)
class Step(Schedule):
    r"""A cut every few epochs, the first perhaps later.

    .. math:: s = \mathrm{factor}^{k}, \qquad k =
        \begin{cases} 0 & e < \mathrm{hold} \\
        1 + \lfloor (e - \mathrm{hold}) / \mathrm{every} \rfloor & \text{else} \end{cases}

    e is the number of epochs that are done.

    Parameters
    ----------
    every : int
        Epochs between cuts.
    factor : float
    hold : int, optional
        Epochs before the first cut; by default as between cuts.
    warmup_steps : int

    Notes
    -----
    Zaremba, Sutskever and Vinyals 2014, section 4.1, cut after each epoch from one on: their
    non-regularised model has ``Step(factor=0.5, hold=4)``.

    Examples
    --------
    >>> schedule = Step(factor=0.5, hold=4)
    >>> for epoch in range(6):
    ...     scale = schedule.scale(step=0)
    ...     schedule.epoch_end(100.0)
    >>> scale
    0.25
    """

    every: Annotated[int, Option(low=1, name="lr_every")] = 1
    factor: Factor = 0.5
    hold: Annotated[int | None, Option(low=1, name="lr_hold")] = None
    epochs: int = field(default=0, init=False)

    def shape(self, step: int) -> float:
        """Compute the equation above."""
        after = self.epochs - (self.hold or self.every)
        return float(self.factor ** (0 if after < 0 else 1 + after // self.every))

    def epoch_end(self, valid: float) -> None:
        """Count an epoch."""
        self.epochs += 1


@dataclass(eq=False)
class Exponential(Schedule):
    r"""A steady fall, by the same factor over any ``steps`` updates.

    .. math:: s = \mathrm{factor}^{(\mathrm{step} - \mathrm{warmup}) / \mathrm{steps}}

    It does not depend on the length of the run, so a run that is resumed with more epochs continues
    as a longer one would have.

    Parameters
    ----------
    steps : int
        Updates in which the rate is multiplied by ``factor`` once, such as those of an epoch.
    factor : float
    warmup_steps : int

    Examples
    --------
    >>> Exponential(steps=100, factor=0.25).scale(step=50)
    0.5
    """

    steps: int
    factor: Factor = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps < 1:
            raise ValueError(f"steps should be 1 or more, got {self.steps}")

    def shape(self, step: int) -> float:
        """Compute the equation above."""
        return float(self.factor ** (max(0, step - self.warmup_steps) / self.steps))


@dataclass(eq=False)
class Linear(Schedule):
    r"""A straight line from 1 to ``floor``, reached at the last update.

    .. math:: s = 1 - (1 - \mathrm{floor}) \, p, \quad
        p = \frac{\mathrm{step} - \mathrm{warmup}}{\mathrm{total} - \mathrm{warmup}}

    Parameters
    ----------
    total_steps : int
        Updates of the whole run; from then on the rate stays at ``floor``.
    floor : float
        Smallest rate, as a fraction of the first.
    warmup_steps : int

    Examples
    --------
    >>> [Linear(total_steps=4).scale(step) for step in range(5)]
    [1.0, 0.75, 0.5, 0.25, 0.0]
    """

    total_steps: int
    floor: Floor = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.total_steps <= self.warmup_steps:
            least = f"more than the {self.warmup_steps} steps of warm-up"
            raise ValueError(f"total_steps should be {least}, got {self.total_steps}")

    def shape(self, step: int) -> float:
        """Compute the equation above."""
        return 1 - (1 - self.floor) * self._progress(step)

    def _progress(self, step: int) -> float:
        """Return the fraction p of the way from the end of the warm-up to the last update."""
        way = self.total_steps - self.warmup_steps
        return min(1.0, max(0.0, (step - self.warmup_steps) / way))


class Cosine(Linear):
    r"""Half a cosine from 1 to ``floor`` (Loshchilov and Hutter 2017, equation 5).

    .. math:: s = \mathrm{floor} + (1 - \mathrm{floor}) \, \tfrac12 (1 + \cos \pi p)

    with p as for :class:`Linear`.

    Parameters
    ----------
    total_steps : int
        Updates of the whole run.
    floor : float
        Smallest rate, as a fraction of the first.
    warmup_steps : int

    Examples
    --------
    >>> [round(Cosine(total_steps=4).scale(step), 3) for step in range(5)]
    [1.0, 0.854, 0.5, 0.146, 0.0]
    """

    def shape(self, step: int) -> float:
        """Compute the equation above."""
        fall = 0.5 * (1 + math.cos(math.pi * self._progress(step)))
        return self.floor + (1 - self.floor) * fall


SCHEDULES = Choice(
    "how the learning rate changes", Constant, Plateau, Step, Exponential, Linear, Cosine
)
