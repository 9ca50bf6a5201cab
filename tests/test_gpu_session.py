"""The session on a borrowed GPU, as far as it goes without one: its commands are understood."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deepnlp import backend
from deepnlp.cli import main as cli
from deepnlp.cli.commands import build_parser
from deepnlp.training import RunFolder
from tests.cli.conftest import TINY
from tests.strict_backend import strict

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "gpu_session.sh"
BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


def session(out: Path, **environment: str) -> str:
    known = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "OUT": str(out)}
    done = subprocess.run(
        [BASH or "bash", SCRIPT],
        env=known | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """Commands by name, without what Python is told."""
    lines = session(tmp_path_factory.mktemp("gpu"), DRY="1").splitlines()
    commands = {name: shlex.split(line) for name, _, line in (s.split("\t") for s in lines[:-1])}
    return {name: command[2:] for name, command in commands.items()}


def test_the_most_valuable_comes_first(steps):
    names = [*steps]
    assert names[:3] == ["tests", "lm", "ptb-650"]
    assert names[-3:] == ["gpt-shakespeare", "zaremba-large", "awd-lstm"]
    assert {name.split("-")[0] for name in names[3:-3]} <= {"table1"}
    assert all("cupy" in command for name, command in steps.items() if name != "tests")


def test_every_command_is_understood(steps):
    for module, *words in steps.values():
        words = ["bench", *words] if module == "benchmarks" else words
        if module != "pytest":
            _, unknown = build_parser(words).parse_known_args(words)
            assert not unknown, words


@pytest.mark.parametrize("name", ["ptb-650", "gpt-shakespeare", "zaremba-large", "awd-lstm"])
def test_its_trainings_run_on_the_stand_in(tmp_path, steps, name):
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat .\nthe dog sat too .\n" * 20, encoding="utf-8")
    words = [word for word in steps[name][1:] if word not in ("--backend", "cupy")]
    words[words.index("--out") + 1] = str(tmp_path / "run")
    tiny = [*TINY, "--corpus", str(text), "--no-baselines"]
    if name == "gpt-shakespeare":
        tiny[2:4] = ["--heads", "2"]
        tiny += ["--context", "10", "--epoch-steps", "2", "--warmup-steps", "0"]
    numpy = backend.name()
    backend.use_module(strict)
    try:
        assert cli.main([*words, *tiny]) == 0
    finally:
        backend.use(numpy)
    assert RunFolder(tmp_path / "run").read_result()["status"] == "finished"


def test_what_is_done_is_not_done_again(tmp_path, steps):
    (tmp_path / "done").mkdir()
    for name in steps:
        (tmp_path / "done" / name).touch()
    assert session(tmp_path).splitlines()[-1].endswith("s are left")
    assert not [*tmp_path.glob("*.log")]
