"""From options to runs, on a text file of a few sentences."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepnlp import DeepNLPError
from deepnlp.backend import asnumpy
from deepnlp.datasets import load_corpus
from deepnlp.models import RNNLM
from deepnlp.models.ngrams import KneserNey
from deepnlp.optimizers import OPTIMIZERS, Optimizer
from deepnlp.options import fill, options_of, values_of
from deepnlp.tasks import TASKS
from deepnlp.training import (
    RunFolder,
    Schedule,
    TrainConfig,
    build_trainer,
    configure,
    load,
    plan,
    recipe,
    recipe_names,
    resumed_config,
    train,
)
from deepnlp.training.runs import build_schedule

SENTENCES = ["the cat saw the dog .", "a dog saw the cat .", "the dog and a cat sleep ."]


@pytest.fixture
def config(tmp_path: Path) -> TrainConfig:
    text = "\n".join(SENTENCES[k] for k in np.random.default_rng(0).integers(0, 3, 60))
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    return configure().replace(
        corpus=str(tmp_path / "text.txt"),
        embed_size=6,
        hidden_size=6,
        epochs=2,
        batch_size=3,
        time_size=7,
        eval_batch_size=2,
        dropout=0.1,
        lr=0.05,
        schedule="plateau",
    )


def test_a_run_from_options_to_result(config: TrainConfig, tmp_path: Path) -> None:
    result = train(config, tmp_path / "run", progress=False)
    assert result.status == "finished"
    assert set(result.baselines) == {"unigram", "bigram", "trigram"}
    assert TrainConfig.load(tmp_path / "run" / "config.toml") == config
    again = train(config, tmp_path / "twin", progress=False)
    assert again.perplexity == result.perplexity
    for name in ("checkpoint.npz", "best.npz"):
        run, twin = tmp_path / "run" / name, tmp_path / "twin" / name
        assert run.read_bytes() == twin.read_bytes()
    other = train(config.replace(seed=1), tmp_path / "other", progress=False)
    assert other.perplexity != result.perplexity


def test_options_of_a_resumed_run_come_from_its_folder(config: TrainConfig, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(config, folder, progress=False)
    assert resumed_config(folder) == config
    assert resumed_config(folder, {"lr": 0.05, "epochs": 2}) == config
    with pytest.raises(ValueError, match=r"with lr = 0\.1: it was begun with 0\.05; leave it out"):
        resumed_config(folder, {"lr": 0.1})
    with pytest.raises(ValueError, match=r"with epochs = 1: .* only a larger number"):
        resumed_config(folder, {"epochs": 1})
    with pytest.raises(FileNotFoundError, match="no run to resume"):
        resumed_config(tmp_path / "none")

    longer = resumed_config(folder, {"epochs": 3})
    train(longer, folder, resume=True, progress=False)
    train(config.replace(epochs=3), tmp_path / "whole", progress=False)
    for name in ("checkpoint.npz", "best.npz", "config.toml"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_bad_options_touch_nothing(config: TrainConfig, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(config, folder, progress=False)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(DeepNLPError, match="already holds a run"):
        train(config, folder, progress=False)
    for bad in (
        {"corpus": str(tmp_path / "missing.txt")},
        {"tie": "tied", "embed_size": 5},
        {"batch_size": 100000},
    ):
        with pytest.raises((ValueError, FileNotFoundError)):
            train(config.replace(**bad), folder, overwrite=True, progress=False)
        with pytest.raises((ValueError, FileNotFoundError)):
            train(config.replace(**bad), tmp_path / "new", progress=False)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert not (tmp_path / "new").exists()


def test_a_text_that_has_changed_cannot_be_resumed(config: TrainConfig, tmp_path: Path) -> None:
    train(config, tmp_path / "run", progress=False)
    with Path(config.corpus).open("a", encoding="utf-8") as file:
        file.write("\na cat saw a dog .")
    with pytest.raises(ValueError, match=r"corpus is not the one the run began with \(tokens was"):
        train(config.replace(epochs=3), tmp_path / "run", resume=True, progress=False)


def test_a_model_may_know_the_word_frequencies_before_the_first_step(config: TrainConfig) -> None:
    trainer = build_trainer(config.replace(unigram_bias=True), out=False, progress=False)
    corpus = trainer.task.corpus
    counts = np.bincount(corpus.train, minlength=len(corpus.vocab)) + 1
    bias = asnumpy(trainer.model.output.b.value)
    np.testing.assert_allclose(np.exp(bias), counts / counts.sum(), rtol=1e-5)
    without = build_trainer(config.replace(unigram_bias=False), out=False, progress=False)
    assert not asnumpy(without.model.output.b.value).any()


@pytest.mark.parametrize("frozen", [True, False])
def test_an_embedding_may_start_from_word_vectors(
    config: TrainConfig, tmp_path: Path, frozen: bool
) -> None:
    path = tmp_path / "vectors.txt"
    vectors = {"cat": np.arange(6) / 8, "dog": np.arange(6) / 4 - 1}
    lines = (f"{word} {' '.join(map(str, numbers))}" for word, numbers in vectors.items())
    path.write_text("\n".join(lines), encoding="utf-8")
    config = config.replace(vectors=str(path), freeze_embedding=frozen, unigram_bias=False)
    trainer = build_trainer(config, tmp_path / "run", progress=False)
    row = trainer.task.corpus.vocab.id("dog")
    embedding = trainer.model.layers[0].W
    np.testing.assert_allclose(asnumpy(embedding.value)[row], vectors["dog"], rtol=1e-6)
    trainer.fit()
    assert np.allclose(asnumpy(embedding.value)[row], vectors["dog"]) == frozen
    again = load(tmp_path / "run")
    assert all(base.trainable for base in again.layers[0].W.bases) == (not frozen)
    assert np.array_equal(asnumpy(again.layers[0].W.value), asnumpy(embedding.value))


def test_a_run_may_start_from_the_best_weights_of_another(
    config: TrainConfig, tmp_path: Path
) -> None:
    train(config, tmp_path / "first", progress=False)
    best = asnumpy(load(tmp_path / "first").parameters()[0].value)
    config = config.replace(
        start_from=str(tmp_path / "first"), optimizer="ntasgd", average_after=0, seed=7
    )
    trainer = build_trainer(config, tmp_path / "second", progress=False)
    assert np.array_equal(asnumpy(trainer.model.parameters()[0].value), best)
    assert trainer.model.training
    trainer.fit()
    assert trainer.state.step == trainer.optimizer.state()["averaged"]
    assert resumed_config(tmp_path / "second") == config
    train(resumed_config(tmp_path / "second", {"epochs": 3}), tmp_path / "second", resume=True)
    train(config.replace(epochs=3), tmp_path / "whole", progress=False)
    for name in ("checkpoint.npz", "best.npz"):
        run, whole = tmp_path / "second" / name, tmp_path / "whole" / name
        assert run.read_bytes() == whole.read_bytes()


def test_a_run_that_starts_from_another_goes_on_in_its_vocabulary(
    config: TrainConfig, tmp_path: Path
) -> None:
    """So it can go on where a text has grown, or on another text."""
    train(config, tmp_path / "first", progress=False)
    text = Path(config.corpus).read_text(encoding="utf-8").replace("sleep", "slept") * 2
    (tmp_path / "grown.txt").write_text(text, encoding="utf-8")
    grown = config.replace(corpus=str(tmp_path / "grown.txt"))
    with pytest.raises(ValueError, match="the corpus is not the one") as refused:
        train(grown, tmp_path / "first", resume=True, progress=False)
    assert f"--start-from {tmp_path / 'first'}" in str(refused.value)
    assert not re.search("[0-9a-f]{13}", str(refused.value))
    trainer = build_trainer(grown.replace(start_from=str(tmp_path / "first")), progress=False)
    assert trainer.model.vocab == load(tmp_path / "first").vocab
    assert trainer.task.corpus.unknown["train"] > 0


def test_a_run_starts_from_no_other_model(config: TrainConfig, tmp_path: Path) -> None:
    train(config, tmp_path / "first", progress=False)
    other = config.replace(start_from=str(tmp_path / "first"))
    with pytest.raises(ValueError, match=r"should have shape \(10, 4\), the file has \(10, 6\)"):
        build_trainer(other.replace(embed_size=4, hidden_size=4), progress=False)
    with pytest.raises(FileNotFoundError, match=r"no checkpoint .*none"):
        build_trainer(config.replace(start_from=str(tmp_path / "none")), progress=False)


def test_vectors_of_another_size_are_refused(config: TrainConfig, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1.0 2.0\ndog 3.0 4.0\n", encoding="utf-8")
    with pytest.raises(ValueError, match="embed_size should be 2, the size of the vectors"):
        build_trainer(config.replace(vectors=str(path)), progress=False)


def test_a_model_of_counts_is_a_run_like_others(config: TrainConfig, tmp_path: Path) -> None:
    counted = configure(None, {"corpus": config.corpus, "order": 3}, "ngrams")
    result = train(counted, tmp_path / "run", progress=False)
    trained = train(config, tmp_path / "other", progress=False)
    assert result.perplexity == trained.baselines["trigram"]
    assert (result.status, result.epochs, result.steps) == ("finished", 1, 0)
    assert result.corpus == trained.corpus
    assert result.parameters == KneserNey(3).fit(load_corpus(config.corpus).train, 10).size()
    folder = RunFolder(tmp_path / "run")
    assert folder.files() == ["config.toml", "metrics.jsonl", "result.json"]
    assert TrainConfig.load(folder.config) == counted
    (row,) = folder.read_metrics()
    assert (row["epoch"], row["valid_perplexity"]) == (1, result.perplexity["valid"])
    again = train(counted, folder.path, resume=True, progress=False)
    assert again.perplexity == result.perplexity
    with pytest.raises(DeepNLPError, match="already holds a run"):
        train(counted, folder.path, progress=False)
    with pytest.raises(ValueError, match="of task 'ngrams' is counted: there is nothing to train"):
        plan(counted)


@pytest.mark.parametrize("name", OPTIMIZERS.alternatives)
def test_every_optimizer_is_built_with_its_options(name: str) -> None:
    config = TrainConfig(
        embed_size=4, hidden_size=4, optimizer=name, lr=0.5, weight_decay=0.25, momentum=0.75
    )
    model = fill(RNNLM, config, 7)
    optimizer: Any = fill(OPTIMIZERS[name], config, model.parameters())
    assert isinstance(optimizer, Optimizer)
    assert type(optimizer).__name__.lower() == name
    assert (optimizer.lr, optimizer.weight_decay) == (0.5, 0.25)
    assert getattr(optimizer, "momentum", 0.75) == 0.75
    wanted = {name: config[name] for name in options_of(type(optimizer))}
    assert values_of(optimizer) == {k: tuple(v) if k == "betas" else v for k, v in wanted.items()}


@pytest.mark.parametrize("name", ["constant", "plateau", "step", "exponential", "linear", "cosine"])
def test_every_schedule_is_built_with_its_options(name: str) -> None:
    config = TrainConfig(
        schedule=name,
        epochs=2,
        lr_factor=0.5,
        lr_floor=0.25,
        lr_every=2,
        lr_hold=3,
        warmup_steps=10,
        lr_patience=1,
    )
    schedule = build_schedule(config, steps=55)
    assert isinstance(schedule, Schedule)
    assert type(schedule).__name__.lower() == name
    assert values_of(schedule) == {name: config[name] for name in options_of(type(schedule))}
    assert schedule.scale(4) == 0.5
    for _ in range(4):
        schedule.epoch_end(100.0)
    scales = [schedule.scale(10), schedule.scale(110)]
    expected = {
        "constant": [1.0, 1.0],
        "plateau": [0.5, 0.5],
        "step": [0.5, 0.5],
        "exponential": [1.0, 0.5 ** (100 / 55)],
        "linear": [1.0, 0.25],
        "cosine": [1.0, 0.25],
    }
    assert scales == pytest.approx(expected[name])


def test_a_plan_says_what_a_run_would_take_and_writes_nothing(
    config: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = plan(config)
    trainer = build_trainer(config, progress=False)
    assert found.parameters == trainer.model.size()
    assert found.steps == 2 * len(trainer.batches)
    assert found.memory_mb["weights and gradients"] == 2 * 4 * found.parameters / 2**20
    assert json.loads(json.dumps(vars(found)))["parameters"] == found.parameters
    assert "memory (estimate)" in found.table()
    assert trainer.task.corpus.describe() in found.table()
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


@pytest.mark.parametrize("name", recipe_names())
def test_the_model_of_every_recipe_can_be_built(name: str) -> None:
    config = recipe(name)
    if TASKS[config.task].counted:
        assert fill(KneserNey, config).order == config.order
        return
    kind = TASKS[config.task].model_kind(config)
    sizes = {"seq2seq": (50, 40), "tag": (50, 3)}.get(config.task, (50,))
    model = fill(kind, config, *sizes)
    fill(OPTIMIZERS[config.optimizer], config, model.parameters())
    build_schedule(config, steps=10_000)
    assert all(model.config()[name] == config[name] for name in options_of(kind))


@pytest.mark.parametrize("name", [name for name in recipe_names() if recipe(name).task == "lm"])
def test_a_language_model_of_every_recipe_is_trained(name: str, tmp_path: Path) -> None:
    """On a text of few words, of smaller size, with all else of the recipe."""
    text = tmp_path / "text.txt"
    words = np.random.default_rng(0).integers(0, 30, (60, 12))
    text.write_text("\n".join(" ".join(f"w{k}" for k in line) for line in words), encoding="utf-8")
    config = recipe(name)
    H = config.get("hidden_size", 0)
    sizes: dict[str, Any] = {
        "embed_size": -(-config.embed_size // 50),
        "hidden_size": [-(-h // 50) for h in H] if isinstance(H, list) else -(-H // 50),
    }
    if config.model == "gpt":
        sizes = {"embed_size": 4 * config.heads, "epoch_steps": 2, "warmup_steps": 1}
    changes = {"corpus": str(text), "epochs": 1, "baselines": False, **sizes}
    result = build_trainer(config.replace(**changes), False, progress=False).fit()
    assert result.status == "finished"
    assert np.isfinite(result.perplexity["test"])
