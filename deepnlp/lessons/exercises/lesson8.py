"""Batches, states and a decoder that writes, for the exercises of lesson 8."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.lessons.exercises.names import by_name

Rows = Sequence[Sequence[int]]

# --- Batches of rows (N, T) of different lengths ------------------------------------------------


def padded(rows: Rows, fill: int, front: bool = False) -> HostArray:
    """Return the rows as one array, filled up at the end or in front."""
    T = max(map(len, rows))
    gaps = [[fill] * (T - len(row)) for row in rows]
    return np.array(
        [[*gap, *row] if front else [*row, *gap] for row, gap in zip(rows, gaps, strict=True)]
    )


def holds(got: HostArray, rows: Rows, front: bool = False) -> bool:
    """Return whether an array has these rows, whatever stands in the padding."""
    want, counts = padded(rows, 0, front), padded([[1] * len(row) for row in rows], 0, front)
    return got.shape == want.shape and np.array_equal(got * counts, want)


def without_padding(got: HostArray, rows: Rows) -> HostArray:
    """Return the array with zeros where these rows have padding."""
    counts = padded([[1] * len(row) for row in rows], 0)
    return got * counts if got.shape == counts.shape else got


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
        """Return scores (N, V) after the ids (N,), and the next state."""
        state = np.tanh(self.W[np.asarray(ids)] + state @ self.U)
        return state @ self.out, state

    def read(
        self,
        forced: HostArray,
        after: str = "read",
        keep: bool = True,
        late: bool = False,
        begin: int = 1,
        best: Callable[[HostArray], HostArray] = lambda scores: scores.argmax(axis=1),
    ) -> HostArray:
        """Return the ids that are read if each choice follows one id and the state is kept."""
        inputs, read, state, chosen = self.inputs, self.inputs.copy(), self.state, self.inputs[:, 0]
        for t in range(begin, inputs.shape[1]):
            before = {"read": read[:, t - 1], "target": inputs[:, t - 1], "now": inputs[:, t]}
            scores, new = self.step((before | {"mark": inputs[:, 0], "own": chosen})[after], state)
            state, last, chosen = (new if keep else state), chosen, best(scores)
            read[:, t] = np.where(forced[:, t], inputs[:, t], last if late else chosen)
        return read


# --- Beam search --------------------------------------------------------------------------------


def beams() -> list[tuple[Any, ...]]:
    """Totals (k,), log_p (k, V), state and width of three steps."""
    rng, cases = np.random.default_rng(3), []
    for k, width in ((3, 3), (1, 3), (4, 2)):
        totals = np.sort(-rng.exponential(0.4, size=k))[::-1]
        log_p = np.log(rng.dirichlet(np.full(6, 0.6), size=k))
        cases.append((totals, log_p, tuple(rng.standard_normal((2, k, 3))), width))
    return cases


def stepped(
    answer: Any, totals: HostArray, log_p: HostArray, state: Any, width: int
) -> dict[str, Any]:
    """Return the parts of an answer; of an input with more rows if parents are no rows."""
    names = ("totals", "ids", "parents", "state")
    try:
        return by_name(answer(totals, log_p, state, width), *names)
    except IndexError:
        longer = tuple(np.resize(array, (log_p.size, 3)) for array in state)
        with suppress(IndexError):
            return by_name(answer(totals, log_p, longer, width), *names)
        raise


def best_of(values: HostArray, width: int) -> HostArray:
    """Return the places of the largest values in the flat array, the largest first."""
    return np.argsort(-values, axis=None)[:width]


def kept(values: HostArray, places: HostArray) -> dict[str, HostArray]:
    """Totals, ids and parents of these places."""
    parents, ids = np.divmod(places, values.shape[1])
    return {"totals": values.ravel()[places], "ids": ids, "parents": parents}
