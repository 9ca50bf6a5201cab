"""Sequences of different lengths in one array."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def pad(sequences: Sequence[Any], fill: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return sequences of ids as the rows of one array, filled at their ends.

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


def pad_pairs(
    sources: Sequence[Any], targets: Sequence[Any], mark: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pad a batch of pairs for an encoder, and a decoder with teacher forcing.

    Parameters
    ----------
    sources, targets : sequence of N sequences of int
    mark : int
        The id that the decoder reads before its first token, and writes after its last.

    Returns
    -------
    source : ndarray, shape (N, S)
        Padded with 0.
    lengths : ndarray, shape (N,)
        Of the sources.
    inputs : ndarray, shape (N, T)
        What the decoder reads: the mark, then the target; padded with 0.
    wanted : ndarray, shape (N, T)
        What it should write: the target, then the mark; padded with -1, which a loss leaves out.

    Examples
    --------
    >>> for rows in pad_pairs([[5, 6], [7]], [[1], [2, 3]], mark=9):
    ...     print(rows.tolist())
    [[5, 6], [7, 0]]
    [2, 1]
    [[9, 1, 0], [9, 2, 3]]
    [[1, 9, -1], [2, 3, 9]]
    """
    source, lengths = pad(sources)
    inputs, _ = pad([[mark, *target] for target in targets])
    wanted, _ = pad([[*target, mark] for target in targets], -1)
    return source, lengths, inputs, wanted
