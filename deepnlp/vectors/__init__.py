"""Word vectors as objects: neighbours, analogies, similarity, and the files they are kept in."""

from deepnlp.vectors.evaluation import (
    Analogies,
    AnalogyScore,
    AnalogyScores,
    SimilarityScore,
    WordPairs,
    evaluate_analogies,
    evaluate_similarity,
)
from deepnlp.vectors.word_vectors import WordVectors

__all__ = [
    "Analogies", "AnalogyScore", "AnalogyScores", "SimilarityScore", "WordPairs", "WordVectors",
    "evaluate_analogies", "evaluate_similarity",
]  # fmt: skip
