"""How long the lessons take: at most ninety minutes for the core of each, as it says itself."""

import math

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from notebooks.build import FOLDER, sources
from notebooks.minutes import EXERCISE, MOST, minutes, pieces, said

LESSONS = sources()


@pytest.mark.parametrize("source", LESSONS, ids=[path.stem for path in LESSONS])
def test_the_core_takes_at_most_ninety_minutes_and_the_lesson_says_how_long(source):
    notebook = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    core, further = (5 * math.ceil(part / 5) for part in minutes(notebook))
    assert core <= MOST
    stated = said(notebook)
    assert (stated["core"], stated["further"]) == (core, further)
    rows = FOLDER.parent.joinpath("docs/guides/learn.md").read_text(encoding="utf-8").splitlines()
    (row,) = (row for row in rows if f"notebooks/{source.stem}.ipynb" in row)
    assert row.endswith(f"| {core} minutes | {f'{further} minutes' if further else '-'} |")


def lesson(*cells):
    made = [new_code_cell(c[1:]) if c.startswith(">") else new_markdown_cell(c) for c in cells]
    return new_notebook(cells=made)


def test_a_section_that_is_marked_takes_its_parts_with_it():
    text = "word " * 125
    notebook = lesson(
        f"# Lesson\n{text}",
        f"## 1 An aside · further\n{text}",
        f"### Of the aside\n{text}",
        f"## 2 What counts\n{text}\n### A part · further\n{text}",
        f"### Another\n{text}",
        f"## What to read next\n{text}",
    )
    assert minutes(notebook) == (3, 3)


def test_an_exercise_ends_at_its_check_and_has_the_minutes_of_its_stars():
    notebook = lesson(
        "## 1 A section",
        "### Exercise 1.1 ★★ One · further\n" + "word " * 1000,
        '>def one(x): ...\n\n\ncheck("1.1", one)',
        "word " * 250,
    )
    assert [(p.minutes, p.further) for p in pieces(notebook)] == [
        (0, False),
        (EXERCISE["★★"], True),
        (2, False),
    ]


def test_formulas_figures_and_code_take_time():
    (plain,) = pieces(lesson("# L\n" + "word " * 13))
    (inline,) = pieces(lesson("# L\n" + "word " * 12 + "$x$"))
    (displayed,) = pieces(lesson("# L\n" + "word " * 13 + "\n\n$$ x $$"))
    (code,) = pieces(lesson("# L", ">import numpy\n\nx = 1\ny = 2"))
    assert plain.minutes == pytest.approx(13 / 125)
    assert inline.minutes == pytest.approx(13 / 65)
    assert displayed.minutes == pytest.approx(13 / 125 + 1.5)
    assert code.minutes == pytest.approx(0.3)


def test_the_time_of_running_counts():
    notebook = lesson("# L\n*Time.* Core: 5 minutes, 4 of them\nfor running; further: 10\nmore.")
    assert said(notebook) == {"core": 5, "run": 4, "further": 10}
    assert minutes(notebook)[0] > 4
