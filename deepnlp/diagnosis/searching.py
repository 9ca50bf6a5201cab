"""The search for guesses that explain wrong gradients: all of them, or group by group."""

from collections.abc import Iterator
from typing import Any

from deepnlp.diagnosis.mistakes import EDITS, OF_ALL_ROWS, OF_ONE_ROW, Hypothesis
from deepnlp.diagnosis.problem import Guess, NotFollowedError, Problem
from deepnlp.diagnosis.rewriting import STEPS, repairs
from deepnlp.gradcheck import causes as c

SPECIFIC = (
    c.LOSS_NOT_AVERAGED, c.LOSS_WRONG_COUNT, c.IGNORED_COUNTED,
    c.H_PATH, c.C_PATH,
    c.MASK_MISSING, c.MASK_SCALE, c.REPEATED_IDS, c.TIED_LOOKUP, c.TIED_OUTPUT,
    c.NOT_SUMMED_N, c.NOT_SUMMED_T, c.ASSIGNED, c.TIME_REVERSED,
    c.WRONG_AXIS, c.TRANSPOSED, c.SIGN, c.GATES_SWAPPED, c.EXCHANGED, c.TIME_SHIFTED,
    c.ZERO, c.DERIVATIVE_AT_INPUT, c.DERIVATIVE_MISSING,
    c.NOT_A_NUMBER, c.CACHE, c.FACTOR, c.TERM_MISSING, c.WRONG_VALUE,
)  # fmt: skip
"""Where several causes explain a gradient equally well, the one that says more comes first."""


STRICT = False
"""Whether an error in a hypothesis is raised; the tests set it."""


def specificity(guess: Guess) -> tuple[int, int]:
    """By which guesses are sorted that explain equally much."""
    return guess.tier, SPECIFIC.index(guess.cause)


def explain_together(problem: Problem) -> list[Guess]:
    """Guesses that explain all wrong gradients together; those of a part are remembered."""
    found: list[Guess] = []
    by_row = {name: explain_row(problem, name) for name in problem.bad}
    common = set.intersection(*({g.cause for g in guesses} for guesses in by_row.values()))
    for cause in common:
        parts = [next(g for g in by_row[name] if g.cause == cause) for name in problem.bad]
        gradients = {name: array for part in parts for name, array in part.gradients.items()}
        told = "; ".join(part.evidence for part in parts)
        found.append(Guess(cause, told, gradients, tier=max(part.tier for part in parts)))
    for stage in STAGES:
        if found:
            break
        for hypothesis in stage:
            for guess in problem.resolved(_guesses(hypothesis, problem)):
                guess.is_edit = stage in EDITS
                explained = problem.explained_by(guess)
                if explained == set(problem.bad):
                    found.append(guess)
                elif explained:
                    problem.partial.append((explained, guess))
    return found


def explain_row(problem: Problem, name: str) -> list[Guess]:
    """Guesses that explain one wrong gradient."""

    def explain() -> list[Guess]:
        return [
            guess
            for hypothesis in OF_ONE_ROW
            for guess in _guesses(hypothesis, problem, name)
            if problem.fits(name, guess.gradients[name]) and problem.holds(guess, {name}, name)
        ]

    found: list[Guess] = problem.recall(f"explained {name}", explain)
    return found


def explain_in_groups(problem: Problem) -> dict[str, list[Guess]]:
    """Guesses by wrong gradient, where no single mistake explains all.

    The mistake that explains most is taken as known, and what it leaves unexplained is searched
    again with this mistake in the reverse pass: a mistake upstream and its consequences are one
    cause, and a second mistake on top of it is another.
    """
    best = {name: explain_row(problem, name) for name in problem.bad}
    tried: set[frozenset[str]] = set()
    for explained, guess in sorted(problem.partial, key=_most_first):
        rest = set(problem.bad) - explained
        changed = problem.changed_by(guess)
        alone = best if len(explained) == 1 else {}  # what explains this gradient alone competes
        chosen = {name: [guess, *alone.get(name, [])] for name in explained}
        if not changed & rest and all(best[name] for name in rest):
            return _better(best, {**{name: best[name] for name in rest}, **chosen})
        if guess.edit is None or changed in tried or len(tried) >= MOST_BASES:
            continue
        tried.add(frozenset(changed))
        after = problem.after(guess.edit)
        if not after.bad:
            continue
        second = explain_together(after)
        found = dict.fromkeys(after.bad, second) if second else explain_in_rows(after)
        best = _better(best, {name: (chosen | found).get(name, []) for name in problem.bad})
        if all(best.values()):
            break
    return best


def explain_in_rows(problem: Problem) -> dict[str, list[Guess]]:
    """Guesses by wrong gradient, each explained alone or by a part of the edits that were tried."""
    found = {name: explain_row(problem, name) for name in problem.bad}
    for explained, guess in sorted(problem.partial, key=_most_first):
        for name in explained:
            found[name] = found[name] or [guess]
    return found


def repairs_of(problem: Problem, steps: int = STEPS) -> list[Guess]:
    """Changes of the learner's backward that make wrong gradients right, looked for once."""
    found: list[Guess] = problem.recall("repairs", lambda: list(_guesses(repairs, problem, steps)))
    return found


STAGES: tuple[tuple[Hypothesis, ...], ...] = (*OF_ALL_ROWS, *EDITS[:-1], (repairs_of,), EDITS[-1])
"""Families of hypotheses about all gradients; a later one is tried if no earlier one fits."""

MOST_BASES = 4
"""As many mistakes are taken as known, one after the other, to search for a second."""


def _most_first(found: tuple[set[str], Guess]) -> tuple[int, bool, tuple[int, int]]:
    """Sort by what is explained; repairs last, since the reverse pass cannot go on from them."""
    return -len(found[0]), bool(found[1].place), specificity(found[1])


def _better(one: dict[str, list[Guess]], other: dict[str, list[Guess]]) -> dict[str, list[Guess]]:
    """The one that explains more gradients; of two that explain as many, by fewer causes."""

    def key(found: dict[str, list[Guess]]) -> tuple[int, int]:
        named = [guesses[0].evidence for guesses in found.values() if guesses]
        return -len(named), len(set(named))

    return min((one, other), key=key)


def _guesses(hypothesis: Hypothesis, problem: Problem, *given: Any) -> Iterator[Guess]:
    """All guesses of a hypothesis, up to where it fails or needs a tape that does not exist.

    A check must give its verdict, whatever a forward may hold that a hypothesis did not expect.
    """
    try:
        for guess in hypothesis(problem, *given):
            guess.hypothesis = hypothesis
            yield guess
    except NotFollowedError:
        return
    except Exception:
        if STRICT:
            raise
