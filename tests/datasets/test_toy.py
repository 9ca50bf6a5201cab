"""The spiral."""

import numpy as np
import pytest

import deepnlp
from deepnlp.datasets import spiral


def test_points_lie_on_arms_of_radius_zero_to_one() -> None:
    x, t = spiral(n_per_class=50, classes=4, rng=np.random.default_rng(0))
    assert x.shape == (200, 2)
    assert x.dtype == np.float32
    assert np.bincount(t).tolist() == [50] * 4
    radius = np.linalg.norm(x, axis=1).reshape(4, 50)
    np.testing.assert_allclose(radius, np.tile(np.arange(50) / 50, (4, 1)), atol=1e-6)


def test_noise_comes_from_the_generator_given_or_the_seed() -> None:
    one, _ = spiral(rng=np.random.default_rng(1))
    same, _ = spiral(rng=np.random.default_rng(1))
    other, _ = spiral(rng=np.random.default_rng(2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    deepnlp.seed(3)
    seeded, _ = spiral()
    deepnlp.seed(3)
    assert np.array_equal(seeded, spiral()[0])


def test_a_spiral_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="n_per_class should be 1 or more"):
        spiral(n_per_class=0)
