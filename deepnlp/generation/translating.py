"""Translations: texts in, texts out, by greedy search or beam search."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.backend.processes import share_out
from deepnlp.backend.threads import one_blas_thread
from deepnlp.evaluation import evaluating
from deepnlp.generation.decoding import beam_search, greedy_search
from deepnlp.models import Seq2Seq
from deepnlp.models.seq2seq import EncoderDecoder
from deepnlp.text import Vocabulary, pad

MAX_LENGTH = 100  # tokens of a translation, its end included


class Translation(NamedTuple):
    """One translation of a text.

    Parameters
    ----------
    text : str
    tokens : list of str
        What the text was joined from.
    log_probability : float
        Natural logarithm of the probability of the tokens and the end.
    score : float
        What translations are compared by; see :func:`beam_search`.
    """

    text: str
    tokens: list[str]
    log_probability: float
    score: float


class Alignment(NamedTuple):
    """The attention weights of a decoder: a row for each token that it wrote.

    Parameters
    ----------
    source : list of str
        S tokens.
    target : list of str
        T tokens, the last of them the end.
    weights : numpy.ndarray, shape (T, S)
        Each row sums to 1.
    """

    source: list[str]
    target: list[str]
    weights: np.ndarray[Any, Any]


def translate(
    model: Seq2Seq,
    texts: Sequence[str],
    *,
    beam: int = 1,
    n_best: int = 1,
    length_penalty: float = 1.0,
    max_length: int = MAX_LENGTH,
    allow_unknown: bool = False,
    batch_size: int = 64,
) -> list[list[Translation]]:
    """Translate texts, side by side where they are about equally long.

    The training mode of the model is not changed.

    Parameters
    ----------
    model : Seq2Seq
        With its vocabularies.
    texts : sequence of str
        One line each. The translation of an empty one is empty.
    beam : int
        Width of the beam search; 1 is greedy search.
    n_best : int
        Translations of each text, at most ``beam``.
    length_penalty : float
        See :func:`beam_search`.
    max_length : int
        The most tokens of a translation, its end included.
    allow_unknown : bool
        Whether ``<unk>`` may be written.
    batch_size : int
        Texts that are searched at the same time; it changes time and memory.

    Returns
    -------
    list of list of Translation
        For each text its translations, the best first.

    Raises
    ------
    ValueError
        If a number is out of its range, or the model has no vocabularies.
    TypeError
        If one text was given instead of several.

    Examples
    --------
    >>> from deepnlp.text import Vocabulary
    >>> vocab = Vocabulary.build("abc", tokenizer="chars")
    >>> model = Seq2Seq(len(vocab), len(vocab), embed_size=4, hidden_size=8)
    >>> model.source_vocab = model.target_vocab = vocab
    >>> best = translate(model, ["ab", "c"], beam=3, n_best=2, max_length=5)
    >>> [len(translations) for translations in best]
    [2, 2]
    """
    if isinstance(texts, str):
        raise TypeError("translate takes a list of texts, got one text: put it in a list")
    source_vocab, target_vocab = vocabularies_of(model)
    sources = [source_vocab.encode(source_vocab.tokenize(text)) for text in texts]
    translations = [[Translation("", [], 0.0, 0.0)] for _ in texts]
    order = sorted((k for k, ids in enumerate(sources) if len(ids)), key=lambda k: len(sources[k]))
    eos = target_vocab.eos_id
    marks: dict[str, Any] = {"start_id": eos, "end_id": eos, "max_length": max_length}
    unknown = None if allow_unknown else target_vocab.unk_id
    marks["banned"] = () if unknown is None else (unknown,)
    options: dict[str, Any] = {"width": beam, "n_best": n_best, "length_penalty": length_penalty}

    def searched(rows: list[int]) -> list[Any]:
        """Return the hypotheses for some of the texts, side by side."""
        state = twin.start(*map(asarray, pad([sources[k] for k in rows])))
        if beam == n_best == 1:
            return [[best] for best in greedy_search(twin.step, state, len(rows), **marks)]
        return beam_search(twin.step, state, len(rows), **marks, **options)

    batches = [order[first : first + batch_size] for first in range(0, len(order), batch_size)]
    with evaluating(model.twin()) as twin, one_blas_thread():
        for rows, hypotheses in zip(batches, share_out(searched, batches)):
            for k, best in zip(rows, hypotheses, strict=True):
                translations[k] = [
                    Translation(target_vocab.detokenize(tokens), tokens, log_p, score)
                    for ids, log_p, score in best
                    for tokens in [target_vocab.decode(ids)]
                ]
    return translations


def align(model: Seq2Seq, text: str, tokens: Sequence[str]) -> Alignment:
    """Return the attention weights of a model while it writes a translation.

    Parameters
    ----------
    model : Seq2Seq
        With attention.
    text : str
        The source.
    tokens : sequence of str
        The translation, such as the tokens that :func:`translate` found.

    Raises
    ------
    ValueError
        If the model has no attention or no vocabularies, or the text is empty.

    Examples
    --------
    >>> from deepnlp.text import Vocabulary
    >>> vocab = Vocabulary.build("abc", tokenizer="chars")
    >>> model = Seq2Seq(len(vocab), len(vocab), embed_size=4, hidden_size=8, attention="dot")
    >>> model.source_vocab = model.target_vocab = vocab
    >>> align(model, "cab", ["a", "b"]).weights.shape       # two tokens and the end
    (3, 3)
    """
    source_vocab, target_vocab = vocabularies_of(model)
    source = source_vocab.tokenize(text)
    if not source:
        raise ValueError("an empty text has nothing to look at")
    ids = [target_vocab.eos_id, *target_vocab.encode(tokens).tolist()]
    with evaluating(model.twin()) as model:
        encoded, lengths = map(asarray, pad([source_vocab.encode(source)]))
        model.logits(encoded, lengths, asarray(np.array([ids])))
    if model.attention_weights is None:
        raise ValueError("this model has no attention: train one with --attention general")
    target = [*tokens, target_vocab.token(target_vocab.eos_id)]
    return Alignment(source, target, asnumpy(model.attention_weights)[0])


def vocabularies_of(model: Seq2Seq) -> tuple[Vocabulary, Vocabulary]:
    """Return the vocabularies of source and target, or raise an error that says what to do."""
    if not isinstance(model, EncoderDecoder):
        raise TypeError(f"translate expects a Seq2Seq, got a {type(model).__name__}")
    if model.source_vocab is None or model.target_vocab is None:
        raise ValueError(
            "this model has no vocabularies: set model.source_vocab and model.target_vocab"
        )
    return model.source_vocab, model.target_vocab
