"""Models: layers plugged together, with a loss; and the n-gram models they are measured by."""

from deepnlp.models.language_model import LanguageModel
from deepnlp.models.model import Model
from deepnlp.models.ngrams import KneserNey, Unigram
from deepnlp.models.rnnlm import RNNLM
from deepnlp.models.seq2seq import Seq2Seq
from deepnlp.models.simple_rnnlm import SimpleRNNLM
from deepnlp.models.tagger import Tagger
from deepnlp.models.word2vec import CBOW, SkipGram

# By the name that a checkpoint records.
MODELS: dict[str, type[Model]] = {
    "RNNLM": RNNLM,
    "SimpleRNNLM": SimpleRNNLM,
    "CBOW": CBOW,
    "SkipGram": SkipGram,
    "Seq2Seq": Seq2Seq,
    "Tagger": Tagger,
}

__all__ = [
    "CBOW",
    "MODELS",
    "RNNLM",
    "KneserNey",
    "LanguageModel",
    "Model",
    "Seq2Seq",
    "SimpleRNNLM",
    "SkipGram",
    "Tagger",
    "Unigram",
]
