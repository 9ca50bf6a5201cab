"""The collection of broken layers: learners' layers, and the mistakes that are made in them.

A folder of ``cases`` is a set, a file of it a module of a learner: its ``prelude`` and its layers.
A ``layer`` has the ``source`` of a right class (or function, or pair of functions), a ``family``
is such a layer with an ``example``, the text that draws its arguments and inputs, and a
``mistake`` is a replacement in the source: ``wrong`` stands where ``right`` should.
"""

import importlib.util
import os
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from inspect import signature
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from deepnlp.examples import Sizes
from deepnlp.gradcheck import CAUSES

CASES = Path(__file__).parent / "cases"
SETS = ("first", "second", "third", "fourth", "museum", "repaired", "unseen")
SHAPES = 5
SMALL = (3, 4, 5, 6)
Arguments = tuple[Any, ...]

_folder = tempfile.TemporaryDirectory(prefix="broken-")
_number = count()


@dataclass(frozen=True)
class Layer:
    """A right layer: its name, its source, and the source of the whole module."""

    name: str
    source: str = field(repr=False)
    module: str = field(repr=False)


@dataclass(frozen=True)
class Family:
    """A layer in examples of one kind; ``known`` if the package has such a layer too.

    ``example`` is the text of a few statements that assign ``inputs`` and, where the constructor
    takes some, ``arguments``. Besides ``np`` and ``rng`` it knows the functions of ``build``.
    """

    name: str
    layer: Layer
    example: str
    known: bool = False

    def build(self, rng: np.random.Generator) -> tuple[Arguments, Arguments]:
        """The arguments of the constructor, those of forward, in sizes that rng draws."""
        scope: dict[str, Any] = {
            "np": np,
            "rng": rng,
            "SMALL": SMALL,
            "normal": lambda *shape: rng.normal(size=shape),
            "sizes": partial(sizes, rng),
            "small_sizes": lambda: small_sizes(rng)[:5],
            "tiny_sizes": lambda: rng.integers((1, 1, 1, 1), (5, 5, 6, 6)).tolist(),
            "weights": lambda *shapes: tuple(rng.normal(size=s) * 0.6 for s in shapes),
            "repeated": partial(repeated, rng),
            "arguments": (),
        }
        exec(self.example, scope)
        return tuple(scope["arguments"]), tuple(scope["inputs"])


@dataclass(frozen=True)
class Broken:
    """A layer with one mistake.

    ``right`` is a piece of the layer's source that stands there once, ``wrong`` what the learner
    wrote instead; without them the source itself is what is shown. ``truth`` says in words what is
    wrong, ``hint`` asks the question that leads there. ``accept`` are the names of causes that are
    right, ``weak`` those that are not false but name a consequence. ``place`` are the words
    (variables of the class, letters of the equation) of which the sentence of a cause must hold
    one, where the name alone does not say what is meant. ``rows`` has the names that are expected
    for each gradient, where these are more than one.
    """

    name: str
    family: Family
    right: str = ""
    wrong: str = ""
    truth: str = ""
    hint: str = ""
    accept: tuple[str, ...] = ()
    place: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()

    @property
    def edits(self) -> tuple[tuple[str, str], ...]:
        """The replacements that make the broken source."""
        return ((self.right, self.wrong),) if self.right else ()


@dataclass(frozen=True)
class Pair:
    """A layer with two independent mistakes, those of two broken layers of one family."""

    name: str
    first: Broken
    second: Broken

    @property
    def edits(self) -> tuple[tuple[str, str], ...]:
        """Both replacements."""
        return self.first.edits + self.second.edits

    @property
    def family(self) -> Family:
        """The layer and its example, as in Broken."""
        return self.first.family


@dataclass
class Collection:
    """A set: its families, their broken layers, and pairs of these."""

    families: list[Family] = field(default_factory=list)
    cases: list[Broken] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)

    @property
    def right(self) -> list[Family]:
        """The families whose source has no mistake as it stands."""
        shown = [case.family for case in self.cases if not case.edits]
        return [family for family in self.families if family not in shown]


def read_files(paths: Iterable[Path]) -> Collection:
    """A set from its files; no learner's code is run."""
    collection, pairs = Collection(), []
    for path in paths:
        try:
            pairs += _add(collection, tomllib.loads(path.read_text("utf-8")))
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(f"{path.name}: {type(error).__name__}: {error}") from error
    by_name = {case.name: case for case in collection.cases}
    collection.pairs = [Pair(f"{a} + {b}", by_name[a], by_name[b]) for a, b in pairs]
    return collection


def _add(collection: Collection, table: dict[str, Any]) -> list[list[str]]:
    """Add the layers of a file; return the names of its pairs."""
    layers = table.get("layer", [])
    module = "\n\n".join([table.get("prelude", ""), *(row["source"] for row in layers)])
    for row in layers:
        layer = Layer(row["name"], row["source"], module)
        for given in row["family"]:
            mistakes = given.pop("mistake", [])
            family = Family(layer=layer, **given)
            collection.families.append(family)
            collection.cases += [_broken(family, mistake) for mistake in mistakes]
    return table.get("pairs", [])


def _broken(family: Family, mistake: dict[str, Any]) -> Broken:
    """A row of a file, whose lists become tuples."""
    rows = tuple(mistake.pop("rows", {}).items())
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in mistake.items()
    }
    case = Broken(family=family, rows=rows, **values)
    for name in (*case.accept, *case.weak, *(cause for _, cause in rows)):
        if name not in CAUSES:
            raise ValueError(f"{case.name}: {name!r} is not a cause of deepnlp.gradcheck.CAUSES")
    return case


@lru_cache
def read(name: str) -> Collection:
    """One of the sets."""
    return read_files(sorted(CASES.joinpath(name).glob("*.toml")))


def sizes(rng: np.random.Generator, k: int, choices: tuple[int, ...] = (3, 5, 7, 9)) -> list[int]:
    """k sizes, larger than 2 and all different."""
    return [int(n) for n in rng.permutation(choices)[:k]]


def small_sizes(rng: np.random.Generator) -> Sizes:
    """Small random sizes, of which some may be equal."""
    low, high = (1, 2, 2, 2, 4), (5, 6, 6, 6, 9)
    return Sizes(*(int(n) for n in rng.integers(low, high)))


def repeated(rng: np.random.Generator, high: int, *shape: int) -> np.ndarray:
    """Ids below high, of which the first two rows are the same."""
    ids = rng.integers(high, size=shape)
    ids[1] = ids[0]
    return ids


@lru_cache
def load(layer: Layer, edits: tuple[tuple[str, str], ...] = ()) -> Any:
    """A layer with its edits, from a file of its own as a learner's is.

    That is a class, a function that gives a loss and its gradients, or its outputs and a function
    for the backward, or the pair of the functions NAME_forward and NAME_backward.
    """
    source = layer.source
    for right, wrong in edits:
        if source.count(right) != 1:
            raise ValueError(
                f"{right!r} stands {source.count(right)} times in {layer.name}, expected once"
            )
        source = source.replace(right, wrong)
    module = _import(layer.module.replace(layer.source, source))
    if hasattr(module, layer.name):
        return getattr(module, layer.name)
    return getattr(module, f"{layer.name}_forward"), getattr(module, f"{layer.name}_backward")


def altered_lines(case: Broken) -> set[int]:
    """The numbers of the lines of the learner's module that a mistake has changed."""
    layer = case.family.layer
    before = layer.module[: layer.module.index(layer.source)]
    before += layer.source[: layer.source.index(case.right)] if case.right else ""
    first, kept = before.count("\n") + 1, case.right.splitlines()
    lines = dict(enumerate(case.wrong.splitlines() or [""], first))
    return {number for number, line in lines.items() if line not in kept} or set(lines)


def make(layer: Layer, arguments: Arguments, edits: tuple[tuple[str, str], ...] = ()) -> Any:
    """The same, a class called with the arguments; functions and a class with ctx take none."""
    made = load(layer, edits)
    if isinstance(made, type) and next(iter(signature(made.forward).parameters)) != "ctx":
        return made(*arguments)
    return made


def _import(source: str) -> ModuleType:
    """A module of this source, written to a temporary file."""
    name = f"learner_{os.getpid()}_{next(_number)}"  # processes share the folder
    path = Path(_folder.name) / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def example(
    case: Broken | Pair, seed: int | list[int], broken: bool = True
) -> tuple[Any, Arguments]:
    """The layer, broken or right, and its inputs."""
    arguments, inputs = case.family.build(np.random.default_rng(seed))
    return make(case.family.layer, arguments, case.edits if broken else ()), inputs
