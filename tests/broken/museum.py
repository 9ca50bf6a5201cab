"""The bug museum: how often the diagnosis names the mistakes of a set first.

The layers in ``cases/museum`` are exercises: find the mistake, then look at ``accept``, ``hint``
and ``right``. ``deepnlp gradcheck --museum`` prints the score.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.cli.shared import Answer
from deepnlp.errors import DeepNLPError
from deepnlp.examples import EXAMPLES, SIZES, Example, Sizes
from deepnlp.gradcheck import Report, check_gradients
from deepnlp.gradcheck.loading import failures_in_one_line
from tests.broken.collection import (
    CASES,
    Broken,
    Collection,
    Family,
    load,
    make,
    read_files,
    small_sizes,
)

WANTED_SHARE = 0.9

Check = Callable[[int], tuple[Sizes, Report]]
"""Checks a layer with weights and inputs of a seed, in the sizes that it returns."""


def check(family: Family, edits: tuple[tuple[str, str], ...], seed: int) -> tuple[Sizes, Report]:
    """Check a layer with its edits in a random shape, which the example draws first."""
    rng = np.random.default_rng(seed)
    drawn = small_sizes(np.random.default_rng(seed))
    try:
        kind = load(family.layer, edits)
        arguments, inputs = family.build(rng)
    except Exception as error:
        message = f"{family.name} cannot be loaded: {type(error).__name__}: {error}"
        raise DeepNLPError(message) from error
    with failures_in_one_line(kind):
        return drawn, check_gradients(make(family.layer, arguments, edits), *inputs, rng=rng)


def read_museum(folder: str | Path) -> Collection:
    """The set in a folder, of which nothing is run before all has been read."""
    try:
        collection, reason = read_files(sorted(Path(folder).glob("*.toml"))), ""
    except (OSError, ValueError) as error:
        collection, reason = Collection(), f" ({error})"
    if not collection.cases:
        raise FileNotFoundError(
            f"no bug museum in {folder}{reason}: its layers are in {CASES.name}/museum of "
            "tests/broken in a checkout"
        )
    return collection


# --- Scoring ----------------------------------------------------------------------------------


@dataclass
class Score:
    """How a layer fared."""

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
        shown = sum(score.shown for score in self.exhibits)
        return sum(score.right for score in self.exhibits) / max(shown, 1)

    def to_dict(self) -> dict[str, Any]:
        """As what JSON knows."""
        return {
            "share": self.share,
            "exhibits": [asdict(score) for score in self.exhibits],
            "right_layers_checked": self.checked,
            "falsely_accused": self.accused,
        }


def score_case(case: Broken, shapes: int = 20, seed: int = 0) -> Score:
    """Show a layer in random shapes until its mistake made a difference in that many."""
    score = Score(case.name, case.accept[0])
    for k in range(10 * shapes):
        if score.shown == shapes:
            break
        drawn, report = check(case.family, case.edits, seed * 100_003 + k)
        if report.ok and not any(row.causes for row in report.rows):
            continue  # the mistake makes no difference in this shape
        causes = next(row.causes for row in report.rows if row.causes)
        names = [cause.name for cause in causes]
        score.shown += 1
        score.right += is_named(score.answer, names, drawn)
        score.named[names[0]] = score.named.get(names[0], 0) + 1
    return score


def is_named(answer: str, names: list[str], drawn: Sizes) -> bool:
    """Whether a cause is named first, or second to one that is the same in this shape.

    Two causes are the same in a shape if both give the gradient that was found, and the shape is
    one in which things coincide: two sizes are equal, or one of them is 1 or 2.
    """
    if names[0] == answer:
        return True
    coincide = min(drawn.N, drawn.T) <= 2 or len({drawn.N, drawn.T, drawn.D, drawn.H}) < 4
    return coincide and answer in names


def right_layers(collection: Collection) -> dict[str, Check]:
    """The right layers of a set and those of the package."""

    def learners(family: Family) -> Check:
        return lambda seed: check(family, (), seed)

    def provided(example: Example) -> Check:
        def run(seed: int) -> tuple[Sizes, Report]:
            rng = np.random.default_rng(seed)
            drawn = small_sizes(rng)
            layer, inputs = example.build(rng, drawn)
            return drawn, check_gradients(layer, *inputs, rng=rng)

        return run

    examples = {name: e for name, e in EXAMPLES.items() if e.sizes is SIZES}
    return {family.name: learners(family) for family in collection.right} | {
        f"deepnlp {name}": provided(example) for name, example in examples.items()
    }


def false_accusations(right: dict[str, Check], count: int = 1000, seed: int = 0) -> list[str]:
    """Check right layers in random shapes."""
    accused = []
    names = list(right)
    for k in range(count):
        name = names[k % len(names)]
        drawn, report = right[name](seed * 1_000_003 + k)
        if not report.ok or any(not row.ok and row.causes for row in report.rows):
            accused.append(f"{name} {tuple(drawn)} seed {k}")
    return accused


# --- The command ------------------------------------------------------------------------------


def run(folder: str, shapes: int, seed: int) -> Answer:
    """Score the diagnosis, and see that no right layer is accused."""
    museum = read_museum(folder or CASES / "museum")
    score = MuseumScore([])
    width = max(len(case.name) for case in museum.cases)
    for case in museum.cases:
        one = score_case(case, shapes, seed)
        score.exhibits.append(one)
        line = f"{one.name:{width}}  {one.right:3} of {one.shown:3}  {one.answer}"
        others = [f"{name} ({k})" for name, k in one.named.items() if name != one.answer]
        print(line + (f"; named: {', '.join(others)}" if others else ""), flush=True)
    right = right_layers(museum)
    score.checked = 50 * shapes
    score.accused = false_accusations(right, score.checked, seed)
    print(
        f"\n{len(museum.cases)} broken layers in {shapes} shapes each: the cause is named first in "
        f"{score.share:.1%}\n{score.checked} checks of {len(right)} right layers: "
        f"{len(score.accused)} accused"
    )
    for accused in score.accused:
        print(f"  accused: {accused}")
    is_good = score.share >= WANTED_SHARE and not score.accused
    return Answer(score.to_dict(), code=0 if is_good else 1)
