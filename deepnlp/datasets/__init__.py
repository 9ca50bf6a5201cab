"""Text to train on, pairs of texts, tagged text, and test sets for word vectors, by name or path.

Beside them word vectors, and data that is made up: sums, dates, a spiral.
"""

from importlib import import_module
from typing import Any

from deepnlp.datasets.corpus import Corpus
from deepnlp.datasets.files import data_folder
from deepnlp.datasets.loading import CORPORA, load_corpus
from deepnlp.datasets.made_up import addition, dates, spiral
from deepnlp.datasets.pairs import PAIRS, Pairs, load_pairs
from deepnlp.datasets.tagged import TAGGED, TAGS, TaggedText, load_tagged
from deepnlp.datasets.testsets import ANALOGIES, SIMILARITY, load_analogies, load_similarity
from deepnlp.datasets.vectors import load_vectors

__all__ = [
    "ANALOGIES", "CORPORA", "PAIRS", "SIMILARITY", "TAGGED", "TAGS", "Corpus", "Pairs",
    "TaggedText", "addition", "data_folder", "dates", "load_analogies", "load_corpus", "load_pairs",
    "load_similarity", "load_tagged", "load_vectors", "spiral",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("fetch", "verify"):  # over TLS, which Python in a browser has not
        return getattr(import_module("deepnlp.datasets.fetching"), name)
    raise AttributeError(f"module 'deepnlp.datasets' has no attribute {name!r}")
