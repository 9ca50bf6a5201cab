"""Checks of the exercises of lesson 8, sequence to sequence; writing is in lesson8_writing.py."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

import deepnlp.lessons.exercises.lesson8_writing  # noqa: F401  its exercises are registered with these
from deepnlp.layers import TimeLSTM
from deepnlp.lessons.exercises.backward import or_ignored
from deepnlp.lessons.exercises.registry import exercise
from deepnlp.lessons.exercises.texts import Texts, texts_of
from deepnlp.lessons.exercises.values import compare_values, unpacked
from deepnlp.lessons.exercises.verdict import WRONG_TYPE, Verdict, first_failure, parts

SAY = texts_of(8)
Named = Sequence[tuple[str, Any]]  # wrong values by diagnosis; several may have the same


# --- Batches and states -----------------------------------------------------------------------


@exercise("8.1", stars=2, title="A batch of pairs")
def _check_batch(answer: Any) -> Verdict:
    """``make_batch(sources, targets, end)`` gives source, lengths, inputs and targets."""
    say, end = SAY["8.1"], 10
    sources, texts = [[5, 3, 9], [2], [7, 0, 4, 1, 6]], [[1, 2], [8, 0, 6, 3], [4]]
    given = ([list(row) for row in rows] for rows in (sources, texts))
    names = ("source", "lengths", "inputs", "targets")
    got = dict(zip(names, parts(answer(*given, end), *names), strict=True))
    for name in names:
        array = _integers(got[name], 1 if name == "lengths" else 2)
        if array is None:
            return say.wrong(WRONG_TYPE, name=name)
        got[name] = array
    marked = [[end, *row] for row in texts]
    wanted = [[*row, end] for row in texts]
    both = [[end, *row, end] for row in texts]
    return first_failure(
        _check_source(say, got["source"], sources, end),
        _check_lengths(say, got["lengths"], sources, texts),
        _check_inputs(say, got["inputs"], got["targets"], texts, end),
        _check_rows(say, got["inputs"], marked, "inputs", [("end mark among the inputs", both)]),
        _check_targets(say, got["targets"], wanted, texts),
        say.right(),
    )


def _integers(value: Any, axes: int) -> np.ndarray | None:
    """An array of integers with so many axes, or None if it is none."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return None
    return array if array.ndim == axes and array.dtype.kind in "iu" else None


def _holds(got: np.ndarray, rows: Sequence[Sequence[int]], front: bool = False) -> bool:
    """Whether an array (N, T) has these rows, padded at the end, or in front."""
    T = max(map(len, rows))
    places = [slice(T - len(row), T) if front else slice(len(row)) for row in rows]
    return got.shape == (len(rows), T) and all(
        got[n, place].tolist() == list(row)
        for n, (place, row) in enumerate(zip(places, rows, strict=True))
    )


def _check_rows(
    say: Texts, got: np.ndarray, rows: Sequence[Sequence[int]], name: str, wrong: Named
) -> Verdict:
    """Rows of ids with any id as padding."""
    if _holds(got, rows):
        return say.wrong("no id as padding", name=name) if got.min() < 0 else Verdict.right()
    for diagnosis, other in wrong:
        if _holds(got, other):
            return say.wrong(diagnosis, name=name)
    if _holds(got, rows, front=True):
        return say.wrong("padded at the front", name=name)
    T = max(map(len, rows))
    right = np.array([[*row, *[0] * (T - len(row))] for row in rows])
    same = got.shape == right.shape
    filled = np.array([len(row) for row in rows])[:, None] > np.arange(T)
    return compare_values(np.where(filled, got, 0) if same else got, right, name)


def _check_source(say: Texts, got: np.ndarray, sources: list[list[int]], end: int) -> Verdict:
    wrong = [
        ("marks in the source", [[*row, end] for row in sources]),
        ("marks in the source", [[end, *row] for row in sources]),
        ("source reversed", [row[::-1] for row in sources]),
    ]
    return _check_rows(say, got, sources, "source", wrong)


def _check_lengths(say: Texts, got: Any, sources: list[list[int]], texts: Any) -> Verdict:
    lengths = np.array([*map(len, sources)])
    wrong = [
        ("marks counted in the lengths", lengths + 1),
        ("lengths of the padded rows", np.full(3, lengths.max())),
        ("lengths of the targets", np.array([*map(len, texts)])),
        ("lengths of the targets", np.array([1 + len(row) for row in texts])),
    ]
    return say.name(got, lengths, "lengths", wrong)


def _check_inputs(
    say: Texts, inputs: np.ndarray, targets: np.ndarray, texts: list[list[int]], end: int
) -> Verdict:
    """What may be wrong with the shift between inputs and targets."""
    both = [[end, *row, end] for row in texts]
    if _holds(inputs, [[*row, end] for row in texts]) or (
        _holds(inputs, both) and _holds(targets, both)
    ):
        return say.wrong("targets not shifted")
    if _holds(inputs, texts):
        return say.wrong("start mark missing")
    if _holds(inputs, [[end, *row[::-1]] for row in texts]):
        return say.wrong("targets reversed")
    if _holds(inputs, [[end, *row[:-1]] for row in texts]):
        return say.wrong("end mark missing")
    first = inputs[:, 0]
    others = [[int(mark), *row] for mark, row in zip(first, texts, strict=True)]
    if (first != end).any() and _holds(inputs, others):
        return say.wrong("another start mark", mark=int(first[0]), end=end)
    return Verdict.right()


def _check_targets(say: Texts, got: np.ndarray, wanted: Any, texts: Any) -> Verdict:
    T = max(map(len, wanted))
    right = np.array([[*row, *[-1] * (T - len(row))] for row in wanted])
    if compare_values(got, right).ok:
        return Verdict.right()
    if _holds(got, wanted):
        return say.wrong("padding counts as a target")
    if _holds(got, texts):
        return say.wrong("end mark missing")
    if _holds(got, [[*row[-2::-1], row[-1]] for row in wanted]):
        return say.wrong("targets reversed")
    if _holds(got, wanted, front=True):
        return say.wrong("padded at the front", name="targets")
    return compare_values(got, right, "targets")


@exercise("8.2", stars=1, title="The last state")
def _check_last_states(answer: Any) -> Verdict:
    """``last_states(hs, lengths)``, from (N, S, H) to (N, H)."""
    say, rng = SAY["8.2"], np.random.default_rng(2)
    hs, lengths = rng.standard_normal((4, 6, 3)), np.array([5, 2, 4, 3])
    rows, totals = np.arange(4), hs.sum(axis=1)
    means = [row[:length].mean(axis=0) for row, length in zip(hs, lengths, strict=True)]
    wrong = [
        ("last step of the padded batch", hs[:, -1]),
        ("last step of the padded batch", hs[:, lengths.max() - 1]),
        ("one step too late", hs[rows, lengths]),
        ("one step too early", hs[rows, lengths - 2]),
        ("the first state", hs[:, 0]),
        ("all rows at the steps of all lengths", hs[:, lengths - 1]),
        ("mean over the steps", totals / 6),
        ("mean over the steps", totals / lengths[:, None]),
        ("mean over the steps", np.array(means)),
        ("the shortest length for all", hs[:, 1]),
        ("states of the first row", hs[0, lengths - 1]),
        ("largest instead of last", hs.max(axis=1)),
        ("counted from the end", hs[rows, -lengths]),
        ("one state for all rows", hs[rows, lengths - 1].mean(axis=0)),
    ]
    got = answer(hs.copy(), lengths.copy())
    verdict = say.name(got, hs[rows, lengths - 1], "last_states", wrong)
    return first_failure(verdict, say.right())


# --- The joint between encoder and decoder ----------------------------------------------------


@exercise("8.3", stars=3, title="Back through the joint")
def _check_joint(answer: Any) -> Verdict:
    """A class of (encoder, decoder): ``forward(x, lengths, y)``, ``backward(dhs)``."""
    say, rng = SAY["8.3"], np.random.default_rng(3)
    N, T, D, H = 3, 4, 3, 2
    weights: list[Any] = [
        [rng.standard_normal(shape) for shape in ((D, 4 * H), (H, 4 * H), (4 * H,))]
        for _ in range(2)
    ]
    x, y, lengths = *rng.standard_normal((2, N, T, D)), np.array([3, 4, 1])
    dhs, zeros = rng.standard_normal((N, T, H)), np.zeros((N, T, H))

    encoder, decoder, unused = (TimeLSTM(*weights[k]) for k in (0, 1, 1))
    outputs = encoder.forward(x, lengths)
    h, c = encoder.state

    def decoded(*state: Any) -> Any:
        if state:
            decoder.set_state(*state)
        return decoder.forward(y)

    without_lengths = TimeLSTM(*weights[0])
    without_lengths.forward(x)
    wrong = [
        ("decoder starts from zeros", decoded()),
        ("memory cell not handed over", decoded(h)),
        ("h and c swapped", decoded(c, h)),
        ("h and c swapped", decoded(c, c)),
        ("h in place of c", decoded(h, h)),
        ("last step of the padded batch", decoded(outputs[:, -1], c)),
        ("last step of the padded batch", decoded(outputs[:, -1])),
        ("lengths not used", decoded(*without_lengths.state)),
    ]
    decoder.set_state(h, c)
    wrong.append(("the source's lengths given to the decoder", decoder.forward(y, lengths)))
    mine = answer(TimeLSTM(*weights[0]), unused)
    got = mine.forward(x.copy(), lengths.copy(), y.copy())
    verdict = say.name(got, decoded(h, c), "the output of forward", wrong)
    if not verdict.ok:
        return verdict

    ready = copy.deepcopy(mine)
    dx, dy = parts(mine.backward(dhs.copy()), "dx", "dy")
    right_dy = decoder.backward(dhs)
    dh, dc = decoder.dstate0

    def encoded(*gradients: Any) -> Any:
        encoder.forward(x, lengths)
        return encoder.backward(*gradients)

    at_padded_end, at_all = zeros.copy(), zeros + dh[:, None]
    at_padded_end[:, -1] = dh
    wrong = [
        ("no gradient through the state", zeros[..., :1] + np.zeros(D)),
        ("dc forgotten", encoded(zeros, dh)),
        ("dh forgotten", encoded(zeros, None, dc)),
        ("dh and dc swapped", encoded(zeros, dc, dh)),
        ("dh at the last step of the padded batch", encoded(at_padded_end, None, dc)),
        ("dh at the last step of the padded batch", encoded(at_padded_end)),
        ("dh counted twice", encoded(at_padded_end, dh, dc)),
        ("dh counted twice", encoded(zeros, 2 * dh, dc)),
        ("dh at every step", encoded(at_all, None, dc)),
        ("dh at every step", encoded(at_all, dh, dc)),
        ("gradient of the first output in place of dh0", encoded(zeros, dhs[:, 0], dc)),
    ]
    given = "gradients of the decoder's outputs given to the encoder"
    states = [(), (dh,), (None, dc), (dh, dc)]
    wrong += [(given, encoded(dhs, *some)) for some in states]
    right_dx = encoded(zeros, dh, dc)
    if compare_values(dx, right_dy).ok and compare_values(dy, right_dx).ok:
        return say.wrong("dx and dy swapped")
    verdict = first_failure(
        compare_values(dy, right_dy, "dy"), say.name(dx, right_dx, "dx", wrong), say.right()
    )
    return or_ignored(verdict, ready, dhs)


# --- What is measured -------------------------------------------------------------------------


@exercise("8.4", stars=2, title="Two accuracies")
def _check_accuracies(answer: Any) -> Verdict:
    """``accuracies(predicted, targets)`` gives the shares of right tokens and of right texts."""
    say = SAY["8.4"]
    targets = np.array(
        [
            [4, 0, 0, 3, 9],
            [2, 9, -1, -1, -1],
            [6, 6, 1, 9, -1],
            [5, 0, 9, -1, -1],
            [8, 9, -1, -1, -1],
        ]
    )
    predicted = np.where(targets < 0, 3, targets)
    predicted[2, 1], predicted[2, 2], predicted[3, 2], predicted[4, 0] = 5, 2, 1, 7
    counts, hit = targets >= 0, predicted == targets
    words = counts & (targets != 9)  # all but the mark
    n, N = counts.sum(), len(targets)
    tokens, whole = (hit & counts).sum() / n, (hit | ~counts).all(axis=1)
    texts = whole.mean()
    got = parts(unpacked(answer(predicted.copy(), targets.copy())), "tokens", "texts")
    pairs = [
        ("the two swapped", (texts, tokens)),
        ("percent", (100 * tokens, 100 * texts)),
        ("counts instead of shares", (tokens * n, whole.sum())),
        ("errors instead of hits", (1 - tokens, 1 - texts)),
        ("one number for each text", ((hit & counts).sum(axis=1) / counts.sum(axis=1), whole)),
    ]
    of_tokens = [
        ("padding counted as wrong", hit.mean()),
        ("padding counted as right", (hit | ~counts).mean()),
        ("id 0 taken for padding", hit[targets > 0].mean()),
        ("the mark not counted", hit[words].mean()),
        ("divided by the number of texts", (hit & counts).sum() / N),
        ("every text weighs the same", ((hit & counts).sum(axis=1) / counts.sum(axis=1)).mean()),
    ]
    of_texts = [
        ("padding of a text counted as wrong", hit.all(axis=1).mean()),
        ("the mark not counted", (hit | ~words).all(axis=1).mean()),
        ("one right token is enough", (hit & counts).any(axis=1).mean()),
        ("estimated from the tokens", tokens ** targets.shape[1]),
        ("estimated from the tokens", tokens ** (n / N)),
        ("divided by the number of tokens", whole.sum() / n),
        ("one mistake allowed", ((~hit & counts).sum(axis=1) <= 1).mean()),
    ]
    for diagnosis, pair in pairs:
        if all(compare_values(a, b).ok for a, b in zip(got, pair, strict=True)):
            return say.wrong(diagnosis)
    return first_failure(
        say.name(got[0], tokens, "the share of tokens", of_tokens),
        say.name(got[1], texts, "the share of texts", of_texts),
        say.right(),
    )


@exercise("8.5", stars=2, title="One vector, many uses")
def _check_peeky(answer: Any) -> Verdict:
    """``peeky_backward(dz, D)``, from (N, T, D + H) to dy (N, T, D) and dh (N, H)."""
    say, D = SAY["8.5"], 3
    dz = np.random.default_rng(6).standard_normal((2, 4, 2 * D))  # D = H, so that a swap is seen
    dy, dhs = dz[..., :D], dz[..., D:]
    got_dy, got_dh = parts(answer(dz.copy(), D), "dy", "dh")
    of_dy = [
        ("parts swapped", dhs),
        ("dy summed as well", dy.sum(axis=1)),
        ("dy and dh swapped", dhs.sum(axis=1)),
        ("cut along the steps", dz[:, :D]),
    ]
    of_dh = [
        ("not summed over the steps", dhs),
        ("the last step only", dhs[:, -1]),
        ("the first step only", dhs[:, 0]),
        ("mean over the steps", dhs.mean(axis=1)),
        ("summed over the batch", dhs.sum(axis=0)),
        ("summed over the batch", dhs.sum(axis=(0, 1))),
        ("largest instead of the sum", dhs.max(axis=1)),
        ("dy among them", dz.sum(axis=1)),
        ("cut along the steps", dz[:, D:].sum(axis=1)),
    ]
    return first_failure(
        say.name(got_dy, dy, "dy", of_dy),
        say.name(got_dh, dhs.sum(axis=1), "dh", of_dh),
        say.right(),
    )
