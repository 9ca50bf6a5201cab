"""A padded batch equals its sequences one by one, for every layer that takes lengths."""

import inspect

import numpy as np
import pytest

from deepnlp import kernels
from deepnlp.backend import asarray, asnumpy
from deepnlp.examples import SIZES
from deepnlp.layers import reverse_by_length
from tests.cases import by_layer
from tests.layers.tools import LAYERS, as_tuple, assert_close, output_weights, parameter_gradients

BATCH = SIZES._replace(N=5, T=6, S=6)
LENGTHS = np.array([6, 1, 3, 5, 2])


def takes_lengths(example):
    layer, _ = example.make()
    usual = not example.name.endswith(("N=1 T=1", "stateful"))
    return usual and "lengths" in inspect.signature(layer.forward).parameters


CASES = [example for example in LAYERS if takes_lengths(example)]
every_layer = by_layer(CASES)


@pytest.fixture(params=["plain", "quick"], autouse=True)
def form(request):
    with kernels.using(request.param):
        yield request.param


def setting(case):
    """The layer, its inputs without lengths, and which of them has padding."""
    layer, inputs = case.build(np.random.default_rng(1), BATCH)
    layer.astype("float64").eval()  # masks of dropout depend on the shape of a batch
    names = [*inspect.signature(layer.forward).parameters][: len(inputs)]
    inputs = [asnumpy(x) for name, x in zip(names, inputs, strict=True) if name != "lengths"]
    return layer, inputs, len(inputs) - 1


def padded(array, lengths, filling=np.nan):
    array = array.copy()
    for n, length in enumerate(lengths):
        array[n, length:] = filling
    return array


def one_way(layer, inputs, lengths, dy):
    """The output and the gradients of the inputs."""
    y = layer.forward(*map(asarray, inputs), lengths)
    gradients = as_tuple(layer.backward(asarray(dy)))
    return asnumpy(y), [asnumpy(gradient) for gradient in gradients]


@every_layer
def test_a_padded_batch_is_its_sequences_one_by_one(array_backend, case):
    """Whatever stands in the padding has no influence, NaN included."""
    layer, inputs, which = setting(case)
    over_time = which == 0  # else the padding is in a memory, and all outputs count
    together = [*inputs]
    together[which] = padded(inputs[which], LENGTHS)
    dy = asnumpy(output_weights((layer.forward(*map(asarray, inputs)),))[0])
    layer.reset_state()
    y, gradients = one_way(layer, together, LENGTHS, padded(dy, LENGTHS) if over_time else dy)
    of_weights = parameter_gradients(layer)

    layer.zero_grad()
    for n, length in enumerate(LENGTHS):
        alone = [x[n : n + 1] for x in inputs]
        alone[which] = alone[which][:, :length]
        end = length if over_time else None
        y_n, gradients_n = one_way(layer, alone, None, dy[n : n + 1, :end])
        assert_close(y[n : n + 1, :end], y_n)
        for k, (gradient, expected) in enumerate(zip(gradients, gradients_n, strict=True)):
            end = length if k == which else None
            assert_close(gradient[n : n + 1, :end], expected)
    for gradient, expected in zip(of_weights, parameter_gradients(layer), strict=True):
        assert_close(gradient, expected)
    np.testing.assert_array_equal(padded(gradients[which], LENGTHS, 0), gradients[which])
    if over_time:
        np.testing.assert_array_equal(padded(y, LENGTHS, 0), y)


@every_layer
def test_full_lengths_are_no_lengths(array_backend, case):
    layer, inputs, which = setting(case)
    N, T = inputs[which].shape[:2]
    dy = asnumpy(output_weights((layer.forward(*map(asarray, inputs)),))[0])
    results = []
    for lengths in (None, [T] * N, np.full(N, T), asarray(np.full(N, T, "int32"))):
        layer.zero_grad()
        y, gradients = one_way(layer, inputs, lengths, dy)
        results.append([y, *gradients, *parameter_gradients(layer)])
    for result in results[1:]:
        for a, e in zip(result, results[0], strict=True):
            assert_close(a, e)


@every_layer
def test_a_sequence_of_length_zero(array_backend, case):
    """It has no outputs, no contexts and no gradients, and no influence on the others."""
    layer, inputs, which = setting(case)
    lengths = LENGTHS.copy()
    lengths[1] = 0
    together = [*inputs]
    together[which] = padded(inputs[which], lengths)
    dy = asnumpy(output_weights((layer.forward(*map(asarray, inputs)),))[0])
    y, gradients = one_way(layer, together, lengths, dy)
    assert np.isfinite(y).all()
    assert (gradients[which][1] == 0).all()
    if which == 0:
        assert (y[1] == 0).all()
    others = [0, 2, 3, 4]
    y_others, of_others = one_way(layer, [x[others] for x in together], lengths[others], dy[others])
    assert_close(y[others], y_others)
    for gradient, expected in zip(gradients, of_others, strict=True):
        assert_close(gradient[others], expected)


@every_layer
def test_wrong_lengths_name_the_layer(array_backend, case):
    layer, inputs, which = setting(case)
    N, T = inputs[which].shape[:2]
    name = case.covers.__name__
    for wrong, error, message in [
        ([1.0] * N, TypeError, f"{name}: lengths should be integers, got float64"),
        ([True] * N, TypeError, f"{name}: lengths should be integers, got bool"),
        ([T + 1] * N, ValueError, f"{name}: lengths should be from 0 to {T}, got {T + 1}"),
        ([-1] * N, ValueError, f"{name}: lengths should be from 0 to {T}, got -1"),
        ([1], ValueError, rf"{name}: lengths should have shape \(N,\) with N = {N}, got \(1,\)"),
    ]:
        with pytest.raises(error, match=message):
            layer.forward(*map(asarray, inputs), wrong)


def test_reversal_by_length(array_backend):
    x = np.random.default_rng(0).normal(size=(5, 6, 3))
    y = asnumpy(reverse_by_length(asarray(x), LENGTHS))
    for n, length in enumerate(LENGTHS):
        np.testing.assert_array_equal(y[n, :length], x[n, :length][::-1])
        np.testing.assert_array_equal(y[n, length:], x[n, length:])
    np.testing.assert_array_equal(asnumpy(reverse_by_length(asarray(y), LENGTHS)), x)
    np.testing.assert_array_equal(asnumpy(reverse_by_length(asarray(x))), x[:, ::-1])
    ids = asarray(np.arange(6).reshape(1, 6))
    assert asnumpy(reverse_by_length(ids, [0])).tolist() == [[0, 1, 2, 3, 4, 5]]
