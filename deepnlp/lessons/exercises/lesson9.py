"""Attention, right and with mistakes, for the exercises of lesson 9."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.backend.functions import softmax, softmax_grad
from deepnlp.layers import TimeRNN, reverse_by_length
from deepnlp.lessons.exercises.names import compare_all
from deepnlp.lessons.exercises.values import close
from deepnlp.lessons.exercises.verdict import RefusedError, Verdict

Pair = tuple[HostArray, HostArray]
Made = list[tuple[list[str], Pair]]
"""Mistakes that are made together, none in the first entry, and the two gradients they give."""

LENGTHS = np.array([3, 5, 2])


def transposed(array: HostArray) -> HostArray:
    """(N, T, S) to (N, S, T)."""
    return array.swapaxes(1, 2)


def masked(e: HostArray, lengths: HostArray = LENGTHS, low: float = -np.inf) -> HostArray:
    """Scores (N, T, S) with ``low`` in the padding."""
    return np.where((np.arange(e.shape[2]) < lengths[:, None])[:, None], e, low)


def scores(query: HostArray, memory: HostArray) -> list[HostArray]:
    """Scores (N, T, S) as they are, and with -inf, -1e9 and 0 in the padding."""
    e = query @ transposed(memory)
    return [e, masked(e), masked(e, low=-1e9), masked(e, low=0)]


def weights(query: HostArray, memory: HostArray) -> HostArray:
    """The right weights (N, T, S)."""
    return softmax(masked(query @ transposed(memory)))


def softmax_over(e: HostArray, axis: int) -> HostArray:
    """A softmax over another axis."""
    return np.moveaxis(softmax(np.moveaxis(e, axis, -1)), -1, axis)


def is_but_for_padding(got: Any, value: HostArray) -> bool:
    """Whether this is the value but for what a mask has left: -inf, a number near it, or nan."""
    return np.shape(got) == value.shape and np.allclose(np.where(got > -1e3, got, value), value)


def underflows(got: Any, hidden: HostArray, most: float) -> bool:
    """Whether weights are nan where those less one maximum of the whole array are 0 / 0."""
    sums = np.exp(hidden - most).sum(axis=2, keepdims=True)
    return np.array_equal(np.isnan(got), np.broadcast_to(sums == 0, hidden.shape))


# --- Gradients of mistakes that may be made together --------------------------------------------


def with_methods(layer: Any) -> Any:
    """The layer, if it has a forward and a backward."""
    for method in ("forward", "backward"):
        if not callable(getattr(layer, method, None)):
            raise RefusedError(Verdict.empty(f"{type(layer).__name__} has no {method}"))
    return layer


def attention_backwards(
    q: HostArray, m: HostArray, dc: HostArray, in_softmax: Iterable[tuple[str, HostArray]] = ()
) -> Made:
    """Mistakes, and the dquery and dmemory that they give; none first, then one, then several.

    ``in_softmax`` has the gradients of the scores that mistakes in the softmax's backward give.
    """
    a, open_a, da = weights(q, m), softmax(q @ transposed(m)), dc @ transposed(m)
    unmasked, crossed = "mask forgotten in backward", "weights for the scores' gradient"
    made: Made = []
    for of_softmax, de in [
        ("", softmax_grad(da, a)), *in_softmax, (unmasked, softmax_grad(da, open_a)),
    ]:  # fmt: skip
        through_sum, through_scores = transposed(a) @ dc, transposed(de) @ q
        dquery = [
            ("", de @ m), (crossed, a @ m), ("zero or missing", 0 * q),
            ("dc added to dquery", de @ m + dc),
        ]  # fmt: skip
        dmemory = [
            ("", through_sum + through_scores),
            ("path through the scores dropped", through_sum),
            ("path through the sum dropped", through_scores),
            (crossed, through_sum + transposed(a) @ q),
            ("scores' gradient for the weights", transposed(de) @ dc + through_scores),
            ("dc for the query", through_sum + transposed(de) @ dc),
            ("the two paths crossed", transposed(de) @ dc + transposed(a) @ q),
            ("sign of one path", through_sum - through_scores),
            ("sign of one path", through_scores - through_sum),
            (unmasked, transposed(open_a) @ dc + through_scores),
        ]
        for (of_query, one), (of_memory, other) in product(dquery, dmemory):
            names = dict.fromkeys(filter(None, (of_softmax, of_query, of_memory)))
            made.append(([*names], (one, other)))
    return sorted(made, key=lambda entry: len(entry[0]))


def luong_backwards(
    h: HostArray, memory: HostArray, W: HostArray, dy: HostArray, s: HostArray
) -> Made:
    """Mistakes, and the dh and dmemory that they give, of y = tanh(s) with s = [c, h] W."""
    y, H = np.tanh(s), h.shape[2]
    made: Made = []
    for of_slope, slope in [
        ("", 1 - y**2), ("slope missing", 1 + 0 * y),
        ("derivative taken at the input instead of the output", 1 - s**2),
        ("tanh taken once more", 1 - np.tanh(y) ** 2), ("slope of the sigmoid", y * (1 - y)),
        ("wrong slope", 1 - y), ("wrong slope", y**2),
    ]:  # fmt: skip
        dboth = (dy * slope) @ W.T
        dc, direct = dboth[..., :H], dboth[..., H:]
        dquery, dmemory = attention_backwards(h, memory, dc)[0][1]
        dquery_swapped, dmemory_swapped = attention_backwards(h, memory, direct)[0][1]
        for of_paths, pair in [
            ("", (direct + dquery, dmemory)),
            ("path through the query dropped", (direct, dmemory)),
            ("direct path dropped", (dquery, dmemory)),
            ("halves swapped", (dc + dquery_swapped, dmemory_swapped)),
            ("sign of the query's path", (direct - dquery, dmemory)),
            ("context's half added to dh", (direct + dquery + dc, dmemory)),
            ("paths multiplied", (direct * dquery, dmemory)),
        ]:
            made.append(([*filter(None, (of_slope, of_paths))], pair))
    return made


def by_mistakes(
    say: dict[str, str], got: tuple[Any, ...], made: Made, names: tuple[str, ...]
) -> Verdict:
    """The verdict on the mistakes that together give the two gradients, or on what is off."""
    for mistakes, pair in made:
        if all(name in say for name in mistakes) and all(map(close, got, pair)):
            if not mistakes:
                return Verdict.right()
            return Verdict.wrong(mistakes[0], "\n".join(say[name] for name in mistakes))
    return compare_all(
        dict(zip(names, got, strict=True)), dict(zip(names, made[0][1], strict=True))
    )


# --- Both directions ----------------------------------------------------------------------------

TURNS: dict[str, Callable[[HostArray], HostArray]] = {
    "turned": lambda a: reverse_by_length(a, LENGTHS),
    "kept": lambda a: a,
    "blind": lambda a: a[:, ::-1],
}


def real(got: Any) -> Any:
    """Values (N, T, D) with 0 in the padding, where anything may stand."""
    if np.ndim(got) != 3 or np.shape(got)[:2] != (3, 5):
        return got
    return np.where((np.arange(5) < LENGTHS[:, None])[..., None], got, 0)


def two_layers() -> list[TimeRNN]:
    """Layers that read from left to right and from right to left, D = 3 and H = 4."""
    drawn = [np.random.default_rng(seed).standard_normal for seed in (89, 98)]
    weights = [(draw((3, 4)), 0.7 * draw((4, 4)), draw(4)) for draw in drawn]
    return [TimeRNN(*of_layer) for of_layer in weights]


def states(
    x: HostArray, turn_in: str = "turned", turn_out: str = "turned", lengths: Any = LENGTHS
) -> list[HostArray]:
    """The states (N, T, H) of both layers."""
    ahead, back = two_layers()
    return [
        ahead.forward(x, lengths),
        TURNS[turn_out](back.forward(TURNS[turn_in](x), lengths)),
    ]


def gradients(
    x: HostArray,
    dhs: list[HostArray],
    turn_in: str = "turned",
    turn_out: str = "turned",
    lengths: Any = LENGTHS,
) -> list[HostArray]:
    """The dx of both layers, from the gradients of their states."""
    ahead, back = two_layers()
    ahead.forward(x, lengths)
    back.forward(TURNS["turned"](x), lengths)
    return [
        ahead.backward(dhs[0]),
        TURNS[turn_out](back.backward(TURNS[turn_in](dhs[1]))),
    ]
