"""The sources of the lessons, so that no solution is written twice, and answers made from them."""

from __future__ import annotations

import ast
import io
import linecache
import re
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.lessons.exercises import Verdict, check
from notebooks.build import read, sources

CALL = re.compile(r'^check\("(\d+\.\d+)", (.+)\)\s*\Z', re.MULTILINE)


@cache
def code_cells(source: Path) -> list[Any]:
    return [cell for cell in read(source).cells if cell.cell_type == "code"]


def lesson_sources(lesson: int) -> list[Path]:
    """One notebook or, of lesson 7, two."""
    return sources([f"{lesson:02d}"])


@cache
def exercise_cells(lesson: int, solution: bool) -> dict[str, str]:
    """The code of the empty answers, or of the solutions, by the name of the exercise."""
    cells = [cell for source in lesson_sources(lesson) for cell in code_cells(source)]
    calls = ((CALL.search(cell.source), cell.source) for cell in cells)
    return {
        call[1]: code for call, code in calls if call and code.startswith("# Solution") == solution
    }


@cache
def imports_of(lesson: int) -> dict[str, Any]:
    """Return the names after the first code cell of a lesson, and what later cells import."""
    names: dict[str, Any] = {"__name__": "lesson"}
    for source in lesson_sources(lesson):
        first, *others = code_cells(source)
        exec(first.source, names)
        nodes = [node for cell in others for node in ast.parse(cell.source).body]
        imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), str(source), "exec"), names)
    return names


@cache
def answer_in_lesson(name: str, solution: bool) -> Any:
    """What a cell of a lesson hands over to ``check``."""
    lesson = int(name.split(".")[0])
    names = dict(imports_of(lesson))
    source, file = exercise_cells(lesson, solution)[name], f"exercise {name}, {solution}"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # as in a notebook
    tree = ast.parse(source)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    assert isinstance(last.value, ast.Call)
    exec(compile(tree, file, "exec"), names)
    return eval(compile(ast.Expression(last.value.args[1]), name, "eval"), names)


def solution_of(name: str) -> Any:
    """The answer that the lesson gives as the solution."""
    return answer_in_lesson(name, solution=True)


def quietly(name: str, answer: Any) -> Verdict:
    """The verdict, not printed."""
    with redirect_stdout(io.StringIO()):
        return check(name, answer)


def changed(owner: str | type, **methods: Any) -> type:
    """A class with other methods in it; that of a solution by the name of its exercise."""
    return type("Mine", (solution_of(owner) if isinstance(owner, str) else owner,), methods)


def adding(name: str) -> type:
    """The solution of an exercise, but for a backward that adds to the gradients it has set."""

    def backward(self, dy):
        before = {
            key: value for key, value in vars(self).items() if key[0] == "d" and value is not None
        }
        given = solution_of(name).backward(self, dy)
        vars(self).update({key: value + vars(self)[key] for key, value in before.items()})
        return given

    return changed(name, backward=backward)


def deaf(owner: str | type) -> type:
    """A class whose backward gives the same whatever arrives."""
    right = changed(owner)
    return changed(right, backward=lambda self, dy: right.backward(self, np.ones_like(dy)))
