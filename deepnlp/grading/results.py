"""Submissions in files, and marks for teachers, students and the systems that courses use."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import quote

from deepnlp.files.reading import content_of, decode, read_json
from deepnlp.files.writing import to_json, write_whole
from deepnlp.gradcheck.cells import cells_of
from deepnlp.grading.assignment import Assignment
from deepnlp.grading.forms import DATA, fill_in

ENDINGS = (".ipynb", ".py")
MOST_CODE = 1 << 20  # characters of a submission
MARKS = "marks.json"


@dataclass(frozen=True)
class Submission:
    """The files of a student; the grader reads them in a process with limits of its own.

    Attributes
    ----------
    name : str
        Of the file, or of the folder that holds it.
    files : list of Path
        One notebook or module; with more it cannot be read.
    """

    name: str
    files: list[Path]

    def cells(self) -> list[tuple[str, str, bool]]:
        """Title and text of each cell, and whether its definitions alone run; a module is one."""
        if len(self.files) > 1:
            names = ", ".join(file.name for file in self.files)
            raise ValueError(f"expected one notebook or module, got {len(self.files)}: {names}")
        (path,), title = self.files, _harmless(self.files[0].name, ".")
        text = decode(content_of(path), title)
        cells = [(title, text, False)]
        if path.suffix != ".py":
            numbered = enumerate(cells_of(text))
            cells = [(f"{title}:cell {k}", cell, True) for k, cell in numbered]
        if sum(len(text) for _, text, _ in cells) > MOST_CODE:
            raise ValueError(f"{title} has more than {MOST_CODE >> 20} MB of code")
        return cells

    def digest(self) -> str:
        """Return the digest of the content."""
        try:
            return sha256(b"".join(map(content_of, self.files))).hexdigest()
        except (OSError, ValueError) as error:
            return str(error)


def _harmless(name: str, also: str = "") -> str:
    return re.sub(rf"[^\w @()'{also}-]", "_", name)


@dataclass(frozen=True)
class Mark:
    """The mark of one exercise of a submission.

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
    """Find the submissions in files and folders; in their names, underscores replace non-letters.

    In a folder each notebook and each module is a submission, and so is each folder that holds one.
    Links are not followed, and what begins with a dot or two underscores is left out.
    """
    files: dict[Path, list[Path]] = {}
    for path in (Path(each).absolute() for each in paths):
        if not path.exists():
            raise FileNotFoundError(f"no submission {path}: expected a notebook, module or folder")
        folder, inside = (path, path.rglob("*")) if path.is_dir() else (path.parent, [path])
        for file in sorted(inside):
            parts = file.relative_to(folder).parts
            is_hidden = any(part.startswith((".", "__")) for part in parts)  # such as checkpoints
            is_one = file.suffix in ENDINGS and not file.is_symlink() and file.is_file()
            if is_one and not is_hidden:
                files.setdefault(folder / parts[0], []).append(file)
    if not files:
        raise ValueError(f"no notebook (.ipynb) and no module (.py) in {', '.join(paths)}")
    named: dict[str, Submission] = {}
    for entry, contents in files.items():
        name = _harmless(entry.name.removesuffix(contents[0].suffix))
        while name.casefold() in named:  # of another student
            name += "_"
        named[name.casefold()] = Submission(name, contents)
    return [*named.values()]


def refuse_imports(paths: Sequence[str], folders: Iterable[str | Path]) -> None:
    """Raise where a folder lies among submissions from which the grader imports modules."""
    for path in map(Path, paths):
        root = (path if path.is_dir() else path.parent).resolve()
        for folder in (Path(each).resolve() for each in folders if Path(each).exists()):
            inner = folder.relative_to(root).parts if folder.is_relative_to(root) else (".",)
            if not any(part.startswith(".") for part in inner):
                advice = "keep the submissions in a folder of their own, and start from another"
                where = f"modules are imported from {folder}, where submissions are"
                raise ValueError(f"{where}: {advice}")


def marks_in(out: Path, key: str) -> dict[str, Any]:
    """Read written marks: the seed, and by name each submission's digest and marks."""
    kept = read_json(out / MARKS)
    if kept.get("of") != key:
        other = f"{out} has marks of another assignment, seed or runner"
        raise ValueError(f"{other}: choose another folder, or say --overwrite")
    return kept


def write_results(
    out: Path, marks: Mapping[str, list[Mark]], assignment: Assignment, new: Iterable[str] = ()
) -> list[Path]:
    """Write the marks of a class to a folder: a table, a page, and a folder for each student.

    With ``new`` the folders of these students alone are written.
    """
    texts = {"marks.csv": _csv(marks), "class.html": class_page(marks, assignment)}
    for name in new or marks:
        of_student = marks[name]
        texts[f"{name}/results.json"] = to_json(report(of_student, "gradescope"), 2)
        texts[f"{name}/result.json"] = to_json(report(of_student, "classroom50"), 2)
        texts[f"{name}/message.md"] = message(of_student, assignment)
    return write_files({out / file: text for file, text in texts.items()})


def write_files(texts: Mapping[Path, str]) -> list[Path]:
    """Write whole files, in folders that are made where they are missing; gives the files."""
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, text + "\n")
    return [*texts]


def total(marks: Sequence[Mark]) -> tuple[float, float]:
    """Return the points that all exercises have earned, and those there are."""
    return sum(mark.score for mark in marks), sum(mark.points for mark in marks)


def report(marks: Sequence[Mark], system: str) -> dict[str, Any]:
    """Return the report of a submission for a system: ``"gradescope"`` or ``"classroom50"``.

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
    """Return the message for a student, in Markdown."""
    score, points = total(marks)
    parts = [f"# {assignment.title}: {score:g} of {points:g} points"]
    for mark in marks:
        parts.append(f"## {mark.title}: {mark.score:g} of {mark.points:g}")
        parts.append(textwrap.indent(mark.text, "    "))
    return "\n\n".join(parts)


def _csv(marks: Mapping[str, list[Mark]]) -> str:
    """Return a line for each student: the sum, then points, mistake and note of each exercise."""
    first = next(iter(marks.values()))
    columns = [f"{m.title}{what}" for m in first for what in ("", " (mistake)", " (note)")]
    rows = [["submission", "score", "points", *columns]]
    for name, of_student in marks.items():
        cells = [value for m in of_student for value in (f"{m.score:g}", m.diagnosis or "", m.note)]
        rows.append([name, *(f"{value:g}" for value in total(of_student)), *cells])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_plain, row) for row in rows)
    return text.getvalue().rstrip("\n")


def _plain(text: str) -> str:
    """Return a cell that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def class_page(marks: Mapping[str, list[Mark]], assignment: Assignment) -> str:
    """Write the page of a class: how often each mistake was made, by exercise, and all marks."""
    count, exercises, students = len(marks), [], []
    for of_task in zip(*marks.values(), strict=True):
        seen = Counter((mark.diagnosis or "right", _state([mark])) for mark in of_task)
        bar = '{1}<td><span class="bar {0}" style="width: {2}rem"></span> {0}'
        rows = _rows((escape(name), bar.format(state, times, 12 * times / count))
                     for (name, state), times in seen.most_common())  # fmt: skip
        exercises.append(f"<h2>{escape(of_task[0].title)}</h2><table>{rows}</table>")
    for name, of_student in marks.items():
        notes = "; ".join(dict.fromkeys(mark.note for mark in of_student if mark.note))
        link = f'<a href="{quote(name)}/message.md">{escape(name)}</a>'
        earned = f'<span class="{_state(of_student)}">{total(of_student)[0]:g}</span>'
        students.append((link, f"{earned}<td>{escape(notes)}"))
    scores, points = zip(*map(total, marks.values()))
    values = {"title": escape(assignment.title), "count": count, "exercises": "\n".join(exercises)}
    values |= {"mean": fmean(scores), "points": points[0], "students": _rows(students)}
    return Path(__file__).with_name("class.html").read_text("utf-8").format_map(values)


def _state(marks: Sequence[Mark]) -> str:
    is_partly = any(mark.score for mark in marks)
    return "right" if all(mark.ok for mark in marks) else "partly" if is_partly else "wrong"


def _rows(rows: Iterable[tuple[str, str]]) -> str:
    """Return rows of a table, in HTML: a name, and what stands beside it."""
    return "\n".join(f"<tr><td>{name}<td>{cells}</tr>" for name, cells in rows)
