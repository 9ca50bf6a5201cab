"""Evaluating a backward many times after one forward, with a change in it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy

from deepnlp.diagnosis.problem import distance
from deepnlp.diagnosis.rewriting.evaluator import Evaluator
from deepnlp.diagnosis.rewriting.guard import RefusedError
from deepnlp.diagnosis.rewriting.snapshot import Snapshot
from deepnlp.gradcheck.numeric import HostArray
from deepnlp.gradcheck.subject import Subject

MORE = 10_000
"""As many steps more than four times those of the learner's own form a changed form may take."""


class _Evaluated:
    """A function of the learner that the evaluator calls in place of Python."""

    def __init__(self, function: Callable[..., Any], evaluator: Evaluator) -> None:
        self.__wrapped__, self._evaluator = function, evaluator
        self.__signature__ = inspect.signature(function)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._evaluator.guard.call(self.__wrapped__, list(args), options)


class Trials:
    """Backward passes of a subject after one forward.

    Parameters
    ----------
    subject : Subject
        A copy; it runs one forward as it is.
    evaluator : Evaluator

    Attributes
    ----------
    error : str
        Why the backward cannot be evaluated; empty if it can.
    """

    def __init__(self, subject: Subject, evaluator: Evaluator) -> None:
        self.subject, self.evaluator = subject, evaluator
        subject.restore()
        subject.zero_grad()
        caller = subject.caller
        self._inputs = subject.fresh_inputs()
        self._gives_both = caller.code.backward is None  # forward gives the gradients, too
        self._outputs = caller.forward(self._inputs)
        held = [subject.layer, caller._results, caller._context, self._inputs]
        self._kept = Snapshot(held)
        name = "forward" if self._gives_both else "backward"
        made = _Evaluated(getattr(caller.code, name), evaluator)
        caller.code = replace(caller.code, **{name: made})
        self._most = 1 << 60
        self.error = ""
        before = evaluator.guard.steps
        try:
            self.run()
        except RefusedError as error:
            self.error = str(error)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
        self._most = 4 * (evaluator.guard.steps - before) + MORE

    def run(self) -> None:
        """One backward; its gradients are with the variables of the subject."""
        guard = self.evaluator.guard
        self._kept.put_back()
        for _, _, kept in guard.copies.values():
            kept.put_back()
        guard.most = guard.steps + self._most
        self.evaluator.depth = 0
        subject = self.subject
        if self._gives_both:
            outputs = subject.caller.forward(self._inputs)
            if not all(map(numpy.array_equal, outputs, self._outputs)):
                raise ValueError("the loss is another")
        subject._hand_over(subject._backward(subject._output_gradients()))

    def gradient(self, name: str) -> HostArray:
        """What the last backward gave for a variable."""
        variable = self.subject.variables[name]
        found = variable.grad()
        if isinstance(found, numpy.ndarray):
            return found
        return self.subject._as_host(name, found, variable.get())

    def gives(self, gradients: dict[str, HostArray]) -> bool:
        """Whether the last backward gave these."""
        return all(distance(self.gradient(n), one) <= 1e-9 for n, one in gradients.items())
