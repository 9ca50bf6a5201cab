"""Batches of about equally long sequences."""

import numpy as np
import pytest

from deepnlp.tasks.bucketing import Buckets, by_length
from deepnlp.text import pad


def rows_of(lengths: np.ndarray, **options: int) -> list[np.ndarray]:
    settings = {"batch_size": 4, "pool": 3, "seed": 0, "epoch": 0, **options}
    buckets = Buckets(lengths, **settings, make=lambda k, rows: (k, rows))
    found = [buckets[k] for k in range(len(buckets))]
    assert [k for k, _ in found] == [*range(len(buckets))]
    return [rows for _, rows in found]


LENGTHS = np.random.default_rng(0).integers(1, 30, size=(61, 2))


@pytest.mark.parametrize("pool", [1, 3, 100])
@pytest.mark.parametrize("lengths", [LENGTHS, LENGTHS[:, 0], LENGTHS[:1], LENGTHS[:4]])
def test_every_sequence_is_in_one_batch(lengths: np.ndarray, pool: int) -> None:
    rows = rows_of(lengths, pool=pool)
    assert sorted(np.concatenate(rows)) == [*range(len(lengths))]
    assert len(rows) == -(-len(lengths) // 4)
    assert sum(len(batch) < 4 for batch in rows) == (len(lengths) % 4 > 0)


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    def order(**options: int) -> list[list[int]]:
        return [batch.tolist() for batch in rows_of(LENGTHS, **options)]

    assert order(seed=1, epoch=2) == order(seed=1, epoch=2)
    assert len({repr(order(seed=s, epoch=e)) for s in (0, 1) for e in (0, 1)}) == 4


def test_a_pool_saves_padding_and_one_batch_is_a_plain_shuffle() -> None:
    def padding(pool: int) -> int:
        batches = rows_of(LENGTHS, pool=pool)
        return sum(len(b) * LENGTHS[b, 0].max() - LENGTHS[b, 0].sum() for b in batches)

    assert padding(100) < padding(4) < padding(1)
    rng = np.random.default_rng((0, 0))
    shuffled = rng.permutation(len(LENGTHS))
    first = {tuple(shuffled[k : k + 4]) for k in range(0, len(LENGTHS), 4)}
    assert {tuple(batch) for batch in rows_of(LENGTHS, pool=1)} == first


def test_batches_do_not_come_in_the_order_of_their_lengths() -> None:
    longest = [LENGTHS[batch, 0].max() for batch in rows_of(LENGTHS, pool=100)]
    assert longest != sorted(longest)


def test_for_evaluation_all_in_the_order_of_their_lengths() -> None:
    lengths = LENGTHS[:, 0]
    rows = by_length(lengths, 7)
    assert sorted(np.concatenate(rows)) == [*range(len(lengths))]
    assert lengths[np.concatenate(rows)].tolist() == sorted(lengths)


def test_padding_of_empty_sequences() -> None:
    ids, lengths = pad([[], [3, 4]], fill=-1)
    assert ids.tolist() == [[-1, -1], [3, 4]]
    assert lengths.tolist() == [0, 2]
    assert pad([[], []])[0].shape == (2, 1)
