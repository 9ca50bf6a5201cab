"""N-gram models, the baselines that a neural model has to beat.

An n-gram is numbered by its parts: the key of "a b c" is id("a b") * V + c, where id("a b") is
the place of "a b" in the sorted table of bigrams. So every order fits 64-bit integers, and fitting
and scoring are sorts and binary searches over whole arrays.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from deepnlp.models.language_model import token_ids
from deepnlp.options import Option, check_options

UNSEEN = -1


@dataclass(frozen=True)
class _Level:
    """The table of all n-grams of one order, with G n-grams in C contexts."""

    keys: np.ndarray  # (G,) sorted: context * V + word
    counts: np.ndarray  # (G,) how often, or for a lower order in how many histories, each occurs
    totals: np.ndarray  # (C,) sum of counts over the words that follow a context
    kinds: np.ndarray  # (C,) number of different words that follow a context
    discount: float  # D

    def find(self, contexts: np.ndarray, words: np.ndarray, vocab_size: int) -> np.ndarray:
        """Return places in the table of the n-grams "context word"; UNSEEN where it has none."""
        wanted = np.where(contexts == UNSEEN, UNSEEN, _keys(contexts, words, vocab_size))
        places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[places] == wanted, places, UNSEEN)

    def interpolate(
        self, contexts: np.ndarray, places: np.ndarray, lower: np.ndarray
    ) -> np.ndarray:
        """Return probabilities of this order from those of the order below."""
        totals = np.where(contexts == UNSEEN, 0, self.totals[contexts])
        counts = np.where(places == UNSEEN, 0, self.counts[places])
        # For a context without counts the probability of the lower order is taken as it is.
        divisor = np.maximum(totals, 1)
        seen = np.maximum(counts - self.discount, 0.0) / divisor
        left_over = self.discount * self.kinds[contexts] / divisor
        return np.where(totals > 0, seen + left_over * lower, lower)


class KneserNey:
    r"""Interpolated Kneser-Ney n-gram model with one discount for each order.

    .. math::

        p(w | c) = \frac{\max(N(c w) - D, 0)}{\sum_v N(c v)}
                 + \frac{D \, |\{v : N(c v) > 0\}|}{\sum_v N(c v)} \; p(w | c'),
        \qquad D = \frac{n_1}{n_1 + 2 n_2}

    c' is the context c without its first word. In the highest order N counts occurrences; in the
    lower ones N(c w) is the number of different words seen before "c w". The lowest order is
    interpolated with the uniform distribution 1/V, so that every probability is positive. n_1 and
    n_2 are the numbers of n-grams of that order with N = 1 and N = 2; where n_1 is zero, D is 1/2.
    The stream is read as a whole: an n-gram may reach across an end-of-line token, as the memory of
    a recurrent model does.

    Parameters
    ----------
    order : int
        n, the number of words in an n-gram: 2 for a bigram, 3 for a trigram.

    Raises
    ------
    ValueError
        If the order is less than 1.

    References
    ----------
    Kneser and Ney, "Improved backing-off for m-gram language modeling", 1995.

    Chen and Goodman, "An empirical study of smoothing techniques for language modeling", 1999,
    section 3, equations (20) and (21) of the interpolated form.

    Examples
    --------
    >>> model = KneserNey(order=2).fit([0, 1, 2, 0, 1, 2, 0, 1, 3], vocab_size=4)
    >>> bool(model.probabilities([0]).argmax() == 1)
    True
    >>> round(float(model.probabilities([0]).sum()), 12)
    1.0
    """

    def __init__(
        self, order: Annotated[int, Option("n, words of an n-gram", low=1, high=20)]
    ) -> None:
        check_options(KneserNey, locals())
        self.order = order
        self._vocab_size = 0
        self._levels: list[_Level] = []

    def fit(self, ids: Sequence[int] | np.ndarray, vocab_size: int) -> "KneserNey":
        """Count the n-grams of a stream of tokens.

        Parameters
        ----------
        ids : array of int, shape (n,)
            Training tokens.
        vocab_size : int
            V; ids lie in 0 ... V - 1.

        Returns
        -------
        KneserNey
            This model.

        Raises
        ------
        ValueError
            If an id is outside the vocabulary or there are fewer tokens than the order.

        Examples
        --------
        >>> KneserNey(order=3).fit([0, 1, 0, 1, 1], vocab_size=2).order
        3
        """
        tokens = token_ids(ids, vocab_size, least=self.order)
        tables = []  # of each order: sorted n-grams, where each first occurs, which ends at a place
        contexts = np.zeros_like(tokens)  # the empty context, everywhere
        for _ in range(self.order):
            grams = _keys(contexts, tokens[len(tokens) - len(contexts) :], vocab_size)
            tables.append(np.unique(grams, return_index=True, return_inverse=True))
            contexts = tables[-1][2][:-1]

        levels = []
        for k, (keys, _, endings) in enumerate(tables):
            if k < self.order - 1:
                # One kind of (n+1)-gram is one history of the n-gram that it ends with, and that
                # n-gram ends one place further on in its own, longer, list of positions.
                endings = endings[tables[k + 1][1] + 1]
            counts = np.bincount(endings, minlength=len(keys))
            context_count = len(tables[k - 1][0]) if k > 0 else 1
            levels.append(_level(keys, counts, context_count, vocab_size))
        self._levels = levels
        self._vocab_size = vocab_size
        return self

    def log_probabilities(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """Natural logarithm of the probability of each token but the first, given those before it.

        Parameters
        ----------
        ids : array of int, shape (n,)
            Tokens; where fewer than n - 1 of them come before a token, those there are count.

        Returns
        -------
        ndarray, shape (n - 1,)
            log p(w_t | ..., w_{t-1}) for t = 2 ... n.

        Examples
        --------
        >>> model = KneserNey(order=2).fit([0, 1, 0, 1, 1], vocab_size=2)
        >>> model.log_probabilities([0, 1, 1]).shape
        (2,)
        """
        self._check_fitted()
        return np.log(self._all(token_ids(ids, self._vocab_size, least=2))[1:])

    def _all(self, tokens: np.ndarray) -> np.ndarray:
        """Return the probability of each token of texts (..., n) after those before it."""
        contexts = np.zeros_like(tokens)  # the empty context, everywhere
        probabilities = np.full(tokens.shape, 1.0 / self._vocab_size)
        for level in self._levels:
            places = level.find(contexts, tokens, self._vocab_size)
            probabilities = level.interpolate(contexts, places, probabilities)
            # The n-gram that ends at one position is the context of the next; the first has none.
            contexts = np.full_like(places, UNSEEN)
            contexts[..., 1:] = places[..., :-1]
        return probabilities

    def perplexity(self, ids: Sequence[int] | np.ndarray) -> float:
        """Return the perplexity over the n - 1 targets of a split; its first token is context only.

        Parameters
        ----------
        ids : array of int, shape (n,)
            Tokens of the split.

        Returns
        -------
        float
            exp(-mean log p).

        Examples
        --------
        >>> model = KneserNey(order=1).fit([0, 1, 0, 1], vocab_size=2)
        >>> round(model.perplexity([0, 1, 0, 1, 0]), 3)
        2.0
        """
        return math.exp(-float(self.log_probabilities(ids).mean()))

    def probabilities(self, context: Sequence[int] | np.ndarray) -> np.ndarray:
        """Distribution over the vocabulary of the word that follows a context.

        Parameters
        ----------
        context : array of int, shape (m,)
            Any number of tokens; the last n - 1 count.

        Returns
        -------
        ndarray, shape (V,)
            Positive probabilities that sum to 1.

        Examples
        --------
        >>> model = KneserNey(order=3).fit([0, 1, 2, 0, 1, 2], vocab_size=3)
        >>> bool(model.probabilities([0, 1])[2] > 0.5)
        True
        """
        self._check_fitted()
        V = self._vocab_size
        tokens = token_ids(context, V, least=0)[max(0, len(context) - self.order + 1) :]
        texts = np.column_stack([np.tile(tokens, (V, 1)), np.arange(V)])  # each ends with a word
        return self._all(texts)[:, -1]

    def size(self) -> int:
        """Return the number of counts: of n-grams of every order that the training text has.

        Examples
        --------
        >>> KneserNey(order=2).fit([0, 1, 0, 1, 1], vocab_size=2).size()   # 0, 1, 01, 10, 11
        5
        """
        return sum(len(level.keys) for level in self._levels)

    def summary(self) -> str:
        """Return the model in one line, for a log."""
        counts = f": {self.size():,} counts" if self._levels else ""
        return f"{type(self).__name__}(order={self.order}){counts}"

    def _check_fitted(self) -> None:
        if not self._levels:
            raise ValueError("the n-gram model has no counts yet: call fit(ids, vocab_size) first")


class Unigram(KneserNey):
    r"""Word frequencies: the relative counts, smoothed so that an unseen word is possible.

    .. math:: p(w) = \frac{\max(N(w) - D, 0)}{n} + \frac{D \, |\{v : N(v) > 0\}|}{n V}

    This is the lowest order of :class:`KneserNey` with plain counts: maximum likelihood, less the
    discount D < 1 that each seen word loses to the uniform distribution.

    Examples
    --------
    >>> model = Unigram().fit([0, 0, 0, 1], vocab_size=3)
    >>> model.probabilities([]).round(2).tolist()
    [0.67, 0.17, 0.17]
    """

    def __init__(self) -> None:
        super().__init__(order=1)


def baselines(
    train: np.ndarray, splits: Mapping[str, np.ndarray], vocab_size: int
) -> dict[str, dict[str, float]]:
    """Return perplexities of unigrams, Kneser-Ney bigrams and trigrams, by name and split.

    ``train`` and the arrays of ``splits`` are ids of shape (n,).

    >>> train = np.array([0, 1, 2] * 20)
    >>> found = baselines(train, {"test": np.array([0, 1, 2, 0])}, vocab_size=3)
    >>> found["trigram"]["test"] < found["unigram"]["test"]
    True
    """
    models = {"unigram": Unigram(), "bigram": KneserNey(2), "trigram": KneserNey(3)}
    for model in models.values():
        model.fit(train, vocab_size)
    return {
        name: {split: model.perplexity(ids) for split, ids in splits.items()}
        for name, model in models.items()
    }


def _keys(contexts: np.ndarray, words: np.ndarray, vocab_size: int) -> np.ndarray:
    """context * V + word as int64, also where the place of a context has 32 bits."""
    return np.multiply(contexts, vocab_size, dtype=np.int64) + words


def _level(keys: np.ndarray, counts: np.ndarray, context_count: int, vocab_size: int) -> _Level:
    """Gather the counts of one order by context and choose its discount."""
    contexts = (keys // vocab_size).astype(np.intp)
    n1, n2 = int((counts == 1).sum()), int((counts == 2).sum())
    return _Level(
        keys=keys,
        counts=counts,
        totals=np.bincount(contexts, weights=counts, minlength=context_count),
        kinds=np.bincount(contexts, weights=counts > 0, minlength=context_count),
        discount=n1 / (n1 + 2 * n2) if n1 else 0.5,
    )
