"""Evaluating a backward many times after one forward, with a change in it."""

from collections.abc import Callable
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.evaluating.evaluator import Evaluator
from deepnlp.diagnosis.evaluating.guard import RefusedError
from deepnlp.diagnosis.evaluating.snapshot import Snapshot
from deepnlp.diagnosis.problem import distance
from deepnlp.gradcheck.subject import Subject

MORE = 10_000
"""As many steps more than four times those of the learner's own form a changed form may take."""


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
        self._caller = subject.caller
        self._inputs = subject.fresh_inputs()
        self._outputs = self._caller.forward(self._inputs)
        self.gives_both = gives_both(subject)
        held = [subject.layer, self._caller._results, self._caller._context, self._inputs]
        self._kept = Snapshot(held)
        self._caller.call = self._evaluate  # in place of Python
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

    def _evaluate(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return the value of a function of the learner."""
        return self.evaluator.guard.call(function, list(args), options)

    def run(self) -> None:
        """One backward; its gradients are with the variables of the subject."""
        guard = self.evaluator.guard
        guard.kept = self._kept.ids
        self._kept.put_back()
        for _, _, kept in guard.copies.values():
            kept.put_back()
        guard.most = guard.steps + self._most
        self.evaluator.depth = 0
        subject = self.subject
        if self.gives_both:
            function, (args, options) = self._caller.code.forward, self._caller.split(self._inputs)
            self._caller._results = results = list(guard.call(function, args, options))
            outputs = (results[k] for k in self._caller._outputs)
            if not all(map(numpy.array_equal, outputs, self._outputs)):
                raise ValueError("the loss is another")
        subject._hand_over(self._caller.backward(subject._output_gradients()))

    def gradient(self, name: str) -> HostArray:
        """Return the last backward's gradient of a variable."""
        variable = self.subject.variables[name]
        found = variable.grad()
        if isinstance(found, numpy.ndarray) and name not in self.subject.means:
            return found
        return self.subject._as_host(name, found, variable.get())

    def gives(self, gradients: dict[str, HostArray]) -> bool:
        """Return whether the last backward gave these."""
        return all(distance(self.gradient(n), one) <= 1e-9 for n, one in gradients.items())


def gives_both(subject: Subject) -> bool:
    """Return whether one function gives the outputs and their gradients; known after a forward."""
    caller = subject.caller
    is_engine = getattr(caller, "is_engine", False)
    return caller.code.backward is None and not is_engine and not callable(caller._results[-1])
