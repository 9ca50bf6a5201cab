"""The exercises of an assignment as cells for nbgrader and as tests for otter.

These graders run the checks in the process of the submission: they are for submissions that mean no
harm. ``deepnlp grade`` is for all.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from deepnlp.grading.assignment import Assignment, Task

CELLS = ("nbgrader", "otter")

OTTER = """from otter.test_files import test_case

OK_FORMAT = False
name = "{name}"
points = {points:g}


def earned(answer):
    {line}


# Cases of otter pass or fail: one for each share of the points that a mistake may earn.
{cases}
"""
CASE = """
@test_case(points={points:g})
def test_{number}({argument}):
    assert earned({argument}) >= {least:g}
"""


def write_cells(out: Path, assignment: Assignment, kind: str) -> list[Path]:
    """Write a notebook for nbgrader, or a folder of tests for otter; gives the files."""
    tasks = assignment.tasks
    if unnamed := next((task for task in tasks if not (task.name and task.answer)), None):
        raise ValueError(
            f"{unnamed.title}: a cell needs the name of an exercise, and what is handed in for it: "
            'answer = "MyAffine"'
        )
    if kind == "nbgrader":
        cells = [cell for task in tasks for cell in _nbgrader(task)]
        notebook = {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}
        out.write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")
        return [out]
    out.mkdir(parents=True, exist_ok=True)
    files = {out / f"{_identifier(task)}.py": _otter(task) for task in tasks}
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")
    return [*files]


KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def _identifier(task: Task) -> str:
    return "q" + re.sub(r"\W", "_", task.name)


def _line(task: Task, answer: str) -> str:
    """The line whose value is what an answer has earned."""
    return f'check("{task.name}", {answer}).marks({task.points:g}, {task.partial})'


def _nbgrader(task: Task) -> list[dict[str, Any]]:
    """The cell of an answer, and the one that grades it."""
    start = f"{task.answer} = ...  # {task.title}\n### BEGIN SOLUTION\n### END SOLUTION"
    grade = f"from deepnlp.lessons.exercises import check\n\n{_line(task, task.answer)}"
    return [_cell(_identifier(task), start, None), _cell(f"{_identifier(task)}_check", grade, task)]


def _cell(name: str, source: str, graded: Task | None) -> dict[str, Any]:
    kind = {"grade": graded is not None, "solution": graded is None, "locked": graded is not None}
    kind |= {"grade_id": name, "schema_version": 3, "task": False}  # type: ignore[dict-item]
    kind |= {"points": graded.points} if graded is not None else {}  # type: ignore[dict-item]
    return {
        "cell_type": "code", "id": name, "execution_count": None, "outputs": [],
        "metadata": {"nbgrader": kind}, "source": source,
    }  # fmt: skip


def _otter(task: Task) -> str:
    """The test file of a task: cases whose points add up to what ``marks`` gives."""
    levels = sorted({task.points} | {task.points * s for s in task.partial.values() if s > 0})
    cases = "\n".join(
        CASE.format(number=k, points=level - before, least=level, argument=task.answer)
        for k, (before, level) in enumerate(zip([0.0, *levels], levels), 1)
    )
    line = "from deepnlp.lessons.exercises import check\n\n    return " + _line(task, "answer")
    return OTTER.format(name=_identifier(task), points=task.points, line=line, cases=cases)
