"""Checks of exercises 8.6 to 7.8, a decoder that writes: its own inputs, and beam search."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.lessons.exercises.registry import exercise
from deepnlp.lessons.exercises.texts import Texts, texts_of
from deepnlp.lessons.exercises.values import compare_values, unpacked
from deepnlp.lessons.exercises.verdict import Verdict, first_failure, is_empty, parts

SAY = texts_of(8)


# --- Inputs of its own ------------------------------------------------------------------------


@exercise("8.6", stars=2, title="Inputs of its own")
def _check_mixed(answer: Any) -> Verdict:
    """``mixed_inputs(step, state, inputs, forced)`` gives what the decoder reads, (N, T)."""
    say, rng = SAY["8.6"], np.random.default_rng(7)
    N, T, V, H = 8, 6, 9, 5
    W, U, out = (2 * rng.standard_normal(shape) for shape in ((V, H), (H, H), (H, V)))
    first = rng.standard_normal((N, H))
    inputs = rng.integers(V - 1, size=(N, T))
    inputs[:, 0] = V - 1  # the mark
    forced = rng.random((N, T)) < 0.5

    def step(ids: Any, state: Any) -> tuple[Any, Any]:
        state = np.tanh(W[np.asarray(ids)] + state @ U)
        return state @ out, state

    def mixed(
        pick: str = "right", after: str = "read", keep: bool = True, best: Any = np.argmax
    ) -> Any:
        """What is read where each choice is made after one thing and picked in one way."""
        read, state, own = inputs.copy(), first, inputs[:, 0]
        for t in range(1, T):
            last = {"read": read[:, t - 1], "target": inputs[:, t - 1], "mark": inputs[:, 0]}
            last["own"] = own
            scores, new = step(last[after], state)
            state, before, own = (new if keep else state), own, best(scores, axis=1)
            given, here = inputs[:, t], forced[:, t]
            read[:, t] = {
                "right": np.where(here, given, own),
                "inverted": np.where(here, own, given),
                "late": np.where(here, given, before),
                "decision before": np.where(forced[:, t - 1], given, own),
                "one": np.where(forced[:, 1], given, own),
                "row": np.where(forced[0, t], given, own),
                "own": own,
            }[pick]
        return read

    def early(begin: int, mixing: bool) -> Any:
        """The answer to input t in the place of input t."""
        read, state = inputs.copy(), first
        for t in range(begin, T):
            scores, state = step((read if mixing else inputs)[:, t], state)
            read[:, t] = np.where(forced[:, t], inputs[:, t], scores.argmax(axis=1))
        return read

    wrong = [
        ("forced the wrong way round", mixed("inverted")),
        ("the model read the target throughout", mixed(after="target")),
        ("state not carried on", mixed(keep=False)),
        ("one place too late", mixed("late")),
        ("one place too early", early(0, mixing=True)),
        ("one place too early", early(1, mixing=False)),
        ("no input of its own", inputs),
        ("only inputs of its own", mixed("own")),
        ("the model reads the mark at every step", mixed(after="mark")),
        ("decision of the step before", mixed("decision before")),
        ("mixed only at the end", mixed(after="own")),
        ("the least likely symbol", mixed(best=np.argmin)),
        ("one decision for the whole text", mixed("one")),
        ("one decision for all texts", mixed("row")),
        ("the second likeliest symbol", mixed(best=lambda s, axis: s.argsort(axis=axis)[:, -2])),
        ("start mark missing", mixed()[:, 1:]),
    ]
    got = answer(step, first.copy(), inputs.copy(), forced.copy())
    right = mixed()
    if np.shape(got) == right.shape and compare_values(np.asarray(got)[:, :-1], right[:, 1:]).ok:
        return say.wrong("start mark missing")  # whatever the last column holds
    return first_failure(say.name(got, right, "what the decoder reads", wrong), say.right())


# --- Beam search ------------------------------------------------------------------------------


@exercise("8.7", stars=3, title="One step of a beam search")
def _check_beam_step(answer: Any) -> Verdict:
    """``beam_step(totals, log_p, state, width)`` gives totals, ids, parents and the state."""
    say, rng = SAY["8.7"], np.random.default_rng(3)
    for k, width in ((3, 3), (1, 3), (4, 2)):
        V = 6
        totals = np.sort(-rng.exponential(0.4, size=k))[::-1]
        log_p = np.log(rng.dirichlet(np.full(V, 0.6), size=k))
        state = (rng.standard_normal((k, 3)), rng.standard_normal((k, 3)))
        try:
            *got, new_state = _step(answer, totals, log_p, state, width)
        except IndexError as error:  # parents that are no rows of the state; a longer one has them
            longer = tuple(np.resize(a, (k * V, 3)) for a in state)
            try:
                *got, _ = _step(answer, totals, log_p, longer, width)
            except IndexError:
                raise error from None
            verdict = _check_kept(say, got, totals, log_p, width)
            if verdict.ok:
                raise
            return verdict
        verdict = _check_kept(say, got, totals, log_p, width)
        if not verdict.ok:
            return verdict
        verdict = _check_state(say, new_state, state, np.asarray(got[1]), np.asarray(got[2]))
        if not verdict.ok:
            return verdict
    return say.right()


def _step(answer: Any, totals: Any, log_p: Any, state: Any, width: int) -> tuple[Any, ...]:
    """What the answer gives for copies of all that it reads."""
    given = answer(totals.copy(), log_p.copy(), tuple(a.copy() for a in state), width)
    return parts(given, "totals", "ids", "parents", "state")


def _check_kept(say: Texts, got: list[Any], totals: Any, log_p: Any, width: int) -> Verdict:
    """The totals, ids and parents of the beginnings that are kept."""
    (k, V), sums = log_p.shape, totals[:, None] + log_p

    def best_of(values: Any, keep: int = width) -> Any:
        return np.argsort(-values, axis=None)[:keep]

    def three(values: Any, places: Any) -> tuple[Any, Any, Any]:
        return values.ravel()[places], places % V, places // V

    best = best_of(sums)
    right = three(sums, best)
    each, top = sums.argmax(axis=1), int(totals.argmax())
    order = np.argsort(-sums.max(axis=1))
    along = best_of(sums[top])
    product, less = totals[:, None] * log_p, totals[:, None] - log_p
    mixtures = (totals[:, None] + np.exp(log_p), np.exp(totals)[:, None] + log_p)
    wrong = [
        ("log-probabilities not summed", three(log_p, best_of(log_p))),
        ("only this step in the totals", (log_p.ravel()[best], *right[1:])),
        ("log-probabilities multiplied", three(product, best_of(product))),
        *(("probabilities added to logarithms", three(one, best_of(one))) for one in mixtures),
        ("probabilities in the totals", (np.exp(right[0]), *right[1:])),
        ("the least likely ones", three(sums, best_of(-sums))),
        ("not the best one first", tuple(array[::-1] for array in right)),
        ("all of them kept", three(sums, best_of(sums, k * V))),
        ("places in the flat array", (right[0], best, right[2])),
        ("divided by the width", (right[0], best % k, best // k)),
        ("divided by the width", (right[0], best % width, best // width)),
        ("ids and parents swapped", (right[0], right[2], right[1])),
        ("one symbol for each beginning", (sums.max(axis=1)[order], each[order], order)),
        ("one symbol for each beginning", (sums.max(axis=1), each, np.arange(k))),
        ("only the best beginning goes on", (sums[top][along], along, np.full(len(along), top))),
        ("log-probabilities taken off", three(less, best_of(less))),
        ("totals after the ids", (right[1], right[0], right[2])),
        ("means in the totals", (right[0] / 2, *right[1:])),
    ]
    if all(compare_values(a, b).ok for a, b in zip(got, right, strict=True)):
        return Verdict.right()
    found = np.size(got[0])
    if found not in (width, k * V):
        return say.wrong("another number of rows", width=width, found=found)
    for diagnosis, three_wrong in wrong:
        if all(compare_values(a, b).ok for a, b in zip(got, three_wrong, strict=True)):
            return say.wrong(diagnosis)
    names = ("totals", "ids", "parents")
    return first_failure(*(compare_values(*one) for one in zip(got, right, names, strict=True)))


def _check_state(say: Texts, got: Any, state: Any, ids: Any, parents: Any) -> Verdict:
    """Whether every array of the state has the rows of the parents."""
    h, c = parts(unpacked(got), "h", "c")
    (old_h, old_c), k = state, len(state[0])
    if compare_values(h, old_h[parents]).ok and compare_values(c, old_c[parents]).ok:
        return Verdict.right()
    halves = ((old_h[parents], old_c), (old_h, old_c[parents]))
    wrong = [
        ("state not reordered", state),
        ("h and c swapped", (old_c[parents], old_h[parents])),
        *(("part of the state not reordered", half) for half in halves),
        ("state reordered by the symbols", tuple(a[ids % k] for a in state)),
        ("state reordered the wrong way", tuple(a[np.argsort(parents)[:k] % k] for a in state)),
    ]
    for diagnosis, (wrong_h, wrong_c) in wrong:
        if compare_values(h, wrong_h).ok and compare_values(c, wrong_c).ok:
            return say.wrong(diagnosis)
    return first_failure(
        compare_values(h, old_h[parents], "h of the state"),
        compare_values(c, old_c[parents], "c of the state"),
    )


@exercise("8.8", stars=1, title="Texts of different lengths")
def _check_score(answer: Any) -> Verdict:
    """``score(log_p, alpha)``: the sum of log-probabilities (T,) over T to the power alpha."""
    say = SAY["8.8"]
    log_p = np.log([0.5, 0.9, 0.2, 0.7, 0.8])
    T, total = len(log_p), log_p.sum()
    for alpha in (0.6, 1.0, 0.0):
        right = total / T**alpha
        wrong = [
            ("not normalised", total),
            ("the mean for every alpha", total / T),
            ("multiplied by the length", total * T**alpha),
            ("alpha times the length", total / (alpha * T or 1.0)),
            ("end not counted", total / (T - 1) ** alpha),
            ("end not summed", log_p[:-1].sum() / T**alpha),
            ("end counted twice", total / (T + 1) ** alpha),
            ("probability instead of logarithm", np.exp(total) / T**alpha),
            ("probability instead of logarithm", np.exp(right)),
            ("probabilities added", np.exp(log_p).sum() / T**alpha),
            ("the penalty of Wu et al.", total / ((5 + T) / 6) ** alpha),
            ("the best symbol alone", log_p.max() / T**alpha),
            ("the worst symbol alone", log_p.min() / T**alpha),
            ("logarithm of the length", total / np.log(T + 1) ** alpha),
            ("logarithm of the length", total / np.log(T) ** alpha),
            ("a bonus for each symbol", total + alpha * T),
            ("a bonus for each symbol", total - alpha * T),
            ("logarithms multiplied", np.prod(log_p) / T**alpha),
        ]
        got = answer(log_p.copy(), alpha)
        if not is_empty(got) and not np.all(np.isfinite(np.asarray(got, dtype=float))):
            return say.wrong("power or logarithm of a negative number")
        verdict = say.name(got, right, f"the score for alpha = {alpha}", wrong)
        if not verdict.ok:
            return verdict
    return say.right()
