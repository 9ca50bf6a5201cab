"""Checks of the exercises of lesson 9, attention."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from deepnlp.backend.functions import softmax, softmax_grad
from deepnlp.gradcheck import causes as c
from deepnlp.layers import TimeRNN, reverse_by_length
from deepnlp.lessons.exercises.attention_mistakes import (
    HostArray,
    Mistakes,
    attention_backwards,
    masked,
    transposed,
    underflows,
    weights,
    wrong_contexts,
    wrong_softmax_grads,
    wrong_weights,
)
from deepnlp.lessons.exercises.backward import or_ignored
from deepnlp.lessons.exercises.registry import exercise
from deepnlp.lessons.exercises.texts import Texts, kind_of, texts_of
from deepnlp.lessons.exercises.values import compare_choice, compare_values
from deepnlp.lessons.exercises.verdict import Verdict, first_failure, is_empty, parts

Ways = Mapping[str, Callable[[HostArray], HostArray]]

SAY = texts_of(9)
LENGTHS = np.array([3, 5, 2])
BEFORE = "gradient of the backward before"


def _drawn(seed: int, *shapes: tuple[int, ...]) -> list[HostArray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in shapes]


# --- Attention, forward -----------------------------------------------------------------------


@exercise("9.1", stars=2, title="The weights")
def _check_weights(answer: Any) -> Verdict:
    """``weights(query, memory, lengths)`` gives (N, T, S), zero in the padding."""
    say = SAY["9.1"]
    query, memory = _drawn(81, (3, 2, 4), (3, 5, 4))
    with np.errstate(all="ignore"):
        got = answer(query.copy(), memory.copy(), LENGTHS.copy())
        right, wrong = weights(query, memory, LENGTHS), wrong_weights(query, memory, LENGTHS)
        if isinstance(got, np.ndarray) and got.shape == right.shape and got.dtype.kind == "f":
            # the mask has left minus infinity, a number near it, or nan
            for name in ("softmax missing", "softmax over the steps"):
                if np.allclose(np.where(got > -1e3, got, wrong[name]), wrong[name]):
                    return say.wrong(name)
        wrong[c.TRANSPOSED] = transposed(right)
        verdict = say.compare(got, right, "the weights", wrong)
        if not verdict.ok:
            return verdict
        large = answer(400 * query, memory.copy(), LENGTHS.copy())
    if underflows(400 * query, memory, LENGTHS, large):
        return say.wrong("maximum of the whole array")
    if not np.all(np.isfinite(np.asarray(large))):
        return say.wrong(c.NOT_A_NUMBER)
    verdict = compare_values(large, weights(400 * query, memory, LENGTHS), "the weights")
    return first_failure(verdict, say.right())


# --- The softmax, backward --------------------------------------------------------------------


@exercise("9.2", stars=2, title="Back through the softmax")
def _check_softmax_backward(answer: Any) -> Verdict:
    """``softmax_backward(a, da)`` gives de, all (N, T, S)."""
    say = SAY["9.2"]
    e, da = _drawn(83, (3, 2, 5), (3, 2, 5))
    a = softmax(masked(e, LENGTHS))
    wrong = {
        **wrong_softmax_grads(a, da),
        "guess minus truth": a - da,
        "softmax once more": softmax(da),
    }
    got = answer(a.copy(), da.copy())
    right = softmax_grad(da, a)
    wrong[c.SIGN] = -right
    return first_failure(say.compare(got, right, "de", wrong), say.right())


# --- Attention, backward ----------------------------------------------------------------------


def _mistakes(
    say: Texts,
    got: tuple[Any, ...],
    known: Mistakes,
) -> Verdict | None:
    """The verdict on the mistakes that together give what was found; None if none are known."""
    for names, values in known:
        pairs = zip(got, values, strict=True)
        if all(compare_values(have, want).ok for have, want in pairs):
            if not names:
                return say.right()
            told = list(dict.fromkeys(map(kind_of, names)))
            return Verdict.wrong(told[0], "\n".join(say[name] for name in told))
    return None


def _unchanged(say: Texts, *pairs: tuple[HostArray, HostArray]) -> Verdict:
    if all(np.array_equal(now, before) for now, before in pairs):
        return say.right()
    return say.wrong(c.INPUT_CHANGED)


@exercise("9.3", stars=3, title="Attention, backward")
def _check_attention(answer: Any) -> Verdict:
    """A class: ``forward(query, memory, lengths)``, ``backward(dc) -> (dquery, dmemory)``."""
    say = SAY["9.3"]
    query, memory, dc = _drawn(84, (3, 2, 4), (3, 5, 4), (3, 2, 4))
    a = weights(query, memory, LENGTHS)
    layer, q, m, lengths = answer(), query.copy(), memory.copy(), LENGTHS.copy()
    for method in ("forward", "backward"):
        if not callable(getattr(layer, method, None)):
            return Verdict.empty(f"{type(layer).__name__} has no {method}")
    got = layer.forward(q, m, lengths)
    by_weights = {k: w @ memory for k, w in wrong_weights(query, memory, LENGTHS).items()}
    for texts, wrong in ((say, wrong_contexts(a, memory)), (SAY["9.1"], by_weights)):
        verdict = texts.compare(got, a @ memory, "the output of forward", wrong)
        if verdict.diagnosis in texts:
            break
    verdict = first_failure(verdict, _unchanged(say, (q, query), (m, memory)))
    if not verdict.ok:
        return verdict
    known = attention_backwards(query, memory, dc, LENGTHS)
    _, right = known[0]
    gradient, ready = dc.copy(), copy.deepcopy(layer)
    found = parts(layer.backward(gradient), "dquery", "dmemory")
    if [np.shape(d) for d in found] == [memory.shape, query.shape]:
        return say.wrong("returned in the other order")
    verdict = _mistakes(say, found, known) or first_failure(
        compare_values(found[0], right[0], "dquery"), compare_values(found[1], right[1], "dmemory")
    )
    if not verdict.ok:
        return or_ignored(verdict, ready, dc)
    verdict = _unchanged(say, (q, query), (m, memory), (gradient, dc))
    layer.forward(q, m, lengths)
    again = parts(layer.backward(gradient), "dquery", "dmemory")
    if not all(compare_values(have, want).ok for have, want in zip(again, right, strict=True)):
        return first_failure(verdict, say.wrong(BEFORE))
    return first_failure(verdict, say.right())


# --- Luong's arrangement ----------------------------------------------------------------------


@exercise("9.4", stars=2, title="A state with two uses")
def _check_luong(answer: Any) -> Verdict:
    """A class of (W): ``forward(h, memory, lengths) -> y``, ``backward(dy) -> (dh, dmemory)``."""
    say = SAY["9.4"]
    h, memory, W, dy = _drawn(85, (3, 2, 4), (3, 5, 4), (8, 6), (3, 2, 6))
    context, H = weights(h, memory, LENGTHS) @ memory, 4
    both = np.concatenate([context, h], axis=2)
    s = both @ W
    y = np.tanh(s)
    layer = answer(W.copy())
    wrong_y = {
        "halves swapped in forward": np.tanh(np.concatenate([h, context], axis=2) @ W),
        "activation missing": s,
        "context not used": np.tanh(h @ W[H:]),
    }
    got = layer.forward(h.copy(), memory.copy(), LENGTHS.copy())
    verdict = say.compare(got, y, "y", wrong_y)
    if not verdict.ok:
        return verdict
    slopes = {
        "": 1 - y**2, "slope missing": 1 + 0 * y, c.DERIVATIVE_AT_INPUT: 1 - s**2,
        "tanh taken once more": 1 - np.tanh(y) ** 2,
        "slope of the sigmoid": y * (1 - y), "wrong slope": 1 - y, "wrong slope|y^2": y**2,
    }  # fmt: skip
    known = []
    for slope, value in slopes.items():
        dboth = (dy * value) @ W.T
        dc, direct = dboth[..., :H], dboth[..., H:]
        (_, (dquery, dmemory)), *_ = attention_backwards(h, memory, dc, LENGTHS)
        (_, (dquery2, dmemory2)), *_ = attention_backwards(h, memory, direct, LENGTHS)
        for name, pair in {
            "": (direct + dquery, dmemory),
            "path through the query dropped": (direct, dmemory),
            "direct path dropped": (dquery, dmemory),
            "halves swapped": (dc + dquery2, dmemory2),
            "sign of the query's path": (direct - dquery, dmemory),
            "context's half added to dh": (direct + dquery + dc, dmemory),
            "paths multiplied": (direct * dquery, dmemory),
        }.items():
            known.append(([*filter(None, (slope, name))], pair))
    ready = copy.deepcopy(layer)
    found = parts(layer.backward(dy.copy()), "dh", "dmemory")
    if [np.shape(d) for d in found] == [memory.shape, h.shape]:
        return say.wrong("returned in the other order")
    _, right = known[0]
    verdict = _mistakes(say, found, known) or first_failure(
        compare_values(found[0], right[0], "dh"), compare_values(found[1], right[1], "dmemory")
    )
    da = dy * (1 - y**2)
    steps = [both[:, t].T @ da[:, t] for t in range(2)]
    dW = sum(steps)
    verdict = first_failure(verdict, _weight_gradient(say, layer, dW, steps))
    if not verdict.ok:
        return or_ignored(verdict, ready, dy)
    layer.forward(h.copy(), memory.copy(), LENGTHS.copy())
    layer.backward(dy.copy())
    return first_failure(say.compare(layer.dW, dW, "dW", {BEFORE: 2 * dW}), say.right())


def _weight_gradient(say: Texts, layer: Any, dW: Any, steps: list[HostArray]) -> Verdict:
    if is_empty(getattr(layer, "dW", None)):
        return say.wrong("dW not stored")
    wrong = {f"last step only|{t}": one for t, one in enumerate(steps)}
    return say.compare(layer.dW, dW, "dW", wrong)


# --- Choices and numbers ----------------------------------------------------------------------


@exercise("9.5", stars=1, title="June or July?")
def _check_june_or_july(answer: Any) -> Verdict:
    """Which states of an encoder that reads from left to right can tell June from July."""
    return compare_choice(answer, "from the third letter on", SAY["9.5"])


@exercise("9.6", stars=2, title="How large is a score?")
def _check_scale(answer: Any) -> Verdict:
    """``scale(H, var_q, var_m)`` gives the number that makes the variance of a score 1."""
    for H, q, m in ((100, 2.0, 3.0), (7, 0.5, 0.3)):
        right = np.sqrt(H * q * m)
        wrong = {
            "variances not used": np.sqrt(H),
            "variance and not its root": H * q * m,
            "neither root nor variances": float(H),
            "one variance only|q": np.sqrt(H * q),
            "one variance only|m": np.sqrt(H * m),
            "variance for standard deviation": np.sqrt(H) * q * m,
            "root of H forgotten": H * np.sqrt(q * m),
            "inverse": 1 / right,
            "variances added": np.sqrt(H * (q + m)),
            "H not used": np.sqrt(q * m),
            "H not used|nor the root": q * m,
        }
        verdict = SAY["9.6"].compare(answer(H, q, m), right, "the number", wrong)
        if not verdict.ok:
            return verdict
    return SAY["9.6"].right()


@exercise("9.8", stars=1, title="Which can run ahead?")
def _check_run_ahead(answer: Any) -> Verdict:
    """Of which decoder the recurrent layer can run over all steps before any attention."""
    return compare_choice(answer, "Luong", SAY["9.8"])


# --- Both directions --------------------------------------------------------------------------


def _real(got: Any, right: HostArray) -> Any:
    """What was found, with the right numbers in the padding, where anything may stand."""
    if np.shape(got) != right.shape:
        return got
    counts = (np.arange(right.shape[1]) < LENGTHS[:, None])[..., None]
    return np.where(counts, got, right)


def _two_layers() -> tuple[TimeRNN, TimeRNN]:
    """Layers that read from left to right and from right to left, D = 3 and H = 4."""
    weights = _drawn(89, (3, 4), (4, 4), (4,)), _drawn(98, (3, 4), (4, 4), (4,))
    ahead, back = (TimeRNN(Wx, 0.7 * Wh, b) for Wx, Wh, b in weights)
    return ahead, back


TURNS: Ways = {
    "turned": lambda a: reverse_by_length(a, LENGTHS),
    "kept": lambda a: a,
    "blind": lambda a: a[:, ::-1],
}


def _states(x: HostArray, turn_in: str, turn_out: str, lengths: Any) -> list[HostArray]:
    ahead, back = _two_layers()
    states = back.forward(TURNS[turn_in](x), lengths)
    return [ahead.forward(x, lengths), TURNS[turn_out](states)]


def _gradients(
    x: HostArray,
    dhs: list[HostArray],
    turn_in: str = "turned",
    turn_out: str = "turned",
    lengths: Any = LENGTHS,
) -> list[HostArray]:
    """The dx of both layers, from the gradients of their states."""
    ahead, back = _two_layers()
    ahead.forward(x, lengths)
    back.forward(TURNS["turned"](x), lengths)
    one, other = dhs
    return [ahead.backward(one), TURNS[turn_out](back.backward(TURNS[turn_in](other)))]


@exercise("9.7", stars=3, title="From both ends, backward")
def _check_both(answer: Any) -> Verdict:
    """A class of (ahead, back): ``forward(x, lengths)``, ``backward(dhs) -> dx``."""
    say = SAY["9.7"]
    x, dhs = _drawn(99, (3, 5, 3), (3, 5, 8))
    layer, given = answer(*_two_layers()), x.copy()
    got = layer.forward(given, LENGTHS.copy())
    if is_empty(got):
        return Verdict.empty("forward returned None")
    one, other = _states(x, "turned", "turned", LENGTHS)
    right = np.concatenate([one, other], axis=2)
    wrong: dict[str, Any] = {
        name: np.concatenate(_states(x, *turns, LENGTHS), axis=2)
        for name, turns in {
            "states not turned back": ("turned", "kept"),
            "input not turned": ("kept", "turned"),
            "read from left to right twice": ("kept", "kept"),
            "padding read first": ("blind", "blind"),
            "padding read first|states by length": ("blind", "turned"),
            "padding read first|states kept": ("blind", "kept"),
            "padding read first|states only": ("turned", "blind"),
        }.items()
    }
    wrong["padding read first|no lengths"] = np.concatenate(
        _states(x, "blind", "blind", None), axis=2
    )
    wrong["halves swapped"] = np.concatenate([other, one], axis=2)
    wrong["added, not joined"] = one + other
    wrong["joined over the steps"] = np.concatenate([one, other], axis=1)
    wrong["stacked, not joined"] = np.stack([one, other], axis=2)
    verdict = _compare_real(say, got, right, "the states", wrong)
    if not verdict.ok:
        return verdict
    if not np.array_equal(given, x):
        return say.wrong(c.INPUT_CHANGED)
    halves = [dhs[..., :4], dhs[..., 4:]]
    both = _gradients(x, halves)
    wrong = {
        name: sum(_gradients(x, halves, *turns))
        for name, turns in {
            "gradient not turned": ("kept", "kept"),
            "gradient not turned on its way in": ("kept", "turned"),
            "gradient not turned on its way out": ("turned", "kept"),
            "gradient turned with its padding": ("blind", "blind"),
            "gradient turned with its padding|in": ("blind", "turned"),
            "gradient turned with its padding|out": ("turned", "blind"),
        }.items()
    }
    wrong["lengths not handed on"] = sum(_gradients(x, halves, lengths=None))
    wrong["one direction dropped|back"], wrong["one direction dropped|ahead"] = both
    wrong["joined, not added"] = np.concatenate(both, axis=2)
    wrong["halves of the gradient swapped"] = sum(_gradients(x, halves[::-1]))
    wrong["sign of one direction"], wrong["sign of one direction|ahead"] = (
        both[0] - both[1], both[1] - both[0],
    )  # fmt: skip
    ready = copy.deepcopy(layer)
    got = layer.backward(dhs.copy())
    if is_empty(got):
        return Verdict.empty("backward returned None")
    right = np.asarray(sum(both))
    verdict = first_failure(_compare_real(say, got, right, "dx", wrong), say.right())
    return or_ignored(verdict, ready, dhs)


def _compare_real(
    say: Texts, got: Any, right: HostArray, name: str, wrong: Mapping[str, Any]
) -> Verdict:
    """Compare what does not lie in the padding, with the right values and with the wrong ones."""
    values = {key: _real(value, right) for key, value in wrong.items()}
    return say.compare(_real(got, right), right, name, values)
