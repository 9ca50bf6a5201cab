"""Several processes on one journal, which are killed: every trial ends, and none twice."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from deepnlp import DeepNLPError
from deepnlp.studies.running import run_search, start
from deepnlp.studies.sampling import JOURNAL, begin_study
from deepnlp.studies.trials import read_trials
from deepnlp.studies.worker import ERROR
from tests.studies.tools import outcome, reported, states, tiny_search

TRIALS = 3
PATIENCE = 600


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study that one process ran in one go: its folder, and what was said."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, run_whole(folder)


def run_whole(folder):
    """Run a study in a folder in one go; gives what was said."""
    said = []
    search = tiny_search(folder, trials=TRIALS)
    assert run_search(search, folder / "study", say=said.append) == "finished"
    return said


def copied_text(folder, tmp_path):
    """The same search in another folder, of the same text."""
    corpus = str(folder / "text.txt")
    return tiny_search(tmp_path, trials=TRIALS, options={"corpus": corpus})


def check(whole_folder, folder):
    """All trials have ended, each once, as those that nobody killed."""
    assert states(folder) == ["COMPLETE"] * TRIALS
    assert outcome(folder, TRIALS) == outcome(whole_folder / "study", TRIALS)
    assert reported(folder) == reported(whole_folder / "study")


def written(folder):
    """The bytes of all logs and of the journal: how far a study has come."""
    files = [folder / JOURNAL, *folder.glob("trial-*/metrics.jsonl")]
    return sum(path.stat().st_size for path in files if path.exists())


def wait_for(process, folder, size):
    """Wait until a study has come so far."""
    end = time.monotonic() + PATIENCE
    while written(folder) < size and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


def kill_one_of_two(whole_folder, tmp_path, share):
    """Of two processes one is killed after a share of the work, and the other ends its trial."""
    search, folder = copied_text(whole_folder, tmp_path), tmp_path / "study"
    begin_study(folder, search)
    with start({"study": str(folder)}) as other, start({"study": str(folder)}) as killed:
        wait_for(killed, folder, share * written(whole_folder / "study"))
        killed.kill()
        said = other.stdout.read()
        assert other.wait(PATIENCE) == 0
        assert killed.wait() == -signal.SIGKILL
    assert ERROR not in said
    check(whole_folder, folder)


def kill_and_go_on(whole_folder, tmp_path, shares):
    """A command with two processes, killed after these shares of the work, goes on to the end."""
    search, folder = copied_text(whole_folder, tmp_path), tmp_path / "study"
    for share in shares:
        with subprocess.Popen(command(search, tmp_path), stdout=subprocess.DEVNULL) as process:
            wait_for(process, folder, share * written(whole_folder / "study"))
            process.kill()
    finish(search, tmp_path)
    check(whole_folder, folder)


def command(search, tmp_path):
    declared = tmp_path / "tiny.toml"
    declared.write_text(search.to_toml(), encoding="utf-8")
    study = ["--study", str(tmp_path / "study"), "--workers", "2"]
    return [sys.executable, "-m", "deepnlp", "search", str(declared), *study]


def finish(search, tmp_path):
    finished = subprocess.run(
        command(search, tmp_path), capture_output=True, text=True, timeout=PATIENCE
    )
    assert finished.returncode == 0, finished.stderr
    assert f"{TRIALS} of {TRIALS} trials have ended" in finished.stdout


def test_a_line_for_each_trial(whole):
    folder, said = whole
    assert [line.split(":")[0] for line in said] == [f"trial {k}" for k in range(TRIALS)]
    assert said[-1].endswith(f"{TRIALS} of {TRIALS} have ended")
    assert states(folder / "study") == ["COMPLETE"] * TRIALS
    search, again = tiny_search(folder, trials=TRIALS), []
    assert run_search(search, folder / "study", say=again.append) == "finished"
    assert again == []


def test_of_two_processes_one_is_killed_and_the_other_ends_its_trial(whole, tmp_path):
    kill_one_of_two(whole[0], tmp_path, np.random.default_rng().uniform(0.05, 0.8))


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_an_interruption_stops_all_processes_and_the_same_command_goes_on(whole, tmp_path):
    search, folder = copied_text(whole[0], tmp_path), tmp_path / "study"
    with subprocess.Popen(
        command(search, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(process, folder, 0.3 * written(whole[0] / "study"))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert "interrupted; the same command goes on" in out
    assert "Traceback" not in err
    assert len(read_trials(search, folder)) < TRIALS
    finish(search, tmp_path)
    check(whole[0], folder)


def test_the_error_of_a_process_is_that_of_the_search(tmp_path):
    search = tiny_search(tmp_path)
    (tmp_path / "text.txt").unlink()
    with pytest.raises(DeepNLPError, match=r"trial-00\d: .*text\.txt") as error:
        run_search(search, tmp_path / "study", workers=2, say=lambda line: None)
    assert "\n" not in str(error.value)


def test_if_all_are_killed_the_search_says_so(tmp_path, monkeypatch):
    search, folder, said = tiny_search(tmp_path), tmp_path / "study", []

    def killed(job, **options):
        process = start(job, **options)
        process.kill()
        return process

    monkeypatch.setattr("deepnlp.studies.running.start", killed)
    with pytest.raises(DeepNLPError, match="all processes were killed, 0 of 5 trials"):
        run_search(search, folder, workers=2, say=said.append)
    message = "a process was killed; its trial is taken up by another, or by the next call"
    assert said == [message] * 2
