"""The exercises of an assignment as cells for nbgrader and as tests for otter.

These graders run the checks in the process of the submission: they are for submissions that mean no
harm. ``deepnlp grade`` is for all.
"""

import re
from pathlib import Path
from typing import Any

from deepnlp.files.writing import to_json
from deepnlp.grading.assignment import Assignment
from deepnlp.grading.forms import DATA, fill_in

CELLS = ("nbgrader", "otter")


def write_cells(out: Path, assignment: Assignment, kind: str) -> list[Path]:
    """Write a notebook for nbgrader, or a folder of tests for otter; gives the files."""
    cells, tests = [], {}
    for task in assignment.tasks:
        if not (task.name and task.answer):
            needed = "a cell needs the name of an exercise, and what is handed in for it"
            raise ValueError(f'{task.title}: {needed}: answer = "MyAffine"')
        name = "q" + re.sub(r"\W", "_", task.name)
        values = {
            **vars(task),
            "id": name,
            "graded_id": f"{name}_check",
            "none": None,
            "outputs": [],
        }
        texts = {f"{key}_text": text.format(**values) for key, text in DATA["cells"].items()}
        cells += [fill_in(f"nbgrader_{part}", values | texts) for part in ("answer", "graded")]
        tests[out / f"{name}.py"] = _otter(values)
    if kind == "nbgrader":
        tests = {out: to_json(fill_in("nbgrader", {"cells": cells}), 1)}
    else:
        out.mkdir(parents=True, exist_ok=True)
    for file, text in tests.items():
        file.write_text(text + "\n", encoding="utf-8")
    return [*tests]


def _otter(values: dict[str, Any]) -> str:
    """The test file of a task: cases whose points add up to what ``marks`` gives."""
    points, shares = values["points"], values["partial"].values()
    levels = sorted({points} | {points * share for share in shares if share > 0})
    cases = [
        DATA["otter"]["case"].format(number=k, earned=level - before, least=level, **values)
        for k, (before, level) in enumerate(zip([0.0, *levels], levels), 1)
    ]
    return str(DATA["otter"]["file"].format(cases="".join(cases), **values))
