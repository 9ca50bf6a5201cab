"""What makes a backward not linear in dy: dy is left out, masked, squared or clipped."""

from __future__ import annotations

import numpy

from deepnlp.diagnosis.problem import Guess, Problem, distance
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.numeric import HostArray

_SAME = 1e-7


def not_linear(problem: Problem) -> dict[str, Guess]:
    """By wrong gradient, what makes it not linear in dy, as further dys show.

    Wrong: ``dx = dy * (dy > 0)``, ``dx = self.y * (1 - self.y)``.
    Right: ``dx = dy * (self.x > 0)``, ``dx = dy * self.y * (1 - self.y)``.
    """
    subject = problem.subject
    try:
        none, turned, twice, small = (
            subject.gradients_for([k * w for w in subject.weights]) for k in (0.0, -1.0, 2.0, 1e-4)
        )
    except Exception:  # whatever a backward does with a gradient of zeros
        return {}
    found = {}
    for name in problem.bad:
        one = problem.wrong[name]
        given = [g[name] for g in (none, turned, twice, small)]
        if any(g.shape != one.shape or not numpy.isfinite(g).all() for g in given):
            continue
        told = _told(problem, name, one, given)
        if told is not None:
            found[name] = Guess(told[0], f"the gradient of {name} {told[1]}", {name: one})
    return found


def _told(
    problem: Problem, name: str, one: HostArray, given: list[HostArray]
) -> tuple[str, str] | None:
    none, turned, twice, small = given
    dy = f"`{problem.incoming()}`"
    if _same(none, one) and _same(twice, one):
        return c.TERM_MISSING, f"is the same for any {dy}: {dy} is not multiplied in"
    if none.any():
        where = none != 0
        if not _same(twice - none, 2 * (one - none)):
            return None
        part = "a term of it does not contain it"
        if where.sum() < where.size and _same(one[where], none[where]):
            part = f"{where.sum()} of its {where.size} entries do not contain it"
        return c.TERM_MISSING, f"is not 0 where {dy}, the gradient that comes in, is 0: {part}"
    if _same(twice, 2 * one):
        if _same(turned, one):
            return c.WRONG_VALUE, f"is the same for {dy} and -{dy}: its absolute value is used"
        if not _same(turned, -one):
            return c.DERIVATIVE_MISSING, (
                f"depends on the sign of {dy}: a mask, or a case, is taken from {dy}, the gradient "
                "that comes in, and not from a value of forward"
            )
    elif _same(twice, 4 * one):
        return c.WRONG_VALUE, f"is four times as large for 2 {dy}: {dy} stands there twice"
    elif _same(1e4 * small, problem.right[name]):
        return c.NOT_LINEAR, f"is right for a small {dy}, a large one is cut off: it is clipped"
    return None


def _same(a: HostArray, b: HostArray) -> bool:
    return distance(a, b) <= _SAME
