"""Greedy search, sampling and beam search, on decoders whose every text can be listed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from deepnlp.backend import asarray, asnumpy
from deepnlp.backend.functions import log_softmax
from deepnlp.generation import Hypothesis, Sampler, beam_search, greedy_search, sample_search
from deepnlp.layer import map_state
from deepnlp.models import RNNLM

START, END = 3, 2  # of the toy, whose other ids are 0, 1 and 4
MARKS = {"start_id": START, "end_id": END}
V = 5


class Toy:
    """Scores that depend on the text, on all that was chosen before, and on their order.

    The state holds what was read: a vector for each row in a tuple, beside None and a list.
    """

    def __init__(self, seed: int, sharpness: float = 1.5) -> None:
        rng = np.random.default_rng(seed)
        self.read = rng.normal(size=(V, 6))
        self.keep = rng.normal(size=(6, 6)) / 2
        self.write = sharpness * rng.normal(size=(6, V))
        self.rows: list[int] = []

    def start(self, N: int) -> Any:
        first = np.random.default_rng(N).normal(size=(N, 6))
        return (asarray(first), [None, asarray(np.arange(N))])

    def step(self, ids: Any, state: Any) -> tuple[Any, Any]:
        h, (_, name) = state
        assert len(ids) == len(h) == len(name)
        self.rows.append(len(ids))
        h = asarray(np.tanh(asnumpy(h) @ self.keep + self.read[asnumpy(ids)]))
        return asarray(asnumpy(h) @ self.write), (h, [None, name])


def one_row(model: Toy, N: int, n: int) -> Any:
    return map_state(lambda array: array[n : n + 1], model.start(N))


def log_probability(model: Toy, state: Any, ids: tuple[int, ...]) -> float:
    """Of one text with its end, read id by id."""
    total, last = 0.0, START
    for id_ in (*ids, END):
        scores, state = model.step(asarray([last]), state)
        total += float(asnumpy(log_softmax(scores))[0, id_])
        last = id_
    return total


def all_texts(max_length: int, words: tuple[int, ...] = (0, 1, 4)) -> Iterator[tuple[int, ...]]:
    for length in range(max_length):
        yield from itertools.product(words, repeat=length)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("N", [1, 3])
def test_a_wide_beam_finds_what_an_exhaustive_search_finds(N: int, seed: int, alpha: float) -> None:
    model, max_length = Toy(seed), 4
    found = beam_search(
        model.step, model.start(N), N, **MARKS, width=60, n_best=8, length_penalty=alpha,
        max_length=max_length,
    )  # fmt: skip
    for n in range(N):
        exact = []
        for ids in all_texts(max_length):
            p = log_probability(model, one_row(model, N, n), ids)
            exact.append(Hypothesis(ids, p, p / (len(ids) + 1) ** alpha))
        exact.sort(key=lambda hypothesis: -hypothesis.score)
        assert [h.ids for h in found[n]] == [h.ids for h in exact[:8]]
        np.testing.assert_allclose([h[1:] for h in found[n]], [h[1:] for h in exact[:8]], rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("width", [1, 2, 5])
def test_scores_are_those_of_the_texts_and_in_order(seed: int, width: int) -> None:
    model, N = Toy(seed), 4
    found = beam_search(
        model.step, model.start(N), N, **MARKS, width=width, n_best=width, max_length=9
    )
    for n, hypotheses in enumerate(found):
        assert 0 < len(hypotheses) <= width
        assert len({h.ids for h in hypotheses}) == len(hypotheses)
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        for ids, total, score in hypotheses:
            exact = log_probability(model, one_row(model, N, n), ids)
            assert total == pytest.approx(exact, rel=1e-9)
            assert score == pytest.approx(exact / (len(ids) + 1))


@pytest.mark.parametrize("seed", range(6))
def test_a_beam_of_one_is_greedy(seed: int) -> None:
    model, N = Toy(seed), 5
    greedy = greedy_search(model.step, model.start(N), N, **MARKS, max_length=12)
    beam = beam_search(
        model.step, model.start(N), N, **MARKS, width=1, length_penalty=0, max_length=12
    )
    assert [h.ids for h in greedy] == [best.ids for (best,) in beam]
    np.testing.assert_allclose([h.score for h in greedy], [best.score for (best,) in beam])


@pytest.mark.parametrize("seed", range(6))
def test_a_text_does_not_depend_on_its_neighbours(seed: int) -> None:
    model, N = Toy(seed), 4
    greedy = greedy_search(model.step, model.start(N), N, **MARKS, max_length=12)
    beam = beam_search(model.step, model.start(N), N, **MARKS, width=3, n_best=2, max_length=12)
    for n in range(N):
        alone = partial(greedy_search, model.step, one_row(model, N, n), 1, **MARKS)
        assert [h.ids for h in alone(max_length=12)] == [greedy[n].ids]
        (found,) = beam_search(
            model.step, one_row(model, N, n), 1, **MARKS, width=3, n_best=2, max_length=12
        )
        assert [h.ids for h in found] == [h.ids for h in beam[n]]


def test_rows_of_texts_that_have_ended_are_no_longer_computed() -> None:
    model, N = Toy(0), 6
    found = greedy_search(model.step, model.start(N), N, **MARKS, max_length=12)
    assert model.rows[0] == N
    assert sum(model.rows) == sum(min(len(h.ids) + 1, 12) for h in found)


@pytest.mark.parametrize("seed", range(8))
def test_neither_start_nor_end_nor_banned_ids_are_found(seed: int) -> None:
    model, N = Toy(seed), 5
    rng = np.random.default_rng(seed)
    never = {START, END, 4}
    sampler = Sampler(temperature=2.0, banned=(START, 4))
    found = [
        *greedy_search(model.step, model.start(N), N, **MARKS, banned=(4,)),
        *sample_search(model.step, model.start(N), N, **MARKS, sampler=sampler, rng=rng),
    ]
    for hypotheses in beam_search(
        model.step, model.start(N), N, **MARKS, width=4, n_best=4, banned=(4,)
    ):
        found += hypotheses
    assert not any(never & set(h.ids) for h in found)
    assert any(len(h.ids) > 1 for h in found)
    plain = sample_search(model.step, model.start(N), N, **MARKS, rng=rng)
    assert not any({START, END} & set(h.ids) for h in plain)


@pytest.mark.parametrize("max_length", [1, 2, 5])
def test_every_text_ends_within_the_length_allowed(max_length: int) -> None:
    def endless(ids: Any, state: Any) -> tuple[Any, Any]:
        return asarray(np.tile([1.0, 0.5, -9.0], (len(ids), 1))), state

    marks = {"start_id": 2, "end_id": 2, "max_length": max_length}
    end = float(asnumpy(log_softmax(asarray([[1.0, 0.5, -9.0]])))[0, 2])
    (greedy,) = greedy_search(endless, None, 1, **marks)
    assert greedy.ids == (0,) * (max_length - 1)
    assert greedy.log_probability < end + 1e-9
    ((best, *_),) = beam_search(endless, None, 1, **marks, width=3, length_penalty=1.0)
    assert best.ids == greedy.ids


def test_samples_follow_the_probabilities_and_the_seed() -> None:
    table = np.array([[0.2, 0.3, 0.5], [0.1, 0.6, 0.3], [0.7, 0.2, 0.1]])

    def step(ids: Any, state: Any) -> tuple[Any, Any]:
        return asarray(np.log(table[asnumpy(ids)])), state

    marks = {"start_id": 2, "end_id": 2, "max_length": 30}
    draw = partial(sample_search, step, None, 4000, **marks)
    found = draw(rng=np.random.default_rng(0))
    assert [h.ids for h in found] == [h.ids for h in draw(rng=np.random.default_rng(0))]
    assert [h.ids for h in found] != [h.ids for h in draw(rng=np.random.default_rng(1))]
    shares = {ids: np.mean([h.ids == ids for h in found]) for ids in [(), (0,), (0, 1), (1, 1)]}
    exact = {(): 0.1, (0,): 0.7 * 0.5, (0, 1): 0.7 * 0.3 * 0.3, (1, 1): 0.2 * 0.6 * 0.3}
    for ids, share in shares.items():
        assert share == pytest.approx(exact[ids], abs=0.025)
        p = next(h.log_probability for h in found if h.ids == ids)
        assert p == pytest.approx(np.log(exact[ids]))


def test_a_tiny_vocabulary_gives_fewer_hypotheses_than_were_wanted() -> None:
    def step(ids: Any, state: Any) -> tuple[Any, Any]:
        return asarray(np.zeros((len(ids), 2))), state

    (found,) = beam_search(step, None, 1, start_id=1, end_id=1, width=5, n_best=5, max_length=3)
    assert [h.ids for h in found] == [(), (0,), (0, 0)]


def test_equal_scores_are_found_in_the_order_of_the_ids() -> None:
    def step(ids: Any, state: Any) -> tuple[Any, Any]:
        return asarray(np.zeros((len(ids), 4))), state

    (found,) = beam_search(step, None, 1, start_id=3, end_id=3, width=9, n_best=9, max_length=2)
    assert [h.ids for h in found] == [(), (0,), (1,), (2,)]


def test_a_language_model_can_be_searched_too() -> None:
    model = RNNLM(6, 4, 4, layers=1, dropout=0.0, dtype="float64")
    model.eval()
    marks = {"start_id": 5, "end_id": 5, "max_length": 4}
    ((best,),) = beam_search(model.step, model.start(1), 1, **marks, width=130)
    ids = asarray([[5, *best.ids]])
    total = -float(asnumpy(model.losses(ids, asarray([[*best.ids, 5]]))).sum())
    assert best.log_probability == pytest.approx(total)
    for other in all_texts(4, words=(0, 1, 2, 3, 4)):
        model.reset_state()
        losses = model.losses(asarray([[5, *other]]), asarray([[*other, 5]]))
        assert -float(asnumpy(losses).mean()) <= best.score + 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width should be 1 or more, got 0"),
        ({"width": 3, "n_best": 4}, "n_best should be 1 or more and at most 3, got 4"),
        ({"length_penalty": -1.0}, "length_penalty should be 0 or more and at most 100, got -1.0"),
        (
            {"length_penalty": float("nan")},
            "length_penalty should be 0 or more and at most 100, got nan",
        ),
        ({"max_length": 0}, "max_length should be 1 or more, got 0"),
    ],
)
def test_numbers_out_of_range(options: dict[str, Any], message: str) -> None:
    model = Toy(0)
    with pytest.raises(ValueError, match=message):
        beam_search(model.step, model.start(1), 1, **MARKS, **options)


def test_a_model_that_has_diverged() -> None:
    def step(ids: Any, state: Any) -> tuple[Any, Any]:
        return asarray(np.full((len(ids), 4), np.nan)), state

    for search in (greedy_search, sample_search, beam_search):
        with pytest.raises(ValueError, match="scores are not finite"):
            search(step, None, 1, start_id=3, end_id=3)
