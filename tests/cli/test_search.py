"""``search``: the list, a study from the command line, its state and page, what is refused."""

import json

import pytest

from studies.search import DECLARED, begin_study
from studies.search import build_search as search
from studies.study import declared_names
from tests.studies.tools import OPTIONS, run_here


def option(name, value):
    return [f"--{name.replace('_', '-')}", value]


@pytest.fixture(scope="module")
def arguments(tmp_path_factory, text_file):
    """A study of two trials, as it is written on the command line."""
    folder = tmp_path_factory.mktemp("study") / "some"
    given = [part for name, value in OPTIONS.items() for part in option(name, value)]
    given += ["--corpus", text_file, "--trials", 2, "--study", folder]
    return folder, [*given, "--space", "dropout=0.0:0.2:0.1", "--space", "lr=0.01:0.1:log"]


def test_the_list_of_searches(deepnlp, tmp_path):
    outcome = deepnlp("search", "--results", tmp_path)
    assert outcome.code == 0
    assert [line.split()[0] for line in outcome.out.splitlines()[2:]] == declared_names("search")
    searches = deepnlp("search", "--results", tmp_path, "--json").json["searches"]
    assert all(search["ended"] == 0 < search["trials"] for search in searches)


def test_a_study_from_the_command_line(deepnlp, arguments, tmp_path, monkeypatch):
    monkeypatch.setattr("studies.running.run_worker", run_here)
    folder, given = arguments
    outcome = deepnlp("search", *given)
    assert outcome.code == 0, outcome.err
    lines = [line for line in outcome.out.splitlines() if not line.startswith("some: ")]
    assert [line.split(":")[0] for line in lines[:2]] == ["trial 0", "trial 1"]
    assert "2 of 2 trials have ended" in lines
    assert lines[-2].startswith(f"on the test split: deepnlp evaluate {folder}/trial-00")
    assert lines[-1] == f"page of the search: {folder}/search.html"
    again = deepnlp("search", *given, "--json")
    assert again.err == ""
    assert again.json["state"] == "finished"
    assert [trial["status"] for trial in again.json["trials"]] == ["finished"] * 2
    best = again.json["best"]
    assert best["perplexity"] == min(trial["perplexity"] for trial in again.json["trials"])
    assert {*best["values"]} == {"dropout", "lr"}

    outcome = deepnlp("search", "--study", folder, "--status")
    assert outcome.out.splitlines() == lines[2:-1]
    outcome = deepnlp("search", "--study", folder, "--take", folder, "--results", tmp_path)
    assert outcome.out == f"taken in: trial-000, trial-001\npage: {tmp_path}/search-some.md\n"
    page = (tmp_path / "search-some.md").read_text(encoding="utf-8")
    assert "All 2 trials have ended: 2 finished." in page
    assert deepnlp("search", "--study", folder, "--page", "--results", tmp_path).code == 0

    more = deepnlp("search", "--study", folder, "--trials", 3)
    assert [line.split(":")[0] for line in more.out.splitlines()[:2]] == ["some", "trial 2"]
    assert "3 of 3 trials have ended" in more.out
    assert more.code == 0
    refused = deepnlp("search", *given)
    assert refused.code == 2
    assert "holds a study with other options (trials was 3, is 2)" in refused.err
    refused = deepnlp("search", *given, "--trials", 3, "--epochs", 3)
    assert "holds a study with other options (epochs was 2, is 3)" in refused.err
    assert refused.err.count("\n") == 1
    refused = deepnlp("search", "--study", folder, "--epochs", 3)
    assert "leave out --epochs" in refused.err


def test_a_trial_that_has_not_ended_is_listed(deepnlp, text_file, tmp_path):
    space = {"dropout": {"choices": [0.1, 0.2]}}
    options = {"corpus": str(text_file), **OPTIONS}
    found = search("some", {"space": space, "options": options})
    begin_study(tmp_path / "study", found)
    begun = tmp_path / "study" / "trial-001"
    begun.mkdir()
    (begun / "config.toml").write_text(found.options({"dropout": 0.2}).to_toml(), encoding="utf-8")
    (begun / "metrics.jsonl").write_text(
        json.dumps({"epoch": 1, "valid_perplexity": 9.0}) + "\n", encoding="utf-8"
    )
    outcome = deepnlp("search", "--study", tmp_path / "study", "--status")
    assert outcome.out.splitlines()[2].split() == ["1", "0.2", "9.00", "1", "not", "ended"]
    assert outcome.out.splitlines()[-1] == "0 of 2 trials have ended"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["none"], "unknown search 'none': expected one of "),
        (["none.toml"], "no configuration none.toml"),
        (["pydocs-small", "--epochs", "3"], "are in its file: leave out --epochs"),
        (["pydocs-small", "--space", "lr=1:2"], "are in its file: leave out --space"),
        (["pydocs-small", "--trials", "3"], "are in its file: leave out --trials"),
        (["--space", "lr=1:2", "--trials", "3"], "--space needs a folder for the trials: --study"),
        (["--trials", "3"], "--trials needs a space to search: --space"),
        (["--study", "new", "--trials", "3"], "no study in new: it has no search.toml"),
        (["--study", "new", "--space", "lr=2:1"], "low should be below high, lr has 2 and 1"),
        (["--study", "new", "--space", "rl=1:2"], "no option 'rl' to search: expected one of "),
        (["--study", "new", "--space", "lr=1:2"], "trials is missing"),
        (["--study", "new", "--space", "lr=1", "--space", "lr=2"], "an option twice: lr, lr"),
        (["--study", "new", "--space", "lr=1,2", "--lr", "3"], "and has a fixed value too"),
        (["--study", "new", "--workers", "0"], "should be a whole number, 1 or more"),
        (["--study", "new", "--pruner", "no"], "invalid choice: 'no'"),
        (["pydocs-small", "--take", "nowhere"], "nowhere holds no ended trial of search"),
        (["pydocs-small", "--page"], "holds no logs of trials: take them in with --take"),
        (["pydocs-small", "--page", "--status"], "not allowed with argument"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(deepnlp, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    outcome = deepnlp("search", *options)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_without_optuna_nothing_is_begun(deepnlp, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "optuna", None)
    outcome = deepnlp("search", "--study", tmp_path / "new", "--space", "dropout=0.1,0.2")
    assert outcome.code == 2
    assert "python -m pip install optuna" in outcome.err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_no_study(deepnlp, tmp_path):
    (tmp_path / DECLARED).mkdir()
    outcome = deepnlp("search", "--study", tmp_path, "--space", "dropout=0.1,0.2")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
