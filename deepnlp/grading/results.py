"""Submissions in files, and marks for teachers, students and the systems that courses use."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from deepnlp.grading.assignment import Assignment

ENDINGS = (".ipynb", ".py")
MOST = 1 << 24  # bytes of a submission


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

    @property
    def text(self) -> str:
        """All of it, without the lines that are no Python."""
        lines = "\n".join(text for _, text, _ in self.cells).splitlines()
        return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!", "?")))

    @classmethod
    def load(cls, name: str, path: Path) -> Submission:
        """Read a notebook or a module."""
        try:
            if path.stat().st_size > MOST:
                raise ValueError(f"it has more than {MOST:,} bytes")
            text = path.read_text(encoding="utf-8-sig")
            if path.suffix == ".py":
                return cls(name, [("submission.py", text, False)])
            cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
            texts = ["".join(cell["source"]) for cell in cells]
            titles = [f"submission.ipynb:cell {number}" for number in range(len(texts))]
            return cls(name, [(title, text, True) for title, text in zip(titles, texts)])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
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
    """The submissions in files and folders, by name.

    In a folder each notebook and each module is a submission, and so is each folder that holds one.
    """
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(
                f"no submission {path}: expected a notebook, a module, a folder"
            )
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            inside = sorted(file.rglob("*")) if file.is_dir() and not file.is_symlink() else [file]
            files = [
                f for f in inside if f.suffix in ENDINGS and f.is_file() and not f.is_symlink()
            ]
            name = file.name if file.is_dir() else file.stem
            if len(files) > 1:
                raise ValueError(f"{file} holds {len(files)} notebooks and modules: expected one")
            if files and name in found:
                raise ValueError(f"two submissions are called {name}: {found[name]} and {files[0]}")
            found |= {name: files[0]} if files else {}
    if not found:
        raise ValueError(f"no notebook (.ipynb) and no module (.py) in {', '.join(paths)}")
    return [Submission.load(name, path) for name, path in found.items()]


def write_results(out: Path, marks: Mapping[str, list[Mark]], assignment: Assignment) -> list[Path]:
    """Write the marks of a class to a folder: a table, a page, and a folder for each student."""
    files = {"marks.csv": _csv(marks), "class.html": class_page(marks, assignment)}
    for name, own in marks.items():
        files[f"{name}/results.json"] = json.dumps(gradescope(own), indent=2)
        files[f"{name}/result.json"] = json.dumps(classroom50(own), indent=2)
        files[f"{name}/message.md"] = message(own, assignment)
    for file, text in files.items():
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        (out / file).write_text(text + "\n", encoding="utf-8")
    return [out / file for file in files]


def total(marks: Sequence[Mark]) -> float:
    """The points of all exercises."""
    return sum(mark.score for mark in marks)


def gradescope(marks: Sequence[Mark]) -> dict[str, Any]:
    """The object of Gradescope's ``results.json``."""
    tests = [
        {
            "name": mark.title,
            "score": mark.score,
            "max_score": mark.points,
            "status": "passed" if mark.ok else "failed",
            "output": mark.text,
            "output_format": "text",
            "visibility": "visible",
        }
        for mark in marks
    ]
    return {"score": total(marks), "output_format": "text", "visibility": "visible", "tests": tests}


def classroom50(marks: Sequence[Mark]) -> dict[str, Any]:
    """The object of Classroom 50's ``result.json``, with what its runner says of the submission.

    Its scores are whole numbers: where points are not, all are given in hundredths.
    """
    scores = [value for mark in marks for value in (mark.score, mark.points)]
    scale = 1 if all(float(value).is_integer() for value in scores) else 100
    tests = [
        {
            "test-name": mark.title,
            "passed": mark.ok,
            "score": round(scale * mark.score),
            "max-score": round(scale * mark.points),
        }
        for mark in marks
    ]
    names = {
        "classroom": "CLASSROOM", "assignment": "ASSIGNMENT", "submission": "SUBMISSION_TAG",
        "commit": "COMMIT_URL", "release": "RELEASE_URL", "review": "REVIEW_URL",
    }  # fmt: skip
    return {
        "schema": "classroom50/result/v1",
        **{key: os.environ.get(name, "") or "local" for key, name in names.items()},
        "datetime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }


def message(marks: Sequence[Mark], assignment: Assignment) -> str:
    """What a student reads, in Markdown."""
    points = sum(mark.points for mark in marks)
    lines = [f"# {assignment.title}: {total(marks):g} of {points:g} points", ""]
    for mark in marks:
        lines += [f"## {mark.title}: {mark.score:g} of {mark.points:g}", ""]
        lines += [f"    {line}" for line in mark.text.splitlines()] + [""]
    return "\n".join(lines)


def _csv(marks: Mapping[str, list[Mark]]) -> str:
    """A line for each student: the sum, then points, mistake and note of each exercise."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    first = next(iter(marks.values()))
    columns = [f"{m.title}{what}" for m in first for what in ("", " (mistake)", " (note)")]
    rows.writerow(["submission", "score", "points", *columns])
    for name, own in marks.items():
        cells = [value for m in own for value in (f"{m.score:g}", m.diagnosis or "", m.note)]
        rows.writerow(
            map(_plain, [name, f"{total(own):g}", f"{sum(m.points for m in own):g}", *cells])
        )
    return text.getvalue().rstrip("\n")


def _plain(text: str) -> str:
    """A cell that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>
body {{ font: 1rem/1.4 system-ui, sans-serif; max-width: 60rem; margin: auto }}
table {{ border-collapse: collapse }} td, th {{ padding: .1rem .8rem .1rem 0; text-align: left }}
meter {{ width: 12rem }} :root {{ color-scheme: light dark }}
</style></head><body>
<h1>{title}</h1><p>{count} submissions, {mean:.1f} of {points:g} points on average.</p>
{exercises}
<h2>Submissions</h2><table><tr><th>submission<th>points<th>notes</tr>
{students}
</table></body></html>"""


def class_page(marks: Mapping[str, list[Mark]], assignment: Assignment) -> str:
    """The page of a class: how often each mistake was made, by exercise, and the marks of all."""
    count, exercises = len(marks), []
    for of_task in zip(*marks.values(), strict=True):
        seen = Counter("right" if m.ok else m.diagnosis or "wrong" for m in of_task)
        bars = "\n".join(
            f'<tr><td>{escape(name)}<td>{n}<td><meter max="{count}" value="{n}"></meter></tr>'
            for name, n in seen.most_common()
        )
        exercises.append(f"<h2>{escape(of_task[0].title)}</h2><table>{bars}</table>")
    notes = {
        name: "; ".join(dict.fromkeys(m.note for m in own if m.note)) for name, own in marks.items()
    }
    students = "\n".join(
        f"<tr><td>{escape(name)}<td>{total(own):g}<td>{escape(notes[name])}</tr>"
        for name, own in marks.items()
    )
    points = sum(mark.points for mark in next(iter(marks.values())))
    mean = sum(map(total, marks.values())) / count
    return PAGE.format(title=escape(assignment.title), count=count, mean=mean, points=points,
                       exercises="\n".join(exercises), students=students)  # fmt: skip
