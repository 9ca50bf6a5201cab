"""Word similarity: do pairs that people find alike have vectors that point the same way?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deepnlp.vectors.word_vectors import WordVectors


@dataclass(frozen=True)
class WordPairs:
    """A similarity set: pairs of words with the mean of people's ratings.

    Parameters
    ----------
    name : str
        Name of the set or file.
    pairs : tuple of (str, str, float)
        Two words and their rating.

    Examples
    --------
    >>> len(WordPairs("tiny", (("cat", "dog", 7.5), ("cat", "car", 1.0))).pairs)
    2
    """

    name: str
    pairs: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True)
class SimilarityScore:
    r"""Spearman's rho of a similarity set, and how much of the set it stands for.

    Parameters
    ----------
    name : str
        Name of the set.
    rho : float
        Over the covered pairs; not a number if these are fewer than two, or all alike.
    covered, total : int
        Pairs with both words among the vectors, and all pairs.

    Examples
    --------
    >>> score = SimilarityScore("tiny", rho=0.5, covered=103, total=206)
    >>> score.coverage, [round(bound, 3) for bound in score.interval]
    (0.5, [0.329, 0.639])
    """

    name: str
    rho: float
    covered: int
    total: int

    @property
    def coverage(self) -> float:
        """Share of the pairs that are covered."""
        return self.covered / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        r"""Bounds of a 95 % confidence interval; not numbers for fewer than 4 covered pairs.

        .. math:: \tanh\left(\tanh^{-1} \rho \pm 1.96 \sqrt{(1 + \rho^2/2)/(n - 3)}\right)

        Bonett and Wright 2000, for n covered pairs.
        """
        if self.covered < 4 or not abs(self.rho) < 1:
            return math.nan, math.nan
        half = 1.96 * math.sqrt((1 + self.rho**2 / 2) / (self.covered - 3))
        centre = math.atanh(self.rho)
        return math.tanh(centre - half), math.tanh(centre + half)


def evaluate_similarity(vectors: WordVectors, pairs: WordPairs) -> SimilarityScore:
    r"""Compare the cosines of word pairs with people's ratings, by rank.

    .. math:: \rho = \mathrm{corr}(\mathrm{rank}(\cos), \mathrm{rank}(\mathrm{rating}))

    Tied values share the mean of their ranks. A word is looked up as it is written, then in lower
    case; a pair with a word that has no vector is left out, so a rho means little without its
    coverage.

    Parameters
    ----------
    vectors : WordVectors
    pairs : WordPairs
        Such as ``deepnlp.datasets.load_similarity("simlex")`` gives.

    Examples
    --------
    >>> vectors = WordVectors(["cat", "dog", "car"], [[1.0, 2.0], [2.0, 3.0], [3.0, -1.0]])
    >>> pairs = WordPairs("tiny", (("cat", "Dog", 8.0), ("dog", "car", 3.0), ("cat", "bus", 1.0)))
    >>> score = evaluate_similarity(vectors, pairs)
    >>> round(score.rho, 2), score.covered, score.total
    (1.0, 2, 3)
    """
    from scipy.stats import spearmanr  # half a second to import

    rows = [(vectors.find(a), vectors.find(b), rating) for a, b, rating in pairs.pairs]
    covered = np.array([row for row in rows if min(row[:2]) >= 0]).reshape(-1, 3)
    i, j, ratings = *covered[:, :2].T.astype(int), covered[:, 2]
    cosines = vectors.pair_cosines(i, j)
    rho = math.nan
    if len(covered) > 1 and np.ptp(ratings) > 0 and np.ptp(cosines) > 0:
        rho = float(spearmanr(cosines, ratings).statistic)
    return SimilarityScore(pairs.name, rho, len(covered), len(rows))
