"""A task sketched with layers plugged together by hand: the same trainer trains and resumes it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import deepnlp
from deepnlp.backend import Array, asnumpy, xp
from deepnlp.checkpoint import load
from deepnlp.evaluation import evaluating
from deepnlp.layer import Layer
from deepnlp.layers import (
    Embedding,
    SigmoidWithLoss,
)
from deepnlp.optimizers import SGD
from deepnlp.options import Option
from deepnlp.tasks import Task
from deepnlp.training import Hook, Plateau, Trainer
from tests.training.tools import end_of, killed_and_resumed, stopped_and_resumed, tiny_corpus

Ids = np.ndarray[Any, Any]

# Word vectors: rows of two tables, shuffled pairs, negative samples
WORDS, TOPICS = 24, 4  # word w is of topic w % 4; neighbours are of one topic


class SkipGram(Layer):
    """Score of a pair: the inner product of a row of each table."""

    def __init__(self, V: int, D: int) -> None:
        self.centre, self.context = Embedding.init(V, D), Embedding.init(V, D)
        self.loss = SigmoidWithLoss()

    def forward(self, centres: Array, contexts: Array, labels: Array) -> Array:
        self.rows = self.centre.forward(centres), self.context.forward(contexts)
        return self.loss.forward(xp.sum(self.rows[0] * self.rows[1], axis=1), labels)

    def backward(self) -> None:
        ds = self.loss.backward()[:, None]
        self.centre.backward(ds * self.rows[1])
        self.context.backward(ds * self.rows[0])


class Vectors(Task):
    """Tell neighbours from words drawn at random; judged by how well topics hold together."""

    name, metric, higher_is_better = "vectors", "similarity", True

    def __init__(
        self,
        negatives: Annotated[int, Option("words drawn for each neighbour", low=1)] = 2,
        batch_size: Annotated[int, Option("pairs in a batch", low=1)] = 40,
    ) -> None:
        self.negatives, self.batch_size = negatives, batch_size
        rng = np.random.default_rng(0)
        centres = rng.integers(0, WORDS, 600)
        neighbours = (centres + TOPICS * rng.integers(1, 6, 600)) % WORDS
        self.pairs = np.stack([centres, neighbours], axis=1)

    def batches(self, epoch: int) -> PairBatches:
        return PairBatches(self, epoch)

    def evaluate(self, model: SkipGram) -> dict[str, float]:
        rows = asnumpy(model.centre.W.value)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        same = np.arange(WORDS)[:, None] % TOPICS == np.arange(WORDS) % TOPICS
        cosines = rows @ rows.T
        return {"similarity": float(cosines[same].mean() - cosines[~same].mean())}

    def facts(self) -> dict[str, Any]:
        return {"pairs": len(self.pairs), "fingerprint": int(self.pairs.sum())}


class PairBatches:
    """Batches that are made when they are asked for, each from a generator of its own."""

    def __init__(self, task: Vectors, epoch: int) -> None:
        self.task, self.epoch = task, epoch
        self.order = np.random.default_rng((7, epoch)).permutation(len(task.pairs))

    def __len__(self) -> int:
        return -(-len(self.order) // self.task.batch_size)

    def __getitem__(self, k: int) -> tuple[Ids, ...]:
        N, M = self.task.batch_size, self.task.negatives
        centres, near = self.task.pairs[self.order[k * N : (k + 1) * N]].T
        drawn = np.random.default_rng((7, self.epoch, k)).integers(0, WORDS, M * len(near))
        labels = np.concatenate([np.ones(len(near), int), np.zeros(len(drawn), int)])
        return np.tile(centres, M + 1), np.concatenate([near, drawn]), labels


def vectors(out: Path | bool = False, **options: Any) -> Trainer:
    deepnlp.seed(3)
    model = SkipGram(WORDS, 8)
    defaults: dict[str, Any] = {"epochs": 4, "schedule": Plateau(0.5), "checkpoint_every": 4}
    options = {"task": Vectors(), **defaults, "progress": False, "max_norm": 1.0, **options}
    return Trainer(model, options.pop("task"), SGD(model.parameters(), 20.0), out=out, **options)


MAKERS: dict[str, Callable[..., Trainer]] = {"vectors": vectors}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: Any) -> dict[str, Any]:
    """The end of the run that nothing stopped."""
    folder = tmp_path_factory.mktemp("vectors")
    vectors(folder).fit()
    return end_of(folder)


@pytest.mark.parametrize(
    ("step", "how"), [(2, "interrupt"), (11, "kill"), (19, "interrupt"), (33, "kill"), (50, "kill")]
)
def test_stopped_in_the_middle_of_an_epoch_and_resumed(
    step: int, how: str, tmp_path: Path, whole: dict[str, Any]
) -> None:
    assert stopped_and_resumed(vectors, tmp_path, step, how) == whole


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_process_that_is_killed(tmp_path: Path, whole: dict[str, Any]) -> None:
    assert killed_and_resumed(vectors, tmp_path, 22) == whole


def validation(task: Task, model: Layer) -> float:
    with evaluating(model):
        return task.evaluate(model)[task.metric]


def test_it_learns_and_says_what_it_reached(tmp_path: Path) -> None:
    run = vectors(tmp_path, epochs=20)
    metric = run.task.metric
    before = validation(run.task, run.model)
    result = run.fit()
    values = [row[f"valid_{metric}"] for row in run.history]
    assert max(values) > before + 0.4
    assert result.best_epoch == values.index(max(values)) + 1
    assert result.figures[metric] == {"valid": max(values)}
    assert f"model{max(values):20.3f}" in result.table()
    written = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert written[metric] == {"valid": max(values)}
    assert "perplexity" not in (tmp_path / "result.json").read_text(encoding="utf-8")
    assert "train_loss" in run.history[0]
    assert result.figure is not None
    with pytest.raises(ValueError, match="holds a SkipGram, which was plugged together by hand"):
        load(tmp_path)
    again = load(tmp_path, into=vectors().model)
    assert validation(run.task, again) == max(values)


def test_of_a_figure_of_which_higher_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter([0.1, 0.3, 0.2, 0.25, 0.9, 0.3])
    run = vectors(epochs=6, early_stop=2)
    monkeypatch.setattr(run.task, "evaluate", lambda model: {"similarity": next(found)})
    run.fit()
    assert [row["best"] for row in run.history] == [True, True, False, False]
    assert [row["lr"] for row in run.history] == [20, 20, 20, 10]


class OtherPairs(Vectors):
    """The same on other data."""

    def facts(self) -> dict[str, Any]:
        return {"pairs": 7, "fingerprint": 0}


def test_another_setup_is_refused(tmp_path: Path) -> None:
    vectors(tmp_path, epochs=1).fit()
    for task, message in (
        (Vectors(negatives=3), "another negatives: the run began with 2, got 3"),
        (OtherPairs(), r"corpus is not the one the run began with .pairs was 600, is 7"),
    ):
        with pytest.raises(ValueError, match=message):
            vectors(tmp_path, epochs=2, task=task).fit(resume=True)


def test_what_fits_another_task_is_refused() -> None:
    with pytest.raises(TypeError, match=r"time_size: give these to the constructor of Vectors"):
        vectors(time_size=5)
    with pytest.raises(ValueError, match="SkipGram has no recurrent layer over time"):
        vectors(watch_gradients=5)
    with pytest.raises(TypeError, match="expected a language model"):
        vectors(task=tiny_corpus())


class Doubling(Hook):
    """Doubles the gradients, as summing those of two processes would."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def after_backward(self, model: Any, step: int) -> None:
        self.steps.append(step)
        for parameter in model.parameters():
            parameter.accumulate(parameter.grad.copy())


def test_a_hook_stands_between_backward_and_clipping() -> None:
    hook = Doubling()
    plain, doubled = vectors(), vectors(hooks=[hook])
    batch = plain.batches[0]
    (_, norm), (_, twice) = plain.train_step(*batch), doubled.train_step(*batch)
    assert twice == pytest.approx(2 * norm)
    assert hook.steps == [0]


@pytest.mark.parametrize("module", ["deepnlp", "deepnlp.tasks", "deepnlp.training"])
def test_importing_takes_no_matplotlib(module: str) -> None:
    code = f"import sys, {module}; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
