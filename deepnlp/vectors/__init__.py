"""Word vectors as objects: neighbours, analogies, similarity, and the files they are kept in."""

from deepnlp.vectors.analogies import (
    Analogies,
    AnalogyScore,
    AnalogyScores,
    evaluate_analogies,
)
from deepnlp.vectors.similarity import SimilarityScore, WordPairs, evaluate_similarity
from deepnlp.vectors.word_vectors import WordVectors

__all__ = [
    "Analogies", "AnalogyScore", "AnalogyScores", "SimilarityScore", "WordPairs", "WordVectors",
    "evaluate_analogies", "evaluate_similarity",
]  # fmt: skip
