"""Memory: how far apart cause and effect may lie for RNN, GRU and LSTM to learn the link.

Two tasks with an adjustable distance. The first is that of chapter 6: "Tom was watching TV in the
room. Mary came into the room. Mary said hi to ?" The answer is the name at the beginning, and
another name and other words come between. The second is the adding problem (Hochreiter and
Schmidhuber 1997): a stream of numbers, two of them marked, to be added up at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import Array, asarray, asnumpy, xp
from deepnlp.files.tables import table
from deepnlp.layers import Affine, Embedding, SoftmaxWithLoss, TimeGRU, TimeLSTM, TimeRNN
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.lessons.experiments.result import Result
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.parameter import Parameter
from deepnlp.plots.style import BLACK, BLUE, GREY, ORANGE, VERMILLION, Label, label_in_margin, plain

HostArray = np.ndarray[Any, Any]
Generator = np.random.Generator

NAMES = ("Tom", "Mary", "Ann", "Bob", "Eve", "Jack", "Kim", "Leo")
FIRST = ["was", "watching", "TV", "in", "the", "room", "."]
MEANWHILE = [
    text.split()
    for text in (
        "it rained a while .",
        "the TV was on .",
        "it was late and dark in the room .",
        "then the rain was over .",
    )
]
CAME = ["came", "into", "the", "room", "."]
QUESTION = ["said", "hi", "to"]
WORDS = sorted({*FIRST, *chain.from_iterable(MEANWHILE), *CAME, *QUESTION})
VOCABULARY = [*NAMES, *WORDS]
CELLS = ("RNN", "LSTM, bias 1", "GRU", "LSTM")
SOLVED, LOOKED_AT = 0.995, 25  # accuracy over so many batches, at which learning stops
STYLES = {
    "RNN": (BLACK, "o-"),
    "LSTM, bias 1": (ORANGE, "v-"),
    "GRU": (BLUE, "s-"),
    "LSTM": (VERMILLION, "^-"),
}
CLOSE = 0.1  # a sum this near counts as right


@dataclass(frozen=True)
class Config:
    """Each cell of H units learns each task at each distance with Adam, N rows at an update.

    It stops when it has solved the task, or after ``names_updates`` or ``adding_updates``.

    The bias of the LSTM's forget gate and the GRU's update gate is the logarithm of the distance,
    so that a fresh memory lasts about that long (Tallec and Ollivier 2018); "LSTM, bias 1" has
    the usual one.
    """

    seed: int = 0
    H: int = 32
    N: int = 32
    lr: float = 0.01
    max_norm: float = 1.0
    names_distances: tuple[int, ...] = (5, 10, 20, 40)
    adding_distances: tuple[int, ...] = (10, 20, 40)
    names_updates: int = 800
    adding_updates: int = 1500
    tested: int = 500


@dataclass(frozen=True)
class Outcome(Result):
    """Accuracy on fresh examples, by cell, one per distance, for both tasks; and one example."""

    config: Config
    example: str
    names: dict[str, list[float]]
    adding: dict[str, list[float]]

    @property
    def names_chance(self) -> float:
        """Accuracy of a guess among the names but the last one heard."""
        return 1 / (len(NAMES) - 1)

    @property
    def adding_chance(self) -> float:
        """Share of sums of two uniform numbers that lie within 0.1 of their mean, 1."""
        return 1 - (1 - CLOSE) ** 2

    def table(self) -> str:
        """Accuracy by distance for both tasks."""
        parts = [f"for example: {self.example}"]
        tasks = (
            ("names: which name was the first?", self.config.names_distances, self.names),
            (
                f"adding: share of the sums within {CLOSE:g}",
                self.config.adding_distances,
                self.adding,
            ),
        )
        for (title, distances, found), chance in zip(
            tasks, (self.names_chance, self.adding_chance), strict=True
        ):
            headings = [title, *(f">distance {d}" for d in distances)]
            rows = [[cell, *(f"{value:.1%}" for value in found[cell])] for cell in CELLS]
            rows.append(["chance", *(f"{chance:.1%}" for _ in distances)])
            parts.append(table(headings, rows))
        return "\n\n".join(parts)

    def figure(self) -> Figure:
        """Accuracy over the distance, a panel for each task."""
        figure = Figure(figsize=(12.5, 5.4), dpi=150)
        left = figure.add_axes((0.06, 0.15, 0.32, 0.61))
        right = figure.add_axes((0.555, 0.15, 0.32, 0.61))
        _draw(left, self.config.names_distances, self.names, self.names_chance)
        example = 'Names: "Tom was watching TV ... Mary said hi to ?"'
        left.set_title(example, loc="left", fontsize=10.5)
        left.set_xlabel("words from the name to the question")
        _draw(right, self.config.adding_distances, self.adding, self.adding_chance)
        right.set_title(f"Adding two marked numbers, within {CLOSE:g}", loc="left", fontsize=10.5)
        right.set_xlabel("steps from the first number to the end")
        figure.text(0.06, 0.955, self._message(), fontsize=12.5, weight="bold", va="top")
        note = "GRU and LSTM begin with the gate of their memory open, at a bias of log(distance)"
        figure.text(0.99, 0.015, note, fontsize=8.5, color=GREY, ha="right")
        return figure

    def _message(self) -> str:
        told = [
            f"{task} at a distance of {max(solved)}"
            for task, solved in (
                ("names", self._won(self.config.names_distances, self.names)),
                ("adding", self._won(self.config.adding_distances, self.adding)),
            )
            if solved
        ]
        if not told:
            return "Accuracy falls with the distance to be remembered"
        return "Where the RNN fails, the LSTM still remembers:\n" + ", and ".join(told)

    def _won(self, distances: tuple[int, ...], found: dict[str, list[float]]) -> list[int]:
        """Distances that the LSTM solves and the RNN does not."""
        pairs = zip(distances, found["LSTM"], found["RNN"], strict=True)
        return [distance for distance, lstm, rnn in pairs if lstm > 0.95 and rnn < 0.5]


def _draw(
    axes: Any, distances: tuple[int, ...], found: dict[str, list[float]], chance: float
) -> None:
    for cell in CELLS:
        colour, style = STYLES[cell]
        axes.plot(distances, found[cell], style, color=colour, lw=2, ms=6)
    axes.axhline(chance, color=GREY, ls="--", lw=1.2)
    axes.set_xscale("log", base=2)
    axes.set_xticks(distances, [str(d) for d in distances])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ends = (distances[0] * 0.92, distances[-1] * 1.04)
    axes.set(xlim=ends, ylim=(0, 1.05), ylabel="accuracy on fresh examples")
    plain(axes)
    labels = [
        Label(f"{cell}: {found[cell][-1]:.0%}", found[cell][-1], STYLES[cell][0]) for cell in CELLS
    ]
    labels.append(Label(f"chance: {chance:.0%}", chance, GREY))
    label_in_margin(axes, labels, height=0.065)


def run(config: Config) -> Outcome:
    """Train and test every cell at every distance of both tasks.

    Examples
    --------
    >>> small = Config(H=4, N=4, names_distances=(5,), adding_distances=(5,), names_updates=2,
    ...                adding_updates=2, tested=20)
    >>> outcome = run(small)
    >>> outcome.names["LSTM"] == run(small).names["LSTM"]
    True
    """
    ids, _ = names_batch(np.random.default_rng(config.seed), 1, config.names_distances[-1])
    example = " ".join(VOCABULARY[word] for word in ids[0])
    return Outcome(
        config=config,
        example=f"{example} {NAMES[ids[0, 0]]}",
        names={
            cell: [names_accuracy(config, cell, d) for d in config.names_distances]
            for cell in CELLS
        },
        adding={
            cell: [adding_accuracy(config, cell, d) for d in config.adding_distances]
            for cell in CELLS
        },
    )


# --- The tasks --------------------------------------------------------------------------------


def names_batch(rng: Generator, N: int, distance: int) -> tuple[HostArray, HostArray]:
    """Sentences that begin with a name and end in "NAME said hi to", the name being another.

    Parameters
    ----------
    rng : numpy.random.Generator
    N : int
        Number of sentences.
    distance : int
        Words from the first name to the last word, 5 or more.

    Returns
    -------
    ids : numpy.ndarray (N, distance + 1)
    answers : numpy.ndarray (N,)
        The first name.

    Examples
    --------
    >>> ids, answers = names_batch(np.random.default_rng(0), N=2, distance=6)
    >>> ids.shape, bool((ids[:, 0] == answers).all())
    ((2, 7), True)
    """
    if distance < 5:
        raise ValueError(f"a sentence needs a distance of 5 or more, got {distance}")
    first = rng.integers(len(NAMES), size=N)
    second = (first + rng.integers(1, len(NAMES), size=N)) % len(NAMES)
    sentences = [
        [NAMES[a], *_between(rng, NAMES[b], distance - 4), NAMES[b], *QUESTION]
        for a, b in zip(first, second, strict=True)
    ]
    return np.array([[_IDS[word] for word in words] for words in sentences]), first


_IDS = {word: number for number, word in enumerate(VOCABULARY)}


def _between(rng: Generator, second: str, length: int) -> list[str]:
    """What happens meanwhile, in so many words; at its end the second person comes in."""
    came = [second, *CAME][:length]
    words = list(FIRST)
    while len(words) < length:
        words += MEANWHILE[rng.integers(len(MEANWHILE))]
    return words[: length - len(came)] + came


def adding_batch(rng: Generator, N: int, distance: int) -> tuple[HostArray, HostArray]:
    """Streams of numbers from 0 to 1 with two of them marked, the first number and a later one.

    Parameters
    ----------
    rng : numpy.random.Generator
    N : int
    distance : int
        Steps from the first number to the end of the stream.

    Returns
    -------
    x : numpy.ndarray (N, distance + 1, 2)
        Numbers, and marks of 0 or 1.
    sums : numpy.ndarray (N, 1)

    Examples
    --------
    >>> x, sums = adding_batch(np.random.default_rng(0), N=2, distance=6)
    >>> x[:, :, 1].sum(axis=1).tolist()
    [2.0, 2.0]
    """
    x = np.zeros((N, distance + 1, 2), dtype="float32")
    x[:, :, 0] = rng.uniform(size=(N, distance + 1))
    x[:, 0, 1] = 1
    x[np.arange(N), rng.integers(1, distance + 1, size=N), 1] = 1
    return x, np.sum(x[:, :, 0] * x[:, :, 1], axis=1, keepdims=True)


# --- Learning them ----------------------------------------------------------------------------


class _Reader:
    """A recurrent layer that reads a sequence and answers from its last state."""

    def __init__(self, config: Config, cell: str, D: int, answers: int, distance: int) -> None:
        rng = np.random.default_rng(config.seed)
        self.layer = _layer(cell, D, config.H, rng, bias=float(np.log(distance)))
        self.output = Affine.init(config.H, answers, rng)

    def forward(self, x: Array) -> Array:
        """Answers (N, answers) to sequences (N, T, D)."""
        self.h = self.layer.forward(x)
        return self.output.forward(xp.ascontiguousarray(self.h[:, -1]))

    def backward(self, dy: Array) -> Array:
        """The gradient enters at the last step alone."""
        dhs = xp.zeros_like(self.h)
        dhs[:, -1] = self.output.backward(dy)
        return self.layer.backward(dhs)

    def parameters(self) -> list[Parameter]:
        return self.layer.parameters() + self.output.parameters()


def _layer(cell: str, D: int, H: int, rng: Generator, bias: float) -> TimeRecurrent:
    if cell == "RNN":
        return TimeRNN.init(D, H, rng)
    if cell == "GRU":
        layer = TimeGRU.init(D, H, rng)
        layer.b.value[H : 2 * H] = bias  # the update gate: near 1 it carries h over
        return layer
    return TimeLSTM.init(D, H, rng, forget_bias=1.0 if cell == "LSTM, bias 1" else bias)


def _learn(
    config: Config, parameters: list[Parameter], updates: int, step: Callable[[], float]
) -> None:
    """Learn until solved; ``step`` sets the gradients of a fresh batch and gives its accuracy."""
    optimizer = Adam(parameters, lr=config.lr)
    accuracies: list[float] = []
    while len(accuracies) < updates:
        for parameter in parameters:
            parameter.zero_grad()
        accuracies.append(step())
        clip_gradients(parameters, config.max_norm)
        optimizer.step()
        last = accuracies[-LOOKED_AT:]
        if len(last) == LOOKED_AT and np.mean(last) >= SOLVED:
            return


def names_accuracy(config: Config, cell: str, distance: int) -> float:
    """Share of the names that a cell gets right on fresh sentences, after learning."""
    rng = np.random.default_rng(config.seed + distance)
    D = config.H // 2
    fresh = rng.standard_normal((len(VOCABULARY), D)).astype("float32")
    embedding = Embedding(asarray(fresh))
    reader = _Reader(config, cell, D, len(NAMES), distance)
    loss = SoftmaxWithLoss()

    def step() -> float:
        ids, answers = names_batch(rng, config.N, distance)
        scores = reader.forward(embedding.forward(asarray(ids)))
        loss.forward(scores, asarray(answers))
        embedding.backward(reader.backward(loss.backward()))
        return _right_names(scores, answers)

    parameters = embedding.parameters() + reader.parameters()
    _learn(config, parameters, config.names_updates, step)
    ids, answers = names_batch(rng, config.tested, distance)
    return _right_names(reader.forward(embedding.forward(asarray(ids))), answers)


def _right_names(scores: Array, answers: HostArray) -> float:
    return float(np.mean(asnumpy(scores).argmax(axis=1) == answers))


def adding_accuracy(config: Config, cell: str, distance: int) -> float:
    """Share of the sums that a cell gets right on fresh streams, after learning."""
    rng = np.random.default_rng(config.seed + distance)
    reader = _Reader(config, cell, 2, 1, distance)

    def step() -> float:
        x, sums = adding_batch(rng, config.N, distance)
        y = reader.forward(asarray(x))
        reader.backward(2 * (y - asarray(sums)) / config.N)  # of the mean of (y - sum)^2
        return _right_sums(y, sums)

    _learn(config, reader.parameters(), config.adding_updates, step)
    x, sums = adding_batch(rng, config.tested, distance)
    return _right_sums(reader.forward(asarray(x)), sums)


def _right_sums(y: Array, sums: HostArray) -> float:
    return float(np.mean(np.abs(asnumpy(y) - sums) < CLOSE))
