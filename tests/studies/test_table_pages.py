"""Pages: from a declaration and logs; every committed page is what its logs say."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from deepnlp.tasks import TASKS
from deepnlp.training import RunFolder
from deepnlp.training.runs import build_schedule
from studies.figure import draw_table, write_page
from studies.logs import Logs
from studies.page import render, table_lines
from studies.search import load_search
from studies.study import declared_names
from studies.table import FigureOf, load_table
from tests.studies.tools import tiny_table, write_logs

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
FIRST_ROW = '[[rows]]\nname = "untied"'


def fake_log(table, results, name, **figures):
    """The logs of a finished run, made by hand."""
    job = next(job for job in table.jobs if job.name == name)
    facts = {
        **{"parameters": 5000, "seconds": 90.0, "cpu_seconds": 120.0, "peak_memory_mb": 100.4},
        "corpus": {"name": "a", "fingerprint": "b"},
        "versions": {"backend": "numpy", "python": "3.11.1", "processor": "Abacus"},
        **figures,
    }
    write_logs(RunFolder(results / table.name / name), job.config, [90.0, 80.0, 70.0], **facts)


@pytest.fixture
def table(tmp_path):
    return tiny_table(tmp_path, figure=True)


@pytest.fixture
def steps(tmp_path):
    """The table with a third row that comes after the second, and columns that compare them."""
    change = "{perplexity.test - before.perplexity.test:+.1f}"
    new = '{ heading = "new", text = "{row.new}" }'
    columns = f'{{ heading = "change", text = "{change}" }}, {new}'
    return tiny_table(
        tmp_path,
        {
            'name = "start"': 'name = "start"\nafter = "tied"',
            '{ tie = "none", vectors = "tied-0" }': '{ cell = "gru", ar = 1.0 }',
            'needs = ["tied-0"]': "",
            "},\n]": f"}},\n{columns}]",
        },
    )


def lines_in(table, results):
    return table_lines(table, Logs(table, results / "tiny").read_all())


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
    assert runs[0].endswith("| 0 | 3 | 1,233 | 1.5 | 2.0 | 100 | numpy, Python 3.11.1 | Abacus |")
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
    found = lines_in(table, tmp_path / "r")[0]
    assert found.text("{similarity.men.rho:.2f} ({similarity.men.covered})") == "0.50 (12)"
    assert found.text("{config.tie}, {row.published.test}") == "none, 9.5"


def test_the_figure_has_a_row_for_each_that_was_run(table, tmp_path):
    results = tmp_path / "results"
    fake_log(table, results, "untied-0", perplexity={"test": 10.0})
    fake_log(table, results, "untied-1", perplexity={"test": 13.0})
    fake_log(table, results, "tied-0", perplexity={"test": 9.0})
    figure = draw_table(table.figure, lines_in(table, results))
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["LSTM", "LSTM, tied"]
    drawn = [float(x) for line in axes.get_lines() for x in line.get_xdata()]
    assert drawn == [10.0, 13.0, 11.5, 9.5, 9.0]
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
    of = FigureOf("Title", (), "parameters", "perplexity.test", "parameters", "perplexity", True)

    def drawn(curves):
        rows = [replace(row, line=curves.get(row.name, "")) for row in table.rows]
        found = lines_in(replace(table, rows=rows), results)
        lines = draw_table(of, found).axes[0].get_lines()
        return [
            [*zip(*line.get_data(), strict=True)]
            for line in lines
            if line.get_marker() in ("o", "s")
        ]

    runs = [(9, 10.0), (9, 13.0)]
    assert drawn({"untied": "one", "tied": "one"}) == [[(5, 9.5), (9, 11.5)], runs]
    assert drawn({"untied": "one", "tied": "two"}) == [[(9, 11.5)], runs, [(5, 9.5)]]


def test_a_row_has_the_options_of_the_row_that_it_comes_after(steps):
    config = next(job.config for job in steps.jobs if job.name == "start-0")
    assert (config.tie, config.lr, config.cell, config.ar) == ("tied", 0.02, "gru", 1.0)


def test_a_row_is_compared_with_the_row_that_it_comes_after(steps, tmp_path):
    results = tmp_path / "results"
    fake_log(steps, results, "start-0", perplexity={"test": 9.0})
    label = "LSTM, from the vectors of another run"
    row, new = f"| {label} | 5,000 | 9.00 | - | - |", '| cell = "gru", ar = 1.0 |'
    assert lines_of(render(steps, results), label) == [f"{row} - {new}"]
    fake_log(steps, results, "tied-0", perplexity={"test": 11.5})
    text = render(steps, results)
    assert lines_of(text, label) == [f"{row} -2.5 {new}"]
    assert lines_of(text, "LSTM, tied")[0].endswith('| - | tie = "tied", lr = 0.02 |')


def test_a_run_that_diverged_says_so(table, tmp_path):
    results = tmp_path / "results"
    fake_log(table, results, "tied-0", status="diverged", perplexity={"valid": None})
    fake_log(table, results, "untied-0", perplexity={"test": 10.0})
    assert lines_of(render(table, results), "LSTM, tied") == [
        "| LSTM, tied | 5,000 | diverged | - | - |"
    ]
    figure = draw_table(table.figure, lines_in(table, results))
    assert [text.get_text() for text in figure.axes[0].texts] == ["diverged"]


def test_a_number_that_would_flatten_the_others_is_written(tmp_path):
    table = tiny_table(tmp_path, {'xlabel = "test': 'highest = 50.0\nxlabel = "test'}, figure=True)
    results = tmp_path / "results"
    fake_log(table, results, "untied-0", perplexity={"test": 12345.6})
    fake_log(table, results, "tied-0", perplexity={"test": 9.0})
    axes = draw_table(table.figure, lines_in(table, results)).axes[0]
    assert [text.get_text() for text in axes.texts] == ["12,346 →"]
    assert axes.get_xlim()[1] < 50


def test_a_row_that_is_counted_has_the_options_of_the_table_that_it_knows(tmp_path):
    row = '[[rows]]\nname = "counts"\nrecipe = "ngrams"\noptions = { order = 2 }\n\n'
    table = tiny_table(tmp_path, {FIRST_ROW: row + FIRST_ROW})
    config = table.jobs[0].config
    assert (config.task, config.order) == ("ngrams", 2)
    assert config.corpus == str(tmp_path / "text.txt")


def test_a_table_may_be_like_another(tmp_path):
    path = tmp_path / "other.toml"
    path.write_text('like = "ladder"\ntitle = "Mine"\n[options]\nlr = 3.0\n', encoding="utf-8")
    table, ladder = load_table(str(path)), load_table("ladder")
    assert (table.name, table.title, table.text) == ("other", "Mine", ladder.text)
    assert [job.name for job in table.jobs] == [job.name for job in ladder.jobs]
    rates = [[job.config.get("lr", 3.0) for job in each.jobs] for each in (table, ladder)]
    assert {mine for mine, theirs in zip(*rates, strict=True) if mine != theirs} == {3.0}
    path.write_text('like = "nothing"', encoding="utf-8")
    with pytest.raises(ValueError, match=r"other\.toml: unknown table 'nothing': expected one of"):
        load_table(str(path))


# --- The tables that come with deepnlp ------------------------------------------------------------


STUDIES = [
    *map(load_table, declared_names("table")),
    *map(load_search, declared_names("search")),
]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.folder)
def test_the_committed_page_is_what_the_committed_logs_say(study):
    page, logs = RESULTS / f"{study.folder}.md", RESULTS / study.folder
    text = page.read_text(encoding="utf-8")
    assert text == render(study, RESULTS)
    assert {path.name for path in logs.glob("*")} <= {*study.run_names}
    for figure in re.findall(r"\((images/.*?\.png)\)", text):
        assert (RESULTS / figure).exists()


def test_every_page_of_results_is_written_by_a_command():
    """Those of studies are compared here, the others in tests/vectors and tests/lessons."""
    others = {"counting-and-word2vec", "gpt-against-lstm", "lessons"}
    folders = {study.folder for study in STUDIES}
    assert {path.stem for path in RESULTS.glob("*.md")} == {*folders, *others}
    assert {path.name for path in RESULTS.iterdir() if path.is_dir()} <= {
        *folders,
        *others,
        "images",
    }


@pytest.mark.parametrize("name", declared_names("table"))
def test_every_row_can_be_run(name):
    for job in load_table(name).jobs:
        if not TASKS[job.config.task].counted:
            build_schedule(job.config, steps=100)
        assert json.dumps(dict(job.config))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('notes = "', 'note = "', r"the table has no 'note': expected columns, "),
        ('label = "LSTM"', 'lable = "LSTM"', r"a row has no 'lable': expected .*label"),
        ('name = "tied"', 'name = "Tied up"', r"a row is named with a-z, 0-9 .*got 'Tied up-0'"),
        ('name = "tied"', 'name = "untied"', "two runs have the name untied-0"),
        ('"tied-0"]', '"tied-7"]', r"run start-0 needs 'tied-7', which is no run"),
        ('name = "tied"', 'name = "tied"\nafter = "start"', r"row tied comes after 'start', which"),
        ("lr = 0.02", "rl = 0.02", "unknown option 'rl'"),
        ("lr = 0.02", "lr = -1.0", "lr should be a number, above 0, got -1.0"),
        ('xlabel = "test perplexity"', "", "a panel: .*missing .*'xlabel'"),
        ("[[figure.panels]]", "[[figure.panel]]", "the figure has no 'panel': expected"),
        ("[[figure.panels]]", "[other.panel]", "the table has no 'other': expected"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(tmp_path, before, after, message):
    with pytest.raises(ValueError, match=rf"tiny\.toml: {message}"):
        tiny_table(tmp_path, {before: after}, figure=True)


def test_an_unknown_table():
    with pytest.raises(ValueError, match=r"unknown table 'table33': expected one of .*glove"):
        load_table("table33")
