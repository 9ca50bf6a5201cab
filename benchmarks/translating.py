"""Training for translation and BLEU, in the same way for every contestant."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.contestant import Answer
from benchmarks.settings import Spec
from deepnlp.evaluation import exponential
from deepnlp.generation import translate
from deepnlp.models import Seq2Seq
from deepnlp.tasks.bleu import corpus_score
from deepnlp.training import Trainer, build_trainer, configure

SEARCHES = {"greedy": 1, "beam 5": 5}
"""Names of the searches, and the width of each."""


def trainer_of(spec: Spec) -> Trainer:
    """Our trainer for the recipe of a spec, with its options; each round has a seed of its own."""
    config = configure(spec.options["recipe"], spec.options["config"])
    config = config.replace(seed=(config.seed or 0) + spec.number("round"))
    return build_trainer(config, progress=False)


def learn(trainer: Trainer, step: Callable[[tuple[Any, ...]], tuple[float, float]]) -> Answer:
    """Train on the task's batches of all epochs.

    Parameters
    ----------
    trainer : Trainer
        Of which the task, the number of epochs and the count of updates are used.
    step : callable
        From a batch on the host, an update: gives the loss and the norm of its gradient.

    Returns
    -------
    dict
        In the row "training" the target tokens per second, the median over all updates but the
        first twentieth; the number of updates; the perplexity of the last epoch.
    """
    task, speeds = trainer.task, []
    for epoch in range(trainer.epochs):
        trainer.state.begin_epoch()
        batches = task.batches(epoch)
        for k in range(len(batches)):
            batch = batches[k]
            begin = time.perf_counter()
            loss, norm = step(batch)
            seconds = time.perf_counter() - begin
            speeds.append(task.count(batch) / seconds)
            trainer.state.add(loss, norm, task.count(batch))
    training = {"tokens_per_s": statistics.median(speeds[len(speeds) // 20 :])}
    training["updates"] = float(len(speeds))
    training["perplexity"] = exponential(trainer.state.mean_loss)
    return {"training": training}


def test_scores(model: Seq2Seq, trainer: Trainer) -> Answer:
    """BLEU on the test split, by every search, with half the width of its 95 % interval.

    Returns
    -------
    dict
        A row for each search; and the number of texts, in a row named by sacrebleu's signature.
    """
    task: Any = trainer.task
    references = task.pairs.references("test")
    answer: Answer = {}
    for name, beam in SEARCHES.items():
        found = translate(model, list(references), beam=beam, length_penalty=task.length_penalty)
        texts = [best.text for (best, *_) in found]
        # the interval is that of 1,000 sets drawn from these texts (bootstrap, Koehn 2004)
        score, signature = corpus_score(texts, list(references.values()), n_bootstrap=1000)
        answer[name] = {"bleu": float(score.score), "half": float(score._ci)}
    return {**answer, signature: {"texts": float(len(references))}}
