"""Lesson 1 in JupyterLite, in headless Chromium and without a network, as a reader works in it."""

import pytest

from tests.browser import lite
from tests.browser.tools import chromium_or_skip, served

LESSON = "01_layers_by_hand.ipynb"
ANSWER = 'check("1.1", lambda x, W, b: x @ W + b)'
SECONDS = 900  # on a machine that is busy


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    chromium_or_skip()
    pytest.importorskip("jupyterlite_core", reason="jupyterlite-core is not installed")
    html = lite.built(tmp_path_factory.mktemp("lite"))
    with served(html) as (address, _), lite.chromium() as browser:
        yield lite.opened(browser.new_context(), address, LESSON)


@pytest.fixture(scope="module")
def state(opened):
    return lite.run_all(opened, SECONDS)


def text_of(cell):
    parts = [output.get("text", "") for output in cell["outputs"]]
    parts += [output.get("data", {}).get("text/plain", "") for output in cell["outputs"]]
    return "".join(part if isinstance(part, str) else "".join(part) for part in parts)


@pytest.mark.slow
def test_the_package_is_installed_and_every_cell_runs(state):
    assert state["cells"][0]["source"].startswith("%pip install -q deepnlp==")
    assert lite.errors(state) == []
    assert all(cell["count"] for cell in state["cells"] if cell["source"].strip())


@pytest.mark.slow
def test_figures_are_shown(state, opened):
    assert lite.figures(state) > 3
    shown = "[...document.querySelectorAll('.jp-OutputArea img')].some((i) => i.naturalWidth > 200)"
    opened.wait_for_function(shown, timeout=20_000)


@pytest.mark.slow
def test_an_exercise_is_checked_and_kept_after_a_reload(state, opened):
    asked = next(cell for cell in state["cells"] if 'check("1.1"' in cell["source"])
    assert "1.1" in text_of(asked)
    number = state["cells"].index(asked)
    opened.evaluate(
        """([number, answer]) => {
          const notebook = window.jupyterapp.shell.currentWidget.content;
          const code = notebook.widgets.filter((cell) => cell.model.type === "code");
          notebook.activeCellIndex = notebook.widgets.indexOf(code[number]);
          notebook.mode = "edit";
          code[number].model.sharedModel.setSource("");
          code[number].editor.focus();
        }""",
        [number, ANSWER],
    )
    opened.keyboard.insert_text(ANSWER)
    opened.keyboard.press("Shift+Enter")
    before = asked["count"]
    answered = lite.until(
        opened, lambda now: (now["cells"][number]["count"] or before) > before, SECONDS
    )
    assert "right" in text_of(answered["cells"][number])
    opened.keyboard.press("Control+s")
    opened.wait_for_function(
        "!window.jupyterapp.shell.currentWidget.context.model.dirty", timeout=20_000
    )
    opened.reload()
    opened.wait_for_function(
        "window.jupyterapp?.shell?.currentWidget?.content?.model?.cells?.length > 3",
        timeout=120_000,
    )
    assert opened.evaluate(lite.STATE)["cells"][number]["source"] == ANSWER
