"""An example of every layer and every model, in any sizes, with random and asymmetric weights.

Gradient checks (``deepnlp gradcheck``), the tests of what every layer must do, those of the quick
kernels and of the stand-in for CuPy, the comparison with PyTorch and the diagnosis all run from
this table. A new layer has a row here and is then checked with the others.
"""

import inspect
import math
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy

from deepnlp import layers, models
from deepnlp.backend import Generator, asarray
from deepnlp.backend.shapes import shape
from deepnlp.examples.composed import composed
from deepnlp.gradcheck import Report, check_gradients
from deepnlp.layer import Layer, Sequential
from deepnlp.models import (
    CBOW,
    RNNLM,
    Model,
    RegularisedRNNLM,
    SimpleRNNLM,
    SkipGram,
    TiedRNNLM,
)
from deepnlp.models.regularised_rnnlm import rnnlm_of
from deepnlp.parameter import Parameter

TOLERANCES = {"auto": 1e-12, "complex": 1e-12, "central": 1e-6}
"""Largest error of a gradient, by method."""


class Sizes(NamedTuple):
    """Batch, time, input, hidden and vocabulary size, and places of a memory."""

    N: int
    T: int
    D: int
    H: int
    V: int
    S: int = 3


SIZES = Sizes(N=2, T=4, D=3, H=5, V=7)
SINGLE = SIZES._replace(N=1, T=1, S=1)
SMALL = Sizes(N=2, T=3, D=3, H=2, V=4)  # of layers made of many others

ROWS = tomllib.loads(files(__package__).joinpath("layers.toml").read_text("utf-8"))

Inputs = tuple[Any, ...]
Build = Callable[[Generator, Sizes], tuple[Layer, Inputs]]


@dataclass(frozen=True)
class Example:
    """A layer and inputs for it; ``any_shape`` if the inputs may have any shape."""

    name: str
    covers: type[Layer]
    build: Build
    sizes: Sizes = SIZES
    any_shape: bool = False

    def __str__(self) -> str:
        return self.name.replace(" ", "-")

    def make(self, dtype: str = "float64", seed: int = 0) -> tuple[Layer, Inputs]:
        """Return the layer and its inputs in a number type."""
        layer, inputs = self.build(numpy.random.default_rng(seed), self.sizes)
        return layer.astype(dtype), tuple(
            x.astype(dtype) if x.dtype.kind == "f" else x for x in inputs
        )

    def check(self, method: str = "auto", seed: int = 0) -> Report:
        """Check all gradients, to 1e-12 by complex steps and 1e-6 by central differences."""
        rng = numpy.random.default_rng(seed)
        layer, inputs = self.build(rng, self.sizes)
        return check_gradients(layer, *inputs, method=method, rng=rng, tolerance=TOLERANCES[method])


def weight(rng: Generator, *shape: int) -> Parameter:
    """Normal numbers; a matrix is divided by the square root of its number of rows."""
    values = rng.normal(size=shape)
    return Parameter(values / math.sqrt(max(1, shape[0])) if len(shape) > 1 else values)


def redrawn(layer: Any, rng: Generator) -> Any:
    """Make a layer with other weights than fresh ones: these are larger, and no bias is zero."""
    for parameter in layer.parameters():
        parameter.value = weight(rng, *parameter.shape).value
    return layer


def _inputs(rng: Generator, text: str, sizes: Sizes) -> Inputs:
    """Return the inputs that :func:`_input` describes, with ``"; "`` between."""
    return tuple(_input(rng, part, sizes) for part in text.split("; "))


def _input(rng: Generator, text: str, sizes: Sizes) -> Any:
    """Draw numbers for ``"N,T,D"``, integers for ``"ids N,T"``, "targets" and "labels".

    ``"mask N,S"`` gives truth values, the first of each row True, and ``"lengths T"`` a length from
    0 to T for each of N sequences, T for the first.
    """
    kind, _, letters = text.rpartition(" ")
    axes = shape(letters, sizes._asdict())
    if not kind:
        return asarray(rng.normal(size=axes))
    if kind == "lengths":
        others = rng.integers(0, axes[0] + 1, size=max(0, sizes.N - 1))
        return asarray(numpy.array([*axes, *others][: sizes.N], dtype=int))
    if kind == "mask":
        return asarray((rng.random(axes) < 0.5) | (numpy.arange(axes[-1]) == 0))
    values = rng.integers(0, 2 if kind == "labels" else sizes.V, size=axes)
    if kind == "ids" and values.size:
        values.flat[0] = values.flat[-1]  # one id occurs twice
    elif kind == "targets" and values.size > 1:
        values.flat[-2] = -1  # one target does not count
    return asarray(values)


def _layer(
    note: str, kind: type[Layer], weights: str, inputs: str, any_shape: bool = False, **options: Any
) -> Iterator[Example]:
    """Yield a layer in the usual sizes and with N = T = 1; ``-`` is a weight that is None."""

    def build(rng: Generator, sizes: Sizes) -> tuple[Layer, Inputs]:
        by_letter = sizes._asdict()
        given = [
            None if axes == "-" else weight(rng, *shape(axes, by_letter))
            for axes in weights.split()
        ]
        if "rng" in inspect.signature(kind).parameters:
            options["rng"] = rng
        return kind(*given, **options), _inputs(rng, inputs, sizes)

    name = f"{kind.__name__} {note}".strip()
    yield Example(name, kind, build, SIZES, any_shape)
    if "T" in inputs and not options.get("stateful"):
        yield Example(f"{name} N=1 T=1", kind, build, SINGLE, any_shape)


def _composed(name: str) -> Iterator[Example]:
    """Make a layer made of others."""

    def build(rng: Generator, sizes: Sizes) -> tuple[Layer, Inputs]:
        inputs, make = composed(sizes, rng)[name]
        return redrawn(make(), rng), _inputs(rng, inputs, sizes)

    covers = {**vars(layers), **vars(models)}[name.split()[0]]
    yield Example(name, covers, build, SMALL)
    if "stateful" not in name and not issubclass(covers, Model):
        yield Example(f"{name} N=1 T=1", covers, build, SMALL._replace(N=1, T=1, S=1))


def _rnnlm(
    name: str,
    options: Callable[[Sizes, Generator], dict[str, Any]],
    sizes: Sizes = SIZES,
    covers: type[RNNLM] = RegularisedRNNLM,
) -> Example:
    """A language model with certain options."""

    def build(rng: Generator, s: Sizes) -> tuple[Layer, Inputs]:
        usual: Any = {"embed_size": s.D, "hidden_size": s.H, "dropout": 0.3}
        usual |= {"vocab_size": s.V, "dtype": "float64", "rng": rng}
        model = redrawn(rnnlm_of(usual | options(s, rng)), rng)
        ids, targets = _windows(rng, s)
        return model, (ids, targets % model.output_size)

    return Example(f"{covers.__name__} {name}", covers, build, sizes)


def _plain(cell: str, tie: str) -> Example:
    def options(s: Sizes, _: Generator) -> dict[str, Any]:
        return {"cell": cell, "tie": tie, "embed_size": s.H if tie == "tied" else s.D}

    return _rnnlm(f"{cell} {tie}", options, covers=RNNLM)


def _awd_lstm(augment: float) -> Example:
    """Return all that AWD-LSTM adds to a language model, and the augmented loss."""
    dropouts = {"dropout": 0.25, "input_dropout": 0.4, "output_dropout": 0.4, "embed_dropout": 0.3}
    others = {"locked_dropout": True, "weight_drop": 0.5, "ar": 0.8, "tar": 0.6}
    loss = {"augment": augment, "augment_temperature": 3.0}

    def options(s: Sizes, _: Generator) -> dict[str, Any]:
        return {"hidden_size": [s.H, s.H, s.D], "layers": 3, **dropouts, **others, **loss}

    return _rnnlm("AWD-LSTM" + (" augmented" if augment else ""), options, SMALL)


def _rows_in_part(tie: str) -> Example:
    """Make a model of words only read, one only predicted, and some frozen vectors."""

    def options(s: Sizes, rng: Generator) -> dict[str, Any]:
        embedding = asarray(rng.normal(size=(s.V, s.D)))
        rows = {"trained_ids": [0, s.V - 2], "output_ids": [*range(s.V - 2, 0, -2), -1]}
        return {"tie": tie, "layers": 1, "embedding": embedding, "freeze_embedding": True, **rows}

    return _rnnlm(f"{tie}, rows shared in part", options)


def _windows(rng: Generator, s: Sizes) -> Inputs:
    """Return ids (N, T) and those that follow."""
    ids = rng.integers(0, s.V, size=(s.N, s.T + 1))
    return asarray(ids[:, :-1]), asarray(ids[:, 1:])


def _tied_rnnlm(rng: Generator, s: Sizes) -> tuple[Layer, Inputs]:
    return redrawn(TiedRNNLM(s.V, s.H, "float64", rng), rng), _windows(rng, s)


def _simple_rnnlm(rng: Generator, s: Sizes) -> tuple[Layer, Inputs]:
    return SimpleRNNLM(s.V, s.D, s.H, dtype="float64", rng=rng), _windows(rng, s)


def _word2vec(kind: Any, tie: str, loss: str, **options: Any) -> Example:
    """Make a model and N blocks of H words with T centres and D negatives; vectors of size D."""

    def build(rng: Generator, s: Sizes) -> tuple[Layer, Inputs]:
        model = redrawn(kind(s.V, s.D, tie, loss, dtype="float64", **options), rng)
        inputs = _inputs(rng, "ids N,H; labels N,T,H; ids N,T; ids N,D", s)
        inputs[1][:1, :1] = int(s.T == 1)  # of several centres one has no window
        return model, inputs[: 4 if loss == "negative" else 3]

    return Example(" ".join([kind.__name__, tie, loss, *options.values()]), kind, build)


def _tied_stack(rng: Generator, s: Sizes) -> tuple[Layer, Inputs]:
    """Make a model plugged together by hand: its output weight is the embedding, transposed."""

    def lstm() -> Layer:
        weights = weight(rng, s.D, 4 * s.D), weight(rng, s.D, 4 * s.D), weight(rng, 4 * s.D)
        return layers.TimeLSTM(*weights, stateful=True)

    def dropout(locked: bool = False) -> Layer:
        return layers.TimeDropout(0.5, locked=locked, rng=rng)

    embed = layers.Embedding(weight(rng, s.V, s.D))
    hidden = [dropout(), lstm(), dropout(locked=True), lstm()]
    model = Sequential(embed, *hidden, layers.TimeAffine(embed.W.T, weight(rng, s.V)))
    return model, (_input(rng, "ids N,T", s),)


def _rows() -> Iterator[Example]:
    for title, row in ROWS.items():
        kind, _, note = title.partition(" ")
        yield from _layer(note, getattr(layers, kind), **{"weights": "", **row})
    for name in composed(SMALL, None):
        yield from _composed(name)
    yield Example("Sequential tied LSTM", Sequential, _tied_stack)
    for cell in ("lstm", "gru", "rnn"):
        for tie in ("none", "tied", "tied+L"):
            yield _plain(cell, tie)
    yield _plain("mingru", "tied")
    yield _plain("mlstm", "none")
    for augment in (0.0, 0.7):
        yield _awd_lstm(augment)
    for tie in ("none", "tied+L"):
        yield _rows_in_part(tie)
    yield Example("SimpleRNNLM", SimpleRNNLM, _simple_rnnlm)
    yield Example("TiedRNNLM", TiedRNNLM, _tied_rnnlm)
    for loss in ("negative", "softmax"):
        for tie in ("none", "tied", "tied+L"):
            yield _word2vec(CBOW, tie, loss, context="sum" if tie == "tied" else "mean")
            yield _word2vec(SkipGram, tie, loss)


EXAMPLES: dict[str, Example] = {example.name: example for example in _rows()}
"""By name, such as ``"TimeLSTM stateful"``."""
