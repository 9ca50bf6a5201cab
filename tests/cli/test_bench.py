"""``deepnlp bench``: every suite runs, and what it writes has the form the page reads."""

import json
import sys
from dataclasses import asdict

import pytest

from benchmarks import harness
from benchmarks.contestant import perform
from benchmarks.contestants import soak
from benchmarks.results import read
from benchmarks.settings import Spec
from benchmarks.suites import SUITES
from tests.cli.conftest import contents

QUICK = ["--quick", "--threads", 1, "--sizes", 4]
FACTS = {"suite", "command", "date", "commit", "dirty", "machine", "versions", "options"}


def check(result, suite, torch):
    """Whether a result says all it should, with a number wherever there is one."""
    assert set(result) == FACTS | {"measurements"}
    assert result["suite"] == suite
    assert result["options"]["torch"] is torch
    assert ("torch" in result["versions"]) is torch
    assert {"cpu", "cores", "caches", "memory_gb", "os", "gpu"} == set(result["machine"])
    assert result["measurements"]
    for one in result["measurements"]:
        assert set(one) == {"contestant", "row", "at", "rounds", "medians"}
        assert set(one["rounds"]) == set(one["medians"])
        assert all(len(values) == 1 for values in one["rounds"].values())
    whose = {one["contestant"] for one in result["measurements"]}
    assert ("PyTorch" in whose) is (torch and suite in ("lm", "layers", "generate", "scaling"))


@pytest.fixture
def quick(monkeypatch):
    """All contestants work in this process, those of the soak in turns of few steps."""
    monkeypatch.setattr(harness, "start", perform_here)
    for name, number in {"STEPS": 5, "WORDS": 20, "READ": 200}.items():
        monkeypatch.setattr(soak, name, number)


def perform_here(entry, settings):
    """The work of a contestant in this process: a fresh one takes a second to begin."""
    spec = json.loads(json.dumps(asdict(entry.spec(settings))))
    return json.loads(json.dumps(perform(Spec(**spec))))


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.usefixtures("quick")
def test_a_suite_alone(deepnlp, tmp_path, suite):
    found = deepnlp("bench", suite, *QUICK, "--no-torch", "--out", tmp_path / "new" / "results")
    assert found.code == 0, found.err
    assert found.err == ""
    (path,) = (tmp_path / "new" / "results").iterdir()
    assert path.name == f"{suite}.json"
    check(json.loads(path.read_text(encoding="utf-8")), suite, torch=False)
    for table in SUITES[suite].tables(read(path)):
        assert table.text() in found.out


@pytest.mark.parity
@pytest.mark.usefixtures("quick")
def test_against_pytorch_as_json(deepnlp, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    found = deepnlp("bench", "lm", "profile", *QUICK, "--json")
    assert found.code == 0, found.err
    assert list(found.json["suites"]) == ["lm", "profile"]
    for suite, result in found.json["suites"].items():
        check(result, suite, torch=True)
    assert "times as fast as PyTorch" in found.err  # the tables, out of the way
    assert contents(tmp_path) == {}  # --quick writes only where --out says


def test_without_pytorch_one_line_says_so(deepnlp, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    found = deepnlp("bench", "layers", *QUICK)
    assert found.code == 0
    line = found.out.splitlines()[0]
    assert line.startswith("PyTorch is left out: it is not installed")
    assert "python -m pip install torch" in line


@pytest.mark.usefixtures("quick")
def test_the_page(deepnlp, tmp_path):
    results = tmp_path / "benchmarks" / "results"
    assert deepnlp("bench", "lm", *QUICK, "--no-torch", "--out", results).code == 0
    path = tmp_path / "docs" / "maintaining" / "performance.md"
    found = deepnlp("bench", "--page", path, "--out", results, "--json")
    figure = tmp_path / "docs" / "maintaining" / "images" / "performance-speed.png"
    assert found.json == {"files": [str(path), str(figure)]}
    assert "Not measured yet: `deepnlp bench scaling`" in path.read_text(encoding="utf-8")
    assert figure.stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["speed"], "there is no suite 'speed': choose from lm, layers"),
        (["lm", "--sizes", "100,x"], "1 or more, or a list of such, got '100,x'"),
        (["lm", "--sizes", ""], "1 or more, or a list of such, got ''"),
        (["lm", "--threads", "0"], "should be a whole number, 1 or more, got '0'"),
        (["lm", "--rounds", "0"], "should be a whole number, 1 or more, got '0'"),
        (["lm", "--tf32"], "give --backend cupy with it"),
        (["lm", "--out", "file.txt"], "file.txt: file exists"),
        (["--page", "page.md"], "no results in benchmarks/results: run `deepnlp bench` first"),
        (["lm", "--page", "page.md"], "--page times nothing"),
    ],
)
def test_bad_options_are_one_line_and_nothing_is_written(
    deepnlp, tmp_path, monkeypatch, arguments, text
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").write_text("no folder", encoding="utf-8")
    before = contents(tmp_path)
    found = deepnlp("bench", *arguments)
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert text in found.err
    assert contents(tmp_path) == before


@pytest.mark.parametrize("arguments", [[], ["lm", "--quick"], ["--help"]])
def test_where_there_is_no_checkout_one_line_says_where_the_benchmarks_are(
    deepnlp, tmp_path, monkeypatch, arguments
):
    monkeypatch.setattr("deepnlp.cli.shared.CHECKOUT", tmp_path)
    found = deepnlp("bench", *arguments)
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert "the benchmarks are in the source" in found.err
