"""Byte pairs, optimizer steps and Markov chains, for the exercises of lesson 11."""

import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.backend.functions import softmax
from deepnlp.text.bpe import merge

WORDS = {
    ("l", "o", "w"): 5,
    ("l", "o", "w", "e", "r"): 2,
    ("n", "e", "w", "e", "s", "t"): 6,
    ("w", "i", "d", "e", "s", "t"): 3,
    ("y", "e", "s"): 1,
}


def if_any(values: list[Any]) -> list[Any] | None:
    """Return a list of answers, or None where the first is none."""
    return None if values[0] is None else values


def pair_of(words: Any, weigh: bool = True, least: bool = False, by: Any = tuple) -> Any:
    """Return the most frequent pair of neighbours, by the counts of words or by kinds of words."""
    counts: Counter[Any] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[tuple(by(pair))] += count if weigh else 1
    return (min if least else max)(counts, key=lambda pair: counts[pair])


def by_symbol(words: Any) -> Any:
    """Return the two most frequent single tokens."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        counts.update({token: count * word.count(token) for token in set(word)})
    return tuple(token for token, _ in counts.most_common(2))


def from_the_right(word: Sequence[str], pair: Any) -> list[str]:
    """Return pairs joined from right to left."""
    return merge(word[::-1], pair[::-1], pair[0] + pair[1])[::-1]


def first_only(word: Sequence[str], pair: Any) -> list[str]:
    """Return the first pair joined alone."""
    at = next((k for k, both in enumerate(pairwise(word)) if both == pair), None)
    return [*word] if at is None else [*word[:at], pair[0] + pair[1], *word[at + 2 :]]


def overlapping(word: Sequence[str], pair: Any) -> list[str]:
    """Return every pair joined, also those that share a token."""
    starts = [both == pair for both in pairwise(word)]
    kept = [
        pair[0] + pair[1] if start else token
        for token, start, ended in zip(word, [*starts, False], [False, *starts], strict=True)
        if start or not ended
    ]
    return kept


def most_memory(work: Callable[[], Any]) -> int:
    """Return the bytes that some work holds at most at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def read_so_far(q: HostArray, k: HostArray, v: HostArray, scale: float = 0.5) -> HostArray:
    """Return the outputs (T, d) of causal attention."""
    e = np.where(np.tri(len(q)), scale * q @ k.T, -np.inf)
    return softmax(e) @ v


def chances(ids: HostArray, k: int, before: float = 1.0, order: int = 2) -> HostArray:
    """Predict (T, k) at each place from the counts so far, with a constant added to each."""
    counts, rows = np.full((k, k), float(before)), []
    for t, i in enumerate(ids):
        if t and order == 2:
            counts[ids[t - 1], i] += 1
        elif order == 1:
            counts[:, i] += 1
        rows.append(counts[i] / counts[i].sum())
    return np.array(rows)
