"""The base of all models: options, a vocabulary, vectors of words, a summary."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from typing import Any, ClassVar, get_type_hints

from deepnlp.backend import Array, asnumpy, float_type
from deepnlp.layer import Layer
from deepnlp.layers import Embedding
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.models.options import Ids
from deepnlp.options import Option, options_of
from deepnlp.parameter import View
from deepnlp.summaries import titled
from deepnlp.text import Vocabulary
from deepnlp.vectors import WordVectors

SIDES = ("input", "output")


class Model(Layer):
    """Layers with a loss, which a checkpoint can build again from their options.

    The constructor of a subclass begins with ``self._remember(Subclass, **locals())``, which checks
    the arguments and keeps those that a checkpoint holds. :meth:`_tables` says which of its weights
    hold the vectors of words. Every subclass is known to checkpoints by its :meth:`kind`.

    Attributes
    ----------
    vocab : Vocabulary or None
        What the ids stand for. A trainer sets it, a checkpoint keeps it.
    vocab_size : int
    vocab_names : tuple of str
        The attributes that hold vocabularies; a checkpoint keeps them all. The size of ``vocab``
        is the argument ``vocab_size``.
    starts : tuple of str
        Arguments that only say how the weights start; a checkpoint holds the weights instead.
    """

    vocab: Vocabulary | None = None
    vocab_size: int
    vocab_names: tuple[str, ...] = ("vocab",)
    starts: ClassVar[tuple[str, ...]] = ("rng",)
    kinds: ClassVar[dict[str, type[Model]]] = {}  # every subclass, by its kind()

    def __init_subclass__(cls, **options: Any) -> None:
        """Make a subclass known to checkpoints."""
        super().__init_subclass__(**options)
        Model.kinds[cls.kind()] = cls

    @classmethod
    def kind(cls) -> str:
        """Return the class's name in a checkpoint, with its module if it is not deepnlp's."""
        is_ours = cls.__module__.partition(".")[0] == __name__.partition(".")[0]
        return cls.__name__ if is_ours else f"{cls.__module__}.{cls.__qualname__}"

    def vectors(self, side: str = "input") -> Array:
        """Return the vectors of all words, one a row.

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
        return self._tables()[SIDES.index(side)].value.copy()

    def word_vectors(self, side: str = "input") -> WordVectors:
        """Return the vectors with their words, to look for neighbours or to save to a file.

        Parameters
        ----------
        side : {"input", "output"}
            As for :meth:`vectors`.

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
        """Return the weights with a row for each word: the first embedding's and the output's."""
        embed: Any = next((e for e in self._layers() if isinstance(e, Embedding)), None)
        output: Any = getattr(self, "output", None)
        if embed is None or output is None:
            raise TypeError(f"{type(self).__name__} has no vectors of words")
        return embed.W, output.W.T

    def _remember(self, kind: type[Model] | None = None, /, **arguments: Any) -> None:
        """Check the arguments of the constructor of ``kind``, and keep them for :meth:`config`."""
        kind = kind or type(self)
        hints, options = get_type_hints(kind.__init__), options_of(kind).values()
        config = {n: v for n, v in arguments.items() if n not in ("self", *kind.starts)}
        if "dtype" in config:
            config["dtype"] = float_type(config["dtype"]).name
        for option in options:
            config[option.argument] = option.check(config[option.argument], option.argument)
        for name in config.keys() - {option.argument for option in options}:
            if hints.get(name) is int:
                config[name] = Option(low=1, kind=int).check(config[name], name)
            elif hints.get(name) == Ids and config[name] is not None:
                if not isinstance(config[name], Iterable):
                    raise TypeError(f"{name} should be integers, got {config[name]!r}")
                config[name] = [Option(kind=int).check(id_, name) for id_ in config[name]]
        for name in (f"{vocab}_size" for vocab in self.vocab_names):
            if name in config:
                setattr(self, name, config[name])
        try:
            json.dumps(config)
        except TypeError as error:
            raise TypeError(
                f"{kind.__name__}: a checkpoint keeps the arguments of its constructor as JSON "
                f"({error}): name in {kind.__name__}.starts those that it need not keep"
            ) from error
        self._config = config

    def config(self) -> dict[str, Any]:
        """Return arguments that build a model of this shape: ``type(model)(**model.config())``.

        Raises
        ------
        TypeError
            If the constructor has not remembered its arguments.
        """
        name, config = type(self).__name__, dict(getattr(self, "_config", {}))
        try:
            inspect.signature(type(self)).bind(**config)
        except TypeError as error:
            raise TypeError(
                f"{name} does not know what it was built from ({error}): its constructor should "
                f"begin with self._remember({name}, **locals())"
            ) from error
        return config

    def _cast_state(self, dtype: Any) -> None:
        if "dtype" in getattr(self, "_config", {}):
            self._config["dtype"] = float_type(dtype).name

    def size(self) -> int:
        """Return the number of parameters, a tied weight counted once."""
        return sum(parameter.value.size for parameter in self.parameters())

    def numbers_for_backward(self) -> int:
        """Estimate how many numbers the recurrent layers save for backward, per token.

        Of each layer the input, its dropout and mask, hidden state, memory cell and gates; all
        except the masks once more as gradients.
        """
        layers = [layer for layer in self._layers() if isinstance(layer, TimeRecurrent)]
        rounds = sum(3 * R.shape[1] for layer in layers for R in getattr(layer, "Rs", ()))
        memory = sum(2 * layer.state_size for layer in layers if not layer.shows_state)
        return rounds + memory + sum(7 * layer.H + 2 * layer.b.shape[0] for layer in layers)

    def _title(self) -> str:
        """Return the name of the class, with the options that are not at their defaults."""
        defaults = inspect.signature(type(self)).parameters
        options = getattr(self, "_config", {}).items()
        return titled(self, {n: v for n, v in options if v != defaults[n].default})
