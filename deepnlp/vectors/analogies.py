"""Analogies by section: "Athens is to Greece as Baghdad is to Iraq"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from deepnlp.vectors.word_vectors import METHODS, WordVectors, analogy_scores

Question = tuple[str, str, str, str]

BLOCK = 1 << 20  # scores that are computed at a time


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
    return AnalogyScores(
        questions.name,
        method,
        tuple(
            _evaluate_section(vectors, name, section, method)
            for name, section in questions.sections.items()
        ),
    )


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
