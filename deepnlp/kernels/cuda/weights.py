"""Clipping and updating all weights in a launch or two, without waiting for the device.

The description of each weight (pointers, a size, the numbers of the optimizer's formula) is an
argument of the launch, a structure by value. So nothing is copied to the device first, although
gradients are new arrays at every step. The rows of a sparse gradient, and the rows of
the weight that they belong to, are arrays like others.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy

from deepnlp.backend import Array, xp
from deepnlp.kernels.cuda import launching
from deepnlp.kernels.cuda.launching import BLOCK, REALS, WEIGHTS, is_dense, pointers
from deepnlp.kernels.formulas import Formula

# The structures Weight and Weights of common.cuh.
_WEIGHT = numpy.dtype([
    ("W", "i8"), ("g", "i8"), ("kept", "i8", 2), ("size", "i8"), ("first", "i8"), ("blocks", "i8"),
    ("scalars", "f8", 7),
])  # fmt: skip
_WEIGHTS = numpy.dtype([("count", "i8"), ("list", _WEIGHT, WEIGHTS)])

# Blocks for one weight. The parts of a sum should not be too many, since each block of the next
# launch adds them all up.
_MOST_FOR_A_SUM = 256
_MOST_FOR_AN_UPDATE = 1024


class Rule(NamedTuple):
    """The kernel of an optimizer's formula, with the kept arrays and the numbers in its order."""

    kernel: str
    kept: tuple[str, ...]
    scalars: tuple[str, ...]


_OF_ADAM = ("beta1", "beta2", "step", "root", "eps", "decay", "shrink")
RULES = {
    "optimizers.descent:SGD._formula": Rule("update_sgd", (), ("lr", "decay")),
    "optimizers.descent:Momentum._formula": Rule(
        "update_momentum", ("v",), ("lr", "momentum", "decay")
    ),
    "optimizers.descent:Nesterov._formula": Rule(
        "update_nesterov", ("v",), ("lr", "momentum", "decay")
    ),
    "optimizers.adaptive:AdaGrad._formula": Rule("update_adagrad", ("s",), ("lr", "eps", "decay")),
    "optimizers.adaptive:RMSprop._formula": Rule(
        "update_rmsprop", ("s",), ("lr", "alpha", "eps", "decay")
    ),
    "optimizers.adaptive:Adam._formula": Rule("update_adam", ("m", "s"), _OF_ADAM),
}
"""The formulas that there are kernels for, by the places where they stand."""
FORMULAS = {place: Formula(rule.kernel) for place, rule in RULES.items()}


_Row: TypeAlias = tuple[int, int, tuple[int, ...], int, tuple[float, ...]]
"""A weight: where W and g are, where what is kept for it is, its size, the numbers; 0 for none."""


def _launches(rows: Sequence[_Row], most: int) -> Iterator[tuple[Any, int]]:
    """The structure for each launch, and the number of its blocks."""
    for start in range(0, len(rows), WEIGHTS):
        some = rows[start : start + WEIGHTS]
        weights = numpy.zeros(1, _WEIGHTS)
        weights["count"] = len(some)
        blocks = 0
        for k, (W, g, kept, size, scalars) in enumerate(some):
            of_weight = min(-(-size // (4 * BLOCK)), most)
            padded = scalars + (0.0,) * (7 - len(scalars))
            weights["list"][0, k] = (W, g, kept, size, blocks, of_weight, padded)
            blocks += of_weight
        yield weights, blocks


def clip_all(gradients: Sequence[Array], max_norm: float) -> Any:
    """A launch for the sum of squares, and one that computes the norm and scales by it."""
    gradients = [g for g in gradients if g.size]
    letter = gradients[0].dtype.char if gradients else ""
    if letter not in REALS or not all(is_dense(g, letter) for g in gradients):
        return NotImplemented
    device = launching.device
    rows: list[_Row] = [(0, device.pointer(g), (0, 0), g.size, ()) for g in gradients]
    launches = list(_launches(rows, _MOST_FOR_A_SUM))
    count = sum(blocks for _, blocks in launches)
    parts, norm = xp.empty(count, xp.float64), xp.empty((), xp.float64)
    start = device.pointer(parts)
    for weights, blocks in launches:
        device.launch("clip_sum", letter, (blocks,), BLOCK, (weights, start))
        start += blocks * parts.itemsize
    if math.isinf(max_norm):
        launches = [(numpy.zeros(1, _WEIGHTS), 1)]  # the norm of all, and no weight to scale
    end = (device.pointer(parts), count, float(max_norm), device.pointer(norm))
    for weights, blocks in launches:
        device.launch("clip_scale", letter, (blocks,), BLOCK, (weights, *end))
    return norm


def update_all(formula: Callable[..., None], updates: Sequence[Any]) -> None:
    """A launch for every 32 weights; the formula updates those that no kernel takes."""
    place = f"{formula.__module__.partition('.')[2]}:{formula.__qualname__}"
    current = [place for place, recorded in FORMULAS.items() if recorded.is_current()]
    known = RULES[place] if place in current else None
    rows: dict[str, list[_Row]] = {letter: [] for letter in REALS}
    others = []
    for update in updates:
        row = _row_of(update, known) if known is not None else None
        if row is None:
            others.append(update)
        elif update.W.size:
            rows[update.W.dtype.char].append(row)
    for letter in REALS:
        for weights, blocks in _launches(rows[letter], _MOST_FOR_AN_UPDATE):
            assert known is not None
            launching.device.launch(known.kernel, letter, (blocks,), BLOCK, (weights,))
    for W, g, kept, scalars in others:
        formula(W, g, **kept, **scalars)


def _row_of(update: Any, rule: Rule) -> _Row | None:
    """The description for the kernel, or None if it cannot take this weight."""
    W, g, kept, scalars = update
    letter = W.dtype.char
    named = kept.keys() == set(rule.kept) and scalars.keys() == set(rule.scalars)
    if letter not in REALS or not named:
        return None
    if not all(is_dense(a, letter) and a.shape == W.shape for a in (W, g, *kept.values())):
        return None
    first, second = (*(kept[name] for name in rule.kept), None, None)[:2]
    numbers = tuple(float(scalars[name]) for name in rule.scalars)
    at_W, at_g = pointers(W, g)
    return at_W, at_g, pointers(first, second), W.size, numbers
