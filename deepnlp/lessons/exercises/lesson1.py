"""Checks of the exercises of lesson 1, layers by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.backend import asarray
from deepnlp.gradcheck import causes as c
from deepnlp.layer import Sequential
from deepnlp.layers import Affine, Sigmoid, SoftmaxWithLoss, Tanh
from deepnlp.lessons.exercises.backward import check_backward
from deepnlp.lessons.exercises.registry import exercise
from deepnlp.lessons.exercises.texts import texts_of
from deepnlp.lessons.exercises.values import compare_choice, compare_values
from deepnlp.lessons.exercises.verdict import Verdict, first_failure, is_empty, parts

SAY = texts_of(1)


def _draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


@exercise("1.1", stars=1, title="An affine map")
def _check_affine(answer: Any) -> Verdict:
    """``affine(x, W, b)`` gives x W + b."""
    x, W, b = _draw(5, 3), _draw(3, 2, seed=1), _draw(2, seed=2)
    y = x @ W + b
    wrong = {
        c.TERM_MISSING: x @ W, "b subtracted": x @ W - b, "b multiplied": x @ W * b,
        "b summed": x @ W + b.sum(), "an activation added": np.maximum(y, 0),
        "an activation added|tanh": np.tanh(y), "one row alone": y[0],
    }  # fmt: skip
    return SAY["1.1"].compare(answer(x, W, b), x @ W + b, "affine(x, W, b)", wrong)


@exercise("1.2", stars=2, title="Two affine maps are one")
def _check_two_affine_maps(answer: Any) -> Verdict:
    """``merge(W1, b1, W2, b2)`` gives W and b of the one map that does what both do."""
    W1, b1, W2, b2 = _draw(3, 4), _draw(4, seed=1), _draw(4, 2, seed=2), _draw(2, seed=3)
    W, b = parts(answer(W1, b1, W2, b2), "W", "b")
    if np.shape(W) == b2.shape and np.shape(b) == (3, 2):
        return SAY["1.2"].wrong("b before W")
    wrong = {
        "bias not carried through the second map": b2,
        "second bias forgotten": b1 @ W2,
        "bias not carried through the second map|both": b2 + b1.sum(),
    }
    of_b = SAY["1.2"].compare(b, b1 @ W2 + b2, "b", wrong)
    return first_failure(compare_values(W, W1 @ W2, "W"), of_b)


@exercise("1.3", stars=2, title="A softmax that does not overflow")
def _check_softmax(answer: Any) -> Verdict:
    """``softmax(s)`` gives probabilities over the last axis, for scores of any size."""
    s = _draw(3, 3)
    e = np.exp(s)
    wrong = {
        c.WRONG_AXIS: e / e.sum(axis=0),
        "one sum for all": e / e.sum(),
        "missing keepdims": e / e.sum(axis=1),
        "exp missing": s / s.sum(axis=1, keepdims=True),
        "exp missing|of the differences": (s - s.max(axis=1, keepdims=True))
        / (s - s.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True),
        "logarithm of the softmax": np.log(e / e.sum(axis=1, keepdims=True)),
        "a maximum for each column": (e / np.exp(s.max(axis=0)))
        / (e / np.exp(s.max(axis=0))).sum(axis=1, keepdims=True),
    }
    right = e / e.sum(axis=1, keepdims=True)
    verdict = SAY["1.3"].compare(answer(s.copy()), right, "softmax(s)", wrong)
    if not verdict.ok:
        return verdict
    with np.errstate(all="ignore"):
        large = np.asarray(answer(np.array([[1000.0, 1001.0], [-1000.0, -1001.0]])))
    right = np.array([[0.2689414, 0.7310586], [0.7310586, 0.2689414]])
    if large.shape == right.shape and np.isnan(large[1]).all() and np.allclose(large[0], right[0]):
        return SAY["1.3"].wrong("one maximum for all")
    if not np.all(np.isfinite(large)):
        return SAY["1.3"].wrong(c.NOT_A_NUMBER)
    wrong = {"scores clipped": np.full((2, 2), 0.5)}
    verdict = SAY["1.3"].compare(large, right, "softmax(s) of scores near 1000", wrong)
    if not verdict.ok:
        return verdict
    with np.errstate(all="ignore"):
        lone = np.asarray(answer(np.array([[1000.0, -1000.0, -1000.0]])))
    if not np.all(np.isfinite(lone)):
        return SAY["1.3"].wrong("mean taken off instead of the maximum")
    return compare_values(lone, [[1.0, 0.0, 0.0]], "softmax([[1000, -1000, -1000]])")


@exercise("1.4", stars=1, title="The price of a guess")
def _check_cross_entropy(answer: Any) -> Verdict:
    """``cross_entropy(p, t)`` gives the mean of -log p of the right classes."""
    p = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], size=4)
    t = np.array([2, 0, 1, 0])
    price = -np.log(p[np.arange(4), t])
    right = price.mean()
    wrong = {
        c.LOSS_NOT_AVERAGED: price.sum(),
        c.SIGN: -right,
        c.WRONG_AXIS: -np.log(p).mean(),
        "base of the logarithm": right / np.log(2),
        "base of the logarithm|10": right / np.log(10),
        "every row with every class": -np.log(p[:, t]).mean(),
        "not averaged": price,
        "logarithm of the mean": -np.log(np.exp(-price).mean()),
        "logarithm missing": 1 - np.exp(-price).mean(),
        "logarithm missing|of p": np.exp(-price).mean(),
        "largest probability instead of the right class": -np.log(p.max(axis=1)).mean(),
        "divided by all entries": price.sum() / p.size,
    }
    return SAY["1.4"].compare(answer(p, t), right, "cross_entropy(p, t)", wrong)


@exercise("1.5", stars=2, title="Affine, forward and backward")
def _check_affine_layer(answer: Any) -> Verdict:
    """A class with W, b, forward, backward; dW and db are set in backward."""
    x, W, b = _draw(5, 3), _draw(3, 2, seed=1), _draw(2, seed=2)
    wrong = SAY["1.1"].of({c.TERM_MISSING: x @ W})
    return check_backward(answer(W, b), x, expected=x @ W + b, weights=("W", "b"), wrong=wrong)


@exercise("1.6", stars=2, title="The sigmoid, backward")
def _check_sigmoid_layer(answer: Any) -> Verdict:
    """A class with forward and backward."""
    x = 2 * _draw(4, 3)
    y = 1 / (1 + np.exp(-x))
    wrong = SAY["1.6"].of({"sigmoid of -x": 1 - y, "another activation": np.tanh(x)})
    return check_backward(answer(), x, expected=y, wrong=wrong)


@exercise("1.7", stars=3, title="Softmax with loss, backward")
def _check_softmax_with_loss(answer: Any) -> Verdict:
    """A class with forward(s, t) and backward(dloss=1)."""
    s, t = _draw(5, 3), np.array([2, 0, 1, 1, 0])
    loss = SoftmaxWithLoss()
    expected = loss.forward(asarray(s), asarray(t))
    wrong = SAY["1.7"].of({"sum instead of mean": expected * len(t), c.SIGN: -expected})
    verdict = check_backward(answer(), s, t, expected=expected, wrong=wrong)
    if verdict.diagnosis != c.UNKNOWN:
        return verdict
    layer, ds = answer(), loss.backward()
    layer.forward(s, t)
    wrong = {c.TERM_MISSING: ds + np.eye(3)[t] / len(t)}
    recognised = SAY["1.7"].compare(layer.backward(), ds, "ds", wrong)
    return recognised if recognised.diagnosis == c.TERM_MISSING else verdict


@exercise("1.8", stars=3, title="A layer with two ways through")
def _check_swish(answer: Any) -> Verdict:
    """A class with forward and backward for y = x sigmoid(x)."""
    x = 2 * _draw(4, 3, seed=5)
    gate = 1 / (1 + np.exp(-x))
    wrong = SAY["1.8"].of({"the sigmoid alone": gate})
    return check_backward(answer(), x, expected=x * gate, hints=SAY["1.8"], wrong=wrong)


@exercise("1.9", stars=2, title="A gradient from values alone")
def _check_central_difference(answer: Any) -> Verdict:
    """``slope(f, x, h)`` gives (f(x + h) - f(x - h)) / 2h."""
    h, x = 0.1, 0.7
    right = (np.exp(x + h) - np.exp(x - h)) / (2 * h)
    wrong = {
        "one-sided": (np.exp(x + h) - np.exp(x)) / h,
        "one-sided|to the left": (np.exp(x) - np.exp(x - h)) / h,
        c.FACTOR: 2 * right, c.SIGN: -right,
        "not divided": 2 * h * right,
        "h not used": np.exp(x),
        "divided, then multiplied": h * h * right,
        "points h apart": (np.exp(x + h / 2) - np.exp(x - h / 2)) / (2 * h),
        "the second derivative": (np.exp(x + h) - 2 * np.exp(x) + np.exp(x - h)) / h**2,
    }  # fmt: skip
    got = answer(np.exp, x, h)
    verdict = SAY["1.9"].compare(got, right, "slope(np.exp, 0.7, 0.1)", wrong)
    if not verdict.ok and np.ndim(got) == 0 and not is_empty(got) and abs(got - np.exp(x)) < 1e-4:
        return SAY["1.9"].wrong("h not used")
    return verdict


@exercise("1.10", stars=1, title="A check that sees nothing")
def _check_weights_of_the_check(answer: Any) -> Verdict:
    """Which weighting of the outputs lets every backward of the softmax pass that gives zeros?"""
    return compare_choice(answer, "ones", SAY["1.10"])


@exercise("1.11", stars=2, title="A step of training")
def _check_train_step(answer: Any) -> Verdict:
    """``train_step(model, loss, x, t, lr)`` makes one step and gives the loss before it."""
    x, t = asarray(_draw(6, 2)), asarray(np.array([0, 1, 2, 2, 1, 0]))
    weights, first = _after_steps(answer, x, t, steps=1)
    if is_empty(first):
        return Verdict.empty("train_step returned None")
    right, loss = _after_steps(_train_step, x, t, steps=1)
    before = _weights(_model())
    wrong = {
        "no step": before, c.SIGN: 2 * before - right,
        "learning rate not used": before + (right - before) / 0.5,
    }  # fmt: skip
    _, after = _after_steps(_train_step, x, t, steps=2)
    verdict = first_failure(
        SAY["1.11"].compare(first, loss, "the loss", {"loss after the step": after}),
        SAY["1.11"].compare(weights, right, "the weights after one step", wrong),
    )
    if not verdict.ok:
        return verdict
    weights, _ = _after_steps(answer, x, t, steps=2)
    right, _ = _after_steps(_train_step, x, t, steps=2)
    added, _ = _after_steps(_train_step_without_reset, x, t, steps=2)
    wrong = {"gradients not reset": added}
    return SAY["1.11"].compare(weights, right, "the weights after two steps", wrong)


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
