"""Where the tests of what runs in a browser find a Pyodide and a browser."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def of_site(name: str) -> ModuleType:
    """A module of docs/site, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "site" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pyodide_or_skip() -> Path:
    """The folder of a Pyodide with NumPy, SciPy and matplotlib."""
    folder = of_site("pyodide_files").folder()
    if not (folder / "pyodide.mjs").exists():
        pytest.skip(f"no Pyodide in {folder}: python docs/site/pyodide_files.py fetches one")
    return folder
