"""Random weights and inputs for a user's class or functions, by their customary names."""

import ast
import inspect
import math
import re
import tomllib
from importlib.resources import files
from typing import Any

import numpy

from deepnlp.backend import Generator, asarray
from deepnlp.backend.shapes import shape
from deepnlp.gradcheck.loading import Own

_DATA = tomllib.loads(files(__package__).joinpath("own.toml").read_text("utf-8"))
DEFAULTS: dict[str, int] = _DATA["sizes"]
LETTERS, WEIGHTS, STATES = _DATA["letters"], _DATA["weights"], _DATA["states"]
OPTIONS: dict[str, Any] = _DATA["options"]
INTEGERS: list[str] = _DATA["integers"]["names"].split()


class _Shape(str):
    """The shape of an input, and no value."""


_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def build_own(
    own: Own, inputs: list[str], weights: list[str], rng: Generator
) -> tuple[Any, list[Any], dict[str, Any], dict[str, Any]]:
    """What is checked, made at random, with inputs for it, by position and by name.

    Last come the arguments with which a class was made.

    ``inputs`` are texts such as ``"N=3,D=4"``, one for each input of forward; the shape of one that
    is left out follows from its name. For an input of integers, V says how many ids there are and
    is no axis. ``weights`` are texts such as ``"Wx=D,4H"``; customary names and sizes need none.
    """
    layer, made, first = own, dict[str, Any](), _first(own)
    read = [(text, _read_named(text, _taken(own))) for text in inputs]
    named_specs = dict(filter(None, (one for _, one in read)))
    specs = [_read_sizes(text) for text, one in read if one is None]
    sizes = {**DEFAULTS, **{letter: size for given in specs for letter, size in given.items()}}
    shapes = dict(map(_read_weight, weights))
    gates = next((k for word, k in (("lstm", 4), ("gru", 3)) if word in first.__name__.lower()), 1)
    usual = {name: re.sub("H$", f"{gates}H", letters) for name, letters in WEIGHTS.items()}
    if _taken(own) & set(INTEGERS):
        usual["W"] = "V,D"  # a table
    forward, known = getattr(own, "forward", first), usual | shapes
    if inspect.isclass(own) and not isinstance(
        inspect.getattr_static(own, "forward", None), staticmethod
    ):
        made = _arguments(own, usual, shapes, sizes, rng)
        layer, known = own(**made), shapes
        forward = getattr(layer, "forward", getattr(layer, "loss", layer))
    arrays: list[Any] = []
    named: dict[str, Any] = {}
    left = list(specs)
    for parameter in inspect.signature(forward).parameters.values():
        name = parameter.name
        is_given = bool(left) or name in shapes or name in named_specs
        is_optional = parameter.default is not parameter.empty and not is_given
        if parameter.kind in _ANY or name in ("ctx", "context") or is_optional:
            continue
        if name in named_specs:
            value = _named_input(name, named_specs[name], sizes, rng)
        elif name in OPTIONS and name not in shapes:
            value = OPTIONS[name]
        elif name in known:
            value = _weight(known[name], sizes, rng)
        else:
            value = _input(name, left.pop(0) if left else None, specs, sizes, rng)
        if parameter.kind is parameter.KEYWORD_ONLY or len(named):
            named[name] = value
        else:
            arrays.append(value)
    return layer, arrays, named, made


def named_arrays(own: Own, inputs: list[str], weights: list[str], rng: Generator) -> dict[str, Any]:
    """Inputs and weights by name, from texts such as ``"x=N,D"`` and ``"W=D,4"``."""
    read = [(text, _read_named(text, _taken(own))) for text in inputs]
    specs = [_read_sizes(text) for text, one in read if one is None]
    sizes = {**DEFAULTS, **{letter: size for given in specs for letter, size in given.items()}}
    given = dict(filter(None, (one for _, one in read)))
    given |= {name: _Shape(letters) for name, letters in map(_read_weight, weights)}
    return {name: _named_input(name, value, sizes, rng) for name, value in given.items()}


def _first(own: Own) -> Any:
    return own[0] if isinstance(own, tuple) else own


def _weight(letters: str, sizes: dict[str, int], rng: Generator) -> Any:
    """A random weight, smaller the more rows it has."""
    size = shape(letters, sizes)
    return asarray(rng.normal(size=size) / math.sqrt(max(size[0], 1)))


def _taken(own: Own) -> set[str]:
    """Names of what forward takes, but for letters of sizes."""
    forward: Any = getattr(_first(own), "forward", _first(own))
    return set(inspect.signature(forward).parameters) - set(DEFAULTS)


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


def _named_input(name: str, given: Any, sizes: dict[str, int], rng: Generator) -> Any:
    if not isinstance(given, _Shape):
        return given
    size = shape(given, sizes)
    if name in INTEGERS:
        return asarray(rng.integers(0, sizes["V"], size=size))
    return asarray(rng.normal(size=size))


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


def _arguments(
    kind: type,
    usual: dict[str, str],
    shapes: dict[str, str],
    sizes: dict[str, int],
    rng: Generator,
) -> dict[str, Any]:
    """Arguments for a class, made at random, by name."""
    arguments: dict[str, Any] = {}
    for parameter in inspect.signature(kind).parameters.values():
        name = parameter.name
        needed = parameter.default is inspect.Parameter.empty
        is_size = name in sizes or _letter_of(name) is not None
        if is_size and shapes.get(name, "").isdigit():
            arguments[name] = int(shapes[name])
        elif name in shapes or (name in usual and needed):
            arguments[name] = _weight(shapes.get(name, usual.get(name, "")), sizes, rng)
        elif not needed or parameter.kind in _ANY:
            continue
        elif is_size:
            arguments[name] = sizes[_letter_of(name) or name if name not in sizes else name]
        elif name == "rng":
            arguments[name] = rng
        elif name in ("p", "ratio", "dropout_ratio", "dropout"):
            arguments[name] = 0.4
        else:
            raise ValueError(
                f"{kind.__name__} takes {name!r}, whose shape is not known: say it with "
                f"--weight '{name}=D,H'"
            )
    return arguments


def _letter_of(name: str) -> str | None:
    """The letter for a size by its customary name, such as D for ``input_size``."""
    return next(
        (letter for letter, names in LETTERS.items() if name.lower() in names.split()), None
    )


def _input(
    name: str,
    spec: dict[str, int] | None,
    specs: list[dict[str, int]],
    sizes: dict[str, int],
    rng: Generator,
) -> Any:
    if name in INTEGERS:
        given = spec or specs[0] if specs else {"N": sizes["N"]}
        axes = [letter for letter in given if letter not in "DHV"]
        below = sizes["V"] if (spec and "V" in spec) or "V" in given else list(given.values())[-1]
        return asarray(rng.integers(0, below, size=[given[a] for a in axes] or [sizes["N"]]))
    if "mask" in name.lower():
        like = spec or (specs[0] if specs else {"N": sizes["N"]})
        return asarray(rng.integers(0, 2, size=tuple(like.values())).astype(float))
    if spec is not None:
        return asarray(rng.normal(size=tuple(spec.values())))
    if name in STATES:
        return asarray(rng.normal(size=shape(STATES[name], sizes)))
    if not specs:
        raise ValueError(f"forward takes {name!r}: say its shape with --input 'N=3,D=4'")
    return asarray(rng.normal(size=numpy.array(list(specs[0].values()))))
