"""Pages: from a declaration and logs; every committed page is what its logs say."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from deepnlp.reproduce import Logs, load_table, render, table_names, write_page
from deepnlp.reproduce.figure import draw
from deepnlp.reproduce.found import Found, found_in
from deepnlp.reproduce.table import CurvesOf
from deepnlp.training import RunFolder
from deepnlp.training.runs import build_schedule
from tests.reproduce.tools import tiny_table

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


def fake_log(table, results, name, **figures):
    """The logs of a finished run, made by hand."""
    job = next(job for job in table.jobs() if job.name == name)
    folder = RunFolder(results / table.name / name)
    folder.path.mkdir(parents=True)
    folder.write_config(job.config.to_toml())
    folder.append_metrics({"epoch": 3})
    result = {
        **{"status": "finished", "epochs": 3, "steps": 1234, "seconds": 90.0},
        **{
            "peak_memory_mb": 100.4,
            "parameters": 5000,
            "corpus": {"name": "a", "fingerprint": "b"},
        },
        "versions": {"backend": "numpy", "python": "3.11.1", "processor": "Abacus"},
        **figures,
    }
    folder.write_result(result)


@pytest.fixture
def table(tmp_path):
    return tiny_table(tmp_path)


def lines_of(text, label):
    return [line for line in text.splitlines() if line.startswith(f"| {label} |")]


def test_a_row_has_mean_and_spread_over_its_seeds(table, tmp_path):
    results = tmp_path / "results"
    fake_log(table, results, "untied-0", perplexity={"test": 10.0})
    fake_log(table, results, "untied-1", perplexity={"test": 13.0})
    fake_log(table, results, "tied-0", perplexity={"test": 9.0})
    text = render(table, results)
    assert lines_of(text, "LSTM") == ["| LSTM | 5,000 | 11.50 ± 2.12 | 9.5 | +2.0 ± 2.1 |"]
    assert lines_of(text, "LSTM, tied") == ["| LSTM, tied | 5,000 | 9.00 | - | - |"]
    assert "3 of 4 runs have finished" in text
    runs = lines_of(text, "[untied-0](tiny/untied-0/metrics.jsonl)")
    assert runs[0].endswith("| 3 | 1,234 | 1.5 | 100 | numpy, Python 3.11.1 | Abacus |")
    assert text.index("What one reads above") < text.index("| model |") < text.index("below it")
    assert "deepnlp reproduce tiny" in text


def test_a_table_without_runs_says_so(table, tmp_path):
    text = render(table, tmp_path / "results")
    assert lines_of(text, "LSTM") == ["| LSTM | not run | not run | 9.5 | not run |"]
    assert "0 of 4 runs" in text
    assert "png" not in text
    write_page(table, tmp_path / "results")
    assert not (tmp_path / "results" / "images").exists()


def test_a_missing_figure_is_a_dash(table, tmp_path):
    fake_log(table, tmp_path / "results", "untied-0", perplexity={"test": None})
    text = render(table, tmp_path / "results")
    assert lines_of(text, "LSTM") == ["| LSTM | 5,000 | - | 9.5 | - |"]


def test_several_figures_in_one_column(table, tmp_path):
    fake_log(table, tmp_path / "r", "untied-0", similarity={"men": {"rho": 0.5, "covered": 12}})
    found = found_in(table, Logs(table, tmp_path / "r"))[0]
    assert isinstance(found, Found)
    assert found.text("{similarity.men.rho:.2f} ({similarity.men.covered})") == "0.50 (12)"
    assert found.text("{config.tie}, {row.published.test}") == "none, 9.5"


def test_the_figure_has_a_row_for_each_that_was_run(table, tmp_path):
    results = tmp_path / "results"
    fake_log(table, results, "untied-0", perplexity={"test": 10.0})
    fake_log(table, results, "untied-1", perplexity={"test": 13.0})
    fake_log(table, results, "tied-0", perplexity={"test": 9.0})
    figure = draw(table.figure, found_in(table, Logs(table, results)))
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["LSTM", "LSTM, tied"]
    drawn = [float(x) for line in axes.get_lines() for x in line.get_xdata()]
    assert drawn == [10.0, 13.0, 11.5, 9.5, 9.0, 9.0]
    page = write_page(table, results)
    assert (results / "images" / "tiny.png").read_bytes().startswith(b"\x89PNG")
    assert "(images/tiny.png)" in page.read_text(encoding="utf-8")


def test_a_figure_of_curves_joins_the_rows_of_a_line(table, tmp_path):
    results = tmp_path / "results"
    for name, parameters, test in (
        ("untied-0", 9, 10.0),
        ("untied-1", 9, 13.0),
        ("tied-0", 5, 9.5),
    ):
        fake_log(table, results, name, parameters=parameters, perplexity={"test": test})
    of = CurvesOf("Title", "parameters", "perplexity.test", "parameters", "perplexity", logx=True)

    def drawn(curves):
        rows = [replace(row, line=curves.get(row.name, "")) for row in table.rows]
        found = found_in(replace(table, rows=rows), Logs(table, results))
        lines = draw(of, found).axes[0].get_lines()
        return [
            [*zip(*line.get_data(), strict=True)]
            for line in lines
            if line.get_marker() in ("o", "s")
        ]

    assert drawn({"untied": "one", "tied": "one"}) == [[(5, 9.5), (9, 11.5)]]
    assert drawn({"untied": "one", "tied": "two"}) == [[(9, 11.5)], [(5, 9.5)]]


# --- The tables that come with deepnlp ------------------------------------------------------------


@pytest.mark.parametrize("name", table_names())
def test_the_committed_page_is_what_the_committed_logs_say(name):
    table = load_table(name)
    page = RESULTS / f"{name}.md"
    assert page.read_text(encoding="utf-8") == render(table, RESULTS)
    known = {job.name for job in table.jobs()}
    logs = RESULTS / name
    assert {path.name for path in logs.iterdir()} <= known if logs.exists() else True
    if "(images/" in page.read_text(encoding="utf-8"):
        assert (RESULTS / "images" / f"{name}.png").exists()


@pytest.mark.parametrize("name", table_names())
def test_every_row_can_be_run(name):
    for job in load_table(name).jobs():
        build_schedule(job.config, steps=100)
        assert json.dumps(dict(job.config))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('notes = "', 'note = "', r"the table has no 'note': expected columns, "),
        ('label = "LSTM"', 'lable = "LSTM"', r"a row has no 'lable': expected .*label"),
        ('name = "tied"', 'name = "Tied up"', r"a row is named with a-z, 0-9 .*got 'Tied up-0'"),
        ('name = "tied"', 'name = "untied"', "two runs have the name untied-0"),
        ('"tied-0"]', '"tied-7"]', r"row start needs 'tied-7', which is no run"),
        ("lr = 0.02", "rl = 0.02", "unknown option 'rl'"),
        ("lr = 0.02", "lr = -1.0", "lr should be a number, above 0, got -1.0"),
        ('xlabel = "test perplexity"', "", "a panel: .*missing .*'xlabel'"),
        ("[[figure.panels]]", "[other]", "the figure: .*missing .*'x', 'y'"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(tmp_path, before, after, message):
    with pytest.raises(ValueError, match=rf"tiny\.toml: {message}"):
        tiny_table(tmp_path, {before: after})


def test_an_unknown_table():
    with pytest.raises(ValueError, match=r"unknown table 'table33': expected one of .*glove"):
        load_table("table33")
