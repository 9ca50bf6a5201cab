"""One process: which trial is next, when one is ended early, and what is taken up again."""

import asyncio
import json
import shutil
import signal
import sys

import numpy as np
import pytest

from deepnlp import DeepNLPError
from deepnlp.files.writing import locked
from deepnlp.training import RunFolder, Trainer
from studies.logs import Logs, Run
from studies.running import run_search
from studies.sampling import draw_values
from studies.search import DECLARED, begin_study, build_search
from studies.training import is_pruned, train_run
from tests.studies.tools import folder_of, in_this_process, outcome, states, tiny_search
from tests.training.tools import Killed


def run_all(search, folder, say=lambda line: None):
    assert run_search(search, folder, say=say) == "finished"


def begun(folder, **content):
    """A study in a folder, and its search."""
    folder.mkdir(exist_ok=True)
    search = tiny_search(folder.parent, **content)
    begin_study(folder, search)
    return search


def train_first(search, folder):
    """Train the first trial, or go on with it; how it ended."""
    run = folder_of(folder, 0)
    if not run.config.exists():
        run.path.mkdir()
        run.write_config(search.options(draw_values(search, 0, [], [])).to_toml())
    return train_run(str(run.path))


@pytest.fixture(scope="module", autouse=True)
def _here():
    with in_this_process():
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study that was run in one go."""
    folder = tmp_path_factory.mktemp("whole") / "study"
    search = begun(folder, trials=3)
    said = []
    run_all(search, folder, said.append)
    said = [line for line in said if line.startswith("trial ")]
    return folder, search, said


def test_every_trial_is_a_run_on_the_validation_split_alone(whole):
    folder, search, said = whole
    assert states(folder) == ["finished"] * 3
    trials = Logs(search, folder).read_all()
    assert [search.number(trial) for trial in trials] == [0, 1, 2]
    for trial in trials:
        run_folder = trial.folder
        assert run_folder.config.exists()
        assert run_folder.best.exists()
        assert {*trial.result["perplexity"]} == {"train", "valid"}
        assert trial.result["baselines"] == {}
        assert trial.best == min(trial.curve)
        assert trial.best == trial.result["perplexity"]["valid"]
        assert len(trial.curve) == 2
    best = search.best_of(trials)
    assert best.best == min(trial.best for trial in trials)
    assert len(said) == 3
    assert said[-1].endswith(f"trial {search.number(best)}; 3 of 3 have ended")


def test_the_values_of_a_trial_depend_on_its_number_alone(whole):
    folder, search, _ = whole
    values = [search.values(trial.config) for trial in Logs(search, folder).read_all()]
    assert len({json.dumps(value) for value in values}) == 3
    assert draw_values(search, 2, [], []) == values[2]


def test_more_trials_go_on_where_the_others_ended(whole, tmp_path):
    folder, _, _ = whole
    run_all(begun(tmp_path / "study", trials=2), tmp_path / "study")
    run_all(tiny_search(tmp_path, trials=3), tmp_path / "study")
    assert states(tmp_path / "study") == ["finished"] * 3
    for part, now in zip(outcome(folder, 3), outcome(tmp_path / "study", 3), strict=True):
        if isinstance(part, list):
            assert part == now


def test_values_are_tried_once(tmp_path):
    space = {"dropout": {"choices": [0.0, 0.1]}, "output_bias": {"choices": [True, False]}}
    search, tried = tiny_search(tmp_path, space=space, trials=4), []
    for number in range(4):
        tried.append(draw_values(search, number, [], tried))
    found = sorted(tuple(values.values()) for values in tried)
    assert found == [(0.0, False), (0.0, True), (0.1, False), (0.1, True)]


def test_a_trial_that_was_begun_keeps_its_values(tmp_path):
    search = begun(tmp_path / "study", trials=1)
    run = folder_of(tmp_path / "study", 0)
    run.path.mkdir()
    run.write_config(search.options({"dropout": 0.0, "lr": 0.07}).to_toml())
    run_all(search, tmp_path / "study")
    [trial] = Logs(search, tmp_path / "study").read_all()
    assert search.values(trial.config) == {"dropout": 0.0, "lr": 0.07}


def test_it_waits_for_the_last_trial_of_another_process(whole, tmp_path, monkeypatch):
    search = begun(tmp_path / "study", trials=1)
    sleep, waited = asyncio.sleep, []

    async def sleep_and_end(seconds):
        waited.append(seconds)
        shutil.copytree(folder_of(whole[0], 0).path, folder_of(tmp_path / "study", 0).path)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", sleep_and_end)
    with locked(tmp_path / "study" / "trial-000.lock", patience=0):
        run_all(search, tmp_path / "study", lambda line: pytest.fail(line))
    assert len(waited) == 1


def stopping(monkeypatch, step, how):
    """Have the next run stopped in the middle of an update."""
    train_step, updates = Trainer.train_step, []

    def train(trainer, *batch):
        updates.append(batch)
        if len(updates) == step:
            if how == "interrupt":
                signal.raise_signal(signal.SIGINT)
            else:
                raise Killed
        return train_step(trainer, *batch)

    monkeypatch.setattr(Trainer, "train_step", train)


@pytest.mark.parametrize(("how", "step"), [("kill", 1), ("interrupt", 5), ("kill", 21)])
def test_a_stopped_trial_goes_on_to_the_same_end(whole, tmp_path, monkeypatch, how, step):
    search = begun(tmp_path / "study", trials=1)
    with monkeypatch.context() as patch:
        stopping(patch, step, how)
        if how == "interrupt":
            assert train_first(search, tmp_path / "study") == "interrupted"
        else:
            with pytest.raises(Killed):
                train_first(search, tmp_path / "study")
    assert states(tmp_path / "study") == ["interrupted" if how == "interrupt" else None]
    run_all(search, tmp_path / "study")
    ours, theirs = outcome(tmp_path / "study", 1), outcome(whole[0], 1)
    assert [part for part in ours if isinstance(part, list)] == [
        part for part in theirs if isinstance(part, list)
    ]
    assert states(tmp_path / "study") == ["finished"]


def test_a_trial_that_has_ended_is_not_run_again(whole, monkeypatch):
    monkeypatch.setattr(Trainer, "train_step", None)
    assert train_first(whole[1], whole[0]) == "finished"


# --- Trials that do not run to their end ----------------------------------------------------------

LR = {"lr": {"choices": [0.05, 0.1, 1e-6, 1e38]}}


@pytest.fixture(scope="module")
def pruned(tmp_path_factory):
    """A grid of two rates that learn, one that hardly does, and one that diverges."""
    folder = tmp_path_factory.mktemp("pruned") / "study"
    grid = {"sampler": "grid", "pruner": "median", "startup_trials": 2, "warmup_epochs": 1}
    search = begun(folder, space=LR, options={"epochs": 3, "max_norm": 0.0}, **grid)
    said = []
    run_all(search, folder, said.append)
    said = [line for line in said if line.startswith("trial ")]
    return folder, search, said


def test_a_trial_that_is_worse_than_the_median_is_ended(pruned):
    folder, search, said = pruned
    trials = Logs(search, folder).read_all()
    assert [trial.status for trial in trials] == ["finished", "finished", "pruned", "diverged"]
    assert [len(trial.curve) for trial in trials] == [3, 3, 2, 0]
    assert trials[2].result["status"] == "pruned"
    assert trials[2].result["epochs"] == 2
    assert said[2].startswith("trial 2: pruned, 2 epochs, perplexity ")
    assert said[3].startswith("trial 3: diverged, 0 epochs, perplexity - (lr 1e+38); best: ")
    assert trials[3].result["perplexity"] == {"valid": None}
    assert search.best_of(trials) in trials[:2]


def test_the_decision_to_end_a_trial_is_made_again(pruned, tmp_path, monkeypatch):
    shutil.copytree(pruned[0], tmp_path / "study")
    for number in (2, 3):
        shutil.rmtree(folder_of(tmp_path / "study", number).path)
    finish = Trainer._finish

    def killed(trainer, status):
        if status == "pruned":
            raise Killed
        return finish(trainer, status)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_finish", killed)
        with pytest.raises(Killed):
            run_all(pruned[1], tmp_path / "study")
    assert states(tmp_path / "study") == ["finished", "finished", None]
    run_all(pruned[1], tmp_path / "study")
    trials = Logs(pruned[1], tmp_path / "study").read_all()
    assert [len(trial.curve) for trial in trials] == [3, 3, 2, 0]


@pytest.mark.parametrize("pruner", ["median", "halving"])
@pytest.mark.parametrize("task", ["lm", "tag"])
def test_trials_are_ended_as_by_optunas_pruners(pruner, task):
    import optuna

    manner = {"pruner": pruner, "startup_trials": 3, "warmup_epochs": 1, "trials": 20}
    options = {"task": task, "epochs": 12}
    search = build_search(
        "some", {"space": {"lr": {"low": 1, "high": 2}}, "options": options, **manner}
    )
    theirs = {
        "median": optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=1),
        "halving": optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3),
    }[pruner]
    direction = "maximize" if search.better is max else "minimize"
    study = optuna.create_study(direction=direction, pruner=theirs)
    rng, begun = np.random.default_rng(0), []
    for _ in range(20):
        trial, curve, status = study.ask(), [], "finished"
        for epoch in range(12):
            curve.append(float(rng.normal(5.0 - 0.1 * epoch)))
            trial.report(curve[-1], epoch)
            if trial.should_prune():
                status = "pruned"
            assert is_pruned(search, curve, begun) == (status == "pruned")
            if status == "pruned":
                break
        rows = [{f"valid_{search.metric}": figure} for figure in curve]
        begun.append(Run(RunFolder("some"), search.config, rows, {"status": status}))
        state = optuna.trial.TrialState
        done = status == "finished"
        study.tell(trial, curve[-1] if done else None, state.COMPLETE if done else state.PRUNED)
    assert {run.status for run in begun} == {"finished", "pruned"}


@pytest.mark.parametrize(
    ("sampler", "pruner"), [("tpe", "median"), ("random", "halving"), ("grid", "none")]
)
def test_every_way_to_search(tmp_path, sampler, pruner):
    manner = {"sampler": sampler, "pruner": pruner, "startup_trials": 1}
    space = {"dropout": {"low": 0.0, "high": 0.2, "step": 0.1}}
    search = begun(tmp_path / "study", space=space, trials=3, options={"epochs": 1}, **manner)
    run_all(search, tmp_path / "study")
    trials = Logs(search, tmp_path / "study").read_all()
    assert sorted(trial.config.dropout for trial in trials) == [0.0, 0.1, 0.2]


def test_memory_that_is_not_enough_ends_the_trial_alone(tmp_path, monkeypatch):
    search = begun(tmp_path / "study", trials=2)
    train_step, updates = Trainer.train_step, []

    def train(trainer, *batch):
        updates.append(batch)
        if len(updates) == 2:
            raise MemoryError("Unable to allocate 3 TiB")
        return train_step(trainer, *batch)

    monkeypatch.setattr(Trainer, "train_step", train)
    run_all(search, tmp_path / "study")
    assert states(tmp_path / "study") == ["out of memory", "finished"]


# --- What is refused ------------------------------------------------------------------------------


def test_another_search_in_the_folder_of_a_study(tmp_path):
    begun(tmp_path / "study")
    before = (tmp_path / "study" / DECLARED).read_bytes()
    with pytest.raises(DeepNLPError, match=r"other options \(epochs was 2, is 3\)"):
        begin_study(tmp_path / "study", tiny_search(tmp_path, options={"epochs": 3}))
    with pytest.raises(DeepNLPError, match="trials was 5, is 4"):
        begin_study(tmp_path / "study", tiny_search(tmp_path, trials=4))
    assert (tmp_path / "study" / DECLARED).read_bytes() == before


def test_a_folder_that_holds_something_else(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(DeepNLPError, match=r"holds no study: it has no search\.toml"):
        begin_study(folder, tiny_search(tmp_path))
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]


def test_trials_with_other_options_or_texts_are_not_mixed(whole, tmp_path):
    folder, search, _ = whole
    shutil.copytree(folder, tmp_path / "study")
    run_folder = folder_of(tmp_path / "study", 1)
    config = run_folder.config.read_text(encoding="utf-8")
    for before, after, message in (
        ("epochs = 2", "epochs = 3", r"trial-001 .*epochs was 3, is 2"),
        ("dropout = 0.", "dropout = 0.7", r"dropout was 0\.7\d*, is one of 0, 0\.1, 0\.2"),
    ):
        assert before in config
        run_folder.write_config(config.replace(before, after))
        with pytest.raises(DeepNLPError, match=message):
            Logs(search, tmp_path / "study").read_all()
    run_folder.write_config(config)
    result = run_folder.read_result()
    other = {"corpus": {**result["corpus"], "fingerprint": "other"}, "digest": None}
    run_folder.write_result({**result, **other})
    with pytest.raises(DeepNLPError, match=r"trial-001 and trial-000 .*different texts"):
        Logs(search, tmp_path / "study").read_all()


def test_without_optuna_it_says_how_to_install_it(tmp_path, monkeypatch):
    search = tiny_search(tmp_path)
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(DeepNLPError, match=r"python -m pip install optuna"):
        run_search(search, tmp_path / "study")
    assert not (tmp_path / "study").exists()
