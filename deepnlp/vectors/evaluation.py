"""Evaluation of word vectors: similarity of pairs as people rate it, and analogies.

Similarity: do pairs that people find alike have vectors that point the same way? Analogies, by
section: "Athens is to Greece as Baghdad is to Iraq".
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from deepnlp.vectors.word_vectors import METHODS, WordVectors, analogy_scores

Question = tuple[str, str, str, str]

BLOCK = 1 << 20  # scores of analogies that are computed at a time


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


@dataclass(frozen=True)
class Analogies:
    """Questions "a is to b as c is to d", in sections.

    Parameters
    ----------
    name : str
        Name of the set or file.
    sections : mapping of str to tuple of (str, str, str, str)
        The questions a, b, c, d of each section.

    Examples
    --------
    >>> Analogies("tiny", {"family": (("man", "woman", "king", "queen"),)}).sections.keys()
    dict_keys(['family'])
    """

    name: str
    sections: Mapping[str, tuple[Question, ...]]


@dataclass(frozen=True)
class AnalogyScore:
    """How many questions of a section are answered rightly, and how many can be asked.

    Parameters
    ----------
    section : str
    correct : int
        Questions whose d is the best answer of all words.
    covered, total : int
        Questions whose four words all have vectors, and all questions.

    Examples
    --------
    >>> score = AnalogyScore("family", correct=3, covered=4, total=8)
    >>> score.accuracy, score.coverage
    (0.75, 0.5)
    """

    section: str
    correct: int
    covered: int
    total: int

    @property
    def accuracy(self) -> float:
        """Share of the covered questions that are answered rightly; not a number if none is."""
        return self.correct / self.covered if self.covered else float("nan")

    @property
    def coverage(self) -> float:
        """Share of the questions that are covered."""
        return self.covered / self.total if self.total else 0.0


@dataclass(frozen=True)
class AnalogyScores:
    """The scores of an analogy set, section by section.

    Parameters
    ----------
    name : str
    method : str
        ``"add"`` or ``"mul"``.
    sections : tuple of AnalogyScore

    Examples
    --------
    >>> scores = AnalogyScores("tiny", "add", (AnalogyScore("capital", 1, 2, 4),
    ...                                        AnalogyScore("gram1", 2, 2, 2)))
    >>> scores.total
    AnalogyScore(section='total', correct=3, covered=4, total=6)
    """

    name: str
    method: str
    sections: tuple[AnalogyScore, ...]

    @property
    def semantic(self) -> AnalogyScore:
        """The sections about the world, whose names do not begin with ``gram``."""
        return _sum("semantic", (s for s in self.sections if not s.section.startswith("gram")))

    @property
    def syntactic(self) -> AnalogyScore:
        """The sections about grammar, whose names begin with ``gram``."""
        return _sum("syntactic", (s for s in self.sections if s.section.startswith("gram")))

    @property
    def total(self) -> AnalogyScore:
        """All sections together."""
        return _sum("total", self.sections)


def _sum(name: str, scores: Iterable[AnalogyScore]) -> AnalogyScore:
    rows = [(score.correct, score.covered, score.total) for score in scores]
    return AnalogyScore(name, *(sum(column) for column in zip((0, 0, 0), *rows)))


def evaluate_analogies(
    vectors: WordVectors, questions: Analogies, method: str = "add", restrict: int | None = None
) -> AnalogyScores:
    """Answer the questions of an analogy set.

    The answer is the word with the largest score of :meth:`WordVectors.analogy`, the three words
    of the question left out. A word is looked up as it is written, then in lower case.

    Parameters
    ----------
    vectors : WordVectors
    questions : Analogies
        Such as ``deepnlp.datasets.load_analogies("google")`` gives.
    method : {"add", "mul"}
    restrict : int, optional
        Ask and answer with this many of the most frequent words only, as word2vec does with 30,000.

    Raises
    ------
    ValueError
        If the method is unknown or ``restrict`` below 1.

    Examples
    --------
    >>> words = ["man", "woman", "king", "queen", "car"]
    >>> vectors = WordVectors(words, [[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0, 0.5]])
    >>> family = (("man", "woman", "king", "queen"), ("boy", "girl", "king", "queen"))
    >>> evaluate_analogies(vectors, Analogies("tiny", {"family": family})).sections
    (AnalogyScore(section='family', correct=1, covered=1, total=2),)
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}: expected one of {', '.join(METHODS)}")
    vectors = vectors if restrict is None else vectors.head(restrict)
    sections = questions.sections.items()
    scores = tuple(_evaluate_section(vectors, *section, method) for section in sections)
    return AnalogyScores(questions.name, method, scores)


def _evaluate_section(
    vectors: WordVectors, name: str, questions: tuple[Question, ...], method: str
) -> AnalogyScore:
    """The questions of a section share few words; all answers are compared a block at a time."""
    rows = [tuple(vectors.find(word) for word in question) for question in questions]
    covered = np.array([row for row in rows if min(row) >= 0], dtype=int).reshape(-1, 4)
    n = len(covered)
    given, asked = covered[:, :3], np.unique(covered[:, :3])
    places = np.searchsorted(asked, given)  # (n, 3), of the words of the questions in asked
    best, answers = np.full(n, -np.inf), np.full(n, -1)
    step = max(1, BLOCK // max(n, 1))
    for start in range(0, len(vectors) if n else 0, step):
        cosines = vectors.cosines(vectors.matrix[asked], slice(start, start + step))
        scores = analogy_scores(cosines, places, method)
        question, word = np.nonzero((given >= start) & (given < start + step))
        scores[question, given[question, word] - start] = -np.inf
        top = scores.argmax(axis=1)
        values = scores[np.arange(n), top]
        better = values > best
        best[better], answers[better] = values[better], start + top[better]
    return AnalogyScore(name, int((answers == covered[:, 3]).sum()), n, len(questions))
