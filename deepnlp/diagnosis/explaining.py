"""Which mistake would give just the gradient that was found.

When a gradient is wrong, hypotheses predict what each known mistake would have given instead.
One that predicts all wrong gradients, and leaves the right ones right, is named first; those that
explain single gradients follow. An unexplained gradient is reported as unknown, with the evidence.
"""

import warnings
from dataclasses import replace

import numpy

from deepnlp.diagnosis.mistakes.table import phrase, say
from deepnlp.diagnosis.naming import named, with_reasons
from deepnlp.diagnosis.problem import Guess, Problem, distance
from deepnlp.diagnosis.rewriting import located
from deepnlp.diagnosis.searching import explain_in_groups, explain_together, specificity
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.causes import Cause
from deepnlp.gradcheck.engines import is_operation
from deepnlp.gradcheck.report import Row
from deepnlp.gradcheck.shapes import reason_for_shape
from deepnlp.gradcheck.subject import Subject

TRACE = 3e-4
"""An error no larger than this comes from a small constant, not from a wrong formula."""


COARSE = 5e-5
"""How close a prediction must come where forward adds a small constant and backward does not."""


def diagnose(subject: Subject, rows: list[Row], failed: list[Row]) -> None:
    """Give every wrong row its likely causes.

    Parameters
    ----------
    subject : Subject
    rows : list of Row
        Of which some are wrong; ``causes`` is filled in.
    failed : list of Row
        Checks that failed: an array that was changed in place explains a wrong gradient.
    """
    problem = Problem(subject, rows)
    bad = [row for row in rows if row.is_wrong]
    single: dict[str, list[Guess]] = {}
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if all(numpy.isfinite(row.analytic).all() for row in bad):
            single = _explained(problem)
            if not any(single.values()) and problem.has_epsilon:
                problem = Problem(subject, rows, COARSE)
                single = _explained(problem)
            if any(row.name == "linear in dy" for row in failed):
                single = with_reasons(problem, single)
        else:
            single = {row.name: _not_numbers(problem, row) for row in bad}
    observed = [row.causes[0] for row in failed if row.name in ("inputs", "outputs")]
    assigned = [row.causes[0] for row in failed if row.name == "two passes"]
    for row in bad:
        own = _causes(problem, single.get(row.name, []))
        row.causes = _each_once([*observed, *(own or assigned)])
        if not row.causes:
            guess = describe(problem, row)
            row.causes = [Cause(guess.cause, f"{problem.owner}: {guess.evidence}")]
    for row in bad:
        first = row.causes[0]
        if row.error > TRACE:
            where = located(problem, row.name, first.place)
            row.causes[0] = replace(first, evidence=first.evidence + where)


def _explained(problem: Problem) -> dict[str, list[Guess]]:
    """The guesses about each wrong gradient, in order."""
    if together := explain_together(problem):
        return dict.fromkeys(problem.bad, named(problem, together, set(problem.bad)))
    return _named_in_groups(problem, explain_in_groups(problem))


def describe(problem: Problem, row: Row) -> Guess:
    """How a gradient differs, where no mistake that is known explains it."""
    wrong, right, name = row.analytic, row.numeric, row.name
    if wrong.shape != right.shape:
        cause, reason = reason_for_shape(problem.subject, row)
        return say("shape", {}, cause=cause, note=row.note, reason=reason)
    off = numpy.abs(wrong - right) > min(1e-6, 0.1 * row.error) * numpy.abs(right).max(initial=0)
    place = {"name": name, "count": off.sum(), "size": off.size, "where": list(row.index)}
    if row.error <= TRACE:
        return say("trace", {}, error=f"{row.error:.1e}", **place)
    more = phrase("not_followed", reason=problem.not_followed) if problem.not_followed else ""
    for axis in range(off.ndim):
        lines = numpy.flatnonzero(off.any(axis=tuple(k for k in range(off.ndim) if k != axis)))
        if len(lines) < off.shape[axis]:
            more += phrase("only_at", axis=axis, places=lines.tolist())
    usable = off & (right != 0)
    if usable.any():
        q = wrong[usable] / right[usable]
        middle, *ends = (f"{x:.4g}" for x in (numpy.median(q), q.min(), q.max()))
        more += phrase("quotients", median=middle, least=ends[0], most=ends[1])
    return say("unknown", {}, more=more, **place)


def _named_in_groups(problem: Problem, found: dict[str, list[Guess]]) -> dict[str, list[Guess]]:
    """The guesses about gradients that have a first cause in common are ordered together."""
    groups: dict[str, set[str]] = {}
    for name, guesses in found.items():
        if guesses:
            groups.setdefault(min(guesses, key=specificity).evidence, set()).add(name)
    return {
        name: named(problem, guesses, next((g for g in groups.values() if name in g), {name}))
        for name, guesses in found.items()
    }


def _causes(problem: Problem, guesses: list[Guess]) -> list[Cause]:
    """One cause of each name, in the order of the guesses."""
    causes: dict[str, Cause] = {}
    of_operation = is_operation(problem.subject.caller.code.forward)
    no_time = of_operation or any(getattr(one, "ndim", 0) == 4 for one in problem.subject.inputs)
    for guess in guesses:
        apart = max(
            distance(problem.wrong[n], guess.gradients[n])
            for n in problem.bad
            if n in guess.gradients
        )
        evidence = f"{problem.owner}: {guess.evidence}"
        name = c.WRONG_VALUE if guess.cause == c.TIME_REVERSED and no_time else guess.cause
        causes.setdefault(name, Cause(name, evidence, apart, guess.place))
    return list(causes.values())


def _each_once(found: list[Cause]) -> list[Cause]:
    return list({cause.name: cause for cause in reversed(found)}.values())[::-1]


def _not_numbers(problem: Problem, row: Row) -> list[Guess]:
    if numpy.isfinite(row.analytic).all():
        return []
    where = numpy.argwhere(~numpy.isfinite(row.analytic))
    place = {"count": len(where), "size": row.analytic.size, "where": where[0].tolist()}
    return [say("not finite", {row.name: row.analytic}, name=row.name, **place)]
