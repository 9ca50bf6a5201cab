"""What a broken layer is: a right class, the line that is altered, and the answer expected."""

import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha1
from inspect import signature
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


def section(source: str, name: str) -> tuple[int, int]:
    """Where a class, a function or a pair of functions begins and ends in its module's source."""
    start = re.search(rf"^(class|def) {name}(_forward)?\b", source, re.M)
    if start is None:
        raise ValueError(f"no {name}")
    end = re.search(rf"^(class|def) (?!{name}(_|\b))", source[start.end() :], re.M)
    return start.start(), len(source) if end is None else start.end() + end.start()


@lru_cache(maxsize=1)
def load(layer: str, edits: tuple[tuple[str, str], ...] = ()) -> Any:
    """What "module.Name" names, with its edits, from a file of its own as a learner's is.

    That is a class, a function that gives a loss and its gradients, or the pair of the functions
    Name_forward and Name_backward.
    """
    module_name, _, name = layer.rpartition(".")
    source = LAYERS.joinpath(*module_name.split(".")).with_suffix(".py").read_text("utf-8")
    for right, wrong in edits:
        start, end = section(source, name)
        body = source[start:end]
        if body.count(right) != 1:
            raise ValueError(
                f"{right!r} stands {body.count(right)} times in {layer}, expected once"
            )
        source = source[:start] + body.replace(right, wrong) + source[end:]
    module = _import(source)
    if hasattr(module, name):
        return getattr(module, name)
    return getattr(module, f"{name}_forward"), getattr(module, f"{name}_backward")


def make(layer: str, arguments: Arguments, edits: tuple[tuple[str, str], ...] = ()) -> Any:
    """The same, a class called with the arguments; functions and a class with ctx take none."""
    made = load(layer, edits)
    if isinstance(made, type) and next(iter(signature(made.forward).parameters)) != "ctx":
        return made(*arguments)
    return made


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
    return make(case.layer, arguments, case.edits if broken else ()), inputs


def pairs(cases: list[Broken], names: list[tuple[str, str]]) -> list[Pair]:
    """Pairs of the cases that have these names."""
    by_name = {case.name: case for case in cases}
    return [Pair(f"{a} + {b}", by_name[a], by_name[b]) for a, b in names]
