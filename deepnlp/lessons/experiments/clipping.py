"""Clipping: the same training run twice, without it and with it.

A ReLU RNN language model, whose gradient is not bounded, learns from the built-in corpus
with the same weights, the same text and the same learning rate. Without clipping one large
gradient throws the weights far away, and what follows is worse; with it the direction of the
step stays and its length is bounded (Pascanu, Mikolov and Bengio 2013).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import asarray
from deepnlp.datasets import load_corpus
from deepnlp.files.tables import table
from deepnlp.lessons.experiments.result import Result
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD, clip_gradients
from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION, Label, label_in_margin, plain

HostArray = np.ndarray[Any, Any]

LOST = 1e9  # a loss or a norm above this is not coming back


@dataclass(frozen=True)
class Config:
    """A ReLU RNN of H units, N rows of T steps, ``updates`` of SGD, with ``max_norm`` or without.

    ``Wh_scale`` multiplies the fresh W_h.
    """

    seed: int = 0
    vocab_size: int = 500
    H: int = 64
    N: int = 20
    T: int = 35
    updates: int = 300
    lr: float = 1.0
    max_norm: float = 0.5
    Wh_scale: float = 1.0


@dataclass(frozen=True)
class Outcome(Result):
    """Loss in nats and norm of the gradient before clipping, by update, of both runs.

    The run without clipping is shorter where it diverged.
    """

    config: Config
    free_loss: HostArray
    free_norm: HostArray
    clipped_loss: HostArray
    clipped_norm: HostArray

    @property
    def diverged(self) -> bool:
        """Whether the run without clipping was lost before its last update."""
        return len(self.free_loss) < self.config.updates

    @property
    def final_perplexity(self) -> float:
        """Of the run with clipping: over the last tenth of its updates."""
        last = max(1, len(self.clipped_loss) // 10)
        return math.exp(float(np.mean(self.clipped_loss[-last:])))

    def to_dict(self) -> dict[str, Any]:
        """Lists and numbers, for JSON, with what became of both runs."""
        return {
            **super().to_dict(),
            "diverged_without": self.diverged,
            "final_perplexity_with": self.final_perplexity,
        }

    def table(self) -> str:
        """Loss and norm of both runs at some updates."""
        lost = len(self.free_loss)
        shown = sorted(
            {1, 2, 5, 10, 20, 50, 100, 200, 400, 800, lost - 1, lost, self.config.updates}
        )
        rows = []
        for update in shown:
            if not 0 < update <= self.config.updates:
                continue
            k = update - 1
            free = ["-", "-"]
            if k < lost:
                free = [f"{self.free_loss[k]:.4g}", f"{self.free_norm[k]:.3g}"]
            rows.append(
                [str(update), *free, f"{self.clipped_loss[k]:.4g}", f"{self.clipped_norm[k]:.3g}"]
            )
        headings = [">update", ">loss without", ">norm", ">loss with", ">norm before clipping"]
        end = f"lost at update {lost}" if self.diverged else "it did not diverge"
        return (
            f"{table(headings, rows)}\n\nwithout clipping: {end}; clipped at "
            f"{self.config.max_norm:g}: perplexity {self.final_perplexity:.1f} in the end"
        )

    def figure(self) -> Figure:
        """Norms above, losses below."""
        figure = Figure(figsize=(9.5, 7.0), dpi=150)
        norms = figure.add_axes((0.09, 0.485, 0.66, 0.37))
        losses = figure.add_axes((0.09, 0.085, 0.66, 0.32), sharex=norms)
        lost = len(self.free_loss)
        updates = np.arange(1, len(self.clipped_norm) + 1)
        norms.plot(updates, self.clipped_norm, color=BLUE, lw=1.0)
        norms.plot(updates[:lost], self.free_norm, color=VERMILLION, lw=1.6)
        norms.axhline(self.config.max_norm, color=BLACK, lw=1, ls="--")
        low = min(0.1, float(self.clipped_norm.min()))
        norms.set(xscale="log", yscale="log", xlim=(1, self.config.updates), ylim=(low, 1e5))
        norms.set_ylabel("norm of the gradient")
        norms.tick_params(labelbottom=False)
        plain(norms)
        labels = [
            Label("with clipping\n(norm before it)", float(self.clipped_norm[-1]), BLUE),
            Label(f"clipped to {self.config.max_norm:g}", self.config.max_norm, BLACK),
        ]
        label_in_margin(norms, labels, height=0.12)
        losses.plot(updates, self.clipped_loss, color=BLUE, lw=1.2)
        losses.plot(updates[:lost], self.free_loss, color=VERMILLION, lw=1.6)
        start = float(self.clipped_loss[0])
        losses.axhline(start, color=GREY, lw=1, ls=":")
        losses.set(ylim=(0, 2 * start), xlabel="update", ylabel="loss, nats per word")
        losses.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        plain(losses)
        clipped = Label("with clipping", float(self.clipped_loss[-1]), BLUE)
        label_in_margin(losses, [clipped, Label("all words alike", start, GREY)], height=0.09)
        if self.diverged:
            for axes, at in ((norms, 0.94), (losses, 0.92)):
                axes.axvline(lost, color=VERMILLION, lw=0.9, ls=":")
                text = f"without clipping:\nlost at update {lost}"
                place: Any = {"transform": axes.get_xaxis_transform(), "va": "top"}
                axes.text(1.06 * lost, at, text, color=VERMILLION, fontsize=9.5, **place)
        figure.text(0.09, 0.965, self._message(), fontsize=12.5, weight="bold", va="top")
        return figure

    def _message(self) -> str:
        clipped = (
            f"clipped at {self.config.max_norm:g} the same run reaches a perplexity of "
            f"{self.final_perplexity:.0f}"
        )
        if self.diverged:
            lost = len(self.free_loss)
            return f"Without clipping the run is lost at update {lost};\n{clipped}"
        return f"Without clipping the run holds this time;\n{clipped}"


def run(config: Config) -> Outcome:
    """Train twice from the same weights on the same text.

    Examples
    --------
    >>> outcome = run(Config(vocab_size=50, H=4, N=2, T=5, updates=3))
    >>> len(outcome.clipped_norm)
    3
    """
    corpus = load_corpus("pydocs", vocab_size=config.vocab_size)
    ids = corpus.train[: config.N * (config.updates * config.T + 1)]
    free = _train(config, ids, len(corpus.vocab), math.inf)
    clipped = _train(config, ids, len(corpus.vocab), config.max_norm)
    return Outcome(config, *free, *clipped)


def _train(config: Config, ids: HostArray, V: int, max_norm: float) -> tuple[HostArray, HostArray]:
    """Losses and norms of one run, until its end or until it is lost."""
    rng = np.random.default_rng(config.seed)
    model = RNNLM(
        V, config.H, config.H, layers=1, cell="rnn", activation="relu", tie="none", dropout=0.0,
        rng=rng,
    )  # fmt: skip
    for parameter in model.parameters():
        if parameter.name == "Wh":
            parameter.value *= config.Wh_scale
    optimizer = SGD(model.parameters(), lr=config.lr)
    rows = ids[: len(ids) // config.N * config.N].reshape(config.N, -1)
    windows = (rows.shape[1] - 1) // config.T
    losses, norms = [], []
    with np.errstate(over="ignore", invalid="ignore"):  # the run without clipping overflows
        for update in range(config.updates):
            begin = update % windows * config.T
            window = rows[:, begin : begin + config.T + 1]
            loss = model.forward(asarray(window[:, :-1]), asarray(window[:, 1:]))
            model.zero_grad()
            model.backward()
            norm = clip_gradients(model.parameters(), max_norm)
            losses.append(float(loss))
            norms.append(float(norm))
            if not (losses[-1] < LOST and norms[-1] < LOST):
                break
            optimizer.step()
    return np.array(losses), np.array(norms)
