"""Submissions in files, and marks for teachers, students and the systems that courses use."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

from deepnlp.files.reading import content_of, decode
from deepnlp.files.writing import to_json
from deepnlp.gradcheck.cells import cells_of
from deepnlp.grading.assignment import Assignment
from deepnlp.grading.forms import DATA, fill_in

ENDINGS = (".ipynb", ".py")


@dataclass(frozen=True)
class Submission:
    """What a student has handed in.

    Attributes
    ----------
    name : str
        Of the file, or of the folder that holds it.
    cells : list
        Title and text of each cell, and whether its definitions alone run; a module is one cell.
    error : str
        Why it cannot be read.
    """

    name: str
    cells: list[tuple[str, str, bool]] = field(default_factory=list)
    error: str = ""

    @classmethod
    def load(cls, name: str, path: Path) -> Submission:
        """Read a notebook or a module."""
        try:
            text = decode(content_of(path), path.name)
            if path.suffix == ".py":
                return cls(name, [("submission.py", text, False)])
            cells = enumerate(cells_of(text))
            return cls(name, [(f"submission.ipynb:cell {k}", cell, True) for k, cell in cells])
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            return cls(name, error=f"{path.name} cannot be read: {error}")


@dataclass(frozen=True)
class Mark:
    """What one exercise of a submission has earned.

    Attributes
    ----------
    title : str
    score, points : float
    ok : bool
    diagnosis : str or None
        The name of the mistake; ``"ended"`` and ``"endless"`` where there is no answer.
    text : str
        For the student.
    note : str
        For the teacher.
    """

    title: str
    score: float
    points: float
    ok: bool
    diagnosis: str | None
    text: str
    note: str = ""


def submissions_in(paths: Sequence[str]) -> list[Submission]:
    """The submissions in files and folders, by name; what is no letter is an underscore in it.

    In a folder each notebook and each module is a submission, and so is each folder that holds one.
    Links are not followed, and what begins with a dot or two underscores is left out.
    """
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(f"no submission {path}: expected a notebook, module or folder")
        folder, inside = (path, path.rglob("*")) if path.is_dir() else (path.parent, [path])
        for file in sorted(inside):
            parts = file.relative_to(folder).parts
            is_hidden = any(part.startswith((".", "__")) for part in parts)  # such as checkpoints
            if file.suffix not in ENDINGS or file.is_symlink() or not file.is_file() or is_hidden:
                continue
            name = re.sub(r"[^\w @()'-]", "_", parts[0].removesuffix(file.suffix))
            if name in found:
                raise ValueError(f"two files for {name}: {found[name]} and {file}: expected one")
            found[name] = file
    if not found:
        raise ValueError(f"no notebook (.ipynb) and no module (.py) in {', '.join(paths)}")
    return [Submission.load(name, path) for name, path in found.items()]


def write_results(out: Path, marks: Mapping[str, list[Mark]], assignment: Assignment) -> list[Path]:
    """Write the marks of a class to a folder: a table, a page, and a folder for each student."""
    texts = {"marks.csv": _csv(marks), "class.html": class_page(marks, assignment)}
    for name, own in marks.items():
        texts[f"{name}/results.json"] = to_json(report(own, "gradescope"), 2)
        texts[f"{name}/result.json"] = to_json(report(own, "classroom50"), 2)
        texts[f"{name}/message.md"] = message(own, assignment)
    return write_files({out / file: text for file, text in texts.items()})


def write_files(texts: Mapping[Path, str]) -> list[Path]:
    """Write texts to files, in folders that are made where they are missing; gives the files."""
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
    return [*texts]


def total(marks: Sequence[Mark]) -> tuple[float, float]:
    """What all exercises have earned, and their points."""
    return sum(mark.score for mark in marks), sum(mark.points for mark in marks)


def report(marks: Sequence[Mark], system: str) -> dict[str, Any]:
    """What a system reads of a submission: ``"gradescope"`` or ``"classroom50"``.

    The scores of Classroom 50 are whole: where points are not, all are given in hundredths.
    """
    scale = 1 if all(float(n).is_integer() for m in marks for n in (m.score, m.points)) else 100
    values = [
        {f"whole_{key}": round(scale * getattr(mark, key)) for key in ("score", "points")}
        | {**vars(mark), "status": "passed" if mark.ok else "failed"}
        for mark in marks
    ]
    summed = {
        key: sum(of[key] for of in values) for key in ("score", "whole_score", "whole_points")
    }
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    tests = [fill_in(DATA[f"{system}_test"], of) for of in values]
    return dict(fill_in(DATA[system], {**summed, "now": now, "tests": tests}))


def message(marks: Sequence[Mark], assignment: Assignment) -> str:
    """What a student reads, in Markdown."""
    score, points = total(marks)
    parts = [f"# {assignment.title}: {score:g} of {points:g} points"]
    for mark in marks:
        parts.append(f"## {mark.title}: {mark.score:g} of {mark.points:g}")
        parts.append(textwrap.indent(mark.text, "    "))
    return "\n\n".join(parts)


def _csv(marks: Mapping[str, list[Mark]]) -> str:
    """A line for each student: the sum, then points, mistake and note of each exercise."""
    first = next(iter(marks.values()))
    columns = [f"{m.title}{what}" for m in first for what in ("", " (mistake)", " (note)")]
    rows = [["submission", "score", "points", *columns]]
    for name, own in marks.items():
        cells = [value for m in own for value in (f"{m.score:g}", m.diagnosis or "", m.note)]
        rows.append([name, *(f"{value:g}" for value in total(own)), *cells])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_plain, row) for row in rows)
    return text.getvalue().rstrip("\n")


def _plain(text: str) -> str:
    """A cell that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def class_page(marks: Mapping[str, list[Mark]], assignment: Assignment) -> str:
    """The page of a class: how often each mistake was made, by exercise, and the marks of all."""
    count, exercises, students = len(marks), [], []
    for of_task in zip(*marks.values(), strict=True):
        seen = Counter(mark.diagnosis or "right" for mark in of_task).most_common()
        meter = f'{{0}}<td><meter max="{count}" value="{{0}}"></meter>'
        rows = _rows((name, meter.format(times)) for name, times in seen)
        exercises.append(f"<h2>{escape(of_task[0].title)}</h2><table>{rows}</table>")
    for name, own in marks.items():
        notes = "; ".join(dict.fromkeys(mark.note for mark in own if mark.note))
        students.append((name, f"{total(own)[0]:g}<td>{escape(notes)}"))
    scores, points = zip(*map(total, marks.values()))
    values = {"title": escape(assignment.title), "count": count, "exercises": "\n".join(exercises)}
    values |= {"mean": fmean(scores), "points": points[0], "students": _rows(students)}
    return Path(__file__).with_name("class.html").read_text("utf-8").format_map(values)


def _rows(rows: Iterable[tuple[str, str]]) -> str:
    """Rows of a table: a name, and what stands beside it as HTML."""
    return "\n".join(f"<tr><td>{escape(name)}<td>{cells}</tr>" for name, cells in rows)
