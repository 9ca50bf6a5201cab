"""Memory: how far apart cause and effect may lie for RNN, GRU and LSTM to learn the link.

Two tasks with an adjustable distance. The first is that of chapter 6: "Tom was watching TV in the
room. Mary came into the room. Mary said hi to ?" The answer is the name at the beginning, and
another name and other words come between. The second is the adding problem (Hochreiter and
Schmidhuber 1997): a stream of numbers, two of them marked, to be added up at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import Array, Generator, HostArray, asarray, asnumpy, xp
from deepnlp.demos.result import Line, Result, canvas, lines_of, number_table, panel
from deepnlp.demos.training import fit, gradient_of_choice
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import Affine, Embedding, TimeGRU, TimeLSTM, TimeRNN
from deepnlp.optimizers import Adam
from deepnlp.plots.style import BLACK, BLUE, GREY, ORANGE, VERMILLION

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

    def table(self) -> str:
        """Tabulate accuracy by distance for both tasks."""
        parts = [f"for example: {self.example}"]
        for name, task in TASKS.items():
            distances, accuracies = self._of(name)
            headings = [task.heading, *(f">distance {d}" for d in distances)]
            rows = [[cell, *values] for cell, values in accuracies.items()]
            rows.append(["chance", *[task.chance] * len(distances)])
            parts.append(number_table(headings, rows, ".1%"))
        return "\n\n".join(parts)

    def figure(self) -> Figure:
        """Draw accuracy over the distance, a panel for each task."""
        places = (0.06, 0.15, 0.32, 0.61), (0.555, 0.15, 0.32, 0.61)
        figure, panels = canvas(self._message(), (12.5, 5.4), *places)
        for axes, (name, task) in zip(panels, TASKS.items(), strict=True):
            distances, accuracies = self._of(name)
            axes.set_xscale("log", base=2)
            axes.set_xticks(distances, [str(d) for d in distances])
            axes.minorticks_off()
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
            texts = {f"{cell}: {accuracies[cell][-1]:.0%}": accuracies[cell] for cell in CELLS}
            chance = Line((), task.chance, GREY, f"chance: {task.chance:.0%}", "--", 1.2)
            panel(
                axes, [chance, *lines_of(distances, texts, CELLS.values())], title=task.title,
                height=0.065, ylim=(0, 1.05), xlim=(distances[0] * 0.92, distances[-1] * 1.04),
                xlabel=task.xlabel, ylabel="accuracy on fresh examples",
            )  # fmt: skip
        note = "GRU and LSTM begin with the gate of their memory open, at a bias of log(distance)"
        figure.text(0.99, 0.015, note, fontsize=8.5, color=GREY, ha="right")
        return figure

    def _message(self) -> str:
        won = []
        for task in TASKS:
            distances, accuracies = self._of(task)
            of_both = zip(distances, accuracies["LSTM"], accuracies["RNN"], strict=True)
            if solved := [d for d, lstm, rnn in of_both if lstm > 0.95 and rnn < 0.5]:
                won.append(f"{task} at a distance of {max(solved)}")
        if not won:
            return "Accuracy falls with the distance to be remembered"
        return "Where the RNN fails, the LSTM still remembers:\n" + ", and ".join(won)

    def _of(self, task: str) -> tuple[tuple[int, ...], dict[str, list[float]]]:
        """Return distances of a task, and the accuracies there."""
        return getattr(self.config, f"{task}_distances"), getattr(self, task)


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
    words = [*(VOCABULARY[word] for word in ids[0]), NAMES[ids[0, 0]]]
    accuracies: dict[str, dict[str, list[float]]] = {task: {} for task in TASKS}
    for task, cell in product(TASKS, CELLS):
        distances = getattr(config, f"{task}_distances")
        accuracies[task][cell] = [_accuracy(config, task, cell, distance) for distance in distances]
    return Outcome(config, " ".join(words), **accuracies)


# --- The tasks --------------------------------------------------------------------------------


def names_batch(rng: Generator, N: int, distance: int) -> tuple[HostArray, HostArray]:
    """Return sentences that begin with a name and end in "NAME said hi to", the name being another.

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
    """Return so many words of what happens meanwhile; at the end the second person comes in."""
    came = [second, *CAME][:length]
    words = list(FIRST)
    while len(words) < length:
        words += MEANWHILE[rng.integers(len(MEANWHILE))]
    return words[: length - len(came)] + came


def adding_batch(rng: Generator, N: int, distance: int) -> tuple[HostArray, HostArray]:
    """Draw streams of numbers from 0 to 1, of which the first and a later one are marked.

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
    """A task to be learned, with its titles.

    Attributes
    ----------
    batch : callable
        ``batch(rng, N, distance)`` gives inputs and answers.
    gradient, right : callable
        Of scores and answers.
    chance : float
        Share of right answers of a guess.
    words, outputs : int
        What an Embedding looks up, if anything, and the size of an answer.
    heading, title, xlabel : str
        Of the table and the figure.
    """

    batch: Callable[[Generator, int, int], tuple[HostArray, HostArray]]
    gradient: Callable[[Array, Array], Array]
    right: Callable[[HostArray, HostArray], Any]
    chance: float
    words: int
    outputs: int
    heading: str
    title: str
    xlabel: str


TASKS = {
    "names": Task(
        names_batch, gradient_of_choice, lambda scores, answers: scores.argmax(axis=1) == answers,
        1 / (len(NAMES) - 1),  # any but the last one heard
        len(VOCABULARY), len(NAMES), "names: which name was the first?",
        'Names: "Tom was watching TV ... Mary said hi to ?"',
        "words from the name to the question",
    ),
    "adding": Task(
        adding_batch, lambda y, sums: 2 * (y - sums) / len(y),  # of the mean of (y - sum)^2
        lambda y, sums: np.abs(y - sums) < CLOSE,
        1 - (1 - CLOSE) ** 2,  # that the sum of two uniform numbers is so near its mean, 1
        0, 1, f"adding: share of the sums within {CLOSE:g}",
        f"Adding two marked numbers, within {CLOSE:g}",
        "steps from the first number to the end",
    ),
}  # fmt: skip


def _net(config: Config, task: Task, cell: str, distance: int, rng: Generator) -> Sequential:
    """Return layers that read a sequence and answer from its last state."""
    D, H, bias = (config.H // 2 if task.words else 2), config.H, float(np.log(distance))
    of_weights = np.random.default_rng(config.seed)
    layer: Layer
    if cell == "RNN":
        layer = TimeRNN.init(D, H, of_weights)
    elif cell == "GRU":
        layer = TimeGRU.init(D, H, of_weights)
        layer.b.value[H : 2 * H] = bias  # the update gate: near 1 it carries h over
    else:
        layer = TimeLSTM.init(D, H, of_weights, forget_bias=1.0 if cell == "LSTM, bias 1" else bias)
    layers: list[Layer] = [layer, _LastStep(), Affine.init(H, task.outputs, of_weights)]
    if task.words:
        vectors = rng.standard_normal((task.words, D)).astype("float32")
        layers.insert(0, Embedding(asarray(vectors)))
    return Sequential(*layers)


def _accuracy(config: Config, name: str, cell: str, distance: int) -> float:
    """Return the share of right answers on fresh examples, after learning until it is solved."""
    rng, task = np.random.default_rng(config.seed + distance), TASKS[name]
    net = _net(config, task, cell, distance, rng)
    optimizer, accuracies = Adam(net.parameters(), lr=config.lr), []
    for _ in range(getattr(config, f"{name}_updates")):
        x, answers = task.batch(rng, config.N, distance)
        y = fit(net, optimizer, x, answers, task.gradient, config.max_norm)
        accuracies.append(np.mean(task.right(asnumpy(y), answers)))
        if len(accuracies) >= LOOKED_AT and np.mean(accuracies[-LOOKED_AT:]) >= SOLVED:
            break
    x, answers = task.batch(rng, config.tested, distance)
    return float(np.mean(task.right(asnumpy(net.forward(asarray(x))), answers)))
