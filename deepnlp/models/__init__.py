"""Models: layers plugged together, with a loss; and the n-gram models they are measured by."""

from deepnlp.models.language_model import LanguageModel
from deepnlp.models.ngrams import KneserNey, Unigram
from deepnlp.models.rnnlm import RNNLM
from deepnlp.models.simple_rnnlm import SimpleRNNLM

# By the name that a checkpoint records.
MODELS: dict[str, type[LanguageModel]] = {"RNNLM": RNNLM, "SimpleRNNLM": SimpleRNNLM}

__all__ = ["MODELS", "RNNLM", "KneserNey", "LanguageModel", "SimpleRNNLM", "Unigram"]
