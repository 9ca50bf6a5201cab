"""deepnlp: word2vec trained on a corpus, its words per second and what the vectors reach."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.contestant import Answer
from benchmarks.settings import Spec
from benchmarks.similarity import fresh_seed, spearman
from deepnlp.backend import asnumpy
from deepnlp.datasets import Corpus
from deepnlp.training import build_trainer, configure
from deepnlp.vectors import WordVectors

CHOSEN = (
    *("corpus", "embed_size", "window", "negatives", "block", "noise_words", "batch_size"),
    *("optimizer", "lr"),
)


def run(spec: Spec) -> Answer:
    """Words per second of all epochs, windows and negatives included; Spearman's rho.

    Parameters
    ----------
    spec : Spec
        The recipe, the number of epochs, and options in place of the recipe's.
    """
    seed = fresh_seed()
    options = {name: spec.options[name] for name in CHOSEN if name in spec.options}
    options |= {"epochs": spec.number("epochs"), "seed": seed, "data_seed": seed}
    recipe = f"word2vec-{spec.options['model']}"
    trainer = build_trainer(configure(recipe, options), progress=False)
    task: Any = trainer.task
    corpus: Corpus = task.corpus
    start = time.perf_counter()
    for epoch in range(trainer.epochs):
        batches = task.batches(epoch)
        for k in range(len(batches)):
            loss, norm = trainer.train_step(*batches[k])
            trainer.state.add(loss, norm, targets=1)
    seconds = time.perf_counter() - start
    words = trainer.epochs * int((corpus.train != corpus.vocab.eos_id).sum())
    vectors = WordVectors(corpus.vocab.tokens, asnumpy(trainer.model.vectors("input")))
    return {"training": {"words_per_s": words / seconds, **spearman(vectors)}}
