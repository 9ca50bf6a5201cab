"""The base of language models: losses of words, and steps."""

from collections.abc import Sequence
from typing import Any

import numpy

from deepnlp.backend import Array, HostArray, asarray, asnumpy, check_ids, xp
from deepnlp.backend.checks import check_numbers
from deepnlp.layer import Layer, Sequential, no_backward
from deepnlp.layers import AffineSoftmaxWithLoss, SoftmaxWithLoss
from deepnlp.models.model import Model


class LanguageModel(Model):
    """A model that gives the probability of the next word.

    A subclass offers ``forward(ids, targets) -> loss``, ``backward()`` and
    ``logits(ids) -> (N, T, V)``, and calls :meth:`_remember` in its constructor. The ``losses``,
    ``start`` and ``step`` of this class are right for every model, but its step reads the whole
    text again. A subclass with a quicker step defines both ``start`` and ``step``.
    """

    _follows = ((("start", "step"), ("forward", "logits")), (("losses",), ("logits",)))

    def logits(self, ids: Array) -> Array:
        """Return scores of the next words (N, T, V) from integers (N, T), with nothing saved."""
        raise TypeError(f"{type(self).__name__} has no logits")

    def losses(self, ids: Array, targets: Array) -> Array:
        """Return the cross-entropy of each next word (N, T) from ids and targets, nothing saved."""
        return SoftmaxWithLoss().losses(self.logits(ids), targets)

    _general_losses = losses

    def targets(self, ids: HostArray) -> HostArray:
        """Return the targets where a text has these ids, on the host: the ids themselves.

        A model that predicts other words than it reads gives their ids among those.
        """
        return ids

    @property
    def output_size(self) -> int:
        """How many words the model can predict."""
        return self.vocab_size

    def scores_by_id(self, scores: HostArray) -> HostArray:
        """Return scores (..., V) by the ids of a text, on the host, from those of a step."""
        return scores

    def _general_start(self, N: int) -> Any:
        """Return the state of N unread texts: an empty tuple of ids for each."""
        state = numpy.empty(N, dtype=object)
        state[:] = [()] * N
        return state

    def _general_step(self, ids: Array, state: Any = None) -> tuple[Array, Any]:
        """Return scores of the next words (N, V) and the new state, from the ids (N,) of one step.

        The state is all that has been read, and it is read again at every step: right however far
        the model looks back, but slow for long texts.
        """
        state = self.start(len(ids)) if state is None else state.copy()
        for n, id_ in enumerate(asnumpy(ids).tolist()):
            state[n] = (*state[n], id_)
        twin = self.twin()
        return xp.stack([twin._last_scores(text) for text in state]), state

    def _last_scores(self, text: tuple[int, ...]) -> Array:
        """Return scores (V,) of what follows a text, read from its beginning."""
        self.reset_state()
        return self.logits(asarray([text]))[0, -1]


class LayeredModel(LanguageModel):
    """A language model of layers one after the other, with one output behind them.

    Attributes
    ----------
    layers : list of Layer
        From ids (N, T) to what the output is computed from.
    output : AffineSoftmaxWithLoss
    """

    layers: list[Layer]
    output: AffineSoftmaxWithLoss

    def hidden(self, ids: Array) -> Array:
        """Compute the input of the output layer, (N, T, D), with nothing saved for a backward."""
        with no_backward():
            return self._features(ids)

    def losses(self, ids: Array, targets: Array) -> Array:
        """Return the cross-entropy of each next word (N, T), with nothing saved for a backward."""
        with no_backward():
            return self.output.losses(self.hidden(ids), targets)

    def logits(self, ids: Array) -> Array:
        """Return scores of the next words (N, T, V), with nothing saved for a backward."""
        with no_backward():
            return self.output.scores(self.hidden(ids))

    def _features(self, ids: Array) -> Array:
        """Compute the input of the output layer, and save what a backward needs."""
        self._expect("ids", ids, "N T")
        return Sequential(*self.layers).forward(ids)


def to_predict(model: Any, ids: HostArray) -> HostArray:
    """Return the targets where a text has these ids; of a model without ``targets`` the ids."""
    return model.targets(ids) if hasattr(model, "targets") else ids


def token_ids(
    ids: Sequence[int] | HostArray, vocab_size: int, least: int, note: str = ""
) -> HostArray:
    """Return the ids of a text as a vector of int64, or raise an error if one is out of range.

    >>> token_ids([0, 5], vocab_size=5, least=2)
    Traceback (most recent call last):
        ...
    ValueError: a text: ids should be from 0 to 4, got 5
    """
    array = numpy.asanyarray(ids)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        got = f"shape {array.shape} of {array.dtype}"
        raise ValueError(f"expected a vector of integer ids, got {got}")
    if len(array) < least:
        raise ValueError(f"expected at least {least} tokens{note}, got {len(array)}")
    check_numbers("a text", "ids", array)
    check_ids("a text", array, vocab_size)
    return array.astype(numpy.int64)
