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
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import Array, HostArray, asarray, asnumpy, xp
from deepnlp.files.tables import table
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import Affine, Embedding, SoftmaxWithLoss, TimeGRU, TimeLSTM, TimeRNN
from deepnlp.lessons.experiments.drawing import Line, canvas_of, panel
from deepnlp.lessons.experiments.result import Result
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.plots.style import BLACK, BLUE, GREY, ORANGE, VERMILLION, Label

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
SOLVED, LOOKED_AT = 0.995, 25  # accuracy over so many batches, at which learning stops
CELLS = {
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
        for title, distances, found, chance in (
            (
                "names: which name was the first?",
                self.config.names_distances, self.names, self.names_chance,
            ),
            (
                f"adding: share of the sums within {CLOSE:g}",
                self.config.adding_distances, self.adding, self.adding_chance,
            ),
        ):  # fmt: skip
            all_rows = found | {"chance": [chance] * len(distances)}
            rows = [[cell, *(f"{one:.1%}" for one in values)] for cell, values in all_rows.items()]
            parts.append(table([title, *(f">distance {d}" for d in distances)], rows))
        return "\n\n".join(parts)

    def figure(self) -> Figure:
        """Accuracy over the distance, a panel for each task."""
        places = (0.06, 0.15, 0.32, 0.61), (0.555, 0.15, 0.32, 0.61)
        figure, (left, right) = canvas_of(self._message(), (12.5, 5.4), *places)
        _draw(
            left, self.config.names_distances, self.names, self.names_chance,
            title='Names: "Tom was watching TV ... Mary said hi to ?"',
            xlabel="words from the name to the question",
        )  # fmt: skip
        _draw(
            right, self.config.adding_distances, self.adding, self.adding_chance,
            title=f"Adding two marked numbers, within {CLOSE:g}",
            xlabel="steps from the first number to the end",
        )  # fmt: skip
        note = "GRU and LSTM begin with the gate of their memory open, at a bias of log(distance)"
        figure.text(0.99, 0.015, note, fontsize=8.5, color=GREY, ha="right")
        return figure

    def _message(self) -> str:
        won = {
            "names": self._won(self.config.names_distances, self.names),
            "adding": self._won(self.config.adding_distances, self.adding),
        }
        parts = [f"{task} at a distance of {max(solved)}" for task, solved in won.items() if solved]
        if not parts:
            return "Accuracy falls with the distance to be remembered"
        return "Where the RNN fails, the LSTM still remembers:\n" + ", and ".join(parts)

    def _won(self, distances: tuple[int, ...], found: dict[str, list[float]]) -> list[int]:
        """Distances that the LSTM solves and the RNN does not."""
        pairs = zip(distances, found["LSTM"], found["RNN"], strict=True)
        return [distance for distance, lstm, rnn in pairs if lstm > 0.95 and rnn < 0.5]


def _draw(
    axes: Any, distances: tuple[int, ...], found: dict[str, list[float]], chance: float, **text: str
) -> None:
    axes.axhline(chance, color=GREY, ls="--", lw=1.2)
    axes.set_xscale("log", base=2)
    axes.set_xticks(distances, [str(d) for d in distances])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    lines = [
        Line(distances, found[cell], colour, f"{cell}: {found[cell][-1]:.0%}", style)
        for cell, (colour, style) in CELLS.items()
    ]
    panel(
        axes, lines, [Label(f"chance: {chance:.0%}", chance, GREY)], height=0.065, ylim=(0, 1.05),
        xlim=(distances[0] * 0.92, distances[-1] * 1.04), ylabel="accuracy on fresh examples",
        **text,
    )  # fmt: skip


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
            cell: [_accuracy(config, NAMES_TASK, cell, d) for d in config.names_distances]
            for cell in CELLS
        },
        adding={
            cell: [_accuracy(config, ADDING_TASK, cell, d) for d in config.adding_distances]
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


class _LastStep(Layer):
    """The last step of a sequence: (N, T, H) to (N, H)."""

    def forward(self, x: Array) -> Array:
        self.save_for_backward(x.shape, x.dtype)
        return xp.ascontiguousarray(x[:, -1])

    def backward(self, dy: Array) -> Array:
        shape, dtype = self.saved()
        dx = xp.zeros(shape, dtype=dtype)
        dx[:, -1] = dy
        return dx


class Task(NamedTuple):
    """What is to be learned: batches, the gradient of a loss, and the share of right answers.

    Attributes
    ----------
    batch : callable
        ``batch(rng, N, distance)`` gives inputs and answers.
    gradient, right : callable
        Of scores and answers.
    words, outputs : int
        What an Embedding looks up, if anything, and the size of an answer.
    updates : str
        The name of an option.
    """

    batch: Callable[[Generator, int, int], tuple[HostArray, HostArray]]
    gradient: Callable[[Array, Array], Array]
    right: Callable[[HostArray, HostArray], Any]
    words: int
    outputs: int
    updates: str


def _gradient_of_names(scores: Array, answers: Array) -> Array:
    loss = SoftmaxWithLoss()
    loss.forward(scores, answers)
    return loss.backward()


NAMES_TASK = Task(
    names_batch, _gradient_of_names, lambda scores, answers: scores.argmax(axis=1) == answers,
    len(VOCABULARY), len(NAMES), "names_updates",
)  # fmt: skip
ADDING_TASK = Task(
    adding_batch, lambda y, sums: 2 * (y - sums) / len(y),  # of the mean of (y - sum)^2
    lambda y, sums: np.abs(y - sums) < CLOSE, 0, 1, "adding_updates",
)  # fmt: skip


def _net(config: Config, task: Task, cell: str, distance: int, rng: Generator) -> Sequential:
    """Layers that read a sequence and answer from its last state."""
    D, H, bias = (config.H // 2 if task.words else 2), config.H, float(np.log(distance))
    below: list[Layer] = []
    if task.words:
        below = [Embedding(asarray(rng.standard_normal((task.words, D)).astype("float32")))]
    own = np.random.default_rng(config.seed)
    layer: Layer
    if cell == "RNN":
        layer = TimeRNN.init(D, H, own)
    elif cell == "GRU":
        layer = TimeGRU.init(D, H, own)
        layer.b.value[H : 2 * H] = bias  # the update gate: near 1 it carries h over
    else:
        layer = TimeLSTM.init(D, H, own, forget_bias=1.0 if cell == "LSTM, bias 1" else bias)
    return Sequential(*below, layer, _LastStep(), Affine.init(H, task.outputs, own))


def _accuracy(config: Config, task: Task, cell: str, distance: int) -> float:
    """Share of right answers on fresh examples, after learning until it is solved."""
    rng = np.random.default_rng(config.seed + distance)
    net = _net(config, task, cell, distance, rng)
    optimizer = Adam(net.parameters(), lr=config.lr)
    accuracies: list[float] = []
    while len(accuracies) < getattr(config, task.updates):
        x, answers = task.batch(rng, config.N, distance)
        y = net.forward(asarray(x))
        net.zero_grad()
        net.backward(task.gradient(y, asarray(answers)))
        clip_gradients(net.parameters(), config.max_norm)
        optimizer.step()
        accuracies.append(float(np.mean(task.right(asnumpy(y), answers))))
        last = accuracies[-LOOKED_AT:]
        if len(last) == LOOKED_AT and np.mean(last) >= SOLVED:
            break
    x, answers = task.batch(rng, config.tested, distance)
    return float(np.mean(task.right(asnumpy(net.forward(asarray(x))), answers)))
