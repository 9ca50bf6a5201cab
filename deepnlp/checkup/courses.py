"""Experiments with the evaluation, and with some epochs one after the other."""

import inspect
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from typing import Any

import numpy

from deepnlp.checkup.keeping import numbers
from deepnlp.checkup.program import Program, number
from deepnlp.checkup.report import Cause, UntriedError, cause
from deepnlp.gradcheck.walking import items
from deepnlp.layer import Layer

Seen = Iterator[Cause | str]

STEPS_BEFORE = 5
"""Steps before an evaluation that should leave the weights as they are then."""

_GONE = object()
_LOSS = re.compile(r"loss|objective|nll|cross_?entropy|criterion", re.IGNORECASE)

METHODS = ("forward", "predict", "logits", "loss", "__call__")
"""By which a model is called."""


def check_evaluation(p: Program) -> Seen:
    """Return whether an evaluation gives the same twice, and leaves the training alone."""
    if not p.evaluates:
        raise UntriedError("no evaluation: say evaluate=")
    start = p.start
    batch = p.pair[1]
    p.reset()
    p.begin()
    alone = p.take(batch)
    p.reset()
    seen, modes = _seen(p)
    once = p.evaluate()
    changed = [
        weight.name
        for weight, was, now in zip(p.weights, start, p.values(), strict=True)
        if not numpy.array_equal(was, now)
    ]
    left = _modes(p)
    twice = p.evaluate()
    p.reset()
    p.state.draw_on()
    again = p.evaluate()
    p.state.put_back_generators()
    p.begin()
    behind = p.take(batch)
    p.reset()
    told = {"once": once, "twice": twice, "alone": alone, "behind": behind}
    is_other = alone != behind and math.isfinite(alone)
    if changed:
        yield cause("evaluation changes the weights", name=changed[0])
    elif again != once or (True in modes and twice != once):
        name = "dropout is active in evaluation" if True in modes else "evaluation is random"
        yield cause(name, **told)
    elif _statistics_change(p):
        yield cause("evaluation changes the statistics")
    elif is_other and left and not all(left):
        yield cause("the model stays in evaluation mode", p.begins, **told)
    elif is_other:
        yield cause("evaluation changes the training", **told)
    elif _starts_from_training(p, once):
        yield cause("the evaluation starts from the state of the training")
    elif once != twice and not (math.isnan(once) and math.isnan(twice)):
        yield cause("the evaluation goes on where it ended", **told)
    share, is_text = _share_of_training(p, seen)
    if share > (0.5 if is_text else 0.02):
        yield cause("training data in the evaluation", False, share=share)
    for k in range(STEPS_BEFORE):
        p.take(p.batches[k % len(p.batches)])
    trained = p.values()
    p.evaluate()
    is_same = all(numpy.array_equal(a, b) for a, b in zip(trained, p.values(), strict=True))
    p.reset()
    if not changed and not is_same:
        yield cause("evaluation changes the weights", name="a weight that was trained")
    yield from _figures(p)
    yield f"{once:.4g}"


def check_course(p: Program) -> Seen:
    """How the loss, the updates and the rate go over some epochs."""
    p.reset()
    losses, rates, sizes = list[float](), list[float](), list[float]()
    epochs = p.epochs
    p.reset()
    before = p.values()
    begun = False
    for epoch, batches in enumerate([*epochs, *epochs[-1:]][:3]):
        p.begin()
        for batch in batches:
            losses.append(p.take(batch))
            rate = p.lr()
            rates += [] if rate is None else [rate]
            now = p.values()
            moved = [float(numpy.abs(a - b).sum()) for a, b in zip(now, before, strict=True)]
            sizes.append(sum(moved))
            before = now
        if p.end is not None:
            p.end()
            begun = begun or epoch > 0
    p.reset()
    n = len(losses)
    if not losses or not math.isfinite(losses[0]):
        raise UntriedError("no loss")
    head, tail = numpy.mean(losses[: max(1, n // 6)]), numpy.mean(losses[-max(1, n // 6) :])
    told = {"first": head, "last": tail, "n": n}
    if not math.isfinite(losses[-1]):
        yield cause("the loss becomes infinite", n=n, step=_first_infinite(losses))
    elif tail > 1.2 * head + 0.1:
        yield cause("the loss rises", **told)
    yield from _rates(rates, sizes, len(epochs[0]))
    yield f"{n} steps: {head:.4g} to {tail:.4g}"


def _rates(rates: list[float], sizes: list[float], epoch: int) -> Seen:
    positive = [size for size in sizes if size > 0]
    if rates and rates[0] > 0 and min(rates[1:], default=1.0) <= 0:
        step = next(k for k, rate in enumerate(rates) if rate <= 0)
        yield cause("the rate becomes zero", step=step)
    elif rates and rates[0] == 0 and max(rates) == 0:
        yield cause("the rate is zero")
    elif len(rates) > epoch and rates[-1] > 1.5 * rates[0] > 0 and _grows(rates):
        yield cause("the rate rises", False, first=rates[0], last=rates[-1])
    elif rates and rates[0] > 0 and rates[-1] < 1e-3 * rates[0]:
        yield cause("the rate falls too fast", first=rates[0], last=rates[-1], n=len(rates))
    elif len(sizes) > 8 and positive and max(sizes[-3:]) < 1e-4 * max(sizes[:3]):
        yield cause("updates fade", first=max(sizes[:3]), last=max(sizes[-3:]), n=len(sizes))


def _grows(rates: list[float]) -> bool:
    """Return whether a rate is multiplied again and again, and not added to, as in a warm-up."""
    levels = list(dict.fromkeys(rates))
    ratios = [b / a for a, b in pairwise(levels)]
    return len(levels) > 2 and min(ratios) > 1.01 and max(ratios) < 1.02 * min(ratios)


def _first_infinite(losses: list[float]) -> int:
    return next(k for k, loss in enumerate(losses) if not math.isfinite(loss))


def _starts_from_training(p: Program, once: float) -> bool:
    """Return whether an evaluation gives another figure behind a step, from the same weights."""
    start = p.start
    names = {str(key) for h in p.state.reached for key in dict(items(h.entries))}
    if any("running" in name or "moving" in name for name in names):
        return False  # statistics of a norm, which are meant to be used
    p.reset()
    p.take(p.pair[0])
    p.put(start)
    p.state.put_back_generators()
    behind = p.evaluate()
    p.reset()
    return behind != once and not math.isnan(once) and all(_modes(p) or [True])


def _figures(p: Program) -> Seen:
    """Return whether the figure follows, as it should, from the losses that are measured."""
    losses: list[tuple[float, int]] = []
    with suppress(Exception), _losses_noted(p, losses):
        figure = p.evaluate()
    p.reset()
    if not losses or not math.isfinite(figure):
        return
    table = numpy.array(losses, dtype=float)
    values, sizes = table[:, 0], table[:, 1]
    if not numpy.isfinite(values).all():
        return
    mean, weighted = values.mean(), (values * sizes).sum() / sizes.sum()
    if _is(figure, 2**mean) or _is(figure, 2**weighted):
        yield cause("perplexity to base 2", figure=figure, right=math.exp(min(weighted, 700)))
    elif abs(mean - weighted) > 1e-6 * abs(weighted) and (
        _is(figure, mean) or _is(figure, math.exp(min(mean, 700)))
    ):
        yield cause("short batches count as much as long ones", figure=figure, n=len(losses))
    elif values.std() > 1e-3 and _is(figure, float(numpy.exp(values).mean())):
        yield cause("a mean of perplexities", figure=figure, right=math.exp(min(weighted, 700)))


def _is(figure: float, other: float) -> bool:
    return abs(figure - other) <= 1e-6 * abs(other)


@contextmanager
def _losses_noted(p: Program, losses: list[tuple[float, int]]) -> Iterator[None]:
    """Context that notes each loss that is computed, and of how many targets."""

    def noted(function: Any, *given: Any, **named: Any) -> Any:
        result = function(*given, **named)
        value = number(result)
        if not math.isnan(value) and len(given) > 1 and depth[0] == 1:
            t = numbers(given[-1])
            losses.append((value, int((t >= 0).sum()) if t.dtype.kind == "i" else t.size))
        return result

    def called(function: Any, *given: Any, **named: Any) -> Any:
        depth[0] += 1
        try:
            return noted(function, *given, **named)
        finally:
            depth[0] -= 1

    depth, placed = [0], []
    for holder in p.state.reached:
        owner = holder.owner
        for key, value in list(items(holder.entries)):
            is_function = inspect.isfunction(value) and not value.__module__.startswith("torch")
            if (
                is_function
                and isinstance(key, str)
                and _LOSS.search(key)
                and not isinstance(owner, type)
            ):
                placed.append((holder.entries, key, value))
        method = "forward" if "loss" in type(owner).__name__.lower() else "loss"
        if (
            hasattr(owner, "__dict__")
            and not isinstance(owner, type)
            and not inspect.isfunction(owner)
        ):
            bound = getattr(owner, method, None)
            if inspect.ismethod(bound) and method not in vars(owner):
                placed.append((vars(owner), method, _GONE))
                vars(owner)[method] = partial(called, bound)
    for entries, key, value in placed:
        if value is not _GONE:
            entries[key] = partial(called, value)
    try:
        yield
    finally:
        for entries, key, value in placed:
            if value is _GONE:
                entries.pop(key, None)
            else:
                entries[key] = value


# --- What an evaluation sees --------------------------------------------------------------------


def _models(p: Program) -> list[Any]:
    """Objects that are called with inputs: the outer ones of those that are reached."""
    found: list[Any] = []
    for holder in p.state.reached:
        owner = holder.owner
        if isinstance(owner, type | dict | list | tuple) or not hasattr(owner, "__dict__"):
            continue
        is_called = any(callable(getattr(owner, name, None)) for name in METHODS[:3])
        if is_called and not _is_dropout(owner):
            found.append(owner)
    return found[:1]


def _seen(p: Program) -> tuple[list[Any], set[bool]]:
    """With what an evaluation calls the model, and in which modes dropout runs in it."""
    seen: list[Any] = []
    modes: set[bool] = set()
    counted = [layer for layer in _dropouts(p) if isinstance(layer, Layer)]
    before = [repr(layer.snapshot()) for layer in counted]
    with suppress(Exception), _watched(p, seen, modes):
        p.evaluate()
    if before != [repr(layer.snapshot()) for layer in counted]:
        modes.add(True)  # a layer of deepnlp counts its masks, in training alone
    p.reset()
    return seen, modes


@contextmanager
def _watched(p: Program, seen: list[Any], modes: set[bool]) -> Iterator[None]:
    """Context that notes with what a model is called, and in which mode."""
    hooks: list[Any] = []
    placed: list[tuple[Any, str]] = []
    for model in [*_models(p), *_dropouts(p)]:
        note = partial(_note, model, seen, modes)
        if hasattr(model, "register_forward_pre_hook"):
            hooks.append(model.register_forward_pre_hook(lambda _, given, note=note: note(given)))
            continue
        for name in METHODS[:4] if not isinstance(model, Layer) else ():  # a twin copies them
            method = getattr(model, name, None)
            if callable(method) and name not in vars(model):
                vars(model)[name] = partial(_noted, method, note)
                placed.append((model, name))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for model, name in placed:
            vars(model).pop(name, None)


def _note(model: Any, seen: list[Any], modes: set[bool], given: Any) -> None:
    if _is_dropout(model):
        modes.update(_modes_of(model))
    else:
        seen.extend(one for one in given[:1] if hasattr(one, "dtype"))


def _noted(method: Any, note: Any, *given: Any, **named: Any) -> Any:
    note(given)
    return method(*given, **named)


def _modes_of(model: Any) -> list[bool]:
    flags = [getattr(model, name, None) for name in ("training", "train_flg", "is_training")]
    return [flag for flag in flags if isinstance(flag, bool)]


def _modes(p: Program) -> list[bool]:
    """The modes of all that is reached: true while it trains."""
    return [
        flag
        for holder in p.state.reached
        if not isinstance(holder.owner, type)
        for flag in _modes_of(holder.owner)
    ]


def _is_dropout(owner: Any) -> bool:
    return "drop" in type(owner).__name__.lower() and not isinstance(owner, type)


def _dropouts(p: Program) -> list[Any]:
    return [holder.owner for holder in p.state.reached if _is_dropout(holder.owner)]


def _statistics_change(p: Program) -> bool:
    """Return whether running means are others after an evaluation than before."""

    def read() -> list[Any]:
        return [
            numbers(value).copy()
            for holder in p.state.reached
            for key, value in items(holder.entries)
            if isinstance(key, str) and "running" in key and hasattr(value, "dtype")
        ]

    p.reset()
    before = read()
    p.evaluate()
    after = read()
    p.reset()
    return any(not numpy.array_equal(a, b) for a, b in zip(before, after, strict=False))


def _share_of_training(p: Program, seen: list[Any]) -> tuple[float, bool]:
    """How much of what an evaluation reads is in the training batches too, and if it is ids."""
    rows = [row for one in seen for row in numbers(one) if numpy.ndim(one) > 1]
    known = {
        row.astype("float64").tobytes()
        for batch in p.batches
        if hasattr(batch[0], "dtype")
        for row in numbers(batch[0])
    }
    if not rows or not known or len(known) < 4 or rows[0].size < 3:
        return 0.0, False
    share = sum(row.astype("float64").tobytes() in known for row in rows) / len(rows)
    return share - _alike(p), rows[0].dtype.kind in "iu"


def _alike(p: Program) -> float:
    """How many rows of the last batches are among the first ones, by chance."""
    xs = [numbers(batch[0]).astype("float64") for batch in p.batches if hasattr(batch[0], "dtype")]
    half = len(xs) // 2
    first = {row.tobytes() for x in xs[:half] for row in x}
    last = [row.tobytes() in first for x in xs[half:] for row in x]
    return sum(last) / len(last) if last else 0.0
