"""What language models share besides their layers: a configuration, a vocabulary, a summary."""

from __future__ import annotations

import inspect
from numbers import Integral
from typing import Any

import numpy

from deepnlp.backend import Array, asarray, asnumpy, xp
from deepnlp.layer import Layer
from deepnlp.layers import SoftmaxWithLoss
from deepnlp.parameter import Parameter, View
from deepnlp.text import Vocabulary

HostArray = numpy.ndarray[Any, Any]


class LanguageModel(Layer):
    """A layer with a loss that gives the probability of the next word.

    A subclass offers ``forward(ids, targets) -> loss``, ``backward()`` and
    ``logits(ids) -> (N, T, V)``, and calls :meth:`_remember` in its constructor. The ``losses``,
    ``start`` and ``step`` of this class are right for every model, but its step reads the whole
    text again. A subclass with a quicker step defines both ``start`` and ``step``.

    Attributes
    ----------
    vocab : Vocabulary or None
        What the ids stand for. A trainer sets it, a checkpoint keeps it.
    vocab_size : int
    """

    _follows = ((("start", "step"), ("forward", "logits")), (("losses",), ("logits",)))
    vocab: Vocabulary | None = None
    vocab_size: int

    def logits(self, ids: Array) -> Array:
        """Scores of the next words (N, T, V) from integers (N, T), with nothing saved."""
        raise TypeError(f"{type(self).__name__} has no logits")

    def losses(self, ids: Array, targets: Array) -> Array:
        """Cross-entropy of each next word (N, T) from ids and targets (N, T), nothing saved."""
        return SoftmaxWithLoss().losses(self.logits(ids), targets)

    _general_losses = losses

    def targets(self, ids: HostArray) -> HostArray:
        """What the model is to predict where a text has these ids, on the host: the ids themselves.

        A model that predicts other words than it reads gives their ids among those.
        """
        return ids

    @property
    def output_size(self) -> int:
        """How many words the model can predict."""
        return self.vocab_size

    def scores_by_id(self, scores: HostArray) -> HostArray:
        """Scores (..., V) of the words by the ids of a text, on the host, from those of a step."""
        return scores

    def _general_start(self, N: int) -> Any:
        """The state of N texts of which nothing has been read: an empty tuple of ids for each."""
        state = numpy.empty(N, dtype=object)
        state[:] = [()] * N
        return state

    def _general_step(self, ids: Array, state: Any = None) -> tuple[Array, Any]:
        """Scores of the next words (N, V) and the new state, from the ids (N,) of one step.

        The state is all that has been read, and it is read again at every step: right however far
        the model looks back, but slow for long texts.
        """
        state = self.start(len(ids)) if state is None else state.copy()
        for n, id_ in enumerate(asnumpy(ids).tolist()):
            state[n] = (*state[n], id_)
        carried = self.snapshot()
        try:
            return xp.stack([self._last_scores(text) for text in state]), state
        finally:
            self.restore(carried)

    def _last_scores(self, text: tuple[int, ...]) -> Array:
        """Scores (V,) of what follows a text, read from its beginning."""
        self.reset_state()
        return self.logits(asarray([text]))[0, -1]

    def _remember(self, **arguments: Any) -> None:
        """Keep the constructor's arguments, from which :meth:`config` rebuilds the model."""
        for name in arguments.keys() & ("vocab_size", "embed_size", "hidden_size", "layers"):
            arguments[name] = check_size(type(self).__name__, name, arguments[name])
        self._config = arguments
        self.vocab_size = arguments["vocab_size"]
        self._cast_state(arguments["dtype"])

    def config(self) -> dict[str, Any]:
        """Arguments that build a model of this shape: ``type(model)(**model.config())``.

        Returns
        -------
        dict of str to JSON-able values
        """
        return dict(self._config)

    def _cast_state(self, dtype: Any) -> None:
        self._config["dtype"] = xp.dtype(dtype).name

    def size(self) -> int:
        """Number of parameters, a tied weight counted once.

        Returns
        -------
        int
        """
        return sum(parameter.value.size for parameter in self.parameters())

    def summary(self) -> str:
        """Options that differ from their defaults, and a table of the parameters and their ties.

        Returns
        -------
        str
        """
        defaults = inspect.signature(type(self)).parameters
        options = ", ".join(
            f"{name}={f'<{len(value):,} ids>' if isinstance(value, list) else repr(value)}"
            for name, value in self._config.items()
            if value != defaults[name].default
        )
        first_names: dict[int, str] = {}
        rows, seen = [], set()
        for name, weight in self._owned(View):
            if id(weight) in seen:  # shared between layers as it is
                continue
            seen.add(id(weight))
            shape = " x ".join(f"{n:,}" for n in weight.shape)
            known = [first_names[id(base)] for base in weight.bases if id(base) in first_names]
            new = [base for base in weight.bases if id(base) not in first_names]
            first_names |= {id(base): name for base in new}
            own = [_sizes(new)] if new else []
            how = [weight.how] if weight.how else []
            rows.append((name, shape, ", ".join([*own, *(f"= {first}" for first in known), *how])))
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines = [
            f"  {name:<{widths[0]}}  {shape:>{widths[1]}}  {size}" for name, shape, size in rows
        ]
        total, dtype = self.size(), self.parameters()[0].dtype
        megabytes = total * dtype.itemsize / 1e6
        return "\n".join(
            [
                f"{type(self).__name__}({options})",
                *lines,
                f"  {total:,} parameters, {megabytes:.1f} MB as {dtype}",
            ]
        )


def _sizes(bases: list[Parameter]) -> str:
    """How many numbers there are in Parameters, and how many of them are frozen."""
    size = sum(base.value.size for base in bases)
    frozen = sum(base.value.size for base in bases if not base.trainable)
    if frozen in (0, size):
        return f"{size:,}{'  frozen' if frozen else ''}"
    return f"{size:,}, {frozen:,} of them frozen"


def check_size(owner: str, name: str, size: Any) -> int:
    """A size as an int; an error unless it is an integer, Python's or NumPy's, of one or more.

    >>> check_size("RNNLM", "layers", 0)
    Traceback (most recent call last):
        ...
    ValueError: RNNLM: layers should be an integer of 1 or more, got 0
    """
    if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
        raise ValueError(f"{owner}: {name} should be an integer of 1 or more, got {size!r}")
    return int(size)
