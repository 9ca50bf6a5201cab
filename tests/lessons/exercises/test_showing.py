"""What a reader sees of a verdict: signs, colours, how many are right; an end of endless loops."""

import contextlib
import io
import sys
import time

import pytest

from deepnlp.lessons.exercises import check, registry


@pytest.fixture(autouse=True)
def of_a_reader(monkeypatch):
    monkeypatch.delenv("DEEPNLP_LESSON", raising=False)
    monkeypatch.setattr(registry, "_right", {})


def shown(capsys, name, answer):
    check(name, answer)
    return capsys.readouterr().out


def affine(x, W, b):
    return x @ W + b


def test_right_wrong_and_empty_have_a_sign(capsys):
    assert shown(capsys, "1.1", None).startswith("○ Exercise 1.1 ★")
    assert shown(capsys, "1.1", lambda x, W, b: x @ W).startswith("✗ Exercise 1.1 ★")
    assert shown(capsys, "1.1", affine).startswith("✓ Exercise 1.1 ★")


def test_right_answers_are_counted_once(capsys):
    assert "\n  1 of 11 exercises are right.\n" in shown(capsys, "1.1", affine)
    assert "\n  1 of 11 exercises are right.\n" in shown(capsys, "1.1", affine)
    assert "are right" not in shown(capsys, "1.1", None)
    assert registry._right == {"1.1": False}


def test_colours_on_a_terminal_and_in_a_notebook_alone(capsys, monkeypatch):
    assert "\033" not in shown(capsys, "1.1", affine)
    monkeypatch.setitem(sys.modules, "ipykernel", io)
    assert shown(capsys, "1.1", affine).startswith("\033[32m✓ Exercise")
    assert shown(capsys, "1.1", lambda x, W, b: x).startswith("\033[31m✗ Exercise")


def test_a_lesson_that_is_built_keeps_the_plain_report(capsys, monkeypatch):
    monkeypatch.setenv("DEEPNLP_LESSON", "full")
    assert (
        shown(capsys, "1.1", affine)
        == "Exercise 1.1 ★ An affine map: right\n  affine(x, W, b) is right.\n"
    )


def test_a_console_without_stars(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", stream)
    check("1.1", affine)
    stream.flush()
    assert stream.buffer.getvalue().startswith(b"+ Exercise 1.1 * An affine map: right")


def test_an_endless_loop_comes_to_an_end(capsys, monkeypatch):
    monkeypatch.setattr(registry, "SECONDS", 0.2)

    def endless(x, W, b):
        while True:
            with contextlib.suppress(Exception):
                pass

    begun = time.monotonic()
    assert "did not end within 0.2 seconds" in shown(capsys, "1.1", endless)
    assert time.monotonic() - begun < 5
    assert shown(capsys, "1.1", affine).startswith("✓")


def test_exercises_of_ones_own(capsys, tmp_path, monkeypatch):
    (tmp_path / "mycourse.py").write_text("def double(x):\n    return 2 * x\n", encoding="utf-8")
    (tmp_path / "mycourse.toml").write_text(
        """
["2.1"]
title = "Twice"
stars = 1
given = "x = draw(5, 3)"
got = "answer(x)"
right = "double(x)"
name = "twice(x)"

["2.1".wrong]
"squared" = {value = "x * x", says = "This is the square."}
""",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert shown(capsys, "mycourse:2.1", lambda x: x + x).startswith(
        "✓ Exercise 2.1 ★ Twice: right"
    )
    assert "This is the square." in shown(capsys, "mycourse:2.1", lambda x: x**2)
    with pytest.raises(ValueError, match=r"no exercise 'mycourse:2\.2'; lesson mycourse has 2\.1"):
        check("mycourse:2.2", None)
