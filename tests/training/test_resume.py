"""A run that was stopped, in whatever way, and resumed ends with the same bits."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deepnlp
from deepnlp import DeepNLPError
from deepnlp.checkpoint import read_npz
from deepnlp.optimizers import SGD
from deepnlp.training import Constant, Cosine, Plateau, RunFolder
from deepnlp.training.interrupt import Interrupt
from tests.training.tools import (
    STEPS_AN_EPOCH,
    Killed,
    end_of,
    stop_at,
    tiny_corpus,
    tiny_trainer,
)

ALL_STEPS = 3 * STEPS_AN_EPOCH


@pytest.mark.parametrize(
    ("step", "how"),
    [
        *((step, "interrupt") for step in (1, 9, STEPS_AN_EPOCH, STEPS_AN_EPOCH + 1)),
        *((step, "kill") for step in (2, STEPS_AN_EPOCH, 23, ALL_STEPS - 1)),
        (23, "terminate"),
    ],
)
def test_stopped_at_any_step_and_resumed(
    step: int, how: str, tmp_path: Path, whole: dict[str, Any]
) -> None:
    trainer = tiny_trainer(tmp_path)
    stop_at(trainer, step, how)
    if how == "kill":
        with pytest.raises(Killed):
            trainer.fit()
    else:
        assert trainer.fit().status == "interrupted"
        _, meta = read_npz(tmp_path / "checkpoint.npz")
        assert meta["training"]["state"]["step"] == step
    deepnlp.seed(99)  # what the process has drawn in between is nobody's business
    assert tiny_trainer(tmp_path).fit(resume=True).status == "finished"
    assert end_of(tmp_path) == whole


def test_stopped_again_and_again(tmp_path: Path, whole: dict[str, Any]) -> None:
    first, resume = 0, False
    for step, how in [(3, "kill"), (6, "interrupt"), (7, "interrupt"), (20, "kill"), (38, "kill")]:
        trainer = tiny_trainer(tmp_path)
        stop_at(trainer, step, how)
        try:
            trainer.fit(resume=resume)
        except Killed:
            first += 1
        resume = True
    assert first == 3
    tiny_trainer(tmp_path).fit(resume=True)
    assert end_of(tmp_path) == whole


@pytest.mark.parametrize(
    "moment", ["_save_best", "write_metrics", "_save_checkpoint", "rename", "_draw"]
)
def test_killed_at_the_end_of_an_epoch(
    moment: str, tmp_path: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each file that the second epoch writes, when there are old ones."""
    trainer = tiny_trainer(tmp_path)

    def killing(replaced: Any) -> Any:
        def function(*args: Any) -> Any:
            if trainer.state.epoch == 2:
                raise Killed
            return replaced(*args)

        return function

    owners = {"write_metrics": RunFolder, "rename": Path}
    name = "replace" if moment == "rename" else moment
    with monkeypatch.context() as patch:
        owner: Any = owners.get(moment, trainer)
        patch.setattr(owner, name, killing(getattr(owner, name)))
        with pytest.raises(Killed):
            trainer.fit()
    tiny_trainer(tmp_path).fit(resume=True)
    assert end_of(tmp_path) == whole


def test_interrupted_in_one_process_and_resumed_with_the_same_trainer(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    trainer = tiny_trainer(tmp_path)
    stop_at(trainer, 17, "interrupt")
    trainer.fit()
    assert trainer.fit(resume=True).status == "finished"
    assert end_of(tmp_path) == whole


def test_an_interruption_leaves_schedule_and_best_untouched(tmp_path: Path) -> None:
    trainer = tiny_trainer(tmp_path)
    stop_at(trainer, STEPS_AN_EPOCH + 3, "interrupt")
    result = trainer.fit()
    row = trainer.history[0]
    _, meta = read_npz(tmp_path / "checkpoint.npz")
    state = meta["training"]["state"]
    assert (state["epoch"], state["batch"]) == (1, 3)
    assert (state["best"], state["best_epoch"]) == (row["valid_perplexity"], 1)
    assert meta["training"]["schedule"]["best"] == row["valid_perplexity"]
    assert result.best_epoch == 1
    assert result.perplexity_batched["valid"] == row["valid_perplexity"]
    assert len(trainer.history) == 1


def test_interrupted_before_the_first_validation(tmp_path: Path) -> None:
    trainer = tiny_trainer(tmp_path)
    stop_at(trainer, 2, "interrupt")
    result = trainer.fit()
    assert (result.best_epoch, result.epochs, result.steps) == (None, 0, 2)
    assert result.perplexity["test"] is not None
    assert not (tmp_path / "best.npz").exists()
    assert "no validation yet" in result.table()


def test_a_second_interrupt_stops_at_once_and_the_checkpoint_is_there(
    tmp_path: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = tiny_trainer(tmp_path)
    stop_at(trainer, 9, "interrupt")
    with monkeypatch.context() as patch:
        patch.setattr(
            "deepnlp.tasks.language_modelling.perplexity",
            lambda *_: signal.raise_signal(signal.SIGINT),
        )
        with pytest.raises(KeyboardInterrupt):
            trainer.fit()
    tiny_trainer(tmp_path).fit(resume=True)
    assert end_of(tmp_path) == whole


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Interrupt() as interrupt:
        assert signal.getsignal(signal.SIGINT) != before[0]
        signal.raise_signal(signal.SIGTERM)
        assert interrupt.requested
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_in_a_thread_there_are_no_handlers_and_training_works() -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(tiny_trainer(epochs=1).fit().status))
    thread.start()
    thread.join()
    assert found == ["finished"]


# --- A finished run, and a longer one -----------------------------------------------------------


def test_a_finished_run_says_so_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = tiny_trainer(tmp_path).fit()
    before = {f.name: f.read_bytes() for f in tmp_path.iterdir()}
    trainer = tiny_trainer(tmp_path, progress=True)
    assert trainer.fit(resume=True) == result
    assert "has finished its 3 epochs" in capsys.readouterr().err
    assert {f.name: f.read_bytes() for f in tmp_path.iterdir()} == before
    assert np.array_equal(
        trainer.model.parameters()[0].value, read_npz(tmp_path / "best.npz")[0]["layers.0.W"]
    )


def test_killed_before_its_result_was_written(tmp_path: Path, whole: dict[str, Any]) -> None:
    tiny_trainer(tmp_path).fit()
    (tmp_path / "result.json").unlink()
    tiny_trainer(tmp_path).fit(resume=True)
    assert end_of(tmp_path) == whole


@pytest.mark.parametrize("schedule", [lambda: Constant(warmup_steps=5), lambda: Plateau(0.5)])
def test_more_epochs_for_a_finished_run_are_a_longer_run(schedule: Any, tmp_path: Path) -> None:
    tiny_trainer(tmp_path / "a", epochs=5, schedule=schedule()).fit()
    tiny_trainer(tmp_path / "b", epochs=2, schedule=schedule()).fit()
    tiny_trainer(tmp_path / "b", epochs=5, schedule=schedule()).fit(resume=True)
    assert end_of(tmp_path / "a") == end_of(tmp_path / "b")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 2}, "another batch_size: the run began with 3, got 2"),
        ({"time_size": 4}, "another time_size"),
        ({"max_norm": None}, "another max_norm: the run began with 1.0, got 0.0"),
        ({"lr": 0.2}, "another lr: the run began with 0.1, got 0.2"),
        ({"schedule": Cosine(99)}, "another schedule: the run began with 'Plateau', got 'Cosine'"),
        ({"corpus": tiny_corpus(seed=1)}, "corpus is not the one the run began with .fingerprint"),
    ],
)
def test_another_setup_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    trainer = tiny_trainer(tmp_path)
    stop_at(trainer, 5, "interrupt")
    trainer.fit()
    before = (tmp_path / "checkpoint.npz").read_bytes()
    with pytest.raises(ValueError, match=message):
        tiny_trainer(tmp_path, **options).fit(resume=True)
    assert (tmp_path / "checkpoint.npz").read_bytes() == before


def test_another_optimizer_is_refused(tmp_path: Path) -> None:
    tiny_trainer(tmp_path, epochs=1).fit()
    trainer = tiny_trainer(tmp_path, epochs=2)
    trainer.optimizer = SGD(trainer.parameters, lr=0.1)
    with pytest.raises(ValueError, match="another optimizer: the run began with 'Adam'"):
        trainer.fit(resume=True)


def test_a_model_without_a_run_cannot_be_resumed(tmp_path: Path) -> None:
    trainer = tiny_trainer(tmp_path, epochs=1)
    trainer.fit()
    (tmp_path / "best.npz").replace(tmp_path / "checkpoint.npz")
    with pytest.raises(DeepNLPError, match="holds a model but no training run"):
        tiny_trainer(tmp_path, epochs=2).fit(resume=True)


# --- Real signals to a real process ---------------------------------------------------------------

RUN = """
import sys
import tests  # one BLAS thread
from pathlib import Path
from tests.training import tools
tools.Trainer = tools.SlowTrainer
trainer = tools.tiny_trainer(Path(sys.argv[1]))
sys.exit(0 if trainer.fit().status == "finished" else 130)
"""


@pytest.mark.parametrize(("number", "step"), [("SIGINT", 16), ("SIGKILL", 18)])
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_process_that_gets_a_signal(
    number: str, step: int, tmp_path: Path, whole: dict[str, Any]
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == step:
                process.send_signal(getattr(signal, number))
                break
        process.stdout.read()
    if number == "SIGINT":
        assert process.returncode == 130
        result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
        assert result["status"] == "interrupted"
    else:
        assert process.returncode == -signal.SIGKILL
    tiny_trainer(tmp_path).fit(resume=True)
    assert end_of(tmp_path) == whole
