"""Several processes on one study, which are killed: every trial ends, and none twice."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from deepnlp import DeepNLPError
from studies.running import run_search
from tests.studies.tools import outcome, states, tiny_search

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
    assert states(folder) == ["finished"] * TRIALS
    assert outcome(folder, TRIALS) == outcome(whole_folder / "study", TRIALS)


def written(folder):
    """The bytes of all options and logs: how far a study has come."""
    files = [*folder.glob("trial-*/config.toml"), *folder.glob("trial-*/metrics.jsonl")]
    return sum(path.stat().st_size for path in files)


def wait_for(process, folder, size):
    """Wait until a study has come so far."""
    end = time.monotonic() + PATIENCE
    while written(folder) < size and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


def kill_one_of_two(whole_folder, tmp_path, share):
    """Of two commands one is killed after a share of the work, and the other ends its trial."""
    search, folder = copied_text(whole_folder, tmp_path), tmp_path / "study"
    words = command(search, tmp_path, workers=1)
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(words, **options) as other, subprocess.Popen(words, **options) as killed:
        wait_for(killed, folder, share * written(whole_folder / "study"))
        killed.kill()
        said = other.communicate(timeout=PATIENCE)[0]
        assert other.returncode == 0, said
        assert killed.wait() == -signal.SIGKILL
    assert "error" not in said
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


def command(search, tmp_path, workers=2):
    declared = tmp_path / "tiny.toml"
    declared.write_text(search.to_toml(), encoding="utf-8")
    study = ["--study", str(tmp_path / "study"), "--workers", str(workers)]
    return [sys.executable, "-m", "deepnlp", "search", str(declared), *study]


def finish(search, tmp_path):
    finished = subprocess.run(
        command(search, tmp_path), capture_output=True, text=True, timeout=PATIENCE
    )
    assert finished.returncode == 0, finished.stderr
    assert f"{TRIALS} of {TRIALS} trials have ended" in finished.stdout


def test_a_line_for_each_trial(whole):
    folder, said = whole
    assert said[::2] == [f"tiny: trial {k + 1} of 3, trial-00{k}" for k in range(TRIALS)]
    assert [line.split(":")[0] for line in said[1::2]] == [f"trial {k}" for k in range(TRIALS)]
    assert said[-1].endswith(f"{TRIALS} of {TRIALS} have ended")
    search, again = tiny_search(folder, trials=TRIALS), []
    assert states(folder / "study") == ["finished"] * TRIALS
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
    assert states(folder) != ["finished"] * TRIALS
    finish(search, tmp_path)
    check(whole[0], folder)


def test_the_error_of_a_trial_ends_the_search(tmp_path, capfd):
    search = tiny_search(tmp_path)
    (tmp_path / "text.txt").unlink()
    with pytest.raises(DeepNLPError, match="1 of 5 runs failed: trial-000; see their errors"):
        run_search(search, tmp_path / "study", say=lambda line: None)
    assert re.fullmatch(r"deepnlp: error: .*trial-000: .*text\.txt.*\n", capfd.readouterr().err)


def test_that_a_process_was_killed_is_an_error(tmp_path, monkeypatch, capfd):
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setattr("studies.running.WORKER", [sys.executable, "-c", kill])
    with pytest.raises(DeepNLPError, match="2 of 5 runs failed: trial-00"):
        run_search(tiny_search(tmp_path), tmp_path / "study", workers=2, say=lambda line: None)
    assert capfd.readouterr().err.count("its process was killed") == 2
