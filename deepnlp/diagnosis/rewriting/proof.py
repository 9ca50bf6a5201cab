"""Proof of a repair: with other numbers, and with other shapes where the code allows them.

With few numbers a wrong line can be right by chance: ``A.shape[1]`` and ``b.shape[1]`` may be equal
here. So the inputs and weights are changed, and the inputs made longer by two along an axis; each
time the gradients with the repair are compared with slopes of forward along random directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.evaluating.evaluator import Evaluator
from deepnlp.diagnosis.problem import Problem, elsewhere
from deepnlp.diagnosis.rewriting.trials import Trials
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.variables import Input

CLOSE = 1e-4
"""How far a gradient may be from a slope that central differences give."""

SHAPES = 3
"""In as many other shapes a repair is tried."""


class Proof:
    """Other numbers and shapes for the code of a problem.

    Parameters
    ----------
    problem : Problem
    evaluator : Evaluator
        In whose trees a repair stands while it is proved.
    """

    def __init__(self, problem: Problem, evaluator: Evaluator) -> None:
        self.problem, self._evaluator = problem, evaluator

    def holds(self, names: set[str]) -> bool:
        """Return whether the gradients of some variables are right with the applied change."""
        for setting in self._settings:
            try:
                setting.trials.run()
            except Exception:
                return False
            if not all(setting.is_right(name) for name in names):
                return False
        return True

    @cached_property
    def _settings(self) -> list[Setting]:
        """The given shape with other numbers, then others; those in which right gradients stay."""
        rng = numpy.random.default_rng(0)
        found: list[Setting] = []
        is_script = hasattr(self.problem.subject.caller.code.forward, "lines")
        for size in (None, *(() if is_script else _sizes(self.problem.subject))):
            if len(found) == 1 + SHAPES:
                break
            try:
                setting = Setting(self.problem, self._evaluator, rng, size)
            except Exception:  # forward takes no such shape
                continue
            if setting.is_usable:
                found.append(setting)
        return found


class Setting:
    """Other inputs and weights, the slopes of forward there, and trials of backward."""

    def __init__(
        self, problem: Problem, evaluator: Evaluator, rng: Any, size: int | None = None
    ) -> None:
        subject = elsewhere(problem.subject, rng, () if size is None else (size,))
        self._directions = subject.random_directions(rng)
        self._slopes = {
            name: subject.slope({name: d}, "central") for name, d in self._directions.items()
        }
        self.trials = Trials(subject, evaluator)
        right = [name for name in problem.right if name not in problem.bad]
        self.is_usable = not self.trials.error and all(map(self.is_right, right))
        for name in problem.bad:  # a backward that counts on the old sizes
            was_alike = problem.wrong[name].shape == problem.right[name].shape
            if was_alike and self.trials.gradient(name).shape != self._directions[name].shape:
                self.is_usable = False

    def is_right(self, name: str) -> bool:
        """Return whether the last backward gave the slope along a direction."""
        found: HostArray = self.trials.gradient(name)
        direction = self._directions[name]
        if found.shape != direction.shape:
            return False
        parts = found * direction
        size = float(numpy.sqrt((parts**2).sum())) + abs(self._slopes[name])
        return bool(abs(parts.sum() - self._slopes[name]) <= CLOSE * size + 1e-9)


def _sizes(subject: Subject) -> Iterator[int]:
    """The sizes of the axes of the inputs, each once, the first axes first."""
    shapes = [v.get().shape for v in subject.variables.values() if isinstance(v, Input)]
    shapes += [value.shape for value in subject.inputs if isinstance(value, numpy.ndarray)]
    most = max(map(len, shapes), default=0)
    yield from dict.fromkeys(
        s[k] for k in range(most) for s in shapes if k < len(s) and s[k] > (k > 0)
    )
