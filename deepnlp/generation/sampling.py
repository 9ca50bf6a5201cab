"""How the next word is chosen from the scores of a language model.

A chain of small functions leads from the scores z_i to a word, by way of probabilities; a
:class:`Sampler` is one setting of it:

    apply_temperature ──> keep_top_k ──> keep_top_p ──> draw

All of it runs on the host in float64, whatever the backend and the dtype of the model.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepnlp.backend import check_number, check_numbers

Probabilities = NDArray[np.float64]
FIRST_NUCLEUS = 256  # words among which a nucleus is looked for first
BLOCK = 128  # words that a draw by blocks passes over in one step
DIVERGED = "the model's scores are not finite, its weights diverged: load an earlier checkpoint"


def apply_temperature(logits: NDArray[Any], temperature: float = 1.0) -> Probabilities:
    r"""Turn scores into probabilities, sharper below temperature 1 and flatter above.

    .. math:: p_i = \frac{\exp(z_i / \tau)}{\sum_j \exp(z_j / \tau)}

    As tau goes to 0, all probability goes to the highest score; as tau grows, p becomes uniform.

    Parameters
    ----------
    logits : array, shape (V,)
        Scores z; minus infinity gives probability 0.
    temperature : float
        tau, above 0.

    Returns
    -------
    numpy.ndarray of float64, shape (V,)

    Raises
    ------
    ValueError
        If the temperature is not a finite number above 0.

    References
    ----------
    Holtzman, Buys, Du, Forbes, Choi 2020, "The curious case of neural text degeneration", eq. 4.

    Examples
    --------
    >>> import numpy as np
    >>> logits = np.log([0.5, 0.25, 0.25])
    >>> apply_temperature(logits, 0.5).round(3).tolist()
    [0.667, 0.167, 0.167]
    """
    check_number("temperature", temperature)
    if not 0 < temperature < float("inf"):
        raise ValueError(f"temperature should be above 0, got {temperature}; use greedy instead")
    z = _one_row(logits)
    weights = _weights(z, z.max(), temperature)
    return np.asarray(weights / weights.sum())


def keep_top_k(probabilities: Probabilities, k: int) -> Probabilities:
    """Keep the k likeliest words and divide their probabilities by their sum.

    Of equally likely words the one with the smaller id comes first.

    Parameters
    ----------
    probabilities : array, shape (V,)
    k : int
        At least 1; V or more keeps all words.

    Returns
    -------
    numpy.ndarray of float64, shape (V,)

    Raises
    ------
    ValueError
        If k is below 1.

    References
    ----------
    Fan, Lewis, Dauphin 2018, "Hierarchical neural story generation", section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> keep_top_k(np.array([0.125, 0.5, 0.25, 0.125]), 2).round(3).tolist()
    [0.0, 0.667, 0.333, 0.0]
    """
    check_number("top_k", k, whole=True, low=1)
    return _keep(probabilities, _likeliest(probabilities, k))


def keep_top_p(probabilities: Probabilities, p: float) -> Probabilities:
    r"""Keep the nucleus: the smallest set of likeliest words with a probability of p or more.

    .. math::

        \sum_{i \in V^{(p)}} p_i \ge p, \qquad
        p'_i = p_i / \sum_{j \in V^{(p)}} p_j \;\text{ for } i \in V^{(p)}, \text{ else } 0

    Parameters
    ----------
    probabilities : array, shape (V,)
    p : float
        Above 0 and at most 1; 1 changes nothing.

    Returns
    -------
    numpy.ndarray of float64, shape (V,)

    Raises
    ------
    ValueError
        If p lies outside (0, 1].

    References
    ----------
    Holtzman, Buys, Du, Forbes, Choi 2020, "The curious case of neural text degeneration", eq. 2
    and 3.

    Examples
    --------
    >>> import numpy as np
    >>> keep_top_p(np.array([0.125, 0.5, 0.25, 0.125]), 0.75).round(3).tolist()
    [0.0, 0.667, 0.333, 0.0]
    """
    check_number("top_p", p, above=0, high=1)
    if p == 1:  # the rounded sum might reach 1 before the last word
        return probabilities
    guess, V = FIRST_NUCLEUS, len(probabilities)
    while True:  # the nucleus is usually small, and finding a few words is faster than sorting all
        ids = _likeliest(probabilities, guess)
        cumulative = np.cumsum(probabilities[ids])
        if cumulative[-1] >= p or guess >= V:
            size = int(np.searchsorted(cumulative, p)) + 1
            return _keep(probabilities, ids[:size])
        guess *= 16


def draw(probabilities: Probabilities, rng: np.random.Generator) -> int:
    """Draw an id by the inverse of the cumulative distribution.

    One uniform number u in [0, 1) gives the first id at which p_0 + ... + p_id exceeds u.

    Parameters
    ----------
    probabilities : array, shape (V,)
        At least one above 0.
    rng : numpy.random.Generator
        One number is taken from it.

    Returns
    -------
    int
        An id whose probability is above 0.

    Examples
    --------
    >>> import numpy as np
    >>> draw(np.array([0.0, 1.0, 0.0]), np.random.default_rng(0))
    1
    """
    return _invert(probabilities, rng.random())


def _one_row(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return a copy of the scores of one step (V,) in float64."""
    logits = np.asarray(logits)
    check_numbers("Sampler", "scores", logits)
    if logits.ndim != 1 or not logits.size:
        raise ValueError(f"scores should have shape (V,), for one step, got {logits.shape}")
    return np.array(logits, dtype=np.float64)


def _weights(z: NDArray[np.float64], highest: float, temperature: float) -> NDArray[np.float64]:
    """exp((z - max z) / tau), in place: probabilities before they are divided by their sum."""
    z -= highest
    if temperature != 1:
        with np.errstate(over="ignore"):  # a tiny tau may give minus infinity: its exp is 0
            z /= temperature
    return np.exp(z, out=z)


def _likeliest(probabilities: Probabilities, k: int) -> NDArray[np.intp]:
    """Return the k likeliest ids, the likeliest first and of equal ones the smaller first."""
    rank = max(len(probabilities) - k, 0)
    least = np.partition(probabilities, rank)[rank]
    ids = np.flatnonzero(probabilities >= least)  # more than k where several are equal to it
    return ids[np.argsort(-probabilities[ids], kind="stable")][:k]


def _keep(probabilities: Probabilities, ids: NDArray[np.intp]) -> Probabilities:
    kept = np.zeros_like(probabilities)
    kept[ids] = probabilities[ids]
    return np.asarray(kept / kept.sum())


def _invert(probabilities: Probabilities, u: float) -> int:
    """Return the first id at which the cumulative sum exceeds u times the whole sum."""
    cumulative = np.cumsum(probabilities)
    id_ = int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
    if id_ < len(probabilities):
        return id_
    # u times a sum just above 1 may round up to that sum, which no id exceeds.
    return int(np.flatnonzero(probabilities)[-1])


def _draw_by_blocks(weights: NDArray[np.float64], u: float) -> int:
    """Draw as :func:`_invert` does for ``weights / weights.sum()``, mostly in less time.

    The cumulative sums of whole blocks lead to the block, those inside it to the word. Sums in
    another order, and without the division, round differently, but by less than the margin. Where
    a draw a margin lower and one a margin higher give the same word, that is the word; where they
    differ, :func:`_invert` decides.
    """
    V = len(weights)
    ends = np.add.reduceat(weights, np.arange(0, V, BLOCK)).cumsum()
    total = float(ends[-1])
    target, margin = u * total, V * 2.0**-50 * total  # eight roundings of the sum for each word
    block = bisect_right(ends, target - margin)
    if block == bisect_right(ends, target + margin):
        before = float(ends[block - 1]) if block else 0.0
        start = block * BLOCK
        inside = weights[start : start + BLOCK].cumsum()
        word = bisect_right(inside, target - margin - before)
        if word == bisect_right(inside, target + margin - before):
            return start + word
    return _invert(weights / weights.sum(), u)


def check_banned(banned: Sequence[int], V: int | None = None) -> None:
    """Raise an error if what is never to be chosen is not an id, from 0 to V - 1."""
    if not isinstance(banned, Sequence):
        raise TypeError(f"banned should be a sequence of ids, got {banned!r}")
    for id_ in banned:
        if not isinstance(id_, Integral) or id_ < 0 or (V is not None and id_ >= V):
            expected = "0 or more" if V is None else f"from 0 to {V - 1}"
            raise ValueError(f"banned ids should be {expected}, got {id_!r}")


@dataclass(frozen=True)
class Sampler:
    """How the next word is chosen from the model's scores.

    Parameters
    ----------
    temperature : float
        See :func:`apply_temperature`.
    top_k : int, optional
        See :func:`keep_top_k`; all words by default.
    top_p : float, optional
        See :func:`keep_top_p`, which comes after top_k; all words by default.
    greedy : bool
        Always the word with the highest score: nothing is random, and the other fields are unused.
    banned : tuple of int
        Ids that are never chosen.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> sampler = Sampler(greedy=True, banned=(0,))
    >>> sampler.choose(np.array([3.0, 1.0, 2.0]), np.random.default_rng(0))
    2
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    greedy: bool = False
    banned: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        # Report an error in an option here, before any word is chosen.
        check_banned(self.banned)
        self.probabilities(np.zeros(max(self.banned, default=0) + 2))

    def probabilities(self, logits: NDArray[Any]) -> Probabilities:
        """Return the probability with which each word is chosen.

        Parameters
        ----------
        logits : array, shape (V,)

        Returns
        -------
        numpy.ndarray of float64, shape (V,)
        """
        z, _ = self._allowed(logits)
        p = apply_temperature(z, self.temperature)
        if self.top_k is not None:
            p = keep_top_k(p, self.top_k)
        if self.top_p is not None:
            p = keep_top_p(p, self.top_p)
        return p

    def choose(self, logits: NDArray[Any], rng: np.random.Generator) -> int:
        """Choose the next word, as ``draw(self.probabilities(logits), rng)`` would.

        Parameters
        ----------
        logits : array, shape (V,)
        rng : numpy.random.Generator
            Where the random number comes from; a greedy choice takes none.

        Returns
        -------
        int
            The id of the word.

        Raises
        ------
        ValueError
            If no word is allowed, or a score is not a number.
        """
        if self.greedy:
            return int(np.argmax(self._allowed(logits)[0]))
        if self.top_k is None and self.top_p is None:
            weights = _weights(*self._allowed(logits), self.temperature)
            return _draw_by_blocks(weights, rng.random())
        return draw(self.probabilities(logits), rng)

    def _allowed(self, logits: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
        """Return scores in which no banned word can win, and the highest of them."""
        z = _one_row(logits)
        check_banned(self.banned, len(z))
        for id_ in self.banned:
            z[id_] = -np.inf
        highest = float(z.max(initial=-np.inf))
        if not highest < np.inf:  # nan is not
            raise ValueError(DIVERGED)
        if highest == -np.inf:
            raise ValueError(
                "no word is left to choose from: the vocabulary holds only words that are banned"
            )
        return z, highest
