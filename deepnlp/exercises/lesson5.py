"""Checks of the exercises of lesson 5, recurrent networks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.exercises.backward import check_backward
from deepnlp.exercises.registry import exercise
from deepnlp.exercises.values import compare_choice, compare_values
from deepnlp.exercises.verdict import (
    WRONG_SHAPE,
    WRONG_TYPE,
    WRONG_VALUE,
    Verdict,
    first_failure,
    is_empty,
)
from deepnlp.gradcheck.causes import (
    ASSIGNED,
    H_PATH,
    LOSS_WRONG_COUNT,
    NOT_A_NUMBER,
    NOT_SUMMED_T,
    TIME_SHIFTED,
    TRANSPOSED,
)
from deepnlp.layers import RNN, SoftmaxWithLoss, TimeRNN
from deepnlp.models import SimpleRNNLM
from deepnlp.training import BPTTBatches

HostArray = np.ndarray[Any, Any]

# Diagnoses of this lesson, beside those of the gradient checker and of all lessons.
ARITHMETIC_MEAN = "arithmetic mean"
MEAN_PROBABILITY = "mean of the probabilities"
OTHER_BASE = "base of the logarithm"
NOT_AVERAGED = "sum instead of mean"
MINUS_MISSING = "minus sign missing"
BITS = "bits instead of words"
NOT_EXPONENTIATED = "not exponentiated"
ACTIVATION_MISSING = "activation missing"
BIAS_MISSING = "bias missing"
STATE_UNUSED = "state not used"
ROWS_BREAK = "rows do not go on"
NOT_SHIFTED = "targets not shifted"
WINDOW_LOST = "last window lost"
NOTHING_CUT = "nothing is cut"
STATE_CUT = "state cut with the gradient"
INVERTED = "multiplied instead of divided"
COUNTED_N = "mean over N counted twice"
AFTER_SOFTMAX = "temperature after the softmax"
UNUSED = "temperature not used"
NOT_NORMALISED = "not normalised"
STATE_NOT_RESET = "state not reset"
PROMPT_UNREAD = "prompt not read"
FED_AGAIN = "text fed again"


def _weights(D: int, H: int, seed: int) -> tuple[HostArray, HostArray, HostArray]:
    """Wx (D, H), Wh (H, H) and b (H,), asymmetric and not small."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(D, H)), 0.7 * rng.normal(size=(H, H)), rng.normal(size=H)


@exercise("5.1", stars=1, title="Perplexity")
def perplexity(answer: Any) -> Verdict:
    """Perplexity from log probabilities.

    Parameters
    ----------
    answer : callable
        Takes log p, shape (n,); gives a number.

    Returns
    -------
    Verdict
    """
    log_p = np.log(np.array([0.5, 0.1, 0.05, 0.9, 0.02]))
    mean = float(np.mean(log_p))
    return compare_values(
        answer(log_p.copy()),
        np.exp(-mean),
        "the perplexity",
        alternatives={
            MINUS_MISSING: (
                np.exp(mean),
                "This is 1 / perplexity: the mean of log p is negative, and wants a minus.",
            ),
            OTHER_BASE: (
                2.0**-mean,
                "log_p holds natural logarithms, so the way back is exp, not a power of 2.",
            ),
            NOT_AVERAGED: (
                np.exp(-np.sum(log_p)),
                "This is 1 / P of the whole text: take the mean over the words, not the sum.",
            ),
            ARITHMETIC_MEAN: (
                np.mean(np.exp(-log_p)),
                "This is the mean of 1 / p. The mean is taken of the logarithms, before exp.",
            ),
            NOT_EXPONENTIATED: (
                -mean,
                "This is the mean surprisal in nats; the perplexity is exp of it.",
            ),
        },
    )


@exercise("5.2", stars=1, title="In your head")
def perplexity_in_your_head(answer: Any) -> Verdict:
    """The perplexity of a model with two probabilities, as a number.

    Parameters
    ----------
    answer : number
        For half the words 1/4, for the others 1/16.

    Returns
    -------
    Verdict
    """
    return compare_values(
        answer,
        8.0,
        "the perplexity",
        alternatives={
            ARITHMETIC_MEAN: (
                10.0,
                "10 is the mean of 4 and 16. The logarithms are averaged: 2 bits and 4 bits.",
            ),
            MEAN_PROBABILITY: (
                6.4,
                "6.4 is 1 over the mean probability. The logarithms are averaged.",
            ),
            BITS: (3.0, "3 is the mean number of bits. The perplexity is 2 to that."),
        },
    )


@exercise("5.3", stars=1, title="One step forward")
def step_forward(answer: Any) -> Verdict:
    """The forward of one step.

    Parameters
    ----------
    answer : callable
        Takes x (N, D), h_prev (N, H), Wx, Wh and b; gives h (N, H).

    Returns
    -------
    Verdict
    """
    rng = np.random.default_rng(53)
    Wx, Wh, b = _weights(3, 4, seed=53)
    x, h_prev = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
    a = x @ Wx + h_prev @ Wh + b
    return compare_values(
        answer(x.copy(), h_prev.copy(), Wx.copy(), Wh.copy(), b.copy()),
        np.tanh(a),
        "h",
        alternatives={
            ACTIVATION_MISSING: (a, "This is a = x Wx + h_prev Wh + b; h is tanh of it."),
            TRANSPOSED: (
                np.tanh(x @ Wx + h_prev @ Wh.T + b),
                "Wh is transposed: a state is a row here, so it stands left, h_prev @ Wh.",
            ),
            BIAS_MISSING: (np.tanh(a - b), "The bias b is missing."),
            STATE_UNUSED: (
                np.tanh(x @ Wx + b),
                "h_prev is not used: this cell has no memory yet.",
            ),
        },
    )


@exercise("5.4", stars=2, title="One step backward")
def step_backward(answer: Any) -> Verdict:
    """The backward of one step.

    Parameters
    ----------
    answer : type
        Built from (Wx, Wh, b); forward(x, h_prev) -> h, backward(dh) -> (dx, dh_prev).

    Returns
    -------
    Verdict
    """
    rng = np.random.default_rng(54)
    weights = _weights(3, 4, seed=54)
    x, h_prev = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
    expected = asnumpy(RNN(*weights).forward(asarray(x), asarray(h_prev)))
    layer = answer(*(w.copy() for w in weights))
    return check_backward(layer, x, h_prev, expected=expected, weights=("Wx", "Wh", "b"))


@exercise("5.5", stars=2, title="Three steps, or three hundred")
def through_time(answer: Any) -> Verdict:
    """Backpropagation through time.

    Parameters
    ----------
    answer : type
        Built from (Wx, Wh, b); forward(x) over (N, T, D), backward(dhs) -> dx.

    Returns
    -------
    Verdict
    """
    weights = _weights(3, 4, seed=55)
    x = np.random.default_rng(55).normal(size=(2, 5, 3))
    expected = asnumpy(TimeRNN(*weights).forward(asarray(x)))
    every_step = "The weights are used at every step: add each step's part, += in the loop."
    hints = {
        H_PATH: "Step t + 1 passes a gradient back to h_t: da_(t+1) Wh^T. Add it.",
        ASSIGNED: every_step,
        NOT_SUMMED_T: every_step,
    }
    layer = answer(*(w.copy() for w in weights))
    return check_backward(layer, x, expected=expected, hints=hints, weights=("Wx", "Wh", "b"))


@exercise("5.6", stars=1, title="Before you run it")
def before_you_run_it(answer: Any) -> Verdict:
    """What a text read at once and in windows agree in.

    Parameters
    ----------
    answer : str
        ``"states"``, ``"gradients"``, ``"both"`` or ``"neither"``.

    Returns
    -------
    Verdict
    """
    return compare_choice(
        answer,
        "states",
        {
            "states": "Yes: each window starts from the last state of the one before. What stops "
            "at a border is the gradient.",
            "gradients": "The other way round: at a border the gradient stops, and the state goes "
            "on.",
            "both": "The states agree. But the loss of a later window sends no gradient into the "
            "windows before it.",
            "neither": "The gradients differ, yes. But the state is carried: each window starts "
            "from the last state of the one before.",
        },
    )


@exercise("5.7", stars=2, title="Windows")
def windows(answer: Any) -> Verdict:
    """Windows of a stream for N readers.

    Parameters
    ----------
    answer : callable
        Takes ids (n,), N and T; gives a list of pairs (inputs, targets).

    Returns
    -------
    Verdict
    """
    ids = np.arange(100, 129)  # 28 targets: two rows of 14, in windows of 4, 4, 4 and 2
    N, T = 2, 4
    got = answer(ids.copy(), N, T)
    if is_empty(got):
        return Verdict.empty("no windows were returned")
    pairs = list(got)
    if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs):
        return Verdict.wrong(WRONG_TYPE, "Return a list of pairs (inputs, targets).")
    found = [(np.asarray(x), np.asarray(t)) for x, t in pairs]
    if not found or any(x.ndim != 2 or len(x) != N or x.shape != t.shape for x, t in found):
        return Verdict.wrong(
            WRONG_SHAPE, f"Each of inputs and targets should have {N} rows, and both one shape."
        )
    return _judge_windows(found, list(BPTTBatches(ids, N, T)))


def _judge_windows(
    found: list[tuple[HostArray, HostArray]], right: list[tuple[HostArray, HostArray]]
) -> Verdict:
    """Compare windows of consecutive numbers with the right ones."""
    if any(not np.array_equal(t, x + 1) for x, t in found):
        return Verdict.wrong(
            NOT_SHIFTED, "A target should be the token after its input, in every row."
        )
    for (x, _), (following, _) in pairwise(found):
        if not np.array_equal(following[:, 0], x[:, -1] + 1):
            return Verdict.wrong(
                ROWS_BREAK,
                "Row n of a window should go on where row n of the window before ended: cut the "
                f"stream into rows first. After {x.tolist()} came {following.tolist()}.",
            )
    if sum(x.size for x, _ in found) < sum(x.size for x, _ in right):
        return Verdict.wrong(
            WINDOW_LOST, "Some targets are missing: the last window may be narrower, keep it."
        )
    same = len(found) == len(right) and all(
        np.array_equal(x, want) for (x, _), (want, _) in zip(found, right, strict=True)
    )
    if not same:
        shapes = [x.shape for x, _ in found]
        return Verdict.wrong(WRONG_VALUE, f"The windows have shapes {shapes}, or wrong tokens.")
    return Verdict.right("Every row goes on from window to window, and no target is lost.")


@exercise("5.8", stars=3, title="A layer that truncates by itself")
def truncates_by_itself(answer: Any) -> Verdict:
    """A gradient that stops at every window, here of 3 steps.

    Parameters
    ----------
    answer : type
        Built from (Wx, Wh, b, window); forward(x), backward(dhs) -> dx.

    Returns
    -------
    Verdict
    """
    window = 3
    rng = np.random.default_rng(58)
    weights = _weights(5, 4, seed=58)
    x, dhs = rng.normal(size=(2, 8, 5)), rng.normal(size=(2, 8, 4))
    layer = answer(*(w.copy() for w in weights), window)
    h = layer.forward(x.copy())
    if is_empty(h):
        return Verdict.empty("forward returned None")
    whole = _in_windows(weights, x, dhs, [0])
    forward = compare_values(h, whole["h"], "the output of forward")
    if not forward.ok:
        return forward
    dx = layer.backward(dhs.copy())
    if is_empty(dx):
        return Verdict.empty("backward returned None")
    got = {"dx": dx, **{name: getattr(layer, name, None) for name in ("dWx", "dWh", "db")}}
    right = _in_windows(weights, x, dhs, [0, 3, 6])
    late = (
        "The gradient is cut one step too {}: nothing goes back from the first step of a window, "
    )
    late += "which is step 0, w, 2 w and so on."
    mistakes = [
        (NOTHING_CUT, whole, "This is the whole gradient: nothing is cut at the borders."),
        (TIME_SHIFTED, _in_windows(weights, x, dhs, [0, 2, 5]), late.format("late")),
        (TIME_SHIFTED, _in_windows(weights, x, dhs, [0, 1, 4, 7]), late.format("early")),
        (
            STATE_CUT,
            _without_state(weights, x, dhs, window),
            "At the first step of a window the state before it is taken for zero. Its value "
            "counts: dWh has h_prev^T da there too. Only the gradient by it is dropped.",
        ),
    ]
    verdicts = [compare_values(got[name], right[name], name) for name in got]
    if any(not verdict.ok for verdict in verdicts):
        for cause, wrong, text in mistakes:
            if all(compare_values(got[name], wrong[name]).ok for name in got):
                return Verdict.wrong(cause, text)
    return first_failure(
        *verdicts, Verdict.right("The gradient is that of windows with carried state.")
    )


def _in_windows(
    weights: tuple[HostArray, HostArray, HostArray], x: HostArray, dhs: HostArray, starts: list[int]
) -> dict[str, HostArray]:
    """States and gradients by TimeRNN in windows with carried state."""
    layer = TimeRNN(*weights, stateful=True)
    h, dx = [], []
    for start, stop in pairwise([*starts, x.shape[1]]):
        h.append(asnumpy(layer.forward(asarray(x[:, start:stop]))))
        dx.append(asnumpy(layer.backward(asarray(dhs[:, start:stop]))))
    assert layer.Wx is not None
    return {
        "h": np.concatenate(h, axis=1),
        "dx": np.concatenate(dx, axis=1),
        "dWx": asnumpy(layer.Wx.grad),
        "dWh": asnumpy(layer.Wh.grad),
        "db": asnumpy(layer.b.grad),
    }


def _without_state(
    weights: tuple[HostArray, HostArray, HostArray], x: HostArray, dhs: HostArray, window: int
) -> dict[str, HostArray]:
    """The truncated gradient without what the states at the borders give to dWh."""
    T = x.shape[1]
    right = _in_windows(weights, x, dhs, list(range(0, T, window)))
    Wx, Wh, _ = weights
    da = right["dx"] @ np.linalg.pinv(Wx.T)  # dx = da Wx^T, which can be undone as D > H
    lost = np.zeros_like(Wh)
    for t in range(window, T, window):
        lost += right["h"][:, t - 1].T @ da[:, t]
    return {**right, "dWh": right["dWh"] - lost}


@exercise("5.9", stars=2, title="The loss over time, backward")
def loss_over_time(answer: Any) -> Verdict:
    """The mean cross-entropy over N and T, and its gradient.

    Parameters
    ----------
    answer : type
        Built from nothing; forward(logits, targets) -> loss, backward(dloss) -> dlogits.

    Returns
    -------
    Verdict
    """
    rng = np.random.default_rng(59)
    logits, targets = rng.normal(size=(2, 3, 5)), rng.integers(0, 5, (2, 3))
    expected = float(SoftmaxWithLoss().forward(asarray(logits), asarray(targets)))
    hints = {LOSS_WRONG_COUNT: "The mean is over N T targets: 2 times 3 in this check."}
    return check_backward(answer(), logits, targets, expected=expected, hints=hints)


@exercise("5.10", stars=1, title="The same step in another unit")
def another_unit(answer: Any) -> Verdict:
    """A learning rate in another unit of the loss.

    Parameters
    ----------
    answer : number
        For the mean over N T what rate 1 is for the sum over T.

    Returns
    -------
    Verdict
    """
    return compare_values(
        answer,
        70.0,
        "the rate",
        alternatives={
            INVERTED: (
                1 / 70,
                "The other way round: the gradient of the mean is 70 times smaller, so the rate "
                "has to be 70 times larger.",
            ),
            COUNTED_N: (
                1400.0,
                "Both losses take the mean over N, so N changes nothing; only T does.",
            ),
        },
    )


@exercise("5.11", stars=2, title="Temperature")
def temperature(answer: Any) -> Verdict:
    """The softmax at a temperature.

    Parameters
    ----------
    answer : callable
        Takes logits (V,) and tau; gives probabilities (V,).

    Returns
    -------
    Verdict
    """
    logits, tau = np.array([2.0, 0.5, -1.0, 1.0]), 0.5

    def softmax(s: HostArray) -> HostArray:
        e = np.exp(s - s.max())
        return np.asarray(e / e.sum())

    p = softmax(logits)
    moderate = compare_values(
        answer(logits.copy(), tau),
        softmax(logits / tau),
        "p",
        alternatives={
            INVERTED: (
                softmax(logits * tau),
                "The scores are divided by tau: a low temperature makes the large ones larger.",
            ),
            AFTER_SOFTMAX: (
                p / tau,
                "tau divides the scores, before exp. Dividing probabilities makes them no longer "
                "sum to 1.",
            ),
            UNUSED: (p, "This is the softmax at temperature 1."),
            NOT_NORMALISED: (
                np.exp(logits / tau),
                "The probabilities have to sum to 1: divide by their sum.",
            ),
        },
    )
    if not moderate.ok:
        return moderate
    with np.errstate(all="ignore"):
        large = np.asarray(answer(np.array([1000.0, 999.0, 0.0]), 0.5))
    if not np.all(np.isfinite(large)):
        return Verdict.wrong(
            NOT_A_NUMBER,
            "Right for small scores; for scores of 1,000 exp overflows. Subtract the largest "
            "score first: it cancels.",
        )
    want = softmax(np.array([2000.0, 1998.0, 0.0]))
    return compare_values(large, want, "p of large scores")


@exercise("5.12", stars=3, title="One word at a time")
def one_word_at_a_time(answer: Any) -> Verdict:
    """The likeliest continuation, one id at a time.

    Parameters
    ----------
    answer : callable
        Takes a model, a list of ids and a length; gives a list of ids.

    Returns
    -------
    Verdict
    """
    model, prompt, length = _dreamer(), [3, 1, 4, 1, 5], 12

    def used() -> SimpleRNNLM:
        model.reset_state()
        model.logits(asarray([[7, 2, 9]]))
        return model

    got = answer(used(), list(prompt), length)
    if is_empty(got):
        return Verdict.empty("no ids were returned")
    right = _continue(model, prompt, length)
    used()
    unreset = _continue(model, prompt, length, reset=False)
    if [int(id_) for id_ in got] == [*prompt, *right]:
        return Verdict.wrong(WRONG_SHAPE, "Return the new ids only, without the prompt.")
    return compare_values(
        got,
        right,
        "the continuation",
        alternatives={
            STATE_NOT_RESET: (
                unreset,
                "The model still held the state of what it had read before: reset_state() first.",
            ),
            PROMPT_UNREAD: (
                _continue(model, prompt[-1:], length),
                "Only the last id of the prompt was read; the ones before it count as well.",
            ),
            FED_AGAIN: (
                _fed_again(model, prompt, length),
                "The whole text was fed again for each new id, to a model that carries its state: "
                "it has read the beginning many times. Feed the new id alone.",
            ),
        },
    )


def _dreamer() -> SimpleRNNLM:
    """A small model with large random weights, whose likeliest words depend on the whole past."""
    rng = np.random.default_rng(512)
    model = SimpleRNNLM(vocab_size=12, embed_size=6, hidden_size=16, dtype="float64", rng=rng)
    for parameter in model.parameters():
        parameter.value[...] = asarray(rng.normal(size=parameter.shape)) * 0.7
    return model


def _continue(model: SimpleRNNLM, prompt: list[int], length: int, reset: bool = True) -> list[int]:
    if reset:
        model.reset_state()
    logits = model.logits(asarray([prompt]))
    found: list[int] = []
    for _ in range(length):
        found.append(int(asnumpy(logits)[0, -1].argmax()))
        logits = model.logits(asarray([[found[-1]]]))
    return found


def _fed_again(model: SimpleRNNLM, prompt: list[int], length: int) -> list[int]:
    model.reset_state()
    text = list(prompt)
    for _ in range(length):
        logits = model.logits(asarray([text]))
        text.append(int(asnumpy(logits)[0, -1].argmax()))
    return text[len(prompt) :]
