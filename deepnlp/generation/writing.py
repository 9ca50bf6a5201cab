"""Texts from a language model: one, or many side by side."""

from collections.abc import Sequence

import numpy as np

from deepnlp.generation.ids import generate_batch, generate_ids
from deepnlp.generation.text import tokenize_prompt, vocabulary_of
from deepnlp.models import RNNLM


def generate(
    model: RNNLM,
    prompt: str = "",
    length: int = 50,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    seed: int | None = None,
    rng: np.random.Generator | None = None,
    stop_at_eos: bool = False,
    allow_unknown: bool = False,
) -> str:
    """Continue a prompt with words that the model finds likely.

    Training mode and hidden state of the model are afterwards what they were.

    Parameters
    ----------
    model : RNNLM
        With its vocabulary in ``model.vocab``.
    prompt : str
        The text to continue; the empty one starts a new sentence, after ``<eos>``.
    length : int
        How many words (or characters, for a character vocabulary) to add.
    temperature, top_k, top_p, greedy
        See :class:`Sampler`.
    seed : int, optional
        The same seed, prompt and model give the same text. By default ``rng``.
    rng : numpy.random.Generator, optional
        Where randomness comes from; by default the generator that ``deepnlp.seed`` set.
    stop_at_eos : bool
        Stop before ``length`` at the end of the sentence.
    allow_unknown : bool
        Whether ``<unk>`` may be chosen.

    Returns
    -------
    str
        The prompt and its continuation.

    Raises
    ------
    ValueError
        If a number is out of its range, or the model has no vocabulary.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> from deepnlp.text import Vocabulary
    >>> model = RNNLM(4, 8, 8)
    >>> model.vocab = Vocabulary.build(["ha", "ho"])
    >>> text = generate(model, "Ha!", length=10, temperature=0.8, seed=1)
    >>> text.startswith("ha!") and "<unk>" not in text
    True
    """
    vocab = vocabulary_of(model)
    tokens = tokenize_prompt(vocab, prompt)
    ids = generate_ids(
        model,
        vocab.encode(tokens).tolist(),
        length,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        greedy=greedy,
        seed=seed,
        rng=rng,
        stop_at_eos=stop_at_eos,
        allow_unknown=allow_unknown,
    )
    return vocab.detokenize([*tokens, *vocab.decode(ids)])


def generate_many(
    model: RNNLM,
    prompts: Sequence[str],
    length: int = 50,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    seed: int | None = None,
    rng: np.random.Generator | None = None,
    stop_at_eos: bool = False,
    allow_unknown: bool = False,
) -> list[str]:
    """Continue several prompts side by side, which is faster than one after the other.

    A text depends on its place in the list, but neither on the other prompts nor on how many
    there are; see :func:`generate_batch`.

    Parameters
    ----------
    model : RNNLM
        With its vocabulary in ``model.vocab``.
    prompts : sequence of str
        The texts to continue, which may be the same one several times.
    length : int
        How many words to add to each.
    temperature, top_k, top_p, greedy, seed, rng, stop_at_eos, allow_unknown
        As for :func:`generate`; a text of a seed is not the one :func:`generate` gives.

    Returns
    -------
    list of str
        Every prompt and its continuation.

    Raises
    ------
    ValueError
        If there is no prompt, a number is out of its range, or the model has no vocabulary.
    TypeError
        If one text was given instead of several.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> from deepnlp.text import Vocabulary
    >>> model = RNNLM(4, 8, 8)
    >>> model.vocab = Vocabulary.build(["ha", "ho"])
    >>> texts = generate_many(model, ["Ha!", "Ho ho"], length=10, seed=1)
    >>> [text[:2] for text in texts]
    ['ha', 'ho']
    """
    if isinstance(prompts, str):
        raise TypeError(
            "generate_many takes a list of prompts, got one text: put it in a list, or use generate"
        )
    vocab = vocabulary_of(model)
    texts = [tokenize_prompt(vocab, prompt) for prompt in prompts]
    steps = generate_batch(
        model,
        [vocab.encode(tokens).tolist() for tokens in texts],
        length,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        greedy=greedy,
        seed=seed,
        rng=rng,
        allow_unknown=allow_unknown,
    )
    unfinished = set(range(len(texts)))
    for ids in steps:
        for row in sorted(unfinished):
            texts[row].append(vocab.token(int(ids[row])))
            if stop_at_eos and ids[row] == vocab.eos_id:
                unfinished.remove(row)
        if not unfinished:
            break
    return [vocab.detokenize(tokens) for tokens in texts]
