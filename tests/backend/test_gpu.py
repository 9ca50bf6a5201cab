"""CuPy on a GPU against NumPy: every layer, every optimizer, masks, training, checkpoints."""

import inspect

import numpy as np
import pytest

import deepnlp
from deepnlp import backend, no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.checkpoint import load, save
from deepnlp.layers import Dropout, TimeDropout
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.models import RNNLM, SimpleRNNLM
from tests.backend.test_strict_models import MODELS, OPTIMIZERS, batch, training_step
from tests.cases import by_layer, together
from tests.layers.tools import LAYERS, as_tuple, host, parameter_gradients, run
from tests.strict_backend import strict

pytestmark = pytest.mark.gpu

V, D = 13, 6
TOLERANCES = {"float64": 1e-10, "float32": 2e-4}


@pytest.fixture(autouse=True)
def numpy_afterwards():
    yield
    backend.use("numpy")


def on_both(function):
    """What a function gives on NumPy and on CuPy."""
    results = []
    for name in ("numpy", "cupy"):
        deepnlp.use(name)
        deepnlp.seed(0)
        results.append(function())
    return results


def assert_all_close(ours, reference, tolerance):
    assert len(ours) == len(reference)
    for a, e in zip(ours, reference, strict=True):
        assert a.dtype == e.dtype
        assert a.shape == e.shape
        scale = max(1.0, float(np.abs(e).max(initial=0.0)))
        np.testing.assert_allclose(a, e, rtol=0, atol=tolerance * scale)


def test_the_switch():
    import cupy

    deepnlp.use("cupy")
    assert backend.name() == "cupy"
    assert isinstance(asarray([1.0]), cupy.ndarray)
    assert type(asnumpy(asarray([1.0]))) is np.ndarray


@by_layer(LAYERS)
@together(dtype=TOLERANCES)
def test_every_layer_agrees(case, dtype):
    def compute():
        layer, inputs = case.make(dtype)
        outputs, gradients = run(layer, inputs)
        first = host(outputs) + host(tuple(g for g in gradients if g is not None))
        first += parameter_gradients(layer)
        run(layer, inputs)  # a second pass adds up
        with no_backward():
            layer.forward(*inputs)
        return first + parameter_gradients(layer)

    reference, ours = on_both(compute)
    assert_all_close(ours, reference, TOLERANCES[dtype])


@by_layer(LAYERS)
def test_arrays_of_the_host_are_a_type_error(case):
    deepnlp.use("cupy")
    layer, inputs = case.make()
    names = inspect.signature(layer.forward).parameters
    for i, (name, x) in enumerate(zip(names, inputs, strict=False)):
        if name == "lengths":  # may be on the host
            continue
        with pytest.raises(TypeError):
            layer.forward(*inputs[:i], x.get(), *inputs[i + 1 :])


@by_layer(LAYERS)
def test_results_stay_on_the_device_in_their_type(case):
    import cupy

    deepnlp.use("cupy")
    layer, inputs = case.make("float32")
    outputs, gradients = run(layer, inputs)
    for array in (*outputs, *(g for g in gradients if g is not None)):
        assert isinstance(array, cupy.ndarray)
        assert array.dtype == np.float32


@by_layer(example for example in LAYERS if issubclass(example.covers, TimeRecurrent))
@together(dtype=TOLERANCES)
def test_lengths_final_gradients_and_steps_agree(case, dtype):
    def compute():
        layer, (x, *_) = case.make(dtype)
        N, T, _ = x.shape
        y = layer.forward(x, [T, 0][:N])
        ends = [getattr(layer, name) for name in layer._states]
        dx = layer.backward(2 * y, *(1 + end for end in ends))
        starts = [getattr(layer, f"d{name}0") for name in layer._states]
        state, steps = None, []
        for t in range(T):
            step, state = layer.step(x[:, t], state)
            steps.append(step)
        arrays = (y, dx, *ends, *starts, *steps, *state)
        return host(arrays) + parameter_gradients(layer)

    reference, ours = on_both(compute)
    assert_all_close(ours, reference, TOLERANCES[dtype])


def test_losses_agree():
    def compute():
        model = RNNLM(V, D, 7, tie="tied+L", dtype="float64").eval()
        ids, targets = batch()
        return host((model.losses(ids, targets), model.logits(ids)))

    reference, ours = on_both(compute)
    assert_all_close(ours, reference, 1e-9)


def test_masks_are_equal():
    def masks():
        layers = [Dropout(0.3), TimeDropout(0.5), TimeDropout(0.5, locked=True)]
        ones = asarray(np.ones((5, 7, 11), dtype="float32"))
        return [asnumpy(layer.forward(ones)) != 0 for layer in layers for _ in range(3)]

    for a, b in zip(*on_both(masks), strict=True):
        np.testing.assert_array_equal(a, b)


def test_fresh_weights_are_equal():
    def weights():
        model = RNNLM(V, D, 7, tie="tied+L")
        return [asnumpy(p.value) for p in model.parameters()]

    for a, b in zip(*on_both(weights), strict=True):
        np.testing.assert_array_equal(a, b)


def short_run(make_model, make_optimizer, dtype="float64", steps=10):
    """Losses, norms and parameters of a short training run."""
    model = make_model()
    for parameter in model.parameters():
        parameter.astype(dtype)
    optimizer = make_optimizer(model.parameters())
    figures = [training_step(model, optimizer, *batch(seed=s % 3)) for s in range(steps)]
    figures = [asnumpy(x).reshape(()).astype("float64") for pair in figures for x in pair]
    return figures + [asnumpy(p.value) for p in model.parameters()]


@pytest.mark.parametrize("model", MODELS)
def test_training_agrees(model):
    reference, ours = on_both(lambda: short_run(MODELS[model], OPTIMIZERS["SGD"]))
    assert_all_close(ours, reference, 1e-9)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_agrees(optimizer):
    reference, ours = on_both(lambda: short_run(MODELS["lstm tied"], OPTIMIZERS[optimizer]))
    assert_all_close(ours, reference, 1e-9)


def test_the_stand_in_agrees_with_cupy():
    _, ours = on_both(lambda: short_run(MODELS["lstm tied"], OPTIMIZERS["Adam"]))
    backend.use_module(strict)
    deepnlp.seed(0)
    reference = short_run(MODELS["lstm tied"], OPTIMIZERS["Adam"])
    assert_all_close(ours, reference, 1e-9)


@pytest.mark.parametrize("make", [MODELS["lstm tied+L"], lambda: SimpleRNNLM(V, D, 5)])
def test_a_checkpoint_crosses_over(tmp_path, make):
    deepnlp.use("cupy")
    deepnlp.seed(0)
    model = make()
    ids, targets = batch()
    training_step(model, OPTIMIZERS["Adam"](model.parameters()), ids, targets)
    model.reset_state()
    scores = asnumpy(model.eval().logits(ids))
    values = [asnumpy(p.value) for p in model.parameters()]
    ids = asnumpy(ids)
    save(tmp_path / "gpu.npz", model)

    deepnlp.use("numpy")
    loaded = load(tmp_path / "gpu.npz")
    assert all(type(p.value) is np.ndarray for p in loaded.parameters())
    for parameter, value in zip(loaded.parameters(), values, strict=True):
        np.testing.assert_array_equal(parameter.value, value)
    loaded.reset_state()
    np.testing.assert_allclose(loaded.eval().logits(ids), scores, atol=1e-5)
    save(tmp_path / "cpu.npz", loaded)

    deepnlp.use("cupy")
    back = load(tmp_path / "cpu.npz")
    for parameter, value in zip(back.parameters(), values, strict=True):
        np.testing.assert_array_equal(asnumpy(parameter.value), value)


def test_a_snapshot_repeats_on_the_device():
    deepnlp.use("cupy")
    deepnlp.seed(0)
    model = RNNLM(V, D, D)
    ids, targets = batch()
    model.forward(ids, targets)
    state = model.snapshot()
    first = float(model.forward(ids, targets))
    model.reset_state()
    model.restore(state)
    assert float(model.forward(ids, targets)) == first


def test_state_over_windows_equals_one_long_sequence():
    deepnlp.use("cupy")
    for case in (c for c in LAYERS if c.covers.__name__ in ("TimeRNN", "TimeLSTM", "TimeGRU")):
        layer, (x,) = case.make()
        whole = asnumpy(as_tuple(layer.forward(x))[0])
        layer.stateful = True
        layer.reset_state()
        parts = [asnumpy(layer.forward(x[:, t : t + 1].copy())) for t in range(x.shape[1])]
        np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, atol=1e-12)
