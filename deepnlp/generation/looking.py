"""Attention weights of the heads of a GPT."""

from typing import Any

import numpy as np

from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.evaluation import evaluating
from deepnlp.generation.writing import tokenize_prompt, vocabulary_of
from deepnlp.layers import TransformerBlock


def look(model: Any, text: str) -> tuple[list[str], HostArray]:
    """Return the attention of each head of a GPT, from every token of a text to those before it.

    Parameters
    ----------
    model : GPT
        With its vocabulary in ``model.vocab``.
    text : str
        At most as many tokens as the model reads at a time.

    Returns
    -------
    tokens : list of str
        T tokens.
    weights : numpy.ndarray, shape (blocks, heads, T, T)
        Each row sums to 1.

    Raises
    ------
    ValueError
        If the model has no blocks or no vocabulary, or the text is empty or too long.

    Examples
    --------
    >>> from deepnlp.models import GPT
    >>> from deepnlp.text import Vocabulary
    >>> vocab = Vocabulary.build("abc", tokenizer="chars")
    >>> model = GPT(len(vocab), embed_size=8, layers=2, heads=4, context=8)
    >>> model.vocab = vocab
    >>> tokens, weights = look(model, "cab")
    >>> weights.shape
    (2, 4, 3, 3)
    """
    vocab = vocabulary_of(model)
    blocks: list[Any] = [layer for layer in model.layers if isinstance(layer, TransformerBlock)]
    if not blocks:
        raise ValueError("this model has no heads of attention: train one with --model gpt")
    tokens = tokenize_prompt(vocab, text)
    if not tokens:
        raise ValueError("an empty text has nothing to look at")
    ids = asarray(vocab.encode(tokens))[None]
    with evaluating(model):
        model.forward(ids, ids)  # where a backward may follow, all weights are held
    return tokens, np.array([asnumpy(block.attention.layer.weights)[0] for block in blocks])
