"""Dropout and TimeDropout: which entries, how many, when, and again."""

import numpy as np
import pytest

import deepnlp
from deepnlp import backend
from deepnlp.backend import asarray, asnumpy
from deepnlp.layers import Dropout, TimeDropout
from tests.strict_backend import strict


def ones(*shape, dtype="float64"):
    return asarray(np.ones(shape, dtype=dtype))


def mask(layer, *shape):
    """What a forward does to ones, 0 or 1 / (1 - p), on the host."""
    return asnumpy(layer.forward(ones(*shape)))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
@pytest.mark.parametrize(
    "make", [Dropout, TimeDropout, lambda p, rng: TimeDropout(p, locked=True, rng=rng)]
)
def test_the_share_and_the_scale_of_what_is_kept(array_backend, make, p):
    N, T, D = 40, 7, 51
    y = mask(make(p, rng=np.random.default_rng(3)), N, T, D)
    values = np.unique(y)
    np.testing.assert_allclose(values, [0, 1 / (1 - p)], rtol=1e-12)
    independent = y[:, 0] if (y == y[:, :1]).all() else y
    kept = (independent > 0).mean()
    assert abs(kept - (1 - p)) < 5 * np.sqrt(p * (1 - p) / independent.size)
    # Neighbours in each direction are kept independently of each other.
    for axis in range(independent.ndim):
        ahead = np.take(independent, range(1, independent.shape[axis]), axis) > 0
        behind = np.take(independent, range(independent.shape[axis] - 1), axis) > 0
        both = (ahead & behind).mean()
        assert abs(both - (1 - p) ** 2) < 6 * np.sqrt((1 - p) ** 2 / ahead.size)


def test_a_fresh_mask_differs_in_time_and_a_locked_one_does_not(array_backend):
    fresh = mask(TimeDropout(0.5), 3, 6, 20)
    locked_layer = TimeDropout(0.5, locked=True)
    locked = mask(locked_layer, 3, 6, 20)
    assert all((fresh[:, t] != fresh[:, 0]).any() for t in range(1, 6))
    assert all((locked[:, t] == locked[:, 0]).all() for t in range(6))
    assert (locked[0] != locked[1]).any()
    assert (mask(locked_layer, 3, 6, 20) != locked).any()


def test_backward_uses_the_mask_of_its_forward(array_backend):
    rng = np.random.default_rng(0)
    x, dy = rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 5, 4))
    for layer in (Dropout(0.3), TimeDropout(0.3), TimeDropout(0.3, locked=True)):
        y = asnumpy(layer.forward(asarray(x)))
        np.testing.assert_allclose(asnumpy(layer.backward(asarray(dy))), dy * (y / x))


def test_evaluation_is_the_identity_and_draws_nothing(array_backend):
    deepnlp.seed(1)
    layer = TimeDropout(0.5)
    before = layer.snapshot()
    x = ones(2, 3, 4)
    layer.eval()
    np.testing.assert_array_equal(asnumpy(layer.forward(x)), asnumpy(x))
    np.testing.assert_array_equal(asnumpy(layer.backward(x)), asnumpy(x))
    assert layer.snapshot() == before
    layer.train()
    assert (mask(layer, 2, 3, 4) != 1).all()


def test_no_dropout_is_the_identity(array_backend):
    np.testing.assert_array_equal(mask(TimeDropout(0.0), 2, 3, 4), np.ones((2, 3, 4)))


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5])
@pytest.mark.parametrize("layer", [Dropout, TimeDropout])
def test_a_probability_outside_the_range(layer, p):
    with pytest.raises(ValueError, match=rf"{layer.__name__}.*{p}"):
        layer(p)


def test_a_seed_means_the_same_masks_on_every_backend():
    def masks(module, seed):
        backend.use_module(module)
        try:
            deepnlp.seed(seed)
            layers = [Dropout(0.5), TimeDropout(0.5), TimeDropout(0.5, locked=True)]
            return [mask(layer, 3, 4, 5) for layer in layers for _ in range(2)]
        finally:
            backend.use("numpy")

    first = masks(np, 0)
    for a, b in zip(first, masks(strict, 0), strict=True):
        np.testing.assert_array_equal(a, b)
    assert all((a != b).any() for a, b in zip(first, masks(np, 1), strict=True))
    # Layers have masks of their own, and each call of a layer another.
    assert all((first[i] != first[j]).any() for i in range(6) for j in range(i))


def test_masks_do_not_depend_on_the_number_type(array_backend):
    def kept(dtype):
        layer = Dropout(0.5, rng=np.random.default_rng(5))
        return asnumpy(layer.forward(ones(6, 7, dtype=dtype))) != 0

    np.testing.assert_array_equal(kept("float32"), kept("float64"))


def test_a_snapshot_repeats_the_masks(array_backend):
    layer = TimeDropout(0.5)
    mask(layer, 2, 3, 4)
    state = layer.snapshot()
    first = [mask(layer, 2, 3, 40) for _ in range(3)]
    layer.restore(state)
    again = [mask(layer, 2, 3, 40) for _ in range(3)]
    np.testing.assert_array_equal(first, again)
    other = TimeDropout(0.5)
    other.restore(state)
    np.testing.assert_array_equal(mask(other, 2, 3, 40), first[0])


def test_time_dropout_takes_three_axes(array_backend):
    with pytest.raises(ValueError, match=r"TimeDropout.*N, T, D.*\(2, 3\)"):
        TimeDropout(0.5).forward(ones(2, 3))
