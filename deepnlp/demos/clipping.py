"""Clipping: the same training run twice, without it and with it.

A ReLU RNN language model, whose gradient is not bounded, learns from the built-in corpus
with the same weights, the same text and the same learning rate. Without clipping one large
gradient throws the weights far away, and what follows is worse; with it the direction of the
step stays and its length is bounded (Pascanu, Mikolov and Bengio 2013).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import HostArray
from deepnlp.datasets import load_corpus
from deepnlp.demos.result import Line, Result, canvas, panel
from deepnlp.demos.training import update
from deepnlp.files.tables import table
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD
from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION

LOST = 1e9  # a loss or a norm above this is not coming back


@dataclass(frozen=True)
class Config:
    """A ReLU RNN of H units, ``updates`` of N rows of T steps, clipped at ``max_norm`` or not."""

    seed: int = 0
    vocab_size: int = 500
    H: int = 64
    N: int = 20
    T: int = 35
    updates: int = 300
    lr: float = 1.0
    max_norm: float = 0.5


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
        """True if the run without clipping was lost before its last update."""
        return len(self.free_loss) < self.config.updates

    @property
    def final_perplexity(self) -> float:
        """Perplexity of the run with clipping, over the last tenth of its updates."""
        last = max(1, len(self.clipped_loss) // 10)
        return math.exp(float(np.mean(self.clipped_loss[-last:])))

    def to_dict(self) -> dict[str, Any]:
        """Return lists and numbers, for JSON, with what became of both runs."""
        return {
            **super().to_dict(),
            "diverged_without": self.diverged,
            "final_perplexity_with": self.final_perplexity,
        }

    def table(self) -> str:
        """Tabulate loss and norm of both runs at some updates."""
        lost, updates = len(self.free_loss), self.config.updates
        shown = sorted({1, 2, 5, 10, 20, 50, 100, 200, 400, 800, lost - 1, lost, updates})
        columns = (
            (self.free_loss, ".4g"), (self.free_norm, ".3g"),
            (self.clipped_loss, ".4g"), (self.clipped_norm, ".3g"),
        )  # fmt: skip
        rows = [
            [str(n), *(format(of[n - 1], form) if n <= len(of) else "-" for of, form in columns)]
            for n in shown
            if 0 < n <= updates
        ]
        headings = [">update", ">loss without", ">norm", ">loss with", ">norm before clipping"]
        end = f"lost at update {lost}" if self.diverged else "it did not diverge"
        return (
            f"{table(headings, rows)}\n\nwithout clipping: {end}; clipped at "
            f"{self.config.max_norm:g}: perplexity {self.final_perplexity:.1f} in the end"
        )

    def figure(self) -> Figure:
        """Draw norms above, losses below."""
        places = (0.1, 0.485, 0.66, 0.37), (0.1, 0.085, 0.66, 0.32)
        figure, (norms, losses) = canvas(self._message(), (7.8, 7.0), *places)
        lost, level, start = len(self.free_loss), self.config.max_norm, self.clipped_loss[0]
        n = np.arange(1, len(self.clipped_norm) + 1)
        for axes in (norms, losses):
            axes.set(xscale="log", xlim=(1, self.config.updates))
        norms.set_yscale("log")
        norms.tick_params(labelbottom=False)
        low = min(0.1, float(self.clipped_norm.min()))
        lines = [
            Line((), level, BLACK, f"clipped to {level:g}", "--", 1),
            Line(n, self.clipped_norm, BLUE, "with clipping\n(norm before it)", width=1.0),
            Line(n[:lost], self.free_norm, VERMILLION, width=1.6),
        ]
        panel(norms, lines, height=0.12, ylim=(low, 1e5), ylabel="norm of the gradient")
        lines = [
            Line((), start, GREY, "all words alike", ":", 1),
            Line(n, self.clipped_loss, BLUE, "with clipping", width=1.2),
            Line(n[:lost], self.free_loss, VERMILLION, width=1.6),
        ]
        panel(
            losses, lines, height=0.09, ylim=(0, 2 * start), xlabel="update",
            ylabel="loss, nats per word",
        )  # fmt: skip
        losses.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        if self.diverged:
            text = f"without clipping:\nlost at update {lost}"
            for axes, at in ((norms, 0.94), (losses, 0.92)):
                axes.axvline(lost, color=VERMILLION, lw=0.9, ls=":")
                place: Any = {"transform": axes.get_xaxis_transform(), "va": "top"}
                axes.text(1.06 * lost, at, text, color=VERMILLION, fontsize=9.5, **place)
        return figure

    def _message(self) -> str:
        end = f"is lost at update {len(self.free_loss)}" if self.diverged else "holds this time"
        return (
            f"Without clipping the run {end};\nclipped at {self.config.max_norm:g} the same run "
            f"reaches a perplexity of {self.final_perplexity:.0f}"
        )


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
    """Return losses and norms of one run, until its end or until it is lost."""
    rng = np.random.default_rng(config.seed)
    model = RNNLM(
        V, config.H, config.H, layers=1, cell="rnn", activation="relu", tie="none", dropout=0.0,
        rng=rng,
    )  # fmt: skip
    optimizer = SGD(model.parameters(), lr=config.lr)
    rows = ids[: len(ids) // config.N * config.N].reshape(config.N, -1)
    windows = (rows.shape[1] - 1) // config.T
    losses, norms = [], []
    with np.errstate(over="ignore", invalid="ignore"):  # the run without clipping overflows
        for k in range(config.updates):
            begin = k % windows * config.T
            window = rows[:, begin : begin + config.T + 1]
            loss, norm = update(model, optimizer, window[:, :-1], window[:, 1:], max_norm)
            losses.append(loss)
            norms.append(norm)
            if not (loss < LOST and norm < LOST):
                break
    return np.array(losses), np.array(norms)
