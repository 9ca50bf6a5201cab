"""Folders, names and files that are made to harm the grader itself."""

import csv
import json
import os
import shutil
from pathlib import Path

import pytest

from deepnlp.cli.main import main
from tests.grading.test_grading import IS_LONG

HERE = Path(__file__).parent
RIGHT = (HERE / "submissions" / "right.txt").read_text("utf-8")
CELL = {"cell_type": "code", "metadata": {}}


def notebook(*sources):
    return json.dumps({"cells": [CELL | {"source": source} for source in sources]})


@pytest.fixture
def graded(tmp_path):
    """A function that grades the folder ``handed-in`` and gives the rows of the register."""
    (tmp_path / "handed-in").mkdir()
    task = """seconds = 1
[[exercise]]
target = "affine"
reference = "solution.py"
input = ["N=4,D=3"]
points = 2
"""
    (tmp_path / "homework.toml").write_text(task)
    shutil.copy(HERE / "solution.txt", tmp_path / "solution.py")

    def grade():
        out = tmp_path / "here" / "marks"
        words = [
            tmp_path / "homework.toml",
            tmp_path / "handed-in",
            "--out",
            out,
            "--runner",
            "process",
        ]
        assert main(["grade", *map(str, words)]) == 0
        with (out / "marks.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    return grade


BROKEN = {
    "text": "{",
    "deep": "[" * 200_000,
    "null": "null",
    "number": "7",
    "cells of a number": '{"cells": 7}',
    "cell of a number": '{"cells": [7]}',
    "source of numbers": '{"cells": [{"cell_type": "code", "source": [1, 2]}]}',
    "source of nothing": '{"cells": [{"cell_type": "code"}]}',
    "long number": '{"cells": [], "nbformat": ' + "9" * 10_000 + "}",
    "surrogate": notebook("x = '\ud800'"),
    "zero byte": notebook("x = '\0'"),
    "deep code": notebook("x = " + "(" * 10_000),
    "long sum": notebook("x = 1" + " + 1" * 100_000),
    "deep attributes": notebook("x = a" + ".a" * 100_000),
    "deep lists": notebook("x = " + "[" * 90 + "]" * 90),
}
SOME = ("text", "deep", "source of numbers", "surrogate", "deep code")  # the others read alike


def test_broken_notebooks_earn_nothing_and_do_no_harm(graded, tmp_path):
    chosen = BROKEN if IS_LONG else {k: v for k, v in BROKEN.items() if k in SOME}
    for name, text in chosen.items():
        (tmp_path / "handed-in" / f"{name}.ipynb").write_text(text, encoding="utf-8")
    (tmp_path / "handed-in" / "bytes.py").write_bytes(b"\xff\xfe\x00x = 1")
    (tmp_path / "handed-in" / "right.py").write_text(RIGHT)
    rows = {row["submission"]: row for row in graded()}
    assert len(rows) == len(chosen) + 2
    assert {name for name, row in rows.items() if float(row["score"])} == {"right"}


def test_a_notebook_of_2_gb_is_refused(graded, tmp_path):
    for name in ("large.ipynb", "large2.py"):
        with (tmp_path / "handed-in" / name).open("wb") as file:
            file.truncate(2 << 30)
    assert not any(float(row["score"]) for row in graded())


def test_links_out_of_the_folder_are_not_followed(graded, tmp_path):
    (tmp_path / "ada.py").write_text(RIGHT)
    inside = tmp_path / "handed-in"
    (inside / "eve.py").symlink_to(tmp_path / "solution.py")
    (inside / "mallory").mkdir()
    (inside / "mallory" / "hw.py").symlink_to("../../ada.py")
    (inside / "nobody.py").symlink_to("/nowhere")
    (inside / "loop.py").symlink_to(inside / "loop.py")
    (inside / "zero.py").symlink_to("/dev/zero")
    (inside / "all").symlink_to(tmp_path)
    os.mkfifo(inside / "pipe.py")
    (inside / "right.py").write_text(RIGHT)
    assert [row["submission"] for row in graded()] == ["right"]


NAMES = ["<b>x<", "=1+1", "-x", "ü", "a b", "e\nf", "c,.", "class.html", "marks.csv", "g,h",
         'c"d', "\x1b[2J", "x" * 200]  # fmt: skip


def test_names_stay_in_the_folder_of_the_marks(graded, tmp_path):
    names = [*NAMES, os.fsdecode(b"\xff"), "..", ".hidden", "__MACOSX"]
    for name in names:
        (tmp_path / "handed-in" / f"{name}.ipynb").write_text("{")
    rows = graded()
    assert len(rows) == len(NAMES) + 1  # those that begin with a dot or underscores are left out
    assert [each.name for each in (tmp_path / "here").iterdir()] == ["marks"]
    page = (tmp_path / "here" / "marks" / "class.html").read_text("utf-8")
    assert "<b>x<" not in page
    assert (tmp_path / "here" / "marks" / "marks.csv").is_file()


def test_two_files_of_one_name_are_two_submissions_or_a_mistake(graded, tmp_path):
    (tmp_path / "handed-in" / "ada.py").write_text(RIGHT)
    (tmp_path / "handed-in" / "ada.ipynb").write_text(notebook("x = 1"))
    try:
        rows = graded()
    except (SystemExit, AssertionError):
        return
    assert len({row["submission"] for row in rows}) == 2
