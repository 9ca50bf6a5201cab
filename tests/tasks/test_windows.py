"""Blocks of text: which words are in whose window, subsampling, negatives, one batch at a time."""

import numpy as np
import pytest

from deepnlp.tasks.windows import Noise, WindowBatches, keep_probability

V, EOS = 12, 0


def text_of_lines(rng, lines=40, longest=9):
    """Ids of lines of 0 to 8 words, each with its end."""
    parts = [[*rng.integers(1, V, size=rng.integers(longest)), EOS] for _ in range(lines)]
    return np.concatenate(parts).astype("int32")


def batches(ids, keep=None, seed=(3, 0), **options):
    noise = Noise(np.arange(V), 0.75)
    given = {"window": 3, "block": 4, "noise_words": 5, "length": 7, **options}
    keep = np.ones(V) if keep is None else keep
    return WindowBatches(ids, EOS, keep, noise, seed, **given)


def pairs_of(found, window):
    """Of every centre in order of its block: its word, and the words of its window."""
    by_block = {}
    order = iter(found.order)
    for text, windows, centres, _ in found:
        for t, w, c in zip(text, windows, centres, strict=True):
            by_block[int(next(order))] = [(c[i], t[w[i]].tolist()) for i in range(len(c))]
    return [pair for block in sorted(by_block) for pair in by_block[block]]


@pytest.mark.parametrize("block", [1, 4, 50])
@pytest.mark.parametrize("window", [1, 3])
def test_every_word_is_a_centre_once_with_its_neighbours_of_the_line(block, window):
    ids = text_of_lines(np.random.default_rng(0))
    found = batches(ids, block=block, window=window)
    centres = pairs_of(found, window)
    lines = [line.tolist() for line in np.split(ids, np.flatnonzero(ids == EOS) + 1)]
    words = [(line[:-1], i) for line in lines[:-1] for i in range(len(line) - 1)]
    assert len(words) <= len(centres) < len(words) + block
    for (centre, near), (line, i) in zip(centres, words, strict=False):
        assert centre == line[i]
        reached = [line[max(0, i - r) : i] + line[i + 1 : i + 1 + r] for r in range(1, window + 1)]
        assert near in reached
    assert all(not near for _, near in centres[len(words) :])  # padding


def test_windows_reach_each_distance_equally_often():
    ids = np.full(9000, 1, dtype="int32")
    found = batches(ids, window=3, block=10, length=3)
    reaches = np.concatenate([batch.windows.sum(axis=2).ravel() for batch in found])
    inner = np.bincount(reaches, minlength=7)[[2, 4, 6]]
    assert (abs(inner / 9000 - 1 / 3) < 0.02).all()


def test_the_same_seed_gives_the_same_batches_in_any_order():
    ids = text_of_lines(np.random.default_rng(1))
    keep = np.full(V, 0.7)
    one, two, other = batches(ids, keep), batches(ids, keep), batches(ids, keep, seed=(3, 1))
    list(one)
    assert len(one) == 7
    for k in (5, 0, 6):
        for a, b in zip(one[k], two[k], strict=True):
            np.testing.assert_array_equal(a, b)
    assert any(
        a.shape != b.shape or (a != b).any()
        for x, y in zip(one, other, strict=True)
        for a, b in zip(x, y, strict=True)
    )
    with pytest.raises(IndexError, match="batches are 0 to 6, got 7"):
        one[7]


def test_batches_differ_by_a_block_at_most():
    found = batches(text_of_lines(np.random.default_rng(2)), length=5)
    sizes = [len(batch.text) for batch in found]
    assert sum(sizes) == len(found.order)
    assert max(sizes) - min(sizes) <= 1


def test_subsampled_words_are_gone_before_windows_are_laid():
    ids = np.tile(np.array([1, 2, 3, EOS], dtype="int32"), 50)
    keep = np.ones(V)
    keep[2] = 0
    found = batches(ids, keep, window=1, block=6)
    for centre, near in pairs_of(found, 1)[:100]:
        assert near == [{1: 3, 3: 1}[int(centre)]]


def test_a_text_of_which_nothing_is_kept():
    found = batches(text_of_lines(np.random.default_rng(2)), np.zeros(V), length=1)
    assert not found[0].windows.any()


def test_how_often_words_are_kept():
    counts = np.array([0, 1, 10, 989])
    keep = keep_probability(counts, 1e-2)
    np.testing.assert_allclose(keep, [1, 1, 1, np.sqrt(10 / 989) + 10 / 989])
    assert keep_probability(counts, 0).tolist() == [1, 1, 1, 1]
    rng = np.random.default_rng(0)
    ids = rng.choice(V, p=np.arange(V) / 66, size=60_000).astype("int32")
    keep = np.linspace(0.2, 1, V)
    found = batches(ids, keep, block=20, length=2)
    centres = np.concatenate([batch.centres.ravel() for batch in found])
    rate = np.bincount(centres, minlength=V)[1:] / np.bincount(ids, minlength=V)[1:]
    np.testing.assert_allclose(rate, keep[1:], atol=0.06)


@pytest.mark.parametrize("power", [0.0, 0.75, 1.0])
def test_negatives_are_drawn_by_counts_to_a_power(power):
    counts = np.array([0, 1, 100, 10, 0, 25])
    drawn = Noise(counts, power).draw(np.random.default_rng(0), (200, 500))
    shares = np.bincount(drawn.ravel(), minlength=6) / drawn.size
    expected = np.where(counts > 0, np.maximum(counts, 1.0) ** power, 0)
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.005)
    assert (shares[counts == 0] == 0).all()
