"""Text to train on, by name or path; word vectors; toy data."""

from deepnlp.datasets.corpus import Corpus
from deepnlp.datasets.files import data_folder
from deepnlp.datasets.loading import CORPORA, load_corpus
from deepnlp.datasets.toy import spiral
from deepnlp.datasets.vectors import load_vectors

__all__ = ["CORPORA", "Corpus", "data_folder", "load_corpus", "load_vectors", "spiral"]
