"""A small trained run, and the command line called as a function."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from deepnlp import backend
from deepnlp.cli.main import main
from tests.datasets.fixtures import known, only_loopback, server  # noqa: F401
from tests.training.conftest import quick_figures  # noqa: F401

TINY = ["--embed-size", "8", "--hidden-size", "8", "--layers", "1", "--batch-size", "4"]
TINY += ["--time-size", "10", "--epochs", "1"]


@dataclass
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which is to be one JSON object and nothing else."""
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


@pytest.fixture
def deepnlp(capsys):
    """Call the command line: ``deepnlp("info", path)``."""

    def call(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        backend.use("numpy")
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def text_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "cats.txt"
    lines = [f"The cat number {i % 7} sat on the mat, and the dog saw it." for i in range(40)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory, text_file):
    """A finished run, which no test changes."""
    folder = tmp_path_factory.mktemp("runs") / "cats"
    assert main(["train", "--corpus", str(text_file), "--out", str(folder), *TINY]) == 0
    return folder


def contents(folder):
    """Every file under a folder with its bytes: what must not change."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
