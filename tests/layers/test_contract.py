"""What holds for every layer, from one table of cases."""

import inspect
import re

import numpy as np
import pytest

import deepnlp
from deepnlp import backend, kernels, no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.examples import SINGLE, SIZES
from deepnlp.layers import AffineSoftmaxWithLoss, Dropout, Layer, TimeRNN, TimeStacked
from tests.cases import by_layer, together
from tests.layers.tools import (
    LAYERS,
    as_tuple,
    assert_close,
    host,
    is_float,
    output_weights,
    parameter_gradients,
    run,
    slopes,
)
from tests.strict_backend import strict


def gives_a_loss(case):
    layer, inputs = case.make()
    return as_tuple(layer.forward(*inputs))[0].ndim == 0


every_layer = by_layer(LAYERS)


@by_layer(example for example in LAYERS if example.sizes in (SIZES, SINGLE))  # not composed
def test_gradients_are_the_slopes_of_the_forward(case):
    layer, inputs = case.make()
    state = layer.snapshot()
    outputs, gradients = run(layer, inputs)
    weights = host(tuple(asarray(w) for w in output_weights(outputs)))
    hosts = host(inputs)
    values = host(tuple(p.value for p in layer.parameters()))

    def loss():
        layer.restore(state)
        for parameter, value in zip(layer.parameters(), values, strict=True):
            parameter.value = asarray(value.copy())
        with no_backward():
            results = as_tuple(layer.forward(*[asarray(x.copy()) for x in hosts]))
        return sum(float((w * asnumpy(y)).sum()) for w, y in zip(weights, results, strict=True))

    for dx, x in zip(gradients, hosts, strict=False):
        if x.dtype.kind == "f":
            assert_close(dx, slopes(loss, x), 1e-8)
        else:
            assert dx is None
    for parameter, value in zip(layer.parameters(), values, strict=True):
        assert_close(parameter.grad, slopes(loss, value), 1e-8)


@every_layer
@together(dtype=["float32", "float64"])
def test_number_types_are_kept(array_backend, case, dtype):
    layer, inputs = case.make(dtype)
    outputs, gradients = run(layer, inputs)
    for array in (*outputs, *(g for g in gradients if g is not None)):
        assert isinstance(array, (array_backend.ndarray, np.generic))
        assert array.dtype == dtype
    for parameter in layer.parameters():
        assert parameter.grad.dtype == dtype


@every_layer
def test_astype_casts_in_place(array_backend, case):
    layer, inputs = case.make("float64")
    assert layer.astype("float32") is layer
    inputs = tuple(x.astype("float32") if is_float(x) else x for x in inputs)
    outputs, gradients = run(layer, inputs)
    assert all(y.dtype == np.float32 for y in outputs)
    assert all(g.dtype == np.float32 for g in gradients if g is not None)
    assert all(p.grad.dtype == np.float32 for p in layer.parameters())


@every_layer
def test_a_second_pass_doubles_the_gradient(array_backend, case):
    layer, inputs = case.make()
    state = layer.snapshot()
    run(layer, inputs)
    once = parameter_gradients(layer)
    layer.restore(state)
    run(layer, inputs)
    for gradient, first in zip(parameter_gradients(layer), once, strict=True):
        assert_close(gradient, 2 * first)
    layer.zero_grad()
    layer.restore(state)
    run(layer, inputs)
    for gradient, first in zip(parameter_gradients(layer), once, strict=True):
        assert_close(gradient, first)


@every_layer
def test_one_backward_for_one_forward(array_backend, case):
    layer, inputs = case.make()
    weights = output_weights(as_tuple(layer.forward(*inputs)))
    layer.backward(*weights)
    before = parameter_gradients(layer)
    with pytest.raises(RuntimeError, match=rf"\b{case.covers.__name__}\b"):
        layer.backward(*weights)
    for gradient, first in zip(parameter_gradients(layer), before, strict=True):
        np.testing.assert_array_equal(gradient, first)
    fresh, _ = case.make()
    with pytest.raises(RuntimeError, match=rf"\b{case.covers.__name__}\b"):
        fresh.backward(*weights)


@every_layer
def test_a_forward_replaces_an_unused_one(array_backend, case):
    layer, inputs = case.make()
    _, other = case.make(seed=8)
    state = layer.snapshot()
    _, expected = run(layer, inputs)
    gradients = parameter_gradients(layer)
    layer.zero_grad()
    layer.forward(*other)
    layer.restore(state)
    _, actual = run(layer, inputs)
    for a, e in zip(actual, expected, strict=True):
        if e is not None:
            assert_close(a, e)
    for a, e in zip(parameter_gradients(layer), gradients, strict=True):
        assert_close(a, e)


@every_layer
def test_arrays_of_the_caller_are_left_alone(array_backend, case):
    layer, inputs = case.make()
    outputs = as_tuple(layer.forward(*inputs))
    weights = output_weights(outputs)
    gradients = as_tuple(layer.backward(*weights))
    held = [a for a in (*inputs, *outputs, *weights, *gradients) if isinstance(a, strict.ndarray)]
    held += [a for a in (*inputs, *outputs, *weights, *gradients) if isinstance(a, np.ndarray)]
    before = host(tuple(held))
    for _ in range(2):
        _, other = case.make(seed=8)
        run(layer, other)
    with no_backward():
        layer.forward(*other)
    for array, value in zip(held, before, strict=True):
        np.testing.assert_array_equal(asnumpy(array), value)


@every_layer
def test_the_layout_of_inputs_and_gradients_does_not_matter(array_backend, case):
    layer, inputs = case.make()
    state = layer.snapshot()
    outputs, expected = run(layer, inputs)
    gradients = parameter_gradients(layer)

    def strided(x):
        """The same numbers with gaps between them, in reversed order in memory."""
        if not hasattr(x, "ndim"):
            return x
        wide = array_backend.zeros(tuple(2 * n for n in x.shape[::-1]), dtype=x.dtype).T
        view = wide[tuple(slice(None, None, 2) for _ in x.shape)]
        view[...] = x
        return view

    layer.zero_grad()
    layer.restore(state)
    results = as_tuple(layer.forward(*[strided(x) for x in inputs]))
    actual = as_tuple(layer.backward(*[strided(w) for w in output_weights(outputs)]))
    for a, e in zip(results, outputs, strict=True):
        assert_close(a, e)
    for a, e in zip(actual, expected, strict=True):
        if e is not None:
            assert_close(a, e)
    for a, e in zip(parameter_gradients(layer), gradients, strict=True):
        assert_close(a, e)


@every_layer
def test_no_backward_computes_the_same_and_keeps_nothing(array_backend, case):
    layer, inputs = case.make()
    state = layer.snapshot()
    outputs = as_tuple(layer.forward(*inputs))
    weights = output_weights(outputs)
    layer.backward(*weights)
    layer.restore(state)
    with no_backward():
        quiet = as_tuple(layer.forward(*inputs))
    for a, e in zip(quiet, outputs, strict=True):
        assert_close(a, e, 0)
    with pytest.raises(RuntimeError, match=rf"\b{case.covers.__name__}\b"):
        layer.backward(*weights)


@every_layer
def test_a_forward_in_between_without_backward_does_no_harm(array_backend, case):
    layer, inputs = case.make()
    _, other = case.make(seed=8)
    state = layer.snapshot()
    outputs, expected = run(layer, inputs)
    gradients = parameter_gradients(layer)
    layer.zero_grad()
    layer.restore(state)
    layer.forward(*inputs)
    with no_backward():
        layer.forward(*other)
    actual = as_tuple(layer.backward(*output_weights(outputs)))
    for a, e in zip(actual, expected, strict=True):
        if e is not None:
            assert_close(a, e)
    for a, e in zip(parameter_gradients(layer), gradients, strict=True):
        assert_close(a, e)


@every_layer
def test_an_array_of_the_other_world_is_a_type_error(array_backend, case):
    layer, inputs = case.make()
    foreign = (lambda x: strict.asarray(x)) if array_backend is np else (lambda x: x.get())
    names = inspect.signature(layer.forward).parameters
    for i, (name, x) in enumerate(zip(names, inputs, strict=False)):
        if name == "lengths":  # may be on the host
            continue
        mixed = (*inputs[:i], foreign(x), *inputs[i + 1 :])
        with pytest.raises(TypeError):
            layer.forward(*mixed)


@by_layer(example for example in LAYERS if not gives_a_loss(example))
def test_a_gradient_of_the_wrong_shape_names_the_layer(array_backend, case):
    layer, inputs = case.make()
    outputs = as_tuple(layer.forward(*inputs))
    wrong = [array_backend.zeros((*y.shape[:-1], y.shape[-1] + 1)) for y in outputs]
    with pytest.raises(ValueError, match=rf"{case.covers.__name__}.*\("):
        layer.backward(*wrong)


@by_layer(example for example in LAYERS if not example.any_shape)
def test_the_wrong_number_of_axes_names_the_layer(array_backend, case):
    layer, inputs = case.make()
    for i, x in enumerate(inputs):
        wrong = array_backend.zeros((*x.shape, 7), dtype=x.dtype)
        mixed = (*inputs[:i], wrong, *inputs[i + 1 :])
        with pytest.raises(ValueError, match=rf"{case.covers.__name__}.*\({x.shape[0]}"):
            layer.forward(*mixed)


@every_layer
def test_both_backends_agree(case):
    """Bit for bit, but where one scores only the rows that count: a product of another shape."""
    results = []
    for module in (np, strict):
        backend.use_module(module)
        try:
            deepnlp.seed(0)
            layer, inputs = case.make("float32")
            with kernels.using("plain"):
                outputs, gradients = run(layer, inputs)
            results.append(
                host(outputs)
                + host(tuple(g for g in gradients if g is not None))
                + parameter_gradients(layer)
            )
        finally:
            backend.use("numpy")
    tolerance = 1e-6 if issubclass(case.covers, AffineSoftmaxWithLoss) else 0
    for a, b in zip(*results, strict=True):
        assert_close(a, b, tolerance)


@every_layer
def test_modes_and_snapshots(array_backend, case):
    layer, inputs = case.make()
    assert layer.training
    assert layer.eval() is layer
    assert not layer.training
    outputs = host(layer.forward(*inputs))
    for value in layer.snapshot().values():
        assert isinstance(value, (np.ndarray, int, type(None)))
    layer.restore(layer.snapshot())
    layer.reset_state()
    layer.restore(layer.snapshot())
    if issubclass(case.covers, Dropout):
        np.testing.assert_array_equal(outputs[0], asnumpy(inputs[0]))
    assert layer.train() is layer
    assert layer.training
    with pytest.raises(ValueError, match=case.covers.__name__):
        layer.restore({**layer.snapshot(), "stranger": 1})


FROM_SIZES = [
    k for k in vars(deepnlp.layers).values() if isinstance(k, type) and hasattr(k, "init")
]


@pytest.mark.parametrize("kind", FROM_SIZES, ids=lambda kind: kind.__name__)
def test_sizes_in_place_of_weights_are_an_error_that_names_init(kind):
    for sizes in ((5,), (5, 8), (np.int64(5), 8, 2)):
        with pytest.raises(
            TypeError, match=rf"{kind.__name__}.*got the number 5; {kind.__name__}.init"
        ):
            kind(*sizes)
    first = next(iter(inspect.signature(kind.init).parameters))
    with pytest.raises(TypeError, match=r"\.init"):
        kind(**{first: 5})


def test_a_learners_own_constructor_may_take_sizes():
    class Own(deepnlp.layers.Affine):
        def __init__(self, D, M):
            super().__init__(np.ones((D, M)))

    assert Own(2, 3)(np.ones((1, 2))).tolist() == [[2.0, 2.0, 2.0]]
    with pytest.raises(TypeError, match="positional argument"):
        deepnlp.layers.Tanh(5)


@every_layer
def test_a_call_is_the_forward_and_print_shows_every_weight(case):
    layer, inputs = case.make()
    twin, _ = case.make()
    for y, expected in zip(as_tuple(layer(*inputs)), as_tuple(twin.forward(*inputs)), strict=True):
        np.testing.assert_array_equal(asnumpy(y), asnumpy(expected))
    names = re.findall(r"^  (\S+)", str(layer), re.MULTILINE)
    assert {name for name, _ in layer.named_parameters() if "." not in name} <= {*names}
    assert f"{sum(p.value.size for p in layer.parameters()):,} parameters" in str(layer)
    assert type(layer).__name__ in str(layer)


def test_axes_may_name_the_input_alone_or_the_output_alone():
    class Sum(Layer):
        axes = "N D ->"

        def forward(self, x):
            self.save_for_backward(x.shape)
            return np.sum(x)

        def backward(self, dloss=1):
            return np.full(*self.saved(), dloss)

    class Ones(Layer):
        axes = "-> N D"

        def forward(self, sizes):
            self.save_for_backward()
            return np.ones(sizes)

        def backward(self, dy):
            self.saved()

    total, ones = Sum(), Ones()
    with pytest.raises(ValueError, match=r"Sum: x should have shape \(N, D\), got \(3,\)"):
        total.forward(np.ones(3))
    assert total.forward(np.ones((2, 3))) == 6
    assert total.backward().shape == (2, 3)
    ones.forward((2, 3))
    with pytest.raises(ValueError, match=r"Ones: dy should have shape \(N, D\) = \(2, 3\), got"):
        ones.backward(np.ones((3, 2)))


def test_inputs_by_name_are_compared_with_their_own_axes():
    layer = TimeStacked(TimeRNN.init(3, 5))
    y = layer.forward(lengths=[2], x=np.ones((1, 4, 3)))
    assert y.shape == (1, 4, 5)
    with pytest.raises(ValueError, match="TimeStacked: x should have shape"):
        layer.forward(lengths=[2], x=np.ones((1, 4, 2)))
