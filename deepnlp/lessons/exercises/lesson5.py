"""Checks of the exercises of lesson 5, recurrent networks."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.gradcheck.causes import NOT_A_NUMBER, TIME_SHIFTED
from deepnlp.layers import RNN, TimeRNN
from deepnlp.lessons.exercises import lesson5_writing  # noqa: F401
from deepnlp.lessons.exercises.backward import check_backward, or_ignored
from deepnlp.lessons.exercises.registry import exercise
from deepnlp.lessons.exercises.texts import texts_of
from deepnlp.lessons.exercises.values import compare_choice, compare_values
from deepnlp.lessons.exercises.verdict import Verdict, first_failure, is_empty
from deepnlp.training import BPTTBatches

HostArray = np.ndarray[Any, Any]
Weights = tuple[HostArray, HostArray, HostArray]

SAY = texts_of(5)


def _weights(D: int, H: int, seed: int) -> Weights:
    """Wx (D, H), Wh (H, H) and b (H,), asymmetric and not small."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(D, H)), 0.7 * rng.normal(size=(H, H)), rng.normal(size=H)


@exercise("5.1", stars=1, title="Perplexity")
def perplexity(answer: Any) -> Verdict:
    """From log p, shape (n,), to the perplexity."""
    log_p = np.log(np.array([0.5, 0.1, 0.05, 0.9, 0.02]))
    mean = float(np.mean(log_p))
    wrong = {
        "minus sign missing": np.exp(mean),
        "base of the logarithm": 2.0**-mean,
        "sum instead of mean": np.exp(-np.sum(log_p)),
        "arithmetic mean": np.mean(np.exp(-log_p)),
        "not exponentiated": -mean,
        "base of the logarithm|10": 10.0**-mean,
        "median instead of mean": np.exp(-np.median(log_p)),
        "mean of the probabilities": 1 / np.mean(np.exp(log_p)),
        "not averaged": np.exp(-log_p),
        "divided by one word less": np.exp(-np.sum(log_p) / (len(log_p) - 1)),
    }
    got = answer(log_p.copy())
    return SAY["5.1"].compare(got, np.exp(-mean), "the perplexity", wrong)


@exercise("5.2", stars=1, title="In your head")
def perplexity_in_your_head(answer: Any) -> Verdict:
    """The perplexity of a model that gives half the words 1/4, the others 1/16."""
    wrong = {
        "arithmetic mean": 10.0, "mean of the probabilities": 6.4, "bits instead of words": 3.0,
        "the product of both": 64.0, "the probability instead of the perplexity": 0.125,
        "one of the words alone": 4.0, "one of the words alone|16": 16.0,
        "in nats": 3 * np.log(2), "the sum of the bits": 6.0,
    }  # fmt: skip
    return SAY["5.2"].compare(answer, 8.0, "the perplexity", wrong)


@exercise("5.3", stars=2, title="One step backward")
def step_backward(answer: Any) -> Verdict:
    """A class of (Wx, Wh, b): forward(x, h_prev) -> h, backward(dh) -> (dx, dh_prev)."""
    rng = np.random.default_rng(54)
    weights = _weights(3, 4, seed=54)
    x, h_prev = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
    expected = asnumpy(RNN(*weights).forward(asarray(x), asarray(h_prev)))
    Wx, Wh, b = weights
    wrong = SAY["5.3"].of(
        {
            "tanh missing": x @ Wx + h_prev @ Wh + b,
            "h_prev not used": np.tanh(x @ Wx + b),
            "b not used": np.tanh(x @ Wx + h_prev @ Wh),
            "another activation": 1 / (1 + np.exp(-(x @ Wx + h_prev @ Wh + b))),
        }
    )
    layer = answer(*(w.copy() for w in weights))
    names = ("Wx", "Wh", "b")
    return check_backward(layer, x, h_prev, expected=expected, weights=names, wrong=wrong)


@exercise("5.4", stars=2, title="Three steps, or three hundred")
def through_time(answer: Any) -> Verdict:
    """A class of (Wx, Wh, b): forward(x) over (N, T, D), backward(dhs) -> dx."""
    weights = _weights(3, 4, seed=55)
    x = np.random.default_rng(55).normal(size=(2, 5, 3))
    expected = asnumpy(TimeRNN(*weights).forward(asarray(x)))
    layer = answer(*(w.copy() for w in weights))
    names, say = ("Wx", "Wh", "b"), SAY["5.4"]
    Wx, _, b = weights
    wrong = say.of({"state not carried": np.tanh(x @ Wx + b), "last state alone": expected[:, -1]})
    return check_backward(layer, x, expected=expected, hints=say, weights=names, wrong=wrong)


@exercise("5.5", stars=1, title="Before you run it")
def before_you_run_it(answer: Any) -> Verdict:
    """What agrees when a text is read whole and in windows: ``"states"``, ``"gradients"``, ..."""
    return compare_choice(answer, "states", SAY["5.5"])


@exercise("5.6", stars=2, title="Windows")
def windows(answer: Any) -> Verdict:
    """From ids (n,), N and T to a list of pairs (inputs, targets)."""
    say = SAY["5.6"]
    ids = np.arange(100, 129)  # 28 targets: two rows of 14, in windows of 4, 4, 4 and 2
    N, T = 2, 4
    got = answer(ids.copy(), N, T)
    if is_empty(got):
        return Verdict.empty("no windows were returned")
    pairs = list(got)
    if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs):
        return say.wrong("wrong type")
    found = [(np.asarray(x), np.asarray(t)) for x, t in pairs]
    if not found or any(x.ndim != 2 or len(x) != N or x.shape != t.shape for x, t in found):
        return say.wrong("wrong shape", N=N)
    if all(np.array_equal(x, t + 1) for x, t in found):
        return say.wrong("inputs and targets exchanged")
    if any(not np.array_equal(t, x + 1) for x, t in found):
        return say.wrong("targets not shifted")
    for (x, _), (after, _) in pairwise(found):
        if np.array_equal(after[:, 0], x[:, 0] + 1) and x.shape[1] > 1:
            return say.wrong("windows overlap")
        if not np.array_equal(after[:, 0], x[:, -1] + 1):
            return say.wrong("rows do not go on", before=x.tolist(), after=after.tolist())
    right = [x for x, _ in BPTTBatches(ids, N, T)]
    if sum(x.size for x, _ in found) < sum(x.size for x in right):
        return say.wrong("last window lost")
    if len(found) == len(right) and all(np.array_equal(x, w) for (x, _), w in zip(found, right)):
        return say.right()
    if len(found) == len(right) and all(
        np.array_equal(x[::-1], w) for (x, _), w in zip(found, right)
    ):
        return say.wrong("rows in another order")
    return say.wrong("wrong value", shapes=[x.shape for x, _ in found])


@exercise("5.7", stars=3, title="A layer that truncates by itself")
def truncates_by_itself(answer: Any) -> Verdict:
    """A class of (Wx, Wh, b, window): a gradient that stops at every window, here of 3 steps."""
    window, say = 3, SAY["5.7"]
    rng = np.random.default_rng(58)
    weights = _weights(5, 4, seed=58)
    x, dhs = rng.normal(size=(2, 8, 5)), rng.normal(size=(2, 8, 4))
    layer = answer(*(w.copy() for w in weights), window)
    h = layer.forward(x.copy())
    if is_empty(h):
        return Verdict.empty("forward returned None")
    whole = _in_windows(weights, x, dhs, [0])
    fresh = [TimeRNN(*weights).forward(asarray(x[:, k : k + window])) for k in range(0, 8, window)]
    reset = {"state reset in forward": asnumpy(np.concatenate(fresh, axis=1))}
    forward = say.compare(h, whole["h"], "the output of forward", reset)
    if not forward.ok:
        return forward
    ready = copy.deepcopy(layer)
    dx = layer.backward(dhs.copy())
    if is_empty(dx):
        return Verdict.empty("backward returned None")
    got = {"dx": dx, **{name: getattr(layer, name, None) for name in ("dWx", "dWh", "db")}}
    right = _in_windows(weights, x, dhs, [0, 3, 6])
    verdicts = [compare_values(got[name], right[name], name) for name in got]
    if any(not verdict.ok for verdict in verdicts):
        for diagnosis, wrong, which in (
            ("nothing is cut", whole, ""),
            (TIME_SHIFTED, _in_windows(weights, x, dhs, [0, 2, 5]), "late"),
            (TIME_SHIFTED, _in_windows(weights, x, dhs, [0, 1, 4, 7]), "early"),
            ("cut once only", _in_windows(weights, x, dhs, [0, 3]), ""),
            ("cut at every step", _in_windows(weights, x, dhs, list(range(8))), ""),
            ("first step of a window left out", _without_state(weights, x, dhs, window, True), ""),
            ("state cut with the gradient", _without_state(weights, x, dhs, window), ""),
        ):
            if all(compare_values(got[name], wrong[name]).ok for name in got):
                return say.wrong(diagnosis, which=which)
    return or_ignored(first_failure(*verdicts, say.right()), ready, dhs)


def _in_windows(
    weights: Weights, x: HostArray, dhs: HostArray, starts: list[int]
) -> dict[str, HostArray]:
    """States and gradients of a TimeRNN in windows with carried state."""
    layer = TimeRNN(*weights, stateful=True)
    h, dx = [], []
    for start, stop in pairwise([*starts, x.shape[1]]):
        h.append(asnumpy(layer.forward(asarray(x[:, start:stop]))))
        dx.append(asnumpy(layer.backward(asarray(dhs[:, start:stop]))))
    gradients = {f"d{name}": asnumpy(p.grad) for name, p in layer.named_parameters()}
    return {"h": np.concatenate(h, axis=1), "dx": np.concatenate(dx, axis=1), **gradients}


def _without_state(
    weights: Weights, x: HostArray, dhs: HostArray, window: int, whole_step: bool = False
) -> dict[str, HostArray]:
    """The truncated gradient without what the states at the borders give to dWh, or the steps."""
    T = x.shape[1]
    right = _in_windows(weights, x, dhs, list(range(0, T, window)))
    Wx, Wh, _ = weights
    da = right["dx"] @ np.linalg.pinv(Wx.T)  # dx = da Wx^T, which can be undone as D > H
    lost = np.zeros_like(Wh)
    for t in range(window, T, window):
        lost += right["h"][:, t - 1].T @ da[:, t]
    found = {**right, "dWh": right["dWh"] - lost}
    if whole_step:
        first = da[:, ::window]
        found["dWx"] = right["dWx"] - np.einsum("ntd,nth->dh", x[:, ::window], first)
        found["db"] = right["db"] - first.sum(axis=(0, 1))
        found["dx"] = np.where((np.arange(T) % window == 0)[:, None], 0.0, right["dx"])
    return found


@exercise("5.8", stars=2, title="Temperature")
def temperature(answer: Any) -> Verdict:
    """From logits (V,) and tau to probabilities (V,)."""
    logits, tau = np.array([2.0, 0.5, -1.0, 1.0]), 0.5

    def softmax(s: HostArray) -> HostArray:
        e = np.exp(s - s.max())
        return np.asarray(e / e.sum())

    wrong = {
        "multiplied instead of divided": softmax(logits * tau),
        "temperature after the softmax": softmax(logits) / tau,
        "temperature not used": softmax(logits),
        "not normalised": np.exp(logits / tau),
        "not normalised|a power of the probabilities": softmax(logits) ** (1 / tau),
        "temperature squared": softmax(logits / tau**2),
        "softmax missing": logits / tau,
        "the likeliest word alone": np.eye(4)[0],
        "the likeliest word alone|its number": 0,
    }
    got = answer(logits.copy(), tau)
    right = softmax(logits / tau)
    moderate = SAY["5.8"].compare(got, right, "p", wrong)
    if not moderate.ok:
        return moderate
    with np.errstate(all="ignore"):
        large = np.asarray(answer(np.array([1000.0, 999.0, 0.0]), 0.5))
    if not np.all(np.isfinite(large)):
        return SAY["5.8"].wrong(NOT_A_NUMBER)
    return compare_values(large, softmax(np.array([2000.0, 1998.0, 0.0])), "p of large scores")
