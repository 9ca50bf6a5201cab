"""Solutions, folded in every viewer: neither their code nor their verdict shows before a click.

JupyterLab folds a code cell whose metadata say so; VS Code and GitHub show it all the same. So the
builder turns a solution into a Markdown cell with a ``<details>`` block that holds code and
verdict. So no other cell may use what a solution defines.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

END = "</details>"
METADATA = {"tags": ["solution"], "slideshow": {"slide_type": "skip"}}


def is_solution(cell: Any) -> bool:
    """Whether a cell holds, or held, the solution of an exercise."""
    return "solution" in cell.metadata.get("tags", [])


class UsedError(Exception):
    """A cell of a lesson uses what a solution defines, which the notebook will not run."""


def fold(notebook: Any) -> None:
    """Fold the solutions of a notebook, and number what is left to run."""
    from nbformat.v4 import new_markdown_cell

    used: set[str] = set()  # by the cells further down
    for place in reversed(range(len(notebook.cells))):
        cell = notebook.cells[place]
        if cell.cell_type != "code":
            continue
        if is_solution(cell):
            if both := used.intersection(_defined(cell.source)):
                raise UsedError(f"{', '.join(both)} of {cell.source[:14]} is used further down")
            folded = new_markdown_cell(_details(cell), metadata=METADATA)
            folded["id"] = cell.id
            notebook.cells[place] = folded
            continue
        used |= _names(cell.source)
    code = (cell for cell in notebook.cells if cell.cell_type == "code")
    for number, cell in enumerate(code, start=1):
        if cell.execution_count is not None:
            cell.execution_count = number
            for output in cell.outputs:
                if "execution_count" in output:
                    output["execution_count"] = number


def _details(cell: Any) -> str:
    name, _, code = cell.source.partition("\n")
    verdict = "".join(output.get("text", "") for output in cell.outputs).strip()
    lines = [f"<details><summary>{name.lstrip('# ')}</summary>", "", "```python", code, "```", ""]
    lines += ["```text", verdict, "```", ""] if verdict else []
    return "\n".join([*lines, END])


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def _defined(source: str) -> Iterator[str]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _names(ast.unparse(target))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name
