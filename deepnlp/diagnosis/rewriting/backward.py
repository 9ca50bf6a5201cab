"""The backward of a problem, evaluated once: the functions that can be wrong, and their values."""

from types import FunctionType
from typing import Any

from deepnlp.diagnosis.evaluating.evaluator import Evaluated, Evaluator, Frame
from deepnlp.diagnosis.evaluating.sources import is_foreign
from deepnlp.diagnosis.problem import Problem
from deepnlp.diagnosis.rewriting.functions import Ran, ran_in, ran_of
from deepnlp.diagnosis.rewriting.trials import Trials, gives_both
from deepnlp.gradcheck.engines import walk_of
from deepnlp.gradcheck.walking import copy_of


class Backward:
    """The functions that a backward runs, and forward does not.

    Where one function gives the loss and the gradients, all that it runs.

    Attributes
    ----------
    evaluator : Evaluator
    trials : Trials
    ran : list of Ran
        Those that can be changed.
    forward : list of Ran
        Those that forward runs.
    reason : str
        Why there are none that can be changed.
    """

    def __init__(self, problem: Problem) -> None:
        self.ran, self.forward, self.reason = list[Ran](), list[Ran](), ""
        try:
            self._evaluate(problem)
        except Exception as error:  # what a learner holds may not be copied
            self.reason = f"{type(error).__name__}: {error}".partition(". ")[0]

    def _evaluate(self, problem: Problem) -> None:
        subject = copy_of(problem.subject)
        forward = ran_in(subject.forward)
        self.forward = [ran for ran in forward.values() if ran is not None]
        both = gives_both(subject)
        self._by_code = {c: r for c, r in forward.items() if r is not None} if both else {}
        self._unchanged = set() if both else set(forward)
        caller = subject.caller
        is_known = caller.is_engine and caller.is_walk_right
        self._unchanged |= walk_of(caller._results[0]) if is_known else set()
        self.evaluator = Evaluator(self._prepare)
        self.evaluator.on_return = self._note_frame
        self.trials = Trials(subject, self.evaluator)
        self.evaluator.on_return = None
        self.reason = self.trials.error
        if not self.reason and not self.trials.gives(problem.wrong):
            self.reason = "it gives something else when it runs again"
        self.ran = [ran for ran in self._by_code.values() if ran.frame and not self.reason]
        for one in self.ran:
            one.others = [other.tree for other in self.forward if other is not one]

    def _prepare(self, function: FunctionType, tree: Any) -> Any:
        """The tree that is evaluated; of functions that can be changed the one that is."""
        code = function.__code__
        if code in self._unchanged or is_foreign(code):
            return tree
        if code not in self._by_code and (ran := ran_of(code)) is not None:
            self._by_code[code] = ran
        return self._by_code[code].tree if code in self._by_code else tree

    def _note_frame(self, function: Evaluated, frame: Frame) -> None:
        ran = self._by_code.get(function.function.__code__)
        if ran is None or function.tree is not ran.tree:
            return
        ran.runs += 1
        if ran.frame is None:
            names, outer = dict(frame.names), frame.outer
            while outer is not None:
                names, outer = {**outer.names, **names}, outer.outer
            ran.see(names, frame)


def backward_of(problem: Problem) -> Backward:
    """The backward of a problem, evaluated once."""
    found: Backward = problem.recall("backward", lambda: Backward(problem))
    return found
