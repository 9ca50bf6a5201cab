"""Mistakes that make a backward not linear in dy: dy is left out, masked, squared or clipped."""

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.table import say
from deepnlp.diagnosis.problem import Guess, Problem, distance

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
        key = _key(one, given, problem.right[name])
        if key is not None:
            where = given[0] != 0
            words = {"count": int(where.sum()), "size": where.size, "dy": f"`{problem.incoming()}`"}
            if key == "any dy" and one.size > 1 and numpy.ptp(one) == 0:
                key, words["value"] = "constant gradient", f"{one.flat[0]:g}"
            found[name] = say(key, {name: one}, name=name, **words)
    return found


def _key(one: HostArray, given: list[HostArray], right: HostArray) -> str | None:
    """The row of the table, from the gradients for 0, -dy, 2 dy and a small dy."""
    none, turned, twice, small = given
    if _same(none, one) and _same(twice, one):
        return "any dy"
    if none.any():
        where = none != 0
        if not _same(twice - none, 2 * (one - none)):
            return None
        return (
            "some lack dy"
            if not where.all() and _same(one[where], none[where])
            else "term lacks dy"
        )
    if _same(twice, 2 * one):
        return "size of dy" if _same(turned, one) else None if _same(turned, -one) else "sign of dy"
    if _same(twice, 4 * one):
        return "dy twice"
    return "dy clipped" if _same(1e4 * small, right) else None


def _same(a: HostArray, b: HostArray) -> bool:
    return distance(a, b) <= _SAME
