"""Counts, ranks and analogies, for the exercises of lesson 2."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats as stats

from deepnlp.backend import HostArray
from deepnlp.lessons.exercises.names import numbers
from deepnlp.lessons.exercises.verdict import is_empty
from deepnlp.vectors.counting import truncated_svd as truncated_svd


def count(
    ids: HostArray, V: int, window: int = 0, near: Callable[[int, int], bool] | None = None
) -> HostArray:
    """C (V, V): pairs of places t and u that are near, by default within the window."""
    C = np.zeros((V, V), dtype=int)
    for t, word in enumerate(ids):
        for u, other in enumerate(ids):
            C[word, other] += near(t, u) if near else 0 < abs(u - t) <= window
    return C


def lengths(M: HostArray, axis: int = 1) -> HostArray:
    """Return the lengths of the rows (n, 1), or of the columns (1, m)."""
    return np.asarray(np.linalg.norm(M, axis=axis, keepdims=True))


def ones_on_the_diagonal(M: Any) -> Any:
    """A zero row may have the cosine 0 or 1 with itself."""
    return M if is_empty(M) else np.asarray(M) - np.diag(np.diag(M)) + np.eye(len(M))


def settled(W: Any) -> Any:
    """Return vectors with each column turned so that its entry of largest size is positive."""
    M = numbers(W)
    if M is None or M.ndim != 2:
        return W
    return M * np.where(M[np.abs(M).argmax(axis=0), np.arange(M.shape[1])] < 0, -1, 1)


def analogies(
    questions: list[list[int]],
    vectors: HostArray,
    table: HostArray,
    factors: tuple[int, int, int] = (-1, 1, 1),
) -> list[int]:
    """Find the word nearest to the sum of a, b and c times their factors, except for these."""
    answers = []
    for question in questions:
        scores = table @ (np.array(factors) @ vectors[question])
        scores[question] = -np.inf
        answers.append(int(scores.argmax()))
    return answers
