"""Beam search: several beginnings of a text are kept at every step, not only the likeliest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deepnlp.backend import Array, HostArray, asarray, asnumpy, check_ids, check_number, xp
from deepnlp.backend.functions import log_softmax
from deepnlp.generation.decoding import MAX_LENGTH, Hypothesis, Step, never, take_rows
from deepnlp.generation.sampling import DIVERGED, check_banned

LARGEST_PENALTY = 100


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

    >>> from deepnlp.generation import greedy_search
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
            parents += [first + k for k in beam.advance(log_p[rows], ids[rows], end_id)]
            first = rows.stop
        searching = [beam for beam in searching if beam.open]
        if not searching:
            break
        last = np.array([text[-1] for beam in searching for text, _ in beam.open])
        state = take_rows(state, parents)
    return [sorted(beam.ends, key=lambda h: -h.score)[:n_best] for beam in beams]


class _Beam:
    """The beginnings of one text that are kept, with their sums, and the ends that were found."""

    def __init__(self, width: int, length_penalty: float) -> None:
        self.width, self.length_penalty = width, length_penalty
        self.open: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
        self.ends: list[Hypothesis] = []

    def advance(self, log_p: HostArray, ids: HostArray, end_id: int) -> list[int]:
        """Go on by one id: keep the best, and say which old beginning each of them comes from.

        Of n beginnings, ``log_p`` and ``ids`` (n, m) are the likeliest ids. An end counts where it
        is one of the ``width`` best; with ``width`` ends the text is done, and nothing is kept.
        """
        totals = np.array([total for _, total in self.open])[:, None] + log_p
        kept: list[tuple[tuple[int, ...], float]] = []
        parents: list[int] = []
        for rank, index in enumerate(np.argsort(-totals, axis=None, kind="stable").tolist()):
            k, j = divmod(index, totals.shape[1])
            text, total, id_ = self.open[k][0], float(totals[k, j]), int(ids[k, j])
            if total == -np.inf or len(kept) == self.width:
                break
            if id_ != end_id:
                kept.append(((*text, id_), total))
                parents.append(k)
            elif rank < self.width:
                score = total / (len(text) + 1) ** self.length_penalty
                self.ends.append(Hypothesis(text, total, score))
        done = len(self.ends) >= self.width
        self.open = [] if done else kept
        return [] if done else parents


def _likeliest(log_p: Array, k: int, banned: Sequence[int]) -> tuple[HostArray, HostArray]:
    """The log-probabilities (B, k) of the k likeliest ids of each row and the ids, on the host."""
    B, V = log_p.shape
    check_banned(banned, V)
    log_p[:, asarray(np.array(banned, dtype=int))] = -np.inf
    if k < V:
        # in the order of the ids, so that equal ones are not in the order of the partition
        ids = np.sort(asnumpy(xp.argpartition(-log_p, k - 1, axis=1)[:, :k]), axis=1)
    else:
        ids = np.tile(np.arange(V), (B, 1))
    likeliest = asnumpy(xp.take_along_axis(log_p, asarray(ids), axis=1)).astype(np.float64)
    if np.isnan(likeliest).any():
        raise ValueError(DIVERGED)
    return likeliest, ids
