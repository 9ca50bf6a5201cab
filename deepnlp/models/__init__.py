"""Models: layers plugged together, with a loss; and the n-gram models they are measured by."""

from deepnlp.models.language_model import LanguageModel
from deepnlp.models.model import Model
from deepnlp.models.ngrams import KneserNey, Unigram
from deepnlp.models.rnnlm import RNNLM
from deepnlp.models.simple_rnnlm import SimpleRNNLM
from deepnlp.models.word2vec import CBOW, SkipGram

# By the name that a checkpoint records.
MODELS: dict[str, type[Model]] = {
    "RNNLM": RNNLM,
    "SimpleRNNLM": SimpleRNNLM,
    "CBOW": CBOW,
    "SkipGram": SkipGram,
}

__all__ = [
    "CBOW",
    "MODELS",
    "RNNLM",
    "KneserNey",
    "LanguageModel",
    "Model",
    "SimpleRNNLM",
    "SkipGram",
    "Unigram",
]
