"""The code of a file, or of the cells of a notebook."""

import json
from pathlib import Path


def text_of(file: Path) -> str:
    """The text of a file of Python, or of all cells of a notebook, one behind the other."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".ipynb":
        return text
    return "".join(cell.rstrip("\n") + "\n" for cell in cells_of(text))


def cells_of(notebook: str) -> list[str]:
    r"""The texts of the cells of code of a notebook, without lines such as ``%matplotlib``.

    >>> cells_of('{"cells": [{"cell_type": "code", "source": ["%time\\n", "x = 1"]}]}')
    ['\nx = 1']
    """
    cells = [cell for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]
    lines = ["".join(cell["source"]).splitlines(True) for cell in cells]
    magic = ("%", "!", "?")
    return ["".join("\n" if n.lstrip().startswith(magic) else n for n in cell) for cell in lines]
