"""How long each cell of the lessons takes under Pyodide, in its short form.

``node tests/browser/run.mjs build/pyodide . SITE_PACKAGES tests/browser/lessons.py [LESSON]`` prints
a line of JSON for each lesson: seconds of all its cells, the longest ones, and the first error.
"""

import contextlib
import io
import json
import os
import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
os.environ["DEEPNLP_PROGRESS"] = ""


def run(path):
    names, seconds, error = {"__name__": "__main__"}, [], None
    os.makedirs(f"/work/{path.stem}", exist_ok=True)
    os.chdir(f"/work/{path.stem}")
    cells = [c for c in json.loads(path.read_text("utf-8"))["cells"] if c["cell_type"] == "code"]
    for number, cell in enumerate(cells, start=1):
        start = time.perf_counter()
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        except Exception as raised:
            error = error or f"cell {number}: {type(raised).__name__}: {raised}"
        seconds.append(round(time.perf_counter() - start, 1))
    longest = sorted(enumerate(seconds, start=1), key=lambda pair: -pair[1])[:3]
    return {"seconds": round(sum(seconds), 1), "cells": len(seconds), "longest": longest, "error": error}


for path in sorted(Path("/checkout/notebooks").glob("[0-9]*.ipynb")):
    if path.name.startswith(os.environ.get("LESSON", "")):
        print(json.dumps({path.stem: run(path)}), flush=True)
