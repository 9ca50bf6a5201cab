"""What models share besides their layers: options, a vocabulary, vectors of words, a summary."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from numbers import Integral
from typing import Any

from deepnlp.backend import Array, asnumpy, float_type
from deepnlp.layer import Layer
from deepnlp.parameter import Parameter, View
from deepnlp.text import Vocabulary
from deepnlp.vectors import WordVectors

SIDES = ("input", "output")


class Model(Layer):
    """Layers with a loss, which a checkpoint can build again from their options.

    A subclass calls :meth:`_remember` in its constructor and says in :meth:`_tables` which of its
    weights hold the vectors of words.

    Attributes
    ----------
    vocab : Vocabulary or None
        What the ids stand for. A trainer sets it, a checkpoint keeps it.
    vocab_size : int
    vocab_names : tuple of str
        The attributes that hold vocabularies; a checkpoint keeps them all.
    """

    vocab: Vocabulary | None = None
    vocab_size: int
    vocab_names: tuple[str, ...] = ("vocab",)

    def vectors(self, side: str = "input") -> Array:
        """The vectors of all words, one a row.

        Parameters
        ----------
        side : {"input", "output"}
            Those that the model reads words by, or those that it predicts them by.

        Returns
        -------
        array (V, D)
            A copy; of an output that is not tied (V, H), and of one that predicts only K of the
            words (K, H), those of ``config()["output_ids"]``.

        Raises
        ------
        ValueError
            If the side is neither.
        """
        if side not in SIDES:
            raise ValueError(f"side should be one of {', '.join(map(repr, SIDES))}, got {side!r}")
        table: Array = self._tables()[SIDES.index(side)].value
        return table.copy()

    def word_vectors(self, side: str = "input") -> WordVectors:
        """The vectors of all words with the words, to look for neighbours or to save to a file.

        Parameters
        ----------
        side : {"input", "output"}
            As for :meth:`vectors`.

        Returns
        -------
        WordVectors

        Raises
        ------
        ValueError
            If the side is neither, or the model has no vocabulary.
        """
        matrix = asnumpy(self.vectors(side))
        if self.vocab is None:
            raise ValueError("the model has no vocabulary, which would say whose the vectors are")
        words = self.vocab.tokens
        predicted = self.config().get("output_ids") if side == "output" else None
        if predicted is not None:
            words = tuple(words[id_] for id_ in predicted)
        return WordVectors(words, matrix)

    def _tables(self) -> tuple[View, View]:
        """The weights with a row for each word, of the input and of the output."""
        raise TypeError(f"{type(self).__name__} has no vectors of words")

    def _remember(self, **arguments: Any) -> None:
        """Keep the constructor's arguments, from which :meth:`config` rebuilds the model."""
        for name in arguments:
            if name in ("layers", "tags") or name.endswith("_size"):
                arguments[name] = check_sizes(type(self).__name__, name, arguments[name])
            if name.endswith("vocab_size"):
                setattr(self, name, arguments[name])
        self._config = arguments
        self._cast_state(arguments["dtype"])

    def config(self) -> dict[str, Any]:
        """Arguments that build a model of this shape: ``type(model)(**model.config())``.

        Returns
        -------
        dict of str to JSON-able values
        """
        return dict(self._config)

    def _cast_state(self, dtype: Any) -> None:
        self._config["dtype"] = float_type(dtype).name

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
            f"{name}={f'<{len(value):,} ids>' if name.endswith('_ids') else repr(value)}"
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


def id_list(owner: str, name: str, ids: Any) -> list[int] | None:
    """A list of ids from a sequence of them, None from None."""
    if ids is None:
        return None
    ids = ids.tolist() if hasattr(ids, "tolist") else ids
    listed: list[Any] = [*ids] if isinstance(ids, Iterable) else [None]
    if not all(isinstance(id_, Integral) and not isinstance(id_, bool) for id_ in listed):
        raise TypeError(f"{owner}: {name} should be a sequence of integers, got {ids!r:.60}")
    return [int(id_) for id_ in listed]


def check_sizes(owner: str, name: str, sizes: Any) -> int | list[int]:
    """A size as :func:`check_size` gives it, or a list of such from a list."""
    if isinstance(sizes, list | tuple):
        return [check_size(owner, name, size) for size in sizes]
    return check_size(owner, name, sizes)
