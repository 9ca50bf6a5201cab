"""A model that reads one word at a time, and is its owner's again after every word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepnlp.backend import Array, asarray, asnumpy
from deepnlp.evaluation import evaluating
from deepnlp.kernels import add_bias
from deepnlp.layer import Layer
from deepnlp.layers import (
    Dropout,
    Embedding,
    TimeAffine,
    TimeDropout,
    TimeGRU,
    TimeLSTM,
    TimeRNN,
)
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.models import RNNLM, SimpleRNNLM


class Stepper:
    """A model reading B texts side by side, one id of each at a step, with a state of its own.

    Between two calls the model is as it would be without them: in its training mode, with the
    hidden state that its owner left in it. This is the plain form, which works with every model:
    it borrows the model for a call, lets it read from the state of the texts, and puts back what
    was there, which takes longer than a small model takes to read a word.

    Parameters
    ----------
    model : RNNLM
        Or any model with the same methods.

    Examples
    --------
    >>> stepper = Stepper(RNNLM(5, 4, 4))
    >>> stepper.read([3, 1]).shape
    (2, 5)
    """

    def __init__(self, model: RNNLM) -> None:
        self._model = model
        self._state: dict[str, Any] | None = None

    def read(self, ids: Sequence[int]) -> NDArray[Any]:
        """Read the next id of every text.

        Parameters
        ----------
        ids : sequence of int, length B
            B may not change from one call to the next.

        Returns
        -------
        numpy.ndarray, shape (B, V)
            Scores of the next words.
        """
        with evaluating(self._model):  # from a state of zeros
            if self._state is not None:
                self._model.restore(self._state)
            logits = self._model.logits(asarray(np.array(ids)[:, None]))
            self._state = self._model.snapshot()
        return asnumpy(logits)[:, -1]

    def start_again(self, rows: Iterable[int]) -> None:
        """Let some of the texts begin anew, from a hidden state of zeros.

        Parameters
        ----------
        rows : iterable of int
            Their indices. Row b of every array in the state belongs to text b.
        """
        for row in rows:
            for state in self._arrays():
                state[row] = 0

    def _arrays(self) -> list[Array]:
        """The state of the texts, as arrays with B rows."""
        values = () if self._state is None else self._state.values()
        return [value for value in values if getattr(value, "ndim", 0)]


class ChainStepper(Stepper):
    """The same for a chain of layers that are known, by their weights alone.

    The model itself is neither called nor changed, so that nothing has to be put back.

    Parameters
    ----------
    layers : sequence of Layer
        Each takes what the one before gives; the first takes ids, the last gives scores.

    Examples
    --------
    >>> stepper = ChainStepper(RNNLM(5, 4, 4).layers)
    >>> stepper.read([3, 1]).shape
    (2, 5)
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._steps = [_step_of(layer) for layer in layers if not isinstance(layer, Dropout)]

    def read(self, ids: Sequence[int]) -> NDArray[Any]:
        """As :meth:`Stepper.read`."""
        x = asarray(np.array(ids))
        for step in self._steps:
            x = step(x)
        return asnumpy(x)

    def _arrays(self) -> list[Array]:
        return [
            state for step in self._steps if isinstance(step, _Recurrence) for state in step.states
        ]


def stepper_for(model: RNNLM) -> Stepper:
    """The quickest stepper there is for a model.

    Parameters
    ----------
    model : RNNLM
        Or any model with the same methods.

    Returns
    -------
    Stepper

    Examples
    --------
    >>> type(stepper_for(RNNLM(5, 4, 4))).__name__
    'ChainStepper'
    """
    layers = _chain_of(model)
    known = bool(layers) and all(type(layer) in _KNOWN for layer in layers)
    # A layer that forgets between calls, or weights of several types, are for the plain form.
    simple = known and all(getattr(layer, "stateful", True) for layer in layers)
    if simple and len({parameter.dtype for parameter in model.parameters()}) == 1:
        return ChainStepper(layers)
    return Stepper(model)


def _chain_of(model: Any) -> list[Layer]:
    """The layers that make the scores of our own models, none for any other model."""
    logits = getattr(type(model), "logits", None)
    if logits is RNNLM.logits:
        return list(model.layers)
    if logits is SimpleRNNLM.logits:
        return [model.embed, model.rnn, model.affine]
    return []


_KNOWN = (Embedding, TimeDropout, TimeRNN, TimeLSTM, TimeGRU, TimeAffine)
"""Exactly these: a class derived from one of them may compute something else."""


class _Recurrence:
    """A recurrent layer with states of our own."""

    def __init__(self, layer: TimeRecurrent) -> None:
        self.layer = layer
        self.states: tuple[Array, ...] = ()

    def __call__(self, x: Array) -> Array:
        states = self.states or self.layer.start_states(len(x))
        self.states = self.layer.advance(x, states)
        return self.states[0]


def _step_of(layer: Layer) -> Callable[[Array], Array]:
    """One step of a layer, from (B,) or (B, D) to (B, M)."""
    if isinstance(layer, TimeRecurrent):
        return _Recurrence(layer)
    if isinstance(layer, Embedding):
        table = layer.W
        return lambda ids: table.value[ids]
    assert isinstance(layer, TimeAffine)
    W, b = layer.W, layer.b
    if b is None:
        return lambda x: x @ W.value
    return lambda x: add_bias(x @ W.value, b.value)
