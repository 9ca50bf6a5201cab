"""Answers to the exercises, read from the sources of the lessons so that none is written twice."""

from __future__ import annotations

import ast
import io
import re
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

from deepnlp.exercises import Verdict
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
    """Run one cell of a lesson as far as it stands alone; its verdict and its answer.

    What comes before it is the first code cell (the imports) and the cells tagged ``setup``.
    """
    lesson = int(name.split(".")[0])
    cells = code_cells(lesson_source(lesson))
    namespace: dict[str, Any] = {"__name__": "lesson"}
    for number, cell in enumerate(cells):
        if number == 0 or "setup" in cell.metadata.get("tags", []):
            exec(cell.source, namespace)
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


def solution_of(name: str) -> Any:
    """The answer that the lesson gives as the solution."""
    return verdict_of(name, solution=True)[1]
