"""A user's class from a file, with random weights and inputs to check it on."""

from __future__ import annotations

import importlib.util
import inspect
import math
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy

from deepnlp.backend import Generator, asarray
from deepnlp.errors import DeepNLPError
from deepnlp.examples import shape

DEFAULTS = {"N": 3, "T": 4, "D": 4, "H": 5, "V": 7}
"""Sizes of letters that are not given."""

WEIGHTS = {
    "W": "D,H", "b": "H", "Wx": "D,H", "Wh": "H,H", "E": "V,D", "U": "V,D", "g": "D", "gamma": "D",
    "beta": "D", "bh": "H",
}  # fmt: skip
"""Shapes of weights by their customary names in a constructor."""

STATES = {"h_prev": "N,H", "c_prev": "N,H", "h": "N,H", "c": "N,H", "h0": "N,H", "c0": "N,H"}
"""Shapes of states by their customary names in forward."""

INTEGERS = ("ids", "xs_ids", "words", "targets", "labels", "t", "ts")
"""Inputs with these names are integers below V."""


def load_class(target: str) -> type:
    """The class ``FILE.py:CLASS``, or the only one with forward and backward in ``FILE.py``."""
    path, _, name = target.rpartition(":") if target.count(":") else (target, "", "")
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"no file {path}: expected a target such as mylayer.py:MyLayer")
    spec = importlib.util.spec_from_file_location(f"own_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        told = f"{path} cannot be loaded: {type(error).__name__}: {error}"
        raise ValueError(told) from error
    classes = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and hasattr(value, "forward")
        and hasattr(value, "backward")
    }
    if name in classes:
        return classes[name]
    if not name and len(classes) == 1:
        return next(iter(classes.values()))
    known = ", ".join(classes) or "none"
    raise ValueError(f"{path} has no class {name!r} with forward and backward; it has: {known}")


def build_own(
    kind: type, inputs: list[str], weights: list[str], rng: Generator
) -> tuple[Any, tuple[Any, ...]]:
    """An object of a class and inputs for it, at random.

    ``inputs`` are texts such as ``"N=3,D=4"``, one for each input of forward; the shape of one that
    is left out follows from its name. For an input of integers, V says how many ids there are and
    is no axis. ``weights`` are texts such as ``"Wx=D,4H"``; customary names and sizes need none.
    """
    specs = [_read_sizes(text) for text in inputs]
    sizes = dict(DEFAULTS)
    for given in specs:
        sizes.update(given)
    shapes = dict(_read_weight(text) for text in weights)
    layer = _construct(kind, shapes, sizes, rng)
    parameters = list(inspect.signature(layer.forward).parameters.values())
    arrays = []
    for position, parameter in enumerate(parameters):
        has_default = parameter.default is not inspect.Parameter.empty
        if position >= len(specs) and has_default:
            break
        spec = specs[position] if position < len(specs) else None
        arrays.append(_input(parameter.name, spec, specs, sizes, rng))
    return layer, tuple(arrays)


@contextmanager
def failures_in_one_line(kind: type) -> Iterator[None]:
    """Context that turns an error in a user's class into a ValueError with its file and line."""
    try:
        yield
    except Exception as error:
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
    parameters = inspect.signature(kind).parameters.values()
    arguments: dict[str, Any] = {}
    for parameter in parameters:
        name = parameter.name
        if name in shapes or (name in WEIGHTS and parameter.default is inspect.Parameter.empty):
            size = shape(shapes.get(name, WEIGHTS.get(name, "")), sizes)
            arguments[name] = asarray(rng.normal(size=size) / math.sqrt(max(size[0], 1)))
        elif parameter.default is not inspect.Parameter.empty or parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            continue
        elif name in sizes:
            arguments[name] = sizes[name]
        elif name == "rng":
            arguments[name] = rng
        elif name == "p":
            arguments[name] = 0.4
        else:
            raise ValueError(
                f"{kind.__name__} takes {name!r}, whose shape is not known: say it with "
                f"--weight '{name}=D,H'"
            )
    return kind(**arguments)


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
    if spec is not None:
        return asarray(rng.normal(size=tuple(spec.values())))
    if name in STATES:
        return asarray(rng.normal(size=shape(STATES[name], sizes)))
    if not specs:
        raise ValueError(f"forward takes {name!r}: say its shape with --input 'N=3,D=4'")
    return asarray(rng.normal(size=numpy.array(list(specs[0].values()))))
