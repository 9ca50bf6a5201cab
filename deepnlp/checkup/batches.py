"""Experiments with the batches alone: what the training is given to learn from."""

import math
from collections.abc import Iterator
from typing import Any

import numpy

from deepnlp.checkup.forms import as_targets
from deepnlp.checkup.keeping import numbers
from deepnlp.checkup.program import Batch, Program, same_batch
from deepnlp.checkup.report import Cause, UntriedError, cause
from deepnlp.gradcheck.walking import leaves

SHIFTS = (2, 0, -1, 3, -2)
"""Places by which targets may be off, beside the next word."""

ROWS, NEIGHBOURS = 400, 5
"""Rows that are compared with each other, and how many of the nearest count."""

Seen = Iterator[Cause | str]


def check_targets(p: Program) -> Seen:
    """Return what stands in the targets, beside the inputs."""
    pairs = [_ids_of(batch) for batch in p.batches]
    texts = [pair for pair in pairs if pair is not None]
    if labels := [t for t in map(_labels_of, p.batches) if t is not None]:
        every = numpy.concatenate([t.ravel() for t in labels])
        counted = every[every >= 0]
        if len(counted) > 8 and len(numpy.unique(counted)) == 1:
            yield cause("targets are all the same", n=len(counted), value=counted[0])
            return
    if not texts:
        yield from _among_inputs(p.batches)
        yield "no words that follow each other"
        return
    axis = time_axis(texts)
    if axis is not None:
        yield "the words that follow"
        return
    for shift in SHIFTS:
        for along in (1, 0):
            if _is_shifted(texts, shift, along):
                if shift == 0:
                    yield cause("targets equal the inputs")
                else:
                    yield cause("targets are shifted wrongly", shift=shift)
                return
    if _rows_apart(texts):
        yield cause("inputs and targets are shuffled apart")
    elif _carries_over(texts):
        yield cause("targets run over the end of a row")
    else:
        yield "no shift of the inputs"


def check_batches(p: Program) -> Seen:
    """Return whether batches differ, and in what order they come."""
    batches, is_fixed = p.batches, isinstance(p.given, list | tuple)
    if len(batches) < 2:
        yield "one batch"
        return
    first = batches[0]
    if all(same_batch(one, first) for one in batches[1:]) and len(batches) > 2:
        yield cause("every batch is the same", n=len(batches))
        return
    yield from _order_of_labels(batches)
    yield from _repeated_rows(batches)
    if is_fixed:
        yield f"{len(batches)} batches, a list"
        return
    one, two, *_ = [*p.epochs, []]
    if two and one:
        yield from _changed_in_place(one, two)
        yield from _other_targets(one, two)
        is_text = time_axis([i for i in map(_ids_of, batches) if i is not None]) is not None
        is_same = len(one) == len(two) and all(map(same_batch, one, two))
        if is_same and not is_text and len(one) > 2:
            yield cause("no shuffling", False, n=len(one))
    if not two and len(one) > 0:
        yield cause("no batches after the first epoch", n=len(one))


def check_relation(p: Program) -> Seen:
    """Return whether inputs that are alike have targets that are, more than by chance."""
    pairs = [(numbers(b[0]), as_targets(b[1])) for b in p.batches if _has_labels(b)]
    if not pairs or texts_of(p)[1] is not None:
        raise UntriedError("no labels of rows")
    x = numpy.concatenate([x.reshape(len(x), -1) for x, _ in pairs])[:ROWS].astype("float64")
    t = numpy.concatenate([t for _, t in pairs])[:ROWS]
    if len(t) < 40 or len(numpy.unique(t)) < 2:
        raise UntriedError("too few rows")
    if pairs[0][0].dtype.kind == "f":
        far = ((x[:, None] - x[None]) ** 2 / numpy.maximum(x.var(axis=0), 1e-12)).sum(axis=-1)
    else:
        far = (x[:, None] != x[None]).sum(axis=-1).astype("float64")
    numpy.fill_diagonal(far, numpy.inf)
    near = numpy.argsort(far, axis=1, kind="stable")[:, :NEIGHBOURS]
    generator = numpy.random.default_rng(3)
    seen = float((t[near] == t[:, None]).mean())
    drawn = [generator.permutation(t) for _ in range(40)]
    chance = numpy.array([(one[near] == one[:, None]).mean() for one in drawn])
    if abs(seen - chance.mean()) < 3 * chance.std():
        yield cause("inputs and targets have nothing in common", False, n=len(t), share=seen)
    else:
        yield f"{seen:.0%} of the neighbours have the same target, by chance {chance.mean():.0%}"


def _has_labels(batch: Batch) -> bool:
    """Return whether a batch has a label for each row of an array."""
    if len(batch) < 2 or not all(hasattr(part, "dtype") for part in batch[:2]):
        return False
    t = as_targets(batch[1])
    return t is not None and t.ndim == 1 and batch[0].shape[:1] == t.shape


def check_inputs(p: Program) -> Seen:
    """Return whether the inputs are of a size that a network can take."""
    xs = [numbers(batch[0]) for batch in p.batches if hasattr(batch[0], "dtype")]
    if not xs:
        raise UntriedError("inputs are no arrays")
    parts = [part for batch in p.batches for part in batch if hasattr(part, "dtype")]
    if not all(numpy.isfinite(numbers(part)).all() for part in parts):
        yield cause("inputs are not finite")
        return
    x = numpy.concatenate([one.ravel() for one in xs if one.dtype.kind in "fiub"])
    if xs[0].dtype.kind != "f" and not _is_like_pixels(p, xs[0]):
        yield "ids"
        return
    largest, spread, mean = float(numpy.abs(x).max()), float(x.std()), float(x.mean())
    told = {"low": x.min(), "high": x.max(), "spread": spread}
    if x.size < 9:
        yield "few numbers"
    elif largest > 50 and spread > 10:
        yield cause("inputs are not scaled", **told)
    elif spread > 20 or (abs(mean) > 10 * spread > 0 and abs(mean) > 5):
        yield cause("inputs are not scaled", False, **told)
    elif spread == 0 and x.size > 8:
        yield cause("inputs are all the same", value=mean)
    elif 0 < spread < 1e-3:
        yield cause("inputs are tiny", False, **told)
    else:
        yield f"from {x.min():.3g} to {x.max():.3g}"


def check_data_kept(p: Program) -> Seen:
    """Return whether a step changes the arrays that it is given."""
    p.reset()
    for batch in p.pair:
        given = tuple(part.copy() if isinstance(part, numpy.ndarray) else part for part in batch)
        if not p.leaves_alone(given):
            yield cause("the step changes its batch")
            return
    yield "left alone"


# --- Texts ------------------------------------------------------------------------------------


def _labels_of(batch: Batch) -> Any:
    return as_targets(batch[1]) if len(batch) > 1 and hasattr(batch[1], "dtype") else None


def _among_inputs(batches: list[Batch]) -> Seen:
    """Targets that stand in one place of the inputs."""
    places: set[int] | None = None
    for batch in batches:
        t = _labels_of(batch)
        x = numbers(batch[0]) if t is not None and hasattr(batch[0], "dtype") else None
        if (
            x is None
            or t is None
            or x.ndim != 2
            or t.shape != x.shape[:1]
            or len({*t.tolist()}) < 2
        ):
            return
        here = {k for k in range(x.shape[1]) if (x[:, k] == t).all()}
        places = here if places is None else places & here
    if places:
        yield cause("the target is among the inputs", place=min(places))


def _ids_of(batch: Batch) -> tuple[Any, Any] | None:
    """Inputs and targets, where both are rows of ids of one shape."""
    if len(batch) > 1 and isinstance(batch[0], tuple | list):  # such as features beside words
        shape = numpy.shape(batch[1])
        alike = [part for _, part in leaves(batch[0]) if numpy.shape(part) == shape]
        batch = (*alike[:1], *batch[1:])
    if len(batch) < 2 or not all(hasattr(part, "dtype") for part in batch[:2]):
        return None
    t = as_targets(batch[1])
    x = numbers(batch[0])
    is_rows = t is not None and x.dtype.kind in "iu" and x.shape == t.shape
    if is_rows and x.ndim == 1 and x.size > 3:
        x, t = x[None], t[None]  # one text
        return x, t
    return (x, t) if is_rows and x.ndim == 2 and min(x.shape) > 1 else None


def time_axis(texts: list[tuple[Any, Any]]) -> int | None:
    """Along which axis the targets are the words that follow; None if along none."""
    return next((axis for axis in (1, 0) if texts and _is_shifted(texts, 1, axis)), None)


def texts_of(p: Program) -> tuple[list[tuple[Any, Any]], int | None]:
    """The batches that are words and the words that follow, and the axis of time."""
    texts = [pair for pair in map(_ids_of, p.batches) if pair is not None]
    return texts, time_axis(texts)


def _is_shifted(texts: list[tuple[Any, Any]], shift: int, axis: int) -> bool:
    """Return whether the targets of all texts are the inputs so many places further on."""
    hits = total = 0
    for x, t in texts:
        T = x.shape[axis]
        if abs(shift) >= T:
            return False
        ahead = numpy.take(x, range(max(shift, 0), T + min(shift, 0)), axis)
        here = numpy.take(t, range(max(-shift, 0), T - max(shift, 0)), axis)
        counts = here >= 0
        hits, total = hits + int((ahead == here)[counts].sum()), total + int(counts.sum())
    return total > 0 and hits > 0.97 * total


def _rows_apart(texts: list[tuple[Any, Any]]) -> bool:
    """Return whether the rows of targets follow on rows of inputs, though on others."""
    rows = {tuple(row[1:]): None for x, _ in texts for row in x}
    ends = [tuple(row[:-1]) for _, t in texts for row in t]
    return len(texts[0][0]) > 1 and sum(end in rows for end in ends) > 0.5 * len(ends)


def _carries_over(texts: list[tuple[Any, Any]]) -> bool:
    """Return whether the targets are the inputs, in the wrong shape: read along the other axis."""
    return all(
        numpy.array_equal(x.ravel()[1:], t.T.ravel()[:-1])
        or numpy.array_equal(x.T.ravel()[1:], t.ravel()[:-1])
        for x, t in texts
    )


# --- Order ------------------------------------------------------------------------------------


def _order_of_labels(batches: list[Batch]) -> Seen:
    labels = [t.ravel() for t in map(_labels_of, batches) if t is not None and t.ndim == 1]
    if len(labels) < 3 or len(labels[0]) < 2:
        return
    every = numpy.concatenate(labels)
    if len(numpy.unique(every)) < 2:
        return
    alone = [len(numpy.unique(t)) == 1 for t in labels if len(t) > 3]
    is_sorted = bool((numpy.diff(every) >= 0).all()) and len(every) > 8
    if is_sorted or (len(alone) > 2 and all(alone)):
        yield cause("batches are sorted by label", n=len(labels))


def _repeated_rows(batches: list[Batch]) -> Seen:
    for batch in batches:
        parts = [numbers(part) for part in batch if hasattr(part, "dtype")]
        if not parts or parts[0].ndim < 2 or len(parts[0]) < 4 or parts[0].dtype.kind != "f":
            return
        if not all((part == part[:1]).all() for part in parts):
            return
    yield cause("all rows of a batch are the same")


def _changed_in_place(one: list[Batch], two: list[Batch]) -> Seen:
    """Return whether the numbers of the second epoch are on another scale."""
    x, again = (numpy.concatenate([_flat(b) for b in epoch]) for epoch in (one, two))
    if not x.size or not again.size or numbers(one[0][0]).dtype.kind != "f":
        return
    of_x, of_again = (x.mean(), x.std()), (again.mean(), again.std())
    scale = max(of_x[1], 1e-12)
    is_other = abs(of_x[0] - of_again[0]) > 0.5 * scale or not 0.67 < of_again[1] / scale < 1.5
    seen = {row.tobytes() for b in one for row in numbers(b[0])}
    repeated = [row.tobytes() in seen for b in two for row in numbers(b[0])]
    if is_other and not any(repeated):
        yield cause(
            "data changes from epoch to epoch", mean=of_x[0], std=of_x[1], mean2=of_again[0],
            std2=of_again[1],
        )  # fmt: skip


def _flat(batch: Batch) -> Any:
    return numbers(batch[0]).ravel()


def _other_targets(one: list[Batch], two: list[Batch]) -> Seen:
    """Return whether the same input has another target in the next epoch."""
    if any(len(b) < 2 or not hasattr(b[1], "dtype") for b in [*one, *two]):
        return
    first = dict(pair for batch in one for pair in _rows(batch))
    again = [pair for batch in two for pair in _rows(batch) if pair[0] in first]
    if len(first) < sum(len(numbers(b[0])) for b in one):
        return  # inputs that occur twice
    other = sum(first[x] != t for x, t in again)
    if len(again) >= 8 and other > 0.3 * len(again):
        yield cause("inputs and targets are shuffled apart")


def _rows(batch: Batch) -> Iterator[tuple[bytes, bytes]]:
    x, t = numbers(batch[0]), numbers(batch[1])
    if len(x) == len(t):
        yield from ((a.tobytes(), b.tobytes()) for a, b in zip(x, t, strict=True))


def _is_like_pixels(p: Program, x: Any) -> bool:
    """Return whether whole numbers are sizes and no ids: those between them are taken too."""
    if x.max() < 50 or x.ndim < 2 or x.shape[-1] < 3:
        return False
    half = x.astype("float64") / 2 + 0.25
    try:
        p.reset()
        if p.predicts:
            return bool(numpy.isfinite(p.predict(half)).all())
        return math.isfinite(p.loss((half, *p.batches[0][1:])))
    except Exception:
        return False
    finally:
        p.reset()
