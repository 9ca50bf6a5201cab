"""Text from a language model: sample the next word, feed it back, repeat."""

from deepnlp.generation.sampling import (
    Sampler,
    apply_temperature,
    draw,
    keep_top_k,
    keep_top_p,
)
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
    "LINE_MEMORY",
    "Sampler",
    "Sampling",
    "apply_temperature",
    "draw",
    "generate",
    "generate_batch",
    "generate_ids",
    "generate_many",
    "keep_top_k",
    "keep_top_p",
    "text_pieces",
    "tokenize_prompt",
    "vocabulary_of",
]
