"""``reproduce``: the list, the state of a table, its page, and what is refused."""

import pytest

from deepnlp.cli.commands import COMMANDS
from studies.study import declared_names
from tests.studies.test_table_pages import fake_log
from tests.studies.tools import tiny_table


@pytest.fixture
def folder(tmp_path):
    """A table, one run of which has finished and one has begun."""
    table = tiny_table(tmp_path)
    fake_log(table, tmp_path / "results", "untied-0", perplexity={"test": 10.0})
    begun = tmp_path / "runs" / "tiny" / "tied-0"
    begun.mkdir(parents=True)
    (begun / "config.toml").write_text(table.job_of("tied-0").config.to_toml(), encoding="utf-8")
    (begun / "metrics.jsonl").write_text('{"epoch": 1}\n{"epoch": 2}\n', encoding="utf-8")
    return tmp_path


def arguments(folder):
    return [folder / "tiny.toml", "--runs", folder / "runs", "--results", folder / "results"]


def test_the_list_of_tables(deepnlp, tmp_path):
    outcome = deepnlp("reproduce", "--results", tmp_path)
    assert outcome.code == 0
    assert [line.split()[0] for line in outcome.out.splitlines()[2:]] == declared_names("table")
    tables = deepnlp("reproduce", "--results", tmp_path, "--json").json["tables"]
    assert all(table["finished"] == 0 < table["runs"] for table in tables)


def test_the_state_of_a_table(deepnlp, folder):
    outcome = deepnlp("reproduce", *arguments(folder), "--status")
    states = [line.split(maxsplit=1) for line in outcome.out.splitlines()[2:]]
    assert states == [
        ["untied-0", "finished"],
        ["tied-0", "2 of 3 epochs"],
        ["start-0", "not run"],
        ["untied-1", "not run"],
    ]
    assert deepnlp("reproduce", *arguments(folder), "--status", "--json").json["runs"] == dict(
        states
    )


def test_the_page_is_written_from_the_logs_alone(deepnlp, folder):
    outcome = deepnlp("reproduce", *arguments(folder), "--page")
    page = folder / "results" / "tiny.md"
    assert outcome.code == 0
    assert outcome.out == f"page: {page}\n"
    assert "1 of 4 runs have finished" in page.read_text(encoding="utf-8")
    assert deepnlp("reproduce", *arguments(folder), "--page", "--json").json == {
        "table": "tiny",
        "page": str(page),
        "state": "finished",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["none"], "unknown table 'none': expected one of "),
        (["none.toml"], "no configuration none.toml"),
        (["glove", "--only", "gloves"], "table glove has no row 'gloves': expected one of "),
        (["glove", "--take", "nowhere"], "nowhere holds no finished run of table glove"),
        (["glove", "--page", "--rerun"], "not allowed with argument"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(deepnlp, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    outcome = deepnlp("reproduce", *options)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_command_is_listed():
    assert "reproduce" in COMMANDS
