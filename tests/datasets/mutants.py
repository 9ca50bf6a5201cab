"""Mutants of the downloader: each is one line made wrong, and some test must notice.

``python -m tests.datasets.mutants`` writes a copy of the package, changes one line at a time and
runs the tests of fetching on it; it prints the mutants that survive. It takes a quarter of an hour.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ["test_transfer.py", "test_unpacking.py", "test_fetching.py", "test_manifest.py"]
SECONDS = 240  # a mutant that hangs is noticed

RAISE = 'raise BrokenOffError("has another size'

#: File, what stands there, what stands there instead.
MUTANTS = [
    # checksums, and the order of checking and naming
    ("transfer", "source.sha256 in (None, sha256_of(partial))", "True"),
    ("transfer", "not (resumed and remaining)", "not remaining"),
    ("transfer", "        discard(partial)\n        # The two", "        # The two"),
    ("unpacking", "digest.hexdigest() != file.sha256", "False"),
    ("unpacking", "with replacing(path) as out", 'with path.open("wb") as out'),
    ("fetching", "digest.hexdigest() == file.sha256", "True"),
    ("fetching", "        discard(partial)\n        raise", "        raise"),
    # sizes
    ("transfer", "if have > source.limit", "if False"),
    ("transfer", "source.bytes not in (None, announced)", "False"),
    ("transfer", "announced > source.limit", "False"),
    ("transfer", "have >= source.limit", "False"),
    ("transfer", "response.length or have < (source.bytes or 0)", "have < (source.bytes or 0)"),
    ("transfer", "response.length or have < (source.bytes or 0)", "response.length"),
    ("unpacking", "size > file.bytes", "False"),
    ("unpacking", "info.compress_type not in ZIP_METHODS", "False"),
    ("fetching", "free < needed", "False"),
    ("fetching", "sum(file.bytes for file in one.files) + SLACK", "1 << 60"),
    # parts
    ("transfer", 'f"bytes={have}-"', 'f"bytes={have + 1}-"'),
    ("transfer", 'headers["Range"] =', 'headers["Ranges"] ='),
    ("transfer", "if validator else {}", "if False else {}"),
    ("transfer", 'if note["address"] == address', "if True"),
    ("transfer", "tag.startswith('\"')", "True"),
    ("transfer", "resumed = response.status == HTTPStatus.PARTIAL_CONTENT", "resumed = bool(have)"),
    ("transfer", '"ab" if resumed else "wb"', '"ab"'),
    ("transfer", '"ab" if resumed else "wb"', '"wb"'),
    ("transfer", "                have = 0\n                _take", "                _take"),
    ("transfer", 'startswith(f"bytes {have}-")', 'startswith("bytes ")'),
    ("transfer", "have and response.headers", "response.headers"),
    ("transfer", "if have and have == source.bytes", "if False"),
    ("transfer", f"discard(partial)\n            {RAISE}", RAISE),
    ("transfer", "partial.is_symlink() or _note(partial).is_symlink()", "False"),
    ("transfer", "partial.is_symlink() or _note(partial).is_symlink()", "partial.is_symlink()"),
    ("transfer", "file.flush()", "pass"),
    ("transfer", "TRIES = 4", "TRIES = 1"),
    ("fetching", "discard(partial)  # also", "pass  # also"),
    ("transfer", "if not _size(partial)", "if False"),
    # addresses and time
    ("transfer", "not is_secure(newurl, loopback=self.loopback)", "False"),
    ("transfer", "is_secure(newurl, loopback=self.loopback)", "is_secure(newurl, loopback=True)"),
    ("transfer", "not is_secure(address, loopback=True)", "False"),
    ("transfer", "=ssl.create_default_context()", "=ssl._create_unverified_context()"),
    ("transfer", "{} if loopback else None", "None"),
    ("transfer", ".is_loopback", ".is_private"),
    ("transfer", "have - bytes_then < LEAST_SPEED * timeout", "False"),
    ("transfer", "open(request, timeout=timeout)", "open(request)"),
    ("fetching", "not is_secure(base, loopback=True)", "False"),
    ("fetching", "list(mirrors) or", "list(mirrors) and"),
    # the lock, and what is there
    ("fetching", "            if held:", "            if True:"),
    ("fetching", "(0.0, FOR_EVER)", "(FOR_EVER,)"),
    ("fetching", "state == DAMAGED and not overwrite", "False"),
    ("fetching", "return state != RIGHT", "return state == MISSING"),
    ("fetching", "            continue\n        came", "            raise\n        came"),
]  # fmt: skip


def survives(folder: Path, name: str, old: str, new: str) -> bool:
    """Whether all tests pass on the copy in a folder with one text changed."""
    path = folder / "deepnlp" / "datasets" / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (name, old, text.count(old))
    path.write_text(text.replace(old, new), encoding="utf-8")
    tests = [f"tests/datasets/{test}" for test in TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            command + tests, cwd=folder, capture_output=True, timeout=SECONDS, check=False
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Try all mutants, or those whose text contains the arguments."""
    chosen = [each for each in MUTANTS if not sys.argv[1:] or any(a in each[1] for a in sys.argv)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("deepnlp", "tests", "datasets"):
            shutil.copytree(ROOT / part, folder / part)
        for part in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / part, folder)
        alive = []
        for number, mutant in enumerate(chosen, 1):
            if survives(folder, *mutant):
                alive.append(mutant)
            print(f"{number}/{len(chosen)}", "SURVIVES" if mutant in alive else "found", mutant)
            sys.stdout.flush()
    print(f"{len(chosen) - len(alive)} of {len(chosen)} found")


if __name__ == "__main__":
    main()
