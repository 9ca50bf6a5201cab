"""From the scores of a decoder to a text: the likeliest id at every step, a random one, or a beam.

These functions work with any function ``step(ids, state) -> (scores, state)`` and the state it
begins with, whose arrays have one row for each of N texts: those of a sequence-to-sequence model or
of a language model. A text begins after ``start_id`` and ends with ``end_id``; neither is part of
what is found. At the last of ``max_length`` steps nothing but the end may be chosen, so that every
text is whole and its probability that of a whole text.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from deepnlp.backend import Array, HostArray, asarray, asnumpy, check_ids, check_number, xp
from deepnlp.backend.functions import log_softmax
from deepnlp.generation.sampling import DIVERGED, Sampler, check_banned
from deepnlp.layer import map_state

Step = Callable[[Array, Any], tuple[Array, Any]]

MAX_LENGTH = 50  # steps, the end included
LARGEST_PENALTY = 100


class Hypothesis(NamedTuple):
    """A text that a search has found.

    Parameters
    ----------
    ids : tuple of int
        Without begin and end.
    log_probability : float
        Natural logarithm of its probability, the end included.
    score : float
        What the search compares: by :func:`beam_search` normalised by the length.
    """

    ids: tuple[int, ...]
    log_probability: float
    score: float


def greedy_search(
    step: Step,
    state: Any,
    N: int,
    *,
    start_id: int,
    end_id: int,
    max_length: int = MAX_LENGTH,
    banned: Sequence[int] = (),
) -> list[Hypothesis]:
    r"""Choose the likeliest id at every step.

    .. math:: y_t = \arg\max_w P(w \mid y_1 \dots y_{t-1})

    Not the likeliest text: a good first id may lead to nothing good.

    Parameters
    ----------
    step : callable
        ``step(ids (N,), state) -> (scores (N, V), state)``.
    state
        Of N texts, as :meth:`start` of a model gives it.
    N : int
    start_id, end_id : int
        What is read before the first id, and what ends a text.
    max_length : int
        Steps, the end included.
    banned : sequence of int
        Ids that are never chosen, such as that of ``<unk>``.

    Returns
    -------
    list of Hypothesis
        One for each of the N texts.

    Raises
    ------
    ValueError
        If ``max_length`` is below 1.

    Examples
    --------
    >>> step = lambda ids, state: (asarray([[1.0, 0.0, -1.0]] * len(ids)), state)
    >>> greedy_search(step, None, 1, start_id=2, end_id=2, max_length=3)[0].ids
    (0, 0)
    """
    greedy = Sampler(greedy=True, banned=never(banned, start_id, end_id))
    return sample_search(
        step, state, N, start_id=start_id, end_id=end_id, max_length=max_length, sampler=greedy
    )


def sample_search(
    step: Step,
    state: Any,
    N: int,
    *,
    start_id: int,
    end_id: int,
    max_length: int = MAX_LENGTH,
    sampler: Sampler | None = None,
    rng: np.random.Generator | None = None,
) -> list[Hypothesis]:
    """Draw every id from the distribution of the step.

    Row n draws from the generator ``rng.spawn(N)[n]``, so that a text does not depend on the
    others.

    Parameters
    ----------
    step : callable
        ``step(ids (N,), state) -> (scores (N, V), state)``.
    state
        Of N texts.
    N : int
    start_id, end_id, max_length : int
        See :func:`greedy_search`.
    sampler : Sampler, optional
        Temperature, top-k, top-p and banned ids; by default the distribution as it is, without
        ``start_id`` where that is not the end.
    rng : numpy.random.Generator, optional
        By default the one of seed 0.

    Returns
    -------
    list of Hypothesis
        One for each text; the probability is that under the model, whatever the temperature.

    Raises
    ------
    ValueError
        If ``max_length`` is below 1.

    Examples
    --------
    >>> step = lambda ids, state: (asarray([[1.0, 0.0, -1.0]] * len(ids)), state)
    >>> sample_search(step, None, 1, start_id=2, end_id=2, rng=np.random.default_rng(1))[0].ids[:5]
    (1, 0, 0, 0, 0)
    """
    check_number("max_length", max_length, whole=True, low=1)
    sampler = sampler or Sampler(banned=never((), start_id, end_id))
    rngs = (rng or np.random.default_rng(0)).spawn(N)
    texts: list[list[int]] = [[] for _ in range(N)]
    sums = [0.0] * N
    rows = list(range(N))  # texts without an end so far, one for each row of the state
    last = np.full(N, start_id)
    for t in range(1, max_length + 1):
        scores, state = step(asarray(last), state)
        log_p = asnumpy(log_softmax(scores))
        check_ids("sample_search", np.array([end_id]), log_p.shape[1], "end_id")
        if t == max_length:
            chosen = [end_id] * len(rows)
        else:
            chosen = [sampler.choose(log_p[k], rngs[row]) for k, row in enumerate(rows)]
        going = []
        for k, row in enumerate(rows):
            sums[row] += float(log_p[k, chosen[k]])
            if chosen[k] != end_id:
                texts[row].append(chosen[k])
                going.append(k)
        if not going:
            break
        last = np.array([chosen[k] for k in going])
        if len(going) < len(rows):
            rows, state = [rows[k] for k in going], take_rows(state, going)
    return [Hypothesis(tuple(ids), p, p) for ids, p in zip(texts, sums, strict=True)]


def beam_search(
    step: Step,
    state: Any,
    N: int,
    *,
    start_id: int,
    end_id: int,
    width: int = 5,
    n_best: int = 1,
    length_penalty: float = 1.0,
    max_length: int = MAX_LENGTH,
    banned: Sequence[int] = (),
) -> list[list[Hypothesis]]:
    r"""Keep the likeliest beginnings at every step, ``width`` of them for each text.

    .. math:: \mathrm{score}(y) = \frac{1}{|y|^\alpha} \sum_{t=1}^{|y|}
        \log P(y_t \mid y_1 \dots y_{t-1})

    where y includes the end. The sum alone (alpha = 0) prefers short texts, since every further id
    makes it smaller. A text is done when ``width`` hypotheses have come to their end. A beam of
    width 1 is :func:`greedy_search`; one as wide as there are beginnings is an exhaustive search.

    Parameters
    ----------
    step : callable
        ``step(ids (B,), state) -> (scores (B, V), state)``, for any number of rows B.
    state
        Of N texts. Its rows are repeated, reordered and left out by
        :func:`~deepnlp.layer.map_state`.
    N : int
    start_id, end_id : int
        See :func:`greedy_search`.
    width : int
        Beginnings that are kept for each text.
    n_best : int
        Hypotheses that are wanted of each text, at most ``width``.
    length_penalty : float
        alpha, 0 or more.
    max_length : int
        Steps, the end included.
    banned : sequence of int
        Ids that are never chosen.

    Returns
    -------
    list of list of Hypothesis
        For each of the N texts those with the highest scores, the highest first; fewer than
        ``n_best`` where there are no more.

    Raises
    ------
    ValueError
        If a number is out of its range, or a score is not a number.

    References
    ----------
    Sutskever, Vinyals, Le 2014, "Sequence to sequence learning with neural networks", section 3.2;
    Murray, Chiang 2018, "Correcting length bias in neural machine translation", on the length.

    Examples
    --------
    The first id is 0 with probability 0.6, but what follows it is uncertain:

    >>> table = xp.log(xp.asarray([[0.5, 0.5, 0.0], [0.05, 0.05, 0.9], [0.6, 0.4, 0.0]]) + 1e-9)
    >>> step = lambda ids, state: (table[ids], state)
    >>> marks = {"start_id": 2, "end_id": 2, "max_length": 3}
    >>> greedy_search(step, None, 1, **marks)[0].ids
    (0, 0)
    >>> best = beam_search(step, None, 1, width=2, n_best=2, length_penalty=0.0, **marks)[0]
    >>> [(text, round(float(np.exp(log_p)), 2)) for text, log_p, _ in best]
    [((1,), 0.36), ((0, 1), 0.27)]
    """
    check_number("max_length", max_length, whole=True, low=1)
    check_number("N", N, whole=True)
    check_number("width", width, whole=True, low=1)
    check_number("n_best", n_best, whole=True, low=1, high=width)
    check_number("length_penalty", length_penalty, low=0, high=LARGEST_PENALTY)
    forbidden = never(banned, start_id, end_id)
    beams = [_Beam(width, length_penalty) for _ in range(N)]
    searching, last = beams, np.full(N, start_id)
    for t in range(1, max_length + 1):
        scores, state = step(asarray(last), state)
        V = scores.shape[1]
        check_ids("beam_search", np.array([end_id]), V, "end_id")
        if t == max_length:
            forbidden = tuple(id_ for id_ in range(V) if id_ != end_id)
        log_p, ids = _likeliest(log_softmax(scores), 2 * width, forbidden)
        parents: list[int] = []  # the row of the state that each kept beginning goes on from
        first = 0
        for beam in searching:
            rows = slice(first, first + len(beam.open))
            beam.advance(log_p[rows], ids[rows], end_id)
            parents += [first + k for k, _, _ in beam.open]
            first = rows.stop
        searching = [beam for beam in searching if beam.open]
        if not searching:
            break
        last = np.array([text[-1] for beam in searching for _, text, _ in beam.open])
        state = take_rows(state, parents)
    return [sorted(beam.ends, key=lambda h: -h.score)[:n_best] for beam in beams]


class _Beam:
    """The beginnings of one text that are kept, and the ends that were found.

    A beginning is the number of the old one that it comes from, its ids and their log-probability.
    """

    def __init__(self, width: int, length_penalty: float) -> None:
        self.width, self.length_penalty = width, length_penalty
        self.open: list[tuple[int, tuple[int, ...], float]] = [(0, (), 0.0)]
        self.ends: list[Hypothesis] = []

    def advance(self, log_p: HostArray, ids: HostArray, end_id: int) -> None:
        """Go on by one id and keep the best.

        Of n beginnings, ``log_p`` and ``ids`` (n, m) are the likeliest ids. An end counts where it
        is one of the ``width`` best; with ``width`` ends the text is done, and nothing is kept.
        """
        totals = np.array([total for _, _, total in self.open])[:, None] + log_p
        old, self.open = self.open, []
        for rank, index in enumerate(np.argsort(-totals, axis=None, kind="stable").tolist()):
            k, j = divmod(index, totals.shape[1])
            text, total, id_ = old[k][1], float(totals[k, j]), int(ids[k, j])
            if total == -np.inf or len(self.open) == self.width:
                break
            if id_ != end_id:
                self.open.append((k, (*text, id_), total))
            elif rank < self.width:
                score = total / (len(text) + 1) ** self.length_penalty
                self.ends.append(Hypothesis(text, total, score))
        if len(self.ends) >= self.width:
            self.open = []


def _likeliest(log_p: Array, k: int, banned: Sequence[int]) -> tuple[HostArray, HostArray]:
    """Return the k likeliest ids of each row and their log-probabilities (B, k), on the host."""
    V = log_p.shape[1]
    check_banned(banned, V)
    log_p[:, asarray(np.array(banned, dtype=int))] = -np.inf
    likeliest_ids = xp.argpartition(-log_p, min(k, V) - 1, axis=1)[:, :k]
    ids = np.sort(asnumpy(likeliest_ids), axis=1)  # equal ones in the order of the ids
    likeliest = asnumpy(xp.take_along_axis(log_p, asarray(ids), axis=1)).astype(np.float64)
    if np.isnan(likeliest).any():
        raise ValueError(DIVERGED)
    return likeliest, ids


def take_rows(state: Any, rows: Sequence[int]) -> Any:
    """Return the rows of a state, in this order."""
    index = asarray(np.array(rows))
    return map_state(lambda array: array[index], state)


def never(banned: Sequence[int], start_id: int, end_id: int) -> tuple[int, ...]:
    """Return ids that may not be chosen: the banned ones, and the mark of the beginning."""
    for name, mark in (("start_id", start_id), ("end_id", end_id)):
        check_number(name, mark, whole=True)
    check_banned(banned)
    return tuple({*banned, start_id} - {end_id})
