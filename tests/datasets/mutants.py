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

#: File, what stands there, what stands there instead.
MUTANTS = [
    # checksums, and the order of checking and naming
    ("transfer", "source.sha256 in (None, sha256_of(partial))", "True"),
    ("transfer", "not (had and remaining)", "not remaining"),
    ("transfer", "        partial.unlink()\n        # The two", "        # The two"),
    ("fetching", "digest.hexdigest() != file.sha256", "False"),
    ("fetching", "with replacing(path) as out", 'with path.open("wb") as out'),
    ("fetching", "(ValueError, TransferError):", "ValueError:"),
    ("fetching", "        partial.unlink()\n        raise", "        raise"),
    # sizes
    ("transfer", "if have > source.limit", "if False"),
    ("transfer", "source.bytes not in (None, announced)", "False"),
    ("transfer", "announced > source.limit", "False"),
    ("transfer", "have >= source.limit", "False"),
    ("transfer", "response.length or have < (source.bytes or 0)", "have < (source.bytes or 0)"),
    ("transfer", "response.length or have < (source.bytes or 0)", "response.length"),
    ("fetching", "size > file.bytes", "False"),
    ("fetching", "info.compress_type not in ZIP_METHODS", "False"),
    ("fetching", "sum(file.bytes for file in offer.files) + SLACK", "1 << 60"),
    # parts
    ("transfer", 'f"bytes={have}-"', 'f"bytes={have + 1}-"'),
    ("transfer", '"Range": f', '"Ranges": f'),
    ("transfer", '"ab" if have else "wb"', '"ab"'),
    ("transfer", '"ab" if have else "wb"', '"wb"'),
    ("transfer", "OK:\n        have = 0", "OK:\n        pass"),
    ("transfer", 'startswith(f"bytes {have}-")', 'startswith("bytes ")'),
    ("transfer", "have and response.headers", "response.headers"),
    ("transfer", "if have and have == source.bytes", "if False"),
    ("transfer", "    partial.unlink(missing_ok=True)\n            raise", "    raise"),
    ("transfer", "stat.S_ISREG(found.st_mode) and ", ""),
    ("transfer", " and found.st_nlink == 1", ""),
    ("transfer", "os.path.lexists(partial)", "partial.exists()"),
    ("transfer", "file.flush()", "pass"),
    ("transfer", "TRIES = 4", "TRIES = 1"),
    ("fetching", "path.unlink(missing_ok=True)  # also", "pass  # also"),
    ("transfer", "if not _size(partial)", "if False"),
    # addresses and time
    ("transfer", "not is_secure(newurl, loopback=not is_secure(req.full_url))", "False"),
    ("transfer", "loopback=not is_secure(req.full_url)", "loopback=True"),
    ("transfer", "not is_secure(address, loopback=True)", "False"),
    ("transfer", "=ssl.create_default_context()", "=ssl._create_unverified_context()"),
    ("transfer", "None if is_secure(address) else {}", "None"),
    ("transfer", "LOOPBACK.fullmatch", "LOOPBACK.match"),
    ("transfer", "self._came < self._speed * self._timeout", "False"),
    ("transfer", "self.expect(math.inf)", "self.expect(LEAST_SPEED)"),
    ("transfer", "self._paced.expect(LEAST_SPEED)", "self._paced.expect(0)"),
    ("transfer", "self.expect(self._speed)", "pass"),
    ("transfer", "self._connection.close()", "pass"),
    ("transfer", "def _read_and_discard_trailer", "def _read_all"),
    ("transfer", "fp.length, fp.chunked = 0, False", "pass"),
    ("transfer", "made.response_class = _Response", "pass"),
    ("transfer", "headers=headers), timeout=timeout)", "headers=headers))"),
    ("fetching", "not is_secure(base, loopback=True)", "False"),
    ("fetching", "list(mirrors) or", "list(mirrors) and"),
    # the lock, and what is there
    ("fetching", "with locked(lock, math.inf)", "if True"),
    ("fetching", "locked(lock, 0)", "locked(lock, math.inf)"),
    ("fetching", "state == DAMAGED and not overwrite", "False"),
    ("fetching", "return state != RIGHT", "return state == MISSING"),
    ("fetching", "{error}\")\n        else", "{error}\")\n            raise\n        else"),
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
