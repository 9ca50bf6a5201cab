"""CBOW and skip-gram with two matrices, tied, and tied with L.

Every model is trained with negative sampling on the same batches. Beside the validation loss stands
the mean score of a random pair, a centre drawn by frequency and a word of the noise. Tied, it
cannot be below zero (if both were drawn alike), though most pairs of words have nothing to do with
each other; L lifts this, and so would a single constant (lesson 4, section 6, has this control).
The vectors are compared with similarity sets where these are given.

    python chapters/ch04_word2vec_at_speed/tying.py
    python chapters/ch04_word2vec_at_speed/tying.py --corpus ptb --similarity men,wordsim353,simlex

Data: pydocs, the text that comes with Python; the Penn Treebank and similarity sets where they are.
Time: about half a minute on one core; three times that on the Penn Treebank.
Expect: on pydocs a loss of 2.28 (CBOW) and 2.57 (skip-gram) with two matrices, 4.16 and 4.20
tied, where 4.16 is the loss of scores that are all 0, and 2.35 and 2.58 with L, with half the
parameters. The mean score of a random pair is 0.00 tied and -1.8 to -2.5 in the others.
"""

from dataclasses import dataclass, replace

import numpy as np

from deepnlp.backend import asnumpy
from deepnlp.datasets import load_corpus, load_similarity
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import CBOW, SkipGram
from deepnlp.optimizers import AdaGrad
from deepnlp.tasks import Word2Vec
from deepnlp.training import Trainer
from deepnlp.vectors import WordVectors, evaluate_similarity

MODELS = {"CBOW": CBOW, "skip-gram": SkipGram}


@dataclass
class Config:
    """Corpus, size and length of each run."""

    corpus: str = "pydocs"
    similarity: str = ""
    tokens: int = 0  # of the training text; 0 for all
    D: int = 100
    epochs: int = 3
    lr: float = 0.2
    seed: int = 0


QUICK = Config(tokens=1500, D=8, epochs=1)


def main(config: Config) -> dict[tuple[str, str], float]:
    """Train all six; returns the validation losses by model and way of tying."""
    corpus = load_corpus(config.corpus)
    if config.tokens:
        corpus = replace(
            corpus, **{name: ids[: config.tokens] for name, ids in corpus.splits.items()}
        )
    V, task = len(corpus.vocab), Word2Vec(corpus)
    counts = np.bincount(corpus.train, minlength=V)
    counts[corpus.vocab.eos_id] = 0
    centres, noise = counts / counts.sum(), counts**0.75 / np.sum(counts**0.75)
    sets = [load_similarity(name) for name in config.similarity.split(",") if name]
    losses, rows = {}, []
    for name, kind in MODELS.items():
        for tie in ("none", "tied", "tied+L"):
            rng = np.random.default_rng(config.seed)
            model = kind(V, config.D, tie=tie, rng=rng)
            optimizer = AdaGrad(model.parameters(), lr=config.lr)
            trainer = Trainer(
                model, task, optimizer, epochs=config.epochs, max_norm=None, out=False,
                progress=False,
            )  # fmt: skip
            trainer.fit()
            losses[name, tie] = task.evaluate(model)["loss"]
            H, W = asnumpy(model.vectors()), asnumpy(model.vectors("output"))
            vectors = WordVectors(corpus.vocab.tokens, H)
            if tie == "tied+L":
                H = H @ asnumpy(model.project.W.value)
            scores = [evaluate_similarity(vectors, pairs) for pairs in sets]
            rows.append([
                name, tie, f"{model.size():,}", f"{losses[name, tie]:.3f}",
                f"{(centres @ H) @ (noise @ W):.2f}",
                *(f"{score.rho:.2f} ({score.covered} of {score.total})" for score in scores),
            ])  # fmt: skip
            print(f"{name}, {tie}: validation loss {losses[name, tie]:.3f}", flush=True)
    head = ["model", "tie", ">parameters", ">loss", ">random pair", *(f">{s.name}" for s in sets)]
    print("\n" + table(head, rows))
    print(f"\nall scores 0: {6 * np.log(2):.3f}")
    return losses


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
