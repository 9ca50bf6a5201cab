"""The page of a search: from its declaration and logs; every committed page is what they say."""

import re
import shutil

import pytest

from deepnlp import DeepNLPError
from studies.figure import draw_parameters, draw_trials, write_page
from studies.logs import Logs
from studies.page import render
from studies.sampling import importances
from studies.search import build_search
from tests.studies.tools import folder_of, tiny_search, write_logs

CURVES = [[9.0, 6.0, 5.0], [8.0, 7.0, 6.5], [20.0, 12.0], [], [7.0, 4.0, 4.5], [8.0, 5.5, 5.25]]
STATES = ["finished", "finished", "pruned", "diverged", "finished", "finished"]


def fake_study(search, folder, count=6):
    """The logs of ended trials, made by hand."""
    for number, (curve, status) in enumerate(zip(CURVES[:count], STATES, strict=False)):
        run = folder_of(folder, number)
        values = {"dropout": 0.1 * (number % 3), "lr": 0.001 * 2**number}
        facts = {"corpus": {"name": "a", "vocabulary": 9, "fingerprint": "b"}, "seconds": 90.0}
        facts |= {"status": status, "folder": str(run.path), "files": []}
        write_logs(run, search.options(values), curve, **facts)


def take(search, folder):
    return Logs(search, folder / "results" / search.folder).take(folder / "study")


@pytest.fixture
def search(tmp_path):
    options = {"epochs": 3}
    return tiny_search(tmp_path, trials=6, text="What is asked.", pruner="median", options=options)


def test_the_page_has_a_line_for_each_trial(search, tmp_path):
    fake_study(search, tmp_path / "study")
    assert take(search, tmp_path) == [f"trial-00{number}" for number in range(6)]
    text = render(search, tmp_path / "results")
    lines = [line for line in text.splitlines() if re.match(r"\| \[\d\]", line)]
    log = "(search-tiny/trial-00{}/metrics.jsonl)"
    assert [line.replace(log.format(k), "") for k, line in enumerate(lines)] == [
        "| [0] | 0 | 0.001 | 5.00 | 3 | 3 | 1.5 | finished |",
        "| [1] | 0.1 | 0.002 | 6.50 | 3 | 3 | 1.5 | finished |",
        "| [2] | 0.2 | 0.004 | 12.00 | 2 | 2 | 1.5 | pruned |",
        "| [3] | 0 | 0.008 | - | - | 0 | 1.5 | diverged |",
        "| [4] | 0.1 | 0.016 | **4.00** | 2 | 3 | 1.5 | finished |",
        "| [5] | 0.2 | 0.032 | 5.25 | 3 | 3 | 1.5 | finished |",
    ]
    assert "All 6 trials have ended: 4 finished, 1 pruned, 1 diverged." in text
    assert "trial 4, with dropout 0.1, lr 0.016: validation perplexity 4.00 after epoch 2" in text
    assert "| `dropout` | 0, 0.1, 0.2 |" in text
    assert "What is asked." in text
    assert "deepnlp search tiny" in text
    result = folder_of(tmp_path / "results" / "search-tiny", 0).read_result()
    assert not {"folder", "files"} & {*result}


def test_a_page_of_some_trials_says_so(search, tmp_path):
    fake_study(search, tmp_path / "study", count=3)
    take(search, tmp_path)
    assert "3 of 6 trials have ended." in render(search, tmp_path / "results")


def test_without_trials_there_is_no_page(search, tmp_path):
    with pytest.raises(DeepNLPError, match="holds no logs of trials"):
        write_page(search, tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_the_figures(search, tmp_path):
    fake_study(search, tmp_path / "study")
    trials = Logs(search, tmp_path / "study").read_all()
    left, right = draw_trials(search, trials).axes
    curves = [line.get_ydata() for line in left.get_lines() if len(line.get_ydata()) > 1]
    assert sorted(map(list, curves)) == sorted(curve for curve in CURVES if curve)
    best_so_far = right.get_lines()[-1].get_ydata()
    assert list(best_so_far) == [5.0, 5.0, 4.0, 4.0, 4.0]
    dropout, lr = draw_parameters(search, trials).axes
    assert dropout.get_title(loc="left").startswith("dropout")
    drawn = {(float(x), float(y)) for line in lr.get_lines() for x, y in line.get_xydata()}
    assert sum(len(line.get_xdata()) for line in dropout.get_lines()) == len(drawn)
    assert drawn == {(t.config.lr, t.best) for t in trials if t.best is not None}
    take(search, tmp_path)
    page = write_page(search, tmp_path / "results")
    for name in re.findall(r"\((images/.*?\.png)\)", page.read_text(encoding="utf-8")):
        assert (tmp_path / "results" / name).read_bytes().startswith(b"\x89PNG")


def test_importance_needs_several_trials_and_parameters(search, tmp_path):
    fake_study(search, tmp_path / "study")
    trials = Logs(search, tmp_path / "study").read_all()
    assert importances(search, trials) == {}
    finished = [trial for trial in trials if trial.status == "finished"]
    found = importances(search, finished * 2)
    assert {*found} == {"dropout", "lr"}
    assert sum(found.values()) == pytest.approx(1.0)


def test_the_better_trial_is_that_of_the_higher_figure(tmp_path):
    options = {"task": "tag", "corpus": "text8", "epochs": 2}
    space = {"dropout": {"choices": [0.1, 0.2]}}
    search = build_search("tags", {"space": space, "options": options})
    for number, curve in enumerate([[90.0, 95.0], [94.0, 93.0]]):
        run = folder_of(tmp_path, number)
        write_logs(run, search.options({"dropout": [0.1, 0.2][number]}), curve, "accuracy")
    trials = Logs(search, tmp_path).read_all()
    assert [trial.best for trial in trials] == [95.0, 94.0]
    assert search.best_of(trials).name == "trial-000"


@pytest.mark.parametrize("how", ["link", "copy"])
def test_a_trial_counts_once(tmp_path, how):
    search = tiny_search(tmp_path, trials=2)
    first, second = (folder_of(tmp_path / "study", number) for number in range(2))
    write_logs(first, search.options({"dropout": 0.1, "lr": 0.01}), [6.0, 5.0], digest="")
    result = first.read_result()
    first.write_result({**result, "digest": first.digest(result)})
    if how == "link":
        second.path.symlink_to(first.path)
    else:
        shutil.copytree(first.path, second.path)
    with pytest.raises(DeepNLPError, match="trial-000 is trial-001 once more: remove one of them"):
        Logs(search, tmp_path / "study").read_all()
