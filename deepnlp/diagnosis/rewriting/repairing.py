"""Trying the changes: which makes wrong gradients right?"""

from __future__ import annotations

import ast
import copy
import itertools
import time
import warnings
from collections.abc import Iterator

import numpy

from deepnlp.diagnosis.places import shortened
from deepnlp.diagnosis.problem import Guess, Problem, distance
from deepnlp.diagnosis.rewriting.changes import changes
from deepnlp.diagnosis.rewriting.functions import Ran, functions_run
from deepnlp.diagnosis.rewriting.slots import Change
from deepnlp.gradcheck.numeric import HostArray
from deepnlp.gradcheck.subject import Subject

CLOSE = 1e-6
"""Gradients this close, relative to the largest entry, are the same."""

SECONDS = 0.75
"""As many seconds of processor time are spent."""


def repairs(problem: Problem) -> Iterator[Guess]:
    """Changes of the learner's backward that make wrong gradients right and no right one wrong.

    Wrong: ``db = dy.sum(axis=1)``. Right with ``axis=0``, and with no other small change.
    """
    if problem.base is not None:
        return
    started = time.process_time()
    subject = copy.deepcopy(problem.subject)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ran = functions_run(subject)
        for level in _levels(ran):
            is_repaired = False
            for function, change in level:
                if time.process_time() - started > SECONDS:
                    return
                now = _gradients(subject, function, change)
                if now is None or (repaired := _repaired(problem, now)) is None:
                    continue
                is_repaired = is_repaired or repaired == set(problem.bad)
                told = _told(problem, change, repaired)
                gradients = {name: problem.wrong[name] for name in repaired}
                place = f"{function.file}:{change.statement.node.lineno}: "
                place += _text(change.statement.node)
                yield Guess(change.cause, told, gradients, place=place)
            if is_repaired:
                return


def _levels(ran: list[Ran]) -> Iterator[list[tuple[Ran, Change]]]:
    """The changes of all functions, in lists of falling likelihood."""
    for level in itertools.zip_longest(*(changes(function) for function in ran), fillvalue=[]):
        yield [(function, change) for function, found in zip(ran, level) for change in found]


def _gradients(subject: Subject, function: Ran, change: Change) -> dict[str, HostArray] | None:
    """The gradients that backward gives with a change; None if it fails."""
    with change.applied():
        code = function.compiled()
    if code is None:
        return None
    try:
        with function.replaced_by(code):
            return subject.analytic_gradients()
    except Exception:
        return None


def _repaired(problem: Problem, now: dict[str, HostArray]) -> set[str] | None:
    """The wrong gradients that are right now; None if there is none, or if a right one is wrong."""
    repaired = set()
    for name, right in problem.right.items():
        if name not in now:
            return None
        close = CLOSE
        if name in problem.bad:
            close = min(CLOSE, 0.1 * distance(problem.wrong[name], right))
        is_right = distance(now[name], right) <= close
        if not is_right and name not in problem.bad:
            return None
        if is_right and name in problem.bad:
            repaired.add(name)
    return repaired or None


def _told(problem: Problem, change: Change, repaired: set[str]) -> str:
    slot = change.statement
    line = slot.node.lineno
    old = _text(slot.node)
    with change.applied():
        new = _text(ast.fix_missing_locations(slot.node))
    rows = ", ".join(name for name in problem.bad if name in repaired)
    return f"in line {line}, `{old}`, should be `{new}`: with it the gradient of {rows} is right"


def _text(node: ast.AST) -> str:
    return shortened(ast.unparse(node).split("\n")[0])
