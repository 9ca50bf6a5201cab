"""Look at the pages of the built site in headless Chromium: ``python docs/site/look.py``.

Every page is opened at two widths, light and dark. What axe calls serious or critical is printed,
and a page that is wider than its window. Contrast, which takes most of the time, is measured wide
and light, and narrow and dark. ``--shots FOLDER`` keeps pictures; arguments name some pages of the
site, or HTML files elsewhere, such as the ``class.html`` of a teacher. axe is that of the package
``axe-playwright-python``. The exit code is 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SITE = Path(__file__).resolve().parents[2] / "build" / "site" / "html"
WIDTHS = (1280, 400)
SCHEMES = ("light", "dark")
SERIOUS = ("serious", "critical")
#: The elements that reach beyond the window, unless something around them scrolls.
WIDER = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const scrolls = (node) => node !== document.documentElement && node !== document.body
    && (getComputedStyle(node).overflowX !== "visible" || scrolls(node.parentElement));
  return [...document.querySelectorAll("body *")]
    .filter((node) => node.getBoundingClientRect().right > width + 1 && !scrolls(node))
    .map((node) => node.outerHTML.slice(0, 100));
}"""


def faults(page: Any, contrast: bool) -> list[str]:
    """What is wrong with the page that is shown, by axe and by its width."""
    rules = {"color-contrast": {"enabled": contrast}}
    options = {"resultTypes": ["violations"], "rules": rules}
    result = page.evaluate("(options) => axe.run(document, options)", options)
    found = []
    for fault in result["violations"]:
        if fault["impact"] in SERIOUS:
            first, times = fault["nodes"][0]["html"][:160], len(fault["nodes"])
            found.append(f"{fault['id']} ({fault['impact']}) {times} times, first {first}")
    return found + [f"wider than the window: {node}" for node in page.evaluate(WIDER)[:3]]


def pages(names: list[str]) -> list[str]:
    """Addresses below the site of all its pages but JupyterLite's, or of those that are named."""
    if names:
        return names
    found = (path.relative_to(SITE).as_posix() for path in sorted(SITE.rglob("*.html")))
    return [name for name in found if not name.startswith("lite/")]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    """Look at them from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="*")
    parser.add_argument("--shots", type=Path)
    parser.add_argument("--quick", action="store_true", help="wide and light, narrow and dark only")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    axe = Path(importlib.util.find_spec("axe_playwright_python").origin).with_name("axe.min.js")
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    handler = partial(_Quiet, directory=str(SITE))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    full = list(zip(WIDTHS, SCHEMES, strict=True))
    views = full if options.quick else [(width, scheme) for width in WIDTHS for scheme in SCHEMES]
    number, count = 0, 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        context = browser.new_context(service_workers="block", reduced_motion="reduce")
        for name in pages(options.page):
            page = context.new_page()
            site = f"http://127.0.0.1:{server.server_port}/"
            address = f"file://{name}" if Path(name).is_absolute() else site + name
            page.goto(address, wait_until="domcontentloaded", timeout=600_000)
            page.evaluate(axe.read_text("utf-8"))
            for width, scheme in views:
                page.set_viewport_size({"width": width, "height": 900})
                page.emulate_media(color_scheme=scheme)
                page.wait_for_timeout(200)
                number += 1
                for fault in faults(page, (width, scheme) in full):
                    count += 1
                    print(f"{name} at {width}, {scheme}: {fault}", flush=True)
                if options.shots:
                    shot = f"{name.strip('/').replace('/', '_')}-{width}-{scheme}.png"
                    page.screenshot(path=options.shots / shot)
            page.close()
        browser.close()
    print(f"{number} views, {count} faults")
    sys.exit(count > 0)


if __name__ == "__main__":
    main()
