"""How far the word vectors of a model agree with people's ratings, as a figure of a task."""

from collections.abc import Sequence
from typing import Annotated, Any

from deepnlp.datasets import load_similarity
from deepnlp.options import Option
from deepnlp.vectors import WordPairs, WordVectors, evaluate_similarity

SIMILARITY = "similarity sets to evaluate on, by names (simlex, men, rw, ...) or paths, with commas"

SetNames = Annotated[str, Option(SIMILARITY, metavar="NAMES")]
"""The option ``similarity`` of a task."""


def load_sets(names: str) -> list[WordPairs]:
    """Return the sets of a text with commas between their names or paths."""
    return [load_similarity(name) for name in names.split(",") if name]


def similarities(vectors: WordVectors, sets: Sequence[WordPairs]) -> dict[str, dict[str, Any]]:
    """Return rho, covered pairs, all pairs and coverage, by the name of the set."""
    scores = [evaluate_similarity(vectors, pairs) for pairs in sets]
    return {score.name: {**vars(score), "coverage": score.coverage} for score in scores}
