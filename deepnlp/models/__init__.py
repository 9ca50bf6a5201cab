"""Models: layers plugged together, with a loss; and the n-gram models they are measured by."""

from deepnlp.models.gpt import GPT
from deepnlp.models.language_model import LanguageModel
from deepnlp.models.model import Model
from deepnlp.models.ngrams import KneserNey, Unigram
from deepnlp.models.regularised_rnnlm import RegularisedRNNLM
from deepnlp.models.rnnlm import RNNLM
from deepnlp.models.seq2seq import Seq2Seq
from deepnlp.models.simple_rnnlm import SimpleRNNLM
from deepnlp.models.tagger import Tagger
from deepnlp.models.tied_rnnlm import TiedRNNLM
from deepnlp.models.transformer import TransformerTranslator
from deepnlp.models.word2vec import CBOW, SkipGram

__all__ = [
    "CBOW", "GPT", "RNNLM", "KneserNey", "LanguageModel", "Model", "RegularisedRNNLM", "Seq2Seq",
    "SimpleRNNLM", "SkipGram", "Tagger", "TiedRNNLM", "TransformerTranslator", "Unigram",
]  # fmt: skip
