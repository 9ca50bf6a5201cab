"""Build the site into ``build/site/html``: ``make docs``, or ``python docs/site/build.py``.

The sources are gathered in ``build/site/source``: the pages of ``docs``, the lessons as built, one
for each room of the package. ``--strict`` makes warnings errors, ``--links`` checks all links.
"""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import page_build

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SITE = ROOT / "build" / "site"
SOURCE = SITE / "source"
COPIED = (
    "docs/*.md",
    "docs/guides/*",
    "docs/results/**/*",
    "docs/maintaining/**/*",
    "docs/images/*",
)
COPIED += ("notebooks/*.ipynb", "CHANGELOG.md", "CONTRIBUTING.md")
UNDOCUMENTED = ("deepnlp.cli", "deepnlp.__main__")


def _write(path: Path, text: str) -> None:
    """Write a file, unless it says that already: Sphinx reads again what is newer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, encoding="utf-8")


def gather(local: bool = False) -> None:
    """Put all sources in one folder, laid out as the checkout is."""
    for path in (path for pattern in COPIED for path in ROOT.glob(pattern) if path.is_file()):
        copy = SOURCE / path.relative_to(ROOT)
        if not copy.exists() or copy.stat().st_mtime != path.stat().st_mtime:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
    _write(SOURCE / "index.md", (HERE / "index.md").read_text("utf-8"))
    write_api()
    write_lite(SITE / "lite", local)


def write_api() -> None:
    """A page for each package, with its modules one below the other."""
    import deepnlp

    pages: dict[str, list[str]] = {"deepnlp": []}
    for module in pkgutil.walk_packages(deepnlp.__path__, "deepnlp."):
        private = module.name.rpartition(".")[2].startswith("_")
        if module.ispkg and not module.name.startswith(UNDOCUMENTED):
            pages[module.name] = []
        elif not (private or module.name.startswith(UNDOCUMENTED)):
            pages[module.name.rpartition(".")[0]].append(module.name)
    for name, modules in pages.items():
        text = f"{name}\n{'=' * len(name)}\n\n.. automodule:: {name}\n   :no-members:\n"
        for module in modules:
            text += f"\n{module}\n{'-' * len(module)}\n\n.. automodule:: {module}\n"
        _write(SOURCE / "api" / f"{name}.rst", text)
    names = "".join(f"   {name}\n" for name in pages)
    head = (
        "API\n===\n\nFrom the docstrings of the package; the command line has ``deepnlp --help``.\n"
    )
    _write(SOURCE / "api" / "index.rst", f"{head}\n.. toctree::\n   :maxdepth: 1\n\n{names}")
    for path in (SOURCE / "api").glob("deepnlp*.rst"):
        if path.stem not in pages:
            path.unlink()


def write_lite(lite: Path, local: bool = False) -> None:
    """What JupyterLite serves: the lessons without outputs, and the wheel, which they install."""
    shutil.rmtree(lite / "pypi", ignore_errors=True)
    (lite / "pypi").mkdir(parents=True)
    (lite / "jupyter-lite.json").unlink(missing_ok=True)
    shutil.copy(page_build.wheel(), lite / "pypi")
    if local:
        use_local(lite)
    for wheel in (lite / "pypi").glob("deepnlp*.whl"):
        page_build.with_material(wheel)
    long = tomllib.loads((HERE / "lessons.toml").read_text("utf-8"))
    for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        lesson = json.loads(path.read_text("utf-8"))
        for cell in lesson["cells"]:
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
        lesson["cells"][:0] = in_the_browser(long.get(path.name[:2], {}))
        kernel = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
        lesson["metadata"]["kernelspec"] = kernel
        _write(lite / "files" / path.name, json.dumps(lesson))


def use_local(lite: Path) -> None:
    """Let JupyterLite take the Pyodide of ``pyodide_files.py`` from beside it, and no network.

    Its matplotlib is older than the package asks for, so the wheel asks for less.
    """
    import pyodide_files

    for wheel in pyodide_files.wheels().glob("*.whl"):
        shutil.copy(wheel, lite / "pypi")
    for wheel in (lite / "pypi").glob("deepnlp*.whl"):
        page_build.changed(wheel, b"matplotlib>=3.9", b"matplotlib>=3.8")
    kernel = {
        "pyodideUrl": "./../check/pyodide/pyodide.mjs",
        "pipliteWheelUrl": f"./pypi/{next((lite / 'pypi').glob('piplite*.whl')).name}",
        "disablePyPIFallback": True,
    }
    data = {
        "exposeAppInBrowser": True,  # for tests
        "litePluginSettings": {"@jupyterlite/pyodide-kernel-extension:kernel": kernel},
    }
    settings = {"jupyter-lite-schema-version": 0, "jupyter-config-data": data}
    _write(lite / "jupyter-lite.json", json.dumps(settings))


def lite_alone(folder: Path) -> Path:
    """JupyterLite with the local Pyodide and nothing else of the site, to be tested."""
    import pyodide_files

    lite, html = folder / "source", folder / "html"
    write_lite(lite, local=True)
    command = [sys.executable, "-m", "jupyter", "lite", "build", "--apps", "notebooks"]
    places = ["--lite-dir", lite, "--contents", lite / "files", "--output-dir", html / "lite"]
    subprocess.run([*command, *places], cwd=lite, check=True, capture_output=True)
    (html / "check").mkdir()
    (html / "check" / "pyodide").symlink_to(pyodide_files.fetch(), target_is_directory=True)
    return html


def in_the_browser(long: dict[str, str]) -> list[dict[str, Any]]:
    """The cells that a lesson begins with in a browser."""
    says = f" {long['says']}" if long else ""
    note = (
        "This lesson runs in your browser, where its experiments are in their short form; what you "
        f"write is kept there. Run the next cell first: it loads the package.{says}"
    )
    version = import_module("deepnlp").__version__
    code = f"%pip install -q deepnlp=={version}"
    nothing: dict[str, Any] = {"metadata": {}}
    return [
        {"cell_type": "markdown", "id": "browser-note", "source": note, **nothing},
        {
            "cell_type": "code",
            "id": "browser-load",
            "source": code,
            **nothing,
            "outputs": [],
            "execution_count": None,
        },
    ]


def broken(html: Path) -> list[str]:
    """Links within the site that lead nowhere, or to a place that a page has not."""
    missing, places = [], {}
    pages = [
        page for page in sorted(html.rglob("*.html")) if not page.is_relative_to(html / "lite")
    ]
    for page in pages:
        text = page.read_text("utf-8")
        places[page] = set(re.findall(r'\b(?:id|name)="([^"]+)"', text))
    for page in pages:
        for link in set(re.findall(r'(?:href|src)="([^"]+)', page.read_text("utf-8"))):
            path, _, place = unquote(link).partition("#")
            if re.match(r"[a-z]+:|//", path):
                continue
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not target.exists() or (place and place not in places.get(target, {place})):
                missing.append(f"{page.relative_to(html)}: {link}")
    return missing


def known_address() -> str:
    """Where the site is published, by the workflow or pyproject.toml; empty if nowhere."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["deepnlp"]["site"]
    return os.environ.get("DEEPNLP_SITE", known["address"])


def address_of_page(html: Path, address: str) -> None:
    """Say to search engines where the page ``check`` is, of which Sphinx does not know."""
    address, page = address.rstrip("/"), html / "check" / "index.html"
    text = page.read_text("utf-8").replace('content="../', f'content="{address}/')
    url = f'<meta property="og:url" content="{address}/check/index.html">\n</head>'
    page.write_text(text.replace("</head>", url), encoding="utf-8")
    sitemap = html / "sitemap.xml"
    entry = f"<url><loc>{address}/check/index.html</loc></url></urlset>"
    sitemap.write_text(sitemap.read_text("utf-8").replace("</urlset>", entry), encoding="utf-8")


def sphinx(builder: str, *options: str) -> None:
    """Run a builder of Sphinx on what was gathered."""
    trees = SITE / ("gettext.doctrees" if builder == "gettext" else "doctrees")  # marked otherwise
    command = [sys.executable, "-m", "sphinx", "-b", builder, "-c", HERE, "-d", trees]
    subprocess.run([*command, *options, SOURCE, SITE / builder], check=True)


def main() -> None:
    """Build it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--links", action="store_true")
    parser.add_argument("--gettext", action="store_true")
    parser.add_argument("--local", action="store_true", help="Pyodide is a local one")
    options = parser.parse_args()
    gather(options.local)
    strict = ["-W", "--keep-going"] if options.strict else []
    if options.links:
        return sphinx("linkcheck", *strict)
    if options.gettext:
        return sphinx("gettext")
    page_build.codemirror()
    sphinx("html", *strict)
    local = None
    if options.local:
        import pyodide_files

        local = pyodide_files.fetch()
    shutil.rmtree(SITE / "html" / "check", ignore_errors=True)
    page_build.build(SITE / "html" / "check", local=local)
    if address := known_address():
        address_of_page(SITE / "html", address)
    if missing := broken(SITE / "html"):
        print("links that lead nowhere:", *missing, sep="\n  ", file=sys.stderr)
        sys.exit(1)
    print(f"the site: {SITE / 'html' / 'index.html'}")


if __name__ == "__main__":
    main()
