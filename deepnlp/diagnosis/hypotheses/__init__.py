"""One kind of mistake per file, and the gradients it would give.

A hypothesis takes a :class:`deepnlp.diagnosis.problem.Problem` and yields guesses: a cause, the
evidence, and the gradients that this mistake would give. Those of one row are called per row.
"""

from deepnlp.diagnosis.hypotheses import (
    activations,
    blocks,
    edges,
    losses,
    masks,
    paths,
    patterns,
    sums,
    time,
    values,
)

OF_ONE_ROW = (
    patterns.zero,
    paths.state_is_cut,
    patterns.multiple,
    patterns.transposed,
    patterns.unsummed,
    patterns.passed_through,
    patterns.moved_by_one,
    patterns.other_slopes,
    sums.repeated_ids,
    sums.tied,
    sums.unsummed_rows,
    sums.step_left_out,
    sums.overlaps,
    sums.wrong_axis,
    time.moved_in_time,
    blocks.swapped_blocks,
    blocks.wrong_block,
)
"""Hypotheses about one gradient."""

OF_ALL_ROWS = (
    (losses.wrong_average, losses.ignored_counted, masks.wrong_masks, blocks.swapped_rows),
    (
        paths.cut_states,
        paths.cut_inputs,
        paths.ignored_output,
        time.outputs_moved,
        time.step_skipped,
        masks.rectifier_passed,
    ),
    (activations.wrong_derivatives, edges.transposed_products, blocks.swapped_gates),
    (values.neighbouring_step, values.one_step_ahead, values.overwritten),
    (blocks.swapped_activations,),
)
"""Hypotheses about all gradients together; a later stage is tried if no earlier one fits."""

__all__ = ["OF_ALL_ROWS", "OF_ONE_ROW"]
