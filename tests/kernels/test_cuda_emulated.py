"""The CUDA kernels and their launches, run on the processor, against the plain formulas."""

import warnings

import numpy as np
import pytest

from deepnlp import backend, kernels, no_backward
from deepnlp.backend import philox_uint16
from deepnlp.examples import EXAMPLES
from deepnlp.kernels import cuda
from deepnlp.kernels.cuda import launching, masks, steps
from deepnlp.layers.dropout import dropout, dropout_backward
from deepnlp.layers.losses import softmax_nll, softmax_nll_backward
from tests.cases import by_layer, together
from tests.kernels import cases, reference
from tests.kernels.cases import (
    LOOPS,
    MASKS,
    SIZES,
    STEPS,
    WAYS,
    assert_all_close,
    launches_of,
    plain,
)
from tests.kernels.emulator import KERNELS, compiler
from tests.kernels.weights import SCALARS, run_clip, run_update
from tests.layers.tools import run

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")

DTYPES = ["float32", "float64"]


# --- Steps -----------------------------------------------------------------------------------


@pytest.mark.parametrize("label", STEPS)
@together(dtype=DTYPES)
def test_a_step_is_one_launch_that_equals_the_formula(device, label, dtype):
    device.launches.clear()
    for count, size in enumerate(SIZES, start=1):
        expected = cases.run_step(reference, label, dtype, size)
        assert_all_close(cases.run_step(steps, label, dtype, size), expected, dtype)
        assert device.launches == [STEPS[label].name] * count


@together(label=STEPS)
def test_a_step_larger_than_its_grid(device, small_grid, label):
    device.launches.clear()
    expected = cases.run_step(reference, label, "float64", (2, 3, 130))
    assert_all_close(cases.run_step(steps, label, "float64", (2, 3, 130)), expected, "float64")
    assert device.launches == [STEPS[label].name]


@together(label=STEPS)
def test_a_step_of_nothing_is_no_launch(device, label):
    for size in [(2, 0, 3), (2, 3, 0)]:
        cases.run_step(steps, label, "float64", size)
    assert device.launches == []


def in_type(dtype):
    return lambda array: array.astype(dtype)


def spread_out(array):
    """The same numbers, with a gap after each."""
    wide = np.zeros((*array.shape, 2), array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


@together(change=[in_type("complex128"), in_type("float16"), spread_out], label=STEPS)
def test_a_step_that_no_kernel_takes_is_an_error(device, label, change):
    step = STEPS[label]
    arguments = step.arguments(cases.DrawSteps("float64", (2, 3, 4)))
    arguments = [change(a) if isinstance(a, np.ndarray) else a for a in arguments]
    before = [a.copy() for a in arguments if isinstance(a, np.ndarray)]
    with pytest.raises(TypeError, match=rf"kernel {step.name} cannot take"):
        getattr(steps, step.name)(*arguments)
    for ours, was in zip((a for a in arguments if isinstance(a, np.ndarray)), before):
        np.testing.assert_array_equal(ours, was)
    assert device.launches == []


def test_mixed_number_types_are_an_error(device):
    draw = cases.Draw("float32")
    above, later, da = draw.normal(2, 3), draw.normal(2, 3).astype("float64"), draw.normal(2, 3)
    with pytest.raises(TypeError, match="rnn_step_backward"):
        steps.rnn_step_backward(above, later, da)
    with pytest.raises(TypeError, match="rnn_slopes"):
        steps.rnn_slopes(da.astype("float64"), da, "tanh")
    assert device.launches == []


def test_rows_that_are_broadcast(device):
    draw = cases.Draw("float64")
    above, da = np.broadcast_to(draw.normal(3), (2, 3)), draw.normal(2, 3)
    expected = da * above
    steps.rnn_step_backward(above, np.zeros((2, 3)), da)
    np.testing.assert_allclose(da, expected, rtol=1e-15)
    assert device.launches == ["rnn_step_backward"]


def test_steps_that_are_not_evenly_spaced_are_an_error(device):
    draw = cases.Draw("float64")
    gates, h_prev, p_n = draw.gate(2, 3, 12), draw.normal(2, 3, 4), draw.normal(2, 5, 4)[:, :3]
    with pytest.raises(TypeError, match="gru_slopes"):
        steps.gru_slopes(gates, h_prev, p_n, draw.normal(2, 3, 12))
    assert device.launches == []


def test_no_number_stays_no_number(device):
    a, p, h = np.array([[np.nan, -1.0, 2.0]]), np.zeros((1, 3)), np.zeros((1, 3))
    steps.rnn_step(a, p, h, "relu")
    np.testing.assert_array_equal(h, [[np.nan, 0.0, 2.0]])
    steps.rnn_step(a, p, h, "tanh")
    np.testing.assert_array_equal(np.isnan(h), [[True, False, False]])


# --- Loops over time -------------------------------------------------------------------------

LOOP_SIZES = [*SIZES, (1, 4, 5), (6, 1, 3), (5, 2, 129)]


@pytest.mark.parametrize("label", LOOPS)
@together(dtype=DTYPES)
def test_a_loop_equals_the_plain_one_in_few_launches(device, label, dtype):
    loop = LOOPS[label]
    for size in LOOP_SIZES:
        for way in WAYS:
            expected = cases.run_loop(plain, loop, dtype, size, *way)
            device.launches.clear()
            assert_all_close(cases.run_loop(cuda, loop, dtype, size, *way), expected, dtype)
            assert device.launches == launches_of(loop, size[0], *way)


@together(label=LOOPS)
def test_a_loop_larger_than_its_grid(device, small_grid, label):
    expected = cases.run_loop(plain, LOOPS[label], "float64", (2, 3, 130), True)
    ours = cases.run_loop(cuda, LOOPS[label], "float64", (2, 3, 130), True)
    assert_all_close(ours, expected, "float64")


every_recurrent_layer = by_layer(
    e for e in EXAMPLES.values() if e.covers.__name__ in ("TimeRNN", "TimeLSTM", "TimeGRU")
)


@every_recurrent_layer
def test_a_layer_of_a_type_without_kernels_follows_the_plain_form(cuda_kernels, case):
    for dtype in ("complex128", "float16"):
        results = []
        for choice in ("quick", "plain"):
            layer, (x,) = case.make()
            layer.astype(dtype)
            with kernels.using(choice):
                outputs, gradients = run(layer, (x.astype(dtype),))
                with no_backward():
                    again = layer.forward(x.astype(dtype))
            arrays = [*outputs, *gradients, again, layer.h, layer.dh0]
            results.append([*arrays, *(p.grad for p in layer.parameters())])
        for ours, expected in zip(*results, strict=True):
            assert ours.dtype == dtype
            np.testing.assert_array_equal(ours, expected)
    assert cuda_kernels.launches == []


def test_steps_say_that_they_take_no_complex_numbers(device):
    a, start = np.zeros((1, 1, 1), complex), (np.zeros((1, 1), complex),)
    assert cuda.rnn_steps(a, start, None, "tanh", None) is NotImplemented
    assert cuda.lstm_steps(a, start * 2, None, None) is NotImplemented
    assert cuda.gru_steps(a, start, None, None, False, None) is NotImplemented
    assert device.launches == []


@every_recurrent_layer
def test_gradients_of_another_type_and_layout_reach_the_kernels(cuda_kernels, case):
    """A float32 layer under a float64 one, and a final gradient that lies transposed in memory."""
    layer, (x,) = case.make("float32")
    draw = cases.Draw("float64")
    N, T, H = layer.forward(x).shape
    dhs, final = draw.normal(N, T, H), [draw.normal(H, N).T for _ in layer._states]
    results = []
    for choice in ("quick", "plain"):
        layer.reset_state()
        layer.zero_grad()
        with kernels.using(choice):
            layer.forward(x)
            dx = layer.backward(dhs, *final)
        results.append([dx, layer.dh0.astype("float32"), *(p.grad for p in layer.parameters())])
    assert_all_close(*results, "float32")
    assert cuda_kernels.launches


# --- Scans -----------------------------------------------------------------------------------


SCANS = [
    ((2, 3), (2, 3)),
    ((2, 3, 4, 5), (2, 3, 4, 1)),
    ((2, 3, 4, 5), (2, 3, 1, 1)),
    ((3, 200),) * 2,
]
"""Shape of a step, and of its gates."""


@together(dtype=DTYPES, shapes=SCANS)
def test_a_scan_is_one_launch_each_way(device, small_grid, dtype, shapes):
    draw, (shape, of_gates) = cases.Draw(dtype), shapes
    a, b, h_0 = draw.normal(7, *of_gates), draw.normal(7, *shape), draw.normal(*shape)
    device.launches.clear()
    for name in ("scan", "scan_backward"):
        ours = getattr(cuda, name)(a, b, h_0)
        assert_all_close([ours], [getattr(plain, name)(a, b, h_0)], dtype)
    assert device.launches == ["scan"] * 2
    assert cuda.scan(a, b.astype(complex), h_0) is NotImplemented
    assert cuda.scan(a[:, :1], b, h_0) is NotImplemented
    assert cuda.scan(a[:0], b[:0], h_0).shape == (1, *shape)
    assert device.launches == ["scan"] * 2


@by_layer(e for e in EXAMPLES.values() if hasattr(e.covers, "scanned"))
def test_layers_that_are_scans_run_on_the_kernel(cuda_kernels, case):
    results = []
    for choice in ("quick", "plain"):
        with kernels.using(choice):
            layer, inputs = case.make("float32")
            outputs, gradients = run(layer, inputs)
        results.append([*outputs, gradients[0], layer.dh0, *(p.grad for p in layer.parameters())])
    assert_all_close(*results, "float32")
    assert {*cuda_kernels.launches} == {"scan"}


# --- Softmax with its loss -------------------------------------------------------------------


@together(dtype=DTYPES, bias=[True, False], size=[(1, 1), (1, 7), (5, 3), (3, 700)])
def test_softmax_is_one_launch_each_way(device, dtype, bias, size):
    device.launches.clear()
    expected = cases.run_softmax(plain, dtype, *size, bias)
    assert_all_close(cases.run_softmax(cuda, dtype, *size, bias), expected, dtype)
    assert device.launches == ["softmax_nll", "softmax_nll_backward"]


def test_softmax_larger_than_its_grid(device, small_grid):
    expected = cases.run_softmax(plain, "float64", 5, 300)
    assert_all_close(cases.run_softmax(cuda, "float64", 5, 300), expected, "float64")


def test_softmax_of_large_scores(device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = cases.run_softmax(plain, "float64", 4, 9, scale=1000.0)
    assert_all_close(cases.run_softmax(cuda, "float64", 4, 9, scale=1000.0), expected, "float64")


def test_softmax_leaves_the_scores_and_takes_integers_of_any_kind(device):
    s = cases.Draw("float32").normal(3, 4)
    before, t = s.copy(), np.array([3, 0, 1], "int32")
    nll, (_, log_sum) = cuda.softmax_nll(s, None, t)
    np.testing.assert_array_equal(s, before)
    np.testing.assert_allclose(log_sum, np.log(np.exp(before).sum(axis=1)), rtol=1e-6)
    expected, _ = plain.softmax_nll(before, None, t)
    np.testing.assert_allclose(nll, expected, rtol=1e-5)


def test_a_target_that_is_none_reads_no_foreign_memory(device):
    s = cases.Draw("float64").normal(4, 5)
    nll, _ = cuda.softmax_nll(s, None, np.array([5, -1, 2, 10**15]))
    np.testing.assert_array_equal(np.isnan(nll), [True, True, False, True])


@together(unlikely=[-np.inf, np.nan])
def test_scores_that_are_no_numbers(device, unlikely):
    s = cases.Draw("float64").normal(2, 5)
    s[0, 1] = unlikely
    with np.errstate(invalid="ignore"):
        expected, _ = plain.softmax_nll(s.copy(), None, np.array([2, 2]))
    nll, _ = cuda.softmax_nll(s, None, np.array([2, 2]))
    np.testing.assert_allclose(nll, expected, rtol=1e-12)


def as_complex(s, b):
    return s.astype(complex), b.astype(complex)


def as_transposed(s, b):
    return np.asfortranarray(s), b


def as_half(s, b):
    return s.astype("float16"), b.astype("float16")


@together(change=[as_complex, as_transposed, as_half])
def test_scores_that_no_kernel_takes_follow_the_formula(cuda_kernels, change):
    draw = cases.Draw("float64")
    s, b = change(draw.normal(3, 4), draw.normal(4))
    t, dnll = draw.ids(3, 4), draw.normal(3).astype(s.dtype)
    assert cuda.softmax_nll(s.copy(order="K"), b, t) is NotImplemented
    ours = s.copy(order="K")
    nll, saved = softmax_nll(ours, b, t)
    factor = softmax_nll_backward(ours, t, saved, dnll)
    expected, saved = plain.softmax_nll(s, b, t)
    np.testing.assert_array_equal(nll, expected)
    np.testing.assert_array_equal(factor, plain.softmax_nll_backward(s, t, saved, dnll))
    np.testing.assert_array_equal(ours, s)
    assert cuda_kernels.launches == []


# --- Dropout ---------------------------------------------------------------------------------


@together(dtype=DTYPES, shapes=MASKS)
def test_dropout_equals_the_formula_to_the_last_bit(device, dtype, shapes):
    shape, mask_shape = shapes
    device.launches.clear()
    for of_mask in [(0, 0, 0.5), (2**64 - 1, 2**63 + 5, 0.2), (12345, 7, 0.0)]:
        expected = cases.run_dropout(plain, dtype, shape, mask_shape, *of_mask)
        ours = cases.run_dropout(cuda, dtype, shape, mask_shape, *of_mask)
        for a, e in zip(ours, expected, strict=True):
            assert a.dtype == e.dtype
            np.testing.assert_array_equal(a, e)
    assert device.launches == ["dropout"] * (6 if np.prod(shape) else 0)


@together(repeats=[1, 3])
def test_dropout_larger_than_its_grid(device, small_grid, repeats):
    shape, mask_shape = (2, repeats, 1100), (2, 1, 1100)
    expected = cases.run_dropout(plain, "float32", shape, mask_shape, 3, 4, 0.4)
    ours = cases.run_dropout(cuda, "float32", shape, mask_shape, 3, 4, 0.4)
    np.testing.assert_array_equal(ours, expected)


@together(threshold=[1, 100, 2**15, 2**16 - 1])
def test_every_bit_of_the_stream(device, threshold):
    """At several thresholds, which entries fall tells the numbers themselves apart."""
    numbers = philox_uint16(99, 3, 5000)
    y, _ = cuda.dropout(np.ones(5000), (5000,), 99, 3, threshold / 2**16)
    np.testing.assert_array_equal(y != 0, numbers >= threshold)


def test_nothing_but_the_name_of_the_mask_is_saved(cuda_kernels):
    x = cases.Draw("float32").normal(4, 6)
    _, saved = dropout(x, x.shape, 5, 6, 0.5)
    assert saved == masks.Mask((4, 6), 5, 6, 0.5)
    expected = dropout_backward(x, saved)
    assert cuda_kernels.launches == ["dropout"] * 2
    # gradients in a layout or a type that the kernel does not take have the same mask
    np.testing.assert_array_equal(dropout_backward(np.asfortranarray(x), saved), expected)
    np.testing.assert_allclose(dropout_backward(x.astype("float16"), saved), expected, rtol=1e-2)


@pytest.mark.parametrize(
    ("x", "mask_shape"),
    [
        (np.ones((2, 3), complex), (2, 3)),
        (np.ones((2, 3), "float16"), (2, 3)),
        (np.ones((3, 2)).T, (2, 3)),
        (np.ones((2, 3)), (1, 3)),
        (np.ones((2, 3, 4)), (2, 3, 1)),
    ],
    ids=str,
)
def test_dropout_that_no_kernel_takes_follows_the_formula(cuda_kernels, x, mask_shape):
    (y, saved), (expected, mask) = (f(x, mask_shape, 1, 2, 0.5) for f in (dropout, plain.dropout))
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(dropout_backward(x, saved), plain.dropout_backward(x, mask))
    assert cuda_kernels.launches == []


# --- The whole -------------------------------------------------------------------------------


def test_every_kernel_is_launched_by_its_function(device):
    for label in STEPS:
        cases.run_step(steps, label, "float32", (2, 3, 4))
    cases.run_softmax(cuda, "float32", 2, 3)
    cases.run_dropout(cuda, "float32", (2, 3), (2, 3), 0, 0, 0.5)
    run_clip(cuda.clip_all, "float32", 1.0)
    cuda.scan(*(cases.Draw("float32").normal(2, 3) for _ in range(2)), np.ones(3, "float32"))
    cases.run_loop(cuda, LOOPS["lstm"], "float32", (2, 3, 4), watched=False)
    for rule in SCALARS:
        run_update(cuda.update_all, rule, "float32")
    assert set(device.launches) == set(KERNELS)


def cupy_array_over(array):
    """A CuPy array whose memory is that of the host: good for all that does not touch it."""
    cupy = pytest.importorskip("cupy")
    memory = cupy.cuda.UnownedMemory(array.ctypes.data, array.nbytes, array, 0)
    pointer = cupy.cuda.MemoryPointer(memory, 0)
    return cupy.ndarray(array.shape, array.dtype, pointer, array.strides)


def test_launches_with_the_arrays_of_cupy(device, monkeypatch):
    """Dense, transposed and missing arrays: CuPy's own say where they lie as NumPy's do."""
    cupy = pytest.importorskip("cupy")
    monkeypatch.setattr(device, "pointer", launching.Gpu.pointer, raising=False)
    for label in ("lstm_step turned", "gru_slopes after", "gru_step without bh"):
        step = STEPS[label]
        arguments, expected = (
            step.arguments(cases.DrawSteps("float64", (2, 3, 4))) for _ in range(2)
        )
        getattr(reference, step.name)(*expected)
        backend.use_module(cupy)
        try:
            getattr(steps, step.name)(
                *(cupy_array_over(a) if isinstance(a, np.ndarray) else a for a in arguments)
            )
        finally:
            backend.use("numpy")
        for a, e in zip(arguments, expected, strict=True):
            if isinstance(a, np.ndarray):
                np.testing.assert_allclose(a, e, rtol=1e-12)
    assert device.launches == ["lstm_step", "gru_slopes", "gru_step"]
