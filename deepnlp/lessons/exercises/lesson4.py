"""Pairs and shares of words, for the exercises of lesson 4."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.backend import HostArray


def share_of_each(drawn: HostArray) -> HostArray:
    """How often each of the five words was drawn, as a share."""
    return np.bincount(drawn.ravel(), minlength=5) / drawn.size


def but_for(weights: HostArray, t: int) -> HostArray:
    """The distribution in proportion to the weights, without word t."""
    left = np.where(np.arange(len(weights)) == t, 0, weights)
    return np.asarray(left / left.sum())


def sorted_pairs(pairs: Any) -> list[tuple[int, int]] | None:
    """The pairs of integers in order, or None if these are none."""
    try:
        return sorted((int(i), int(j)) for i, j in pairs)
    except (TypeError, ValueError):
        return None
