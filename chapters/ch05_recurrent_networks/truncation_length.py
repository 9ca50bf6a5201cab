"""How long should a window of truncated backpropagation through time be?

The same model learns from the same number of updates, each from the same number of words, cut into
windows of 1 to 70 steps: N T = 700 words per update, so that only the reach of the gradient
differs. The state is carried in every case.

    python chapters/ch05_recurrent_networks/truncation_length.py

Data: pydocs, the documentation inside this Python; vocabulary 2,000.
Time: a minute of one core.
Expect: validation perplexity 64.3 for T = 1, 62.1 for 5, 62.9 for 20, 63.6 for 35 and 64.7 for 70;
a trigram has 66.5. The gradient of a simple RNN fades within some ten steps, so that longer windows
add little to it; and longer windows mean fewer rows, whose words are less varied.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import deepnlp
from deepnlp.datasets import Corpus, load_corpus
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import RNNLM
from deepnlp.models.ngrams import KneserNey
from deepnlp.optimizers import Adam
from deepnlp.plots import curves
from deepnlp.training import BPTTBatches, Linear, Trainer


@dataclass(frozen=True)
class Config:
    """Options of the experiment."""

    windows: str = "1,2,5,10,20,35,70"  # T, each a divisor of the words an update
    words_an_update: int = 700
    vocab_size: int = 2000
    hidden_size: int = 100
    epochs: int = 1
    lr: float = 0.01
    tokens: int = 0  # of each text; 0 for all
    out: str = "runs/ch05-truncation"
    seed: int = 0


QUICK = Config(
    windows="1,10", words_an_update=100, vocab_size=300, hidden_size=16, epochs=1, tokens=2_000
)


def main(config: Config) -> dict[int, float]:
    """Train once for each window length; print and draw the validation perplexities."""
    lengths = [int(length) for length in config.windows.split(",")]
    for T in lengths:
        if T < 1 or config.words_an_update % T:
            raise ValueError(f"a window of {T} steps does not divide {config.words_an_update}")
    corpus = load_corpus("pydocs", vocab_size=config.vocab_size)
    if config.tokens:
        corpus = replace(corpus, **{k: ids[: config.tokens] for k, ids in corpus.splits.items()})
    found = {}
    for T in lengths:
        found[T] = train(corpus, T, config)
        print(f"T = {T:3}, N = {config.words_an_update // T:3}: validation {found[T]:.2f}")
    counted = {
        name: KneserNey(order).fit(corpus.train, len(corpus.vocab)).perplexity(corpus.valid)
        for name, order in (("bigram", 2), ("trigram", 3))
    }
    best = min(found, key=lambda T: found[T])
    figure = curves(
        {"RNN": (lengths, list(found.values()))},
        title=f"At {config.words_an_update} words an update, windows of {best} steps learn best",
        xlabel="T, steps in a window",
        ylabel="validation perplexity",
        levels=counted,
        logx=True,
    )
    path = Path(config.out) / "truncation_length.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    print(f"figure: {path}")
    return found


def train(corpus: Corpus, T: int, config: Config) -> float:
    """Validation perplexity of a model that was trained in windows of T steps."""
    deepnlp.seed(config.seed)
    V, H, N = len(corpus.vocab), config.hidden_size, config.words_an_update // T
    model = RNNLM(V, H, H, layers=1, cell="rnn", tie="none", dropout=0.0, embed_bound=0.3)
    model.start_from_unigram(np.bincount(corpus.train, minlength=V))
    trainer = Trainer(
        model,
        corpus,
        Adam(model.parameters(), lr=config.lr),
        epochs=config.epochs,
        batch_size=N,
        time_size=T,
        max_norm=1.0,
        schedule=Linear(config.epochs * len(BPTTBatches(corpus.train, N, T))),
        out=False,
        progress=False,
        baselines=False,
    )
    perplexity = trainer.fit().perplexity["valid"]
    return float("nan") if perplexity is None else perplexity


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
