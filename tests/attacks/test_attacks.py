"""A small part of the attacks; ``python -m tests.attacks`` runs the rest."""

import os

import pytest

from tests.attacks import commands, library, workplace


def test_odd_values_of_the_library():
    wrong = [said for _, verdict, said in library.calls(400, seed=1) if verdict.isupper()]
    assert not wrong, wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not copied here")
def test_odd_command_lines(tmp_path, monkeypatch, capfd):
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("DEEPNLP_DATA", str(place / "folder"))
    monkeypatch.setenv("DEEPNLP_MIRROR", "http://127.0.0.1:9/")
    workplace.fill(place)
    lines = [*[*commands.fixed()][::80], *commands.drawn(6, seed=2)]
    outcomes = [commands.attack(kind, line) for kind, line in lines]
    wrong = [(one.verdict, one.arguments, one.err[-500:]) for one in outcomes]
    wrong = [one for one in wrong if one[0].isupper()]
    assert not wrong, wrong
    assert {"done", "refused"} == {one.verdict for one in outcomes}


def test_the_judge_of_outcomes():
    def verdict(code, err, changed=()):
        return commands.Outcome("", [], code, err, 0.0, list(changed)).verdict

    line = "deepnlp: error: no\n"
    assert verdict(2, line) == "refused"
    assert verdict(2, f"a remark\n{line}") == "refused"
    assert verdict(0, "a remark\n") == "done"
    for code, err in ((2, ""), (2, line + line), (2, f"{line}and more\n"), (2, "no\n")):
        assert verdict(code, err) == "NOT ONE LINE"
    assert verdict(2, f"Traceback (most recent call last):\n{line}") == "CRASHED"
    assert verdict(0, "RuntimeWarning: overflow\n") == "CRASHED"
    assert verdict(-11, "") == "CRASHED"
    assert verdict(-9, "") == "HUNG"
    assert verdict(70, "") == "CODE 70"
    assert verdict(2, line, ["run/best.npz"]) == "WROTE OVER"


def test_the_judge_of_calls():
    def raises(error):
        raise error

    assert library.verdict(lambda: None)[0] == "done"
    assert library.verdict(lambda: raises(ValueError("not of the house")))[0] == "NOT OUR SENTENCE"
    assert library.verdict(lambda: int("a"))[0] == "NOT OUR SENTENCE"
    assert library.verdict(lambda: library.Parameter("a"))[0] == "refused"
