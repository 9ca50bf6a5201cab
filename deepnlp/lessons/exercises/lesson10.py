"""Attention heads, rotations and blocks, for the exercises of lesson 10."""

from itertools import permutations
from typing import Any

import numpy as np

from deepnlp import Sequential
from deepnlp.backend import HostArray
from deepnlp.backend.functions import softmax
from deepnlp.layers import Tanh, TimeAffine
from deepnlp.lessons.exercises.values import close


def flipped(array: HostArray) -> HostArray:
    """(..., T, d) to (..., d, T)."""
    return array.swapaxes(-1, -2)


def causal(e: HostArray, low: float = -np.inf, ahead: int = 0) -> HostArray:
    """Return scores (..., T, T) with ``low`` where s > t + ahead."""
    t, s = np.indices(e.shape[-2:])
    return np.where(s <= t + ahead, e, low)


def softmax_over(e: HostArray, axis: int) -> HostArray:
    """Return a softmax over another axis."""
    return np.moveaxis(softmax(np.moveaxis(e, axis, -1)), -1, axis)


def in_another_order(given: dict[str, Any], right: dict[str, HostArray]) -> bool:
    """Return whether the gradients are right, but in another order."""
    orders = permutations(right.values())
    return any(close(given, dict(zip(given, order, strict=True))) for order in orders)


def joined(first: HostArray, second: HostArray) -> HostArray:
    """Two halves (..., m) one behind the other: (..., 2m)."""
    return np.concatenate([first, second], axis=-1)


def woven(first: HostArray, second: HostArray) -> HostArray:
    """Return pairs (..., m) side by side: (..., 2m)."""
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)


def in_pairs(x: HostArray, c: HostArray, s: HostArray) -> HostArray:
    """Neighbours turned by an angle."""
    u, w = x[..., ::2], x[..., 1::2]
    return woven(u * c - w * s, u * s + w * c)


def four_parts() -> list[Sequential]:
    """Stand-ins (N, T, 3) to (N, T, 3) for a norm, an attention, a norm and a feed-forward."""
    drawn = [np.random.default_rng(seed).standard_normal((4, 3)) for seed in (1, 2, 3, 4)]
    return [Sequential(TimeAffine(each[:3].copy(), each[3].copy()), Tanh()) for each in drawn]
