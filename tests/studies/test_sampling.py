"""One process: which trial is next, what Optuna is told, and what is taken up again."""

import builtins
import json
import shutil
import signal

import pytest

from deepnlp import DeepNLPError
from deepnlp.studies.sampling import DECLARED, JOURNAL, SampledStudy, _spaces, begin_study
from deepnlp.studies.training import run_trial, run_trials
from deepnlp.studies.trials import best_of, read_trials
from deepnlp.training import Trainer
from tests.studies.tools import folder_of, outcome, reported, states, tiny_search
from tests.training.tools import Killed


def run_all(folder, report=lambda line: None):
    assert run_trials(folder, lambda: False, report) == "finished"


def begun(folder, **content):
    """A study in a folder, and its search."""
    folder.mkdir(exist_ok=True)
    search = tiny_search(folder.parent, **content)
    begin_study(folder, search)
    return search


@pytest.fixture(scope="module", autouse=True)
def _undrawn():
    """No learning curves, which take as long as the training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_draw", lambda trainer, folder: None)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study that was run in one go."""
    folder = tmp_path_factory.mktemp("whole") / "study"
    search = begun(folder, trials=3)
    said = []
    run_all(folder, said.append)
    return folder, search, said


def test_every_trial_is_a_run_on_the_validation_split_alone(whole):
    folder, search, said = whole
    assert states(folder) == ["COMPLETE"] * 3
    trials = read_trials(search, folder)
    assert [trial.number for trial in trials] == [0, 1, 2]
    for trial in trials:
        run_folder = folder_of(folder, trial.number)
        assert run_folder.config.exists()
        assert run_folder.best.exists()
        assert {*trial.run.result["perplexity"]} == {"train", "valid"}
        assert trial.run.result["baselines"] == {}
        assert trial.best == min(trial.curve)
        assert trial.best == trial.run.result["perplexity"]["valid"]
        assert len(trial.curve) == 2
    assert reported(folder) == [{0: t.curve[0], 1: t.curve[1]} for t in trials]
    best = best_of(search, trials)
    assert best.best == min(trial.best for trial in trials)
    assert len(said) == 3
    assert said[-1].endswith(f"trial {best.number}; 3 of 3 have ended")


def test_the_values_of_a_trial_depend_on_its_number_alone(whole):
    folder, search, _ = whole
    values = [trial.values for trial in read_trials(search, folder)]
    assert len({json.dumps(value) for value in values}) == 3
    study = SampledStudy(folder)
    assert study._values(2, [], _spaces(search)) == values[2]


def test_more_trials_go_on_where_the_others_ended(whole, tmp_path):
    folder, _, _ = whole
    search = begun(tmp_path / "study", trials=2)
    run_all(tmp_path / "study")
    assert states(tmp_path / "study") == ["COMPLETE"] * 2
    begin_study(tmp_path / "study", tiny_search(tmp_path, trials=3))
    run_all(tmp_path / "study")
    for part, now in zip(outcome(folder, 3), outcome(tmp_path / "study", 3), strict=True):
        if isinstance(part, list):
            assert part == now
    assert len(read_trials(search, tmp_path / "study")) == 2


def test_values_are_tried_once(tmp_path):
    space = {"dropout": {"choices": [0.0, 0.1]}, "output_bias": {"choices": [True, False]}}
    begun(tmp_path / "study", space=space, trials=4)
    study, found = SampledStudy(tmp_path / "study"), []
    for _ in range(4):
        with study.take() as taken:
            found.append(tuple(taken.values.values()))
            study._study.tell(taken.number, 1.0)
    assert sorted(found) == [(0.0, False), (0.0, True), (0.1, False), (0.1, True)]


def test_a_trial_whose_process_is_no_more_is_taken_up(tmp_path):
    begun(tmp_path / "study")
    study = SampledStudy(tmp_path / "study")
    with study.take() as first:
        assert first.number == 0
        with SampledStudy(tmp_path / "study").take() as second:  # the lock of the first is held
            assert second.number == 1
    with study.take() as again:
        assert again.number == 0
        assert again.values == first.values
    study._study.tell(0, 1.0)
    with study.take() as again:
        assert (again.number, again.values) == (1, second.values)


def test_it_waits_for_the_last_trial_of_another_process(tmp_path, monkeypatch):
    begun(tmp_path / "study", trials=1)
    study, other, waited = SampledStudy(tmp_path / "study"), SampledStudy(tmp_path / "study"), []
    with other.take() as taken:
        assert taken.number == 0

        def sleep(seconds):
            waited.append(seconds)
            other._study.tell(0, 1.0)

        monkeypatch.setattr("time.sleep", sleep)
        with study.take() as none:
            assert none is None
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
    study = SampledStudy(tmp_path / "study")
    with monkeypatch.context() as patch:
        stopping(patch, step, how)
        if how == "interrupt":
            with study.take() as taken:
                assert run_trial(study, taken) is None
        else:
            with pytest.raises(Killed), study.take() as taken:
                run_trial(study, taken)
    assert states(tmp_path / "study") == ["RUNNING"]
    run_all(tmp_path / "study")
    ours, theirs = outcome(tmp_path / "study", 1), outcome(whole[0], 1)
    assert [part for part in ours if isinstance(part, list)] == [
        part for part in theirs if isinstance(part, list)
    ]
    assert reported(tmp_path / "study") == reported(whole[0])[:1]
    assert len(read_trials(search, tmp_path / "study")) == 1


def test_a_trial_that_ended_before_it_was_told_is_not_run_again(whole, tmp_path, monkeypatch):
    begun(tmp_path / "study", trials=1)
    study = SampledStudy(tmp_path / "study")
    with study.take() as taken, monkeypatch.context() as patch:
        patch.setattr(type(taken), "report", lambda hook, history: None)  # nor reported
        run_trial(study, taken)
    assert reported(tmp_path / "study") == [{}]
    monkeypatch.setattr(Trainer, "train_step", None)
    run_all(tmp_path / "study")
    assert states(tmp_path / "study") == ["COMPLETE"]
    assert reported(tmp_path / "study") == reported(whole[0])[:1]


# --- Trials that do not run to their end ----------------------------------------------------------

LR = {"lr": {"choices": [0.05, 0.1, 1e-6, 1e38]}}


@pytest.fixture(scope="module")
def pruned(tmp_path_factory):
    """A grid of two rates that learn, one that hardly does, and one that diverges."""
    folder = tmp_path_factory.mktemp("pruned") / "study"
    grid = {"sampler": "grid", "pruner": "median", "startup_trials": 2, "warmup_epochs": 1}
    search = begun(folder, space=LR, options={"epochs": 3, "max_norm": 0.0}, **grid)
    said = []
    run_all(folder, said.append)
    return folder, search, said


def test_a_trial_that_is_worse_than_the_median_is_ended(pruned):
    folder, search, said = pruned
    trials = read_trials(search, folder)
    assert [trial.status for trial in trials] == ["finished", "finished", "pruned", "diverged"]
    assert [len(trial.curve) for trial in trials] == [3, 3, 2, 0]
    assert trials[2].run.result["status"] == "pruned"
    assert trials[2].run.result["epochs"] == 2
    assert states(folder) == ["COMPLETE", "COMPLETE", "PRUNED", "PRUNED"]
    assert said[2].startswith("trial 2: pruned after 2 epochs, perplexity ")
    assert said[3].startswith("trial 3: diverged after 0 epochs, perplexity - (lr 1e+38); best: ")
    assert trials[3].run.result["perplexity"] == {"valid": None}
    assert best_of(search, trials) in trials[:2]


def test_the_decision_to_end_a_trial_is_kept(pruned, tmp_path, monkeypatch):
    grid = {"sampler": "grid", "pruner": "median", "startup_trials": 2, "warmup_epochs": 1}
    begun(tmp_path / "study", space=LR, options={"epochs": 3, "max_norm": 0.0}, **grid)
    study = SampledStudy(tmp_path / "study")
    finish = Trainer._finish

    def killed(trainer, status):
        if status == "pruned":
            raise Killed
        return finish(trainer, status)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_finish", killed)
        with pytest.raises(Killed):
            run_all(tmp_path / "study")
    assert states(tmp_path / "study") == ["COMPLETE", "COMPLETE", "RUNNING"]
    monkeypatch.setattr("optuna.pruners.MedianPruner.prune", lambda *args: False)
    run_all(tmp_path / "study")
    assert states(tmp_path / "study")[2] == "PRUNED"
    trials = read_trials(study.search, tmp_path / "study")
    assert [len(trial.curve) for trial in trials] == [3, 3, 2, 0]


@pytest.mark.parametrize(
    ("sampler", "pruner"), [("tpe", "median"), ("random", "halving"), ("grid", "none")]
)
def test_every_way_to_search(tmp_path, sampler, pruner):
    manner = {"sampler": sampler, "pruner": pruner, "startup_trials": 1}
    space = {"dropout": {"low": 0.0, "high": 0.2, "step": 0.1}}
    search = begun(tmp_path / "study", space=space, trials=3, options={"epochs": 1}, **manner)
    run_all(tmp_path / "study")
    trials = read_trials(search, tmp_path / "study")
    assert sorted(trial.values["dropout"] for trial in trials) == [0.0, 0.1, 0.2]


def test_memory_that_is_not_enough_ends_the_trial_alone(tmp_path, monkeypatch):
    search = begun(tmp_path / "study", trials=2)
    train_step, updates = Trainer.train_step, []

    def train(trainer, *batch):
        updates.append(batch)
        if len(updates) == 2:
            raise MemoryError("Unable to allocate 3 TiB")
        return train_step(trainer, *batch)

    monkeypatch.setattr(Trainer, "train_step", train)
    run_all(tmp_path / "study")
    trials = read_trials(search, tmp_path / "study")
    assert [trial.status for trial in trials] == ["out of memory", "finished"]
    assert states(tmp_path / "study") == ["PRUNED", "COMPLETE"]


# --- What is refused ------------------------------------------------------------------------------


def test_an_error_of_a_trial_names_its_folder_and_leaves_it(tmp_path):
    begun(tmp_path / "study", trials=1)
    text = tmp_path / "text.txt"
    kept = text.read_text(encoding="utf-8")
    text.unlink()
    with pytest.raises(DeepNLPError, match=r"trial-000: .*text\.txt"):
        run_all(tmp_path / "study")
    assert states(tmp_path / "study") == ["RUNNING"]
    text.write_text(kept, encoding="utf-8")
    run_all(tmp_path / "study")


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
    with pytest.raises(NotADirectoryError, match="is a file"):
        begin_study(folder / "letter.txt", tiny_search(tmp_path))


def test_an_entry_that_a_killed_process_was_writing_is_dropped(whole, tmp_path):
    search = begun(tmp_path / "study", trials=2)
    study = SampledStudy(tmp_path / "study")
    with study.take() as taken:
        taken.report([{"epoch": 1, "valid_perplexity": 8.0}])
    journal = tmp_path / "study" / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines) + 1):
        for part in (1, len(lines[kept - 1]) - 1):
            journal.write_bytes(b"".join(lines[: kept - 1]) + lines[kept - 1][:part])
            again = SampledStudy(tmp_path / "study")
            assert len(again._trials()) == (1 if kept > 2 else 0)
            assert journal.read_bytes().endswith(b"\n")
    run_all(tmp_path / "study")
    assert states(tmp_path / "study") == ["COMPLETE"] * 2
    assert len(read_trials(search, tmp_path / "study")) == 2


@pytest.mark.parametrize("line", [b"no entry\n", b"[1, 2]\n", b"3\n", b'{"a": 1}\n', b"\xff\n"])
def test_a_damaged_journal_is_refused(tmp_path, line):
    begun(tmp_path / "study")
    with SampledStudy(tmp_path / "study").take():
        pass
    journal = tmp_path / "study" / JOURNAL
    whole = journal.read_bytes()
    first, _, rest = whole.partition(b"\n")
    for damaged, number in ((first + b"\n" + line + rest, 2), (whole + line, 3)):
        journal.write_bytes(damaged)
        with pytest.raises(DeepNLPError, match=rf"journal\.log is damaged in line {number}: "):
            SampledStudy(tmp_path / "study")
        assert journal.read_bytes() == damaged


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
            read_trials(search, tmp_path / "study")
    run_folder.write_config(config)
    result = run_folder.read_result()
    run_folder.write_result({**result, "corpus": {**result["corpus"], "fingerprint": "other"}})
    with pytest.raises(DeepNLPError, match=r"trial-001 and trial-000 .*different texts"):
        read_trials(search, tmp_path / "study")


def test_without_optuna_it_says_how_to_install_it(tmp_path, monkeypatch):
    before = builtins.__import__

    def missing(name, *arguments, **options):
        if name.split(".")[0] == "optuna":
            raise ImportError(name)
        return before(name, *arguments, **options)

    begun(tmp_path / "study")
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(DeepNLPError, match=r"pip install 'deepnlp\[search\]'"):
        SampledStudy(tmp_path / "study")
