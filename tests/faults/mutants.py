"""Mutants of the checkpoint reader, the run folders and clipping: each must be noticed by a test.

``python -m tests.faults mutants`` writes a copy of the package, makes one line wrong at a time and
runs the tests of that file on it; it prints the mutants that survive. Arguments choose those whose
file or text contains one of them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 300  # a mutant that hangs is noticed

CRAFTED = "tests/training/test_crafted_checkpoints.py"
LOST = "tests/training/test_nothing_lost.py"
#: By file, the tests that are to notice.
TESTS = {
    "archives.py": [CRAFTED, "tests/test_checkpoint.py"],
    "checkpoint.py": [CRAFTED, "tests/test_checkpoint.py"],
    "training/schema.py": [CRAFTED],
    "training/state.py": [CRAFTED],
    "training/resume.py": [CRAFTED, LOST],
    "training/runfolder.py": [LOST, "tests/training/test_runfolder.py"],
    "training/ownership.py": [LOST],
    "training/trainer.py": [LOST],
    "files.py": [LOST, "tests/test_checkpoint.py"],
    "optimizers.py": [CRAFTED, "tests/test_optimizers.py"],
    "layer.py": ["tests/test_threads_of_a_model.py"],
    "layers/recurrent.py": [CRAFTED],
    "layers/dropout.py": [CRAFTED],
}

NOT_REPLACED = "if self.folder is not None and not self.folder.replaces:"
BEST = "            if self.best is not None:\n                self._save_best(folder)"
CLAIM = "        with _claiming:\n            self._expect_own_thread(method)"
LEFT = "self._next_config.unlink(missing_ok=True)\n            yield"
ROLL = "            self._roll_forward()\n            for"

#: File, what stands there, what stands there instead.
MUTANTS = [
    # the container
    ("archives.py", "if len({*names}) < len(names):", "if False:"),
    ("archives.py", "info.compress_type != zipfile.ZIP_STORED", "False"),
    ("archives.py", "if not info.filename.endswith", "if False and info.filename.endswith"),
    ("archives.py", "turned or dtype.hasobject", "dtype.hasobject"),
    ("archives.py", "or not dtype.isnative", ""),
    ("archives.py", "        _check_arrays(arrays)\n        if version", "        if version"),
    ("archives.py", "    _check_arrays(arrays)\n    head", "    head"),
    ("archives.py", "if array.dtype.kind not in KINDS", "if False"),
    ("archives.py", "and not np.isfinite(array).all()", "and False"),
    ("archives.py", "head.pop(DIGEST) != digest(arrays, head)", "head.pop(DIGEST) is None"),
    ("archives.py", "        found.update(array.tobytes())\n", ""),
    ("archives.py", "{array.dtype.str} {array.shape}", "{array.dtype.str}"),
    ("archives.py", "hashlib.sha256(_text(head))", "hashlib.sha256()"),
    ("archives.py", "allow_nan=False", "allow_nan=True"),
    ("archives.py", "if len(table) < len(pairs):", "if False:"),
    ("archives.py", "if not isinstance(found, dict):", "if False:"),
    ("archives.py", "if type(version) is not int:", "if False:"),
    ("archives.py", "READABLE = (1, 2)", "READABLE = (2,)"),
    # the model
    ("checkpoint.py", "check_parameters(model, parameters, exactly=into is None)", "pass"),
    ("checkpoint.py", "if array.shape != parameter.shape:", "if False:"),
    ("checkpoint.py", "        if name not in known:", "        if False:"),
    ("checkpoint.py", "size is not None and len(vocab) != size", "False"),
    ("checkpoint.py", "type(count) is int and 0 <= count", "count <= count"),
    ("checkpoint.py", "if not right or not", "if not"),
    # the state of a run
    ("training/state.py", "type(value) not in kinds or", "False or"),
    ("training/state.py", "if self.epoch > epochs:", "if False:"),
    ("training/state.py", "if self.batch > length:", "if False:"),
    ("training/state.py", "if self.step != steps:", "if False:"),
    ("training/state.py", "if not self.batch and", "if False and"),
    ("training/state.py", "(self.best is not None) != validated or", "False or"),
    ("training/state.py", "self.epochs_without != self.epoch - (self.best_epoch or 0)", "False"),
    ("training/schema.py", "    _check_history(history, state)\n", ""),
    ("training/schema.py", "    _check_model(model, meta)\n", ""),
    ("training/schema.py", "not slash or first in ARRAYS", "True"),
    ("training/schema.py", "array.dtype.name in FLOATS", "True"),
    ("training/schema.py", 'check_parameters(model, best, what="best weight")', "pass"),
    ("training/schema.py", "_is_count(value, 1, most)", "True"),
    ("training/schema.py", "_is_number(value) and 0 <= value <= 1", "_is_number(value)"),
    ("training/schema.py", "_is_count(value, 0, epoch)", "True"),
    ("training/schema.py", 'and found.get("has_uint32", 0) in (0, 1)', ""),
    ("training/schema.py", "rows == N", "True"),
    ("training/schema.py", "not strange", "True"),
    ("training/resume.py", 'training.get("options", {})', "fixed_options(trainer)"),
    ("training/resume.py", "if array.dtype.kind == \"f\" and not np", "if False and not np"),
    ("training/resume.py", "if then.get(key, value) != value:", "if False:"),
    ("layers/recurrent.py", "if len(shape) != 2 or shape", "if False and shape"),
    ("layers/dropout.py", "or value < 0:", "or False:"),
    ("optimizers.py", 'if not _is_rate(state["lr"]):', "if False:"),
    ("optimizers.py", 'if key.endswith(".s") and', "if False and"),
    ("optimizers.py", "or dtype != parameter.dtype:", ":"),
    # clipping
    ("optimizers.py", "not SMALLEST_NORM < norm < math.inf", "False"),
    ("optimizers.py", "not SMALLEST_NORM < norm", "not 0 <= norm"),
    ("optimizers.py", "if not 0 < m < math.inf:", "if False:"),
    ("optimizers.py", "            g /= g.dtype.type(m)\n", ""),
    ("optimizers.py", "max_norm / m < n + 1e-6 / m", "True"),
    ("optimizers.py", "return n * m", "return n"),
    ("optimizers.py", 'g.astype("float32") if g.dtype == "float16" else g for', "g for"),
    ("optimizers.py", "_multiply(g, max_norm / (n + 1e-6 / m))", "_multiply(g, max_norm / n * 2)"),
    # run folders
    ("training/runfolder.py", "self.best.exists()\n", "False\n"),
    ("training/runfolder.py", "or self.read_metrics()\n", "\n"),
    ("training/runfolder.py", 'or result.get("status", "diverged") != "diverged"', ""),
    ("training/runfolder.py", "if not free:", "if False:"),
    ("training/runfolder.py", ROLL, "            for"),
    ("training/runfolder.py", LEFT, "yield"),
    ("training/runfolder.py", "except FileExistsError:", "except ZeroDivisionError:"),
    ("training/runfolder.py", "if not str(path):", "if False:"),
    ("training/runfolder.py", "        check_files(self._paths())\n        there", "        there"),
    ("training/ownership.py", "if path.is_symlink():", "if False:"),
    ("training/ownership.py", "if path.exists() and not path.is_file():", "if False:"),
    ("training/ownership.py", "own[path] is False or", "False or"),
    ("training/ownership.py", "or True not in own.values()", ""),
    ("training/trainer.py", "held.enter_context(folder.held())", "pass"),
    ("training/trainer.py", "if not self.state.step:", "if False:"),
    ("training/trainer.py", NOT_REPLACED, "if self.folder:"),
    ("training/trainer.py", "folder.result.unlink(missing_ok=True)", "pass"),
    ("training/trainer.py", "            folder.check_checkpoint()\n", "            pass\n"),
    ("training/trainer.py", BEST, ""),
    ("files.py", ".{secrets.token_hex(4)}.tmp", ".tmp"),
    ("files.py", "beside.replace(path)", "path.write_bytes(beside.read_bytes())"),
    # threads
    ("layer.py", CLAIM, "        if 1:"),
    ("layer.py", '        self._claim("backward")\n', ""),
    ("layer.py", '        self._claim("forward")\n        array', "        array"),
    ("layer.py", "return User, ()", "return User, (self.thread,)"),
    ("layer.py", "            layer._user = None\n", "            pass\n"),
]  # fmt: skip


def survives(folder: Path, name: str, old: str, new: str) -> bool:
    """Whether all tests of its file pass on the copy in a folder with one text changed."""
    path = folder / "deepnlp" / name
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (name, old, text.count(old))
    path.write_text(text.replace(old, new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            command + TESTS[name], cwd=folder, capture_output=True, timeout=SECONDS, check=False
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(text, encoding="utf-8")


def main(words: Sequence[str]) -> None:
    """Try all mutants, or those whose file or text contains one of the words."""
    chosen = [m for m in MUTANTS if not words or any(w in m[0] or w in m[1] for w in words)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("deepnlp", "tests"):
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
