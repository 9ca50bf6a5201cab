"""A user's class or functions from a file, with random weights and inputs to check them on."""

from __future__ import annotations

import importlib.util
import inspect
import math
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy

from deepnlp.backend import Generator, asarray
from deepnlp.backend.shapes import shape
from deepnlp.errors import DeepNLPError

DEFAULTS = {"N": 3, "T": 4, "D": 4, "H": 5, "V": 7}
"""Sizes of letters that are not given."""

LETTERS = {
    "D": "input_size input_dim in_features in_dim n_in num_inputs fan_in input_features d_in d "
    "d_model wordvec_size embedding_size embedding_dim embed_size embed_dim dim features",
    "H": "hidden_size hidden_dim output_size output_dim out_features out_dim n_out num_outputs h "
    "fan_out output_features d_out n_hidden num_hidden units hidden",
    "V": "vocab_size vocabulary_size num_embeddings num_classes n_classes vocab v",
    "N": "batch_size batch n",
    "T": "seq_len seq_length sequence_length time_size time_steps t",
}
"""Customary names of sizes in a constructor, by letter."""

WEIGHTS = {
    "W": "D,H", "w": "D,H", "b": "H", "Wx": "D,H", "Wh": "H,H", "E": "V,D", "U": "V,D", "g": "D",
    "gamma": "D", "beta": "D", "bh": "H", "weight": "D,H", "weights": "D,H", "bias": "H",
}  # fmt: skip
"""Shapes of weights by their customary names in a constructor or a function."""

STATES = {"h_prev": "N,H", "c_prev": "N,H", "h": "N,H", "c": "N,H", "h0": "N,H", "c0": "N,H",
          "prev_h": "N,H", "prev_c": "N,H"}  # fmt: skip
"""Shapes of states by their customary names in forward."""

_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

INTEGERS = ("ids", "idx", "xs_ids", "words", "targets", "target", "labels", "t", "ts")
"""Inputs with these names are integers below V."""


Own = type | tuple[Callable[..., Any], Callable[..., Any]]
"""A class with forward and backward, or a pair of functions."""


def load_own(target: str) -> Own:
    """What ``FILE.py:NAME`` names, or the only class or pair in ``FILE.py``.

    A name may be that of a class, of two functions ``affine_forward`` and ``affine_backward``
    without their ending, or of two functions, with a comma between them.
    """
    path, _, name = target.rpartition(":") if target.count(":") else (target, "", "")
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"no file {path}: expected a target such as mylayer.py:MyLayer")
    defined = _definitions(file)
    first, comma, second = (part.strip() for part in name.partition(","))
    if comma and callable(defined.get(first)) and callable(defined.get(second)):
        return defined[first], defined[second]
    found: dict[str, Own] = {
        key: value
        for key, value in defined.items()
        if inspect.isclass(value) and hasattr(value, "forward") and hasattr(value, "backward")
    }
    for key, value in defined.items():
        stem, _, end = key.rpartition("_")
        if end == "forward" and callable(defined.get(f"{stem}_backward")):
            found[stem] = (value, defined[f"{stem}_backward"])
    name = name.removesuffix("_forward")
    if name in found:
        return found[name]
    if not name and len(found) == 1:
        return next(iter(found.values()))
    known = ", ".join(found) or "none"
    raise ValueError(
        f"{path} has no class {name!r} with forward and backward, and no functions {name}_forward "
        f"and {name}_backward; it has: {known}"
    )


def _definitions(file: Path) -> dict[str, Any]:
    """The classes and functions that a file defines."""
    spec = importlib.util.spec_from_file_location(f"own_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        told = f"{file} cannot be loaded: {type(error).__name__}: {error}"
        raise ValueError(told) from error
    return {
        key: value
        for key, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and callable(value)
    }


def build_own(
    own: Own, inputs: list[str], weights: list[str], rng: Generator
) -> tuple[Any, list[Any], dict[str, Any]]:
    """What is checked, made at random, with inputs for it, by position and by name.

    ``inputs`` are texts such as ``"N=3,D=4"``, one for each input of forward; the shape of one that
    is left out follows from its name. For an input of integers, V says how many ids there are and
    is no axis. ``weights`` are texts such as ``"Wx=D,4H"``; customary names and sizes need none.
    """
    given_specs = [_read_sizes(text) for text in inputs]
    specs, sizes = list(given_specs), dict(DEFAULTS)
    for given in specs:
        sizes.update(given)
    shapes = dict(_read_weight(text) for text in weights)
    layer: Any
    if isinstance(own, tuple):
        layer, forward, known = own, own[0], WEIGHTS | shapes
    elif isinstance(inspect.getattr_static(own, "forward"), staticmethod):
        layer, known = own, WEIGHTS | shapes
        forward = layer.forward
    else:
        layer, known = _construct(own, shapes, sizes, rng), shapes
        forward = layer.forward
    arrays: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in inspect.signature(forward).parameters.values():
        name = parameter.name
        is_given = bool(specs) or name in shapes
        if parameter.kind in _ANY or name in ("ctx", "context"):
            continue
        if parameter.default is not inspect.Parameter.empty and not is_given:
            continue
        if name in known:
            size = shape(known[name], sizes)
            value = asarray(rng.normal(size=size) / math.sqrt(max(size[0], 1)))
        else:
            spec = specs.pop(0) if specs else None
            value = _input(name, spec, given_specs, sizes, rng)
        if parameter.kind is parameter.KEYWORD_ONLY or len(named):
            named[name] = value
        else:
            arrays.append(value)
    return layer, arrays, named


@contextmanager
def failures_in_one_line(own: Own) -> Iterator[None]:
    """Context that turns an error in a user's code into a ValueError with its file and line."""
    kind = own[0] if isinstance(own, tuple) else own
    try:
        yield
    except (Exception, SystemExit) as error:
        file = inspect.getfile(kind)
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == file]
        if not lines and isinstance(error, ValueError | TypeError | DeepNLPError):
            raise
        place = f"{file}, line {lines[-1]}" if lines else file
        told = f"{type(error).__name__}: {error}"
        raise ValueError(f"{place}: {kind.__name__} raised {told}") from error


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


def _construct(kind: type, shapes: dict[str, str], sizes: dict[str, int], rng: Generator) -> Any:
    arguments: dict[str, Any] = {}
    for parameter in inspect.signature(kind).parameters.values():
        name = parameter.name
        needed = parameter.default is inspect.Parameter.empty
        if name in shapes or (name in WEIGHTS and needed):
            size = shape(shapes.get(name, WEIGHTS.get(name, "")), sizes)
            arguments[name] = asarray(rng.normal(size=size) / math.sqrt(max(size[0], 1)))
        elif not needed or parameter.kind in _ANY:
            continue
        elif name in sizes:
            arguments[name] = sizes[name]
        elif (letter := _letter_of(name)) is not None:
            arguments[name] = sizes[letter]
        elif name == "rng":
            arguments[name] = rng
        elif name in ("p", "ratio", "dropout_ratio", "dropout"):
            arguments[name] = 0.4
        else:
            raise ValueError(
                f"{kind.__name__} takes {name!r}, whose shape is not known: say it with "
                f"--weight '{name}=D,H'"
            )
    return kind(**arguments)


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
