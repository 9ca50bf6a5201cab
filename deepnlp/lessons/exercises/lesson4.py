"""Pairs of words, for the exercises of lesson 4."""

from typing import Any


def sorted_pairs(pairs: Any) -> list[tuple[int, int]] | None:
    """Return the pairs of integers in order, or None if these are none."""
    try:
        return sorted((int(i), int(j)) for i, j in pairs)
    except (TypeError, ValueError):
        return None
