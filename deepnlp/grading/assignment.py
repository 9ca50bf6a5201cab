"""An assignment: a TOML file that says which answers count, how much, and within which limits.

::

    title = "Homework 3"
    seconds = 20          # of processor time for an answer
    memory = 1024         # megabytes
    imports = ["pandas"]  # modules that submissions may use, besides NumPy, SciPy and the usual

    [partial]             # the share of the points by the name of the mistake
    "sign" = 0.5

    [[exercise]]
    name = "6.4"          # of a lesson, or "course:2.1" of a course's own
    points = 4

    [[exercise]]
    target = "affine"     # a class, a function, or affine_forward and affine_backward
    reference = "solution.py"
    input = ["N=4,D=3"]   # as for deepnlp gradcheck
    points = 2
    partial = {"transposed" = 0.25}
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from deepnlp.files.reading import read_toml
from deepnlp.lessons.exercises.registry import find_exercise

#: What a value of TOML may be, by the type of its field.
ALLOWED: Any = {"float": (int, float), "int": int, "str": str, "list": list, "dict": dict}


@dataclass(frozen=True)
class Task:
    """An exercise of an assignment.

    Attributes
    ----------
    points : float
    name : str
        Of an exercise of a lesson, or of a course's own.
    answer : str
        What is handed in for it; by default what the submission gives to ``check``.
    target, reference : str
        Or a class or functions by name, and the file with the right ones.
    input, weight : list of str
        The shapes of their inputs and weights, as for ``deepnlp gradcheck``.
    title : str
    tolerance : float
        How far from the right numbers an answer may be, relative to the largest.
    partial : dict of str to float
        The share of the points by the name of the mistake.
    """

    points: float
    name: str = ""
    answer: str = ""
    target: str = ""
    reference: str = ""
    input: list[str] = field(default_factory=list)
    weight: list[str] = field(default_factory=list)
    title: str = ""
    tolerance: float = 1e-6
    partial: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Assignment:
    """An assignment: its tasks, and the limits of a submission.

    Attributes
    ----------
    tasks : list of Task
    title : str
    seconds : float
        Processor time for an answer.
    memory : int
        Megabytes for a submission.
    imports : list of str
        Modules that a submission may use besides the usual ones.
    partial : dict of str to float
        The share of the points by the name of the mistake, of every task.
    """

    tasks: list[Task]
    title: str
    seconds: float = 20.0
    memory: int = 1024
    imports: list[str] = field(default_factory=list)
    partial: dict[str, float] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Assignment:
        """Read an assignment; every mistake in it is a ValueError that names the file."""
        path = Path(path)
        table = read_toml(path)
        tasks = table.pop("exercise", [])
        try:
            if not tasks or not isinstance(tasks, list) or {*map(type, tasks)} != {dict}:
                raise ValueError("expected one or more tables [[exercise]]")
            known = _checked(cls, {"title": path.stem, "partial": {}, **table}, "tasks")
            made = [_task(entry, path.resolve().parent, known["partial"]) for entry in tasks]
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        return cls(tasks=made, **known)


def _task(table: dict[str, Any], folder: Path, partial: dict[str, float]) -> Task:
    """Return a task, its reference beside the file and its title filled in."""
    task = Task(**_checked(Task, {"points": 0, **table}))
    task = replace(task, partial=partial | task.partial)
    shares = [v for v in task.partial.values() if type(v) not in (int, float) or not 0 <= v <= 1]
    if task.points <= 0 or shares:
        raise ValueError("an exercise needs points: points should be above 0, shares from 0 to 1")
    if bool(task.name) == bool(task.target):
        raise ValueError("an exercise has either a name, such as '6.4', or a target")
    if task.name:
        sys.path[:0] = [str(folder)] if ":" in task.name and str(folder) not in sys.path else []
        heading = find_exercise(task.name).heading
        return replace(task, title=task.title or heading)
    reference = folder / task.reference
    if not reference.is_file():
        raise ValueError(f"{task.target} needs a reference, the file with the right one")
    return replace(task, title=task.title or task.target, reference=str(reference))


def _checked(kind: Any, table: dict[str, Any], hidden: str = "") -> dict[str, Any]:
    """Return the values of a table, each in the type of its field; one of the fields is hidden."""
    types = {f.name: f.type.partition("[")[0] for f in fields(kind) if f.name != hidden}
    for key, value in table.items():
        if key not in types:
            raise ValueError(f"{key} is unknown: expected one of {', '.join(types)}")
        if not isinstance(value, ALLOWED[types[key]]) or isinstance(value, bool):
            raise ValueError(f"{key} should be a {types[key]}, got {value!r}")
    return table
