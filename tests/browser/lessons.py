"""How long each cell of the lessons takes under Pyodide, in its short form.

``node tests/browser/run.mjs build/pyodide . PACKAGES tests/browser/lessons.py LESSON`` prints a
line of JSON: processor seconds of all its cells, those of the longest ones, and the first error.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

import matplotlib
from js import process

matplotlib.use("Agg")
sys.path.append("/checkout/notebooks")  # material/ is beside the lessons


def clock():
    """Processor seconds of node; Python's own clock of them stands still here."""
    used = process.cpuUsage()
    return (used.user + used.system) / 1e6


def run(path):
    """Run all cells of a lesson, one after the other."""
    names, seconds, error = {"__name__": "__main__"}, [], None
    Path("/work").mkdir(exist_ok=True)
    os.chdir("/work")
    cells = [c for c in json.loads(path.read_text("utf-8"))["cells"] if c["cell_type"] == "code"]
    quiet = io.StringIO()
    for number, cell in enumerate(cells, start=1):
        start = clock()
        try:
            with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        except Exception as raised:
            error = error or f"cell {number}: {type(raised).__name__}: {raised}"
        seconds.append(round(clock() - start, 1))
    longest = sorted(enumerate(seconds, start=1), key=lambda pair: -pair[1])[:3]
    facts = {"seconds": round(sum(seconds), 1), "cells": len(seconds), "longest": longest}
    return {path.stem: facts | {"error": error}}


for path in sorted(Path("/checkout/notebooks").glob("[0-9]*.ipynb")):
    if path.name.startswith(os.environ.get("LESSON", "")):
        print(json.dumps(run(path)), flush=True)
