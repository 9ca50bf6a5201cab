"""Sequences of different lengths in one array."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def pad(sequences: Sequence[Any], fill: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of ids as the rows of one array, filled at their ends.

    Parameters
    ----------
    sequences : sequence of N sequences of int
        Some may be empty.
    fill : int
        What stands behind the end of a sequence.

    Returns
    -------
    ids : ndarray, shape (N, T)
        int32, where T is the longest length, and at least 1.
    lengths : ndarray, shape (N,)
        int32.

    Examples
    --------
    >>> ids, lengths = pad([[5, 6, 7], [8]], fill=-1)
    >>> ids.tolist(), lengths.tolist()
    ([[5, 6, 7], [8, -1, -1]], [3, 1])
    """
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int32)
    ids = np.full((len(sequences), max(1, lengths.max(initial=0))), fill, dtype=np.int32)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return ids, lengths
