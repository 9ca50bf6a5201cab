"""MatMul, Affine and TimeAffine against einsum."""

import numpy as np
import pytest

from deepnlp.backend import asarray
from deepnlp.layers import Affine, MatMul, TimeAffine
from deepnlp.parameter import Parameter
from tests.layers.tools import assert_close

RNG = np.random.default_rng(11)
SHAPES = [(5, 4), (1, 1), (2, 3, 4), (1, 1, 3), (2, 1, 3, 5)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
def test_affine_is_einsum(array_backend, shape, bias):
    D, M = shape[-1], 3
    x, dy = RNG.normal(size=shape), RNG.normal(size=(*shape[:-1], M))
    W, b = RNG.normal(size=(D, M)), RNG.normal(size=M)
    layer = Affine(asarray(W), asarray(b) if bias else None)
    y = layer.forward(asarray(x))
    dx = layer.backward(asarray(dy))
    assert_close(y, np.einsum("...d,dm->...m", x, W) + bias * b)
    assert_close(dx, np.einsum("...m,dm->...d", dy, W))
    assert_close(layer.W.grad, np.einsum("nd,nm->dm", x.reshape(-1, D), dy.reshape(-1, M)))
    if bias:
        assert_close(layer.b.grad, dy.reshape(-1, M).sum(axis=0))
    assert [name for name, _ in layer.named_parameters()] == ["W", "b"][: 1 + bias]


def test_matmul_and_time_affine_are_affine(array_backend):
    x, W, b = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(4, 5)), RNG.normal(size=5)
    expected = Affine(asarray(W), asarray(b)).forward(asarray(x))
    assert_close(TimeAffine(asarray(W), asarray(b)).forward(asarray(x)), expected)
    assert_close(MatMul(asarray(W)).forward(asarray(x)) + asarray(b), expected)


def test_a_parameter_is_shared_and_an_array_is_not(array_backend):
    W = Parameter(RNG.normal(size=(4, 3)))
    assert Affine(W).W is W
    array = asarray(RNG.normal(size=(4, 3)))
    first, second = Affine(array), Affine(array)
    first.W.value += 1
    assert_close(second.W.value, array)


@pytest.mark.parametrize("layer", [MatMul, Affine, TimeAffine])
def test_init_draws_from_the_generator(array_backend, layer):
    fresh = layer.init(4, 30, rng=np.random.default_rng(1), dtype="float64")
    again = layer.init(4, 30, rng=np.random.default_rng(1), dtype="float32")
    other = layer.init(4, 30, rng=np.random.default_rng(2), dtype="float64")
    assert fresh.W.shape == (4, 30)
    assert fresh.W.dtype == np.float64
    assert again.W.dtype == np.float32
    assert_close(again.W.value.astype("float64"), fresh.W.value, 1e-7)
    assert float(abs(fresh.W.value - other.W.value).max()) > 0.1
    assert 0.3 < float(abs(fresh.W.value).max()) <= 0.5


@pytest.mark.parametrize("layer", [Affine, TimeAffine])
def test_wrong_shapes_are_told_in_letters_and_numbers(array_backend, layer):
    name = layer.__name__
    made = layer(asarray(RNG.normal(size=(4, 3))))
    wrong = asarray(np.ones((2, 5, 7)))
    with pytest.raises(ValueError, match=rf"^{name}: .*\bD\b.*\b4\b.*\(2, 5, 7\)"):
        made.forward(wrong)
    made.forward(asarray(np.ones((2, 5, 4))))
    with pytest.raises(ValueError, match=rf"^{name}: .*\bM\b.*\b3\b.*\(2, 5, 7\)"):
        made.backward(wrong)
    with pytest.raises(ValueError, match=rf"^{name}: .*\bM\b.*\b3\b.*\(4,\)"):
        layer(asarray(np.ones((2, 3))), asarray(np.ones(4)))
    with pytest.raises(ValueError, match=rf"^{name}: .*\bD, M\b.*\(3,\)"):
        layer(asarray(np.ones(3)))
