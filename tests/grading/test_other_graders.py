"""nbgrader's and otter's own programs give the marks that ``deepnlp grade`` gives.

They run where these programs are installed, in an environment of their own if need be:
``python -m pytest tests/grading/test_other_graders.py``.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from deepnlp.grading import Assignment
from deepnlp.grading.cells import write_cells

HERE = Path(__file__).parent
HARMLESS = ("right", "odd", "sign", "wrong")
EXPECTED = tomllib.loads((HERE / "expected.toml").read_text("utf-8"))
ASSIGNMENT = """
[[exercise]]
name = "1.5"
answer = "MyAffine"
points = 4
partial = {"sign" = 0.5}
"""


@pytest.fixture
def assignment(tmp_path):
    (tmp_path / "ps1.toml").write_text(ASSIGNMENT, encoding="utf-8")
    return Assignment.load(tmp_path / "ps1.toml")


def answer(name):
    """The class of a submission, without the plots and the check at its end."""
    text = (HERE / "submissions" / f"{name}.txt").read_text("utf-8")
    plots = r"^(import (matplotlib|seaborn).*|(plt|sns)\..*|check\(.*)$"
    return re.sub(plots, "", text, flags=re.MULTILINE)


def run(*words, folder):
    """Run a program of the environment, whose own programs (alembic, jupyter) it starts by name."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run([sys.executable, "-m", *map(str, words)], cwd=folder, capture_output=True,
                          text=True, timeout=900, env=os.environ | {"PATH": path})  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_cells_of_nbgrader_say_what_they_grade(assignment, tmp_path):
    (file,) = write_cells(tmp_path / "ps1.ipynb", assignment, "nbgrader")
    answered, graded = json.loads(file.read_text("utf-8"))["cells"]
    assert answered["metadata"]["nbgrader"]["solution"]
    assert graded["metadata"]["nbgrader"]["points"] == 4
    assert graded["source"].endswith("""check("1.5", MyAffine).marks(4, {'sign': 0.5})""")


def test_cases_of_otter_add_up_to_the_points(assignment, tmp_path):
    (file,) = write_cells(tmp_path / "tests", assignment, "otter")
    assert [float(n) for n in re.findall(r"@test_case\(points=(.*?)\)", file.read_text())] == [2, 2]


def test_nbgrader_gives_the_same_marks(assignment, tmp_path):
    nbgrader = pytest.importorskip("nbgrader.api")
    source = tmp_path / "source" / "ps1"
    source.mkdir(parents=True)
    write_cells(source / "ps1.ipynb", assignment, "nbgrader")
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n")
    run("nbgrader", "generate_assignment", "ps1", folder=tmp_path)
    released = json.loads((tmp_path / "release" / "ps1" / "ps1.ipynb").read_text("utf-8"))
    for name in (*HARMLESS, "empty"):
        folder = tmp_path / "submitted" / name / "ps1"
        folder.mkdir(parents=True)
        cells = json.loads(json.dumps(released))
        if name != "empty":
            cells["cells"][0]["source"] = answer(name)
        (folder / "ps1.ipynb").write_text(json.dumps(cells), encoding="utf-8")
    run("nbgrader", "autograde", "ps1", folder=tmp_path)
    with nbgrader.Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as book:
        got = {s.student.id: s.score for s in book.assignment_submissions("ps1")}
    assert got == {name: EXPECTED[name][0] for name in HARMLESS} | {"empty": 0}


def test_otter_gives_the_same_marks(assignment, tmp_path):
    pytest.importorskip("otter")
    write_cells(tmp_path / "tests", assignment, "otter")
    (tmp_path / "requirements.txt").write_text("")
    run("otter", "generate", "-t", "tests", "-o", "autograder.zip", folder=tmp_path)
    got = {}
    for name in HARMLESS:
        cell = {"cell_type": "code", "source": answer(name), "metadata": {}, "outputs": [],
                "execution_count": None, "id": "answer"}  # fmt: skip
        kernel = {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        }
        notebook = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        (tmp_path / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        out = tmp_path / f"out-{name}"
        out.mkdir()
        run("otter", "run", f"{name}.ipynb", "-a", "autograder.zip", "-o", out, folder=tmp_path)
        tests = json.loads((out / "results.json").read_text("utf-8"))["tests"]
        got[name] = sum(test.get("score", 0) for test in tests)
    assert got == {name: EXPECTED[name][0] for name in HARMLESS}
