"""Run folders: nothing is lost or stuck, and nothing of somebody else's is written over."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepnlp import DeepNLPError
from deepnlp.checkpoint import load, save
from deepnlp.errors import DivergedError
from deepnlp.files.archives import read_npz
from deepnlp.files.writing import locked
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD
from deepnlp.training import Constant, RunFolder, resumed_config
from tests.training.tools import (
    STEPS_AN_EPOCH,
    Killed,
    Trainer,
    end_of,
    stop_at,
    tiny_corpus,
    tiny_trainer,
)


def contents(folder: Path) -> dict[str, bytes]:
    """All files but the lock."""
    return {
        path.name: path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.iterdir())
        if path.name != ".lock"
    }


def stopped(folder: Path, step: int = STEPS_AN_EPOCH + 5, **options: Any) -> Path:
    trainer = tiny_trainer(folder, **options)
    stop_at(trainer, step, "interrupt")
    trainer.fit()
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was interrupted in its second epoch, which no test changes."""
    return stopped(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float], tuple[Any, set[str]]]:
    """The end and the names of the files of a run that nothing disturbs, by learning rate."""

    @functools.cache
    def ran(lr: float) -> tuple[Any, set[str]]:
        folder = tmp_path_factory.mktemp("alone")
        tiny_trainer(folder, lr=lr).fit()
        return end_of(folder), set(contents(folder))

    return ran


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "copy"))


# --- A checkpoint that is gone ------------------------------------------------------------------


@pytest.mark.parametrize(
    "others",
    [
        (),
        ("best.npz",),
        ("metrics.jsonl", "result.json"),
        ("best.npz", "result.json"),
        ("best.npz", "metrics.jsonl"),
    ],
)
def test_a_run_without_its_checkpoint_does_not_start_over(
    others: tuple[str, ...], copy: Path
) -> None:
    for name in ("checkpoint.npz", *others):
        (copy / name).unlink()
    before = contents(copy)
    with pytest.raises(DeepNLPError, match=r"without its checkpoint\.npz.*bring the file back"):
        tiny_trainer(copy).fit(resume=True)
    assert contents(copy) == before


def test_a_run_that_was_killed_before_its_first_checkpoint_starts_over(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    trainer = tiny_trainer(tmp_path)
    stop_at(trainer, 2, "kill")
    with pytest.raises(Killed):
        trainer.fit()
    assert set(contents(tmp_path)) == {"config.toml", "metrics.jsonl"}
    tiny_trainer(tmp_path).fit(resume=True)
    assert end_of(tmp_path) == whole


def test_all_other_files_can_be_made_again(copy: Path, whole: dict[str, Any]) -> None:
    for name in ("best.npz", "metrics.jsonl", "result.json", "learning_curve.png"):
        (copy / name).unlink()
    tiny_trainer(copy).fit(resume=True)
    assert end_of(copy) == whole


def test_a_damaged_file_that_can_be_made_again_is(copy: Path, whole: dict[str, Any]) -> None:
    for name in ("best.npz", "metrics.jsonl", "learning_curve.png"):
        (copy / name).write_bytes((copy / name).read_bytes()[:7])
    tiny_trainer(copy).fit(resume=True)
    assert end_of(copy) == whole


# --- A part of the files ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["write_config", "write_metrics"])
def test_a_run_that_ends_in_its_first_file_can_be_begun_or_gone_on_with(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: dict[str, Any]
) -> None:
    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, name, full)
        with pytest.raises(OSError, match="No space left"):
            tiny_trainer(tmp_path).fit()
    tiny_trainer(tmp_path).fit(resume=name == "write_metrics")
    assert end_of(tmp_path) == whole


def test_without_its_config_a_run_says_what_to_do(copy: Path) -> None:
    (copy / "config.toml").unlink()
    before = contents(copy)
    for call in (lambda: resumed_config(copy), lambda: tiny_trainer(copy).fit(resume=True)):
        with pytest.raises(FileNotFoundError, match=r"metrics\.jsonl is there.*--overwrite"):
            call()
    with pytest.raises(DeepNLPError, match=r"holds a run: replace it \(--overwrite\)"):
        tiny_trainer(copy).fit()
    assert contents(copy) == before
    assert tiny_trainer(copy, overwrite=True).fit().status == "finished"


@pytest.mark.parametrize("out", ["", Path()])
def test_a_folder_has_a_name(out: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if out == "":
        with pytest.raises(ValueError, match="the folder of a run has no name"):
            tiny_trainer(out).fit()
        assert not contents(tmp_path)
    else:
        assert tiny_trainer(out, epochs=1).fit().status == "finished"


def test_the_best_weights_are_made_again_before_the_next_step(copy: Path) -> None:
    (copy / "best.npz").unlink()
    trainer = tiny_trainer(copy)
    there = []
    train_step = trainer.train_step

    def step(*batch: Any) -> Any:
        there.append((copy / "best.npz").exists())
        return train_step(*batch)

    trainer.train_step = step  # type: ignore[method-assign]
    trainer.fit(resume=True)
    assert there[0]


def test_options_of_a_run_that_never_began_are_cleared_away(
    copy: Path, whole: dict[str, Any]
) -> None:
    """A process was killed between the options and the first checkpoint of a run to replace it."""
    (copy / "config.toml.next").write_text("epochs = 9\n", encoding="utf-8")
    tiny_trainer(copy).fit(resume=True)
    assert not (copy / "config.toml.next").exists()
    assert end_of(copy) == whole


# --- Overwriting --------------------------------------------------------------------------------


def test_overwriting_keeps_the_old_run_until_the_new_one_has_a_checkpoint(copy: Path) -> None:
    before = contents(copy)
    seen = []
    trainer = tiny_trainer(copy, overwrite=True, lr=0.05)
    train_step = trainer.train_step

    def step(*batch: Any) -> Any:
        seen.append(contents(copy))
        return train_step(*batch)

    trainer.train_step = step  # type: ignore[method-assign]
    trainer.fit()
    assert all(files == before for files in seen[:4])  # checkpoint_every is 4
    assert seen[4].keys() == {"config.toml", "checkpoint.npz"}
    assert read_npz(copy / "checkpoint.npz")[1]["training"]["setup"]["lr"] == 0.05


@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_overwriting_that_is_stopped_at_once_keeps_the_old_run(
    how: str, copy: Path, whole: dict[str, Any]
) -> None:
    (copy / "result.json").unlink()
    before = contents(copy)
    trainer = tiny_trainer(copy, overwrite=True, lr=0.05, baselines=True)
    if how == "kill":
        stop_at(trainer, 3, how)
        with pytest.raises(Killed):
            trainer.fit()
    else:
        trainer.task.measure_baselines = lambda: signal.raise_signal(signal.SIGINT) or {}
        with pytest.raises(KeyboardInterrupt):
            trainer.fit()
    assert contents(copy) == before
    tiny_trainer(copy).fit(resume=True)
    assert end_of(copy) == whole


def test_overwriting_that_diverges_keeps_the_old_run(copy: Path) -> None:
    before = contents(copy)
    with pytest.raises(DivergedError, match="the old run is kept"):
        diverging(copy, overwrite=True, checkpoint_every=0).fit()
    assert contents(copy) == before


@pytest.mark.parametrize("call", range(1, 12))
def test_overwriting_that_is_killed_while_it_replaces_leaves_one_of_both(
    call: int, copy: Path, alone: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the k-th renaming or removal."""
    calls = []

    def killing(function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(path: Path, *args: Any, **options: Any) -> Any:
            if path.parent == copy and path.exists():
                calls.append(path.name)
                if len(calls) == call:
                    raise Killed
            return function(path, *args, **options)

        return counted

    trainer = tiny_trainer(copy, overwrite=True, lr=0.05)
    stop_at(trainer, 6, "kill")
    with monkeypatch.context() as patch:
        for name in ("replace", "unlink"):
            patch.setattr(Path, name, killing(getattr(Path, name)))
        with pytest.raises(Killed):
            trainer.fit()
    config = resumed_lr(copy)
    tiny_trainer(copy, lr=config).fit(resume=True)
    assert (end_of(copy), set(contents(copy))) == alone(config)


def resumed_lr(folder: Path) -> float:
    """The learning rate that config.toml states, as the command line would read it."""
    with RunFolder(folder).held(resume=True):
        pass
    text = (folder / "config.toml").read_text(encoding="utf-8")
    return 0.05 if "\nlr = 0.05\n" in text else 0.1


# --- What is not the run's ----------------------------------------------------------------------

FOREIGN = {
    "config.toml": b'title = "my site"\n',
    "metrics.jsonl": b'{"user": 1}\n',
    "result.json": b'{"answer": 42}',
    "learning_curve.png": b"GIF89a",
    "gradients.npz": None,
    "checkpoint.npz": None,
    "best.npz": None,
}


@pytest.mark.parametrize("with_a_run", [False, True])
@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_others_are_not_written_over(
    name: str, with_a_run: bool, copy: Path, tmp_path: Path
) -> None:
    folder = copy if with_a_run else tmp_path / "other"
    folder.mkdir(exist_ok=True)
    if FOREIGN[name] is None:
        np.savez(folder / name, W=np.ones(3))
    else:
        (folder / name).write_bytes(FOREIGN[name] or b"")
    before = contents(folder)
    with pytest.raises(DeepNLPError, match=f"{name} is not a file of a run of deepnlp"):
        tiny_trainer(folder, overwrite=True).fit()
    if with_a_run:
        with pytest.raises(DeepNLPError, match=f"{name} is not a file of a run of deepnlp"):
            tiny_trainer(folder).fit(resume=True)
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["best.npz", "checkpoint.npz", "result.json", "config.toml"])
def test_what_cannot_be_read_is_the_runs_only_beside_another_file_of_it(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(b"PK\3\4 cut off")
    with pytest.raises(DeepNLPError, match="is not a file of a run of deepnlp"):
        tiny_trainer(tmp_path, overwrite=True).fit()
    other = "metrics.jsonl" if name == "config.toml" else "config.toml"
    text = {"metrics.jsonl": '{"epoch": 1}\n', "config.toml": 'task = "lm"\n'}[other]
    (tmp_path / other).write_text(text, encoding="utf-8")
    assert tiny_trainer(tmp_path, overwrite=True, epochs=1).fit().status == "finished"


@pytest.mark.parametrize("name", [*RunFolder.FILES, ".lock", "checkpoint.npz.next"])
@pytest.mark.parametrize("there", [True, False])
def test_links_lead_nowhere(name: str, there: bool, copy: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (copy / name).unlink(missing_ok=True)
    if there:
        outside.write_bytes(b"precious")
    (copy / name).symlink_to(outside)
    for options, resume in (({}, True), ({"overwrite": True}, False), ({}, False)):
        with pytest.raises(DeepNLPError, match="is a symbolic link"):
            tiny_trainer(copy, **options).fit(resume=resume)
    assert outside.exists() == there
    assert not there or outside.read_bytes() == b"precious"


def test_a_second_name_of_a_file_keeps_what_it_has(copy: Path, tmp_path: Path) -> None:
    """Such as those of a copy that was made by hard links."""
    for name in ("metrics.jsonl", "checkpoint.npz", "config.toml"):
        os.link(copy / name, tmp_path / name)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    tiny_trainer(copy).fit(resume=True)
    assert {n: (tmp_path / n).read_bytes() for n in before} == before


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "best.npz").mkdir()
    with pytest.raises(DeepNLPError, match=r"best\.npz is no file"):
        tiny_trainer(tmp_path).fit()


# --- Two at once --------------------------------------------------------------------------------


def test_a_folder_in_which_another_trains_is_refused(copy: Path) -> None:
    before = contents(copy)
    with locked(copy / ".lock", 0) as held:
        assert held
        for options, resume in (({}, True), ({"overwrite": True}, False)):
            with pytest.raises(DeepNLPError, match="another process is training in"):
                tiny_trainer(copy, **options).fit(resume=resume)
    assert contents(copy) == before


def test_the_lock_ends_with_the_process_that_held_it(copy: Path, whole: dict[str, Any]) -> None:
    hold = (
        "import sys, time, pathlib; from deepnlp.files.writing import locked\n"
        "with locked(pathlib.Path(sys.argv[1]), 0): print(1, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(copy / ".lock")], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(DeepNLPError, match="another process is training in"):
            tiny_trainer(copy).fit(resume=True)
        process.kill()
    tiny_trainer(copy).fit(resume=True)
    assert end_of(copy) == whole


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What functions gave or raised that threads have called at the same moment."""
    barrier, found = threading.Barrier(len(calls)), [None] * len(calls)

    def call(k: int) -> None:
        barrier.wait()
        try:
            found[k] = calls[k]()
        except DeepNLPError as error:
            found[k] = error

    threads = [threading.Thread(target=call, args=(k,)) for k in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_of_two_that_begin_at_once_one_is_refused(tmp_path: Path) -> None:
    corpus = tiny_corpus()
    trainers = [tiny_trainer(tmp_path, corpus=corpus) for _ in range(3)]
    found = at_once(*(trainer.fit for trainer in trainers))
    assert sum(isinstance(one, DeepNLPError) for one in found) == 2
    assert len(RunFolder(tmp_path).read_metrics()) == 3


def test_two_new_folders_within_a_second_are_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = at_once(*[lambda: RunFolder.of(None, "run").path] * 4)
    assert len({*found}) == 4


def test_two_that_save_to_one_path_leave_a_whole_file(tmp_path: Path) -> None:
    path, models = tmp_path / "m.npz", [RNNLM(30, 8, 8, layers=1) for _ in range(2)]
    save(path, models[0])
    done = threading.Event()

    def reading() -> int:
        loads = 0
        while not done.is_set():
            load(path)
            loads += 1
        return loads

    def saving() -> None:
        for _ in range(40):
            save(path, models[threading.get_ident() % 2])

    def both() -> None:
        try:
            at_once(saving, saving)
        finally:
            done.set()

    found = at_once(reading, both)
    assert not isinstance(found[0], DeepNLPError)
    assert found[0] > 3
    assert [file.name for file in tmp_path.iterdir()] == ["m.npz"]


# --- What is said -------------------------------------------------------------------------------


def diverging(out: Path, **options: Any) -> Trainer:
    """The loss is finite at the first steps, the weights soon are not."""
    options = {"max_norm": None, "tie": "none", "schedule": Constant(), **options}
    trainer = tiny_trainer(out, **options)
    trainer.optimizer = SGD(trainer.parameters, lr=1e38)
    trainer.first_lr = 1e38
    return trainer


def test_a_run_that_diverges_before_its_first_checkpoint_says_so(tmp_path: Path) -> None:
    with pytest.raises(DivergedError, match="nothing was saved before"):
        diverging(tmp_path, checkpoint_every=0).fit()
    assert "checkpoint.npz" not in contents(tmp_path)


def test_weights_that_are_not_finite_are_never_kept(tmp_path: Path) -> None:
    """An update leaves infinite weights, and a checkpoint is due before the next loss."""
    trainer = tiny_trainer(tmp_path, checkpoint_every=1)
    train_step = trainer.train_step

    def step(*batch: Any) -> Any:
        figures = train_step(*batch)
        if trainer.state.step == 4:
            trainer.parameters[0].value[3, 2] = np.inf
        return figures

    trainer.train_step = step  # type: ignore[method-assign]
    message = r"layers\.0\.W has values that are not finite.*the last checkpoint is kept"
    with pytest.raises(DivergedError, match=message):
        trainer.fit()
    arrays, meta = read_npz(tmp_path / "checkpoint.npz")
    assert meta["training"]["state"]["step"] == 4
    assert all(np.isfinite(array).all() for array in arrays.values())
    result = RunFolder(tmp_path).read_result()
    assert result is not None
    assert result["status"] == "diverged"


def test_no_result_of_an_earlier_step_lies_beside_a_later_checkpoint(tmp_path: Path) -> None:
    tiny_trainer(tmp_path, epochs=1).fit()
    trainer = tiny_trainer(tmp_path, epochs=3)
    stop_at(trainer, STEPS_AN_EPOCH + 2, "kill")
    with pytest.raises(Killed):
        trainer.fit(resume=True)
    result = RunFolder(tmp_path).read_result()  # no checkpoint was written after it
    assert result is not None
    assert result["steps"] == STEPS_AN_EPOCH
    trainer = tiny_trainer(tmp_path, epochs=3)
    stop_at(trainer, STEPS_AN_EPOCH + 6, "kill")
    with pytest.raises(Killed):
        trainer.fit(resume=True)
    assert RunFolder(tmp_path).read_result() is None
