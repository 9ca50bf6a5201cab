"""Every demonstration in small: what it shows, that it repeats itself, that it can be read."""

import json
import math

import numpy as np
import pytest

from deepnlp.demos import (
    DEMOS,
    brackets,
    cells,
    clipping,
    depth,
    memory,
    open_brackets,
    phase,
    same_matrix,
    skipgram_tying,
)
from deepnlp.files.writing import finite
from tests.gradflow.test_gradflow import overlaps

SMALL = {
    "exploding": same_matrix.Config(scale=1.0, matrices=40),
    "vanishing": same_matrix.Config(scale=0.5, matrices=40),
    "phase": phase.Config(H=16, T=40, scales=11, matrices=12),
    "cells": cells.Config(
        N=2, H=16, T=60, shown=(10, 60), scales=(0.5, 5.0), forget_biases=(0.0, 1.0), sweep_steps=60
    ),
    "brackets": open_brackets.Config(vocab_size=100, tokens=2000, H=8, epochs=1, steps=4),
    "clipping": clipping.Config(updates=25),
    "memory": memory.Config(
        names_distances=(5, 30), adding_distances=(5,), names_updates=250, adding_updates=60,
        tested=200,
    ),
    "depth": depth.Config(stacks=2, blocks=8, N=2, T=8, D=16),
    "skipgram-tying": skipgram_tying.Config(worlds=1, words=12, kinds=3, sizes=(2, 12), steps=500),
}  # fmt: skip


@pytest.fixture(scope="module")
def outcomes():
    return {name: DEMOS[name].run(config) for name, config in SMALL.items()}


def test_every_demonstration_is_tried():
    assert set(SMALL) == set(DEMOS)


@pytest.mark.parametrize("name", SMALL)
def test_results_can_be_read_by_people_and_programs(name, outcomes):
    outcome = outcomes[name]
    assert len(outcome.table().splitlines()) > 4
    as_dict = json.loads(json.dumps(finite(outcome.to_dict()), allow_nan=False))
    assert as_dict["config"]["seed"] == SMALL[name].seed


@pytest.mark.parametrize("name", SMALL)
def test_no_text_of_a_figure_overlaps_another(name, outcomes):
    assert not overlaps(outcomes[name].figure())


@pytest.mark.parametrize("name", ["phase", "brackets"])
def test_a_seed_gives_the_same_result_again(name, outcomes):
    again = finite(DEMOS[name].run(SMALL[name]).to_dict())
    assert again == finite(outcomes[name].to_dict())


@pytest.mark.parametrize(
    ("scale", "first", "last"), [(1.0, 2.468407, 249.495616), (0.5, 1.234203, 2.379376e-4)]
)
def test_the_norms_of_chapter_6(scale, first, last):
    norms = same_matrix.run(same_matrix.Config(scale=scale, matrices=10)).norms
    assert norms[0] == pytest.approx(first, rel=1e-6)
    assert norms[19] == pytest.approx(last, rel=1e-6)


def test_a_singular_value_above_1_does_not_suffice(outcomes):
    vanishing = outcomes["vanishing"]
    assert vanishing.weights.largest > 1 > vanishing.weights.spectral_radius
    assert vanishing.norms[-1] < 1e-3
    full = same_matrix.run(same_matrix.Config(scale=0.5))
    assert np.mean(full.stretching) == pytest.approx(0.77, abs=0.03)
    assert full.share_of_false_alarms == pytest.approx(0.64, abs=0.03)


def test_growth_begins_at_the_spectral_radius(outcomes):
    found = outcomes["phase"]
    assert found.crossing(found.linear) == pytest.approx(found.crossing(found.radius), abs=0.12)
    assert found.crossing(found.largest) < 0.7 < found.crossing(found.linear)
    assert np.all(np.median(found.tanh, axis=1) <= np.median(found.linear, axis=1) + 1e-9)


def test_what_the_cells_leave(outcomes):
    shares = outcomes["cells"].shares
    after = {cell: paths["both"][50] for cell, paths in shares.items()}
    assert after["LSTM, forget bias 1"] > 1e3 * after["LSTM, forget bias 0"]
    assert after["LSTM, forget bias 0"] > after["tanh RNN"] > 0
    # one path alone: c_(t-1) to c_t by f_t, near sigmoid(bias) with these small weights
    memory_path = shares["LSTM, forget bias 0"]["memory"]
    assert memory_path[20] < 1e-4
    sweep = outcomes["cells"].sweep
    assert sweep[0, 0] < 1e-6
    assert sweep[1, 1] > 1


def test_without_clipping_the_run_is_lost(outcomes):
    found = outcomes["clipping"]
    assert found.diverged
    assert np.all(np.isfinite(found.clipped_loss))
    assert len(found.clipped_loss) == 25
    assert found.clipped_loss[-1] < found.clipped_loss[0]
    assert math.isfinite(found.final_perplexity)


def test_the_lstm_remembers_where_the_rnn_does_not(outcomes):
    found = outcomes["memory"]
    assert found.names["LSTM"][1] > 0.95
    assert found.names["RNN"][1] < memory.TASKS["names"].chance + 0.12
    assert "The LSTM" in found._message() or "the LSTM" in found._message()


def test_sentences_and_sums():
    rng = np.random.default_rng(0)
    for distance in (5, 9, 40):
        ids, answers = memory.names_batch(rng, 4, distance)
        words = [[memory.VOCABULARY[i] for i in row] for row in ids]
        assert all(len(row) == distance + 1 for row in words)
        assert all(row[-3:] == ["said", "hi", "to"] for row in words)
        for row, answer in zip(words, answers, strict=True):
            assert row[0] == memory.NAMES[answer]
            assert memory.NAMES[answer] not in row[1:]
    with pytest.raises(ValueError, match="distance of 5 or more, got 4"):
        memory.names_batch(rng, 1, 4)
    x, sums = memory.adding_batch(rng, 3, 1)
    np.testing.assert_allclose(sums[:, 0], x[:, :, 0].sum(axis=1), rtol=1e-6)


def test_a_bracket_is_open_from_one_end_to_the_other():
    text = ["a", "(", "b", "c", ")", "d", "<eos>", "(", "e", "<eos>"]
    assert brackets.distances(text) == [0, 0, 1, 2, 3, 0, 0, 0, 1, 2]


def test_the_best_unit_is_drawn_over_a_line(outcomes):
    found = outcomes["brackets"]
    assert len(found.trace) == 2
    assert {len(values) for values in found.trace.values()} == {len(found.words)}
    assert all(abs(one) <= 1 for one in found.correlation.values())
    ticks = found.unit_figure().axes[0].get_xticklabels()
    assert [tick.get_text() for tick in ticks] == found.words


def test_a_tied_skip_gram_cannot_make_a_word_unlikely_beside_itself(outcomes):
    found = outcomes["skipgram-tying"]
    assert found.divergence["tied"][1] > 0.2 > 0.02 > found.divergence["tied+L"][1]
    assert found.divergence["none"][1] < 0.02
    assert found.beside["tied"][0] > 10 * found.beside["true"][0]
    for probabilities in found.beside.values():
        assert sum(probabilities) == pytest.approx(1, abs=1e-6)
    small = skipgram_tying.Config(words=8, kinds=2)
    kind = np.arange(8) % 2
    joint = skipgram_tying._world(small, kind, np.random.default_rng(0))
    np.testing.assert_allclose(joint, joint.T)
    q = skipgram_tying._fit(small, joint, 8, "tied", np.random.default_rng(1))
    alone = np.diag(q)  # p(i|i) p(j|j) >= p(j|i) p(i|j), since E E^T is positive semi-definite
    assert np.all(np.outer(alone, alone) >= q * q.T * (1 - 1e-9))
    true = joint / joint.sum(axis=1, keepdims=True)
    less = np.outer(np.diag(true), np.diag(true)) < true * true.T
    assert np.mean(less[kind[:, None] != kind]) > 0.9


def test_without_roads_positions_become_equal_and_gradients_stay(outcomes):
    found = outcomes["depth"]
    first, last, none = (float(shares[-1]) for shares in found.apart.values())
    assert none < 0.2 * last < last < first
    for norms in found.gradients.values():
        assert norms[-1] == pytest.approx(1)
        assert 0.05 < norms[0] < 20
