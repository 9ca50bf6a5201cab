"""Checks of the exercises of lesson 1, layers by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.backend import asarray
from deepnlp.exercises.backward import check_backward
from deepnlp.exercises.registry import exercise
from deepnlp.exercises.values import compare_choice, compare_values
from deepnlp.exercises.verdict import Verdict, first_failure, is_empty, parts
from deepnlp.gradcheck.causes import (
    ASSIGNED,
    FACTOR,
    LOSS_NOT_AVERAGED,
    NOT_A_NUMBER,
    SIGN,
    TERM_MISSING,
    UNKNOWN,
    WRONG_AXIS,
)
from deepnlp.layer import Sequential
from deepnlp.layers import Affine, Sigmoid, SoftmaxWithLoss, Tanh

NOT_RESET = "gradients not reset"
SECOND_WEIGHT_MISSING = "bias not carried through the second map"


def _draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


@exercise("1.1", stars=1, title="An affine map")
def _check_affine(answer: Any) -> Verdict:
    """``affine(x, W, b)`` gives x W + b."""
    x, W, b = _draw(5, 3), _draw(3, 2, seed=1), _draw(2, seed=2)
    return compare_values(
        answer(x, W, b),
        x @ W + b,
        "affine(x, W, b)",
        alternatives={TERM_MISSING: (x @ W, "The product is right; b is not added.")},
    )


@exercise("1.2", stars=2, title="Two affine maps are one")
def _check_two_affine_maps(answer: Any) -> Verdict:
    """``merge(W1, b1, W2, b2)`` gives W and b of the one map that does what both do."""
    W1, b1, W2, b2 = _draw(3, 4), _draw(4, seed=1), _draw(4, 2, seed=2), _draw(2, seed=3)
    W, b = parts(answer(W1, b1, W2, b2), "W", "b")
    forgotten = "The first bias passes through the second map as well: x W1 + b1 is its input."
    return first_failure(
        compare_values(W, W1 @ W2, "W"),
        compare_values(b, b1 @ W2 + b2, "b", alternatives={SECOND_WEIGHT_MISSING: (b2, forgotten)}),
    )


@exercise("1.3", stars=2, title="A softmax that does not overflow")
def _check_softmax(answer: Any) -> Verdict:
    """``softmax(s)`` gives probabilities over the last axis, for scores of any size."""
    s = _draw(3, 3)
    over_columns = np.exp(s) / np.exp(s).sum(axis=0)
    verdict = compare_values(
        answer(s.copy()),
        np.exp(s) / np.exp(s).sum(axis=1, keepdims=True),
        "softmax(s)",
        alternatives={
            WRONG_AXIS: (over_columns, "Each row should sum to 1; here each column does."),
            "one sum for all": (
                np.exp(s) / np.exp(s).sum(),
                "Each row should sum to 1; here all rows together do: sum over the last axis.",
            ),
            "missing keepdims": (
                np.exp(s) / np.exp(s).sum(axis=1),
                "Row n is divided by the sums of all rows in turn: keep the axis of the sum, "
                "with keepdims=True.",
            ),
        },
    )
    if not verdict.ok:
        return verdict
    with np.errstate(all="ignore"):
        large = np.asarray(answer(np.array([[1000.0, 1001.0], [-1000.0, -1001.0]])))
    if not np.all(np.isfinite(large)):
        return Verdict.wrong(
            NOT_A_NUMBER,
            "Right for small scores, but a score of 1000 gives nan: exp(1000) is infinite. Only "
            "differences of scores count, so take the row's largest score off first.",
        )
    return compare_values(large, [[0.2689414, 0.7310586], [0.7310586, 0.2689414]], "softmax(s)")


@exercise("1.4", stars=1, title="The price of a guess")
def _check_cross_entropy(answer: Any) -> Verdict:
    """``cross_entropy(p, t)`` gives the mean of -log p of the right classes."""
    p = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], size=4)
    t = np.array([2, 0, 1, 0])
    price = -np.log(p[np.arange(4), t])
    return compare_values(
        answer(p, t),
        price.mean(),
        "cross_entropy(p, t)",
        alternatives={
            LOSS_NOT_AVERAGED: (price.sum(), "This is the sum over the samples; take their mean."),
            SIGN: (-price.mean(), "The logarithm of a probability is negative: turn the sign."),
            WRONG_AXIS: (-np.log(p).mean(), "Only the probability of the right class counts."),
            "base of the logarithm": (
                price.mean() / np.log(2),
                "This is in bits; the loss is in nats, the natural logarithm.",
            ),
        },
    )


@exercise("1.5", stars=2, title="Affine, forward and backward")
def _check_affine_layer(answer: Any) -> Verdict:
    """A class with W, b, forward, backward; dW and db are set in backward."""
    x, W, b = _draw(5, 3), _draw(3, 2, seed=1), _draw(2, seed=2)
    return check_backward(answer(W, b), x, expected=x @ W + b, weights=("W", "b"))


@exercise("1.6", stars=2, title="The sigmoid, backward")
def _check_sigmoid_layer(answer: Any) -> Verdict:
    """A class with forward and backward."""
    x = 2 * _draw(4, 3)
    return check_backward(answer(), x, expected=1 / (1 + np.exp(-x)))


@exercise("1.7", stars=3, title="Softmax with loss, backward")
def _check_softmax_with_loss(answer: Any) -> Verdict:
    """A class with forward(s, t) and backward(dloss=1)."""
    s, t = _draw(5, 3), np.array([2, 0, 1, 1, 0])
    loss = SoftmaxWithLoss()
    expected = loss.forward(asarray(s), asarray(t))
    verdict = check_backward(answer(), s, t, expected=expected)
    if verdict.diagnosis != UNKNOWN:
        return verdict
    layer, ds = answer(), loss.backward()
    layer.forward(s, t)
    p = ds + np.eye(3)[t] / len(t)
    told = "This is p / N: the right class has to come off, p - onehot(t)."
    recognised = compare_values(layer.backward(), ds, "ds", alternatives={TERM_MISSING: (p, told)})
    return recognised if recognised.diagnosis == TERM_MISSING else verdict


@exercise("1.8", stars=3, title="A layer with two ways through")
def _check_swish(answer: Any) -> Verdict:
    """A class with forward and backward for y = x sigmoid(x)."""
    x = 2 * _draw(4, 3, seed=5)
    both = "x goes two ways, as a factor and through the sigmoid: the gradients of both add up."
    hints = {TERM_MISSING: both, ASSIGNED: both}
    return check_backward(answer(), x, expected=x / (1 + np.exp(-x)), hints=hints)


@exercise("1.9", stars=2, title="A gradient from values alone")
def _check_central_difference(answer: Any) -> Verdict:
    """``slope(f, x, h)`` gives (f(x + h) - f(x - h)) / 2h."""
    h, x = 0.1, 0.7
    right = (np.exp(x + h) - np.exp(x - h)) / (2 * h)
    one_sided = "This looks to one side only, (f(x + h) - f(x)) / h; its error falls with h, that "
    one_sided += "of the two-sided one with h squared."
    return compare_values(
        answer(np.exp, x, h),
        right,
        "slope(np.exp, 0.7, 0.1)",
        alternatives={
            "one-sided": ((np.exp(x + h) - np.exp(x)) / h, one_sided),
            FACTOR: (2 * right, "The two points lie 2h apart: divide by 2h."),
            SIGN: (-right, "The sign is turned: the point x + h comes first."),
        },
    )


@exercise("1.10", stars=1, title="A check that sees nothing")
def _check_weights_of_the_check(answer: Any) -> Verdict:
    """Which weighting of the outputs lets every backward of the softmax pass that gives zeros?"""
    reasons = {
        "ones": "Yes. Each row of a softmax sums to 1 whatever the scores are, so the plain sum "
        "has gradient zero, and a backward that always answers zero agrees with it.",
        "random": "With random weights the weighted sum does depend on the scores; a backward "
        "that answers zero is found out.",
        "one output": "A single probability does depend on the scores; a backward that answers "
        "zero is found out.",
    }
    return compare_choice(answer, "ones", reasons)


@exercise("1.11", stars=2, title="A step of training")
def _check_train_step(answer: Any) -> Verdict:
    """``train_step(model, loss, x, t, lr)`` makes one step and gives the loss before it."""
    x, t = asarray(_draw(6, 2)), asarray(np.array([0, 1, 2, 2, 1, 0]))
    weights, first = _after_steps(answer, x, t, steps=1)
    if is_empty(first):
        return Verdict.empty("train_step returned None")
    right, loss = _after_steps(_train_step, x, t, steps=1)
    before = _weights(_model())
    verdict = first_failure(
        compare_values(first, loss, "the loss"),
        compare_values(
            weights,
            right,
            "the weights after one step",
            alternatives={
                "no step": (before, "The weights are what they were: W.value -= lr * W.grad."),
                SIGN: (2 * before - right, "This climbs: the step goes against the gradient."),
            },
        ),
    )
    if not verdict.ok:
        return verdict
    weights, _ = _after_steps(answer, x, t, steps=2)
    right, _ = _after_steps(_train_step, x, t, steps=2)
    added, _ = _after_steps(_train_step_without_reset, x, t, steps=2)
    told = "After the first step all is right, after the second the old gradient still counts: "
    told += "call model.zero_grad() before backward."
    return compare_values(
        weights, right, "the weights after two steps", alternatives={NOT_RESET: (added, told)}
    )


def _model() -> Sequential:
    rng = np.random.default_rng(7)
    return Sequential(
        Affine.init(2, 4, rng, "float64"), Tanh(), Affine.init(4, 3, rng, "float64"), Sigmoid()
    )


def _weights(model: Sequential) -> np.ndarray:
    return np.concatenate([np.asarray(p.value).ravel() for p in model.parameters()])


def _after_steps(step: Any, x: Any, t: Any, steps: int) -> tuple[np.ndarray, Any]:
    """The weights of a fresh model after some steps, and the loss that the last step gave."""
    model = _model()
    for _ in range(steps):
        loss = step(model, SoftmaxWithLoss(), x, t, 0.5)
    return _weights(model), loss


def _train_step_without_reset(model: Any, loss: Any, x: Any, t: Any, lr: float) -> Any:
    value = loss.forward(model.forward(x), t)
    model.backward(loss.backward())
    for parameter in model.parameters():
        parameter.value -= lr * parameter.grad
    return value


def _train_step(model: Any, loss: Any, x: Any, t: Any, lr: float) -> Any:
    model.zero_grad()
    return _train_step_without_reset(model, loss, x, t, lr)
