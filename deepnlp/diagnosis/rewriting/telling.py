"""A repair as a guess: its cause, and a sentence with the learner's line and the right one."""

import ast
import copy
import math
from collections.abc import Collection

from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.rewriting.functions import Ran, loop_variables, shape_of
from deepnlp.diagnosis.rewriting.slots import Change
from deepnlp.diagnosis.rewriting.wording import Setting, is_mask, worded
from deepnlp.gradcheck.places import shortened, source_of

_LONGEST = 140


def guess_of(
    problem: Problem, changes: list[tuple[Ran, Change]], repaired: Collection[str]
) -> Guess:
    """The guess that changes are, together, the repair of some wrong gradients."""
    said = [_said(problem, ran, change, repaired) for ran, change in changes]
    cause, told, place, removes = said[0]
    rows = ", ".join(name for name in problem.bad if name in repaired)
    told = ", and ".join(one[1] for one in said)
    wish = "without it" if told.endswith("should not be there") else "with it"
    gradients = {name: problem.wrong[name] for name in repaired}
    evidence = (
        f"{told}: {wish if len(said) == 1 else 'with both' if len(said) == 2 else 'with all'}"
    )
    evidence += f" the gradient of {rows} is right"
    return Guess(cause, evidence, gradients, place=place, removes=removes)


def _said(
    problem: Problem, ran: Ran, change: Change, repaired: Collection[str]
) -> tuple[str, str, str, bool]:
    """The cause, the sentence and the line of one change, and whether it takes something away."""
    before = copy.deepcopy(change.statement.node)
    with change.applied():
        after = copy.deepcopy(ast.fix_missing_locations(change.statement.node))
    weights = [n for n in repaired if n not in problem.subject.input_names]
    is_bias = len(weights) == len(repaired) and all(problem.right[n].ndim < 2 for n in weights)
    assigned = {
        ast.unparse(node.targets[0]): node.value
        for tree in (*ran.others, ran.tree)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name if tree is ran.tree else ast.Attribute)
    }
    kinds = (ast.Call, ast.Attribute, ast.Subscript, ast.BinOp)
    texts = {
        ast.unparse(n) for tree in (before, after) for n in ast.walk(tree) if isinstance(n, kinds)
    }
    known = {text: ran.value(text) for text in texts}
    known = {
        t: v for t, v in known.items() if shape_of(v) == () or math.prod(shape_of(v) or ()) > 1
    }
    scope = {**ran.scope, **known}
    own = {id(node) for node in ast.walk(change.statement.node)}
    names = [n for n in ast.walk(ran.tree) if isinstance(n, ast.Name) and id(n) not in own]
    others = {n.id for n in names if isinstance(n.ctx, ast.Load)}
    setting = Setting(
        scope,
        assigned,
        is_bias,
        problem.is_random,
        loop_variables(ran),
        others,
        problem.is_random and any(is_mask(n, scope) for n in ast.walk(before)),
        problem.targets,
    )
    cause, words = worded(before, after, change.cause, setting)
    is_block = isinstance(before, ast.For | ast.If | ast.While)  # of which the head is quoted
    whole = ast.unparse(before) if is_block else source_of(ran.code.co_filename, before)
    old = shortened(whole.split("\n")[0], _LONGEST)
    text = ast.unparse(after).removeprefix("return " if ran.tree.name == "<lambda>" else "")
    new = shortened(text.split("\n")[0], _LONGEST)
    told = f"in line {before.lineno}, `{old}` should be `{new}`"
    told += f" ({words})" if words else ""
    if more := sorted({line for line in _lines(change) if line != before.lineno}):
        told += f", and likewise line {' and line '.join(map(str, more))}"
    if isinstance(after, ast.Pass):
        told = f"in line {before.lineno}, `{old}` should not be there"
    if moved := _moved(change):
        told = moved
    place = f"{ran.file}:{before.lineno}: {old}"
    return cause, told, place, _operations(after) < _operations(before)


def _lines(change: Change) -> list[int]:
    """Where the changed expressions begin."""
    return [slot.node.lineno for slot, _ in change.puts if isinstance(slot.node, ast.expr)]


def _moved(change: Change) -> str:
    """Return the words for a change that moves a statement into a loop, or behind it."""
    puts = [(slot.node, new) for slot, new in change.puts if isinstance(new, ast.stmt)]
    if puts and isinstance(puts[0][0], ast.For) and isinstance(puts[0][1], ast.For | ast.If):
        loop, inner = puts[0][0], puts[0][1].body[-1]
        text, where = (
            shortened(ast.unparse(inner).split("\n")[0]),
            "in" if len(puts) > 1 else "after",
        )
        return f"line {inner.lineno}, `{text}`, should stand {where} the loop of line {loop.lineno}"
    return ""


def _operations(node: ast.AST) -> int:
    return sum(isinstance(one, ast.BinOp) for one in ast.walk(node))
