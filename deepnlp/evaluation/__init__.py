"""How well a language model predicts a text: perplexity, surprisal, and both with a memory.

``prediction`` measures a model as it is, ``neural_cache`` mixes in the words that it saw lately,
and ``dynamic_evaluation`` lets it go on learning from the text that it is measured on.
"""

from deepnlp.evaluation.prediction import (
    Score,
    evaluating,
    expect_language_model,
    exponential,
    likeliest,
    perplexity,
    score,
    streams,
    surprisal,
)

__all__ = [
    "Score", "evaluating", "expect_language_model", "exponential", "likeliest", "perplexity",
    "score", "streams", "surprisal",
]  # fmt: skip
