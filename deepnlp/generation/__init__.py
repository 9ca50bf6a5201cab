"""Text from a model: choose the next word, feed it back, repeat; or search for the best text."""

from deepnlp.generation.decoding import Hypothesis, beam_search, greedy_search, sample_search
from deepnlp.generation.looking import Lens, gates, induction, lens, look
from deepnlp.generation.sampling import Sampler, apply_temperature, draw, keep_top_k, keep_top_p
from deepnlp.generation.translating import Alignment, Translation, align, translate
from deepnlp.generation.writing import (
    LINE_MEMORY,
    Sampling,
    generate,
    generate_batch,
    generate_ids,
    generate_many,
    text_pieces,
    tokenize_prompt,
    vocabulary_of,
)

__all__ = [
    "LINE_MEMORY", "Alignment", "Hypothesis", "Lens", "Sampler", "Sampling", "Translation", "align",
    "apply_temperature", "beam_search", "draw", "gates", "generate", "generate_batch",
    "generate_ids", "generate_many", "greedy_search", "induction", "keep_top_k", "keep_top_p",
    "lens", "look", "sample_search", "text_pieces", "tokenize_prompt", "translate", "vocabulary_of",
]  # fmt: skip
