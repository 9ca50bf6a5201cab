"""From a stream of ids to windows: what truncated backpropagation through time reads."""

from collections.abc import Iterator
from typing import Any

import numpy as np

HostIds = np.ndarray[Any, Any]

SHORTEST = 5  # steps of a window whose length is drawn


class BPTTBatches:
    r"""The stream cut into N contiguous rows, read side by side in windows of T tokens.

    .. math:: \mathrm{targets}_{n, t} = \mathrm{ids}_{nL + t + 1}, \quad L = \lfloor (n_{ids} - 1)
        / N \rfloor

    Window k continues where window k - 1 ended, so the hidden state can be carried over. The last
    window may be shorter than T. Training drops only the (n_ids - 1) mod N last targets of the
    stream: at most N - 1 tokens of the corpus.

    With ``rng`` the length of each window is drawn:

    .. math:: T_k = \min(T + 10, \max(5, \lfloor z \rfloor)), \quad z \sim \mathcal N(\mu, 5^2),
        \quad \mu = T \text{ with probability } 0.95, \text{ else } T / 2

    so that the windows of two epochs end at different words.

    Parameters
    ----------
    ids : numpy.ndarray of int, shape (n_ids,)
    batch_size : int
        N, the number of rows.
    time_size : int
        T, the most tokens in a window; with ``rng``, about their mean.
    rng : numpy.random.Generator, optional
        Draws the lengths of the windows; without it all are T.

    Raises
    ------
    ValueError
        If a size is below 1, or the stream is too short for N rows.

    Notes
    -----
    Lengths as in AWD-LSTM (Merity, Keskar and Socher 2018, section 5), whose code has no largest
    length; T + 10 bounds the memory.

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
    >>> varied = BPTTBatches(np.arange(99), 1, 20, rng=np.random.default_rng(0))
    >>> [inputs.shape[1] for inputs, _ in varied]
    [19, 26, 16, 21, 16]
    """

    def __init__(
        self,
        ids: HostIds,
        batch_size: int,
        time_size: int,
        rng: np.random.Generator | None = None,
    ) -> None:
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
        starts = np.arange(0, length, time_size) if rng is None else self._drawn(length, rng)
        self._edges = [*starts.tolist(), length]  # window k is from edge k to edge k + 1

    def _drawn(self, length: int, rng: np.random.Generator) -> HostIds:
        """Return the starts of windows whose lengths are drawn."""
        T, most = self.time_size, length // SHORTEST + 1
        mean = np.where(rng.random(most) < 0.95, T, T / 2)
        lengths = np.clip(rng.normal(mean, 5).astype(int), SHORTEST, T + 10)
        starts = np.cumsum(lengths) - lengths
        return starts[starts < length]

    def __len__(self) -> int:
        return len(self._edges) - 1

    def __getitem__(self, k: int) -> tuple[HostIds, HostIds]:
        """Return window k: inputs and targets, each (N, T) or narrower at the end."""
        if not 0 <= k < len(self):
            raise IndexError(f"windows are 0 to {len(self) - 1}, got {k}")
        window = slice(self._edges[k], self._edges[k + 1])
        return self.inputs[:, window], self.targets[:, window]

    def __iter__(self) -> Iterator[tuple[HostIds, HostIds]]:
        return (self[k] for k in range(len(self)))


class RandomWindows:
    r"""Windows of T tokens that begin anywhere in the stream, N side by side.

    .. math:: \mathrm{inputs}_{n, t} = \mathrm{ids}_{s_n + t}, \qquad
        \mathrm{targets}_{n, t} = \mathrm{ids}_{s_n + t + 1}, \qquad
        s_n \sim U\{0, \dots, n_{ids} - T - 1\}

    For a model that carries no state, each window is a text of its own.

    Parameters
    ----------
    ids : numpy.ndarray of int, shape (n_ids,)
    batch_size, time_size : int
        N and T.
    steps : int
        How many batches there are.
    rng : numpy.random.Generator
        Draws all beginnings.

    Raises
    ------
    ValueError
        If the stream is too short for a window.

    Examples
    --------
    >>> windows = RandomWindows(np.arange(100), 2, 3, steps=5, rng=np.random.default_rng(0))
    >>> inputs, targets = windows[0]
    >>> inputs.tolist(), targets.tolist()
    ([[82, 83, 84], [61, 62, 63]], [[83, 84, 85], [62, 63, 64]])
    """

    def __init__(
        self,
        ids: HostIds,
        batch_size: int,
        time_size: int,
        steps: int,
        rng: np.random.Generator,
    ) -> None:
        if len(ids) <= time_size:
            raise ValueError(f"{len(ids)} tokens are too few for windows of {time_size}")
        self._ids, self._places = np.asarray(ids), np.arange(time_size)
        self._starts = rng.integers(0, len(ids) - time_size, size=(steps, batch_size, 1))

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, k: int) -> tuple[HostIds, HostIds]:
        """Return batch k: inputs and targets, each (N, T)."""
        if not 0 <= k < len(self):
            raise IndexError(f"windows are 0 to {len(self) - 1}, got {k}")
        places = self._starts[k] + self._places
        return self._ids[places], self._ids[places + 1]
