"""Experiments with the step: what it changes, which way, how far, and by which gradients."""

import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

import numpy

from deepnlp.checkup.batches import texts_of
from deepnlp.checkup.forms import is_module, source_of
from deepnlp.checkup.keeping import numbers
from deepnlp.checkup.program import Batch, Program, Weight, same_batch
from deepnlp.checkup.report import Cause, UntriedError, cause
from deepnlp.checkup.rules import check_optimizer
from deepnlp.gradcheck.names import GRADS
from deepnlp.gradcheck.walking import Holder, items, leaves
from deepnlp.parameter import Parameter

Seen = Iterator[Cause | str]

SCALES = [4.0**k for k in range(-6, 8)]
"""Lengths of a step that are tried, beside its own."""

_VAGUE = {"the rule differs from the textbook", "the rule changes the gradients"}
_VAGUE |= {"it is another rule", "the rule gives no number"}  # it may do more than a rule does

_REMEMBERS = re.compile(r"momentum|velocit|\bmu\b|beta|\b0?\.9+\b|adam|rmsprop|adagrad", re.I)

_MAKERS = {"default_rng", "RandomState", "seed", "manual_seed"}

SHORT_SCALES = [4.0**k for k in range(-14, -6)]
"""Those that are tried where the loss falls at none of these."""

_GRADIENT = re.compile(r"d[A-Z]\w*|d[bhxyw]\w?|grad_?\w+|\w+_grad")

_MEMORY = re.compile(r"momentum|velocity|nesterov|adam|rmsprop|rms_prop|adagrad", re.IGNORECASE)

ONE_BATCH = 40
"""Updates with one batch."""


def check_weights(p: Program) -> Seen:
    """Return whether the weights are such that a network can start from them."""
    _expect_weights(p)
    for weight, value in zip(p.weights, p.start, strict=True):
        kind = numpy.asarray(weight.value()).dtype if not _is_tensor(weight) else None
        if kind is not None and kind.kind in "iu":
            yield cause("weights are whole numbers", name=weight.name, kind=kind)
        if not numpy.isfinite(value).all():
            yield cause("weights are not finite", name=weight.name)
    sizes = [(w.name, v) for w, v in zip(p.weights, p.start, strict=True) if v.ndim == 2]
    for name, value in sizes:
        spread = float(value.std()) * math.sqrt(value.shape[0])
        if spread > 30:
            yield cause("weights are too large", False, name=name, std=value.std())
    matrices = [v for _, v in sizes if v.size > 1]
    spreads = [float(v.std()) * math.sqrt(v.shape[0]) for v in matrices]
    if spreads and 0 < max(spreads) < 2e-3:
        yield cause("weights are too small", False, std=max(float(v.std()) for v in matrices))
    is_zero = [not v.any() for v in matrices]
    if len(matrices) > 1 and all(is_zero):
        yield cause("weights are all zero")
    yield f"{len(p.weights)} weights, {sum(v.size for v in p.start):,} numbers"


def check_moves(p: Program) -> Seen:
    """Which weights an update moves."""
    _expect_weights(p)
    yield from _not_registered(p)
    start = p.start
    p.reset()
    for batch in [*p.batches[:3], p.batches[0]][:4]:
        p.update(batch)
    after = p.values()
    changes = [float(numpy.abs(a - b).max()) for a, b in zip(after, start, strict=True) if a.size]
    pairs = list(zip(p.weights, changes, strict=False))
    still = [w for w, change in pairs if change == 0 and not w.is_frozen]
    frozen = [w for w, change in pairs if w.is_frozen]
    if not any(changes):
        yield from _nothing_moves(p)
        return
    for weight in still:
        yield from _one_still(p, weight)
    for weight, value in zip(p.weights, after, strict=True):
        if value.ndim == 2 and min(value.shape) > 1 and not weight.is_frozen:
            columns = numpy.allclose(value, value[:, :1], rtol=1e-5, atol=0)
            rows = numpy.allclose(value, value[:1], rtol=1e-5, atol=0)
            if (columns or rows) and value.any():
                yield cause("units are all the same", name=weight.name)
                break
    yield from _half_precision(p, start, after)
    yield from _only_decayed(p)
    yield from _not_reached(p)
    yield from _dead_units(p)
    yield from _twice(p)
    yield from _clipped_one_by_one(p)
    moving = [w.name for w, change in pairs if change]
    told = f", {len(frozen)} frozen" if frozen else ""
    yield f"{len(moving)} of {len(pairs)} weights{told}"


def check_own_gradient(p: Program) -> Seen:
    """Return whether an update follows from its own batch, or from those before it too."""
    _expect_weights(p)
    if p.is_late:
        p.reset()
        if p.take(p.pair[0]) == p.take(p.pair[0]):  # forward came before the update
            yield cause("gradients of an earlier batch")
        yield "each update is made in the next step"
        return
    a, b = _joined(p.by_first), _joined(p.by_second)
    if not a.any() or not b.any():
        raise UntriedError("nothing moves")
    if same_batch(*p.pair):
        raise UntriedError("there is only one batch")
    if numpy.array_equal(a, b) and len(a) > 4:
        yield cause("the step ignores its batch")
        return
    yield from _unused_rows(p)
    c = _joined(p.by_second_after_first)
    if not all(numpy.isfinite(v).all() for v in (a, b, c)):
        raise UntriedError("an update is not finite")
    share, own, rest = _fit(c, a, b)
    sizes = numpy.abs(a[a != 0])
    adapts = float(sizes.std()) < 0.3 * float(sizes.mean())  # as Adam does, and no gradient
    is_apart = not adapts and rest < 0.02 and abs(float(a @ b)) < 0.97 * _norm(a) * _norm(b)
    if left := (_left_over(p) or _added_up(p)):
        yield cause("gradients are added up", share=left)
    elif _norm(c - b) <= 1e-3 * _norm(b):
        yield "each update follows from its own batch"
    elif is_apart and share > 0.95 and abs(own) < 0.05:
        yield cause("gradients of an earlier batch")
    elif is_apart and (share > 0.97 or (rest < 1e-3 and share > 0.1 and own < 0.9)):
        yield cause("gradients are added up", share=share)
    elif is_apart and share > 0.02:
        yield f"momentum: {share:.2f} of the update before"
    else:
        yield "each update follows from more than its batch: a rule that adapts, or a state"


def check_rule(p: Program) -> Seen:
    """Return whether the update rule is the textbook's, and whether it keeps its memory."""
    _expect_weights(p)
    for rule in _rules(p):
        p.reset()
        with suppress(Exception):
            report = check_optimizer(rule)
            yield from (one for one in report.causes if one.is_wrong and one.name not in _VAGUE)
            yield f"{report.subject}: {report.rows[0].note}"
    again = _joined(p.moved(p.pair[0], p.pair[0]))
    named = _MEMORY.search(type(p.optimizer).__name__) or _REMEMBERS.search(p.source)
    has_memory = bool(named) or bool(getattr(p.optimizer, "momentum", 0))
    if has_memory and _joined(p.by_first).any() and numpy.array_equal(again, _joined(p.by_first)):
        yield cause("the optimizer begins anew")
    yield from _clipped_late(p)


def _rules(p: Program) -> Iterator[Any]:
    """The optimizer, where it is somebody's own, and update rules as functions."""
    update = getattr(p.optimizer, "update", None)
    is_own = not type(p.optimizer).__module__.startswith(("torch", "deepnlp"))
    if update is not None and is_own and len(inspect.signature(update).parameters) == 2:
        yield p.optimizer
    functions = [h.owner for h in p.state.reached if inspect.isfunction(h.owner)]
    for function in functions:
        count = len(inspect.signature(function).parameters)
        if count == 3 and _MEMORY.search(function.__name__):
            yield function


def _clipped_late(p: Program) -> Seen:
    """Gradients that were cut down behind the update: all of one norm, the updates not."""
    lengths = []
    for batch, move in zip(p.pair, (p.by_first, p.by_second), strict=True):
        p.moved(batch)
        g, d = (sorted(_norm(v) for v in values if v.any()) for values in (_known(p), move))
        if not g or len(g) != len(d) or not numpy.allclose(numpy.divide(d, g), d[0] / g[0], 1e-3):
            return  # it is not gradient descent, or the gradients are not kept
        lengths.append((_norm(numpy.array(g)), _norm(numpy.array(d))))
    p.reset()
    (g1, d1), (g2, d2) = lengths
    if abs(g1 - g2) < 1e-4 * g1 and abs(d1 - d2) > 0.01 * d1:
        yield cause("clipped behind the update", norm=g1)


def _known(p: Program) -> list[Any]:
    """The gradients that Parameters hold, or where there are none all that are known."""
    owners = [holder.owner for holder in p.state.reached]
    held = [numbers(one.grad) for one in owners if isinstance(one, Parameter)]
    return held or [grad for grad, _ in _gradients(p)]


def check_direction(p: Program) -> Seen:
    """Return whether the loss falls in the direction of the update."""
    _expect_weights(p)
    d = p.by_first
    if not any(v.any() for v in d):
        raise UntriedError("nothing moves")
    slope, is_clear = _slope(p, d, p.pair[0])
    if not is_clear:
        yield from _sideways(p, d, slope)
        return
    if slope > 0:
        yield cause("uphill", slope=slope)
        return
    yield from _sideways(p, d, slope)
    for k, weight in enumerate(p.weights if len(d) > 1 else []):
        if not d[k].any():
            continue
        slopes = []
        for update, batch in ((d, p.pair[0]), (p.by_second, p.pair[1])):
            alone = [v if n == k else numpy.zeros_like(v) for n, v in enumerate(update)]
            part, clear = _slope(p, alone, batch)
            slopes.append(part if clear else -1.0)
        if min(slopes) > 0.02 * abs(slope):
            yield cause("one weight goes uphill", name=weight.name, slope=slopes[0])
    yield f"downhill, slope {slope:.2g}"


def check_size(p: Program) -> Seen:
    """How far the loss falls along the update: the best length of a step."""
    _expect_weights(p)
    d, batch, first = p.by_first, p.pair[0], p.first_loss
    if not any(v.any() for v in d):
        raise UntriedError("nothing moves")
    losses = {s: _at(p, d, s, batch) for s in SCALES}
    if not any(loss < first for loss in losses.values()):
        losses |= {s: _at(p, d, s, batch) for s in SHORT_SCALES}
    finite = {s: loss for s, loss in losses.items() if math.isfinite(loss)}
    if not finite or not math.isfinite(first):
        raise UntriedError("the loss is not finite along the update")
    best = min(finite, key=lambda s: finite[s])
    if finite[best] >= first:
        raise UntriedError("the loss falls nowhere along the update")
    rises = min(
        (s for s in sorted(losses) if s > best and not losses[s] <= first), default=math.inf
    )
    told = {"best": best, "rises": rises, "loss": finite[best], "first": first}
    p.reset()
    course = [p.update(batch) for _ in range(ONE_BATCH)]
    last = course[-1]
    is_ill = not math.isfinite(last) or min(course[-5:]) > first + 0.05 * abs(first)
    fallen = (first - last) / max(abs(first), 1e-12)
    if is_ill and best < 0.3:
        yield cause("the step is too large", **told, last=last, n=ONE_BATCH)
    elif best < 0.05 and rises <= 0.3:
        yield cause("the step is too large", False, **told, last=last, n=ONE_BATCH)
    elif best >= 1000 and abs(fallen) < 0.01:
        yield cause("the step is too small", **told, last=last, n=ONE_BATCH)
    elif best >= 256 and fallen < 0.05:
        yield cause("the step is too small", False, **told, last=last, n=ONE_BATCH)
    elif is_ill:
        yield cause("one batch is not learned", last=last, first=first, n=ONE_BATCH)
    yield f"best at {best:.2g} of the step; {ONE_BATCH} updates with one batch: {first:.3g} to " + (
        f"{last:.3g}"
    )


def check_randomness(p: Program) -> Seen:
    """Return whether the random numbers of one step are others than those of the next."""
    p.reset()
    before = p.state.drawn
    p.take(p.pair[0])
    after = p.state.drawn
    p.reset()
    p.state.draw_on()
    p.take(p.pair[0])
    again = p.state.drawn
    p.reset()
    if any(a != b and a == c for a, b, c in zip(after, before, again, strict=True)) or _seeds(p):
        yield cause("a seed is set in each step")
    yield from _same_mask(p)
    yield "none drawn" if after == before else "drawn anew"


def check_state(p: Program) -> Seen:
    """Return whether something but the weights goes from batch to batch, and whether it should."""
    first, second = p.pair
    start = p.start
    if p.is_late:
        raise UntriedError("each update is made in the next step")
    p.reset()
    alone = p.take(second)
    p.reset()
    p.take(first)
    p.put(start)
    p.state.put_back_generators()
    behind = p.take(second)
    p.reset()
    texts, axis = texts_of(p)
    follow = _share_that_follows(texts, axis)
    if alone == behind or not math.isfinite(alone) or not p.weights:
        if follow > 0.95 and len(texts) > 3 and _is_recurrent(p):
            yield cause("the state is not carried", False, share=follow)
        yield "nothing is carried from batch to batch"
        return
    if axis is None or len(texts) < 2:
        yield cause("something is carried from batch to batch", False, alone=alone, behind=behind)
        return
    if follow < 0.9:
        yield cause("windows do not continue", share=follow)
    else:
        yield "the state is carried, and the windows continue"


def _share_that_follows(texts: list[tuple[Any, Any]], axis: int | None) -> float:
    """How many rows of a batch begin with the word behind the last one of the batch before."""
    shares = [
        float((numpy.take(t, -1, axis) == numpy.take(x, 0, axis)).mean())
        for (_, t), (x, _) in pairwise(texts)
        if x.shape == t.shape and axis is not None
    ]
    return sorted(shares)[len(shares) // 2] if shares else 1.0


def _is_recurrent(p: Program) -> bool:
    """Return whether something is called as layers over time or their states are."""
    owners = [type(holder.owner).__name__ for holder in p.state.reached]
    return any(re.search(r"RNN|LSTM|GRU", name) for name in owners) or "hprev" in p.source


# --- What moves -------------------------------------------------------------------------------


def _expect_weights(p: Program) -> None:
    if not p.weights:
        raise UntriedError("no weights were found: say weights=, a dict of arrays")


def _is_tensor(weight: Weight) -> bool:
    return not isinstance(weight.value(), numpy.ndarray)


def _nothing_moves(p: Program) -> Seen:
    others = [p.optimizer] if p.optimizer is not None else []
    held = {
        id(one)
        for o in others
        for group in getattr(o, "param_groups", ())
        for one in group["params"]
    }
    held |= {id(one) for o in others for one in _listed(getattr(o, "parameters", ()))}
    if held and not held & {id(one) for one in _declared_in(p)}:
        yield cause("the optimizer holds other weights")
        return
    yield cause("nothing moves", steps=4)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _declared_in(p: Program) -> list[Any]:
    """All Parameters and tensors in the modules that are reached."""
    return [
        one
        for holder in p.state.reached
        if hasattr(holder.owner, "named_parameters") and not isinstance(holder.owner, type)
        for _, one in holder.owner.named_parameters()
    ]


def _not_registered(p: Program) -> Seen:
    """Modules of torch that stand in a plain list, where their model does not know them."""
    for holder in p.state.reached:
        up = holder.up
        while is_module(holder.owner) and up is not None and not is_module(up.owner):
            up = up.up
        if up is None or not is_module(holder.owner) or not hasattr(up.owner, "modules"):
            continue
        known = {id(one) for one in up.owner.modules()}
        if id(holder.owner) not in known and any(True for _ in holder.owner.parameters()):
            yield cause("layers in a plain list", name=holder.path.rstrip("."))
            return


def _one_still(p: Program, weight: Weight) -> Seen:
    number = p.weights.index(weight)
    value = p.start[number]
    noise = numpy.random.default_rng(1).normal(size=value.shape)
    size = float(numpy.abs(value).mean()) or 0.1
    pushed = [v + size * noise if k == number else v for k, v in enumerate(p.start)]
    changed = p.loss_at(pushed, p.pair[0])
    p.reset()
    if changed == p.first_loss:
        yield cause("a weight is not used", False, name=weight.name)
        return
    groups = getattr(p.optimizer, "param_groups", None)
    known = _declared_in(p)
    if groups is not None and known:
        held = {id(one) for group in groups for one in group["params"]}
        tensor = next((one for one in known if _is_value(one, weight)), None)
        if tensor is not None and id(tensor) not in held:
            yield cause("a weight is not given to the optimizer", False, name=weight.name)
            return
        yield cause("no gradient arrives", name=weight.name)
        return
    yield cause("a weight does not move", False, name=weight.name)


def _is_value(one: Any, weight: Weight) -> bool:
    value = weight.value()
    return hasattr(one, "data_ptr") and one.data_ptr() == value.data_ptr()


def _dead_units(p: Program) -> Seen:
    """Rows or columns of a weight that no batch moves, other than words that are not there."""
    moves = [numpy.abs(a) + numpy.abs(b) for a, b in zip(p.by_first, p.by_second, strict=True)]
    inputs = [numbers(part) for b in p.pair for _, part in leaves(b[:1])]
    ids = {int(n) for x in inputs if x.dtype.kind in "iu" for n in x.ravel()}
    for weight, d in zip(p.weights, moves, strict=True):
        is_tiny = float(d.max(initial=0)) < 1e-5 * float(numpy.abs(weight.value()).max())
        if d.ndim != 2 or min(d.shape) < 4 or is_tiny:
            continue
        for axis in (0, 1):
            still = ~d.any(axis=axis)
            share, rest = float(still.mean()), int((~still).sum())
            is_lookup = axis == 1 and rest <= len(ids)
            if share > 0.6 and not is_lookup and not _reads_nothing(p, d.shape[1 - axis]):
                yield cause("dead units", name=weight.name, share=share)
                return


def _reads_nothing(p: Program, size: int) -> bool:
    """Return whether most of many inputs are zero, as in rows with a single one."""
    xs = [numbers(b[0]) for b in p.pair if hasattr(b[0], "dtype")]
    return any(x.ndim > 1 and x.shape[-1] == size and float((x == 0).mean()) > 0.3 for x in xs)


def _twice(p: Program) -> Seen:
    """Weights that were copied: alike at the start, and apart after an update."""
    for k, one in enumerate(p.start):
        for n in range(k + 1, len(p.start)):
            other = p.start[n]
            for turned, d in ((other, p.by_first[n]), (other.T, p.by_first[n].T)):
                is_copy = (
                    one.size > 8 and one.shape == turned.shape and numpy.array_equal(one, turned)
                )
                is_drawn = len(numpy.unique(one)) > one.size // 2  # and no pattern
                if is_copy and is_drawn and not numpy.allclose(p.by_first[k], d):
                    names = {"name": p.weights[k].name, "other": p.weights[n].name}
                    yield cause("a weight is there twice", **names)
                    return


def _clipped_one_by_one(p: Program) -> Seen:
    """Updates of all weights of one length: each was cut down by itself."""
    for moves in (p.by_first, p.by_second):
        norms = numpy.array([_norm(v) for v in moves if v.size > 1 and v.any()])
        if len(norms) < 3 or not norms.std() <= 1e-4 * norms.mean():
            return
    yield cause("each gradient is clipped by itself", norm=float(norms.mean()))


def _not_reached(p: Program) -> Seen:
    """Return whether the model still reads the arrays that it had before the update."""
    p.reset()
    losses = [p.update(p.pair[0]) for _ in range(3)]
    p.reset()
    if len({*losses}) == 1 and math.isfinite(losses[0]) and p.first_loss != 0:
        yield cause("the update does not reach the model", loss=losses[0])


def _only_decayed(p: Program) -> Seen:
    """Weights that shrink or grow as a whole: what is left where no gradient arrives."""
    moves = [p.by_first, p.by_second]
    for k, (weight, value) in enumerate(zip(p.weights, p.start, strict=True)):
        d = [move[k].ravel() for move in moves]
        w = value.ravel()
        if w.size < 4 or not all(v.any() for v in d):
            continue
        cosines = [float(v @ w) / (_norm(v) * _norm(w) or 1.0) for v in d]
        if min(map(abs, cosines)) < 0.9999 or len({c > 0 for c in cosines}) > 1:
            continue
        pushed = [v + 0.3 * v.std() * _noise(v) if n == k else v for n, v in enumerate(p.start)]
        depends = p.loss_at(pushed, p.pair[0]) != p.first_loss
        p.reset()
        if depends and cosines[0] < 0:
            yield cause("no gradient arrives", name=weight.name)
            return
    yield from _decay(p)


def _noise(value: Any) -> Any:
    return numpy.random.default_rng(1).normal(size=value.shape)


def _decay(p: Program) -> Seen:
    """The pull of weights that get no gradient, such as rows of words that are not there."""
    for k, (weight, value) in enumerate(zip(p.weights, p.start, strict=True)):
        d = p.by_first[k]
        if value.ndim != 2 or value.shape[1] < 4 or not d.any():
            continue
        sizes = numpy.linalg.norm(value, axis=1) * numpy.linalg.norm(d, axis=1)
        cosines = (value * d).sum(axis=1) / numpy.maximum(sizes, 1e-30)
        pulled = (numpy.abs(cosines) > 0.9999) & (sizes > 0)
        if pulled.sum() < 2:
            continue
        pulls = (value * d).sum(axis=1)[pulled] / (value**2).sum(axis=1)[pulled]
        if pulls.std() > 1e-2 * abs(pulls.mean()):
            continue
        if pulls.mean() > 0:
            yield cause("decay with the wrong sign", name=weight.name, pull=pulls.mean())
            return
        if pulls.mean() < -0.1:
            yield cause("decay is too strong", name=weight.name, pull=-pulls.mean())
            return


def _half_precision(p: Program, start: list[Any], after: list[Any]) -> Seen:
    for weight, was, now in zip(p.weights, start, after, strict=True):
        kind = str(weight.value().dtype)
        if "16" in kind and was.size > 8 and float((was == now).mean()) > 0.5:
            share = float((was == now).mean())
            yield cause("updates vanish in float16", name=weight.name, share=share)
            return


# --- Gradients of several batches ---------------------------------------------------------------


def _joined(values: list[Any]) -> Any:
    return numpy.concatenate([numpy.ravel(v) for v in values]) if values else numpy.zeros(0)


def _norm(value: Any) -> float:
    return float(numpy.linalg.norm(value))


def _fit(c: Any, a: Any, b: Any) -> tuple[float, float, float]:
    """How much of a and of b is in c, and what is left, relative to c."""
    table = numpy.stack([a, b], axis=1)
    (share, own), *_ = numpy.linalg.lstsq(table, c, rcond=None)
    return float(share), float(own), _norm(c - table @ [share, own]) / (_norm(c) or 1.0)


def _unused_rows(p: Program) -> Seen:
    """Return whether the first or the last rows of a batch have no influence on the update."""
    if not all(hasattr(part, "dtype") for batch in p.pair for part in batch):
        return
    one, other = ([numbers(part) for part in batch] for batch in p.pair)
    n = len(one[0]) if one[0].ndim else 0
    if n < 4 or any(a.shape != b.shape or len(a) != n for a, b in zip(one, other, strict=True)):
        return
    for rows in (slice(0, n // 2), slice(n - n // 2, n)):
        mixed = [part.clone() if hasattr(part, "clone") else part.copy() for part in p.pair[0]]
        for part, source in zip(mixed, p.pair[1], strict=True):
            part[rows] = source[rows]
        if same_batch(tuple(mixed), p.pair[0]):
            continue
        if numpy.array_equal(_joined(p.moved(tuple(mixed))), _joined(p.by_first)):
            yield cause("rows of the batch are not used", first=rows.start, last=rows.stop)
            return


def _left_over(p: Program) -> float:
    """How much of the gradients of a batch is in the update by the next; 0 where none is known."""
    p.reset()
    p.update(p.pair[0])
    left = [(put, grad) for grad, put in _gradients(p) if grad.any()]
    p.reset()
    for put, grad in left:
        put(grad)
    if not left:
        return 0.0
    p.update(p.pair[1])
    now = [after - was for after, was in zip(p.values(), p.start, strict=True)]
    p.reset()
    a, b, c = _joined(p.by_first), _joined(p.by_second), _joined(now)
    if _norm(c - b) <= 1e-3 * _norm(b):
        return 0.0
    return _fit(c, a, b)[0]


def _gradients(p: Program) -> Iterator[tuple[Any, Callable[[Any], None]]]:
    """Each array that is known to hold a gradient, and how it is written."""
    tensors: dict[int, Any] = {}
    for holder in p.state.reached:
        owner = holder.owner
        if isinstance(owner, Parameter):
            yield numbers(owner.grad), partial(_give, owner)
            continue
        last = holder.path.rstrip(".").rpartition(".")[2]
        for key, value in list(items(holder.entries)):
            if hasattr(value, "requires_grad") and getattr(value, "grad", None) is not None:
                tensors[id(value)] = value
            is_array = isinstance(value, numpy.ndarray) and value.dtype.kind == "f"
            is_named = isinstance(key, str) and _GRADIENT.fullmatch(key)
            if is_array and (last in GRADS or is_named) and not isinstance(owner, tuple):
                yield numbers(value), partial(_write, holder, key)
    for tensor in tensors.values():
        yield numbers(tensor.grad), partial(_hang, tensor)


def _give(parameter: Parameter, grad: Any) -> None:
    parameter.zero_grad()
    parameter.accumulate(grad.astype(parameter.value.dtype))


def _write(holder: Holder, key: Any, grad: Any) -> None:
    now = holder.entries[key] if key in dict(items(holder.entries)) else None
    if isinstance(now, numpy.ndarray) and now.shape == grad.shape:
        now[...] = grad


def _hang(tensor: Any, grad: Any) -> None:
    import torch

    tensor.grad = torch.as_tensor(grad).to(tensor.dtype)


def _added_up(p: Program) -> float:
    """How much of the gradient before is in an array that may be one; 0 where there is none."""
    first, second = p.pair
    states = []
    for before, batch in ((None, first), (None, second), (first, second)):
        p.moved(batch, before)
        states.append(_alike_weights(p))
    p.reset()
    moves = {v.shape: v for v in p.by_first}
    of_a, of_b, of_both = states
    for key in of_a.keys() & of_b.keys() & of_both.keys():
        a, b, c = of_a[key], of_b[key], of_both[key]
        is_square = bool((a >= 0).all())
        if a.size < 2 or is_square or not b.any() or numpy.array_equal(a, b):
            continue
        share, own, rest = _fit(c.ravel(), a.ravel(), b.ravel())
        is_gradient = float((numpy.sign(a) == -numpy.sign(moves[a.shape])).mean()) > 0.9
        if rest < 1e-3 and is_gradient and abs(share - 1) < 0.03 and abs(own - 1) < 0.03:
            return share
    return 0.0


def _alike_weights(p: Program) -> dict[str, Any]:
    """Arrays that have the shape of a weight and are none, by place."""
    shapes = {v.shape for v in p.start}
    current = [id(w.value()) for w in p.weights]
    return {
        f"{id(holder.owner)} {key}": numbers(value)
        for holder in p.state.reached
        for key, value in items(holder.entries)
        if isinstance(value, numpy.ndarray)
        and value.dtype.kind == "f"
        and value.shape in shapes
        and id(value) not in current
    }


# --- Along the update -----------------------------------------------------------------------------


def _at(p: Program, d: list[Any], scale: float, batch: Batch) -> float:
    """The loss so far along a direction."""
    return p.loss_at([w + scale * v for w, v in zip(p.start, d, strict=True)], batch)


def _slope(p: Program, d: list[Any], batch: Batch) -> tuple[float, bool]:
    """The slope of the loss along a direction, and whether it is clear of rounding."""
    base = abs(p.loss_at(p.start, batch))
    weight = p.weights[0].value()
    rounding = (1e-13 if "64" in str(weight.dtype) else 2e-7) * max(base, 1e-6)
    slope = 0.0
    for scale in (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0):
        up, down = _at(p, d, scale, batch), _at(p, d, -scale, batch)
        if not (math.isfinite(up) and math.isfinite(down)):
            break
        slope = (up - down) / (2 * scale)
        if abs(up - down) > 100 * rounding:
            return slope, True
    return slope, False


def _sideways(p: Program, d: list[Any], slope: float) -> Seen:
    """Return whether the update has to do with the gradient, against directions drawn at random."""
    length = _norm(_joined(d))
    count = sum(v.size for v in d)
    generator = numpy.random.default_rng(2)
    slopes = []
    for _ in range(6):
        drawn = [generator.normal(size=v.shape) * (v != 0) for v in d]
        scale = length / (_norm(_joined(drawn)) or 1.0)
        slopes.append(_slope(p, [scale * v for v in drawn], p.pair[0])[0])
    count = int(sum((v != 0).sum() for v in d))
    steepest = math.sqrt(float(numpy.mean(numpy.square(slopes))) * count)
    cosine = -slope / steepest if steepest else 1.0
    if count > 30 and cosine < 0.05:
        yield cause("sideways", cosine=cosine)


# --- Random numbers -----------------------------------------------------------------------------


def _seeds(p: Program) -> bool:
    """Return whether code that runs in a step makes a generator of one and the same seed."""
    ran: set[Any] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and _MAKERS & {*frame.f_code.co_names}:
            ran.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        p.take(p.pair[0])
    finally:
        sys.setprofile(before)
        p.reset()
    own = [code for code in ran if "site-packages" not in code.co_filename]
    return any(re.search(r"(default_rng|RandomState|seed)\([^)\s]", source_of(c)) for c in own)


def _same_mask(p: Program) -> Seen:
    """Dropout whose mask is the same in each step."""

    def masks() -> dict[int, Any]:
        held = {}
        for holder in p.state.reached:
            for key, value in items(holder.entries):
                is_mask = isinstance(key, str) and "mask" in key.lower()
                is_dropout = "drop" in (type(holder.owner).__name__ + str(key)).lower()
                if is_mask and is_dropout and isinstance(value, numpy.ndarray) and value.size > 7:
                    held[id(holder.owner)] = value.copy()
        return held

    read: Callable[[], dict[int, Any]] = masks
    p.reset()
    p.take(p.pair[0])
    one = read()
    p.take(p.pair[0])
    two = read()
    p.reset()
    for key, mask in one.items():
        if key in two and mask.any() and not mask.all() and numpy.array_equal(mask, two[key]):
            yield cause("the same dropout mask each time")
            return
