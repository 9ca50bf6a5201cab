"""The texts of the benchmarks: random ids in windows or pairs, the same for every contestant."""

from __future__ import annotations

from typing import Any

import numpy as np

WINDOWS = 8


def random_windows(V: int, N: int, T: int) -> list[tuple[Any, Any]]:
    """A few windows of inputs and targets, to go through in turn.

    Returns
    -------
    list of (inputs, targets)
        Host arrays of int64 (N, T).

    Examples
    --------
    >>> inputs, targets = random_windows(9, 2, 3)[0]
    >>> inputs.shape, bool((inputs[:, 1:] == targets[:, :-1]).all())
    ((2, 3), True)
    """
    ids = np.random.default_rng(0).integers(0, V, size=(WINDOWS, N, T + 1))
    return [(np.ascontiguousarray(one[:, :-1]), np.ascontiguousarray(one[:, 1:])) for one in ids]


def random_pairs(V: int, N: int, T: int) -> list[tuple[Any, Any, Any, Any]]:
    """A few batches of pairs of texts, each of 2 T / 5 to T tokens, to go through in turn.

    Returns
    -------
    list of (source, lengths, inputs, targets)
        Host arrays of int64: (N, T), (N,), (N, T) and (N, T), the last with -1 for padding. The
        longest source and the longest target of a batch have T tokens.

    Examples
    --------
    >>> source, lengths, inputs, targets = random_pairs(9, 2, 5)[0]
    >>> source.shape, int(lengths.max()), bool((targets[:, -1] >= 0).any())
    ((2, 5), 5, True)
    """
    rng = np.random.default_rng(0)
    batches = []
    for _ in range(WINDOWS):
        lengths, ends = rng.integers(2 * T // 5, T + 1, size=(2, N))
        lengths[0] = ends[-1] = T
        source, texts = rng.integers(0, V, size=(N, T)), rng.integers(0, V, size=(N, T + 1))
        targets = np.where(np.arange(T) < ends[:, None], texts[:, 1:], -1)
        batches.append((source, lengths, np.ascontiguousarray(texts[:, :-1]), targets))
    return batches
