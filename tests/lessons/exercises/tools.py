"""Answers to the exercises, read from the sources of the lessons so that none is written twice."""

from __future__ import annotations

import ast
import io
import re
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

from deepnlp.lessons.exercises import Verdict
from notebooks.build import read, sources

CALL = re.compile(r'^check\("(\d+\.\d+)", (.+)\)\s*\Z', re.MULTILINE)


@cache
def code_cells(source: Path) -> list[Any]:
    return [cell for cell in read(source).cells if cell.cell_type == "code"]


def lesson_source(lesson: int) -> Path:
    return sources([f"{lesson:02d}_"])[0]


def exercise_cells(lesson: int, solution: bool) -> dict[str, str]:
    """The code of the empty answers, or of the solutions, by the name of the exercise."""
    found = {}
    for cell in code_cells(lesson_source(lesson)):
        call = CALL.search(cell.source)
        if call and cell.source.startswith("# Solution") == solution:
            found[call[1]] = cell.source
    return found


def verdict_of(name: str, solution: bool) -> tuple[Verdict, Any]:
    """Run one cell of a lesson, after its first code cell (the imports); verdict and answer."""
    lesson = int(name.split(".")[0])
    namespace: dict[str, Any] = {"__name__": "lesson"}
    exec(code_cells(lesson_source(lesson))[0].source, namespace)
    code = exercise_cells(lesson, solution)[name]
    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    assert isinstance(last.value, ast.Call)
    with redirect_stdout(io.StringIO()):
        exec(compile(tree, f"exercise {name}", "exec"), namespace)
        answer = eval(compile(ast.Expression(last.value.args[1]), name, "eval"), namespace)
        verdict = namespace["check"](name, answer)
    return verdict, answer


@cache
def solution_of(name: str) -> Any:
    """The answer that the lesson gives as the solution."""
    return verdict_of(name, solution=True)[1]
