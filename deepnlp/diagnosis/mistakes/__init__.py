"""The table of mistakes, and the walk that tries its rows over the reverse pass.

A reverse pass is a graph: its nodes are the values of the forward, its edges their local
derivatives. A mistake is an edit of an edge, the same wherever a loop runs the statement, or a
change of a finished gradient. ``table.toml`` holds the causes, the sentences and the formulas; the
functions here say where a row applies. Each yields guesses, which are tried in the order below.
"""

from deepnlp.diagnosis.mistakes import single, slopes, steps, terms, wholes

OF_ONE_ROW = (
    single.simple,
    single.other_pieces,
    single.moved_by_one,
    single.sums,
    single.overlaps,
    single.wrong_axis,
    single.moved_in_time,
    single.reordered,
    wholes.swapped_blocks,
    wholes.wrong_block,
)
"""Mistakes that are looked for in one gradient."""

OF_ALL_ROWS = (
    (wholes.wrong_average, wholes.ignored_counted, slopes.wrong_masks, wholes.exchanged_rows),
    (steps.cut_states, steps.ignored_output, steps.outputs_moved, steps.step_skipped),
    (slopes.wrong_derivatives, terms.transposed_products, wholes.swapped_gates),
    (steps.neighbouring_step, steps.one_step_ahead, steps.overwritten),
    (wholes.exchanged_values,),
)
"""Known mistakes about all gradients together; a later stage is tried if no earlier one fits."""

EDITS = (
    (terms.scaled_terms, slopes.wrong_slopes, slopes.wrong_maxima),
    (terms.loss_gradients, terms.updated_weights, terms.forgotten_gradients),
    (terms.other_gradients, terms.other_factors, slopes.other_slopes, terms.lacking_factors),
    (
        terms.some_runs,
        terms.one_user,
        terms.constant_statistics,
        terms.other_runs,
        terms.unused_conditions,
    ),
    (terms.some_entries,),
    (terms.moved_axes, terms.extra_factors, terms.two_signs),
)
"""Edits that are tried over all operations, in the same way."""

__all__ = ["EDITS", "OF_ALL_ROWS", "OF_ONE_ROW"]
