"""What a broken layer is: a right class, the line that is altered, and the answer expected."""

import importlib.util
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha1
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

LAYERS = Path(__file__).parent / "layers"
SHAPES = 5
Arguments = tuple[Any, ...]
Example = tuple[Arguments, Arguments]
"""The arguments of the constructor, those of forward."""
Build = Callable[[np.random.Generator], Example]

_folder = tempfile.TemporaryDirectory(prefix="broken-")
_number = count()


@dataclass(frozen=True)
class Broken:
    """One layer with one mistake in its backward.

    ``build(rng)`` gives the arguments of the constructor and those of forward, in sizes that rng
    draws. ``right`` is a piece of the class's source that stands there once, ``wrong`` what the
    learner wrote instead. ``truth`` says in words what is wrong. ``accept`` are the names of
    causes that are right, ``weak`` those that are not false but name a consequence. ``place`` are
    the words (variables of the class, letters of the equation) of which the sentence of a cause
    must hold one, where the name alone does not say what is meant.
    """

    name: str
    family: str
    layer: str
    build: Build
    right: str
    wrong: str
    truth: str
    accept: tuple[str, ...]
    place: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()

    @property
    def edits(self) -> tuple[tuple[str, str], ...]:
        """The replacements that make the broken source."""
        return ((self.right, self.wrong),)


@dataclass(frozen=True)
class Pair:
    """A layer with two independent mistakes, those of two broken layers of one class."""

    name: str
    first: Broken
    second: Broken

    @property
    def edits(self) -> tuple[tuple[str, str], ...]:
        """Both replacements."""
        return self.first.edits + self.second.edits

    @property
    def layer(self) -> str:
        """The class, as in Broken."""
        return self.first.layer

    @property
    def build(self) -> Build:
        """The arguments, as in Broken."""
        return self.first.build


@dataclass
class Family:
    """The broken layers of one class."""

    name: str
    layer: str
    build: Build
    cases: list[Broken] = field(default_factory=list)
    new: bool = True  # the package has no such layer

    def broken(
        self,
        name: str,
        right: str,
        wrong: str,
        truth: str,
        accept: tuple[str, ...],
        place: tuple[str, ...] = (),
        weak: tuple[str, ...] = (),
    ) -> None:
        """Add a case."""
        name = f"{self.name}: {name}"
        self.cases.append(
            Broken(
                name, self.name, self.layer, self.build, right, wrong, truth, accept, place, weak
            )
        )


def sizes(rng: np.random.Generator, k: int, choices: tuple[int, ...] = (3, 5, 7, 9)) -> list[int]:
    """k sizes, odd, larger than 2 and all different."""
    return [int(n) for n in rng.permutation(choices)[:k]]


def class_source(source: str, name: str) -> tuple[int, int]:
    """Where the class begins and ends in the source of its module."""
    start = source.index(f"class {name}:") if f"class {name}:" in source else -1
    if start < 0:
        raise ValueError(f"no class {name}")
    end = source.find("\nclass ", start)
    return start, len(source) if end < 0 else end + 1


def load(layer: str, edits: tuple[tuple[str, str], ...] = ()) -> type:
    """The class named "module.Class", with its edits, from a file of its own as a learner's is."""
    module_name, name = layer.split(".")
    source = (LAYERS / f"{module_name}.py").read_text(encoding="utf-8")
    for right, wrong in edits:
        start, end = class_source(source, name)
        body = source[start:end]
        if body.count(right) != 1:
            raise ValueError(
                f"{right!r} stands {body.count(right)} times in {layer}, expected once"
            )
        source = source[:start] + body.replace(right, wrong) + source[end:]
    return getattr(_import(source), name)


def _import(source: str) -> ModuleType:
    """A module of this source, written to a temporary file."""
    name = f"learner_{sha1(source.encode()).hexdigest()[:12]}_{next(_number)}"
    path = Path(_folder.name) / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def example(case: Broken | Pair, shape: int, broken: bool = True) -> tuple[Any, Arguments]:
    """The layer, broken or right, and its inputs, in one of five shapes."""
    arguments, inputs = case.build(np.random.default_rng([11, shape]))
    return load(case.layer, case.edits if broken else ())(*arguments), inputs
