"""Text to train on, and test sets for word vectors, by name or path; word vectors; toy data."""

from deepnlp.datasets.corpus import Corpus
from deepnlp.datasets.files import data_folder
from deepnlp.datasets.loading import CORPORA, load_corpus
from deepnlp.datasets.testsets import ANALOGIES, SIMILARITY, load_analogies, load_similarity
from deepnlp.datasets.toy import spiral
from deepnlp.datasets.vectors import load_vectors

__all__ = [
    "ANALOGIES", "CORPORA", "SIMILARITY", "Corpus", "data_folder", "load_analogies", "load_corpus",
    "load_similarity", "load_vectors", "spiral",
]  # fmt: skip
