"""Running a backward many times after one forward, with one expression of it exchanged."""

from __future__ import annotations

import contextlib
from threading import get_ident
from typing import Any

import numpy

from deepnlp.diagnosis.problem import Problem, distance
from deepnlp.gradcheck.numeric import HostArray
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.walking import holders

CLOSE = 1e-6
"""Gradients this close, relative to the largest entry, are the same."""


ROUNDS = 10_000
"""So many rounds of ``while`` loops a changed form may run."""


class Snapshot:
    """The attributes and the arrays of some objects, to be put back.

    Parameters
    ----------
    owners : list
        The objects; what they hold is put back, too.
    """

    def __init__(self, owners: list[Any]) -> None:
        found = holders(owners)
        self._entries = [(h.entries, type(h.entries)(h.entries)) for h in found if _is_open(h)]
        arrays = {
            id(one): one
            for holder in found
            for one in (
                holder.entries.values() if isinstance(holder.entries, dict) else holder.entries
            )
            if isinstance(one, numpy.ndarray) and one.flags.writeable
        }
        self._arrays = [(one, one.copy()) for one in arrays.values()]

    def put_back(self) -> None:
        """Undo what was changed since."""
        for entries, content in self._entries:
            if isinstance(entries, dict):
                entries.clear()
                entries.update(content)
            else:
                entries[:] = content
        for array, content in self._arrays:
            array[...] = content


def _is_open(holder: Any) -> bool:
    return isinstance(holder.entries, dict | list)


class Trials:
    """Backward passes after one forward, compared with the right gradients.

    Parameters
    ----------
    problem : Problem
    subject : Subject
        A copy of that of the problem.

    Attributes
    ----------
    is_quick : bool
        Whether a backward can run again after the same forward.
    """

    def __init__(self, problem: Problem, subject: Subject) -> None:
        self.problem, self.subject, self._thread = problem, subject, get_ident()
        subject.analytic_gradients()
        subject.restore()
        subject.zero_grad()
        caller = subject.caller
        self._inputs = subject.fresh_inputs()
        caller.forward(self._inputs)
        held = [subject.layer, caller._results, caller._context, self._inputs]
        self._kept = Snapshot(held)
        # The row that is furthest off rules most changes out.
        order = sorted(problem.right, key=lambda name: name not in problem.bad)
        self._limits = [(name, problem.right[name], self._limit(name)) for name in order]
        self.is_quick = True
        now = self._gradients()
        self.is_quick = now is not None and all(
            distance(now[name], problem.wrong[name]) <= 1e-9 for name in problem.wrong
        )

    def _limit(self, name: str) -> float:
        """The largest difference of two gradients that are the same."""
        right, close = self.problem.right[name], CLOSE
        if name in self.problem.bad:
            close = min(close, 0.1 * distance(self.problem.wrong[name], right))
        return close * float(numpy.abs(right).max(initial=0)) + 1e-300

    def _gradients(self) -> dict[str, HostArray] | None:
        """Those of one more backward; None if it fails."""
        try:
            self._run()
            return self.subject.read_gradients()
        except Exception:
            return None

    def _run(self) -> None:
        self._kept.put_back()
        subject = self.subject
        subject._hand_over(subject._backward(subject._output_gradients()))

    def tick(self) -> None:
        """Count a round of a loop of the learner's."""
        self._rounds += get_ident() == self._thread
        if self._rounds > ROUNDS:
            raise RuntimeError("a loop without an end")

    def repaired(self) -> set[str]:
        """The wrong gradients that are right now; none if a right one is not."""
        found = set()
        self._rounds = 0
        with contextlib.suppress(Exception):
            if self.is_quick:
                self._run()
                now: Any = _Lazy(self.subject)
            else:
                now = self.subject.analytic_gradients()
            for name, right, limit in self._limits:
                array = now[name]
                is_right = array.shape == right.shape and (
                    not array.size or bool(numpy.abs(array - right).max() <= limit)
                )
                if is_right:
                    if name in self.problem.bad:
                        found.add(name)
                elif name not in self.problem.bad or (not found and len(self.problem.bad) == 1):
                    return set()
            return found
        return set()


class _Lazy:
    """Gradients of a subject, read one by one."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    def __getitem__(self, name: str) -> HostArray:
        found = self.subject.variables[name].grad()
        if isinstance(found, numpy.ndarray):
            return found
        variable = self.subject.variables[name]
        return self.subject._as_host(name, found, variable.get())
