"""Attention, right and with mistakes, for the exercises of lesson 9."""

from typing import Any

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.backend.functions import softmax
from deepnlp.layers import TimeRNN
from deepnlp.layers import reverse_by_length as reverse_by_length

LENGTHS = np.array([3, 5, 2])


def transposed(array: HostArray) -> HostArray:
    """(N, T, S) to (N, S, T)."""
    return array.swapaxes(1, 2)


def masked(e: HostArray, lengths: HostArray = LENGTHS, low: float = -np.inf) -> HostArray:
    """Return scores (N, T, S) with ``low`` in the padding."""
    return np.where((np.arange(e.shape[2]) < lengths[:, None])[:, None], e, low)


def scores(query: HostArray, memory: HostArray) -> list[HostArray]:
    """Return scores (N, T, S) as they are, and with -inf, -1e9 and 0 in the padding."""
    e = query @ transposed(memory)
    return [e, masked(e), masked(e, low=-1e9), masked(e, low=0)]


def softmax_over(e: HostArray, axis: int) -> HostArray:
    """Return a softmax over another axis."""
    return np.moveaxis(softmax(np.moveaxis(e, axis, -1)), -1, axis)


def is_but_for_padding(got: Any, value: HostArray) -> bool:
    """Return whether this is the value except under a mask: -inf, a number near it, or nan."""
    return np.shape(got) == value.shape and np.allclose(np.where(got > -1e3, got, value), value)


def underflows(got: Any, hidden: HostArray, most: float) -> bool:
    """Return whether weights are nan where subtracting the array's maximum would give 0 / 0."""
    sums = np.exp(hidden - most).sum(axis=2, keepdims=True)
    return np.array_equal(np.isnan(got), np.broadcast_to(sums == 0, hidden.shape))


def real(got: Any) -> Any:
    """Values (N, T, D) with 0 in the padding, where anything may stand."""
    if np.ndim(got) != 3 or np.shape(got)[:2] != (3, 5):
        return got
    return np.where((np.arange(5) < LENGTHS[:, None])[..., None], got, 0)


def two_layers() -> list[TimeRNN]:
    """Return layers that read from left to right and from right to left, D = 3 and H = 4."""
    drawn = [np.random.default_rng(seed).standard_normal for seed in (89, 98)]
    weights = [(draw((3, 4)), 0.7 * draw((4, 4)), draw(4)) for draw in drawn]
    return [TimeRNN(*of_layer) for of_layer in weights]
