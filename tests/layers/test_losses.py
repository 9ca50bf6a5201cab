"""SoftmaxWithLoss and SigmoidWithLoss against their definitions."""

import numpy as np
import pytest

from deepnlp.backend import asarray, asnumpy
from deepnlp.layers import SigmoidWithLoss, Softmax, SoftmaxWithLoss
from tests.layers.tools import assert_close

RNG = np.random.default_rng(13)


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def cross_entropy(s, t, ignored=-1):
    """Mean of -log p over the targets that count, and its gradient, one row at a time."""
    V = s.shape[-1]
    counted = [n for n in np.ndindex(*t.shape) if t[n] != ignored]
    p = softmax(s)
    loss = -sum(np.log(p[n][t[n]]) for n in counted) / max(len(counted), 1)
    ds = np.zeros_like(s)
    for n in counted:
        ds[n] = (p[n] - np.eye(V)[t[n]]) / len(counted)
    return loss, ds


@pytest.mark.parametrize("shape", [(4,), (1,), (3, 5), (1, 1), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("ignored", [None, -1, 0, -100])
def test_softmax_with_loss(array_backend, shape, ignored):
    s = RNG.normal(size=(*shape, 6))
    t = RNG.integers(0, 6, size=shape)
    if ignored is not None:
        t.flat[0] = ignored
    layer = SoftmaxWithLoss() if ignored is None else SoftmaxWithLoss(ignore_id=ignored)
    loss = layer.forward(asarray(s), asarray(t))
    expected_loss, expected = cross_entropy(s, t, -1 if ignored is None else ignored)
    assert loss.shape == ()
    assert_close(loss, expected_loss)
    assert_close(layer.backward(), expected)
    layer.forward(asarray(s), asarray(t))
    assert_close(layer.backward(2.5), 2.5 * expected)
    layer.forward(asarray(s), asarray(t))
    assert_close(layer.backward(asarray(np.array(2.5))), 2.5 * expected)


def test_all_targets_ignored(array_backend):
    layer = SoftmaxWithLoss()
    loss = layer.forward(asarray(RNG.normal(size=(2, 3, 4))), asarray(np.full((2, 3), -1)))
    assert float(loss) == 0.0
    np.testing.assert_array_equal(asnumpy(layer.backward()), np.zeros((2, 3, 4)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_logits(array_backend, dtype):
    s = np.array([[1e4, -1e4, 0], [-1e4, 1e4, 1e4], [1e4, 1e4, 1e4]], dtype=dtype)
    t = np.array([1, 2, 0])
    layer = SoftmaxWithLoss()
    loss = layer.forward(asarray(s), asarray(t))
    assert_close(loss, (2e4 + np.log(2) + np.log(3)) / 3, 1e-6)
    assert_close(layer.backward(), (softmax(s) - np.eye(3)[t]) / 3, 1e-6)
    p = asnumpy(Softmax().forward(asarray(s)))
    np.testing.assert_allclose(p, softmax(s), atol=1e-6)
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=1e-6)


@pytest.mark.parametrize("wrong", [-2, 4])
def test_targets_out_of_range_name_the_range(array_backend, wrong):
    s, t = asarray(np.zeros((2, 4))), asarray(np.array([0, wrong]))
    with pytest.raises((ValueError, IndexError), match=rf"SoftmaxWithLoss.*0 .*\b3\b.*{wrong}"):
        SoftmaxWithLoss().forward(s, t)


def test_targets_that_do_not_fit(array_backend):
    s = asarray(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match=r"SoftmaxWithLoss.*\(2, 3\).*\(3, 2\)"):
        SoftmaxWithLoss().forward(s, asarray(np.zeros((3, 2), dtype=int)))
    with pytest.raises(TypeError, match=r"SoftmaxWithLoss.*integers.*float64"):
        SoftmaxWithLoss().forward(s, asarray(np.zeros((2, 3))))
    with pytest.raises(ValueError, match=r"SigmoidWithLoss.*\(2, 3, 4\).*\(2, 3\)"):
        SigmoidWithLoss().forward(s, asarray(np.zeros((2, 3), dtype=int)))


@pytest.mark.parametrize("shape", [(5,), (1,), (2, 3)], ids=str)
def test_sigmoid_with_loss(array_backend, shape):
    s, t = RNG.normal(size=shape), RNG.integers(0, 2, size=shape)
    layer = SigmoidWithLoss()
    p = 1 / (1 + np.exp(-s))
    expected = -(t * np.log(p) + (1 - t) * np.log(1 - p)).mean()
    loss = layer.forward(asarray(s), asarray(t))
    assert loss.shape == ()
    assert_close(loss, expected)
    assert_close(layer.backward(), (p - t) / t.size)
    layer.forward(asarray(s), asarray(t))
    assert_close(layer.backward(-3.0), -3 * (p - t) / t.size)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_scores(array_backend, dtype):
    s = np.array([1e4, -1e4, 1e4, -1e4, 0], dtype=dtype)
    layer = SigmoidWithLoss()
    loss = layer.forward(asarray(s), asarray(np.array([1, 0, 0, 1, 1])))
    assert_close(loss, (2e4 + np.log(2)) / 5, 1e-6)
    assert_close(layer.backward(), np.array([0, 0, 1, -1, -0.5]) / 5, 1e-6)
