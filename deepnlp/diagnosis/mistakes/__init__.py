"""The table of mistakes, and the walk that tries its rows over the reverse pass.

A reverse pass is a graph: its nodes are the values of the forward, its edges their local
derivatives. A mistake is an edit of an edge, the same wherever a loop runs the statement, or a
change of a finished gradient. ``table.toml`` holds the causes, the sentences and the formulas; the
functions here say where a row applies. Each yields guesses, which are tried in the order below.
"""

from collections.abc import Callable, Iterator
from functools import wraps

from deepnlp.diagnosis.mistakes import single, slopes, steps, terms
from deepnlp.diagnosis.problem import Guess, Problem

Hypothesis = Callable[..., Iterator[Guess]]


def _checked(*hypotheses: Hypothesis) -> tuple[Hypothesis, ...]:
    """The same; a guess about one gradient must hold on fresh numbers, where it fits."""

    def check(hypothesis: Hypothesis) -> Hypothesis:
        @wraps(hypothesis)
        def tried(problem: Problem, *names: str) -> Iterator[Guess]:
            for guess in hypothesis(problem, *names):
                guess.hypothesis = hypothesis
                fits = [n for n in names if problem.fits(n, guess.gradients[n])]
                if not fits or problem.holds(guess, set(fits), *names):
                    yield guess

        return tried

    return tuple(map(check, hypotheses))


OF_ONE_ROW = _checked(
    single.simple,
    single.sums,
)
"""Mistakes that are looked for in one gradient."""

OF_ALL_ROWS = (
    _checked(steps.cut_states),
    _checked(slopes.wrong_derivatives, terms.transposed_products),
    _checked(steps.overwritten),
)
"""Known mistakes about all gradients together; a later stage is tried if no earlier one fits."""

EDITS = (
    _checked(terms.scaled_terms, slopes.wrong_slopes),
    _checked(terms.loss_gradients),
    _checked(terms.some_entries),
)
"""Edits that are tried over all operations, in the same way."""

__all__ = ["EDITS", "OF_ALL_ROWS", "OF_ONE_ROW"]
