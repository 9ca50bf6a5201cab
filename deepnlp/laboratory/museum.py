"""The bug museum: layers with one mistake each, and how often the diagnosis names it.

The exhibits are exercises and live with the tests (``tests/museum`` in a checkout): find the
mistake, then look at ``answer``, ``hint`` and ``right``.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy

from deepnlp.backend import Generator
from deepnlp.gradcheck import CAUSES, Report, check_gradients


class Sizes(NamedTuple):
    """Sizes of one random shape, by their letters."""

    N: int
    T: int
    D: int
    H: int
    V: int


Build = Callable[[Any, Generator, Sizes], tuple[Any, tuple[Any, ...]]]
"""Takes the class, a generator and sizes; gives an object and its inputs."""


@dataclass(frozen=True)
class Exhibit:
    """A layer of the museum.

    Attributes
    ----------
    name : str
    kind : type
        The class.
    answer : str
        Its mistake, a name of :data:`deepnlp.gradcheck.CAUSES`; "" for a layer that is right.
    hint : str
        For who wants to find it alone.
    right : str
        The line as it should be.
    build : callable
    """

    name: str
    kind: type
    answer: str
    hint: str
    right: str
    build: Build

    def check(self, seed: int) -> tuple[Sizes, Report]:
        """Build it in a random shape, with random weights, and check it.

        Parameters
        ----------
        seed : int

        Returns
        -------
        Sizes
        Report
        """
        rng = numpy.random.default_rng(seed)
        sizes = random_sizes(rng)
        layer, inputs = self.build(self.kind, rng, sizes)
        return sizes, check_gradients(layer, *inputs, rng=rng)


def exhibit(answer: str, hint: str, right: str, build: Build) -> Callable[[type], type]:
    """Put a class into the museum.

    Parameters
    ----------
    answer : str
        Its mistake, or "" for a layer that is right.
    hint, right : str
    build : callable
        Takes the class, a generator and :class:`Sizes`; gives an object and its inputs.

    Returns
    -------
    callable
        A decorator that leaves the class as it is.

    Raises
    ------
    ValueError
        If the answer is not in the list of causes.
    """
    if answer and answer not in CAUSES:
        raise ValueError(f"exhibit: {answer!r} is not a cause of deepnlp.gradcheck.CAUSES")

    def decorate(kind: type) -> type:
        kind.exhibit = Exhibit(kind.__name__, kind, answer, hint, right, build)  # type: ignore
        return kind

    return decorate


def load_exhibits(folder: str | Path) -> list[Exhibit]:
    """All exhibits in the files of a folder.

    Parameters
    ----------
    folder : path

    Returns
    -------
    list of Exhibit

    Raises
    ------
    FileNotFoundError
        If there is no such folder, or no exhibit in it.
    """
    folder = Path(folder)
    files = sorted(folder.glob("*.py")) if folder.is_dir() else []
    found = [one for file in files for one in _exhibits_of(file)]
    if not found:
        raise FileNotFoundError(
            f"no bug museum in {folder}: its layers live in tests/museum of a checkout; run this "
            "there, or name the folder"
        )
    return found


def _exhibits_of(file: Path) -> Iterator[Exhibit]:
    name = f"deepnlp_museum_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    for kind in vars(module).values():
        shown = vars(kind).get("exhibit") if isinstance(kind, type) else None
        if isinstance(shown, Exhibit) and kind.__module__ == name:
            yield shown


def random_sizes(rng: Generator) -> Sizes:
    """Small random sizes.

    Parameters
    ----------
    rng : numpy.random.Generator

    Returns
    -------
    Sizes
    """
    low, high = (1, 2, 2, 2, 4), (5, 6, 6, 6, 9)
    return Sizes(*(int(n) for n in rng.integers(low, high)))


# --- Scoring ----------------------------------------------------------------------------------


@dataclass
class Score:
    """How an exhibit fared.

    Attributes
    ----------
    name, answer : str
    shown : int
        Shapes in which the mistake makes a difference.
    right : int
        Those in which it was named first, or a cause that is the same there.
    named : dict of str to int
        What was named first, and how often.
    """

    name: str
    answer: str
    shown: int = 0
    right: int = 0
    named: dict[str, int] = field(default_factory=dict)


@dataclass
class MuseumScore:
    """The score of the whole museum.

    Attributes
    ----------
    exhibits : list of Score
    checked : int
        Number of right layers that were checked.
    accused : list of str
        Those that were called wrong.
    """

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
    """Show an exhibit in random shapes until its mistake made a difference in that many.

    Parameters
    ----------
    shown : Exhibit
    shapes : int
    seed : int

    Returns
    -------
    Score
    """
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

    Parameters
    ----------
    answer : str
    names : list of str
        The likeliest first.
    sizes : Sizes

    Returns
    -------
    bool

    Examples
    --------
    >>> is_named("sign", ["constant factor", "sign"], Sizes(3, 4, 5, 6, 7))
    False
    """
    if names[0] == answer:
        return True
    coincide = min(sizes.N, sizes.T) <= 2 or len({sizes.N, sizes.T, sizes.D, sizes.H}) < 4
    return coincide and answer in names


def false_accusations(right: list[Exhibit], count: int = 1000, seed: int = 0) -> list[str]:
    """Check right layers in random shapes.

    Parameters
    ----------
    right : list of Exhibit
        Layers without a mistake.
    count : int
        How many to check, in turn.
    seed : int

    Returns
    -------
    list of str
        Those that were accused.
    """
    accused = []
    for k in range(count):
        shown = right[k % len(right)]
        sizes, report = shown.check(seed * 1_000_003 + k)
        if not report.ok or any(not row.ok and row.causes for row in report.rows):
            accused.append(f"{shown.name} {tuple(sizes)} seed {k}")
    return accused


def provided_layers() -> list[Exhibit]:
    """The layers of :mod:`deepnlp.layers`, in random shapes, as exhibits without a mistake.

    Returns
    -------
    list of Exhibit
    """
    from deepnlp.laboratory.shapes import RANDOM_CASES

    def without_class(build: Any) -> Build:
        return lambda _, rng, sizes: build(rng, sizes)

    return [
        Exhibit(name, object, "", "", "", without_class(build))
        for name, build in RANDOM_CASES.items()
    ]
