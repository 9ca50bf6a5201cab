"""Rows of word vectors that are frozen in part, or shared in part by two vocabularies."""

from collections.abc import Sequence

import numpy

from deepnlp.backend import Array, HostArray, asarray
from deepnlp.backend.arrays import check_range
from deepnlp.parameter import Parameter
from deepnlp.views import SharedRows


def frozen_in_part(table: Array, trained: Sequence[int]) -> SharedRows:
    """Return a matrix (V, D) of which only the rows ``trained`` are trained.

    >>> from deepnlp.backend import xp
    >>> E = frozen_in_part(xp.asarray([[0.0], [1.0], [2.0]]), [1])
    >>> E.accumulate(xp.ones((3, 1)))
    >>> [(base.name, base.value.tolist(), base.grad.tolist()) for base in E.bases]
    [('E frozen', [[0.0], [2.0]], [[0.0], [0.0]]), ('E', [[1.0]], [[1.0]])]
    """
    V = table.shape[0]
    check_ids("trained_ids", trained, 0, V)
    places = numpy.full(V, -1)
    frozen = numpy.setdiff1d(numpy.arange(V), trained)
    places[frozen] = numpy.arange(len(frozen))
    rest = numpy.flatnonzero(places < 0)
    free = Parameter(table[asarray(rest)], "E")
    return SharedRows(Parameter(table[asarray(frozen)], "E frozen", trainable=False), places, free)


class OutputWords:
    """The K words that a model predicts, where they are not the V words that it reads.

    ``ids`` (K,) are their ids among the V, or -1; ``apart`` is how many of them are only predicted.
    """

    def __init__(self, ids: Sequence[int], V: int) -> None:
        check_ids("output_ids", ids, -1, V)
        self._ids, self._vocab_size = numpy.asarray(ids), V
        self.size, self.apart = len(ids), int((self._ids < 0).sum())

    def rows(self, E: object, own: Array | None) -> SharedRows:
        """Return the output's vectors (K, D): rows of E for words in both vocabularies."""
        return SharedRows(E, self._ids, None if own is None else Parameter(own, "E output"))

    def targets(self, ids: HostArray, unk_id: int) -> HostArray:
        """Return each id's place among the K words, <unk>'s for other words; -1 stays -1.

        >>> OutputWords([0, 3, -1], V=4).targets(numpy.array([3, 2, -1]), unk_id=0)
        array([ 1,  0, -1])
        """
        places = numpy.full(self._vocab_size + 1, -1)  # the last is that of the id -1
        known = self._ids >= 0
        places[self._ids[known]] = numpy.flatnonzero(known)
        if places[unk_id] < 0:
            raise ValueError("output_ids should hold the id of <unk>, the target for other words")
        read = places[:-1]
        read[read < 0] = places[unk_id]
        return places[ids]

    def scores_by_id(self, scores: HostArray) -> HostArray:
        """Return scores (..., V) by the ids of a text from scores (..., K), -inf where none.

        >>> OutputWords([0, 3, -1], V=4).scores_by_id(numpy.array([[5.0, 6.0, 7.0]]))
        array([[  5., -inf, -inf,   6.]])
        """
        known = self._ids >= 0
        by_id = numpy.full((*scores.shape[:-1], self._vocab_size), -numpy.inf, scores.dtype)
        by_id[..., self._ids[known]] = scores[..., known]
        return by_id


def check_ids(name: str, ids: Sequence[int], low: int, V: int) -> None:
    """Raise an error unless the ids are from ``low`` to V - 1, and none below V occurs twice.

    >>> check_ids("trained_ids", [2, 2], 0, 3)
    Traceback (most recent call last):
        ...
    ValueError: RNNLM: trained_ids holds the id 2 twice
    """
    array = numpy.asarray(ids, dtype=int)
    if not len(array):
        raise ValueError(f"RNNLM: {name} should hold one id or more, got none")
    check_range("RNNLM", name, array, low, V - 1)
    distinct, counts = numpy.unique(array[array >= 0], return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"RNNLM: {name} holds the id {distinct[counts.argmax()]} twice")
