"""The bug museum: layers with one mistake each, and how often the diagnosis names it.

The exhibits, in the files beside this one, are exercises: find the mistake, then look at
``answer``, ``hint`` and ``right``. ``deepnlp gradcheck --museum`` prints the score.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy

from deepnlp import DeepNLPError
from deepnlp.backend import Generator
from deepnlp.cli.output import aside, print_json
from deepnlp.examples import EXAMPLES, SIZES, Sizes
from deepnlp.gradcheck import CAUSES, Report, check_gradients
from deepnlp.gradcheck.own import failures_in_one_line

WANTED_SHARE = 0.9

Build = Callable[[Any, Generator, Sizes], tuple[Any, tuple[Any, ...]]]
"""Takes the class, a generator and sizes; gives an object and its inputs."""


@dataclass(frozen=True)
class Exhibit:
    """A layer of the museum."""

    name: str
    kind: type
    answer: str
    hint: str
    right: str
    build: Build

    def check(self, seed: int) -> tuple[Sizes, Report]:
        """Build it in a random shape, with random weights, and check it."""
        rng = numpy.random.default_rng(seed)
        sizes = random_sizes(rng)
        with failures_in_one_line(self.kind):
            layer, inputs = self.build(self.kind, rng, sizes)
            return sizes, check_gradients(layer, *inputs, rng=rng)


def exhibit(answer: str, hint: str, right: str, build: Build) -> Callable[[type], type]:
    """Put a class into the museum."""
    if answer and answer not in CAUSES:
        raise ValueError(f"exhibit: {answer!r} is not a cause of deepnlp.gradcheck.CAUSES")

    def decorate(kind: type) -> type:
        kind.exhibit = Exhibit(kind.__name__, kind, answer, hint, right, build)  # type: ignore
        return kind

    return decorate


def load_exhibits(folder: str | Path) -> list[Exhibit]:
    """All exhibits in the files of a folder, of which none is run before all have been read."""
    folder = Path(folder)
    files = sorted(folder.glob("[!_]*.py")) if folder.is_dir() else []
    strange = [file.name for file in files if not _shows_exhibits(file)]
    if strange or not files:
        which = f" ({strange[0]} has no class under @exhibit(...))" if strange else ""
        raise FileNotFoundError(
            f"no bug museum in {folder}{which}: its layers are in tests/museum of a checkout"
        )
    return [one for file in files for one in _exhibits_of(file)]


def _shows_exhibits(file: Path) -> bool:
    """Whether a file has a class under ``@exhibit(...)``, by its text alone."""
    try:
        body = ast.parse(file.read_bytes()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
        return False
    decorators = [d for node in body if isinstance(node, ast.ClassDef) for d in node.decorator_list]
    return any(
        isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "exhibit"
        for one in decorators
    )


def _exhibits_of(file: Path) -> Iterator[Exhibit]:
    name = f"deepnlp_museum_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        told = f"{file} cannot be loaded: {type(error).__name__}: {error}"
        raise DeepNLPError(told) from error
    for kind in vars(module).values():
        shown = vars(kind).get("exhibit") if isinstance(kind, type) else None
        if isinstance(shown, Exhibit) and kind.__module__ == name:
            yield shown


def random_sizes(rng: Generator) -> Sizes:
    """Small random sizes."""
    low, high = (1, 2, 2, 2, 4), (5, 6, 6, 6, 9)
    return Sizes(*(int(n) for n in rng.integers(low, high)))


# --- Scoring ----------------------------------------------------------------------------------


@dataclass
class Score:
    """How an exhibit fared."""

    name: str
    answer: str
    shown: int = 0
    right: int = 0
    named: dict[str, int] = field(default_factory=dict)


@dataclass
class MuseumScore:
    """The score of the whole museum."""

    exhibits: list[Score]
    checked: int = 0
    accused: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Share of the shapes in which the cause was named."""
        shown = sum(one.shown for one in self.exhibits)
        return sum(one.right for one in self.exhibits) / max(shown, 1)

    def to_dict(self) -> dict[str, Any]:
        """As what JSON knows."""
        return {
            "share": self.share,
            "exhibits": [asdict(one) for one in self.exhibits],
            "right_layers_checked": self.checked,
            "falsely_accused": self.accused,
        }


def score_exhibit(shown: Exhibit, shapes: int = 20, seed: int = 0) -> Score:
    """Show an exhibit in random shapes until its mistake made a difference in that many."""
    score = Score(shown.name, shown.answer)
    for k in range(10 * shapes):
        if score.shown == shapes:
            break
        sizes, report = shown.check(seed * 100_003 + k)
        if report.ok and not any(row.causes for row in report.rows):
            continue  # the mistake makes no difference in this shape
        causes = next(row.causes for row in report.rows if row.causes)
        names = [cause.name for cause in causes]
        score.shown += 1
        score.right += is_named(shown.answer, names, sizes)
        score.named[names[0]] = score.named.get(names[0], 0) + 1
    return score


def is_named(answer: str, names: list[str], sizes: Sizes) -> bool:
    """Whether a cause is named first, or second to one that is the same in this shape.

    Two causes are the same in a shape if both give the gradient that was found, and the shape is
    one in which things coincide: two sizes are equal, or one of them is 1 or 2.
    """
    if names[0] == answer:
        return True
    coincide = min(sizes.N, sizes.T) <= 2 or len({sizes.N, sizes.T, sizes.D, sizes.H}) < 4
    return coincide and answer in names


def false_accusations(right: list[Exhibit], count: int = 1000, seed: int = 0) -> list[str]:
    """Check right layers in random shapes."""
    accused = []
    for k in range(count):
        shown = right[k % len(right)]
        sizes, report = shown.check(seed * 1_000_003 + k)
        if not report.ok or any(not row.ok and row.causes for row in report.rows):
            accused.append(f"{shown.name} {tuple(sizes)} seed {k}")
    return accused


def provided_layers() -> list[Exhibit]:
    """The layers and models of the package, in random shapes, as exhibits without a mistake."""

    def without_class(build: Any) -> Build:
        return lambda _, rng, sizes: build(rng, sizes)

    return [
        Exhibit(name, object, "", "", "", without_class(example.build))
        for name, example in EXAMPLES.items()
        if example.sizes is SIZES
    ]


# --- The command ------------------------------------------------------------------------------


def run(arguments: argparse.Namespace) -> int:
    """Score the diagnosis, and see that no right layer is accused."""
    out = aside(arguments)
    exhibits = load_exhibits(arguments.museum or Path(__file__).parent)
    broken = [one for one in exhibits if one.answer]
    right = [one for one in exhibits if not one.answer] + provided_layers()
    score = MuseumScore([])
    width = max((len(one.name) for one in broken), default=0)
    for shown in broken:
        one = score_exhibit(shown, arguments.shapes, arguments.seed)
        score.exhibits.append(one)
        told = f"{one.name:{width}}  {one.right:3} of {one.shown:3}  {one.answer}"
        others = [f"{name} ({k})" for name, k in one.named.items() if name != one.answer]
        print(told + (f"; named: {', '.join(others)}" if others else ""), file=out, flush=True)
    score.checked = 50 * arguments.shapes
    score.accused = false_accusations(right, score.checked, arguments.seed)
    print(
        f"\n{len(broken)} broken layers in {arguments.shapes} shapes each: the cause is named "
        f"first in {score.share:.1%}\n{score.checked} checks of {len(right)} right layers: "
        f"{len(score.accused)} accused",
        file=out,
    )
    for accused in score.accused:
        print(f"  accused: {accused}", file=out)
    if arguments.json:
        print_json(score.to_dict())
    return 0 if score.share >= WANTED_SHARE and not score.accused else 1
