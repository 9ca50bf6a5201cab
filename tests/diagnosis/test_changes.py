"""Changes of a learner's backward: what is tried, and what is left behind."""

import numpy as np
import pytest

from deepnlp.diagnosis.problem import Problem
from deepnlp.diagnosis.rewriting.functions import signature
from deepnlp.diagnosis.rewriting.repairing import Search, repairs
from deepnlp.gradcheck import check_gradients
from deepnlp.gradcheck.report import Row
from deepnlp.gradcheck.subject import Subject


def rng():
    return np.random.default_rng(3)


class Pair:
    """Two inputs, so that a wrong line concerns one gradient or both."""

    def __init__(self, W):
        self.W = W

    def forward(self, x, z):
        self.x, self.z = x, z
        self.h = np.tanh(x @ self.W)
        self.scale = 1 / np.sqrt(self.W.shape[1])
        return self.scale * self.h * z

    def backward(self, dy):
        dh = self.scale * dy * self.z
        da = dh * (1 - self.h**2)
        self.dW = self.x.T @ da
        return da @ self.W.T, self.scale * dy * self.h


class OtherName(Pair):
    def backward(self, dy):
        dh = self.scale * dy * self.h
        da = dh * (1 - self.h**2)
        self.dW = self.x.T @ da
        return da @ self.W.T, self.scale * dy * self.h


class OneFactorMore(Pair):
    def backward(self, dy):
        dh = self.scale * dy * self.z
        da = dh * (1 - self.h**2)
        self.dW = self.x.T @ (da * self.h)
        return da @ self.W.T, self.scale * dy * self.h


class PartOfForward:
    """What sin takes is no name of backward."""

    def __init__(self, W):
        self.W = W

    def forward(self, x, z):
        self.x, self.z = x, z
        u = 3 * (x @ self.W)
        return np.sin(u) + z

    def backward(self, dy):
        da = 3 * dy * np.cos(self.x @ self.W)
        self.dW = self.x.T @ da
        return da @ self.W.T, dy


class Exchanged(Pair):
    def backward(self, dy):
        dh = self.scale * dy * self.z
        da = dh * (1 - self.h**2)
        self.dW = self.x.T @ da
        return self.scale * dy * self.h, da @ self.W.T


class ChangesItsCache(Pair):
    """Trials must put back what a backward changes in place."""

    def backward(self, dy):
        self.z *= self.scale
        dh = dy * self.z
        da = dh * (1 - self.h)
        self.dW = self.x.T @ da
        return da @ self.W.T, self.scale * dy * self.h


def problem_of(layer, *inputs):
    subject = Subject(layer, inputs)
    subject.draw_weights(np.random.default_rng(8))
    analytic = subject.analytic_gradients()
    rows = []
    for name, found in analytic.items():
        right = subject.numeric_gradient(name, "central", found)
        off = float(np.abs(found - right).max())
        rows.append(Row(name, off, (), off < 1e-5, found, right))
    return Problem(subject, rows)


def sentences(kind, shape=(4, 5), square=False):
    N, D = shape
    H = D if square else 3
    layer = kind(rng().normal(size=(D, H)))
    inputs = np.random.default_rng(4).normal(size=(N, D)), rng().normal(size=(N, H))
    problem = problem_of(layer, *inputs)
    return [guess.evidence for guess in repairs(problem)]


@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [
        (OtherName, "dy * self.h`", "dy * self.z`"),
        (OneFactorMore, "(da * self.h)`", "self.x.T @ da`"),
        (PartOfForward, "np.cos(self.x @ self.W)`", "np.cos(3 * (self.x @ self.W))`"),
    ],
)
def test_the_line_is_quoted_as_it_stands_and_as_it_should_be(kind, wrong, right):
    (told, *_) = sentences(kind)
    assert wrong in told
    assert right in told


def test_results_in_each_others_place_are_exchanged():
    (told, *_) = sentences(Exchanged, square=True)
    assert "da @ self.W.T" in told.split("should be")[1].split(",")[0]


def test_what_backward_changes_is_put_back_before_each_trial():
    (told, *_) = sentences(ChangesItsCache)
    assert "1 - self.h ** 2" in told


def test_the_learners_functions_are_left_as_they_were():
    before, names = OtherName.backward.__code__, set(globals())
    sentences(OtherName)
    assert OtherName.backward.__code__ is before
    assert set(globals()) == names


def test_functions_of_libraries_are_not_changed():
    problem = problem_of(OtherName(rng().normal(size=(5, 3))), np.ones((4, 5)), np.ones((4, 3)))
    search = Search(problem, 0.0)
    assert [ran.code.co_name for ran in search.ran] == ["backward"]


def test_values_without_numbers_are_told_apart_whatever_their_address():
    zips = [signature(zip(range(k))) for k in range(20)]  # of which each could have the same
    assert len(set(zips)) == 20
    assert signature(reversed(range(3))) == signature(iter([2, 1, 0])) != signature(iter([0, 1]))


def test_a_trace_of_a_difference_has_no_repair():
    class Nearly(Pair):
        def backward(self, dy):
            dx, dz = super().backward(dy)
            return 1.00001 * dx, dz

    assert sentences(Nearly) == []


def test_a_failing_change_ends_nothing():
    """Most changes of an index or a shape raise an error somewhere."""

    class Rows:
        def forward(self, x):
            self.x = x
            return np.array([x[t] @ x[t] for t in range(len(x))])

        def backward(self, dy):
            dx = np.zeros_like(self.x)
            for t in range(len(dy)):
                dx[t] = 2 * dy[t - 1] * self.x[t]
            return dx

    report = check_gradients(Rows(), rng().normal(size=(5, 3)))
    cause = report.causes[0]
    assert cause.name == "time off by one"
    assert "dy[t - 1]" in cause.evidence
