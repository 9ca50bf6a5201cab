"""Element-wise functions and the softmax, at ordinary and at extreme inputs."""

import numpy as np
import pytest

from deepnlp.backend import asarray, asnumpy, functions
from deepnlp.layers import ReLU, Sigmoid, Softmax, Tanh
from tests.layers.tools import assert_close

RNG = np.random.default_rng(14)


@pytest.mark.parametrize(
    ("layer", "function", "derivative"),
    [
        (Sigmoid, lambda x: 1 / (1 + np.exp(-x)), lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2),
        (Tanh, np.tanh, lambda x: 1 / np.cosh(x) ** 2),
        (ReLU, lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0),
    ],
)
@pytest.mark.parametrize("shape", [(4, 3), (1,), (2, 1, 5)], ids=str)
def test_values_and_derivatives(array_backend, layer, function, derivative, shape):
    x, dy = RNG.normal(size=shape), RNG.normal(size=shape)
    made = layer()
    assert_close(made.forward(asarray(x)), function(x))
    assert_close(made.backward(asarray(dy)), dy * derivative(x))
    assert made.parameters() == []


def test_softmax_and_its_jacobian(array_backend):
    x, dy = RNG.normal(size=(3, 5)), RNG.normal(size=(3, 5))
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    layer = Softmax()
    assert_close(layer.forward(asarray(x)), p)
    jacobian = np.einsum("ni,ij->nij", p, np.eye(5)) - np.einsum("ni,nj->nij", p, p)
    assert_close(layer.backward(asarray(dy)), np.einsum("nij,nj->ni", jacobian, dy))


@pytest.mark.parametrize("layer", [Sigmoid, Tanh, ReLU, Softmax])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_inputs_stay_finite(array_backend, layer, dtype):
    x = asarray(np.array([[1e4, -1e4, 0.0, 1e-30]], dtype=dtype))
    made = layer()
    y = asnumpy(made.forward(x))
    dx = asnumpy(made.backward(asarray(np.ones((1, 4), dtype=dtype))))
    assert np.isfinite(y).all()
    assert np.isfinite(dx).all()


def test_softplus_at_both_ends(array_backend):
    x = np.array([-1e4, -3.0, 0.0, 2.0, 1e4])
    assert_close(functions.softplus(asarray(x)), np.logaddexp(0, x))
