"""Build the site: ``make docs``, or ``python docs/site/build.py``; it is then in ``build/site/html``.

The sources are gathered in ``build/site/source``: the pages of ``docs``, the lessons as built, a page
for each module of the package. ``--strict`` makes warnings errors, ``--links`` checks all links.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import page_build

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SITE = ROOT / "build" / "site"
SOURCE = SITE / "source"
LINKED = ("docs", "notebooks", "CHANGELOG.md", "CONTRIBUTING.md")
UNDOCUMENTED = ("deepnlp.cli", "deepnlp.__main__")


def _write(path: Path, text: str) -> None:
    """Write a file, unless it says that already: Sphinx reads again what is newer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, encoding="utf-8")


def gather() -> None:
    """Put all sources in one folder, laid out as the checkout is."""
    SOURCE.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        if not (SOURCE / name).exists():
            (SOURCE / name).symlink_to(ROOT / name)
    _write(SOURCE / "index.md", (HERE / "index.md").read_text("utf-8"))
    write_api()


def write_api() -> None:
    """A page for each module, and one for each package with the list of its modules."""
    import deepnlp

    children: dict[str, list[str]] = {"deepnlp": []}
    for module in pkgutil.walk_packages(deepnlp.__path__, "deepnlp."):
        private = module.name.rpartition(".")[2].startswith("_")
        if private or module.name.startswith(UNDOCUMENTED):
            continue
        if module.ispkg:
            children[module.name] = []
        children.setdefault(module.name.rpartition(".")[0], []).append(module.name)
    every = {name for names in children.values() for name in names} | {"deepnlp"}
    for name in every:
        title = f"{name}\n{'=' * len(name)}\n\n.. automodule:: {name}\n"
        if name in children:
            toc = "".join(f"   {child}\n" for child in sorted(children[name]))
            title += f"   :no-members:\n\n.. toctree::\n   :maxdepth: 1\n\n{toc}"
        elif not import_module(name).__doc__:
            title += "   :members:\n"
        _write(SOURCE / "api" / f"{name}.rst", title)
    head = "API\n===\n\nFrom the docstrings of the package, module by module.\n\n"
    _write(SOURCE / "api" / "index.rst", f"{head}.. toctree::\n   :maxdepth: 2\n\n   deepnlp\n")
    for path in (SOURCE / "api").glob("deepnlp*.rst"):
        if path.stem not in every:
            path.unlink()


def sphinx(builder: str, *options: str) -> None:
    """Run a builder of Sphinx on what was gathered."""
    command = [sys.executable, "-m", "sphinx", "-b", builder, "-c", HERE, "-d", SITE / "doctrees"]
    subprocess.run([*command, *options, SOURCE, SITE / builder], check=True)


def main() -> None:
    """Build it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--links", action="store_true")
    parser.add_argument("--gettext", action="store_true")
    parser.add_argument("--local", action="store_true", help="the page's Python is a local one")
    options = parser.parse_args()
    gather()
    strict = ["-W", "--keep-going"] if options.strict else []
    if options.links:
        return sphinx("linkcheck", *strict)
    if options.gettext:
        return sphinx("gettext")
    sphinx("html", *strict)
    local = None
    if options.local:
        import pyodide_files

        local = pyodide_files.fetch()
    shutil.rmtree(SITE / "html" / "check", ignore_errors=True)
    page_build.build(SITE / "html" / "check", local=local)
    print(f"the site: {SITE / 'html' / 'index.html'}")


if __name__ == "__main__":
    main()
