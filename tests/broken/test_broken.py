"""The set itself: a right layer is right, each mistake is one, whatever the diagnosis says."""

import numpy as np
import pytest

from tests.broken.broken import SHAPES, Broken, Family, Pair, example, load
from tests.broken.cases import CASES, FAMILIES, PAIRS
from tests.broken.numeric import errors


def test_size_of_the_set() -> None:
    assert len(CASES) >= 160
    assert len(PAIRS) >= 15
    assert len(FAMILIES) >= 22
    assert sum(family.new for family in FAMILIES) >= len(FAMILIES) / 2
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_right_layer_is_right(family: Family) -> None:
    for shape in range(SHAPES):
        arguments, inputs = family.build(np.random.default_rng([11, shape]))
        layer = load(family.layer)(*arguments)
        found = errors(layer, inputs, np.random.default_rng(shape))
        assert found
        assert max(found.values()) < 1e-5, found


@pytest.mark.parametrize("case", [*CASES, *PAIRS], ids=lambda case: case.name)
def test_broken_layer_is_wrong_in_every_shape(case: Broken | Pair) -> None:
    for shape in range(SHAPES):
        layer, inputs = example(case, shape)
        found = errors(layer, inputs, np.random.default_rng(shape))
        assert max(found.values()) > 1e-3, found
