"""The text of the benchmarks: windows of random ids, the same for every contestant."""

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
