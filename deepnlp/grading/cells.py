"""The exercises of an assignment as cells for nbgrader and as tests for otter.

These graders run the checks in the process of the submission: they are for submissions that mean no
harm. ``deepnlp grade`` is for all.
"""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from deepnlp.files.writing import to_json
from deepnlp.grading.assignment import Assignment
from deepnlp.grading.forms import DATA, fill_in
from deepnlp.grading.results import write_files

CELLS = ("nbgrader", "otter")


def write_cells(out: Path, assignment: Assignment, kind: str) -> list[Path]:
    """Write a notebook for nbgrader, or a folder of tests for otter; gives the files."""
    cells, tests = [], {}
    for task in assignment.tasks:
        if not (task.name and task.answer):
            needed = "a cell needs the name of an exercise, and what is handed in for it"
            raise ValueError(f'{task.title}: {needed}: answer = "MyAffine"')
        values = {**vars(task), "id": "q" + re.sub(r"\W", "_", task.name)}
        cells += [fill_in(DATA[part], values) for part in ("nbgrader_answer", "nbgrader_graded")]
        tests[out / f"{values['id']}.py"] = _otter(values)
    notebook = fill_in(DATA["nbgrader"], {"cells": cells})
    return write_files({out: to_json(notebook, 1)} if kind == "nbgrader" else tests)


def _otter(values: dict[str, Any]) -> str:
    """Return the test file of a task: cases whose points add up to what ``marks`` gives."""
    points, shares = values["points"], values["partial"].values()
    levels = sorted({points, *(points * share for share in shares if share)})
    cases = [
        fill_in(DATA["otter"]["case"], {**values, "number": k, "earned": b - a, "least": b})
        for k, (a, b) in enumerate(pairwise([0.0, *levels]), 1)
    ]
    return str(fill_in(DATA["otter"]["file"], {**values, "cases": "".join(cases)}))
