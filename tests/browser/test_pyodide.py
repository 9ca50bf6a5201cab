"""The package under Pyodide, as pages and lessons run it in a browser."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from deepnlp.datasets import pydocs
from tests.browser.tools import ROOT, pyodide_or_skip

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def answers():
    folder = pyodide_or_skip()
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    packages = Path(importlib.util.find_spec("tqdm").origin).parents[1]
    command = ["node", "run.mjs", folder, ROOT, packages, "program.py"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Warning" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_mistake_is_named(answers):
    assert answers["causes"] == [["b", "bias gradient not summed over N"]]


@pytest.mark.slow
def test_the_solutions_of_every_lesson_are_right(answers):
    assert list(answers["verdicts"]) == [str(k) for k in range(1, 12)]
    assert all(all(ok) and len(ok) > 7 for ok in answers["verdicts"].values())


@pytest.mark.slow
def test_thirty_steps_of_training_learn(answers):
    training = answers["training"]
    assert training["steps"] >= 30
    assert training["after"] < 0.5 * training["before"]
    assert training["text"].split()[0] == "the"  # what follows it may be the end of a line


def test_without_its_documentation_python_reads_the_text_that_is_kept(monkeypatch):
    monkeypatch.setattr(pydocs.importlib.util, "find_spec", lambda name: None)
    pydocs.pydocs_sentences.cache_clear()
    try:
        splits = pydocs.pydocs_sentences()
    finally:
        pydocs.pydocs_sentences.cache_clear()
    sizes = {split: sum(map(len, lines)) for split, lines in splits.items()}
    assert sizes["train"] > 300_000
    assert min(sizes["valid"], sizes["test"]) > 30_000


def test_the_text_that_is_kept_is_cleaned_english():
    for name, lines in pydocs.kept():
        assert lines, name
        assert not any("``" in line or line != line.strip() for line in lines), name
