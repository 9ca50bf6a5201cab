"""From the scores of a decoder to a text: the likeliest id at every step, or a random one.

These functions and the beam search work with any function ``step(ids, state) -> (scores, state)``
and the state it begins with, whose arrays have one row for each of N texts: those of a
sequence-to-sequence model or of a language model. A text begins after ``start_id`` and ends with
``end_id``; neither is part of what is found. At the last of ``max_length`` steps nothing but the
end may be chosen, so that every text is whole and its probability that of a whole text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from deepnlp.backend import Array, asarray, asnumpy, check_ids, check_number
from deepnlp.backend.functions import log_softmax
from deepnlp.generation.sampling import Sampler, check_banned
from deepnlp.layer import map_state

Step = Callable[[Array, Any], tuple[Array, Any]]

MAX_LENGTH = 50  # steps, the end included


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


def take_rows(state: Any, rows: Sequence[int]) -> Any:
    """The rows of a state, in this order."""
    index = asarray(np.array(rows))
    return map_state(lambda array: array[index], state)


def never(banned: Sequence[int], start_id: int, end_id: int) -> tuple[int, ...]:
    """Ids that may not be chosen: the banned ones, and the mark of the beginning."""
    for name, mark in (("start_id", start_id), ("end_id", end_id)):
        check_number(name, mark, whole=True)
    check_banned(banned)
    return tuple({*banned, start_id} - {end_id})
