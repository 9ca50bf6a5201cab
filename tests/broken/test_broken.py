"""The sets themselves: a right layer is right, each mistake is one, whatever the diagnosis says."""

import numpy as np
import pytest

from tests.broken.broken import SHAPES, Broken, Family, Pair, example, make
from tests.broken.cases import CASES, FAMILIES, PAIRS, second
from tests.broken.numeric import errors


@pytest.mark.parametrize(
    ("families", "cases", "pairs"),
    [(FAMILIES, CASES, PAIRS), (second.FAMILIES, second.CASES, second.PAIRS)],
    ids=["first", "second"],
)
def test_size_of_the_sets(families: list[Family], cases: list[Broken], pairs: list[Pair]) -> None:
    assert len(cases) >= 160
    assert len(pairs) >= 15
    assert len(families) >= 22
    assert sum(family.new for family in families) >= len(families) / 2


def test_names_are_unique() -> None:
    cases = [*CASES, *second.CASES]
    assert len({case.name for case in cases}) == len(cases)


@pytest.mark.parametrize(
    "family", [*FAMILIES, *second.FAMILIES], ids=lambda family: f"{family.layer} {family.name}"
)
def test_right_layer_is_right(family: Family) -> None:
    for shape in range(SHAPES):
        arguments, inputs = family.build(np.random.default_rng([11, shape]))
        layer = make(family.layer, arguments)
        found = errors(layer, inputs, np.random.default_rng(shape))
        assert found
        assert max(found.values()) < 1e-5, found


@pytest.mark.parametrize(
    "case",
    [*CASES, *PAIRS, *second.CASES, *second.PAIRS],
    ids=lambda case: f"{case.layer} {case.name}",
)
def test_broken_layer_is_wrong_in_every_shape(case: Broken | Pair) -> None:
    for shape in range(SHAPES):
        layer, inputs = example(case, shape)
        found = errors(layer, inputs, np.random.default_rng(shape))
        assert max(found.values()) > 1e-3, found
