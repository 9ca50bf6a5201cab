import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deepnlp
from deepnlp import DeepNLPError, Sequential
from deepnlp.checkpoint import load
from deepnlp.evaluation import perplexity
from deepnlp.models import RNNLM, SimpleRNNLM
from deepnlp.models.ngrams import baselines
from deepnlp.optimizers import SGD, clip_gradients
from deepnlp.training import BPTTBatches, Plateau, RunFolder, Schedule, TrainConfig, Trainer
from tests.training.tools import STEPS_AN_EPOCH, tiny_corpus, tiny_trainer


def weights(model: Any) -> list[np.ndarray[Any, Any]]:
    return [p.value.copy() for p in model.parameters()]


def assert_diverged(folder: Path, steps: int) -> None:
    """``result.json`` says so, and gives no figures."""
    result = RunFolder(folder).read_result()
    assert result is not None
    assert (result["status"], result["steps"]) == ("diverged", steps)
    assert (result["epochs"], result["perplexity"]) == (0, {"valid": None})
    assert result["cpu_seconds"] > 0


class FromAList(Schedule):
    """Notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[float] = []

    def epoch_end(self, valid: float) -> None:
        self.told.append(valid)


def test_the_loop_is_the_training_step_of_the_contract(array_backend: Any) -> None:
    """Forward, zero_grad, backward, clip, step over carried windows, from zeros each epoch."""
    trainer = tiny_trainer(epochs=2, schedule=None, checkpoint_every=0)
    trainer.optimizer = SGD(trainer.parameters, lr=2.0)
    trainer.first_lr = 2.0
    twin = tiny_trainer().model
    optimizer = SGD(twin.parameters(), lr=2.0)
    valids = []
    for _ in range(2):
        twin.reset_state()
        for inputs, targets in BPTTBatches(trainer.task.corpus.train, 3, 5):
            twin.forward(deepnlp.backend.asarray(inputs), deepnlp.backend.asarray(targets))
            twin.zero_grad()
            twin.backward()
            clip_gradients(twin.parameters(), max_norm=1.0)
            optimizer.step()
        valids.append(perplexity(twin, trainer.task.corpus.valid, batch_size=4))
    trainer.fit()
    assert [row["valid_perplexity"] for row in trainer.history] == valids


def test_it_learns_and_the_result_is_of_the_best_weights_at_batch_1(tmp_path: Path) -> None:
    trainer = tiny_trainer(tmp_path, epochs=6, baselines=True)
    result = trainer.fit()
    corpus = trainer.task.corpus
    best = min(trainer.history, key=lambda row: row["valid_perplexity"])
    assert result.status == "finished"
    assert result.best_epoch == best["epoch"]
    assert result.perplexity_batched["valid"] == best["valid_perplexity"]
    for model in (trainer.model, load(tmp_path)):
        assert result.perplexity["test"] == perplexity(model, corpus.test)
        assert result.perplexity["valid"] == perplexity(model, corpus.valid)
        assert result.perplexity_batched["test"] == perplexity(model, corpus.test, 4)
    assert result.perplexity["test"] < 6  # 11 words, so 11 for one that knows nothing
    splits = {"valid": corpus.valid, "test": corpus.test}
    assert result.baselines == baselines(corpus.train, splits, len(corpus.vocab))
    assert result.parameters == sum(p.value.size for p in trainer.parameters)
    for text in ("unigram", "bigram", "trigram", "model", "in 4 streams", "tokens/s"):
        assert text in result.table()


def test_the_files_of_a_run(tmp_path: Path) -> None:
    trainer = tiny_trainer(tmp_path / "run")
    result = trainer.fit()
    folder = trainer.folder
    assert folder is not None
    always = [name for name in folder.FILES if not name.startswith(("gradient", "steps", "report"))]
    assert sorted(f.name for f in folder.path.iterdir()) == sorted([".lock", *always])
    assert result.files == always
    assert folder.figure.read_bytes().startswith(b"\x89PNG")
    assert result.figure == folder.figure
    rows = folder.read_metrics()
    assert rows == trainer.history
    assert [row["step"] for row in rows] == [STEPS_AN_EPOCH * e for e in (1, 2, 3)]
    written = json.loads(folder.result.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert written == result.to_dict()
    assert written["corpus"]["fingerprint"] == trainer.task.corpus.fingerprint
    assert set(written["versions"]) == {"deepnlp", "python", "numpy", "backend", "processor"}
    config = folder.config.read_text(encoding="utf-8")
    assert 'optimizer = "Adam"' in config
    assert load(folder.best).vocab == trainer.task.corpus.vocab


def test_a_run_by_options_writes_them(tmp_path: Path) -> None:
    config = TrainConfig(epochs=3)
    tiny_trainer(tmp_path, config=config).fit()
    assert TrainConfig.load(tmp_path / "config.toml") == config


def test_without_a_folder_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trainer = tiny_trainer(False)
    assert trainer.fit().folder is None
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="no run to resume"):
        trainer.fit(resume=True)
    with pytest.raises(DeepNLPError, match="has trained already"):
        trainer.fit()


def test_annealing_follows_the_validation_of_each_epoch() -> None:
    schedule = FromAList()
    trainer = tiny_trainer(schedule=schedule)
    trainer.fit()
    assert schedule.told == [row["valid_perplexity"] for row in trainer.history]

    trainer = tiny_trainer(schedule=Plateau(factor=0.5), lr=2.0, max_norm=None, epochs=9)
    trainer.fit()
    rates, best = [2.0], math.inf
    for row in trainer.history[:-1]:
        rates.append(rates[-1] * (1.0 if row["valid_perplexity"] < best else 0.5))
        best = min(best, row["valid_perplexity"])
    assert [row["lr"] for row in trainer.history] == rates
    assert rates[-1] < 2.0


def test_early_stop_after_epochs_without_a_better_validation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    valids = iter([9.0, 8.0, 8.5, 8.0, 7.0, 7.5, 7.2, 6.0])
    trainer = tiny_trainer(epochs=8, early_stop=2)
    monkeypatch.setattr(
        "deepnlp.tasks.language_modelling.perplexity",
        lambda model, ids, N: next(valids) if N == 4 and ids is trainer.task.corpus.valid else 5.0,
    )
    monkeypatch.setattr(trainer, "_finish", lambda status: None)
    trainer.fit()
    assert [row["valid_perplexity"] for row in trainer.history] == [9.0, 8.0, 8.5, 8.0]
    assert [row["best"] for row in trainer.history] == [True, True, False, False]
    assert (trainer.state.best_epoch, trainer.state.best) == (2, 8.0)


@pytest.mark.parametrize("spoil", ["loss", "gradient"])
@pytest.mark.parametrize("max_norm", [1.0, None])
def test_a_loss_that_is_not_finite_stops_before_the_update(
    spoil: str, max_norm: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = tiny_trainer(tmp_path, checkpoint_every=4, max_norm=max_norm)
    model, before = trainer.model, []
    forward, backward = model.forward, model.backward

    def spoiled_forward(ids: Any, targets: Any) -> Any:
        loss = forward(ids, targets)
        return loss * np.nan if spoil == "loss" and trainer.state.step == 6 else loss

    def spoiled_backward() -> None:
        backward()
        if trainer.state.step == 6:
            before.extend(weights(model))
            if spoil == "gradient":
                model.parameters()[1].grad[0, 0] = np.inf

    monkeypatch.setattr(model, "forward", spoiled_forward)
    monkeypatch.setattr(model, "backward", spoiled_backward)
    with np.errstate(invalid="ignore"), pytest.raises(DeepNLPError) as caught:
        trainer.fit()
    message = str(caught.value)
    assert "diverged at step 7" in message
    assert ("loss nan" if spoil == "loss" else "gradient norm inf") in message
    assert "smaller than 0.1" in message
    assert "clip" in message
    assert "\n" not in message
    for now, then in zip(weights(model), before, strict=True):
        assert np.array_equal(now, then)
    assert load(tmp_path / "checkpoint.npz").vocab_size == 11
    assert_diverged(tmp_path, steps=6)


def test_a_simple_model_trains_too(tmp_path: Path) -> None:
    corpus = tiny_corpus()
    model = SimpleRNNLM(11, 4, 5)
    trainer = Trainer(
        model, corpus, epochs=1, batch_size=2, time_size=6, out=tmp_path, progress=False
    )
    trainer.fit()
    assert type(load(tmp_path)) is SimpleRNNLM


def test_lines_go_to_standard_error_and_no_bar_without_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tiny_trainer(epochs=2, progress=True).fit()
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0].startswith("tiny: 203 train")
    assert lines[1].startswith("unknown tokens: 10.3% of train, ")
    assert [line[:9] for line in lines[2:]] == ["epoch 1/2", "epoch 2/2"]
    tiny_trainer(epochs=1, progress=False).fit()
    assert capsys.readouterr() == ("", "")


def test_a_validation_that_is_not_finite_stops_and_is_never_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = tiny_trainer(tmp_path)
    monkeypatch.setattr("deepnlp.tasks.language_modelling.perplexity", lambda *_: float("inf"))
    with pytest.raises(DeepNLPError, match=r"diverged .* validation perplexity inf"):
        trainer.fit()
    assert not (tmp_path / "best.npz").exists()
    assert_diverged(tmp_path, steps=trainer.state.step)


def test_layers_without_a_loss_are_no_language_model() -> None:
    corpus = tiny_trainer().task.corpus
    with pytest.raises(TypeError, match=r"Trainer: expected a language model .* got a Sequential"):
        Trainer(Sequential(), corpus)
    with pytest.raises(TypeError, match="perplexity: expected a language model"):
        perplexity(Sequential(), [0, 1])


def test_an_optimizer_of_another_model_is_refused() -> None:
    one, other = tiny_trainer(), tiny_trainer()
    with pytest.raises(ValueError, match=r"build it with model\.parameters"):
        Trainer(one.model, one.task, other.optimizer)


def test_a_terminal_gets_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)
    trainer = tiny_trainer(epochs=1, progress=True)
    trainer.fit()
    shown = capsys.readouterr().err
    for text in ("epoch 1/1", f"/{STEPS_AN_EPOCH} [", "perplexity", "norm", "tokens/s", "100%|"):
        assert text in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs should be a whole number, 1 or more, got 0"),
        ({"batch_size": 0}, "batch_size should be a whole number, 1 or more, got 0"),
        ({"batch_size": 500}, "203 tokens are too few for 500 rows"),
        ({"max_norm": -1.0}, "max_norm should be a number, 0 or more, got -1.0"),
        ({"early_stop": -1}, "early_stop should be a whole number, 0 or more, got -1"),
        ({"eval_batch_size": 0}, "eval_batch_size should be a whole number, 1 or more, got 0"),
    ],
)
def test_wrong_numbers_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny_trainer(**options)


def test_a_model_of_another_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="the model has 12 words and the vocabulary of tiny 11"):
        Trainer(RNNLM(12, 3, 3), tiny_corpus())
