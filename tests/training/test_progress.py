"""What is shown while a model trains."""

import re
import sys

import pytest

from deepnlp.training import progress
from deepnlp.training.progress import Progress
from deepnlp.training.resume import State
from tests.training.tools import tiny_trainer


def test_without_a_terminal_there_is_a_line_a_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(range(0, 10_000, 25))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    with Progress(total=1010, done=1000) as bar:
        for _ in range(9):
            bar.step("epoch 1/1", "perplexity 90.1")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "epoch 1/1  step 1,003 of 1,010, 02:55 left, perplexity 90.1",
        "epoch 1/1  step 1,006 of 1,010, 01:40 left, perplexity 90.1",
        "epoch 1/1  step 1,009 of 1,010, 00:25 left, perplexity 90.1",
    ]
    with Progress(total=9, enabled=False) as bar:
        for _ in range(9):
            bar.step("epoch 1/1", "perplexity 90.1")
    assert capsys.readouterr().err == ""


def test_the_bar_has_one_comma_between_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setitem(progress.LOOK, "mininterval", 0)
    monkeypatch.setitem(progress.LOOK, "ncols", 160)
    tiny_trainer(epochs=1, progress=True).fit()
    bar = re.split(r"[\r\n]", capsys.readouterr().err)
    bars = [line for line in bar if "perplexity" in line and "|" in line]
    assert bars
    assert all(re.search(r"<[\d:?]+, perplexity [\d.]+, norm", line) for line in bars)


def test_while_nothing_is_right_the_latest_epoch_counts() -> None:
    state = State()
    assert [state.judge(share, higher_is_better=True) for share in (0.0, 0.0, 1.5, 1.5)] == [
        True,
        True,
        True,
        False,
    ]
    assert state.best_epoch == 3
    assert [State().judge(0.0), state.judge(1.0, higher_is_better=True)] == [True, False]
