"""Tying: one matrix for the words that go in and the words that come out.

The same small LSTM language model twice: with a separate output matrix, and with the embedding
transposed (Press and Wolf 2017). Untied, the row of a rare word in the embedding learns only
where that word is read; tied, every row learns at every step, as an output does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import HostArray, asnumpy
from deepnlp.datasets import load_corpus
from deepnlp.evaluation import perplexity
from deepnlp.lessons.experiments.result import Result, number_table
from deepnlp.lessons.experiments.training import update
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD
from deepnlp.plots import curves
from deepnlp.training import BPTTBatches

KINDS = {"none": "untied", "tied": "tied"}


@dataclass(frozen=True)
class Config:
    """An LSTM of H units on the first ``tokens`` of the built-in corpus, for some epochs."""

    seed: int = 0
    vocab_size: int = 1000
    tokens: int = 40_000
    valid_tokens: int = 5_000
    H: int = 64
    N: int = 20
    T: int = 25
    epochs: int = 4
    dropout: float = 0.2
    lr: float = 10.0
    max_norm: float = 0.25
    groups: int = 6


@dataclass(frozen=True)
class Outcome(Result):
    """Sizes, validation perplexity by epoch, and how far rows moved, by how often a word occurs.

    ``moved`` holds the mean distance of a row from its first value, by matrix, (groups,), for the
    words of each group; ``counts`` (groups,) are their mean numbers of occurrences.
    """

    config: Config
    parameters: dict[str, int]
    perplexity: dict[str, list[float]]
    counts: list[float]
    moved: dict[str, list[float]]

    def table(self) -> str:
        """Sizes and perplexities, then the rows by frequency."""
        epochs = [f">epoch {epoch}" for epoch in range(1, self.config.epochs + 1)]
        perplexity = [
            [name, f"{self.parameters[kind]:,}", *self.perplexity[kind]]
            for kind, name in KINDS.items()
        ]
        counts = (f"{count:,.1f}" for count in self.counts)
        moved = zip(counts, *self.moved.values(), strict=True)
        return (
            "validation perplexity\n\n"
            + number_table(["", ">parameters", *epochs], perplexity, ".1f")
            + "\n\nhow far the rows of words moved in training, by how often the word occurs\n\n"
            + number_table([">occurrences", *(f">{name}" for name in self.moved)], moved, ".2f")
        )

    def figure(self) -> Figure:
        """How far the rows moved, by how often the word occurs."""
        return curves(
            {name: (self.counts, values) for name, values in self.moved.items()},
            title=self._message(),
            xlabel="occurrences of the word in the training text",
            ylabel="how far its row moved",
            logx=True,
        )

    def _message(self) -> str:
        untied, tied = (self.perplexity[kind][-1] for kind in KINDS)
        saved = 1 - self.parameters["tied"] / self.parameters["none"]
        rare, rare_tied = (self.moved[name][0] for name in ("embedding, untied", "both, tied"))
        return (
            f"Tying saves {saved:.0%} of the parameters and takes the perplexity from "
            f"{untied:.0f} to {tied:.0f};\nthe rows of the rarest words move "
            f"{rare_tied / rare:.1f} times as far as untied"
        )


def run(config: Config) -> Outcome:
    """Train the untied and the tied model from the same embedding on the same text.

    Examples
    --------
    >>> small = Config(vocab_size=40, tokens=300, valid_tokens=60, H=4, N=4, T=5, epochs=1)
    >>> outcome = run(small)
    >>> outcome.parameters["none"] - outcome.parameters["tied"] == 40 * 4
    True
    """
    corpus = load_corpus("pydocs", vocab_size=config.vocab_size)
    V = len(corpus.vocab)
    ids, valid = corpus.train[: config.tokens], corpus.valid[: config.valid_tokens]
    counts = np.bincount(ids, minlength=V)
    seen = np.argsort(counts, kind="stable")[int(np.sum(counts == 0)) :]  # rarest first
    groups = np.array_split(seen, config.groups)

    def means(values: HostArray) -> list[float]:
        return [float(np.mean(values[group])) for group in groups]

    matrices = {"none": ["embedding, untied", "output, untied"], "tied": ["both, tied"]}
    sizes, perplexities, moved = {}, {}, {}
    for tie, names in matrices.items():
        rng = np.random.default_rng(config.seed)
        model = RNNLM(V, config.H, config.H, layers=1, tie=tie, dropout=config.dropout, rng=rng)
        before = _word_rows(model)
        sizes[tie] = model.size()
        perplexities[tie] = _train(config, model, ids, valid)
        for name, first, after in zip(names, before, _word_rows(model), strict=True):
            moved[name] = means(np.linalg.norm(after - first, axis=1))
    return Outcome(config, sizes, perplexities, means(counts), moved)


def _word_rows(model: RNNLM) -> list[HostArray]:
    """The matrices of the model with a row (V, D) a word: the embedding and, untied, the output."""
    named = {parameter.name: asnumpy(parameter.value) for parameter in model.parameters()}
    return [named["E"].copy()] + ([named["W"].T.copy()] if "W" in named else [])


def _train(config: Config, model: RNNLM, ids: HostArray, valid: HostArray) -> list[float]:
    """Train in place; the validation perplexity after each epoch."""
    optimizer = SGD(model.parameters(), lr=config.lr)
    found = []
    for _ in range(config.epochs):
        model.reset_state()
        for inputs, targets in BPTTBatches(ids, config.N, config.T):
            update(model, optimizer, inputs, targets, config.max_norm)
        found.append(perplexity(model, valid))
    return found
