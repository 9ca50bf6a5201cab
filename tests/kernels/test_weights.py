"""The quick forms of what is done to all weights: on NumPy, and on CUDA in the emulator."""

import numpy as np
import pytest

from deepnlp import kernels, optimizers, parameter
from deepnlp.backend import threads
from deepnlp.kernels import cuda, fast
from deepnlp.kernels.cuda import weights
from deepnlp.optimizers import Update
from tests.cases import together
from tests.kernels.cases import Draw, assert_all_close
from tests.kernels.emulator import compiler
from tests.kernels.formulas import place_of
from tests.kernels.weights import LAZY, SCALARS, run_clip, run_lookups, run_update

clip_all, update_all = optimizers.clip_all.plain, optimizers.update_all.plain

needs_a_compiler = pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")
every_type = together(dtype=["float32", "float64"])
every_rule = pytest.mark.parametrize("rule", SCALARS)


# --- NumPy -----------------------------------------------------------------------------------


@together(dtype=["float64", "float32", "complex128"], n=[0, 1, 700])
def test_rows_are_added_in_order(dtype, n):
    rng = np.random.default_rng(0)
    ids, rows = rng.integers(0, 5, size=n), rng.normal(size=(n, 31)).astype(dtype)
    tables = [np.zeros((5, 31), dtype) for _ in range(2)]
    fast.add_rows(tables[0], ids, rows)
    parameter.add_rows.plain(tables[1], ids, rows)
    np.testing.assert_array_equal(*tables)


@every_rule
@every_type
def test_an_update_in_blocks_has_the_same_bits(rule, dtype):
    for a, e in zip(
        run_update(fast.update_all, rule, dtype, copies=3),
        run_update(update_all, rule, dtype, copies=3),
        strict=True,
    ):
        np.testing.assert_array_equal(a, e)


@pytest.mark.parametrize("make", LAZY.values(), ids=LAZY.keys())
def test_sparse_steps_are_those_of_the_plain_form_with_the_same_bits_for_all_threads(make):
    with kernels.using("plain"):
        reference = run_lookups(make)
    before = threads.number()
    try:
        threads.use(1)
        first = run_lookups(make)
        for a, e in zip(first, reference, strict=True):  # the norm is summed over other shapes
            np.testing.assert_allclose(a, e, rtol=1e-6, atol=1e-7)
        for number in (2, 3):
            threads.use(number)
            for a, e in zip(run_lookups(make), first, strict=True):
                np.testing.assert_array_equal(a, e)
    finally:
        threads.use(before)


# --- CUDA ------------------------------------------------------------------------------------


@needs_a_compiler
@every_type
@together(max_norm=[0.25, 1e4, np.inf])
def test_clipping_is_two_launches(device, dtype, max_norm):
    device.launches.clear()
    reference = run_clip(clip_all, dtype, max_norm)
    assert_all_close(run_clip(cuda.clip_all, dtype, max_norm), reference, dtype)
    assert device.launches == ["clip_sum", "clip_scale"]


@needs_a_compiler
def test_gradients_below_the_norm_keep_every_bit(device):
    before = run_clip(clip_all, "float32", np.inf)
    for a, e in zip(run_clip(cuda.clip_all, "float32", 1e4)[1:], before[1:], strict=True):
        np.testing.assert_array_equal(a, e)


@needs_a_compiler
@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_squares_that_float32_cannot_hold(device, size):
    gradients = [np.array([3, -4], "float32") * np.float32(size), np.zeros((2, 3), "float32")]
    norm = cuda.clip_all(gradients, 0.25)
    assert float(norm) == pytest.approx(5 * size, rel=1e-6)
    scale = min(1, 0.25 / (5 * size + 1e-6))
    np.testing.assert_allclose(gradients[0], np.array([3, -4]) * size * scale, rtol=1e-6)


@needs_a_compiler
def test_many_gradients_with_few_blocks_for_each(device, monkeypatch):
    monkeypatch.setattr(weights, "_MOST_FOR_A_SUM", 2)
    reference = run_clip(clip_all, "float64", 1.0, copies=9)
    assert_all_close(run_clip(cuda.clip_all, "float64", 1.0, copies=9), reference, "float64")
    assert device.launches == ["clip_sum"] * 2 + ["clip_scale"] * 2


@needs_a_compiler
def test_a_norm_that_is_no_number_shows_everywhere(device):
    g = [np.array([1.0, np.nan]), np.array([2.0])]
    assert np.isnan(cuda.clip_all(g, 1.0))
    assert np.isnan(np.concatenate(g)).all()


@pytest.mark.parametrize(
    "gradients",
    [
        [],
        [np.zeros((0, 3))],
        [np.ones(3), np.ones(3, "float32")],
        [np.ones(3, complex)],
        [np.ones((3, 2)).T],
    ],
    ids=str,
)
def test_gradients_that_no_kernel_takes_are_left_to_the_formula(gradients):
    before = [g.copy() for g in gradients]
    assert cuda.clip_all(gradients, 0.5) is NotImplemented
    for a, e in zip(gradients, before, strict=True):
        np.testing.assert_array_equal(a, e)


@needs_a_compiler
@every_rule
@every_type
def test_an_update_is_one_launch(device, rule, dtype):
    device.launches.clear()
    reference = run_update(update_all, rule, dtype)
    assert_all_close(run_update(cuda.update_all, rule, dtype), reference, dtype)
    assert device.launches == [weights.RULES[place_of(getattr(optimizers, rule)._formula)].kernel]


@needs_a_compiler
def test_many_weights_with_few_blocks_for_each(device, monkeypatch):
    monkeypatch.setattr(weights, "_MOST_FOR_AN_UPDATE", 2)
    reference = run_update(update_all, "Adam", "float64", copies=9)
    ours = run_update(cuda.update_all, "Adam", "float64", copies=9)
    assert_all_close(ours, reference, "float64")
    assert device.launches == ["update_adam"] * 2


@needs_a_compiler
@every_rule
def test_every_optimizer_gives_the_kernel_all_it_needs(device, rule):
    """The optimizers themselves, with weights of two number types and one that no kernel takes."""
    optimizer_class = getattr(optimizers, rule)
    results = []
    for form in (update_all, cuda.update_all):
        draw = Draw("float64")
        arrays = [draw.normal(5, 3), draw.normal(4).astype("float32"), draw.normal(2) + 0j]
        updates = []
        for W in arrays:
            g = draw.normal(*W.shape).astype(W.dtype)
            kept = {slot: np.zeros_like(W) for slot in optimizer_class._slots}
            scalars = optimizer_class([parameter.Parameter(W)], lr=0.1)._scalars(3)
            updates.append(Update(W, g, kept, scalars))
        form(optimizer_class._formula, updates)
        results.append(arrays)
    for a, e in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-5 if a.dtype == "float32" else 1e-12)
    assert device.launches == [f"update_{rule.lower().removesuffix('w')}"] * 2


@needs_a_compiler
def test_a_formula_that_no_kernel_knows_is_followed(device):
    def formula(W, g, *, lr):
        W -= lr * np.sign(g)

    W, g = np.ones(3), np.array([1.0, -2.0, 3.0])
    cuda.update_all(formula, [Update(W, g, {}, {"lr": 0.5})])
    np.testing.assert_array_equal(W, [0.5, 1.5, 0.5])

    class SGD(optimizers.SGD):
        @staticmethod
        def _formula(W, g, *, lr, decay, slope):
            W -= lr * slope * g

    scalars = {"lr": 0.5, "decay": 0.0, "slope": 2.0}
    cuda.update_all(SGD._formula, [Update(W, g, {}, scalars)])
    np.testing.assert_array_equal(W, [-0.5, 3.5, -2.5])
    assert device.launches == []


@needs_a_compiler
@pytest.mark.parametrize("make", LAZY.values(), ids=LAZY.keys())
def test_the_rows_of_a_sparse_gradient_are_arrays_like_others(device, monkeypatch, make):
    with kernels.using("plain"):
        reference = run_lookups(make)
    monkeypatch.setitem(kernels.QUICK_FORMS, "numpy", kernels.QUICK_FORMS["cupy"])
    assert_all_close(run_lookups(make), reference, "float32")
    assert set(device.launches[:2]) == {"clip_sum", "clip_scale"}
    assert len(device.launches) == 4 * 3  # two to clip and one to update, at every step
