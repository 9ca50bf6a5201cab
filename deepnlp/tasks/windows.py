"""From a stream of ids to blocks of text with their windows: what word2vec reads."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

HostIds = np.ndarray[Any, Any]


class WindowBatch(NamedTuple):
    """N blocks of text, each with B centres: see :class:`deepnlp.models.CBOW`."""

    text: HostIds  # (N, S), S = B + 2 window
    windows: HostIds  # (N, B, S) bool
    centres: HostIds  # (N, B)
    negatives: HostIds  # (N, K)


def keep_probability(counts: HostIds, subsample: float) -> HostIds:
    r"""Return the probability with which an occurrence of each word is kept, (V,).

    .. math:: \min\Bigl(1, \sqrt{t / f_w} + t / f_w\Bigr)

    with t = ``subsample`` and f_w the word's frequency: the rule of the word2vec program (its paper
    has sqrt(t / f) alone). All are kept for t = 0.

    >>> keep_probability(np.array([900, 99, 1]), 0.01).round(3)
    array([0.117, 0.419, 1.   ])
    """
    if not subsample:
        return np.ones(len(counts))
    ratio = subsample * counts.sum() / np.maximum(counts, 1)
    return np.minimum(1, np.sqrt(ratio) + ratio)


class Noise:
    """The distribution that negatives are drawn from: counts to a power.

    >>> Noise(np.array([0, 16, 1]), power=0.5).draw(np.random.default_rng(0), (2, 5))
    array([[1, 1, 1, 1, 2],
           [2, 1, 1, 1, 2]])
    """

    def __init__(self, counts: HostIds, power: float) -> None:
        weights = np.where(counts > 0, np.maximum(counts, 1.0) ** power, 0.0)
        self.below = np.cumsum(weights) / weights.sum()  # probability of this id or one before it

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> HostIds:
        """Return ids of a shape, all in one look-up."""
        return np.searchsorted(self.below, rng.random(shape), side="right")


class WindowBatches:
    """The blocks of a text for one epoch, in an order of the epoch's own.

    Lines are sentences: no window reaches beyond the end of a line, and the token there is no word
    of any. Words left out by subsampling are taken out before the windows are laid, so that
    these reach further, as in word2vec. A centre's window reaches 1 to ``window`` words to either
    side, drawn anew each time.

    Parameters
    ----------
    ids : array of int (n,)
    eos_id : int
        The token that ends a line.
    keep : array of float (V,)
        From :func:`keep_probability`.
    noise : Noise
    seed : tuple of int
        All draws follow from it: those of batch k from ``(*seed, k + 1)``.
    window, block, noise_words : int
        The furthest reach; B centres and K negatives in a block.
    length : int
        The number of batches; their numbers of blocks differ by one at most.
    """

    def __init__(
        self,
        ids: HostIds,
        eos_id: int,
        keep: HostIds,
        noise: Noise,
        seed: tuple[int, ...],
        *,
        window: int,
        block: int,
        noise_words: int,
        length: int,
    ) -> None:
        rng = np.random.default_rng((*seed, 0))
        is_word = ids != eos_id
        line = np.cumsum(~is_word, dtype=np.int32)
        kept = np.flatnonzero(is_word & (rng.random(len(ids), dtype="float32") < keep[ids]))
        self.seed, self.noise, self.length = seed, noise, length
        self.window, self.block, self.noise_words = window, block, noise_words
        blocks = max(1, -(-len(kept) // block))
        after = blocks * block - len(kept) + window
        self.text = self._in_blocks(np.pad(ids[kept], (window, after)))
        # Lines are compared within a block, for which the last digits of their numbers do.
        padding = np.arange(window + after) + line[-1] + 1  # each a line of its own
        lines = np.concatenate([padding[:window], line[kept], padding[window:]])
        self.lines = self._in_blocks(_renumbered(lines).astype(np.uint16))
        self.order = rng.permutation(blocks)
        # how far each position of a block is from each centre, (B, S)
        position = np.arange(block + 2 * window, dtype=np.int16)
        self.distance = abs(position[:block, None] + window - position)

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[WindowBatch]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int) -> WindowBatch:
        """Return batch k, drawn from a generator of its own."""
        if not 0 <= k < self.length:
            raise IndexError(f"batches are 0 to {self.length - 1}, got {k}")
        rng = np.random.default_rng((*self.seed, k + 1))
        n, w = len(self.order), self.window
        chosen = self.order[k * n // self.length : (k + 1) * n // self.length]
        text, lines = self.text[chosen], self.lines[chosen]
        middle = slice(w, w + self.block)
        reach = rng.integers(1, w + 1, size=(len(chosen), self.block, 1), dtype=np.int16)
        windows = (self.distance <= reach) & (self.distance > 0)
        windows &= lines[:, middle, None] == lines[:, None, :]
        negatives = self.noise.draw(rng, (len(chosen), self.noise_words))
        return WindowBatch(text, windows, text[:, middle], negatives)

    def _in_blocks(self, padded: HostIds) -> HostIds:
        """Return overlapping rows of B + 2 window values, a view: (blocks, S)."""
        S = self.block + 2 * self.window
        return np.lib.stride_tricks.sliding_window_view(padded, S)[:: self.block]


def _renumbered(lines: HostIds) -> HostIds:
    """Return numbers of lines without gaps: 0, 0, 1, 2, 2 for 3, 3, 5, 9, 9."""
    return np.cumsum(np.diff(lines, prepend=lines[0]) != 0)
