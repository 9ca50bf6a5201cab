"""Mutants of the checkpoint reader, the run folders and clipping: each must be noticed by a test.

``python -m tests.faults mutants`` writes a copy of the package, makes one line wrong at a time and
runs the tests of that file on it; it prints the mutants that survive. Arguments choose those whose
file or text contains one of them.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 300  # a mutant that hangs is noticed

CRAFTED = "tests/training/test_crafted_checkpoints.py"
LOST = "tests/training/test_nothing_lost.py"
#: By file, the tests that are to notice.
TESTS = {
    "files/archives.py": [CRAFTED, "tests/test_checkpoint.py"],
    "checkpoint.py": [CRAFTED, "tests/test_checkpoint.py"],
    "training/schema.py": [CRAFTED],
    "training/state.py": [CRAFTED],
    "training/resume.py": [CRAFTED, LOST],
    "training/runfolder.py": [LOST, "tests/training/test_runfolder.py"],
    "training/ownership.py": [LOST],
    "training/trainer.py": [LOST],
    "files/writing.py": [LOST, "tests/test_checkpoint.py"],
    "optimizers/clipping.py": ["tests/optimizers/test_optimizers.py"],
    "optimizers/optimizer.py": [CRAFTED, "tests/optimizers/test_optimizers.py"],
    "layer.py": ["tests/test_threads_of_a_model.py"],
    "layers/recurrent.py": [CRAFTED],
    "layers/dropout.py": [CRAFTED],
}

NOT_REPLACED = "self.folder is not None and not self.folder.replaces"
BEST = "            if self.best is not None:\n                self._save_best(folder)"
CLAIM = "        with _claiming:\n            self._expect_own_thread(method)"
LEFT = "                self._next_config.unlink(missing_ok=True)\n                self._is_held"
ROLL = "                self._roll_forward()\n"

#: File, what stands there, what stands there instead, and words of the tests to begin with.
MUTANTS = [
    # the container
    ("files/archives.py", "if len({*names}) < len(names):", "if False:", "lie"),
    ("files/archives.py", "info.compress_type != zipfile.ZIP_STORED", "False", "compressed"),
    (
        "files/archives.py",
        "if not info.filename.endswith",
        "if False and info.filename.endswith",
        "lie",
    ),
    ("files/archives.py", "turned or dtype.hasobject", "dtype.hasobject", "lie"),
    ("files/archives.py", "or not dtype.isnative", "", "anything_else"),
    (
        "files/archives.py",
        "        _check_arrays(arrays)\n        if head",
        "        if head",
        "anything_else",
    ),
    ("files/archives.py", "    _check_arrays(arrays)\n    head", "    head", "not_finite"),
    ("files/archives.py", "if array.dtype.kind not in KINDS", "if False", "anything_else"),
    ("files/archives.py", "and not np.isfinite(array).all()", "and False", "anything_else"),
    (
        "files/archives.py",
        "head.pop(DIGEST) != digest(arrays, head)",
        "head.pop(DIGEST) is None",
        "lie",
    ),
    ("files/archives.py", "        found.update(array.tobytes())\n", "", "digest"),
    ("files/archives.py", "{array.dtype.str} {array.shape}", "{array.dtype.str}", "digest"),
    ("files/archives.py", "hashlib.sha256(_text(head))", "hashlib.sha256()", "digest"),
    ("files/archives.py", "allow_nan=False", "allow_nan=True", "not_finite"),
    ("files/archives.py", "if len(table) < len(pairs):", "if False:", "lie"),
    ("files/archives.py", "if not isinstance(found, dict):", "if False:", "lie"),
    ("files/archives.py", "if type(version) is not int:", "if False:", "version"),
    # the model
    ("checkpoint.py", "check_parameters(model, parameters, exactly=into is None)", "pass"),
    ("checkpoint.py", "if array.shape != parameter.shape:", "if False:"),
    ("checkpoint.py", "        if name not in known:", "        if False:"),
    ("checkpoint.py", "size is not None and len(vocab) != size", "False"),
    ("checkpoint.py", "type(count) is int and 0 <= count", "count <= count"),
    ("checkpoint.py", "if not right or not", "if not"),
    # the state of a run
    ("training/state.py", "type(value) not in kinds or", "False or", "counter"),
    ("training/state.py", "if self.epoch > epochs:", "if False:", "counter"),
    ("training/state.py", "if self.batch > length:", "if False:", "counter"),
    ("training/state.py", "if self.step != steps:", "if False:", "counter"),
    ("training/state.py", "if not self.batch and", "if False and", "sums_at"),
    (
        "training/state.py",
        "(self.best is not None) != validated or",
        "False or",
        "counter or no_best",
    ),
    (
        "training/state.py",
        "self.epochs_without != self.epoch - (self.best_epoch or 0)",
        "False",
        "counter",
    ),
    ("training/schema.py", '    _check_history(training["history"], state)\n', "", "pieces"),
    ("training/schema.py", "    _check_model(model, meta)\n", "", "pieces"),
    ("training/schema.py", "not slash or first in ARRAYS", "True", "nobody_knows"),
    ("training/schema.py", "array.dtype.name in FLOATS", "True", "anything_else"),
    (
        "training/schema.py",
        'check_parameters(model, best, what="best weight")',
        "pass",
        "anything_else",
    ),
    ("training/schema.py", "_is_count(value, 1, most)", "True", "pieces"),
    ("training/schema.py", "_is_number(value) and 0 <= value <= 1", "_is_number(value)", "pieces"),
    ("training/schema.py", "_is_count(value, 0, epoch)", "True", "pieces"),
    ("training/schema.py", 'and found.get("has_uint32", 0) in (0, 1)', "", "pieces"),
    ("training/schema.py", "rows == N", "True", "other_rows"),
    ("training/schema.py", "not strange", "True", "pieces"),
    (
        "training/resume.py",
        'training["options"], fixed',
        "fixed_options(trainer), fixed",
        "another_option",
    ),
    (
        "training/resume.py",
        'if array.dtype.kind == "f" and not np',
        "if False and not np",
        "never_kept",
    ),
    ("training/resume.py", "if then.get(key, value) != value:", "if False:", "another_setting"),
    ("layers/recurrent.py", "if len(shape) != 2 or shape", "if False and shape", "anything_else"),
    ("layers/dropout.py", "or value < 0:", "or False:", "pieces"),
    ("optimizers/optimizer.py", 'if not _is_rate(state["lr"]):', "if False:", "pieces"),
    ("optimizers/optimizer.py", "in self._sums_of_squares and", "in () and", "negative"),
    ("optimizers/optimizer.py", "or dtype != parameter.dtype:", ":", "anything_else"),
    # clipping
    ("optimizers/clipping.py", "not SMALLEST_NORM < norm < math.inf", "False", "clipping"),
    ("optimizers/clipping.py", "not SMALLEST_NORM < norm", "not 0 <= norm", "clipping"),
    ("optimizers/clipping.py", "if 0 < m < math.inf:", "if True:", "clipping"),
    ("optimizers/clipping.py", "            g /= g.dtype.type(m)\n", "", "clipping"),
    ("optimizers/clipping.py", "max_norm / m < n + 1e-6 / m", "True", "clipping"),
    ("optimizers/clipping.py", "float(n) * m)", "float(n))", "clipping"),
    (
        "optimizers/clipping.py",
        'g.astype("float32") if g.dtype == "float16" else g for',
        "g for",
        "clipping",
    ),
    (
        "optimizers/clipping.py",
        "_multiply(g, max_norm / (n + 1e-6 / m))",
        "_multiply(g, max_norm / n * 2)",
        "clipping",
    ),
    # run folders
    ("training/runfolder.py", "self.best.exists()\n", "False\n", "does_not_start_over"),
    ("training/runfolder.py", "or self.read_metrics()\n", "\n", "does_not_start_over"),
    (
        "training/runfolder.py",
        'or result.get("status", "diverged") != "diverged"',
        "",
        "does_not_start_over",
    ),
    ("training/runfolder.py", "if not free:", "if False:", "another_trains or begin_at_once"),
    ("training/runfolder.py", ROLL, "", "while_it_replaces"),
    ("training/runfolder.py", LEFT, "                self._is_held", "while_it_replaces"),
    ("training/runfolder.py", "suppress(FileExistsError)", "suppress()", "within_a_second"),
    ("training/runfolder.py", "if is_new and not", "if False and not", "not_written or is_removed"),
    ("training/runfolder.py", "if not str(path):", "if False:", "folder_has_a_name"),
    (
        "training/runfolder.py",
        "        check_files(self._paths())\n        made",
        "        made",
        "links or of_others",
    ),
    ("training/ownership.py", "if path.is_symlink():", "if False:", "links"),
    (
        "training/ownership.py",
        "if path.exists() and not path.is_file():",
        "if False:",
        "in_place_of_a_file",
    ),
    ("training/ownership.py", "own[path] is False or", "False or", "of_others"),
    ("training/ownership.py", "or True not in own.values()", "", "cannot_be_read"),
    ("training/runfolder.py", "self._check_use(resume, overwrite)", "pass", "written_over"),
    ("training/trainer.py", "if not self.state.step:", "if False:", "stopped_at_once"),
    ("training/trainer.py", NOT_REPLACED, "True", "overwriting_that_diverges"),
    (
        "training/trainer.py",
        "folder.result.unlink(missing_ok=True)",
        "pass",
        "no_result_of_an_earlier",
    ),
    (
        "training/trainer.py",
        "            folder.check_checkpoint()\n",
        "            pass\n",
        "does_not_start_over",
    ),
    ("training/trainer.py", BEST, "", "made_again"),
    ("files/writing.py", ".{secrets.token_hex(4)}.tmp", ".tmp", "one_path or saves"),
    (
        "files/writing.py",
        "beside.replace(path)",
        "path.write_bytes(beside.read_bytes())",
        "one_path or saves or second_name",
    ),
    # threads
    ("layer.py", CLAIM, "        if 1:"),
    ("layer.py", '        self._claim("backward")\n', ""),
    ("layer.py", '        self._claim("forward")\n        array', "        array"),
    ("layer.py", "return User, ()", "return User, (self.thread,)"),
    ("layer.py", "            layer._user = None\n", "            pass\n"),
]


def survives(folder: Path, name: str, old: str, new: str, first: str = "") -> bool:
    """Whether all tests of its file pass on the copy in a folder with one text changed."""
    path = folder / "deepnlp" / name
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (name, old, text.count(old))
    path.write_text(text.replace(old, new), encoding="utf-8")
    some = [["-k", first]] if first else []
    try:
        return all(passes(folder, [*TESTS[name], *chosen]) for chosen in [*some, []])
    finally:
        path.write_text(text, encoding="utf-8")


def passes(folder: Path, arguments: Sequence[str]) -> bool:
    """Whether tests pass, in a process that is forked from this one: large libraries are there."""
    child = os.fork()
    if not child:
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        for module in [name for name in sys.modules if name.split(".")[0] in ("deepnlp", "tests")]:
            del sys.modules[module]  # those of the copy are to be imported
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os._exit(int(pytest.main(["-q", "-x", "-n", "0", "-p", "no:cacheprovider", *arguments])))
    end = time.monotonic() + SECONDS
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            assert code != pytest.ExitCode.NO_TESTS_COLLECTED, arguments
            return code == 0
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(0.05)


def main(words: Sequence[str]) -> None:
    """Try all mutants, or those whose file or text contains one of the words."""
    for library in ("matplotlib.pyplot", "numpy.testing", "scipy.sparse", "tqdm.notebook"):
        import_module(library)
    chosen = [m for m in MUTANTS if not words or any(w in m[0] or w in m[1] for w in words)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("deepnlp", "tests"):
            shutil.copytree(ROOT / part, folder / part)
        for part in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / part, folder)
        files = {test for name, *_ in chosen for test in TESTS[name]}
        assert passes(folder, sorted(files)), "a test fails without a mutant"
        alive = []
        for number, mutant in enumerate(chosen, 1):
            if survives(folder, *mutant):
                alive.append(mutant)
            said = "SURVIVES" if mutant in alive else "found"
            print(f"{number}/{len(chosen)}", said, mutant[:3], flush=True)
    found = f"{len(chosen) - len(alive)} of {len(chosen)} noticed by a test"
    what = "one line of the checkpoint reader, of run folders, of clipping or of the guard wrong"
    print(f"| {what} | {len(chosen)} | {found} | `python -m tests.faults mutants` |")
