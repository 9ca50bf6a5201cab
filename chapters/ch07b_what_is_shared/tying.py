"""Ways of tying: none, tied, tied+L, with D = H and with D below H.

The comparison of Gulordava, Aina and Boleda 2018 (Table 1) on a corpus of any size. Without
tying or with L, the embedding may be smaller than the state.

    python chapters/ch07b_what_is_shared/tying.py

Data: pydocs, the documentation inside this Python; any other with --corpus, such as ptb.
Time: 9 minutes on one core.
Expect: validation perplexity 78.8 without tying, 70.5 tied and 68.5 tied+L at D = H = 128; at D =
64 80.6 without tying and 72.0 tied+L, the latter with 564 thousand parameters, 36 % of the first.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import deepnlp
from deepnlp.datasets import Corpus, load_corpus
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import RNNLM
from deepnlp.optimizers import Adam
from deepnlp.training import BPTTBatches, Linear, Result, Trainer


@dataclass(frozen=True)
class Config:
    """Corpus, sizes, and length of each run."""

    corpus: str = "pydocs"
    tokens: int = 0  # of the training text; 0 for all
    hidden_size: int = 128
    small_embedding: int = 64
    dropout: float = 0.2
    epochs: int = 4
    batch_size: int = 10
    lr: float = 0.005
    seed: int = 0
    out: str = "runs/ch07/tying"


QUICK = Config(tokens=400, hidden_size=8, small_embedding=4, epochs=1)


def main(config: Config) -> dict[str, Result]:
    """Train all five; returns the results by name."""
    corpus = load_corpus(config.corpus)
    if config.tokens:
        n = config.tokens
        corpus = replace(
            corpus, train=corpus.train[:n], valid=corpus.valid[:n], test=corpus.test[:n]
        )
    H, small = config.hidden_size, config.small_embedding
    plan = [(H, "none"), (H, "tied"), (H, "tied+L"), (small, "none"), (small, "tied+L")]
    results, rows = {}, []
    for D, tie in plan:
        name = f"{H}/{D} {tie}"
        print(f"\n{name}")
        results[name] = result = train(config, corpus, D, tie)
        figures = (f"{result.perplexity[split] or 0:.1f}" for split in ("train", "valid", "test"))
        rows.append([str(H), str(D), tie, f"{result.parameters:,}", *figures])
    head = [">hidden", ">embedding", "tie", ">parameters", ">train", ">valid", ">test"]
    print("\n" + table(head, rows))
    return results


def train(config: Config, corpus: Corpus, D: int, tie: str) -> Result:
    """One model: embeddings of D, this way of tying."""
    deepnlp.seed(config.seed)
    V, H = len(corpus.vocab), config.hidden_size
    model = RNNLM(V, D, H, tie=tie, dropout=config.dropout, embed_bound=0.3)
    model.start_from_unigram(np.bincount(corpus.train, minlength=V))
    updates = config.epochs * len(BPTTBatches(corpus.train, config.batch_size, 35))
    trainer = Trainer(
        model,
        corpus,
        Adam(model.parameters(), lr=config.lr),
        epochs=config.epochs,
        batch_size=config.batch_size,
        max_norm=1.0,
        schedule=Linear(updates, floor=0.05),
        out=Path(config.out) / f"{H}-{D}-{tie}",
        overwrite=True,
        baselines=False,
    )
    return trainer.fit()


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
