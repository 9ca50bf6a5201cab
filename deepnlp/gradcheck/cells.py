"""The code of a file, or of the cells of a notebook, without what is no Python."""

import ast
import json
import re
from pathlib import Path

_PYTHON = re.compile(r"\s*%%(time|timeit|capture|prun)\b")
_COMMAND = re.compile(r"\s*([%!?]|[\w.\[\]*]+\?\??\s*$|[\w.,\s\[\]*'\"]+=\s*[!%])")


def text_of(file: Path) -> str:
    """The text of a file of Python, or of all cells of a notebook that can be read, in order."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".ipynb":
        return without_commands(text)
    cells = [cell.rstrip("\n") + "\n" for cell in cells_of(text)]
    return "".join(cell if _parses(cell) else "\n" * cell.count("\n") for cell in cells)


def cells_of(notebook: str) -> list[str]:
    r"""The texts of the cells of code of a notebook.

    >>> cells_of('{"cells": [{"cell_type": "code", "source": ["%time\\n", "x = 1"]}]}')
    ['pass\nx = 1']
    """
    cells = [cell for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]
    return [without_commands("".join(cell["source"])) for cell in cells]


def without_commands(text: str) -> str:
    r"""A text in which ``%matplotlib``, ``x = !ls``, ``obj?`` and cells of ``%%bash`` do nothing.

    >>> without_commands("if True:\n    files = !ls\nx = (7\n  % 4)")
    'if True:\n    pass\nx = (7\n  % 4)'
    """
    if _parses(text):
        return text
    lines = text.splitlines(True)
    first = next((line for line in lines if line.strip()), "")
    is_other = first.lstrip().startswith("%%") and not _PYTHON.match(first)
    is_continued = False
    for k, line in enumerate(lines):
        nothing = line[: len(line) - len(line.lstrip())] + "pass" + "\n" * line.endswith("\n")
        is_first = bool(_COMMAND.match(line)) and _parses("".join(lines[:k]) + nothing)
        if is_other or is_continued or is_first:
            lines[k] = nothing if is_first else "\n"
            is_continued = line.rstrip().endswith("\\")
    return "".join(lines)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
