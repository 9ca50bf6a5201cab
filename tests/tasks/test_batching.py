import numpy as np
import pytest

from deepnlp.training import BPTTBatches


@pytest.mark.parametrize(
    ("n", "N", "T"), [(2, 1, 1), (8, 1, 3), (23, 4, 3), (101, 7, 5), (50, 5, 100), (21, 20, 35)]
)
def test_rows_are_contiguous_and_targets_are_the_next_tokens(n: int, N: int, T: int) -> None:
    ids = np.random.default_rng(n).integers(0, 50, n)
    batches = BPTTBatches(ids, N, T)
    windows = list(batches)
    inputs = np.concatenate([x for x, _ in windows], axis=1)
    targets = np.concatenate([t for _, t in windows], axis=1)
    L = (n - 1) // N
    for row in range(N):
        assert inputs[row].tolist() == ids[row * L : (row + 1) * L].tolist()
        assert targets[row].tolist() == ids[row * L + 1 : (row + 1) * L + 1].tolist()
    assert batches.dropped == (n - 1) % N
    assert targets.size + batches.dropped == n - 1


def test_the_last_window_is_shorter_and_not_left_out() -> None:
    batches = BPTTBatches(np.arange(2 * 7 + 1), batch_size=2, time_size=3)
    assert [x.shape for x, _ in batches] == [(2, 3), (2, 3), (2, 1)]
    assert len(batches) == 3


def test_a_window_by_number_is_that_of_the_walk() -> None:
    batches = BPTTBatches(np.arange(100), batch_size=3, time_size=4)
    for k, (inputs, targets) in enumerate(batches):
        assert np.array_equal(batches[k][0], inputs)
        assert np.array_equal(batches[k][1], targets)
    with pytest.raises(IndexError, match="windows are 0 to 8, got 9"):
        batches[9]


def test_too_short_a_text_and_sizes_of_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="5 tokens are too few for 5 rows"):
        BPTTBatches(np.arange(5), batch_size=5, time_size=1)
    with pytest.raises(ValueError, match="should be 1 or more, got 2 and 0"):
        BPTTBatches(np.arange(5), batch_size=2, time_size=0)


@pytest.mark.parametrize(("n", "N", "T"), [(4001, 1, 70), (9001, 4, 35), (2000, 3, 1), (4, 1, 70)])
def test_windows_of_drawn_lengths_cover_the_text_once(n: int, N: int, T: int) -> None:
    ids = np.random.default_rng(n).integers(0, 50, n)
    drawn = BPTTBatches(ids, N, T, np.random.default_rng((7, 2)))
    fixed = BPTTBatches(ids, N, T)
    for side in (0, 1):
        whole = np.concatenate([batch[side] for batch in drawn], axis=1)
        assert np.array_equal(whole, np.concatenate([batch[side] for batch in fixed], axis=1))
    lengths = [inputs.shape[1] for inputs, _ in drawn]
    assert len(drawn) == len(lengths)
    assert all(5 <= length <= T + 10 for length in lengths[:-1])
    assert 1 <= lengths[-1] <= T + 10


def test_lengths_are_drawn_as_in_the_paper() -> None:
    windows = BPTTBatches(np.arange(2_000_000), 1, 70, np.random.default_rng(0))
    lengths = np.array([inputs.shape[1] for inputs, _ in windows])[:-1]
    short = lengths < 52  # half way between the two means
    assert short.mean() == pytest.approx(0.05, abs=0.005)
    assert lengths[short].mean() == pytest.approx(34.5, abs=0.5)  # rounded down
    assert lengths[~short].mean() == pytest.approx(69.5, abs=0.2)
    assert lengths[~short].std() == pytest.approx(5, abs=0.2)
    assert lengths.max() == 80
