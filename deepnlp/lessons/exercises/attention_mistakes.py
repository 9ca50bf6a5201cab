"""Attention as typical mistakes compute it, for the checks of lesson 9."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from deepnlp.backend.functions import softmax, softmax_grad
from deepnlp.gradcheck import causes as c

HostArray = np.ndarray[Any, Any]
Mistakes = list[tuple[list[str], tuple[HostArray, HostArray]]]
"""Names of the mistakes made, none in the first entry, and the two gradients that they give."""

# A name may have a bar and a further word: see deepnlp.lessons.exercises.texts.


def transposed(array: HostArray) -> HostArray:
    """(N, T, S) to (N, S, T)."""
    return array.swapaxes(1, 2)


def masked(e: HostArray, lengths: HostArray, low: float = -np.inf) -> HostArray:
    """Scores (N, T, S) with ``low`` in the padding."""
    return np.where((np.arange(e.shape[2]) < lengths[:, None])[:, None], e, low)


def weights(query: HostArray, memory: HostArray, lengths: HostArray) -> HostArray:
    """The right weights (N, T, S)."""
    return softmax(masked(query @ transposed(memory), lengths))


def wrong_weights(q: HostArray, m: HostArray, lengths: HostArray) -> dict[str, HostArray]:
    """Weights (N, T, S) as typical mistakes give them."""
    e = q @ transposed(m)
    hidden, S = masked(e, lengths), m.shape[1]
    low = masked(e, lengths, -1e9)
    with_zeros = masked(e, lengths, 0)
    together = np.exp(hidden) / np.exp(hidden).sum(axis=(1, 2), keepdims=True)
    return {
        "mask forgotten": softmax(e),
        "masked after the softmax": masked(softmax(e), lengths, 0),
        "score 0 in the padding": softmax(with_zeros),
        "softmax over the steps": _softmax_over(low, 1),
        "softmax over the steps|no mask": _softmax_over(e, 1),
        "softmax over the steps|masked after": masked(_softmax_over(e, 1), lengths, 0),
        "softmax over the batch": _softmax_over(low, 0),
        "softmax over the batch|no mask": _softmax_over(e, 0),
        "one softmax for all steps": together,
        "scores divided": softmax(hidden / np.sqrt(q.shape[2])),
        "scores divided|by H": softmax(hidden / q.shape[2]),
        "one place too many": softmax(masked(e, lengths + 1)),
        "one place too few": softmax(masked(e, np.maximum(lengths - 1, 1))),
        "mask turned round": softmax(np.where(np.isinf(hidden), e, -1e9)),
        "softmax missing": e,
        "softmax missing|zeros in the padding": with_zeros,
        "exponential missing": with_zeros / with_zeros.sum(axis=2, keepdims=True),
        "exponential missing|no mask": e / e.sum(axis=2, keepdims=True),
        **{f"one length for all|{k}": softmax(masked(e, np.full(len(m), k))) for k in range(1, S)},
    }


def underflows(q: HostArray, m: HostArray, lengths: HostArray, found: HostArray) -> bool:
    """Whether weights are nan where those less the maximum of the whole array are 0 / 0."""
    e = q @ transposed(m)
    hidden = masked(e, lengths)
    sums = (np.exp(hidden - most).sum(axis=2, keepdims=True) for most in (hidden.max(), e.max()))
    nan = np.isnan(found)
    return any(np.array_equal(nan, np.broadcast_to(one == 0, e.shape)) for one in sums)


def _softmax_over(e: HostArray, axis: int) -> HostArray:
    return np.moveaxis(softmax(np.moveaxis(e, axis, -1)), -1, axis)


def wrong_contexts(a: HostArray, memory: HostArray) -> dict[str, HostArray]:
    """Contexts (N, T, H) from the right weights (N, T, S), as typical mistakes give them."""
    right, (N, T, S) = a @ memory, a.shape
    places, every = (a > 0).sum(axis=2, keepdims=True), np.ones((1, T, 1))
    return {
        "divided by S": right / S,
        "divided by the length": right / places,
        "heaviest place only": np.stack([memory[n][a[n].argmax(axis=1)] for n in range(N)]),
        "weights not used": memory.mean(axis=1)[:, None] * every,
        "weights not used|sum": memory.sum(axis=1)[:, None] * every,
        "weights not used|without padding": (a > 0) / places @ memory,
        "summed over the steps": transposed(a).sum(axis=2, keepdims=True) * memory,
        "one context for all steps": right.sum(axis=1),
        "one context for all steps|mean": right.mean(axis=1),
        "memories of all sequences": a @ memory.sum(axis=0),
        "memory of the first sequence": a @ memory[0],
        "contexts transposed": transposed(right),
        "product with every sequence": np.dot(a, memory),
    }


def wrong_softmax_grads(a: HostArray, da: HostArray) -> dict[str, HostArray]:
    """Gradients of the scores (N, T, S) as typical mistakes give them."""
    row = (a * da).sum(axis=-1, keepdims=True)
    return {
        "sum term missing": a * da,
        "diagonal only": a * (1 - a) * da,
        "sum not weighted": a * (da - da.sum(axis=-1, keepdims=True)),
        "mean not weighted": a * (da - da.mean(axis=-1, keepdims=True)),
        "mean instead of sum": a * (da - row / a.shape[-1]),
        "one sum for all": a * (da - row.sum()),
        f"{c.WRONG_AXIS}|steps": a * (da - (a * da).sum(axis=1, keepdims=True)),
        f"{c.WRONG_AXIS}|batch": a * (da - (a * da).sum(axis=0, keepdims=True)),
        "sign of the sum": a * (da + row),
        "factor a missing": da - row,
        "second factor a missing": a * da - row,
        "softmax not undone": da,
    }


def attention_backwards(
    q: HostArray, m: HostArray, dc: HostArray, lengths: HostArray
) -> list[tuple[list[str], tuple[HostArray, HostArray]]]:
    """Mistakes, and the dquery and dmemory that they give; none first, then one, then several."""
    a, open_a, da = weights(q, m, lengths), softmax(q @ transposed(m)), dc @ transposed(m)
    wrong = wrong_softmax_grads(a, da)
    unmasked, crossed = "mask forgotten in backward", "weights for the scores' gradient"
    found = []
    for in_softmax, de in {
        "": softmax_grad(da, a), **wrong, unmasked: softmax_grad(da, open_a),
    }.items():  # fmt: skip
        through_sum, through_scores = transposed(a) @ dc, transposed(de) @ q
        dquery = {"": de @ m, crossed: a @ m, c.ZERO: 0 * q, "dc added to dquery": de @ m + dc}
        dmemory = {
            "": through_sum + through_scores,
            "path through the scores dropped": through_sum,
            "path through the sum dropped": through_scores,
            crossed: through_sum + transposed(a) @ q,
            "scores' gradient for the weights": transposed(de) @ dc + through_scores,
            "dc for the query": through_sum + transposed(de) @ dc,
            "the two paths crossed": transposed(de) @ dc + transposed(a) @ q,
            "sign of one path": through_sum - through_scores,
            "sign of one path|the other": through_scores - through_sum,
            unmasked: transposed(open_a) @ dc + through_scores,
        }
        for one, other in product(dquery, dmemory):
            names = dict.fromkeys(filter(None, (in_softmax, one, other)))
            found.append(([*names], (dquery[one], dmemory[other])))
    return sorted(found, key=lambda mistakes: len(mistakes[0]))
