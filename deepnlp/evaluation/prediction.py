"""How well a language model predicts a text: perplexity and surprisal.

A split of n tokens has n - 1 targets, the first token being context, and each target counts exactly
once. The hidden state is carried from the first token to the last. The evaluation uses a twin of
the model, which shares only its weights: the model's mode, hidden state and dropout counters are
not touched, and several threads may evaluate one model.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from deepnlp.backend import Array, HostArray, asarray, asnumpy, check_number
from deepnlp.backend.ownership import claim
from deepnlp.backend.processes import cut, share_out
from deepnlp.layer import Layer, no_backward
from deepnlp.layers.losses import IGNORED
from deepnlp.models import RNNLM
from deepnlp.models.language_model import to_predict, token_ids

Ids: TypeAlias = Sequence[int] | HostArray
Kind = TypeVar("Kind", bound=Layer)
Window: TypeAlias = tuple[Array, Array, int]  # inputs, targets, and how many of these count

TOKENS_AT_ONCE = 512  # per window; bounds the hidden states in memory


@contextmanager
def evaluating(model: Kind) -> Iterator[Kind]:
    """Context in which a model evaluates from a state of zeros; afterwards it is as it was.

    The model then belongs to the calling thread; a :meth:`~deepnlp.Layer.twin` can be evaluated in
    any thread.

    Parameters
    ----------
    model : Layer
        The context gives it.

    Examples
    --------
    >>> model = RNNLM(vocab_size=5, embed_size=2, hidden_size=2)
    >>> with evaluating(model):
    ...     model.training
    False
    >>> model.training
    True
    """
    for layer in model._layers():
        claim(layer, "evaluating")
    training, carried = model.training, model.snapshot()
    model.eval()
    model.reset_state()
    try:
        with no_backward():
            yield model
    finally:
        model.restore(carried)
        if training:
            model.train()


def perplexity(model: RNNLM, ids: Ids, batch_size: int = 1, window: int | None = None) -> float:
    r"""Return the perplexity of a text: how many words the model hesitates between, on average.

    .. math:: \mathrm{ppl} = \exp\Big(-\frac{1}{n - 1} \sum_{t=1}^{n-1}
        \log p(w_t \mid w_0 \dots w_{t-1})\Big)

    Sums are kept in float64. With ``batch_size`` N the targets are cut into N contiguous streams
    that are read side by side, faster but with N - 1 cuts in the context: each stream begins with
    a hidden state of zeros and the token before its first target.

    Parameters
    ----------
    model : RNNLM
    ids : array of int, shape (n,)
        On the host.
    batch_size : int
        N; 1 is the perplexity that is reported.
    window : int, optional
        Steps at a time, which bounds memory and does not change the result.

    Raises
    ------
    ValueError
        If there are fewer than 2 tokens, or an id is not in the vocabulary.

    Examples
    --------
    With all weights zero, the model hesitates between all words:

    >>> model = RNNLM(vocab_size=5, embed_size=2, hidden_size=2)
    >>> for parameter in model.parameters():
    ...     parameter.value[...] = 0
    >>> round(perplexity(model, [0, 1, 2, 3, 4]), 6)
    5.0
    """
    ids = checked_ids(model, ids)
    check_number("batch_size", batch_size, whole=True, low=1)

    def total(rows: slice) -> float:
        """Total over some of the streams, which are independent of the others."""
        nats = 0.0
        with evaluating(model.twin()) as twin:
            for x, t, _ in windows(twin, ids, batch_size, window):
                count = int((t[rows] != IGNORED).sum())  # the loss is a mean over these targets
                nats += float(twin.forward(x[rows], t[rows])) * count
        return nats

    slices = [rows for rows in cut(min(batch_size, len(ids) - 1)) if rows.start < rows.stop]
    return exponential(sum(share_out(total, slices)) / (len(ids) - 1))


def streams(
    ids: HostArray, batch_size: int, start: int = 0, stop: int | None = None
) -> tuple[HostArray, HostArray]:
    """Return the n - 1 targets of a text in N contiguous streams, each target once.

    Where N does not divide n - 1, the last streams are one target shorter and end with one that is
    ignored. A stream's first input is the token before its first target.

    Parameters
    ----------
    ids : numpy.ndarray of int, shape (n,)
    batch_size : int
        N; no more streams are made than there are targets.
    start, stop : int
        Which steps of the streams to give: all by default.

    Returns
    -------
    inputs, targets : numpy.ndarray of int, shape (N, L)
        L is the length of the longest stream, or stop - start.

    Examples
    --------
    >>> inputs, targets = streams(np.arange(6), batch_size=2)
    >>> inputs.tolist(), targets.tolist()
    ([[0, 1, 2], [3, 4, 0]], [[1, 2, 3], [4, 5, -1]])
    """
    count = len(ids) - 1
    N = min(batch_size, count)
    length, longer = divmod(count, N)  # the first `longer` streams hold one more
    n = np.arange(N)[:, None]
    end = length + (longer > 0)
    column = np.arange(start, end if stop is None else min(stop, end))[None, :]
    first = n * length + np.minimum(n, longer)
    real = column < length + (n < longer)
    place = np.where(real, first + column, 0)
    return np.where(real, ids[place], 0), np.where(real, ids[place + 1], IGNORED)


def surprisal(model: RNNLM, ids: Ids, window: int | None = None) -> HostArray:
    r"""Return how unexpected each token of a text is, in nats.

    .. math:: s_t = -\log p(w_t \mid w_0 \dots w_{t-1})

    Parameters
    ----------
    model : RNNLM
    ids : array of int, shape (n,)
        The first is context.
    window : int, optional
        Steps at a time, which bounds memory and does not change the result.

    Returns
    -------
    numpy.ndarray of float64, shape (n - 1,)
        One for each target.

    Raises
    ------
    ValueError
        If there are fewer than 2 tokens, or an id is not in the vocabulary.

    Examples
    --------
    >>> model = RNNLM(vocab_size=5, embed_size=2, hidden_size=2)
    >>> for parameter in model.parameters():
    ...     parameter.value[...] = 0
    >>> surprisal(model, [0, 1, 2]).round(3).tolist()   # log 5
    [1.609, 1.609]
    """
    ids = checked_ids(model, ids)
    parts = []
    with evaluating(model.twin()) as model:
        for x, t, _ in windows(model, ids, 1, window):
            parts.append(asnumpy(model.losses(x, t))[0].astype(np.float64))
    return np.concatenate(parts)


def likeliest(model: RNNLM, ids: Ids, k: int = 5) -> tuple[HostArray, HostArray]:
    """The words that a model finds likeliest at each target of a text.

    Parameters
    ----------
    model : RNNLM
    ids : array of int, shape (n,)
        The first is context.
    k : int
        How many.

    Returns
    -------
    ids : numpy.ndarray of int, shape (n - 1, k)
        The likeliest first.
    probabilities : numpy.ndarray, shape (n - 1, k)

    Examples
    --------
    >>> model = RNNLM(vocab_size=5, embed_size=2, hidden_size=2)
    >>> ids, probabilities = likeliest(model, [0, 1, 2], k=3)
    >>> ids.shape, bool((probabilities[:, 0] >= probabilities[:, 1]).all())
    ((2, 3), True)
    """
    ids = checked_ids(model, ids)
    with evaluating(model.twin()) as model:
        parts = [asnumpy(model.logits(x))[0] for x, _, _ in windows(model, ids, 1, None)]
    return likeliest_of(model, np.concatenate(parts), k)


def likeliest_of(model: RNNLM, scores: HostArray, k: int) -> tuple[HostArray, HostArray]:
    """The k likeliest ids (n, k) of scores (n, V) on the host, and their probabilities."""
    scores = model.scores_by_id(scores) if hasattr(model, "scores_by_id") else scores
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    order = np.argsort(-e, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(e / e.sum(axis=1, keepdims=True), order, axis=1)


@dataclass(frozen=True)
class Score:
    """Surprisal of a text, word by word.

    Parameters
    ----------
    tokens : list of str
        As the text was cut; the closing end-of-line token is the last.
    surprisals : list of float
        Bits of each.
    unknown : list of bool
        Which tokens are not in the vocabulary: their surprisal is that of ``<unk>``.
    """

    tokens: list[str]
    surprisals: list[float]
    unknown: list[bool]

    @property
    def total(self) -> float:
        """Bits of the whole text."""
        return math.fsum(self.surprisals)

    @property
    def perplexity(self) -> float:
        """2 to the mean number of bits."""
        return exponential(self.total * math.log(2) / len(self.tokens))


def score(model: RNNLM, text: str) -> Score:
    r"""Return the surprisal of every word of a text, in bits.

    .. math:: s_t = -\log_2 p(w_t \mid \texttt{<eos>}, w_1 \dots w_{t-1})

    The text starts after ``<eos>``, and the closing ``<eos>`` counts. A text of several lines has
    one ``<eos>`` after each.

    Parameters
    ----------
    model : RNNLM
        With its vocabulary in ``model.vocab``.
    text : str

    Raises
    ------
    ValueError
        If the model has no vocabulary, or the text no words.

    Examples
    --------
    >>> from deepnlp.text import Vocabulary
    >>> model = RNNLM(vocab_size=4, embed_size=2, hidden_size=2)
    >>> model.vocab = Vocabulary.build("a cat".split())
    >>> for parameter in model.parameters():
    ...     parameter.value[...] = 0
    >>> dog = score(model, "a dog")
    >>> dog.tokens, dog.unknown, round(dog.total, 3)
    (['a', 'dog', '<eos>'], [False, True, False], 6.0)
    """
    vocab = model.vocab
    if vocab is None:
        raise ValueError("the model has no vocabulary: give it one, model.vocab = vocab")
    eos = vocab.tokens[vocab.eos_id]
    lines = text.removeprefix("\ufeff").strip("\n").split("\n")  # without a byte order mark
    tokens = vocab.cut.stream(lines)
    if all(map(vocab.ends_line, tokens)):
        raise ValueError("the text to score holds no words")
    bits = surprisal(model, vocab.encode([eos, *tokens])) / math.log(2)
    return Score(tokens, bits.tolist(), [token not in vocab for token in tokens])


def exponential(mean: float) -> float:
    """exp of a mean negative log-likelihood; infinity where a float cannot hold it.

    Parameters
    ----------
    mean : float
        In nats.

    Examples
    --------
    >>> exponential(0.0), exponential(1e6)
    (1.0, inf)
    """
    return math.inf if mean > math.log(sys.float_info.max) else math.exp(mean)


def windows(model: RNNLM, ids: HostArray, batch_size: int, window: int | None) -> Iterator[Window]:
    """Return the streams of a text, some steps at a time, with what the model is to predict.

    Parameters
    ----------
    model : RNNLM
    ids : numpy.ndarray of int, shape (n,)
    batch_size : int
        N, as for :func:`streams`.
    window : int or None
        T; by default so many that N x T is at most 512, or 1. Of a model that carries no state,
        which begins anew in each window, T is its ``context``, which is also the most.

    Returns
    -------
    iterator of (inputs, targets, int)
        Arrays (N, T), the last perhaps narrower, and how many of the targets count.

    Examples
    --------
    >>> model = RNNLM(vocab_size=6, embed_size=2, hidden_size=2)
    >>> [inputs.tolist() for inputs, *_ in windows(model, np.arange(6), batch_size=1, window=3)]
    [[[0, 1, 2]], [[3, 4]]]
    """
    N = min(batch_size, len(ids) - 1)
    context = getattr(model, "context", None)
    window = (context or max(1, TOKENS_AT_ONCE // N)) if window is None else window
    check_number("window", window, whole=True, low=1)
    window = min(window, context or window)
    for start in range(0, -(-(len(ids) - 1) // N), window):
        inputs, targets = streams(ids, batch_size, start, start + window)
        count = int((targets != IGNORED).sum())
        yield asarray(inputs), asarray(to_predict(model, targets)), count


def expect_language_model(owner: str, model: Any) -> None:
    """Raise an error unless a model has what training and evaluation need.

    Parameters
    ----------
    owner : str
        Name of the caller, which begins the message.
    model : RNNLM
        Or any model with the same methods.

    Raises
    ------
    TypeError
        If it has not, such as a Sequential, which has no loss.
    """
    if not (hasattr(model, "vocab_size") and hasattr(model, "logits")):
        raise TypeError(
            f"{owner}: expected a language model such as RNNLM, with forward(ids, targets), logits "
            f"and vocab_size, got a {type(model).__name__}; layers plugged together by hand need a "
            "training loop (docs/guides/extend-it.md), or a class derived from LanguageModel"
        )


def checked_ids(model: RNNLM, ids: Ids) -> HostArray:
    """Return the ids as a vector, or an error: an id out of range would read another word's row.

    Parameters
    ----------
    model : RNNLM
    ids : array of int, shape (n,)

    Returns
    -------
    numpy.ndarray of int, shape (n,)

    Examples
    --------
    >>> checked_ids(RNNLM(vocab_size=5, embed_size=2, hidden_size=2), [0, 5])
    Traceback (most recent call last):
        ...
    ValueError: a text: ids should be from 0 to 4, got 5
    """
    expect_language_model("perplexity", model)
    return token_ids(ids, model.vocab_size, least=2, note=", the first as context")
