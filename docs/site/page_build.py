"""Put together the page that checks a pasted backward pass: ``python docs/site/page_build.py OUT``.

``OUT`` can be served by any web server. Its Python is the published one, or with ``--local`` the
Pyodide of ``pyodide_files.py``.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = HERE / "page"
CACHE = ROOT / "build" / "page"
MATHJAX = CACHE / "mathjax.js"
#: The published Pyodide: the SHA-256 of the files that the page needs by their addresses. Those of
#: npm's package ``pyodide`` come from npm's mirror; its lock names those of the wheels.
PUBLISHED = json.loads((HERE / "pyodide.json").read_text("utf-8"))
PACKAGES = ["numpy", "threadpoolctl"]
LONGEST = 200_000  # letters of the code of a link
EXAMPLES = {
    "1-affine": "Affine layer",
    "2-batch-norm": "Batch norm",
    "3-lstm-cell": "LSTM cell",
    "4-attention": "Attention",
    "5-word2vec": "word2vec",
    "6-my-rnn": "A class of your own",
}
#: What of the wheel a check needs: the first load stays small.
KEPT = re.compile(
    r"deepnlp/((backend|diagnosis|gradcheck|kernels|layers)/.*)?[^/]*\.(py|toml)$|.*/METADATA$"
)
SECONDS = 30  # that a run may take, where the first check, which loads the checker, takes
FIRST = 2  # seconds; where it takes longer, a run may too


def wheel() -> Path:
    """The project's wheel, made anew."""
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # setuptools would pack old files
    folder = CACHE / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder]
    subprocess.run([*pip, ROOT], check=True)
    return next(folder.glob("*.whl"))


def lighter(wheel: Path, folder: Path) -> Path:
    """The wheel in a folder, with the rooms that a check enters."""
    packed = folder / wheel.name
    with (
        zipfile.ZipFile(wheel) as old,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new,
    ):
        for item in old.infolist():
            if KEPT.match(item.filename):
                new.writestr(item, old.read(item), zipfile.ZIP_DEFLATED)
    return packed


def changed(wheel: Path, old: bytes, new: bytes) -> None:
    """Replace a text in the metadata of a wheel, in place."""
    with zipfile.ZipFile(wheel) as archive:
        files = [(item, archive.read(item)) for item in archive.infolist()]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for item, data in files:
            is_metadata = item.filename.endswith("/METADATA")
            archive.writestr(item, data.replace(old, new) if is_metadata else data)


def with_material(wheel: Path) -> None:
    """Add to a wheel what the lessons import from the folder beside them."""
    notebooks = ROOT / "notebooks"
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((notebooks / "material").rglob("*.*")):
            if path.suffix in (".py", ".toml"):
                archive.write(path, path.relative_to(notebooks))


def codemirror() -> Path | None:
    """The editor in one file; None where npm is missing or reaches no registry.

    MathJax, which the site has for equations, comes with it.
    """
    made, folder = CACHE / "codemirror.js", CACHE / "npm"
    sources = [PAGE / name for name in ("package.json", "package-lock.json", "editor.js")]
    if made.exists() and made.stat().st_mtime > max(file.stat().st_mtime for file in sources):
        return made
    folder.mkdir(parents=True, exist_ok=True)
    for file in sources:
        shutil.copy(file, folder)
    npm = shutil.which("npm")
    commands = [
        [npm, "ci", "--silent"],
        [npm, "run", "--silent", "build", "--", f"--outfile={made}"],
    ]
    try:
        for command in commands if npm else []:
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            shutil.copy(folder / "node_modules" / "mathjax" / "es5" / "tex-svg.js", MATHJAX)
    except subprocess.CalledProcessError as error:
        print(error.stderr.decode(errors="replace")[-500:], file=sys.stderr)
    if not made.exists():
        print("npm gave no CodeMirror: the page has a plain textarea", file=sys.stderr)
        return None
    os.utime(made)
    return made


def build(out: Path, local: Path | None = None) -> Path:
    """Write the page into a folder, for the published Pyodide or for one in a folder."""
    shutil.copytree(
        PAGE,
        out,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("package*.json", "editor.js", "__pycache__"),
    )
    packed = lighter(wheel(), out)
    if made := codemirror():
        shutil.copy(made, out / "codemirror.js")
    files = dict(PUBLISHED)
    if local is not None:
        (out / "pyodide").symlink_to(local, target_is_directory=True)
        files = {f"pyodide/{name}": sha256(local / name) for name in needed(local)}
    folders = sorted({address.rpartition("/")[0] + "/" for address in PUBLISHED})
    files |= {name: sha256(out / name) for name in (packed.name, "checking.py", "worker.js")}
    integrity = {name: _base64(bytes.fromhex(value)) for name, value in files.items()}
    secure(out, " ".join(folders) if local is None else "")
    settings = {
        "packages": PACKAGES,
        "wheel": packed.name,
        "files": {name: f"sha256-{value}" for name, value in integrity.items()},
        "longest": LONGEST,
        "examples": EXAMPLES,
        "seconds": SECONDS,
        "first": FIRST,
    }
    (out / "settings.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
    return out


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def needed(pyodide: Path) -> list[str]:
    """The files of a local Pyodide that the page needs."""
    lock = json.loads((pyodide / "pyodide-lock.json").read_text("utf-8"))["packages"]
    names = ("pyodide.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
    wheels = [lock[name]["file_name"] for name in PACKAGES]
    return [*names, next(pyodide.glob("pyodide.asm.*js")).name, *wheels]


def secure(out: Path, pyodide: str) -> None:
    """State in the policies of page and frame the script of the frame, and where Python is."""
    script = (out / "frame.html").read_text("utf-8").partition("<script>")[2]
    digest = hashlib.sha256(script.partition("</script>")[0].encode()).digest()
    for path in (out / "frame.html", out / "index.html"):
        text = path.read_text("utf-8").replace("sha256-FRAME", f"sha256-{_base64(digest)}")
        path.write_text(text.replace(" PYODIDE;", f" {pyodide};".replace("  ", " ")), "utf-8")


def main() -> None:
    """Build it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--local", action="store_true")
    options = parser.parse_args()
    local = None
    if options.local:
        from pyodide_files import fetch

        local = fetch()
    print(build(options.out, local))


if __name__ == "__main__":
    main()
