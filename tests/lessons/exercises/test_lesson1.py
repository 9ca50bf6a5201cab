"""Lesson 1: the typical wrong answers, and what each is told."""

from functools import partial

import numpy as np
import pytest

from tests.lessons.exercises.right_answers import right_answers
from tests.lessons.exercises.tools import code_cells, lesson_source, solution_of


def wrong_affine(x, W, b):
    return x @ W


def wrong_merge(W1, b1, W2, b2):
    return W1 @ W2, b2


def softmax_over_columns(s):
    return np.exp(s) / np.exp(s).sum(axis=0, keepdims=True)


def softmax_without_keepdims(s):
    return np.exp(s) / np.exp(s).sum(axis=1)


def softmax_that_overflows(s):
    return np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)


def softmax_with_one_maximum(s):
    with np.errstate(invalid="ignore"):
        e = np.exp(s - s.max())
        return e / e.sum(axis=1, keepdims=True)


def softmax_less_the_mean(s):
    e = np.exp(s - s.mean(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_that_clips(s):
    e = np.exp(np.clip(s, -500, 500))
    return e / e.sum(axis=1, keepdims=True)


def summed_cross_entropy(p, t):
    return -np.log(p[np.arange(len(t)), t]).sum()


def positive_cross_entropy(p, t):
    return np.log(p[np.arange(len(t)), t]).mean()


def cross_entropy_of_all(p, t):
    return -np.log(p).mean()


def one_sided_slope(f, x, h):
    return (f(x + h) - f(x)) / h


def slope_over_h(f, x, h):
    return (f(x + h) - f(x - h)) / h


WRONG = [
    ("1.1", wrong_affine, "term of a sum or product missing"),
    ("1.1", lambda x, W, b: W @ x + b, "error"),
    ("1.1", lambda x, W, b: (x @ W + b).T, "transposed"),
    ("1.2", wrong_merge, "bias not carried through the second map"),
    ("1.2", lambda W1, b1, W2, b2: (W1 @ W2, b1 @ W2), "second bias forgotten"),
    ("1.2", lambda W1, b1, W2, b2: (b1 @ W2 + b2, W1 @ W2), "b before W"),
    ("1.1", lambda x, W, b: x @ W - b, "b subtracted"),
    ("1.1", lambda x, W, b: np.maximum(x @ W + b, 0), "an activation added"),
    ("1.3", lambda s: np.log(softmax_with_one_maximum(s)), "logarithm of the softmax"),
    ("1.3", lambda s: s / s.sum(axis=1, keepdims=True), "exp missing"),
    ("1.3", lambda s: np.exp(s - s.max(axis=1, keepdims=True)), "not normalised"),
    ("1.3", softmax_less_the_mean, "mean taken off instead of the maximum"),
    ("1.4", lambda p, t: -np.log(p[:, t]).mean(), "every row with every class"),
    (
        "1.4",
        lambda p, t: -np.log(p.max(axis=1)).mean(),
        "largest probability instead of the right class",
    ),
    ("1.4", lambda p, t: -np.log10(p[np.arange(len(t)), t]).mean(), "base of the logarithm"),
    ("1.9", lambda f, x, h: (f(x) - f(x - h)) / h, "one-sided"),
    ("1.9", lambda f, x, h: f(x + h) - f(x - h), "not divided"),
    ("1.9", lambda f, x, h: (f(x + 1e-4) - f(x - 1e-4)) / 2e-4, "h not used"),
    ("1.9", lambda f, x, h: (f(x + h) - f(x - h)) / 2 * h, "divided, then multiplied"),
    ("1.2", lambda *weights: weights[0] @ weights[2], "wrong type"),
    ("1.3", softmax_over_columns, "summed or broadcast over the wrong axis"),
    ("1.3", softmax_without_keepdims, "missing keepdims"),
    ("1.3", softmax_that_overflows, "not a number"),
    ("1.3", lambda s: np.exp(s) / np.exp(s).sum(), "one sum for all"),
    ("1.3", softmax_with_one_maximum, "one maximum for all"),
    ("1.3", lambda s: softmax_with_one_maximum(s).tolist(), "one maximum for all"),
    ("1.3", softmax_that_clips, "scores clipped"),
    ("1.4", summed_cross_entropy, "loss not averaged"),
    ("1.4", positive_cross_entropy, "sign"),
    ("1.4", lambda p, t: -np.log2(p[np.arange(len(t)), t]).mean(), "base of the logarithm"),
    ("1.4", cross_entropy_of_all, "summed or broadcast over the wrong axis"),
    ("1.9", one_sided_slope, "one-sided"),
    ("1.9", slope_over_h, "constant factor"),
    ("1.10", "random", "wrong choice", "does depend on the scores"),
    ("1.10", "one output", "wrong choice", "A single probability"),
    ("1.10", "twos", "wrong type"),
]


def variant(name, **methods):
    """The solution of an exercise with other methods in it."""
    return type("Mine", (solution_of(name),), methods)


def turned(self, dy):
    self.dW, self.db = (dy.T @ self.x).T * 1.0, dy.sum(axis=0)
    return self.W @ dy.T


def bias_not_summed(self, dy):
    self.dW, self.db = self.x.T @ dy, dy
    return dy @ self.W.T


def weight_gradient_forgotten(self, dy):
    self.dW, self.db = np.zeros_like(self.W), dy.sum(axis=0)
    return dy @ self.W.T


def slope_at_the_input(self, dy):
    return dy * self.x * (1 - self.x)


def slope_forgotten(self, dy):
    return dy


def keeping_the_input(self, x):
    self.x, self.y = x, 1 / (1 + np.exp(-x))
    return self.y


def gradient_forgotten(self, dy):
    return self.y * (1 - self.y)


def in_a_list(self, dy):
    return [dy * self.y * (1 - self.y)]


def loss_gradient_forgotten(self, dloss=1):
    return (self.p - np.eye(3)[self.t]) / len(self.t)


def neither_loss_gradient_nor_mean(self, dloss=1):
    return self.p - np.eye(3)[self.t]


def not_averaged(self, dloss=1):
    return dloss * (self.p - np.eye(3)[self.t])


def probabilities_alone(self, dloss=1):
    return dloss * self.p / len(self.t)


def gradients_returned(self, dy):
    return dy @ self.W.T, self.x.T @ dy, dy.sum(axis=0)


def one_way_only(self, dy):
    return dy * self.gate


def through_the_gate_only(self, dy):
    return dy * self.x * self.gate * (1 - self.gate)


def swish_gradient_forgotten(self, dy):
    return self.gate + self.x * self.gate * (1 - self.gate)


LAYERS = [
    ("1.5", {"backward": turned}, "transposed"),
    ("1.5", {"backward": bias_not_summed}, "bias gradient not summed over N"),
    ("1.5", {"backward": gradients_returned}, "wrong type"),
    ("1.5", {"forward": lambda self, x: x @ self.W}, "term of a sum or product missing"),
    ("1.6", {"forward": lambda self, x: 1 / (1 + np.exp(x))}, "sigmoid of -x"),
    ("1.8", {"forward": lambda self, x: 1 / (1 + np.exp(-x))}, "the sigmoid alone"),
    ("1.5", {"backward": weight_gradient_forgotten}, "zero or missing"),
    ("1.5", {"backward": lambda self, dy: None}, "empty"),
    (
        "1.6",
        {"forward": keeping_the_input, "backward": slope_at_the_input},
        "derivative taken at the input instead of the output",
    ),
    (
        "1.6",
        {"backward": slope_forgotten},
        "derivative of the activation missing or of another function",
    ),
    ("1.6", {"forward": lambda self, x: np.tanh(x)}, "another activation"),
    ("1.6", {"backward": gradient_forgotten}, "arriving gradient not used"),
    ("1.6", {"backward": in_a_list}, "wrong type"),
    ("1.7", {"backward": loss_gradient_forgotten}, "arriving gradient not used"),
    ("1.7", {"backward": neither_loss_gradient_nor_mean}, "arriving gradient not used"),
    ("1.7", {"backward": not_averaged}, "loss not averaged"),
    ("1.7", {"backward": probabilities_alone}, "term of a sum or product missing"),
    ("1.8", {"backward": one_way_only}, "term of a sum or product missing"),
    ("1.8", {"backward": through_the_gate_only}, "term of a sum or product missing"),
    ("1.8", {"backward": swish_gradient_forgotten}, "arriving gradient not used"),
]
WRONG += [(name, variant(name, **methods), told) for name, methods, told in LAYERS]


def train_step(model, loss, x, t, lr, reset=True, sign=1.0):
    value = loss.forward(model.forward(x), t)
    if reset:
        model.zero_grad()
    model.backward(loss.backward())
    for parameter in model.parameters():
        parameter.value -= sign * lr * parameter.grad
    return value


WRONG += [
    ("1.11", partial(train_step, **options), told)
    for options, told in [
        ({"reset": False}, "gradients not reset"),
        ({"sign": -1.0}, "sign"),
        ({"sign": 0}, "no step"),
    ]
]
RIGHT = right_answers(1)


def test_layers_of_the_reader_train_like_those_of_the_package():
    namespace = {}
    cells = [cell.source for cell in code_cells(lesson_source(1))]
    parts = ("def train(", "def network(")
    (training,) = [code for code in cells if all(part in code for part in parts)]
    (plugged,) = [code for code in cells if "def train_by_hand(" in code]
    setup = "from deepnlp import Sequential\nfrom deepnlp.layers import *\nshort = True\n"
    first = next(code for code in cells if "import numpy" in code)
    data = "x, t = spiral(n_per_class=100, rng=np.random.default_rng(1984))\n"
    exec(first + "\n" + setup + data + training, namespace)
    mine = {"1.5": "MyAffine", "1.6": "MySigmoid", "1.7": "MySoftmaxWithLoss"}
    namespace |= {name: solution_of(number) for number, name in mine.items()}
    exec(plugged, namespace)
    assert all(namespace["right"])
    ours = namespace["train_by_hand"](*namespace["mine"].values())
    assert ours == pytest.approx(namespace["history"]["10 hidden units"][-1], rel=0.02)
