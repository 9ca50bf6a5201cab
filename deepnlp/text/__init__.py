"""From text to ids and back: tokenisers, a sentence splitter, the vocabulary."""

from deepnlp.text.bpe import BPE, learn_merges, pretokenise
from deepnlp.text.padding import pad, pad_pairs
from deepnlp.text.tokenisers import EOS, TOKENISERS, UNK, Tokeniser, sentences, tokeniser
from deepnlp.text.vocabulary import Vocabulary

__all__ = [
    "BPE", "EOS", "TOKENISERS", "UNK", "Tokeniser", "Vocabulary", "learn_merges", "pad",
    "pad_pairs", "pretokenise", "sentences", "tokeniser",
]  # fmt: skip
