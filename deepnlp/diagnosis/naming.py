"""Which of the guesses that explain a gradient is named first, and the learner's line beside it.

A guess says what is wrong with the reverse pass; a repair quotes the line of the learner's backward
that would be right with a small change. Where there are both, the line belongs to the sentence, and
the name is that of the guess only if it is a known mistake, or if the repair has the same name.
"""

import ast
from dataclasses import replace

from deepnlp.diagnosis.mistakes.linearity import not_linear
from deepnlp.diagnosis.mistakes.table import phrase
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.rewriting import STEPS, STEPS_BESIDE
from deepnlp.diagnosis.searching import repairs_of, specificity
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.places import statement_at

VAGUE = (c.TERM_MISSING, c.WRONG_VALUE, c.FACTOR, c.TRANSPOSED)
"""Causes that a repair may name better."""

OF_EDITS = (c.CACHE, c.H_PATH, c.C_PATH, c.SIGN, c.ASSIGNED, c.MASK_MISSING, c.MASK_SCALE)
"""Causes that an edit names as well as a known mistake."""

MISSING = (c.TERM_MISSING, c.H_PATH, c.C_PATH, c.ZERO, c.DERIVATIVE_MISSING)
"""Causes of which a value that backward computes in vain may be a sign."""


def named(problem: Problem, guesses: list[Guess], rows: set[str]) -> list[Guess]:
    """The guesses about some wrong gradients, the one to be named first, with the line to repair.

    Parameters
    ----------
    problem : Problem
    guesses : list of Guess
    rows : set of str
        Names of the gradients that they explain.
    """
    ranked = sorted(guesses, key=specificity)
    if not ranked or any(guess.place for guess in ranked):
        return ranked
    first = ranked[0]
    steps = STEPS if first.is_edit or first.cause in VAGUE else STEPS_BESIDE
    repaired = [r for r in repairs_of(problem, steps) if set(r.gradients) == rows]
    if not repaired:
        if first.cause in MISSING:
            first = replace(first, evidence=first.evidence + unused(problem))
        return [first, *ranked[1:]]
    is_guessed = first.is_edit and first.cause == c.WRONG_VALUE  # then the smallest change counts
    alike = repaired[:1] if is_guessed else repaired
    same = next((r for r in alike if r.cause == first.cause), None)
    of_line = getattr(problem.subject.caller.code.forward, "lines", None)
    if of_line is not None and same is None and first.cause == c.ASSIGNED:  # of a known line
        chosen = repaired[0]
    elif same is not None or _is_decisive(first, repaired):
        chosen = _quoted(first, same or repaired[0])
    else:
        pairs = [(g, r) for g in ranked[1:] for r in repaired if g.cause == r.cause]
        chosen = _quoted(*pairs[0]) if pairs else repaired[0]
    return [chosen, *(guess for guess in ranked if guess.cause != chosen.cause)]


def _is_decisive(guess: Guess, repaired: list[Guess]) -> bool:
    """Return whether the name of a guess stays, whatever a repair is called."""
    if guess.cause == c.ZERO:  # the repair says why, unless zeros are what is assigned
        is_walk = ": for " in repaired[0].place  # in which a graph is walked
        is_reason = is_walk or repaired[0].cause in (c.ASSIGNED, c.TIME_SHIFTED)
        return not is_reason or "zeros" in repaired[0].place
    if guess.is_edit and guess.cause == c.TERM_MISSING:  # divided by g, where g is a factor
        return repaired[0].cause == c.WRONG_VALUE and repaired[0].removes
    if guess.is_edit:
        is_moved = ": for " in repaired[0].place  # a statement that belongs in a loop, or behind it
        return guess.cause in OF_EDITS and not is_moved
    if guess.cause == c.FACTOR:
        return repaired[0].cause in (c.WRONG_VALUE, c.TERM_MISSING)
    return guess.cause not in VAGUE


def _quoted(guess: Guess, repair: Guess) -> Guess:
    """A guess with the line that a repair would change."""
    parts = [guess.evidence, repair.evidence]
    return replace(
        guess,
        evidence="; ".join(parts[::-1] if guess.is_edit else parts),
        place=repair.place,
        tier=-1,
    )


def with_reasons(problem: Problem, found: dict[str, list[Guess]]) -> dict[str, list[Guess]]:
    """The same, where backward is not linear in dy: what makes it so comes first.

    Where a term lacks dy, a repair of the line says more.
    """
    result = dict(found)
    for name, reason in not_linear(problem).items():
        guesses, chosen = found.get(name, []), reason
        if guesses:
            first, told = guesses[0], f"{reason.evidence}; {guesses[0].evidence}"
            is_term = bool(first.place) and reason.cause == c.TERM_MISSING
            if first.cause == reason.cause or is_term:
                chosen = replace(first, evidence=told)
            elif first.place:
                chosen = replace(reason, evidence=told, place=first.place)
        result[name] = [chosen, *(g for g in guesses if g.cause != chosen.cause)]
    return result


def unused(problem: Problem) -> str:
    """Return what backward computes without using it, as evidence where something is missing."""
    backward = problem.subject.caller.code.backward
    code = getattr(getattr(backward, "__func__", backward), "__code__", None)
    tree = None if code is None else statement_at(code.co_filename, code.co_firstlineno)
    if not isinstance(tree, ast.FunctionDef):
        return ""
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    lines = {
        node.targets[0].id: node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    told = [f"`{name}` (line {line})" for name, line in lines.items() if name not in read]
    them = "it" if len(told) == 1 else "them"
    return phrase("unused", names=" and ".join(told), them=them) if told else ""
