"""From a stream of ids to windows: what truncated backpropagation through time reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

HostIds = np.ndarray[Any, Any]


class BPTTBatches:
    r"""The stream cut into N contiguous rows, read side by side in windows of T tokens.

    .. math:: \mathrm{targets}_{n, t} = \mathrm{ids}_{nL + t + 1}, \quad L = \lfloor (n_{ids} - 1)
        / N \rfloor

    Window k continues where window k - 1 ended, so the hidden state can be carried over. The last
    window may be shorter than T. Training drops only the (n_ids - 1) mod N last targets of the
    stream: at most N - 1 tokens of the corpus.

    Parameters
    ----------
    ids : numpy.ndarray of int, shape (n_ids,)
    batch_size : int
        N, the number of rows.
    time_size : int
        T, the most tokens in a window.

    Raises
    ------
    ValueError
        If a size is below 1, or the stream is too short for N rows.

    Examples
    --------
    >>> batches = BPTTBatches(np.arange(8), batch_size=2, time_size=2)
    >>> len(batches), batches.dropped
    (2, 1)
    >>> inputs, targets = batches[0]
    >>> inputs.tolist(), targets.tolist()
    ([[0, 1], [3, 4]], [[1, 2], [4, 5]])
    >>> batches[1][0].tolist()
    [[2], [5]]
    """

    def __init__(self, ids: HostIds, batch_size: int, time_size: int) -> None:
        if batch_size < 1 or time_size < 1:
            raise ValueError(
                f"batch_size and time_size should be 1 or more, got {batch_size} and {time_size}"
            )
        ids = np.asarray(ids)
        length = (len(ids) - 1) // batch_size
        if length < 1:
            raise ValueError(
                f"{len(ids)} tokens are too few for {batch_size} rows: give a longer text, or a "
                f"batch_size of at most {max(1, len(ids) - 1)}"
            )
        used = batch_size * length
        self.time_size = time_size
        self.dropped = len(ids) - 1 - used
        self.inputs = ids[:used].reshape(batch_size, length)
        self.targets = ids[1 : used + 1].reshape(batch_size, length)

    def __len__(self) -> int:
        return -(-self.inputs.shape[1] // self.time_size)

    def __getitem__(self, k: int) -> tuple[HostIds, HostIds]:
        """Window k: inputs and targets, each (N, T) or narrower at the end."""
        if not 0 <= k < len(self):
            raise IndexError(f"windows are 0 to {len(self) - 1}, got {k}")
        window = slice(k * self.time_size, (k + 1) * self.time_size)
        return self.inputs[:, window], self.targets[:, window]

    def __iter__(self) -> Iterator[tuple[HostIds, HostIds]]:
        return (self[k] for k in range(len(self)))
