"""Batches of sequences that are about equally long, so that little of a batch is padding."""

from collections.abc import Callable
from typing import Any

import numpy as np

HostIds = np.ndarray[Any, Any]


class Buckets:
    """Shuffled batches; inside pools of ``pool`` batches, sequences are sorted by length.

    The order is drawn anew for each epoch: the sequences are shuffled, cut into pools, each pool is
    sorted by length and cut into batches, and all batches are shuffled. With ``pool=1`` nothing is
    sorted. The larger a pool, the less padding, and the more alike the sequences of a batch.

    Parameters
    ----------
    lengths : numpy.ndarray of int, shape (n,) or (n, k)
        Of each sequence; with k lengths, such as those of source and target, the first counts most.
    batch_size, pool : int
    seed, epoch : int
        The order depends on nothing else.
    make : callable
        Makes a batch: ``make(k, rows)``, from its number and the numbers of its sequences.

    Examples
    --------
    >>> lengths = np.array([3, 1, 2, 3, 1, 2])
    >>> batches = Buckets(lengths, 2, pool=3, seed=1, epoch=0, make=lambda k, rows: lengths[rows])
    >>> [batches[k].tolist() for k in range(len(batches))]
    [[1, 1], [2, 2], [3, 3]]
    """

    def __init__(
        self,
        lengths: HostIds,
        batch_size: int,
        pool: int,
        seed: int,
        epoch: int,
        make: Callable[[int, HostIds], tuple[Any, ...]],
    ) -> None:
        rng = np.random.default_rng((seed, epoch))
        order = rng.permutation(len(lengths))
        keys = np.atleast_2d(lengths.T)[::-1]  # the last key of lexsort counts most
        self._rows: list[HostIds] = []
        for start in range(0, len(order), batch_size * pool):
            rows = order[start : start + batch_size * pool]
            if pool > 1:
                rows = rows[np.lexsort(keys[:, rows])]
            self._rows += [rows[k : k + batch_size] for k in range(0, len(rows), batch_size)]
        self._order = rng.permutation(len(self._rows))
        self._make = make

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, k: int) -> tuple[Any, ...]:
        """Return batch k, counted from 0."""
        return self._make(k, self._rows[self._order[k]])


def by_length(lengths: HostIds, batch_size: int) -> list[HostIds]:
    """Return all sequences in batches, the shortest first, for evaluation.

    >>> [rows.tolist() for rows in by_length(np.array([3, 1, 2]), 2)]
    [[1, 2], [0]]
    """
    order = np.argsort(lengths, kind="stable")
    return [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
