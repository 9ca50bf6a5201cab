"""Run lessons in JupyterLite in headless Chromium: ``python -m tests.browser.lite 02 03``.

It prints a line of JSON for each lesson: seconds until its kernel waits, seconds of all its cells,
and the first error. Without names it takes all lessons.
"""

import json
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser.tools import ROOT, chromium_or_skip, of_site, pyodide_or_skip, served

#: What a reader sees: the state of the kernel and of each cell of code.
STATE = """() => {
  const panel = window.jupyterapp?.shell?.currentWidget;
  if (!panel?.content?.model || !panel.sessionContext) return {kernel: null, cells: []};
  const code = [...panel.content.model.cells].filter((cell) => cell.type === "code");
  return {
    kernel: panel.sessionContext.session?.kernel?.status ?? null,
    cells: code.map((cell) => ({
      count: cell.executionCount,
      source: cell.sharedModel.getSource(),
      outputs: cell.sharedModel.getOutputs(),
    })),
  };
}"""
COMMAND = "(name) => { window.jupyterapp.commands.execute(name) }"


def built(folder):
    """JupyterLite with the local Pyodide, or the test is skipped."""
    if not (pyodide_or_skip() / "lite").exists():
        pytest.skip("no wheels for JupyterLite: python docs/site/pyodide_files.py fetches them")
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    try:
        return of_site("build").lite_alone(Path(folder))
    finally:
        sys.path.remove(str(ROOT / "docs" / "site"))


@contextmanager
def chromium():
    """A browser that reaches this machine and nothing else."""
    path = chromium_or_skip()
    from playwright.sync_api import sync_playwright

    alone = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", alone])
        yield browser
        browser.close()


def opened(context, address, name):
    """A page with a lesson whose kernel waits."""
    page = context.new_page()
    page.goto(f"{address}lite/notebooks/index.html?path={name}")
    until(page, lambda state: state["kernel"] == "idle" and len(state["cells"]) > 3, 600)
    return page


def until(page, holds, seconds):
    """The state of a lesson when something holds, or an error that shows the last one."""
    end = time.monotonic() + seconds
    while True:
        state = page.evaluate(STATE)
        if holds(state):
            return state
        if time.monotonic() > end:
            done = sum(cell["count"] is not None for cell in state["cells"])
            raise TimeoutError(
                f"{done} cells ran, the kernel is {state['kernel']}; {errors(state)}"
            )
        page.wait_for_timeout(500)


def errors(state):
    """Of each cell that failed its number and its error."""
    return [
        f"cell {number}: {output['ename']}: {output['evalue']}"
        for number, cell in enumerate(state["cells"], start=1)
        for output in cell["outputs"]
        if output["output_type"] == "error"
    ]


def ran(state):
    """Whether all cells ran, or one failed and those after it were left out."""
    counts = [cell["count"] is not None for cell in state["cells"] if cell["source"].strip()]
    return state["kernel"] == "idle" and (all(counts) or bool(errors(state)))


def run_all(page, seconds=900):
    """Run all cells, as the menu does."""
    page.evaluate(COMMAND, "notebook:run-all-cells")
    return until(page, ran, seconds)


def figures(state):
    """Number of pictures among the outputs."""
    outputs = [output for cell in state["cells"] for output in cell["outputs"]]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def main(names):
    with tempfile.TemporaryDirectory() as place:
        html = built(place)
        lessons = sorted(path.name for path in (html / "lite" / "files").glob("[0-9]*.ipynb"))
        for lesson in (name for name in lessons if name.startswith(tuple(names))):
            with served(html) as (address, _), chromium() as browser:
                start = time.perf_counter()
                page = opened(browser.new_context(), address, lesson)
                ready = time.perf_counter()
                try:
                    state = run_all(page)
                    failed = errors(state)
                except TimeoutError as error:
                    failed = [str(error)]
                facts = {"opened": round(ready - start), "ran": round(time.perf_counter() - ready)}
                facts |= {"figures": figures(page.evaluate(STATE)), "errors": failed[:1]}
                print(json.dumps({lesson: facts}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or [""])
