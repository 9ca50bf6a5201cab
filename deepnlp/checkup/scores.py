"""Experiments with scores and loss: what is computed from what, and whether it should be."""

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy

from deepnlp.checkup.batches import texts_of
from deepnlp.checkup.forms import as_targets
from deepnlp.checkup.keeping import numbers
from deepnlp.checkup.program import Batch, Program
from deepnlp.checkup.report import Cause, UntriedError, cause

Seen = Iterator[Cause | str]

NEAR = 2e-3
"""How near two losses are that count as one, relative to them."""

UPDATES = 20
"""Updates after which the scores of different inputs should differ."""


def check_start(p: Program) -> Seen:
    """The loss at the beginning, beside that of guessing."""
    first = p.first_loss
    if not math.isfinite(first):
        if math.isnan(first) and not p.gives_loss:
            raise UntriedError("the step gives no loss: return it, or say loss=")
        p.reset()
        scored = _scores(p, p.pair[0])
        is_large = scored is not None and numpy.isfinite(scored[0]).all()
        if scored is not None and is_large and float(scored[0].std()) > 30:
            V = scored[0].shape[-1]
            yield cause("too sure at the start", loss=first, guess=math.log(V), V=V)
        else:
            yield cause("the loss is not finite", loss=first)
        return
    classes = _classes(p)
    if classes is None:
        yield f"{first:.4g}"
        return
    V, unigrams = classes
    guess = math.log(V)
    told = {"loss": first, "guess": guess, "V": V}
    if first > 1.5 * guess + 1.5 and not _is_multiple(first, guess, p.pair[0]):
        yield cause("too sure at the start", **told)
    elif first < 0.3 * guess and first < unigrams - 0.5:
        yield cause("the answer is known at the start", False, **told)
    yield f"{first:.3g}; guessing among {V} gives {guess:.3g}, their frequencies {unigrams:.3g}"


def check_loss(p: Program) -> Seen:
    """Return whether the loss is the cross-entropy of the scores with the targets."""
    batch = p.pair[0]
    yield from _sum_of_rows(p)
    p.reset()
    scored = _scores(p, batch)
    if scored is None:
        raise UntriedError("no scores of classes: say predict=")
    z, t = scored
    loss = p.first_loss
    p.reset()
    if not (numpy.isfinite(z).all() and math.isfinite(loss)):
        raise UntriedError("scores or loss are not finite")
    shape, V = t.shape, z.shape[-1]
    flat, ids = z.reshape(-1, V), t.ravel()
    counts = ids >= 0
    if not counts.any() or ids.max() >= V:
        raise UntriedError("targets are no ids of classes")
    is_probability = bool((flat >= 0).all() and numpy.allclose(flat.sum(-1), 1, atol=1e-4))
    logs = _log_softmax(flat)
    entropy = float(-logs[counts, ids[counts]].mean())
    plain = -numpy.log(numpy.maximum(flat[counts, ids[counts]], 1e-12)).mean()
    right = float(plain) if is_probability else entropy
    if is_probability and _near(loss, entropy) and abs(loss - entropy) < 0.1 * abs(loss - right):
        yield cause("softmax twice", loss=loss, right=right, floor=_floor(V))
        return
    yield from _other_axis(z, t, loss, right)
    padding = _padding(p, t)
    kept = counts & (ids != padding)
    if padding is not None and kept.any():
        own = -numpy.log(numpy.maximum(flat, 1e-12)) if is_probability else -logs
        without = float(own[kept, ids[kept]].mean())
        if _near(loss, right) and abs(loss - right) < 0.1 * abs(loss - without):
            yield cause("padding is counted", id=padding, share=1 - float(kept.mean()))
            return
    if _near(loss, right):
        yield "the cross-entropy of the scores"
        return
    named = {"all targets": int(counts.sum()), "steps": shape[-1], "rows": shape[0]}
    for what, count in named.items():
        if count > 1 and len(shape) > (what != "all targets") and _near(loss, right * count):
            yield cause(
                "a sum in place of a mean", False, what=what, n=count, loss=loss, mean=right
            )
            return
        if count > 1 and _near(loss * count, right):
            yield cause("divided too often", what=what, n=count, loss=loss, mean=right)
            return
    if _near(loss * math.log(2), right):
        yield cause("loss in bits", False, loss=loss, right=right)
        return
    yield f"{loss:.4g}; the cross-entropy of the scores is {right:.4g}"


def check_rows(p: Program) -> Seen:
    """Return whether the scores of a row depend on that row alone."""
    x, axis = _inputs(p)
    rows = x.shape[axis]
    if rows < 2:
        raise UntriedError("a batch of one row")
    p.reset()
    z = _by_place(p.predict(x), x)
    if z is None:
        raise UntriedError("scores in another order than the inputs")
    other = numpy.moveaxis(_other_input(p, x), axis, 0)[0]
    changed = numpy.moveaxis(x.copy(), axis, 0)
    changed[0] = other
    p.reset()
    again = _by_place(p.predict(numpy.moveaxis(changed, 0, axis)), x)
    p.reset()
    if z.ndim <= axis:
        raise UntriedError("scores without an axis for rows")
    z, again = (numpy.moveaxis(one, axis, 0)[1:] for one in (z, again))
    if not _alike(z, again):
        yield cause("rows depend on each other", change=float(numpy.abs(z - again).max()))
    else:
        yield "each row by itself"


def check_time(p: Program) -> Seen:
    """Return whether the scores for the next word depend on words before it alone."""
    texts, axis = texts_of(p)
    if axis is None:
        raise UntriedError("the targets are not the words that follow")
    _inputs(p)
    x, _ = texts[0]
    if numpy.shape(p.batches[0][0]) != x.shape:
        raise UntriedError("one text, without an axis for rows")
    p.reset()
    z = _by_place(p.predict(p.batches[0][0]), x)
    if z is None or z.ndim < 3:
        raise UntriedError("no score for each word")
    changed = numpy.moveaxis(x.copy(), axis, 0)
    last = changed[-1].copy()
    changed[-1] = numpy.where(last == last.max(), last.min(), last.max())
    if (changed[-1] == last).all():
        raise UntriedError("one word only")
    p.reset()
    again = _by_place(p.predict(_as(p.batches[0][0], numpy.moveaxis(changed, 0, axis))), x)
    p.reset()
    z, again = (numpy.moveaxis(one, axis, 0) for one in (z, again))
    if not _alike(z[:-1], again[:-1]):
        yield cause("the future is seen", change=float(numpy.abs(z[:-1] - again[:-1]).max()))
    elif _order_is_lost(p, x, axis):
        yield cause("the order of the words is not seen", False)
    else:
        yield "no word sees those behind it"


def _order_is_lost(p: Program, x: Any, axis: int) -> bool:
    """Return whether the last scores depend on the first words, and not on which comes first."""
    words = numpy.moveaxis(x.copy(), axis, 0)
    if len(words) < 4 or (words[0] == words[1]).all():
        return False
    swapped, other = words.copy(), words.copy()
    swapped[[0, 1]] = words[[1, 0]]
    other[0] = words[1]
    last = []
    for changed in (words, swapped, other):
        p.reset()
        z = _by_place(p.predict(_as(p.batches[0][0], numpy.moveaxis(changed, 0, axis))), x)
        last.append(numpy.moveaxis(z, axis, 0)[-1])
    p.reset()
    return _alike(last[0], last[1], 1e-5) and not _alike(last[0], last[2], 1e-4)


def check_input(p: Program) -> Seen:
    """Return whether the scores depend on the input, after some updates."""
    x, _ = _inputs(p)
    other = _other_input(p, x)
    if numpy.array_equal(other, x):
        raise UntriedError("all inputs are the same")
    p.reset()
    before = [weight.copy() for weight in p.values()]
    p.predict(x)
    if any(not numpy.array_equal(a, b) for a, b in zip(before, p.values(), strict=True)):
        yield cause("predicting changes the weights")
        return
    for k in range(UPDATES):
        p.update(p.batches[k % len(p.batches)])
    z, again = p.predict(x), p.predict(_as(p.batches[0][0], other))
    p.reset()
    if not numpy.isfinite(z).all():
        raise UntriedError("the scores are not finite")
    if z.shape == again.shape and _alike(z, again, 1e-7):
        yield cause("the input is not used", n=UPDATES)
    else:
        yield "other inputs, other scores"


def _sum_of_rows(p: Program) -> Seen:
    """Return whether the loss of a batch that is there twice is twice the loss."""
    batch = p.pair[0]
    parts = [numbers(part) for part in batch if hasattr(part, "dtype")]
    if (
        len(parts) != len(batch)
        or len(parts) < 2
        or any(not part.ndim or len(part) != len(parts[0]) for part in parts)
    ):
        return
    double = tuple(
        _as(part, numpy.concatenate([n, n])) for part, n in zip(batch, parts, strict=True)
    )
    p.reset()
    with suppress(Exception):
        loss = p.loss(double)
        if p.first_loss and _near(loss, 2 * p.first_loss):
            told = {"what": "rows", "n": len(parts[0]), "loss": p.first_loss}
            yield cause(
                "a sum in place of a mean", False, **told, mean=p.first_loss / len(parts[0])
            )
    p.reset()


# --- Scores -----------------------------------------------------------------------------------


def _scores(p: Program, batch: Batch) -> tuple[Any, Any] | None:
    """The scores of a batch and its targets, each score with a target; None without them."""
    if not p.predicts or len(batch) < 2:
        return None
    t = as_targets(batch[1])
    if t is None:
        return None
    z = p.predict(batch[0])
    if z.dtype.kind != "f" or z.ndim < 2 or z.shape[-1] < 2:
        return None
    if z.size // z.shape[-1] == t.size:
        return z.reshape(*t.shape, z.shape[-1]), t
    return None


def _classes(p: Program) -> tuple[int, float] | None:
    """The number of classes, and the entropy of their frequencies; None without classes."""
    p.reset()
    try:
        scored = _scores(p, p.pair[0])
    except Exception:
        scored = None
    p.reset()
    if scored is None:
        return None
    z, _ = scored
    ids = numpy.concatenate([as_targets(b[1]).ravel() for b in p.batches])
    ids = ids[ids >= 0]
    if not len(ids) or ids.max() >= z.shape[-1]:
        return None
    shares = numpy.bincount(ids) / len(ids)
    shares = shares[shares > 0]
    return z.shape[-1], float(-(shares * numpy.log(shares)).sum())


def _log_softmax(z: Any, axis: int = -1) -> Any:
    z = z - z.max(axis=axis, keepdims=True)
    return z - numpy.log(numpy.exp(z).sum(axis=axis, keepdims=True))


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= NEAR * max(abs(other), 1e-3)


def _floor(V: int) -> float:
    """The least loss where probabilities are taken for scores."""
    return math.log(math.e + V - 1) - 1


def _is_multiple(first: float, guess: float, batch: Batch) -> bool:
    """Return whether a loss is that of guessing, summed over rows, steps or both."""
    sizes = [*numpy.shape(batch[1]), numpy.size(batch[1])] if len(batch) > 1 else []
    return any(n > 1 and abs(first / n - guess) < 0.5 * guess for n in sizes)


def _other_axis(z: Any, t: Any, loss: float, right: float) -> Seen:
    """A softmax over another axis, or targets in another order than the scores."""
    V = z.shape[-1]
    if _near(loss, right):
        return
    kept = t.ravel() >= 0
    for axis in range(z.ndim - 1):
        logs = _log_softmax(z, axis).reshape(-1, V)
        other = float(-logs[kept, t.ravel()[kept]].mean())
        if abs(other - right) > 0.02 * abs(right) and _near(loss, other):
            yield cause("softmax over the wrong axis", axis=axis, loss=loss, right=right)
            return
    if t.ndim == 2 and min(t.shape) > 1:
        turned = t.T.ravel()
        logs = _log_softmax(z.reshape(-1, V))
        other = float(-logs[turned >= 0, turned[turned >= 0]].mean())
        if abs(other - right) > 0.005 * abs(right) and abs(loss - other) < 1e-4 * abs(other):
            yield cause("scores and targets in different order", loss=loss, right=right)


def _padding(p: Program, t: Any) -> int | None:
    """The id that fills up the ends of rows, if one does."""
    rows = [as_targets(b[1]) for b in p.batches]
    if t.ndim != 2 or any(r is None or r.ndim != 2 for r in rows):
        return None
    ends = [row for one in rows for row in one]
    runs = [(row[-1], _run(row)) for row in ends if len(row) > 3]
    long = [value for value, run in runs if run >= 3]
    if len(long) < 0.3 * len(ends) or len({*long}) != 1 or len(ends) < 4:
        return None
    is_inside = any((row[: len(row) - _run(row)] == long[0]).any() for row in ends)
    lengths = {run for _, run in runs}
    return int(long[0]) if not is_inside and len(lengths) > 2 and long[0] >= 0 else None


def _run(row: Any) -> int:
    """How often the last value of a row is repeated at its end."""
    other = numpy.nonzero(row[::-1] != row[-1])[0]
    return int(other[0]) if len(other) else len(row)


# --- Inputs -----------------------------------------------------------------------------------


def _inputs(p: Program) -> tuple[Any, int]:
    """The inputs of a batch as an array, and the axis of its rows."""
    if not p.predicts:
        raise UntriedError("no scores: say predict=")
    x = p.batches[0][0]
    if not hasattr(x, "dtype") or not x.shape:
        raise UntriedError("inputs are no arrays")
    _, axis = texts_of(p)
    array = numbers(x)
    if array.dtype.kind == "f" and hasattr(x, "numpy") is False:
        array = array.astype(x.dtype)
    return array, 0 if axis is None else 1 - axis


def _as(like: Any, x: Any) -> Any:
    """An array of the kind of another: a tensor where that is one."""
    if hasattr(like, "detach"):
        import torch

        return torch.as_tensor(numpy.ascontiguousarray(x)).to(like.dtype)
    return numpy.ascontiguousarray(x).astype(like.dtype)


def _other_input(p: Program, x: Any) -> Any:
    """Inputs of the same shape that are other ones."""
    for batch in p.batches[1:]:
        other = numbers(batch[0])
        if other.shape == x.shape and not numpy.array_equal(other, x):
            return other.astype(x.dtype)
    return x[::-1].copy()


def _by_place(z: Any, x: Any) -> Any:
    """Scores with the axes of the inputs first; None where they have other ones."""
    if z.shape[:1] == x.shape[:1]:
        return z
    for axes in (x.shape[:2], x.shape[:1]):
        if len(axes) == x.ndim - (x.dtype.kind == "f") and z.shape[0] == math.prod(axes):
            return z.reshape(*axes, *z.shape[1:])
    return None


def _alike(one: Any, other: Any, tolerance: float = 1e-4) -> bool:
    size = max(float(numpy.abs(one).max()), 1e-12) if one.size else 1.0
    return bool(numpy.abs(one - other).max(initial=0) <= tolerance * size)
