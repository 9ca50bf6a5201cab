"""Open brackets: how long a language model remembers that one was opened.

An RNN and an LSTM of equal size learn from the same text. How surprising is a closing bracket to
each, the longer ago it was opened? Beside it stands how much of a gradient is left per step, and
which unit says most clearly whether a bracket is open (Karpathy, Johnson and Fei-Fei 2015).
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.datasets import load_corpus
from deepnlp.demos.brackets import Group, closing_brackets, distances
from deepnlp.demos.result import Result, number_table
from deepnlp.demos.training import update
from deepnlp.evaluation import evaluating, perplexity, surprisal
from deepnlp.gradflow import gradient_flow
from deepnlp.gradflow.microscope import rate
from deepnlp.layer import no_backward
from deepnlp.models import RNNLM
from deepnlp.optimizers import Adam
from deepnlp.plots import curves
from deepnlp.training import BPTTBatches, Linear


@dataclass(frozen=True)
class Config:
    """One layer of H units on the built-in corpus; ``tokens`` of the training text, 0 for all.

    ``groups`` are ranges of distances, in words from the opened bracket to the closed one.
    """

    seed: int = 0
    vocab_size: int = 1000
    tokens: int = 0
    H: int = 64
    N: int = 20
    T: int = 35
    epochs: int = 3
    lr: float = 0.01
    steps: int = 30
    groups: tuple[tuple[int, int], ...] = (
        (2, 2), (3, 3), (4, 4), (5, 6), (7, 8), (9, 11), (12, 16),
    )  # fmt: skip


@dataclass(frozen=True)
class Outcome(Result):
    """By cell: perplexity, factor per step of the gradients w.r.t. h and c, brackets, best unit.

    The best unit is the one whose memory, the c of the LSTM and the h of the RNN, correlates most
    with "a bracket is open"; ``trace`` has its values over ``words``, a line with a long bracket.
    """

    config: Config
    perplexity: dict[str, float]
    rate: dict[str, float]
    groups: dict[str, list[Group]]
    correlation: dict[str, float]
    words: list[str]
    trace: dict[str, list[float]]

    def table(self) -> str:
        """Return both models, one beside the other."""
        rows: list[list[Any]] = [
            ["validation perplexity", *(f"{value:.1f}" for value in self.perplexity.values())],
            ["dL/dh left per step", *(self.rate[cell] for cell in self.groups)],
            ["dL/dc left per step", "-", self.rate["lstm c"]],
            ["best unit's correlation with an open bracket", *self.correlation.values()],
        ]
        for groups in zip(*self.groups.values(), strict=True):
            name = f"bits of ')', {groups[0].distance:g} words after '(' ({groups[0].count})"
            rows.append([name, *(f"{group.mean:.2f} ± {group.error:.2f}" for group in groups)])
        return number_table(["", *(f">{cell.upper()}" for cell in self.groups)], rows, ".3f")

    def figure(self) -> Figure:
        """Draw surprisal of the closing bracket over the distance."""
        return curves(
            {
                cell.upper(): ([g.distance for g in groups], [g.mean for g in groups])
                for cell, groups in self.groups.items()
            },
            title="The LSTM remembers the open bracket longer than the RNN",
            xlabel="words since the bracket was opened",
            ylabel="surprisal of the closing bracket (bits)",
        )

    def unit_figure(self) -> Figure:
        """Return the best unit of either cell over a line of text."""
        places = list(range(len(self.words)))
        figure = curves(
            {name: (places, values) for name, values in self.trace.items()},
            title="A unit of the LSTM marks the open bracket; the RNN has none so clear",
            xlabel="",
            ylabel="value of the unit",
        )
        figure.axes[0].set_xticks(places, self.words, rotation=90)
        return figure


def run(config: Config) -> Outcome:
    """Train both cells on the same text, and measure.

    Examples
    --------
    >>> small = Config(vocab_size=60, tokens=2000, H=4, epochs=1, steps=3)
    >>> sorted(run(small).rate)
    ['lstm', 'lstm c', 'rnn']
    """
    corpus = load_corpus("pydocs", vocab_size=config.vocab_size)
    ids = corpus.train[: config.tokens or None]
    valid = corpus.valid[: config.tokens or None]
    unseen = np.concatenate([corpus.valid, corpus.test])[: config.tokens or None]
    losses, rates, groups, correlations, traces = {}, {}, {}, {}, {}
    words = corpus.vocab.decode(unseen)
    since = np.array(distances(words))
    line = _line(words, since)
    for cell in ("rnn", "lstm"):
        model = _train(config, ids, len(corpus.vocab), cell)
        bits = surprisal(model, unseen) / math.log(2)
        groups[cell] = closing_brackets(words, bits.tolist(), config.groups)
        losses[cell] = perplexity(model, valid, batch_size=10)
        flow = gradient_flow(model, valid, steps=config.steps)
        rates[cell] = float(flow.layers[0].measured_rate)
        if flow.layers[0].dc is not None:
            rates[f"{cell} c"] = rate(flow.layers[0].dc)
        kept = _memories(model, unseen)
        each = [np.corrcoef(unit, since > 0)[0, 1] for unit in kept.T]
        best = int(np.nanargmax(np.abs(each)))
        correlations[cell] = float(each[best])
        name = f"{'c' if cell == 'lstm' else 'h'} of unit {best}, {cell.upper()}"
        traces[name] = kept[line, best].tolist()
    return Outcome(config, losses, rates, groups, correlations, words[line], traces)


def _line(words: list[str], since: HostArray) -> slice:
    """Find the line of at most 30 words whose bracket was open longest, from its <eos> on."""
    ends = [-1, *np.flatnonzero(np.array(words) == "<eos>").tolist(), len(words)]
    lines = [slice(max(0, a), b) for a, b in pairwise(ends) if 1 < b - a <= 30]
    closed = np.where(np.array(words) == ")", since, 0)
    return max(lines, key=lambda line: closed[line].max())


def _memories(model: RNNLM, ids: HostArray) -> HostArray:
    """Return the c of an LSTM, or the h of an RNN, after each word of a text, (n, H)."""
    kept, state = [], None
    with evaluating(model), no_backward():
        x = model.layers[0].forward(asarray(ids[None]))
        for t in range(len(ids)):
            _, state = model.layers[2].step(x[:, t], state)
            kept.append(asnumpy(state[-1])[0])
    return np.stack(kept)


def _train(config: Config, ids: HostArray, V: int, cell: str) -> RNNLM:
    rng, H = np.random.default_rng(config.seed), config.H
    model = RNNLM(V, H, H, 1, cell, dropout=0.1, embed_bound=0.3, rng=rng)
    model.start_from_unigram(np.bincount(ids, minlength=V))
    batches = BPTTBatches(ids, config.N, config.T)
    optimizer = Adam(model.parameters(), lr=config.lr)
    schedule = Linear(config.epochs * len(batches), floor=0.05)
    for epoch in range(config.epochs):
        model.reset_state()
        for done, (inputs, targets) in enumerate(batches, epoch * len(batches)):
            optimizer.lr = config.lr * schedule.scale(done)
            update(model, optimizer, inputs, targets, max_norm=1.0)
    return model
