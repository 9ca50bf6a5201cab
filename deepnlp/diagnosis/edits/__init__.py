"""Single edits of the reverse pass, tried one after the other over all operations of the tape.

A reverse pass is a graph: nodes are the values of the forward, edges their local derivatives. A
mistake is an edit of a node or an edge, the same wherever a loop runs the statement.
"""

from deepnlp.diagnosis.edits import besides, closed, factors, moves, places, terms

EDITS = (
    (terms.scaled_terms, factors.wrong_factors, closed.wrong_maxima),
    (closed.loss_gradients, closed.updated_weights, places.forgotten_gradients),
    (places.other_gradients, factors.other_factors, factors.other_slopes, besides.lacking_factors),
    (
        terms.some_runs,
        terms.one_user,
        terms.constant_statistics,
        moves.other_runs,
        places.unused_conditions,
    ),
    (terms.some_entries,),
    (moves.moved_axes, besides.extra_factors),
)
"""Families of edits; a later stage is tried if no earlier one explains everything."""

__all__ = ["EDITS"]
