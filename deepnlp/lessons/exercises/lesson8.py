"""Batches, states and a decoder that writes, for the exercises of lesson 8."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.layers import TimeLSTM
from deepnlp.lessons.exercises.values import close, unpacked
from deepnlp.lessons.exercises.verdict import parts

Rows = Sequence[Sequence[int]]

# --- Batches of rows (N, T) of different lengths ------------------------------------------------


def whole_array(value: Any) -> HostArray | None:
    """An array of integers, or None if it is none."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return None
    return array if array.dtype.kind in "iu" and array.ndim else None


def padded(rows: Rows, fill: int, front: bool = False) -> HostArray:
    """The rows as one array, filled up at the end or in front."""
    T = max(map(len, rows))
    gaps = [[fill] * (T - len(row)) for row in rows]
    return np.array(
        [[*gap, *row] if front else [*row, *gap] for row, gap in zip(rows, gaps, strict=True)]
    )


def holds(got: HostArray, rows: Rows, front: bool = False) -> bool:
    """Whether an array has these rows, whatever stands in the padding."""
    want, counts = padded(rows, 0, front), padded([[1] * len(row) for row in rows], 0, front)
    return got.shape == want.shape and np.array_equal(got * counts, want)


def without_padding(got: HostArray, rows: Rows) -> HostArray:
    """The array with zeros where these rows have padding."""
    counts = padded([[1] * len(row) for row in rows], 0)
    return got * counts if got.shape == counts.shape else got


# --- The joint between encoder and decoder ------------------------------------------------------


class Joint:
    """An encoder and a decoder whose states and gradients are handed over in any way."""

    def __init__(self, weights: list[HostArray], x: HostArray, y: HostArray) -> None:
        self.x, self.y, self.of_decoder = x, y, weights[3:]
        Wx, Wh, b = weights[:3]
        self.encoder = TimeLSTM(Wx, Wh, b)

    def encode(self, lengths: HostArray | None) -> HostArray:
        """The outputs of the encoder; its state is then in ``encoder.state``."""
        return self.encoder.forward(self.x, lengths)

    def encoded(self, lengths: HostArray, *gradients: Any) -> Any:
        """The dx of an encoder that gets these gradients."""
        self.encode(lengths)
        return self.encoder.backward(*gradients)

    def decoded(self, *state: Any, lengths: HostArray | None = None) -> HostArray:
        """The outputs of a decoder that starts from this state, or from zeros."""
        Wx, Wh, b = self.of_decoder
        self.decoder = TimeLSTM(Wx, Wh, b)
        if state:
            self.decoder.set_state(*state)
        return self.decoder.forward(self.y, lengths)

    def back_through_decoder(self, h: HostArray, c: HostArray, dhs: HostArray) -> tuple[Any, ...]:
        """dy, and the gradients of the state that the decoder started from."""
        self.decoded(h, c)
        return self.decoder.backward(dhs), *self.decoder.dstate0


# --- Inputs of its own --------------------------------------------------------------------------


class Reader:
    """A decoder of N = 8 texts that reads T = 6 symbols, given ones or its own choices."""

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        N, T, V, H = 8, 6, 9, 5
        shapes = ((V, H), (H, H), (H, V))
        self.W, self.U, self.out = (2 * rng.standard_normal(shape) for shape in shapes)
        self.state = rng.standard_normal((N, H))
        self.inputs = rng.integers(V - 1, size=(N, T))
        self.inputs[:, 0] = V - 1  # the mark
        self.forced = rng.random((N, T)) < 0.5

    def step(self, ids: Any, state: Any) -> tuple[Any, Any]:
        """Scores (N, V) after the ids (N,), and the next state."""
        state = np.tanh(self.W[np.asarray(ids)] + state @ self.U)
        return state @ self.out, state

    def read(
        self,
        pick: str = "right",
        after: str = "read",
        keep: bool = True,
        best: Callable[[HostArray], HostArray] = lambda scores: scores.argmax(axis=1),
    ) -> HostArray:
        """What is read where each choice is made after one thing and picked in one way."""
        inputs, forced = self.inputs, self.forced
        read, state, own = inputs.copy(), self.state, inputs[:, 0]
        for t in range(1, inputs.shape[1]):
            last = {"read": read[:, t - 1], "target": inputs[:, t - 1], "mark": inputs[:, 0]}
            scores, new = self.step(({"own": own} | last)[after], state)
            state, before, own = (new if keep else state), own, best(scores)
            given = inputs[:, t]
            read[:, t] = {
                "right": np.where(forced[:, t], given, own),
                "inverted": np.where(forced[:, t], own, given),
                "late": np.where(forced[:, t], given, before),
                "decision before": np.where(forced[:, t - 1], given, own),
                "one": np.where(forced[:, 1], given, own),
                "row": np.where(forced[0, t], given, own),
                "own": own,
            }[pick]
        return read

    def read_early(self, begin: int, mixing: bool) -> HostArray:
        """The choice after input t in the place of input t."""
        read, state = self.inputs.copy(), self.state
        for t in range(begin, read.shape[1]):
            scores, state = self.step((read if mixing else self.inputs)[:, t], state)
            read[:, t] = np.where(self.forced[:, t], self.inputs[:, t], scores.argmax(axis=1))
        return read


# --- Beam search --------------------------------------------------------------------------------


def beams() -> list[tuple[Any, ...]]:
    """Totals (k,), log_p (k, V), state and width of three steps."""
    rng, found = np.random.default_rng(3), []
    for k, width in ((3, 3), (1, 3), (4, 2)):
        totals = np.sort(-rng.exponential(0.4, size=k))[::-1]
        log_p = np.log(rng.dirichlet(np.full(6, 0.6), size=k))
        found.append((totals, log_p, tuple(rng.standard_normal((2, k, 3))), width))
    return found


def stepped(
    answer: Any, totals: HostArray, log_p: HostArray, state: Any, width: int
) -> tuple[Any, ...]:
    """The four parts of an answer; the state may be the error that it leads to.

    Parents that are no rows of the state raise an IndexError in the answer. A longer state has
    such rows, and shows what is kept.
    """
    names = ("totals", "ids", "parents", "state")
    try:
        return parts(answer(totals, log_p, state, width), *names)
    except IndexError as error:
        longer = tuple(np.resize(array, (log_p.size, 3)) for array in state)
        try:
            *kept, _ = parts(answer(totals, log_p, longer, width), *names)
        except IndexError:
            raise error from None
        return *kept, error


def halves_of(state: Any) -> tuple[Any, ...]:
    """h and c of a state that the answer gave."""
    if isinstance(state, IndexError):
        raise state
    return parts(unpacked(state), "h", "c")


def best_of(values: HostArray, width: int) -> HostArray:
    """The places of the largest values in the flat array, the largest first."""
    return np.argsort(-values, axis=None)[:width]


def three(values: HostArray, places: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Totals, ids and parents of these places."""
    return values.ravel()[places], places % values.shape[1], places // values.shape[1]


def is_three(kept: dict[str, Any], values: Sequence[HostArray]) -> bool:
    """Whether totals, ids and parents are these."""
    return all(map(close, kept.values(), values))


def is_best_of(kept: dict[str, Any], values: HostArray, width: int) -> bool:
    """Whether the best of these values are kept."""
    return is_three(kept, three(values, best_of(values, width)))
