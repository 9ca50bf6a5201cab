"""Random weights and inputs for a user's class or functions, by their customary names."""

import ast
import inspect
import math
import re
import tomllib
from importlib.resources import files
from typing import Any

from deepnlp.backend import Generator, asarray
from deepnlp.backend.shapes import shape
from deepnlp.gradcheck.loading import Own
from deepnlp.gradcheck.names import CONTEXTS
from deepnlp.layers import GRU, LSTM, RNN

_DATA = tomllib.loads(files(__package__).joinpath("own.toml").read_text("utf-8"))
DEFAULTS: dict[str, int] = _DATA["sizes"]
WEIGHTS, STATES, OPTIONS = _DATA["weights"], _DATA["states"], _DATA["options"]
ARGUMENTS: dict[str, float] = _DATA["arguments"]
INTEGERS: list[str] = _DATA["integers"]["names"].split()
LETTERS = {name: letter for letter, names in _DATA["letters"].items() for name in names.split()}


class _Shape(str):
    """The shape of an input, and no value."""


_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def build_own(
    own: Own, inputs: list[str], weights: list[str], rng: Generator
) -> tuple[Any, list[Any], dict[str, Any], dict[str, Any]]:
    """Make the object to check and its inputs at random, by position and by name.

    Last come the arguments with which a class was made.

    ``inputs`` are texts such as ``"N=3,D=4"``, one for each input of forward; the shape of one that
    is left out follows from its name. For an input of integers, V says how many ids there are and
    is no axis. ``weights`` are texts such as ``"Wx=D,4H"``; customary names and sizes need none.
    """
    maker = _Maker(own, inputs, weights, rng)
    layer, made, known = own, dict[str, Any](), maker.usual | maker.shapes
    forward: Any = getattr(own, "forward", maker.first)
    is_static = isinstance(inspect.getattr_static(own, "forward", None), staticmethod)
    if inspect.isclass(own) and not is_static:
        made = maker.arguments(own)
        layer, known = own(**made), maker.shapes
        forward = getattr(layer, "forward", getattr(layer, "loss", layer))
    arrays: list[Any] = []
    named: dict[str, Any] = {}
    left = list(maker.specs)
    for parameter in inspect.signature(forward).parameters.values():
        name = parameter.name
        is_given = bool(left) or name in maker.shapes or name in maker.named
        is_optional = parameter.default is not parameter.empty and not is_given
        if parameter.kind in _ANY or name in CONTEXTS or is_optional:
            continue
        if name in maker.named:
            value = maker.of_name(name)
        elif name in OPTIONS and name not in maker.shapes:
            value = OPTIONS[name]
        elif name in known:
            value = maker.weight(known[name])
        else:
            value = maker.input(name, left.pop(0) if left else None)
        if parameter.kind is parameter.KEYWORD_ONLY or len(named):
            named[name] = value
        else:
            arrays.append(value)
    return layer, arrays, named, made


def named_arrays(own: Own, inputs: list[str], weights: list[str], rng: Generator) -> dict[str, Any]:
    """Inputs and weights by name, from texts such as ``"x=N,D"`` and ``"W=D,4"``."""
    maker = _Maker(own, inputs, weights, rng)
    maker.named |= {name: _Shape(letters) for name, letters in maker.shapes.items()}
    return {name: maker.of_name(name) for name in maker.named}


class _Maker:
    """Random arrays for what a user's code takes, of shapes that texts or customary names say.

    Attributes
    ----------
    named : dict
        A shape or a value for each input that was given by name.
    specs : list of dict
        The sizes by their letters of each input that was given without a name.
    sizes : dict of str to int
        All sizes by their letters.
    shapes, usual : dict of str to str
        The letters of weights, as they were given and as they are by custom.
    """

    def __init__(self, own: Own, inputs: list[str], weights: list[str], rng: Generator) -> None:
        self.rng, self.first = rng, own[0] if isinstance(own, tuple) else own
        forward: Any = getattr(self.first, "forward", self.first)
        taken = set(inspect.signature(forward).parameters) - set(DEFAULTS)  # no letters of sizes
        read = [(text, _read_named(text, taken)) for text in inputs]
        self.named: dict[str, Any] = dict(filter(None, (one for _, one in read)))
        self.specs = [_read_sizes(text) for text, one in read if one is None]
        self.sizes = dict(DEFAULTS)
        for spec in self.specs:
            self.sizes |= spec
        self.shapes = dict(map(_read_weight, weights))
        title = self.first.__name__.lower()
        kinds = (kind for kind in (LSTM, GRU) if kind.__name__.lower() in title)
        gates = len(next(kinds, RNN).gates)
        self.usual = {n: re.sub("H$", f"{gates}H", letters) for n, letters in WEIGHTS.items()}
        if taken & set(INTEGERS):
            self.usual["W"] = "V,D"  # a table

    def _normal(self, size: tuple[int, ...]) -> Any:
        return asarray(self.rng.normal(size=size))

    def weight(self, letters: str) -> Any:
        """A random weight, smaller the more rows it has."""
        size = shape(letters, self.sizes)
        return asarray(self.rng.normal(size=size) / math.sqrt(max(size[0], 1)))

    def of_name(self, name: str) -> Any:
        """Return what was given by name: a value, or an array of a shape."""
        given = self.named[name]
        if not isinstance(given, _Shape):
            return given
        size = shape(given, self.sizes)
        if name in INTEGERS:
            return asarray(self.rng.integers(0, self.sizes["V"], size=size))
        return self._normal(size)

    def input(self, name: str, spec: dict[str, int] | None) -> Any:
        """An input of a shape of its own, or of one that follows from its name or the first one."""
        like = spec or (self.specs[0] if self.specs else {"N": self.sizes["N"]})
        if name in INTEGERS:
            below = self.sizes["V"] if "V" in like else list(like.values())[-1]
            axes = [size for letter, size in like.items() if letter not in "DHV"]
            return asarray(self.rng.integers(0, below, size=axes or [self.sizes["N"]]))
        if "mask" in name.lower():
            return asarray(self.rng.integers(0, 2, size=tuple(like.values())).astype(float))
        if spec is None and name in STATES:
            return self._normal(shape(STATES[name], self.sizes))
        if not self.specs:
            raise ValueError(f"forward takes {name!r}: say its shape with --input '{name}=3,4'")
        return self._normal(tuple(like.values()))

    def arguments(self, kind: type) -> dict[str, Any]:
        """Arguments for a class, by name."""
        arguments: dict[str, Any] = {}
        for parameter in inspect.signature(kind).parameters.values():
            name, needed = parameter.name, parameter.default is parameter.empty
            letter = name if name in self.sizes else LETTERS.get(name.lower())
            if letter is not None and self.shapes.get(name, "").isdigit():
                arguments[name] = int(self.shapes[name])
            elif name in self.shapes or (name in self.usual and needed):
                arguments[name] = self.weight({**self.usual, **self.shapes}[name])
            elif not needed or parameter.kind in _ANY:
                continue
            elif letter is not None:
                arguments[name] = self.sizes[letter]
            elif name == "rng":
                arguments[name] = self.rng
            elif name in ARGUMENTS:
                arguments[name] = ARGUMENTS[name]
            else:
                raise ValueError(
                    f"{kind.__name__} takes {name!r}, whose shape is not known: say it with "
                    f"--weight '{name}=D,H'"
                )
        return arguments


def _read_named(text: str, taken: set[str]) -> tuple[str, Any] | None:
    """A name and a shape or a value: ``ids=3,5``, ``x=N,D``, ``p={'mode': 'train'}``.

    ``b=3`` is a shape where forward takes ``b``, and else the size of an axis.
    """
    name, _, rest = text.partition("=")
    is_shape = re.fullmatch(r"\w+(,\w+)+", rest) is not None or (name in taken and rest.isdigit())
    if name.isidentifier() and is_shape:
        return name, _Shape(rest)
    is_value = rest[:1] in ("{", "[", "(", "'", '"') or rest in ("None", "True", "False")
    return (name, ast.literal_eval(rest)) if name.isidentifier() and is_value else None


def _read_sizes(text: str) -> dict[str, int]:
    pairs = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    if not pairs or not all(re.fullmatch(r"[A-Za-z]\w*", a) and b.isdigit() for a, _, b in pairs):
        raise ValueError(f"--input should read like 'N=3,D=4', got {text!r}")
    return {letter: int(size) for letter, _, size in pairs}


def _read_weight(text: str) -> tuple[str, str]:
    name, equals, letters = text.partition("=")
    if not (name and equals and letters):
        raise ValueError(f"--weight should read like 'Wx=D,4H', got {text!r}")
    return name.strip(), letters.strip()
