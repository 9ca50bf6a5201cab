"""The tape: a forward that is followed gives the gradients that it should."""

import math

import numpy as np
import pytest

from deepnlp import layers
from deepnlp.diagnosis.problem import Problem, distance
from deepnlp.diagnosis.reverse import Edit, times
from deepnlp.diagnosis.trace import follow
from deepnlp.examples import EXAMPLES, SINGLE
from deepnlp.gradcheck import check_gradients
from deepnlp.gradcheck.subject import Subject


@pytest.mark.parametrize("layer", sorted({e.covers.__name__ for e in EXAMPLES.values()}))
def test_the_tape_gives_the_gradients_of_every_example(layer):
    for example in EXAMPLES.values():
        if example.covers.__name__ == layer and example.sizes is not SINGLE:
            follows(example)


def follows(example):
    rng = np.random.default_rng(0)
    layer, inputs = example.build(rng, example.sizes)
    subject = Subject(layer, inputs)
    subject.draw_states(rng)
    subject.draw_weights(rng)
    analytic = subject.analytic_gradients()
    followed = follow(subject)
    gradients = followed.right
    assert max(distance(gradients[name], analytic[name]) for name in analytic) < 1e-12
    assert all(np.array_equal(subject.analytic_gradients()[k], analytic[k]) for k in analytic)


class ManyOperations:
    """A forward that uses a good part of what the tape can follow."""

    def __init__(self, W):
        self.W = W

    def forward(self, x):
        y = np.einsum("nd,dm->nm", x, self.W)
        y = np.where(y > 0, y, 0.5 * y) + np.abs(y).sum(axis=0) / np.float64(3.0)
        y = np.concatenate([y, y[:, ::-1] ** 2], axis=1)
        y -= y.mean(axis=1, keepdims=True)
        y = y / y.std(axis=1, keepdims=True)
        y = np.maximum(y, 0.1) + np.clip(y, -0.5, 0.5) + np.log1p(np.exp(-y))
        parts = np.split(y, 2, axis=1)
        out = np.zeros((len(x), parts[0].shape[1]))
        out[:, 0] = parts[0].max(axis=1)
        out[1:, 1:] += (
            np.sqrt(parts[1][1:, 1:] ** 2 + 1) * np.reciprocal(2 - np.sin(parts[0]))[1:, 1:]
        )
        out *= np.stack([np.cos(p) for p in parts]).sum(axis=0)
        return np.outer(out[0], out[1]).T.reshape(-1) - np.linalg.norm(out) + x[[0, 0, 1]].sum()

    def backward(self, dy):
        self.dW = np.zeros_like(self.W)
        return np.zeros((3, 4))


def test_the_tape_follows_what_a_learner_may_write():
    rng = np.random.default_rng(0)
    layer, x = ManyOperations(rng.normal(size=(4, 3))), rng.normal(size=(3, 4))
    subject = Subject(layer, (x,))
    subject.draw_weights(rng)
    subject.analytic_gradients()
    followed = follow(subject)
    gradients = followed.right
    for name in ("x", "W"):
        assert distance(gradients[name], subject.numeric_gradient(name, "central")) < 1e-7


class LoopsAndWindows:
    """A forward with single numbers, in-place sums, windows and functions of ``math``."""

    def __init__(self, W, ids):
        self.W, self.ids = W, ids

    def forward(self, x):
        N, T = x.shape
        out = np.zeros((N, T - 2))
        for n in range(N):
            for t in range(T - 2):
                total = 0.0
                for k in range(3):
                    total += float(x[n, t + k]) * self.W[0, k]
                out[n, t] = math.tanh(total)
        windows = np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)
        out += np.tensordot(windows, self.W[1], axes=(2, 0))
        summed = np.zeros((4, T - 2))
        np.add.at(summed, self.ids, out)
        best = np.take_along_axis(out, out.argmax(axis=1, keepdims=True), axis=1)
        padded = np.pad(summed, ((0, 0), (1, 1)))
        mixed = np.einsum("...i,ij", padded[:, 1:-1], np.outer(self.W[0, :1].repeat(T - 2), out[0]))
        return mixed.prod(axis=0) + best.max() + np.cumsum(out[0]) + math.erf(self.W[1, 2])

    def backward(self, dy):
        self.dW = np.zeros_like(self.W)
        return np.zeros((3, 5))


def test_the_tape_follows_loops_and_windows():
    rng = np.random.default_rng(0)
    layer, x = (
        LoopsAndWindows(rng.normal(size=(2, 3)), np.array([1, 1, 3])),
        rng.normal(size=(3, 5)),
    )
    subject = Subject(layer, (x,))
    subject.draw_weights(rng)
    subject.analytic_gradients()
    gradients = follow(subject).right
    for name in ("x", "W"):
        assert distance(gradients[name], subject.numeric_gradient(name, "central")) < 1e-7


def test_edited_passes_side_by_side_are_those_one_by_one():
    rng = np.random.default_rng(0)
    layer = layers.TimeLSTM.init(3, 4, rng=rng)
    subject = Subject(layer, (rng.normal(size=(2, 3, 3)),))
    subject.draw_states(rng)
    subject.draw_weights(rng)
    subject.analytic_gradients()
    followed = follow(subject)
    edits = [Edit([([k, k + 7], times(float(k)))]) for k in range(40)]
    together = list(followed.run(edits))
    for edit, found in zip(edits, together, strict=True):
        alone = next(followed.run([edit]))
        assert max(distance(found[name], alone[name]) for name in alone) < 1e-12


def test_a_forward_that_cannot_be_followed_is_still_diagnosed():
    class Through:
        def forward(self, x):
            self.x = x
            return np.fft.ifft(np.fft.fft(x**2)).real

        def backward(self, dy):
            return -2 * self.x * dy

    x = np.random.default_rng(0).normal(size=(2, 3))
    report = check_gradients(Through(), x)
    assert report.method == "central"
    assert report.causes[0].name == "sign"
    subject = Subject(Through(), (x,))
    subject.draw_weights(np.random.default_rng(0))
    problem = Problem(subject, [])
    assert problem.trace is None
    assert "fft" in problem.not_followed
    with pytest.raises(ValueError, match="cannot be followed"):
        _ = problem.followed
