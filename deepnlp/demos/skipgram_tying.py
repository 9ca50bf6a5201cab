"""Tying in skip-gram: one matrix for centres and contexts, with a matrix L between and without.

A toy of a few dozen words in kinds. Words of one kind rarely stand beside each other, least of all
a word beside itself. A skip-gram with the full softmax is fitted to the true distribution of the
context words, in one of three ways: scores E W^T with two matrices, E E^T tied, E L E^T tied with
L (Gulordava, Aina and Boleda 2018, section 2.3). E E^T is positive semi-definite, so
s_ii + s_jj >= 2 s_ij, and p(i|i) p(j|j) >= p(j|i) p(i|j) for all words i and j, whatever the size
of the vectors. The true distribution is not like that.
"""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.backend.functions import softmax
from deepnlp.demos.result import Line, Result, canvas, lines_of, number_table, panel
from deepnlp.demos.training import fit
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import Affine, Embedding
from deepnlp.optimizers import Adam
from deepnlp.parameter import Parameter
from deepnlp.plots.style import BLUE, GREY, ORANGE, VERMILLION

TIES = {"none": "two matrices", "tied": "tied", "tied+L": "tied with L"}
BESIDE = ("itself", "others of its kind", "other kinds")


@dataclass(frozen=True)
class Config:
    """``worlds`` distributions of ``words`` words in ``kinds``, each fitted with every size D.

    The log of how often two words stand together is normal with standard deviation 1 for a pair of
    kinds, and ``noise`` for a pair of words; for two words of one kind it is ``-own`` and noise.
    """

    seed: int = 0
    worlds: int = 3
    words: int = 30
    kinds: int = 6
    own: float = 3.0
    noise: float = 0.5
    sizes: tuple[int, ...] = (2, 4, 8, 16, 32)
    steps: int = 2000
    lr: float = 0.05


@dataclass(frozen=True)
class Outcome(Result):
    """Means over the worlds.

    ``divergence`` holds, by way of tying, the Kullback-Leibler divergence from the true
    distribution in nats per context word, for each size; ``frequency`` is that of the frequencies
    alone. ``beside`` holds the probabilities that the context word is the centre itself, another
    of its kind, or one of another kind: the true ones, and with the largest size.
    """

    config: Config
    divergence: dict[str, list[float]]
    frequency: float
    beside: dict[str, list[float]]

    def table(self) -> str:
        """Tabulate divergences by size, then what stands beside a word."""
        sizes = ["", *(f">D = {D}" for D in self.config.sizes)]
        divergence = [[TIES[tie], *values] for tie, values in self.divergence.items()]
        beside = [[name, *values] for name, values in self.beside.items()]
        return (
            "divergence from the true distribution, nats per context word (by frequency alone "
            f"{self.frequency:.3f})\n\n{number_table(sizes, divergence, '.3f')}\n\n"
            f"probability that a context word is ..., with D = {self.config.sizes[-1]}\n\n"
            + number_table(["", *(f">{name}" for name in BESIDE)], beside, ".4f")
        )

    def figure(self) -> Figure:
        """Draw the divergence over the size above, and what stands beside a word below."""
        places = (0.09, 0.52, 0.66, 0.31), (0.09, 0.06, 0.88, 0.33)
        figure, (above, below) = canvas(self._message(), (8.0, 7.2), *places)
        texts = {f"{TIES[tie]}: {of[-1]:.3f}": of for tie, of in self.divergence.items()}
        looks = ((BLUE, "o-"), (VERMILLION, "s--"), (ORANGE, "^-."))
        alone = Line((), self.frequency, GREY, "frequencies alone", ":", 1)
        above.set(xscale="log", xticks=self.config.sizes)
        above.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        above.minorticks_off()
        panel(
            above, [alone, *lines_of(self.config.sizes, texts, looks)], height=0.08,
            title="Divergence from the true distribution", ylim=(0, None),
            xlabel="D, size of a vector", ylabel="divergence (nats per context word)",
        )  # fmt: skip
        for k, (name, values) in enumerate(self.beside.items()):
            places_of_bars = np.arange(len(BESIDE)) + 0.27 * (k - 1)
            colour = (GREY, VERMILLION, ORANGE)[k]
            drawn = below.bar(places_of_bars, values, 0.25, color=colour, label=name)
            texts_of_bars = [f"{p:.3f}" if p < 0.0995 else f"{p:.2f}" for p in values]
            below.bar_label(drawn, texts_of_bars, padding=2, fontsize=8.5)
        below.set_xticks(range(len(BESIDE)), BESIDE)
        below.tick_params(axis="x", length=0)
        below.legend(frameon=False, loc="upper left")
        title = f"What stands beside a word, D = {self.config.sizes[-1]}"
        panel(below, [], title=title, ylabel="probability")
        return figure

    def _message(self) -> str:
        tied, with_L = self.divergence["tied"], self.divergence["tied+L"]
        itself, true = self.beside[TIES["tied"]][0], self.beside["true"][0]
        enough = min(range(len(with_L)), key=lambda k: (with_L[k] > tied[-1] / 100, k))
        return (
            f"A tied skip-gram stays {tied[-1]:.2f} nats from the truth whatever its size;\n"
            f"with L it comes to {with_L[enough]:.3f} with D = {self.config.sizes[enough]}. Tied, "
            f"it expects a word\nbeside itself {itself / true:.0f} times as often as it is found "
            "there"
        )


def run(config: Config) -> Outcome:
    """Fit every way of tying, with every size, to every world.

    Examples
    --------
    >>> outcome = run(Config(worlds=1, words=6, kinds=2, sizes=(6,), steps=300))
    >>> outcome.divergence["tied"][0] > 10 * outcome.divergence["tied+L"][0]
    True
    """
    V, kind = config.words, np.arange(config.words) % config.kinds
    same = kind[:, None] == kind
    groups = [np.eye(V, dtype=bool), same & ~np.eye(V, dtype=bool), ~same]
    divergence: dict[str, list[list[float]]] = {tie: [] for tie in TIES}
    beside: dict[str, list[list[float]]] = {"true": [], TIES["tied"]: [], TIES["tied+L"]: []}
    frequency = []
    for world in range(config.worlds):
        rng = np.random.default_rng([config.seed, world])
        joint = _world(config, kind, rng)
        share = joint.sum(axis=1, keepdims=True)
        frequency.append(_divergence(joint, np.broadcast_to(share.T, (V, V))))
        pairs = {"true": joint}
        for tie in TIES:
            fits = [_fit(config, joint, D, tie, rng) for D in config.sizes]
            divergence[tie].append([_divergence(joint, q) for q in fits])
            pairs[TIES[tie]] = share * fits[-1]
        for name, shares in beside.items():
            shares.append([float(pairs[name][group].sum()) for group in groups])
    mean = {tie: np.mean(values, axis=0).tolist() for tie, values in divergence.items()}
    mean_beside = {name: np.mean(values, axis=0).tolist() for name, values in beside.items()}
    return Outcome(config, mean, float(np.mean(frequency)), mean_beside)


def _world(config: Config, kind: HostArray, rng: np.random.Generator) -> HostArray:
    """Return how often two words stand together, (V, V): symmetric, 1 in sum."""
    K, V = config.kinds, config.words
    of_kinds, of_words = rng.standard_normal((K, K)), rng.standard_normal((V, V))
    logs = (of_kinds + of_kinds.T) / np.sqrt(2)
    np.fill_diagonal(logs, -config.own)
    joint = np.exp(logs[kind][:, kind] + config.noise * (of_words + of_words.T) / np.sqrt(2))
    return joint / joint.sum()


def _divergence(joint: HostArray, q: HostArray) -> float:
    """sum_ij joint_ij log(p(j|i) / q(j|i)), over the pairs that occur."""
    p, there = joint / joint.sum(axis=1, keepdims=True), joint > 0
    return float(np.sum(joint[there] * np.log(p[there] / q[there])))


def distance(config: Config, joint: HostArray, D: int, tie: str) -> float:
    """Return the divergence from a table of one's own (V, V), 1 in sum, with vectors of D numbers.

    >>> distance(Config(steps=50), np.array([[0.1, 0.4], [0.4, 0.1]]), 2, "none") < 0.01
    True
    """
    return _divergence(joint, _fit(config, joint, D, tie, np.random.default_rng(config.seed)))


def _fit(config: Config, joint: HostArray, D: int, tie: str, rng: np.random.Generator) -> HostArray:
    """Return the probabilities (V, V) of a skip-gram fitted to all pairs at once."""
    V = len(joint)
    E = Parameter(asarray(0.1 * rng.standard_normal((V, D))), "E")
    W = E if tie != "none" else Parameter(asarray(0.1 * rng.standard_normal((V, D))), "W")
    L = asarray(rng.standard_normal((D, D)) / np.sqrt(D))  # from L = 1 it hardly leaves "tied"
    between: list[Layer] = [Affine(L)] if tie == "tied+L" else []
    model = Sequential(Embedding(E), *between, Affine(W.T))
    optimizer = Adam(model.parameters(), lr=config.lr)
    truth = asarray(joint)
    frequency = truth.sum(axis=1, keepdims=True)
    for step in range(config.steps):
        optimizer.lr = config.lr * (1 - step / config.steps)
        # L = -sum_ij joint_ij log q(j|i): ds = frequency q - joint
        s = fit(model, optimizer, np.arange(V), truth, lambda s, p: frequency * softmax(s) - p)
    return asnumpy(softmax(s))
