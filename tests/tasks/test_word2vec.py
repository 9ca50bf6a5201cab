"""The task of word vectors: what it evaluates, and runs that are stopped, killed and resumed."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deepnlp
from deepnlp.backend import asnumpy
from deepnlp.datasets import Corpus
from deepnlp.evaluation import evaluating
from deepnlp.models import CBOW, RNNLM, SkipGram
from deepnlp.optimizers import SGD
from deepnlp.tasks import Word2Vec
from deepnlp.text import Vocabulary
from deepnlp.training import Linear, Trainer, load
from tests.training.tools import end_of, stopped_and_resumed

TOPICS = [["cat", "dog", "cow", "hen"], ["red", "blue", "green", "grey"], ["one", "two", "six"]]


def corpus(seed: int = 0, lines: int = 300) -> Corpus:
    """Lines of one topic each."""
    rng = np.random.default_rng(seed)
    words = [[*rng.choice(TOPICS[rng.integers(3)], 6), "<eos>"] for _ in range(lines)]
    vocab = Vocabulary.build([w for line in words for w in line], tokenizer="whitespace")
    ids = vocab.encode([w for line in words for w in line])
    third = len(ids) // 10
    return Corpus("topics", vocab, ids[third * 2 :], ids[:third], ids[third : 2 * third])


def trainer(kind: Any = SkipGram, out: Path | bool = False, **options: Any) -> Trainer:
    deepnlp.seed(2)
    text = corpus()
    task_options = {"window": 3, "block": 4, "batch_size": 8, "subsample": 0.05}
    task = Word2Vec(text, **{**task_options, **options.pop("task", {})})
    model = kind(len(text.vocab), 6, options.pop("tie", "none"))
    epochs = options.get("epochs", 3)
    return Trainer(
        model,
        task,
        SGD(model.parameters(), lr=3.0),
        schedule=Linear(epochs * len(task.batches(0))),
        **{"epochs": 3, "checkpoint_every": 5, "progress": False, "out": out, **options},
    )


@pytest.fixture(scope="module", params=[CBOW, SkipGram])
def uninterrupted(request: Any, tmp_path_factory: Any) -> tuple[Any, Any]:
    folder = tmp_path_factory.mktemp(request.param.__name__)
    trainer(request.param, folder).fit()
    return request.param, end_of(folder)


@pytest.mark.parametrize(("step", "how"), [(2, "interrupt"), (31, "kill"), (60, "interrupt")])
def test_a_run_that_was_stopped_ends_with_the_same_bits(
    step: int, how: str, tmp_path: Path, uninterrupted: Any
) -> None:
    kind, whole = uninterrupted
    assert trainer(kind).epochs * len(trainer(kind).batches) > 60
    assert stopped_and_resumed(partial(trainer, kind), tmp_path, step, how) == whole


def test_resuming_with_other_windows_is_refused(tmp_path: Path) -> None:
    trainer(out=tmp_path, epochs=1).fit()
    with pytest.raises(ValueError, match=r"cannot resume with another window: .*began with 3, got"):
        trainer(out=tmp_path, epochs=2, task={"window": 2}).fit(resume=True)


@pytest.mark.parametrize("kind", [CBOW, SkipGram])
def test_words_of_a_topic_come_together(kind: Any, tmp_path: Path) -> None:
    run = trainer(kind, tmp_path, epochs=12)
    result = run.fit()
    model: Any = load(tmp_path)
    rows = asnumpy(model.vectors())
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows @ rows.T
    topic = {word: n for n, words in enumerate(TOPICS) for word in words}
    of = np.array([topic.get(token, -1) for token in model.vocab.tokens])
    same = (of[:, None] == of) & (of >= 0) & ~np.eye(len(of), dtype=bool)
    other = (of[:, None] != of) & (of >= 0) & (of[:, None] >= 0)
    assert cosines[same].mean() > cosines[other].mean() + 0.5
    assert result.figures["loss"]["valid"] < 0.9 * 6 * math.log(2)
    assert set(result.figures["loss"]) == {"train", "valid", "test"}
    sample = run.task.sample(run.model)
    assert sample is not None
    word, _, near = sample.split("; ")[0].partition(": ")
    assert topic[near.split(", ")[0]] == topic[word]


def test_an_evaluation_is_the_same_each_time_and_changes_nothing() -> None:
    run = trainer()
    with evaluating(run.model):
        first, second = (run.task.evaluate(run.model) for _ in range(2))
    assert first == second == {"loss": pytest.approx(6 * math.log(2), rel=0.1)}


def test_similarity_sets_are_evaluated_with_their_coverage(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    alike, apart = "cat dog 9\nred blue 9\none two 9\n", "cat red 1\ndog six 1\none green 1\n"
    path.write_text(f"{alike}{apart}cat lion 7\n", encoding="utf-8")
    run = trainer(out=tmp_path / "run", epochs=12, task={"similarity": str(path)})
    result = run.fit()
    found = result.figures["similarity"]["pairs.txt"]
    assert (found["covered"], found["total"], found["coverage"]) == (6, 7, 6 / 7)
    assert found["rho"] > 0.8  # with ratings of two values at most 0.88
    written = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    assert written["similarity"]["pairs.txt"] == found
    rows = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(rows[-1])["valid_similarity"]["pairs.txt"]["covered"] == 6
    assert "loss" not in result.table().split("model")[0]


def test_the_loss_of_an_epoch_is_weighted_by_centres() -> None:
    run = trainer()
    batch = run.task.batches(0)[0]
    assert run.task.count(batch) == sum(bool(w.any()) for w in batch[1].reshape(-1, 10))


def test_a_model_that_does_not_fit_is_refused() -> None:
    text = corpus()
    with pytest.raises(TypeError, match="this task trains a CBOW or a SkipGram, got a RNNLM"):
        Trainer(RNNLM(len(text.vocab), 4, 4), Word2Vec(text), out=False)
    with pytest.raises(ValueError, match="the model has 5 words and the vocabulary of topics 13"):
        Trainer(CBOW(5, 4), Word2Vec(text), out=False)


def test_wrong_data_and_options_are_named() -> None:
    text = corpus()
    with pytest.raises(
        ValueError, match="window should be a whole number, 1 or more and at most 1000, got 0"
    ):
        Word2Vec(text, window=0)
    ends = np.full(50, text.vocab.eos_id, dtype=np.int32)
    with pytest.raises(ValueError, match=r"words, only ends of lines$"):
        Word2Vec(Corpus("topics", text.vocab, ends, ends, ends))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Word2Vec(text, similarity="nowhere.txt")
