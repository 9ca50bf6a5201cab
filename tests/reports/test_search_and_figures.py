"""A search as a page, and figures of commands that print tables."""

from pathlib import Path

import pytest

from studies.figure import write_search
from studies.logs import Logs
from studies.search import load_search
from tests.cli.conftest import deepnlp, run_folder, text_file  # noqa: F401
from tests.reports.test_reports import Reader

RESULTS = Path(__file__).parents[2] / "docs" / "results"
FIRST = ["Trials", "Each option against the result"]
LAST = ["All trials"]


@pytest.mark.parametrize(
    ("name", "headings"),
    [
        ("dropout-200", [*FIRST, *LAST]),  # of one option nothing can be said of importance
        ("pydocs-small", [*FIRST, "Which options matter", *LAST]),
    ],
)
def test_the_page_of_a_search(name, headings, tmp_path):
    pytest.importorskip("optuna")
    search = load_search(name)
    trials = Logs(search, RESULTS / search.folder).read_all()
    path = write_search(search, tmp_path, trials)
    html = path.read_text(encoding="utf-8")
    read = Reader(html)
    assert (read.headings, read.open, read.scripts) == (headings, [], 1)
    assert html.count("<tr>") > len(trials)
    assert f"{len(trials)} of {search.trials} trials have ended" in html
    assert len(html.encode()) < 3_000_000


def test_figures_of_evaluate_and_info(deepnlp, run_folder, tmp_path):  # noqa: F811
    for command in (("evaluate", run_folder, "--baselines"), ("info", run_folder)):
        figure = tmp_path / f"{command[0]}.svg"
        assert deepnlp(*command, "--figure", figure).code == 0
        assert figure.read_bytes().lstrip().startswith(b"<?xml")
    refused = deepnlp("info", run_folder, "--figure", tmp_path / "a.gif")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
