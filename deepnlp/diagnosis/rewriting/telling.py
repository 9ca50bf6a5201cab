"""A repair as a guess: its cause, and a sentence with the learner's line and the right one."""

from __future__ import annotations

import ast
from collections.abc import Collection

from deepnlp.diagnosis.places import shortened, source_of
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.rewriting.functions import Ran
from deepnlp.diagnosis.rewriting.slots import Change

_LONGEST = 140


def guess_of(problem: Problem, ran: Ran, change: Change, repaired: Collection[str]) -> Guess:
    """The guess that a change is the repair of some wrong gradients."""
    statement = change.statement.node
    old = shortened(source_of(ran.code.co_filename, statement), _LONGEST)
    with change.applied():
        new = ast.fix_missing_locations(change.statement.node)
        line = shortened(ast.unparse(new).split("\n")[0], _LONGEST)
    rows = ", ".join(name for name in problem.bad if name in repaired)
    told = f"in line {statement.lineno}, `{old}` should be `{line}`: with it"
    if isinstance(new, ast.Pass):
        told = f"in line {statement.lineno}, `{old}` should not be there: without it"
    gradients = {name: problem.wrong[name] for name in repaired}
    place = f"{ran.file}:{statement.lineno}: {old}"
    return Guess(change.cause, f"{told} the gradient of {rows} is right", gradients, place=place)
