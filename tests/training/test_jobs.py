"""Jobs whose processes differ, do not all come, or stop: each ends in time with one sentence.

Four of the forty jobs run by default, all with ``DEEPNLP_JOBS=40``.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mpi4py")
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
JOBS = int(os.environ.get("DEEPNLP_JOBS", "4"))
pytestmark = [pytest.mark.skipif(MPIEXEC is None, reason="needs mpiexec, which mpich brings")]
if JOBS > 4:
    pytestmark.append(pytest.mark.slow)
PYTHON = [sys.executable, "-P"]
LINES = [f"the {noun} sat on the {place} ." for noun in ("cat", "dog", "cow") for place in "abcdef"]
TEXT = LINES * 10
OTHERS = {
    "lines turned round": TEXT[::-1],
    "two lines exchanged": [TEXT[1], TEXT[0], *TEXT[2:]],
    "last tenth in another order": [*TEXT[:-18], *TEXT[:-19:-1]],
    "three words more": [*TEXT[:-1], "the cat sat on the a a a a ."],
    "one line less": TEXT[:-1],
    "another word": ["the ox sat on the a .", *TEXT[1:]],
    "one word less": ["the cat sat on the .", *TEXT[1:]],
    "an empty line": [*TEXT[:9], "", *TEXT[9:]],
    "twice as long": TEXT * 2,
    "another mark at the end": [*TEXT[:-1], TEXT[-1].replace(".", "?")],
}
OPTIONS = [
    ("--epochs", "2"), ("--lr", "0.5"), ("--seed", "7"), ("--batch-size", "16"),
    ("--dropout", "0.1"),
    ("--hidden-size", "5"), ("--time-size", "6"), ("--optimizer", "adam"), ("--accumulate", "8"),
    ("--max-norm", "1"), ("--overwrite",), ("--layers", "2"),
]  # fmt: skip
VERSIONS = {
    "deepnlp": "import deepnlp; deepnlp.__version__ = '9'",
    "NumPy": "import numpy; numpy.__version__ = '9'",
    "Python": "import platform; platform.python_version = lambda: '9'",
}
MISSING: dict[str, Any] = {
    "another program": ["/bin/true"],
    "a program that fails": ["/bin/false"],
    "no such module": [*PYTHON, "-m", "nowhere"],
    "no NumPy": [*PYTHON, "-c", "import sys; sys.exit('No module named numpy')"],
    "an unknown option": ["--nix", "3"],
    "no recipe": ["--recipe", "nowhere.toml"],
    "another command": [*PYTHON, "-m", "deepnlp", "--version"],
    "alone": None,
    "asleep": ["sleep", "100"],
    "killed": ["sh", "-c", "kill -9 $$"],
    "a syntax error": [*PYTHON, "-c", "1 +"],
    "a value that is none": ["--lr", "quick"],
}
CASES = [("corpus", name) for name in OTHERS] + [("version", name) for name in VERSIONS]
CASES += [("option", words) for words in OPTIONS] + [("missing", name) for name in MISSING]
CASES += [("stopped", 0), ("stopped", 1), ("number", 3)]
FIRST = [("corpus", "three words more"), ("option", ("--epochs", "2")), ("missing", "alone"),
         ("stopped", 1)]  # fmt: skip


def command(*words: str, begin: str = "pass") -> list[str]:
    code = f"{begin}; import sys; from deepnlp.cli.main import main; sys.exit(main())"
    small = ["--embed-size", "4", "--hidden-size", "4", "--epochs", "1", "--batch-size", "8"]
    small += ["--time-size", "5", "--seed", "1"]
    out = ["--out", "run", "--name", "job"]
    return [*PYTHON, "-c", code, "train", "--corpus", "text.txt", *small, *out, *words]


def started(
    folder: Path, second: list[str], seconds: float, first: Any = None, number: int = 1
) -> Any:
    """A job of two kinds of processes, the second in a folder of its own."""
    for name in ("a", "b"):
        (folder / name).mkdir(exist_ok=True)
    own = ["-wdir", str(folder / "a"), "-n", "1", *(first or command("--distributed"))]
    other = ["-wdir", str(folder / "b"), "-n", str(number), *second]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    environ |= {"DEEPNLP_NUM_THREADS": "1", "DEEPNLP_MPI_SECONDS": str(seconds)}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([str(MPIEXEC), *own, ":", *other], env=environ, **pipes)


@pytest.mark.parametrize(("kind", "case"), CASES if JOBS > 4 else FIRST)
def test_a_job_ends_in_time_and_says_why(tmp_path: Path, kind: str, case: Any) -> None:
    text = OTHERS[case] if kind == "corpus" else TEXT
    for name, lines in (("a", TEXT), ("b", text)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words, begin, seconds, number, first = ["--distributed"], "pass", 300.0, 1, None
    second: Any = None
    if kind == "option":
        words, expected = [*words, *case], f"process 1 of 2 .* has {case[0][2:].replace('-', '_')} "
    elif kind == "version":
        begin, expected = VERSIONS[case], f"process 1 of 2 .* has {case} '9', process 0 "
    elif kind == "corpus":
        expected = "process 1 of 2 .* has (corpus|vocab_size) "
    elif kind == "number":
        number, expected = 2, "the number of processes should be a power of 2, got 3"
    elif kind == "stopped":
        seconds, expected = 15.0, f"process {case} of 2 .* has been stopped for 15 s"
        words += ["--epochs", "1000"]
        first = command(*words)
    else:
        seconds, expected = 5.0, "1 of 2 processes have come after 5 s"
        second = MISSING[case]
        words = words if second and second[0].startswith("--") else []
        if words:
            words, second = [*words, *second], None
        if case == "killed":
            expected += "|KILLED BY SIGNAL: 9|BAD TERMINATION"
    job = started(tmp_path, second or command(*words, begin=begin), seconds, first, number)
    said = ""
    if kind == "stopped":
        while not (pids := re.findall(r"PID (\d+)", said)):
            said += job.stdout.readline()
        time.sleep(3)
        os.kill(int(pids[case]), signal.SIGSTOP)
    try:
        said += job.communicate(timeout=400)[0]
    finally:
        job.kill()
    assert job.returncode != 0, said
    assert re.search(expected, said), said
    assert said.count("deepnlp: error") <= 1 + (kind == "missing"), said
    if kind in ("corpus", "option", "version"):
        assert not (tmp_path / "a" / "run" / "result.json").exists()
