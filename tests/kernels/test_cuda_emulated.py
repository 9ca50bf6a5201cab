"""The CUDA kernels and their launches, run on the processor, against the plain formulas."""

import warnings

import numpy as np
import pytest

from deepnlp import backend
from deepnlp.backend import philox_uint16
from deepnlp.kernels import cuda, plain
from deepnlp.kernels.cuda import launching, masks
from tests.kernels import cases
from tests.kernels.cases import MASKS, SIZES, STEPS, assert_all_close
from tests.kernels.emulator import KERNELS, compiler
from tests.kernels.weights import SCALARS, run_clip, run_update

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")

DTYPES = ["float32", "float64"]


@pytest.fixture
def small_grid(monkeypatch):
    """A grid that cannot cover the larger cases at once."""
    monkeypatch.setattr(launching, "most_rows", 2)
    monkeypatch.setattr(launching, "most_blocks", 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("label", STEPS)
def test_a_step_is_one_launch_that_equals_the_formula(device, label, dtype):
    for count, size in enumerate(SIZES, start=1):
        reference = cases.run_step(plain, label, dtype, size)
        assert_all_close(cases.run_step(cuda, label, dtype, size), reference, dtype)
        assert device.launches == [STEPS[label].name] * count


@pytest.mark.parametrize("label", STEPS)
def test_a_step_larger_than_its_grid(device, small_grid, label):
    reference = cases.run_step(plain, label, "float64", (2, 3, 130))
    assert_all_close(cases.run_step(cuda, label, "float64", (2, 3, 130)), reference, "float64")
    assert device.launches == [STEPS[label].name]


@pytest.mark.parametrize("label", STEPS)
def test_a_step_of_nothing_is_no_launch(device, label):
    for size in [(2, 0, 3), (2, 3, 0)]:
        cases.run_step(cuda, label, "float64", size)
    assert device.launches == []


def in_type(dtype):
    return lambda array: array.astype(dtype)


def spread_out(array):
    """The same numbers, with a gap after each."""
    wide = np.zeros((*array.shape, 2), array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


@pytest.mark.parametrize("change", [in_type("complex128"), in_type("float16"), spread_out])
@pytest.mark.parametrize("label", STEPS)
def test_a_step_that_no_kernel_takes_follows_the_formula(device, label, change):
    step = STEPS[label]
    results = []
    for module in (plain, cuda):
        arguments = step.arguments(cases.DrawSteps("float64", (2, 3, 4)))
        arguments = [change(a) if isinstance(a, np.ndarray) else a for a in arguments]
        getattr(module, step.name)(*arguments)
        results.append([a for a in arguments if isinstance(a, np.ndarray)])
    for reference, ours in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, reference)
    assert device.launches == []


def test_mixed_number_types_follow_the_formula(device):
    draw = cases.Draw("float32")
    above, later, da = draw.normal(2, 3), draw.normal(2, 3).astype("float64"), draw.normal(2, 3)
    expected = da * (above + later)
    cuda.rnn_step_backward(above, later, da)
    np.testing.assert_allclose(da, expected, rtol=1e-6)
    dense = draw.normal(2, 3)
    cuda.rnn_slopes(dense.astype("float64"), dense, "tanh")
    assert device.launches == []


def test_rows_that_are_broadcast(device):
    draw = cases.Draw("float64")
    above, da = np.broadcast_to(draw.normal(3), (2, 3)), draw.normal(2, 3)
    expected = da * above
    cuda.rnn_step_backward(above, np.zeros((2, 3)), da)
    np.testing.assert_allclose(da, expected, rtol=1e-15)
    cuda.rnn_step_backward(above, np.zeros((1, 3)), da)  # a row too few for the kernel
    np.testing.assert_allclose(da, expected * above, rtol=1e-15)
    assert device.launches == ["rnn_step_backward"]


def test_steps_that_are_not_evenly_spaced_follow_the_formula(device):
    draw = cases.Draw("float64")
    gates, h_prev, p_n = draw.gate(2, 3, 12), draw.normal(2, 3, 4), draw.normal(2, 5, 4)[:, :3]
    da, reference = draw.normal(2, 3, 12), np.zeros((2, 3, 12))
    plain.gru_slopes(gates, h_prev, p_n, reference)
    cuda.gru_slopes(gates, h_prev, p_n, da)
    np.testing.assert_array_equal(da, reference)
    assert device.launches == []


def test_an_activation_without_a_kernel_follows_the_formula(device, monkeypatch):
    square = plain.Activation(np.square, lambda y: 2 * np.sqrt(y))
    monkeypatch.setitem(plain.ACTIVATIONS, "square", square)
    h = np.zeros((1, 1))
    cuda.rnn_step(np.ones((1, 1)), np.ones((1, 1)), h, "square")
    assert h == 4
    assert device.launches == []


def test_no_number_stays_no_number(device):
    a, p, h = np.array([[np.nan, -1.0, 2.0]]), np.zeros((1, 3)), np.zeros((1, 3))
    cuda.rnn_step(a, p, h, "relu")
    np.testing.assert_array_equal(h, [[np.nan, 0.0, 2.0]])
    cuda.rnn_step(a, p, h, "tanh")
    np.testing.assert_array_equal(np.isnan(h), [[True, False, False]])


# --- Softmax with its loss -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("size", [(1, 1), (1, 7), (5, 3), (3, 700)], ids=str)
def test_softmax_is_one_launch_each_way(device, dtype, bias, size):
    reference = cases.run_softmax(plain, dtype, *size, bias)
    assert_all_close(cases.run_softmax(cuda, dtype, *size, bias), reference, dtype)
    assert device.launches == ["softmax_nll", "softmax_nll_backward"]


def test_softmax_larger_than_its_grid(device, small_grid):
    reference = cases.run_softmax(plain, "float64", 5, 300)
    assert_all_close(cases.run_softmax(cuda, "float64", 5, 300), reference, "float64")


def test_softmax_of_large_scores(device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reference = cases.run_softmax(plain, "float64", 4, 9, scale=1000.0)
    assert_all_close(cases.run_softmax(cuda, "float64", 4, 9, scale=1000.0), reference, "float64")


def test_softmax_leaves_the_scores_and_takes_integers_of_any_kind(device):
    s = cases.Draw("float32").normal(3, 4)
    before, t = s.copy(), np.array([3, 0, 1], "int32")
    nll, kept = cuda.softmax_nll(s, None, t)
    np.testing.assert_array_equal(s, before)
    np.testing.assert_allclose(kept, np.log(np.exp(before).sum(axis=1)), rtol=1e-6)
    reference, _ = plain.softmax_nll(before, None, t)
    np.testing.assert_allclose(nll, reference, rtol=1e-5)


def test_a_target_that_is_none_reads_no_foreign_memory(device):
    s = cases.Draw("float64").normal(4, 5)
    nll, _ = cuda.softmax_nll(s, None, np.array([5, -1, 2, 10**15]))
    np.testing.assert_array_equal(np.isnan(nll), [True, True, False, True])


@pytest.mark.parametrize("unlikely", [-np.inf, np.nan])
def test_scores_that_are_no_numbers(device, unlikely):
    s = cases.Draw("float64").normal(2, 5)
    s[0, 1] = unlikely
    with np.errstate(invalid="ignore"):
        reference, _ = plain.softmax_nll(s.copy(), None, np.array([2, 2]))
    nll, _ = cuda.softmax_nll(s, None, np.array([2, 2]))
    np.testing.assert_allclose(nll, reference, rtol=1e-12)


def as_complex(s, b):
    return s.astype(complex), b.astype(complex)


def as_transposed(s, b):
    return np.asfortranarray(s), b


def as_half(s, b):
    return s.astype("float16"), b.astype("float16")


@pytest.mark.parametrize("change", [as_complex, as_transposed, as_half])
def test_scores_that_no_kernel_takes_follow_the_formula(device, change):
    draw = cases.Draw("float64")
    s, b = change(draw.normal(3, 4), draw.normal(4))
    t, dnll = draw.ids(3, 4), draw.normal(3).astype(s.dtype)
    ours = s.copy(order="K")
    nll, kept = cuda.softmax_nll(ours, b, t)
    factor = cuda.softmax_nll_backward(ours, b, t, kept, dnll)
    reference, kept = plain.softmax_nll(s, b, t)
    np.testing.assert_array_equal(nll, reference)
    np.testing.assert_array_equal(factor, plain.softmax_nll_backward(s, b, t, kept, dnll))
    np.testing.assert_array_equal(ours, s)
    assert device.launches == []


# --- Dropout ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "mask_shape"), MASKS, ids=str)
def test_dropout_equals_the_formula_to_the_last_bit(device, dtype, shape, mask_shape):
    for of_mask in [(0, 0, 0.5), (2**64 - 1, 2**63 + 5, 0.2), (12345, 7, 0.0)]:
        reference = cases.run_dropout(plain, dtype, shape, mask_shape, *of_mask)
        ours = cases.run_dropout(cuda, dtype, shape, mask_shape, *of_mask)
        for a, e in zip(ours, reference, strict=True):
            assert a.dtype == e.dtype
            np.testing.assert_array_equal(a, e)
    assert device.launches == ["dropout"] * (6 if np.prod(shape) else 0)


@pytest.mark.parametrize("repeats", [1, 3])
def test_dropout_larger_than_its_grid(device, small_grid, repeats):
    shape, mask_shape = (2, repeats, 1100), (2, 1, 1100)
    reference = cases.run_dropout(plain, "float32", shape, mask_shape, 3, 4, 0.4)
    ours = cases.run_dropout(cuda, "float32", shape, mask_shape, 3, 4, 0.4)
    np.testing.assert_array_equal(ours, reference)


@pytest.mark.parametrize("threshold", [1, 100, 2**15, 2**16 - 1])
def test_every_bit_of_the_stream(device, threshold):
    """At several thresholds, which entries fall tells the numbers themselves apart."""
    numbers = philox_uint16(99, 3, 5000)
    y, _ = cuda.dropout(np.ones(5000), (5000,), 99, 3, threshold / 2**16)
    np.testing.assert_array_equal(y != 0, numbers >= threshold)


def test_nothing_but_the_name_of_the_mask_is_kept(device):
    x = cases.Draw("float32").normal(4, 6)
    _, kept = cuda.dropout(x, x.shape, 5, 6, 0.5)
    assert kept == masks.Mask((4, 6), 5, 6, 0.5)
    dy = np.asfortranarray(x)  # which no kernel takes
    np.testing.assert_array_equal(cuda.dropout_backward(dy, kept), cuda.dropout_backward(x, kept))
    assert device.launches == ["dropout"] * 2


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
def test_dropout_that_no_kernel_takes_follows_the_formula(device, x, mask_shape):
    (y, kept), (reference, mask) = (m.dropout(x, mask_shape, 1, 2, 0.5) for m in (cuda, plain))
    np.testing.assert_array_equal(y, reference)
    np.testing.assert_array_equal(cuda.dropout_backward(x, kept), plain.dropout_backward(x, mask))
    assert device.launches == []


# --- The whole -------------------------------------------------------------------------------


def test_every_kernel_is_launched_by_its_function(device):
    for label in STEPS:
        cases.run_step(cuda, label, "float32", (2, 3, 4))
    cases.run_softmax(cuda, "float32", 2, 3)
    cases.run_dropout(cuda, "float32", (2, 3), (2, 3), 0, 0, 0.5)
    run_clip(cuda.clip_all, "float32", 1.0)
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
        arguments, reference = (
            step.arguments(cases.DrawSteps("float64", (2, 3, 4))) for _ in range(2)
        )
        getattr(plain, step.name)(*reference)
        backend.use_module(cupy)
        try:
            getattr(cuda, step.name)(
                *(cupy_array_over(a) if isinstance(a, np.ndarray) else a for a in arguments)
            )
        finally:
            backend.use("numpy")
        for a, e in zip(arguments, reference, strict=True):
            if isinstance(a, np.ndarray):
                np.testing.assert_allclose(a, e, rtol=1e-12)
    assert device.launches == ["lstm_step", "gru_slopes", "gru_step"]
