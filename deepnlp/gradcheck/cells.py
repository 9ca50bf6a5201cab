"""The code of a file, or of the cells of a notebook."""

import json
from pathlib import Path


def text_of(file: Path) -> str:
    """The lines of a file of Python, or of all cells of a notebook, one behind the other."""
    if file.suffix != ".ipynb":
        return file.read_text(encoding="utf-8")
    return "".join("".join(lines).rstrip("\n") + "\n" for lines in cells_of(file))


def cells_of(file: Path) -> list[list[str]]:
    """The lines of each cell with code; commands of the notebook (``%``, ``!``) are empty lines."""
    cells = [c for c in json.loads(file.read_text("utf-8"))["cells"] if c["cell_type"] == "code"]
    texts = ["".join(cell["source"]).splitlines(True) for cell in cells]
    return [["\n" if s.lstrip().startswith(("%", "!", "?")) else s for s in text] for text in texts]
