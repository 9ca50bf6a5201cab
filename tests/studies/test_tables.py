"""Running a table: finished rows are kept, stopped ones go on, changed ones are refused."""

import asyncio
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from deepnlp import DeepNLPError
from deepnlp.files.writing import locked
from deepnlp.training import RunFolder, TrainConfig
from studies.figure import write_page
from studies.logs import CHANGED, FINISHED, LOG_FILES, NOT_RUN, Logs, Run
from studies.running import run_table
from tests.studies.tools import in_this_process, run_here, tiny_table, without_times

DONE = ["untied-0", "tied-0", "start-0", "untied-1"]
EPOCHS = 12  # of all runs


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A table that was run in one go: the folder, and the table."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, run_whole(folder)


def run_whole(folder):
    """Run a table in one go."""
    table = tiny_table(folder)
    assert ran(table, folder) == DONE
    return table


def ran(table, folder, **options):
    """The names of the runs that were begun or gone on with, here in this process."""
    said = []
    with in_this_process():
        state = run_table(table, folder / "runs", folder / "results", say=said.append, **options)
    assert state == "finished"
    return [line.split(", ")[1] for line in said]


def logs_of(table, folder):
    return Logs(table, folder / "results" / "tiny")


def copied(whole, tmp_path):
    folder, table = whole
    for name in ("runs", "results"):
        shutil.copytree(folder / name, tmp_path / name)
    return table


def test_the_logs_of_finished_runs_say_nothing_of_the_machines_folders(whole):
    folder, table = whole
    for name in DONE:
        logs = folder / "results" / "tiny" / name
        assert sorted(path.name for path in logs.iterdir()) == sorted(LOG_FILES)
        result = json.loads((logs / "result.json").read_text(encoding="utf-8"))
        assert not {"folder", "files"} & {*result}
    logs = logs_of(table, folder)
    assert [logs.state(name) for name in table.run_names] == [FINISHED] * 4
    vectors = logs.of("start-0").read_result()["corpus"]["vectors"]  # those of another run
    assert vectors["words"] == vectors["vocabulary"]
    assert vectors["file"] == "tied-0"


def test_finished_runs_are_not_repeated(whole, tmp_path):
    table = copied(whole, tmp_path)
    assert ran(table, tmp_path) == []
    shutil.rmtree(tmp_path / "runs")  # the logs are enough
    assert ran(table, tmp_path) == []
    shutil.rmtree(tmp_path / "results" / "tiny" / "untied-1")
    assert ran(table, tmp_path) == ["untied-1"]


def test_a_run_that_another_needs_is_made_again_where_its_folder_is_gone(whole, tmp_path):
    table = copied(whole, tmp_path)
    shutil.rmtree(tmp_path / "runs")
    shutil.rmtree(tmp_path / "results" / "tiny" / "start-0")
    assert ran(table, tmp_path) == ["tied-0", "start-0"]
    assert (tmp_path / "runs" / "tiny" / "tied-0" / "best.npz").exists()
    check(whole, tmp_path)


def test_only_some_rows(tmp_path):
    table = tiny_table(tmp_path)
    assert ran(table, tmp_path, only=["untied-1", "tied"]) == ["tied-0", "untied-1"]
    page = (tmp_path / "results" / "tiny.md").read_text(encoding="utf-8")
    assert "2 of 4 runs" in page
    assert "| LSTM, from the vectors of another run | not run | not run | - | not run |" in page
    with pytest.raises(ValueError, match=r"no row 'tie': expected one of untied, tied, start"):
        run_table(table, tmp_path / "runs", tmp_path / "results", only=["tie"])


def test_a_run_that_diverges_is_a_result(tmp_path, capfd):
    table = tiny_table(tmp_path, {"lr = 0.02": 'lr = 1e30, optimizer = "sgd", max_norm = 0.0'})
    assert ran(table, tmp_path, only=["tied"]) == ["tied-0"]
    assert "tied-0: training diverged at step" in capfd.readouterr().err
    result = logs_of(table, tmp_path).of("tied-0").read_result()
    assert (result["status"], result["perplexity"]) == ("diverged", {"valid": None})
    page = (tmp_path / "results" / "tiny.md").read_text(encoding="utf-8")
    assert "| LSTM, tied | 194 | diverged | - | - |" in page
    assert ran(table, tmp_path, only=["tied"]) == []
    assert Logs(table, tmp_path / "elsewhere" / "tiny").take(tmp_path / "runs") == ["tied-0"]


# --- Stopped --------------------------------------------------------------------------------------

COMMAND = [sys.executable, "-m", "deepnlp", "reproduce"]


def command(folder):
    paths = ["--runs", str(folder / "runs"), "--results", str(folder / "results")]
    return [*COMMAND, str(folder / "tiny.toml"), *paths]


def progress(folder):
    """How many epochs there are in all logs."""
    files = (folder / "runs" / "tiny").glob("*/metrics.jsonl")
    return sum(len(RunFolder(path.parent).read_metrics()) for path in files)


def started(folder, epochs):
    """The command, in a process that has come so far."""
    process = subprocess.Popen(
        command(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 600
    while progress(folder) < epochs and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    return process


def kill_and_go_on(whole, tmp_path, shares):
    """The command, killed after these shares of the epochs, ends with the same page."""
    for share in shares:
        process = started(tmp_path, int(share * EPOCHS))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    finished = subprocess.run(command(tmp_path), capture_output=True, text=True, timeout=900)
    assert finished.returncode == 0, finished.stderr
    check(whole, tmp_path)


def begun_again(whole, tmp_path, kept=("untied-0", "tied-0")):
    """The table of which only some runs have finished."""
    for name in ("tiny.toml", "text.txt"):
        shutil.copy(whole[0] / name, tmp_path)
    for folder in ("runs", "results"):
        for name in kept:
            place = Path(folder, "tiny", name)
            shutil.copytree(whole[0] / place, tmp_path / place)


def check(whole, folder):
    """The logs and the page are those of the table that nobody stopped."""
    folders = (folder / "results", whole[0] / "results")
    ours, theirs = (without_times(whole[1], results) for results in folders)
    assert ours == theirs


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_interrupted_and_killed_it_goes_on_to_the_same_page(whole, tmp_path):
    begun_again(whole, tmp_path, DONE[:3])
    process = started(tmp_path, 10)  # the first epoch of the last run
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=900)
    assert process.returncode == 130
    assert "the same command goes on" in out
    assert "Traceback" not in err
    kill_and_go_on(whole, tmp_path, np.random.default_rng().uniform(0.85, 0.95, 1))


def test_a_killed_command_leaves_no_process_behind(tmp_path):
    tiny_table(tmp_path)
    process = started(tmp_path, 1)
    process.kill()
    process.communicate()
    with locked(tmp_path / "runs" / "tiny" / "untied-0.lock", patience=60) as held:
        assert held
    before = progress(tmp_path)
    time.sleep(0.2)
    assert progress(tmp_path) == before


def test_a_row_that_another_process_runs_is_waited_for(whole, tmp_path, monkeypatch):
    table = copied(whole, tmp_path)
    shutil.rmtree(tmp_path / "results" / "tiny" / "untied-1")
    run = RunFolder(tmp_path / "runs" / "tiny" / "untied-1")
    result = run.result.read_bytes()
    run.result.unlink()
    sleep = asyncio.sleep

    async def sleep_and_end(seconds):
        run.result.write_bytes(result)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", sleep_and_end)
    with locked(run.path.with_name("untied-1.lock"), patience=0):
        assert ran(table, tmp_path) == []
    check(whole, tmp_path)


# --- Changed rows ---------------------------------------------------------------------------------


def test_a_row_with_other_options_is_refused_or_run_again(whole, tmp_path):
    copied(whole, tmp_path)
    corpus = {str(tmp_path / "text.txt"): str(whole[0] / "text.txt")}
    changed = tiny_table(tmp_path, {**corpus, "lr = 0.02": "lr = 0.03"})
    before = {p: p.read_bytes() for p in (tmp_path / "results").rglob("*") if p.is_file()}
    with pytest.raises(DeepNLPError, match=r"tied-0 was run with other .*lr was 0\.02, is 0\.03"):
        run_table(changed, tmp_path / "runs", tmp_path / "results")
    assert {p: p.read_bytes() for p in (tmp_path / "results").rglob("*") if p.is_file()} == before
    with pytest.raises(DeepNLPError, match="--rerun"):  # nor is another row run beside it
        run_table(changed, tmp_path / "runs", tmp_path / "results", only=["untied"])
    states = [logs_of(changed, tmp_path).state(name) for name in changed.run_names]
    assert states == [FINISHED, *[CHANGED] * 2, *states[3:]]
    # the row that starts from the vectors of the changed one is run again too
    assert ran(changed, tmp_path, rerun=True) == ["tied-0", "start-0"]
    config = (tmp_path / "results" / "tiny" / "tied-0" / "config.toml").read_text(encoding="utf-8")
    assert "lr = 0.03" in config


def test_a_begun_run_with_other_options_is_refused_too(whole, tmp_path):
    copied(whole, tmp_path)
    shutil.rmtree(tmp_path / "results")
    corpus = {str(tmp_path / "text.txt"): str(whole[0] / "text.txt")}
    changed = tiny_table(tmp_path, {**corpus, '"tied-0" }': '"tied-0", cell = "gru" }'})
    with pytest.raises(DeepNLPError, match=r"runs/tiny/start-0 .*cell was 'lstm', is 'gru'"):
        run_table(changed, tmp_path / "runs", tmp_path / "results")
    assert ran(changed, tmp_path, rerun=True, only=["start"]) == ["start-0"]


# --- Several machines -----------------------------------------------------------------------------


def test_runs_of_another_machine_are_taken_in(whole, tmp_path):
    folder, table = whole
    there = tmp_path / "there"
    for name in ("untied-0", "untied-1"):
        shutil.copytree(folder / "runs" / "tiny" / name, there / name)
    shutil.copytree(folder / "runs" / "tiny" / "tied-0", there / "tied-0")
    (there / "tied-0" / "result.json").unlink()  # has not finished
    assert Logs(table, tmp_path / "results" / "tiny").take(there) == ["untied-0", "untied-1"]
    assert Logs(table, tmp_path / "both" / "tiny").take(folder / "runs") == DONE
    states = [logs_of(table, tmp_path).state(name) for name in DONE]
    assert states == [FINISHED, NOT_RUN, NOT_RUN, FINISHED]
    with pytest.raises(FileNotFoundError, match="holds no finished run of table tiny"):
        Logs(table, tmp_path / "results" / "tiny").take(tmp_path)


def test_a_run_of_another_machine_with_other_options_is_refused(whole, tmp_path):
    folder, _ = whole
    corpus = {str(tmp_path / "text.txt"): str(folder / "text.txt")}
    changed = tiny_table(tmp_path, {**corpus, "epochs = 3": "epochs = 4"})
    with pytest.raises(DeepNLPError, match="epochs was 3, is 4"):
        Logs(changed, tmp_path / "results" / "tiny").take(folder / "runs")
    assert not (tmp_path / "results").exists()


def test_a_damaged_log_is_not_taken(whole, tmp_path):
    table = copied(whole, tmp_path)
    metrics = tmp_path / "runs" / "tiny" / "tied-0" / "metrics.jsonl"
    lines = metrics.read_text(encoding="utf-8").splitlines()
    metrics.write_text("\n".join(lines[:-1]), encoding="utf-8")
    with pytest.raises(DeepNLPError, match="does not end with epoch 3"):
        Logs(table, tmp_path / "results" / "tiny").take(tmp_path / "runs")


def of_result(**changes):
    """A change of ``result.json``; the names of figures have two parts."""

    def change(run):
        result = json.loads(run.result.read_text(encoding="utf-8"))
        for name, value in changes.items():
            inner, _, key = name.partition("__")
            table = result[inner] if key else result
            table[key or name] = value
        run.result.write_text(json.dumps(result), encoding="utf-8")

    return change


def of_metrics(*cells):
    """A change of ``metrics.jsonl``: cells are (row, name, value)."""

    def change(run):
        rows = [json.loads(line) for line in run.metrics.read_text(encoding="utf-8").splitlines()]
        for row, name, value in cells:
            rows[row][name] = value
        run.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    return change


def of_another_run(*names):
    """Files of another run in place of its own."""

    def change(run):
        for name in names:
            shutil.copy(run.path.with_name("untied-0") / name, run.path / name)

    return change


LIES = {
    "perplexity below 1": (of_result(perplexity__test=-3), "'perplexity'"),
    "perplexity that is none": (of_result(perplexity__test=math.nan), "'perplexity'"),
    "perplexity of a baseline": (
        of_result(baselines={"trigram": {"valid": 0.5, "test": 2.0}}),
        "'trigram'",
    ),
    "baselines that are a number": (of_result(baselines=1.5), "its 'baselines' is 1.5"),
    "a number beyond all bounds": (of_result(perplexity__valid=10**400), "'perplexity'"),
    "status": (of_result(status="running"), "'status' is 'running'"),
    "epochs": (of_result(epochs=99), "does not end with epoch 99"),
    "no epochs": (of_result(epochs=-1), "does not end with epoch -1"),
    "steps": (of_result(steps=1), "not of the last and the best epoch"),
    "best epoch": (of_result(best_epoch=2), "not of the last and the best epoch"),
    "best figure": (
        of_result(perplexity__valid=2.0, perplexity_batched__valid=2.0),
        "not of the last and the best epoch",
    ),
    "test figure": (of_result(perplexity__test=2.0), "its digest differs"),
    "parameters": (of_result(parameters=1), "its digest differs"),
    "validation below 1": (
        of_metrics((0, "valid_perplexity", -3)),
        "metrics.jsonl says valid_perplexity -3",
    ),
    "validation that is none": (
        of_metrics((1, "valid_perplexity", math.nan)),
        "says valid_perplexity nan",
    ),
    "training beyond all bounds": (
        of_metrics((1, "train_perplexity", math.inf)),
        "says train_perplexity inf",
    ),
    "validation as text": (of_metrics((1, "valid_perplexity", "7")), "says valid_perplexity '7'"),
    "epochs twice": (of_metrics((1, "epoch", 1)), "not 1, 2, 3 and so on"),
    "a faster run": (of_metrics((0, "seconds", 1e-9)), "its digest differs"),
    "metrics of another run": (of_another_run("metrics.jsonl"), "not of the last and the best"),
    "result of another run": (of_another_run("result.json"), "not of the last and the best"),
    "both of another run": (
        of_another_run("metrics.jsonl", "result.json"),
        "its digest differs",
    ),
    "too many epochs": (
        lambda run: [
            of_metrics((2, "epoch", 3))(run),
            run.config.write_text(
                run.config.read_text(encoding="utf-8").replace("epochs = 3", "epochs = 2"),
                encoding="utf-8",
            ),
        ],
        "epochs was 2, is 3",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_logs_that_contradict_themselves_are_not_believed(whole, tmp_path, lie):
    table = copied(whole, tmp_path)
    change, message = LIES[lie]
    change(RunFolder(tmp_path / "runs" / "tiny" / "tied-0"))
    change(RunFolder(tmp_path / "results" / "tiny" / "tied-0"))
    with pytest.raises((DeepNLPError, ValueError), match=message):
        Logs(table, tmp_path / "taken" / "tiny").take(tmp_path / "runs")
    assert not (tmp_path / "taken").exists()
    with pytest.raises((DeepNLPError, ValueError), match=message):
        write_page(table, tmp_path / "results")


def test_a_result_without_a_digest_is_read(whole, tmp_path):
    table = copied(whole, tmp_path)
    of_result(digest=None)(RunFolder(tmp_path / "runs" / "tiny" / "tied-0"))
    assert "tied-0" in Logs(table, tmp_path / "taken" / "tiny").take(tmp_path / "runs")


def test_committed_logs_do_not_contradict_themselves():
    for path in sorted(Path("docs/results").glob("*/*/result.json")):
        folder = RunFolder(path.parent)
        config = TrainConfig.load(folder.config)
        run = Run(folder, config, folder.read_metrics(), folder.read_result())
        assert [*run.contradictions()] == [], path


def test_a_run_that_fails_does_not_stop_the_others(tmp_path, capfd):
    changes = {'vectors = "tied-0"': 'vectors = "nowhere.txt"', 'needs = ["tied-0"]': ""}
    table = tiny_table(tmp_path, changes)
    said = []
    with pytest.raises(DeepNLPError, match="1 of 2 runs failed: start-0"):
        run_table(
            table,
            *(tmp_path / "runs", tmp_path / "results"),
            only=["start", "untied-1"],
            say=said.append,
        )
    assert len(said) == 2
    assert "nowhere.txt" in capfd.readouterr().err
    page = (tmp_path / "results" / "tiny.md").read_text(encoding="utf-8")
    assert "1 of 4 runs have finished" in page


def test_an_interruption_as_a_run_ends_is_not_lost(tmp_path):
    table, stop = tiny_table(tmp_path), [signal.SIGINT]

    async def late(*arguments):
        code = await run_here(*arguments)
        if stop:
            signal.raise_signal(stop.pop())
            await asyncio.sleep(0.05)
        return code

    options = {"only": ["tied"], "say": lambda line: None}
    with in_this_process(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("studies.running.run_worker", late)
        for state in ("interrupted", "finished"):
            assert run_table(table, tmp_path / "runs", tmp_path / "results", **options) == state
