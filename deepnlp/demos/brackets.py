"""Brackets: does a language model know, some words later, that one is open?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Group:
    """The closing brackets at some distances, and how surprising they were.

    Attributes
    ----------
    distance : float
        The middle of the group, in words since the bracket was opened.
    count : int
    mean, error : float
        Of the surprisals, and the standard error of their mean.
    """

    distance: float
    count: int
    mean: float
    error: float


def distances(tokens: Sequence[str]) -> list[int]:
    """Count the words since the bracket that is open when a token comes; 0 where none is.

    >>> distances("f ( x ) <eos>".split())
    [0, 0, 1, 2, 0]
    """
    since, opened = [], None
    for place, token in enumerate(tokens):
        since.append(0 if opened is None else place - opened)
        if token in ("(", ")", "<eos>"):
            opened = place if token == "(" else None
    return since


def closing_brackets(
    tokens: Sequence[str], surprisals: Sequence[float], groups: Sequence[tuple[int, int]]
) -> list[Group]:
    """Return the surprisals of each ")" by its distance from the "(" before it in the sentence.

    Parameters
    ----------
    tokens : sequence of str
        A text, with ``<eos>`` at the end of each sentence.
    surprisals : sequence of float
        One for each token but the first.
    groups : sequence of (int, int)
        The smallest and the largest distance of each; groups without brackets are left out.

    Examples
    --------
    >>> text = "f ( x ) and g ( ) but ( <eos> ) <eos>".split()
    >>> closing_brackets(text, [0, 0, 3.0, 0, 0, 0, 1.0, 0, 0, 0, 9.0, 0], [(1, 2)])
    [Group(distance=1.5, count=2, mean=2.0, error=1.0)]
    """
    ends = [(k, d) for k, d in enumerate(distances(tokens)) if d and tokens[k] == ")"]
    measured = [(distance, float(surprisals[place - 1])) for place, distance in ends]
    gathered = []
    for low, high in groups:
        bits = np.array([value for distance, value in measured if low <= distance <= high])
        if len(bits):
            error = bits.std(ddof=1) / np.sqrt(len(bits)) if len(bits) > 1 else np.inf
            gathered.append(Group((low + high) / 2, len(bits), float(bits.mean()), float(error)))
    return gathered
