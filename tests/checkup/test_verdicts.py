"""The figures of healthy and of ill runs."""

import shutil
from pathlib import Path

import pytest

from deepnlp.checkup.verdicts import check_run, sentences, verdict
from deepnlp.errors import DeepNLPError
from deepnlp.training import Result

HOME = Path(__file__).parents[2] / "docs" / "results"
LEVELS = {"unigram": {"valid": 28.31}, "bigram": {"valid": 14.0}, "trigram": {"valid": 9.97}}


def run(valid, train=None, lr=None, norm=0.3, V=87, status="finished", levels=LEVELS):
    """The verdict on a run whose epochs had these perplexities."""
    best, rows = float("inf"), []
    for k, value in enumerate(valid):
        row = {"epoch": k + 1, "step": 10 * (k + 1), "valid_perplexity": value}
        row |= {"train_perplexity": (train or valid)[k], "gradient_norm": norm}
        row |= {"lr": (lr or [0.01 * 0.8**k for k in range(len(valid))])[k], "best": value < best}
        best = min(best, value)
        rows.append(row)
    figures = {"perplexity": {"valid": best if valid else None, "test": best}}
    result = Result(status, len(valid), 10, 1, figures, levels, corpus={"vocabulary": V})
    return verdict(rows, result, {"max_norm": 0.25})


RUNS = {
    "healthy": (run([20.0, 12.0, 9.0, 8.3, 8.25]), []),
    "small vocabulary": (run([1.9, 1.5, 1.49], V=2, levels={}), []),
    "above V": (run([31_856_921.0, 4e7], V=87), ["worse than guessing"]),
    "at the unigram": (run([28.32, 28.31, 28.30]), ["only frequencies are learned"]),
    "below the trigram": (run([15.0, 11.0, 10.9]), ["counting does better"]),
    "overfitting": (
        run([9.0, 8.0, 7.5, 8.0, 8.6, 9.1], [9.0, 7.5, 7.0, 6.6, 6.3, 6.0]), ["overfitting"]
    ),
    "worse and worse": (run([9.0, 8.0, 12.0, 20.0], lr=[1, 1, 1, 1]), ["it became worse"]),
    "falling at the end": (run([20.0, 12.0, 9.0, 8.0]), ["still getting better"]),
    "one rate": (run([9.0, 8.0, 7.95, 7.94, 7.93], lr=[0.1] * 5), ["the rate never fell"]),
    "rate gone": (
        run([9.0, 8.0, 8.0, 8.0, 8.0, 8.0], lr=[1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-9]),
        ["idle epochs", "the rate fell too early"],
    ),
    "clipped": (run([9.0, 8.0, 7.95], norm=5.0), ["always clipped"]),
    "diverged": (run([], status="diverged"), ["the run has diverged"]),
}  # fmt: skip


ILL = {"worse than guessing", "only frequencies are learned", "it became worse"}
ILL |= {"the run has diverged"}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_said(name):
    report, causes = RUNS[name]
    assert [one.name for one in report.causes] == causes, report
    assert report.ok == (not {*causes} & ILL)
    assert sentences(report)


def test_the_runs_of_our_results_are_not_accused():
    folders = [path.parent for path in sorted(HOME.rglob("metrics.jsonl"))][::8]
    assert len(folders) > 20
    wrong = {folder.name: check_run(folder).diagnosis for folder in folders}
    assert {name for name in wrong.values() if name} <= {"the run has diverged"}


def test_no_run(tmp_path):
    with pytest.raises(DeepNLPError, match="holds no run"):
        check_run(tmp_path)
    one = next(HOME.rglob("metrics.jsonl"))
    shutil.copy(one, tmp_path)  # of a run that goes on
    assert check_run(tmp_path).rows
