"""Several processes on one journal, which are killed: every trial ends, and none twice."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from deepnlp import DeepNLPError
from deepnlp.reproduce.processes import start
from deepnlp.search import read_trials
from deepnlp.search.running import run_search
from deepnlp.search.study import JOURNAL, begin_study
from deepnlp.search.worker import ERROR
from tests.search.tools import outcome, reported, states, tiny_search

TRIALS = 4
PATIENCE = 600


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study that one process ran in one go: its folder, and what was said."""
    folder, said = tmp_path_factory.mktemp("whole"), []
    search = tiny_search(folder, trials=TRIALS)
    assert run_search(search, folder / "study", say=said.append) == "finished"
    return folder, said


def copied_text(whole, tmp_path):
    """The same search in another folder, of the same text."""
    corpus = str(whole[0] / "text.txt")
    return tiny_search(tmp_path, trials=TRIALS, options={"corpus": corpus})


def check(whole, folder):
    """All trials have ended, each once, as those that nobody killed."""
    assert states(folder) == ["COMPLETE"] * TRIALS
    assert outcome(folder, TRIALS) == outcome(whole[0] / "study", TRIALS)
    assert reported(folder) == reported(whole[0] / "study")


def written(folder):
    """The bytes of all logs and of the journal: how far a study has come."""
    files = [folder / JOURNAL, *folder.glob("trial-*/metrics.jsonl")]
    return sum(path.stat().st_size for path in files if path.exists())


def kill_at(process, folder, size):
    """Kill a process when a study has come so far."""
    end = time.monotonic() + PATIENCE
    while written(folder) < size and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    process.kill()


def test_a_line_for_each_trial(whole):
    folder, said = whole
    assert [line.split(":")[0] for line in said] == [f"trial {k}" for k in range(TRIALS)]
    assert said[-1].endswith(f"{TRIALS} of {TRIALS} have ended")
    assert states(folder / "study") == ["COMPLETE"] * TRIALS
    search, again = tiny_search(folder, trials=TRIALS), []
    assert run_search(search, folder / "study", say=again.append) == "finished"
    assert again == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_of_two_processes_one_is_killed_and_the_other_ends_its_trial(whole, tmp_path, seed):
    search, folder = copied_text(whole, tmp_path), tmp_path / "study"
    begin_study(folder, search)
    job = {"folder": str(folder), "backend": "numpy"}
    share = np.random.default_rng(seed).uniform(0.05, 0.8)
    with (
        start("deepnlp.search.worker", job, stdout=subprocess.PIPE) as other,
        start("deepnlp.search.worker", job, stdout=subprocess.DEVNULL) as killed,
    ):
        kill_at(killed, folder, share * written(whole[0] / "study"))
        said = other.stdout.read()
        assert other.wait(PATIENCE) == 0
        assert killed.wait() == -signal.SIGKILL
    assert ERROR not in said
    check(whole, folder)


def test_a_command_that_is_killed_again_and_again_goes_on(whole, tmp_path):
    search, folder = copied_text(whole, tmp_path), tmp_path / "study"
    declared = tmp_path / "tiny.toml"
    declared.write_text(search.to_toml(), encoding="utf-8")
    command = [sys.executable, "-m", "deepnlp", "search", str(declared), "--study", str(folder)]
    command += ["--workers", "2"]
    for share in np.random.default_rng(4).uniform(0.0, 0.9, 3):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            kill_at(process, folder, share * written(whole[0] / "study"))
    finished = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert finished.returncode == 0, finished.stderr
    check(whole, folder)
    assert "4 of 4 trials have ended" in finished.stdout


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_an_interruption_stops_all_processes_and_the_same_command_goes_on(whole, tmp_path):
    search, folder = copied_text(whole, tmp_path), tmp_path / "study"
    declared = tmp_path / "tiny.toml"
    declared.write_text(search.to_toml(), encoding="utf-8")
    command = [sys.executable, "-m", "deepnlp", "search", str(declared), "--study", str(folder)]
    command += ["--workers", "2"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        end = time.monotonic() + PATIENCE
        while not (folder / "trial-001" / "metrics.jsonl").exists() and time.monotonic() < end:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert "interrupted; the same command goes on" in out
    assert "Traceback" not in err
    assert len(read_trials(search, folder)) < TRIALS
    finished = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert finished.returncode == 0, finished.stderr
    check(whole, folder)


def test_the_error_of_a_process_is_that_of_the_search(tmp_path):
    search = tiny_search(tmp_path)
    (tmp_path / "text.txt").unlink()
    with pytest.raises(DeepNLPError, match=r"trial-00\d: .*text\.txt") as error:
        run_search(search, tmp_path / "study", workers=2, say=lambda line: None)
    assert "\n" not in str(error.value)


def test_if_all_are_killed_the_search_says_so(whole, tmp_path, monkeypatch):
    search, folder, said = copied_text(whole, tmp_path), tmp_path / "study", []

    def killed(module, job, **options):
        process = start(module, job, **options)
        process.kill()
        return process

    with monkeypatch.context() as patch:
        patch.setattr("deepnlp.search.running.start", killed)
        with pytest.raises(DeepNLPError, match="all processes were killed, 0 of 4 trials"):
            run_search(search, folder, workers=2, say=said.append)
    assert len(said) == 2
    assert all("a process was killed" in line for line in said)
    shutil.rmtree(folder)
