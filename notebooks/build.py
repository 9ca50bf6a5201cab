"""Run the lessons and keep their outputs: ``python -m notebooks.build``.

The source of a lesson is ``notebooks/NN_name.py`` (cells marked by ``# %%``); this writes the
notebook of the same name beside it, with outputs. It needs the extra ``notebooks``.

Solutions are folded (:mod:`notebooks.folding`), figures get a palette (:mod:`notebooks.pictures`).
Numbers that the text quotes from the cells are compared with them (:mod:`notebooks.quoted`); if one
differs the notebook is not written, but kept aside, and ``--text`` takes its outputs once the text
is corrected.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from notebooks.folding import END, UsedError, fold, is_solution
from notebooks.pictures import shrink
from notebooks.quoted import QuotedError, add_probes, complaints, keep_values, take_probes

FOLDER = Path(__file__).resolve().parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def sources(names: Sequence[str] = ()) -> list[Path]:
    """The sources of the lessons, in order.

    Parameters
    ----------
    names : sequence of str
        Such as ``"01_layers_by_hand"`` or ``"01"``; all where there is none.

    Returns
    -------
    list of Path

    Raises
    ------
    FileNotFoundError
        If there is no lesson of a name.
    """
    found = sorted(FOLDER.glob("[0-9]*.py"))
    for name in names:
        if not any(path.stem.startswith(name) for path in found):
            there = ", ".join(path.stem for path in found) or f"none in {FOLDER}"
            raise FileNotFoundError(f"no lesson is called {name}; there are: {there}")
    return [path for path in found if not names or path.stem.startswith(tuple(names))]


def read(source: Path) -> Any:
    """A lesson's cells without outputs, numbered from the first.

    Parameters
    ----------
    source : Path
        A file of cells marked by ``# %%``. Solutions may stand in a file of the same name in the
        folder ``solutions``; each comes after the cell that checks its exercise.

    Returns
    -------
    nbformat.NotebookNode
    """
    import jupytext

    notebook = jupytext.read(source)
    solutions = source.parent / "solutions" / source.name
    if solutions.exists():
        _insert(notebook, jupytext.read(solutions).cells)
    notebook.metadata["kernelspec"] = dict(KERNEL)
    notebook.metadata["language_info"] = {"name": "python"}
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"  # the same every time, so that differences are small
        if cell.cell_type == "markdown":  # a slide, with the code that follows
            slide = "slide" if cell.source.startswith("#") else "subslide"
            cell.metadata["slideshow"] = {"slide_type": slide}
    return notebook


def execute(source: Path, short: bool = False, timeout: float = 900.0) -> Any:
    """Run a lesson from top to bottom.

    Parameters
    ----------
    source : Path
    short : bool
        In its short form.
    timeout : float
        Seconds that one cell may take.

    Returns
    -------
    nbformat.NotebookNode
        With outputs, the values of quoted numbers in its metadata, and no traces of when and
        where it ran.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell, or the expression of a quoted number, raises an error.
    """
    from nbclient import NotebookClient

    notebook = read(source)
    add_probes(notebook)
    environment = os.environ | {"DEEPNLP_LESSON": "short" if short else "full"}
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name=KERNEL["name"],
        resources={"metadata": {"path": str(source.parent)}},
        record_timing=False,
    )
    client.execute(env=environment)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    take_probes(notebook)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def build(
    source: Path, short: bool = False, output: Path | None = None, text: bool = False
) -> Path:
    """Run a lesson and write its notebook.

    Parameters
    ----------
    source : Path
    short : bool
        In its short form.
    output : Path, optional
        Folder to write to; that of the source by default.
    text : bool
        Run nothing: take the outputs of the last run, whose code has to be the same.

    Returns
    -------
    Path
        The notebook.

    Raises
    ------
    QuotedError
        If the text quotes a number that the cells did not give. The notebook is then kept beside
        the others, as ``NN_name.refused.ipynb``.
    UsedError
        If a cell uses what a solution defines.
    """
    import nbformat

    folder = source.parent if output is None else output
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{source.stem}.ipynb"
    refused = path.with_suffix(".refused.ipynb")
    if text:
        last = nbformat.read(refused if refused.exists() else path, as_version=4)
        notebook = _with_outputs(read(source), last)
    else:
        notebook = execute(source, short)
        fold(notebook)
    shrink(notebook)
    notebook.metadata.pop("jupytext", None)  # else JupyterLab would save a reader's work to source
    wrong = [] if short else complaints(notebook)
    nbformat.write(notebook, refused if wrong else path)
    if wrong:
        raise QuotedError(f"{source.name} quotes other numbers:\n  " + "\n  ".join(wrong))
    refused.unlink(missing_ok=True)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the lessons that are named, or all.

    Parameters
    ----------
    arguments : sequence of str, optional

    Returns
    -------
    int
        0; 1 if a cell raises an error or the text quotes a number that no cell gave; 2 if a name
        is unknown or a package is missing.
    """
    parser = argparse.ArgumentParser(
        prog="python -m notebooks.build", description="Run the lessons, keep their outputs."
    )
    parser.add_argument("names", nargs="*", help="such as 01 or 01_layers_by_hand; all by default")
    parser.add_argument("--short", action="store_true", help="the short form")
    parser.add_argument(
        "--text", action="store_true", help="only the text has changed: take the last outputs"
    )
    parser.add_argument("--output", type=Path, help="folder to write to; by default notebooks/")
    options = parser.parse_args(arguments)
    try:
        for source in sources(options.names):
            begun = time.perf_counter()
            path = _build_or_complain(source, options.short, options.output, options.text)
            if path is None:
                return 1
            print(f"{path.name}: {time.perf_counter() - begun:.0f} s", flush=True)
    except FileNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        print(f"error: {error}; python -m pip install {error.name}", file=sys.stderr)
        return 2
    return 0


def _joined(outputs: list[Any]) -> list[Any]:
    """Outputs with what was printed in one piece, however it arrived."""
    joined: list[Any] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if output.get("name") and output.get("name") == last.get("name"):
            last["text"] += output["text"]
        else:
            joined.append(output)
    return joined


def _insert(notebook: Any, solutions: list[Any]) -> None:
    """Put each solution after the cell that checks the exercise."""
    for solution in solutions:
        first = solution.source.partition("\n")[0]
        if not first.startswith("# Solution "):  # imports, which the lesson has
            continue
        name = first.removeprefix("# Solution ")
        solution.metadata |= {"jupyter": {"source_hidden": True}, "tags": ["solution"]}
        places = [k for k, c in enumerate(notebook.cells) if f'check("{name}", ' in c.source]
        notebook.cells.insert(places[0] + 1, solution)


def _with_outputs(notebook: Any, last: Any) -> Any:
    """A lesson's present text between the cells, outputs and values of its last run."""
    fold(notebook)
    ran = [cell for cell in last.cells if cell.cell_type == "code" or is_solution(cell)]
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" or is_solution(cell):
            old = ran.pop(0) if ran else {"source": ""}
            if not old["source"].startswith(cell.source.removesuffix(END)):
                raise QuotedError(f"this code has changed, the lesson has to run:\n{cell.source}")
            old["id"] = cell.id
            notebook.cells[place] = old
    keep_values(notebook, last.metadata.get("quoted", []))
    return notebook


def _build_or_complain(source: Path, short: bool, output: Path | None, text: bool) -> Path | None:
    """The notebook, or None if something was wrong, which is then shown."""
    from nbclient.exceptions import CellExecutionError

    try:
        return build(source, short, output, text)
    except (CellExecutionError, QuotedError, UsedError) as error:
        print(f"error: {source.name}: {error}", file=sys.stderr)
        return None


def plain_text(output: Any) -> str:
    """What a reader sees of an output, as text.

    Parameters
    ----------
    output : nbformat.NotebookNode

    Returns
    -------
    str
        A printed text, a value's text, or an empty text for a figure alone.
    """
    text = output.get("text", "") or output.get("data", {}).get("text/plain", "")
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


if __name__ == "__main__":
    sys.exit(main())
