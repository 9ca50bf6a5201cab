"""How long a gradient survives in RNN, GRU and LSTM: fresh, and trained on text.

First the five cells of the lesson, fresh, over many steps. Then one language model for each cell,
trained on the same text, under the gradient microscope.

    python chapters/ch06_gradients_and_gates/cells.py

Data: pydocs, the documentation inside this Python; any other with --corpus.
Time: 1 minute on one core.
Expect: validation perplexity 58.8 (rnn), 51.2 (gru) and 52.6 (lstm); all three lose 9 to 12 % of a
gradient w.r.t. h per step. What an LSTM keeps longer, it carries along c (`deepnlp demo brackets`).
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import deepnlp
from deepnlp.datasets import load_corpus
from deepnlp.demos import cells
from deepnlp.evaluation import perplexity
from deepnlp.files.tables import table
from deepnlp.gradflow import gradient_flow
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import RNNLM
from deepnlp.optimizers import Adam
from deepnlp.plots import curves
from deepnlp.plots import gradient_flow as draw_gradient_flow
from deepnlp.training import BPTTBatches, Linear, Trainer


@dataclass(frozen=True)
class Config:
    """Corpus, size of the models, and how far back to look."""

    corpus: str = "pydocs"
    vocab_size: int = 2000
    tokens: int = 0  # of each text; 0 for all
    hidden_size: int = 100
    epochs: int = 2
    steps: int = 50
    fresh_steps: int = 200
    seed: int = 0
    out: str = "runs/ch06/cells"


QUICK = Config(vocab_size=100, tokens=1500, hidden_size=8, epochs=1, steps=5, fresh_steps=200)


def main(config: Config) -> dict[str, float]:
    """Measure fresh and trained cells; returns what is left after ``steps`` steps, by cell."""
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    fresh = cells.run(cells.Config(seed=config.seed, H=config.hidden_size, T=config.fresh_steps))
    print(fresh.table(), end="\n\n")
    fresh.figure().savefig(folder / "fresh.png")

    corpus = load_corpus(config.corpus, vocab_size=config.vocab_size)
    if config.tokens:
        corpus = replace(corpus, **{k: ids[: config.tokens] for k, ids in corpus.splits.items()})
    shares, rows = {}, []
    for cell in ("rnn", "gru", "lstm"):
        model = train(config, corpus, cell)
        flow = gradient_flow(model, corpus.valid, steps=config.steps)
        draw_gradient_flow(flow, folder / f"{cell}.png")
        layer = flow.layers[0]
        shares[cell] = layer.dh_share
        valid = perplexity(model, corpus.valid, batch_size=10)
        rows.append(
            [cell, f"{valid:.1f}", f"{layer.measured_rate:.3f}", f"{layer.dh_share[-1]:.2g}"]
        )
    left = f">left after {config.steps} steps"
    head = ["cell", ">validation perplexity", ">factor per step", left]
    print(table(head, rows))
    figure = curves(
        {cell: (range(config.steps + 1), share) for cell, share in shares.items()},
        title="How much of a gradient w.r.t. h is left, after training on text",
        xlabel="steps back in time",
        ylabel="share of the gradient that is left",
        logy=True,
    )
    figure.savefig(folder / "trained.png")
    print(f"figures in {folder}")
    return {cell: float(share[-1]) for cell, share in shares.items()}


def train(config: Config, corpus: deepnlp.datasets.Corpus, cell: str) -> RNNLM:
    """A language model of one layer of this cell."""
    deepnlp.seed(config.seed)
    V, H = len(corpus.vocab), config.hidden_size
    model = RNNLM(V, H, H, layers=1, cell=cell, dropout=0.1, embed_bound=0.3)
    model.start_from_unigram(np.bincount(corpus.train, minlength=V))
    updates = config.epochs * len(BPTTBatches(corpus.train, 20, 35))
    trainer = Trainer(
        model,
        corpus,
        Adam(model.parameters(), lr=0.01),
        epochs=config.epochs,
        max_norm=1.0,
        schedule=Linear(updates, floor=0.05),
        out=False,
        baselines=False,
    )
    trainer.fit()
    return model


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
