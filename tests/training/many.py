"""What several processes do in test_processes.py: ``mpiexec -n 4 python -m tests.training.many``.

``weights`` prints the SHA-256 of all weights after 200 steps of each task. ``run FOLDER 0.02``
begins or resumes a run and waits so many seconds a step; in ``fail``, step 20 fails in rank 1.
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import deepnlp
from deepnlp.backend import asnumpy
from deepnlp.datasets import load_pairs
from deepnlp.models import CBOW, RegularisedRNNLM, Seq2Seq
from deepnlp.optimizers import NTASGD, AdaGrad, Adam
from deepnlp.tasks import SequenceToSequence, Word2Vec
from deepnlp.training import Trainer
from tests.training.tools import quick_figure, tiny_corpus, tiny_trainer

QUIET: dict[str, Any] = {"out": False, "progress": False, "epochs": 1000}
STEPS = 200


def language_model(**options: Any) -> Trainer:
    """All that is random, a state that is carried, an average: with 10 rows slices are unequal."""
    deepnlp.seed(1)
    corpus = tiny_corpus()
    noise = {"dropout": 0.3, "weight_drop": 0.2, "embed_dropout": 0.1, "ar": 1.0, "tar": 1.0}
    model = RegularisedRNNLM(len(corpus.vocab), 6, 6, layers=1, **noise)
    optimizer = NTASGD(model.parameters(), lr=2.0, average_after=1)
    sizes = {"batch_size": 10, "time_size": 2, "eval_batch_size": 6, "baselines": False}
    return Trainer(model, corpus, optimizer, **sizes, **QUIET, **options)


def word_vectors(**options: Any) -> Trainer:
    """Gradients that are rows, subsampling and negatives; the last batches have few rows."""
    deepnlp.seed(1)
    corpus = tiny_corpus()
    model = CBOW(len(corpus.vocab), 5)
    model.vocab = corpus.vocab
    task = Word2Vec(corpus, batch_size=3, block=8, window=2, noise_words=2)
    return Trainer(model, task, AdaGrad(model.parameters(), lr=0.1), **QUIET, **options)


def translator(**options: Any) -> Trainer:
    """Padding, and inputs that are the model's own."""
    deepnlp.seed(1)
    pairs = load_pairs("addition", examples=100)
    sizes = {"embed_size": 4, "hidden_size": 5, "dropout": 0.2}
    model = Seq2Seq(len(pairs.source_vocab), len(pairs.target_vocab), **sizes)
    task = SequenceToSequence(pairs, batch_size=9, teacher_forcing=0.8)
    return Trainer(model, task, Adam(model.parameters()), **QUIET, **options)


TRAINERS = (language_model, word_vectors, translator)


def weights_after(trainer: Trainer, steps: int = STEPS) -> str:
    """SHA-256 of all weights after so many steps."""
    task = trainer.task
    for epoch in range(steps):
        batches = task.batches(epoch)
        trainer.slices.begin_epoch()
        for k in range(len(batches)):
            if steps == 0:
                break
            trainer.train_step(*batches[k])
            trainer.state.step += 1
            steps -= 1
        trainer.optimizer.epoch_end(float(epoch))
    values = [asnumpy(p.value).tobytes() for p in trainer.model.parameters()]
    return hashlib.sha256(b"".join(values)).hexdigest()


def run_in(folder: Path, **options: Any) -> Trainer:
    """A short run, of about 50 steps."""
    sizes = {"batch_size": 6, "time_size": 2, "epochs": 3, "eval_batch_size": 6}
    trainer = tiny_trainer(folder, **sizes | options)
    trainer.task.draw = lambda *rows: quick_figure(trainer.task, *rows)
    return trainer


def main(what: str, *words: str) -> None:
    """One of the processes."""
    if what == "weights":
        for make in TRAINERS:
            trainer = make(distributed=True)
            digest = weights_after(trainer)
            if trainer.group.rank == 0:
                print(digest, flush=True)
        return
    trainer = run_in(Path(words[0]), distributed=True)
    train_step = trainer.train_step

    def slowly(*batch: Any) -> tuple[float, float]:
        if what == "fail" and trainer.state.step == 20 and trainer.group.rank == 1:
            raise RuntimeError("a disk has burnt")
        time.sleep(float(words[1]))
        return train_step(*batch)

    trainer.train_step = slowly  # type: ignore[method-assign]
    if trainer.group.rank == 0:
        print(trainer.group.describe(), flush=True)
    trainer.fit(resume=(Path(words[0]) / "config.toml").exists())


if __name__ == "__main__":
    main(*sys.argv[1:])
