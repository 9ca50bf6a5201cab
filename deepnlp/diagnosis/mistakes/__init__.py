"""The table of mistakes, and the walk that tries its rows over the reverse pass.

A reverse pass is a graph: its nodes are the values of the forward, its edges their local
derivatives. A mistake is an edit of an edge, the same wherever a loop runs the statement, or a
change of a finished gradient. ``table.toml`` holds the causes, the sentences and the formulas; the
functions here say where a row applies. Each yields guesses, which are tried in the order below.
"""

from collections.abc import Callable, Iterable

from deepnlp.diagnosis.mistakes import single, slopes, steps, terms
from deepnlp.diagnosis.problem import Guess

Hypothesis = Callable[..., Iterable[Guess]]

OF_ONE_ROW: tuple[Hypothesis, ...] = (single.simple, single.sums)
"""Mistakes that are looked for in one gradient."""

OF_ALL_ROWS: tuple[tuple[Hypothesis, ...], ...] = (
    (steps.cut_states,),
    (slopes.wrong_derivatives, terms.transposed_products),
    (steps.overwritten,),
)
"""Known mistakes about all gradients together; a later stage is tried if no earlier one fits."""

EDITS: tuple[tuple[Hypothesis, ...], ...] = (
    (terms.scaled_terms, slopes.wrong_slopes),
    (terms.loss_gradients,),
    (terms.some_entries,),
)
"""Edits that are tried over all operations, in the same way."""

__all__ = ["EDITS", "OF_ALL_ROWS", "OF_ONE_ROW"]
