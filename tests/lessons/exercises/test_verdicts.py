"""Checks in general: what is asked, compared and said."""

import numpy as np
import pytest

from deepnlp.lessons.exercises import (
    EMPTY,
    Verdict,
    check,
    check_backward,
    compare_choice,
    compare_values,
    exercises_of,
    short_form,
)
from deepnlp.lessons.exercises.registry import Exercise, _report

EXPECTED = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.5], [2.5, 0.25, -3.5]])


@pytest.mark.parametrize(
    ("got", "diagnosis"),
    [
        (None, EMPTY),
        (..., EMPTY),
        ("text", "wrong type"),
        (EXPECTED.T, "transposed"),
        (-EXPECTED, "sign"),
        (3 * EXPECTED, "constant factor"),
        (EXPECTED / 5, "constant factor"),
        (0 * EXPECTED, "zero or missing"),
        (EXPECTED * np.nan, "not a number"),
        (EXPECTED + np.eye(3), "wrong value"),
        (EXPECTED.ravel(), "wrong shape"),
        (np.stack([EXPECTED / 2, EXPECTED / 2]), "not summed"),
        (EXPECTED[:2], "wrong shape"),
    ],
)
def test_what_is_off_is_named(got, diagnosis):
    verdict = compare_values(got, EXPECTED, "y")
    assert (verdict.ok, verdict.diagnosis) == (False, diagnosis), verdict.text


def test_the_text_says_where_and_by_how_much():
    assert "1/5 times" in compare_values(EXPECTED / 5, EXPECTED).text
    text = compare_values(EXPECTED + np.diag([0.0, 0.0, 1.0]), EXPECTED, "y").text
    assert text == "8 of 9 entries of y are right; at [2, 2] it is -2.5, expected -3.5."
    assert compare_values(2.0, 3.0, "n").text == "n should not be 2."


def test_equal_values_are_right_up_to_the_tolerance():
    assert compare_values(EXPECTED + 1e-8, EXPECTED).ok
    assert not compare_values(EXPECTED + 1e-4, EXPECTED).ok
    assert compare_values(EXPECTED + 1e-4, EXPECTED, tolerance=1e-3).ok
    assert compare_values(EXPECTED.tolist(), EXPECTED).ok


def test_a_choice():
    reasons = {"a": "No.", "b": "Yes."}
    assert compare_choice("b", "b", reasons) == Verdict.right("Yes.")
    assert compare_choice("a", "b", reasons) == Verdict.wrong("wrong choice", "No.")
    assert compare_choice(None, "b", reasons).diagnosis == EMPTY
    assert "'a', 'b'" in compare_choice(3, "b", reasons).text


class Half:
    def forward(self, x):
        return x / 2

    def backward(self, dy):
        return dy / 2


def test_a_backward_is_checked_after_its_forward():
    x = np.array([[0.3, -1.2]])
    assert check_backward(Half(), x).ok
    assert check("1.6", object).text == "Not yet: object has no forward."
    assert check("1.6", Half).diagnosis == "wrong value"

    class Triple(Half):
        def backward(self, dy):
            return 3 * dy

    verdict = check_backward(Triple(), x, hints={"constant factor": "Halve it."})
    assert verdict.diagnosis == "constant factor"
    assert verdict.text.endswith("Halve it.")


def test_the_answer_is_left_as_it_was():
    class Counting(Half):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return super().forward(x)

    layer = Counting()
    check_backward(layer, np.array([[0.3, -1.2]]))
    assert layer.calls == 0


def test_an_error_in_the_answer_is_part_of_the_verdict(capsys):
    def affine(x, W, b):
        return x.reshape(7, 1) @ W + b

    verdict = check("1.1", affine)
    assert verdict.diagnosis == "error"
    assert "return x.reshape(7, 1) @ W + b" in verdict.text
    printed = capsys.readouterr().out
    assert printed.startswith(
        "✗ Exercise 1.1 ★ An affine map: wrong (error)\n  It raises ValueError"
    )

    def not_yet(x, W, b):
        raise NotImplementedError

    assert check("1.1", not_yet).diagnosis == EMPTY


def test_long_verdicts_are_wrapped():
    verdict = Verdict.wrong("sign", "word " * 60)
    lines = _report(Exercise("9.1", 1, "A title"), verdict).splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= 94


def test_names():
    with pytest.raises(ValueError, match=r"no exercise '1\.99'; lesson 1 has 1\.1, 1\.2"):
        check("1.99", None)
    with pytest.raises(ValueError, match="lesson 99 has no exercises"):
        exercises_of(99)
    with pytest.raises(ValueError, match="a name is such as"):
        check("first", None)


def test_a_verdict_is_shown_once_in_a_notebook(capsys):
    Verdict.right()._ipython_display_()
    assert capsys.readouterr().out == ""


def test_of_several_values_the_first_that_is_wrong_is_described():
    right = {"dx": EXPECTED, "dW": EXPECTED, "db": EXPECTED}
    assert compare_values(right, right) == Verdict.right("db is right.")
    wrong = right | {"dW": -EXPECTED, "db": 0 * EXPECTED}
    assert compare_values(wrong, right).text == "dW has the wrong sign, in every entry."


@pytest.mark.parametrize(("value", "short"), [("short", True), ("full", False), (None, False)])
def test_the_short_form_is_chosen_by_the_environment(monkeypatch, value, short):
    monkeypatch.delenv("DEEPNLP_LESSON", raising=False)
    if value:
        monkeypatch.setenv("DEEPNLP_LESSON", value)
    assert short_form() is short


class ForgetsItsGradients:
    def __init__(self, W):
        self.W = W

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.slope_of_W = self.x.T @ dy  # another spelling
        return dy @ self.W.T


class ReturnsNothing(ForgetsItsGradients):
    def backward(self, dy):
        self.dW = self.x.T @ dy


def test_a_gradient_that_is_not_set_is_missing():
    rng = np.random.default_rng(0)
    W, x = rng.normal(size=(3, 2)), rng.normal(size=(4, 3))
    verdict = check_backward(ForgetsItsGradients(W), x, weights=("W",))
    assert verdict.diagnosis == "zero or missing"
    assert "no dW" in verdict.text
    verdict = check_backward(ReturnsNothing(W), x, weights=("W",))
    assert verdict.diagnosis == "dx missing"


class Twice:
    def forward(self, x):
        return 2 * x


@pytest.mark.parametrize("given", [np.ones((5, 2)), 3.0, "a text", [1, 2], Twice()])
def test_what_a_function_gives_is_not_the_function(given):
    verdict = check("1.1", given)
    assert verdict.diagnosis == "wrong type"
    assert "the function or the class itself" in verdict.text


def test_an_argument_that_cannot_be_called_is_an_error_of_the_answer():
    def affine(x, W, b):
        return x(W) + b

    assert check("1.1", affine).diagnosis == "error"
