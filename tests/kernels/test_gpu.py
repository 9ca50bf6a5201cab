"""The CUDA kernels on a GPU, against the formulas on NumPy."""

import numpy as np
import pytest

import deepnlp
from deepnlp import backend, kernels, optimizers
from deepnlp.kernels import cuda
from deepnlp.kernels.cuda import launching, steps
from deepnlp.parameter import Parameter
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
from tests.kernels.weights import LAZY, SCALARS, SHAPES, run_clip, run_lookups, run_update
from tests.layers.tools import LAYERS, run

pytestmark = pytest.mark.gpu

DTYPES = ["float32", "float64"]
LARGE = (5, 40, 650)


class Recorder(launching.Gpu):
    """The GPU, with the names of the kernels that it was given."""

    def __init__(self):
        super().__init__()
        self.launches = []

    def launch(self, name, *how):
        super().launch(name, *how)
        self.launches.append(name)


@pytest.fixture
def gpu(monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(launching, "device", recorder)
    yield recorder
    backend.use("numpy")


def on_both(function, *arguments, forms=(plain, cuda)):
    """What the formulas give on NumPy, and the kernels on the GPU."""
    deepnlp.use("numpy")
    expected = function(forms[0], *arguments)
    deepnlp.use("cupy")
    return expected, function(forms[1], *arguments)


def step_on_both(*arguments):
    return on_both(cases.run_step, *arguments, forms=(reference, steps))


@pytest.mark.parametrize("label", STEPS)
@together(dtype=DTYPES)
def test_a_step_is_one_launch_that_equals_the_formula(gpu, label, dtype):
    gpu.launches.clear()
    sizes = [*SIZES, LARGE]
    for size in sizes:
        expected, ours = step_on_both(label, dtype, size)
        assert_all_close(ours, expected, dtype)
    assert gpu.launches == [STEPS[label].name] * len(sizes)


@together(label=STEPS)
def test_a_step_larger_than_its_grid(gpu, monkeypatch, label):
    monkeypatch.setattr(launching, "most_rows", 2)
    monkeypatch.setattr(launching, "most_blocks", 1)
    expected, ours = step_on_both(label, "float64", (2, 3, 400))
    assert_all_close(ours, expected, "float64")


@together(label=STEPS)
def test_a_step_of_complex_numbers_is_an_error(gpu, label):
    deepnlp.use("cupy")
    with pytest.raises(TypeError, match="cannot take"):
        cases.run_step(steps, label, "complex128", (2, 3, 4))
    assert gpu.launches == []


@pytest.mark.parametrize("label", LOOPS)
@together(dtype=DTYPES)
def test_a_loop_equals_the_plain_one_in_few_launches(gpu, label, dtype):
    loop = LOOPS[label]
    for size in [*SIZES, (1, 4, 5), (6, 1, 3), LARGE]:
        for way in WAYS:
            gpu.launches.clear()
            expected, ours = on_both(cases.run_loop, loop, dtype, size, *way)
            assert_all_close(ours, expected, dtype)
            assert gpu.launches == launches_of(loop, size[0], *way)


@together(dtype=DTYPES, size=[(1, 1), (5, 3), (3, 700), (70, 10_000)])
def test_softmax_is_one_launch_each_way(gpu, dtype, size):
    gpu.launches.clear()
    expected, ours = on_both(cases.run_softmax, dtype, *size)
    assert_all_close(ours, expected, dtype)
    assert gpu.launches == ["softmax_nll", "softmax_nll_backward"]


def test_a_target_that_is_none_reads_no_foreign_memory(gpu):
    import cupy

    deepnlp.use("cupy")
    s = cupy.zeros((3, 5))
    nll, _ = cuda.softmax_nll(s, None, cupy.asarray([10**15, -1, 2]))
    np.testing.assert_array_equal(np.isnan(nll.get()), [True, True, False])


@together(dtype=DTYPES, shapes=[*MASKS, ((20, 35, 650), (20, 1, 650)), ((999_983,),) * 2])
def test_masks_are_equal_to_the_last_bit(gpu, dtype, shapes):
    shape, mask_shape = shapes
    gpu.launches.clear()
    expected, ours = on_both(cases.run_dropout, dtype, shape, mask_shape, 2**64 - 1, 2**40, 0.3)
    np.testing.assert_array_equal(ours, expected)
    assert gpu.launches == ["dropout"] * (2 if np.prod(shape) else 0)


@together(dtype=DTYPES, max_norm=[0.25, 1e4, np.inf], copies=[1, 9])
def test_clipping(gpu, dtype, max_norm, copies):
    deepnlp.use("numpy")
    expected = run_clip(optimizers.clip_all.plain, dtype, max_norm, copies)
    deepnlp.use("cupy")
    ours = run_clip(cuda.clip_all, dtype, max_norm, copies)
    assert_all_close(ours, expected, dtype)
    assert set(gpu.launches) == {"clip_sum", "clip_scale"}


def test_clipping_has_the_same_bits_every_time(gpu):
    deepnlp.use("cupy")
    first, second = (run_clip(cuda.clip_all, "float32", 0.25, 9) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("rule", SCALARS)
@together(dtype=DTYPES)
def test_an_update_is_one_launch(gpu, rule, dtype):
    deepnlp.use("numpy")
    gpu.launches.clear()
    expected = run_update(optimizers.update_all.plain, rule, dtype)
    deepnlp.use("cupy")
    assert_all_close(run_update(cuda.update_all, rule, dtype), expected, dtype)
    assert gpu.launches == [f"update_{rule.lower().removesuffix('w')}"]


@pytest.mark.parametrize("make", LAZY.values(), ids=LAZY.keys())
def test_steps_on_the_rows_of_a_sparse_gradient(gpu, make):
    with kernels.using("plain"):
        expected = run_lookups(make)
    deepnlp.use("cupy")
    assert_all_close(run_lookups(make), expected, "float32")
    assert gpu.launches[:2] == ["clip_sum", "clip_scale"]
    assert gpu.launches[2].startswith("update_")


@by_layer(LAYERS)
def test_layers_use_the_kernels(gpu, case):
    deepnlp.use("cupy")
    gpu.launches.clear()
    layer, inputs = case.make("float32")
    run(layer, inputs)
    wanted = ("TimeRNN", "TimeLSTM", "TimeGRU", "SoftmaxWithLoss", "Dropout", "TimeDropout")
    if case.covers.__name__ in wanted:
        assert gpu.launches
    with kernels.using("plain"):
        run(layer, inputs)


WAIT = r"""
extern "C" __global__ void wait(long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) {}
}
"""


def clip(draw):
    gradients = [draw.normal(*shape) for shape in SHAPES]
    return lambda: cuda.clip_all(gradients, 0.25)


def update(draw):
    W, g, m, s = (draw.gate(50, 40) for _ in range(4))
    updates = [optimizers.Update(W, g, {"m": m, "s": s}, SCALARS["Adam"])]
    return lambda: cuda.update_all(optimizers.Adam._formula, updates)


def sparse_step(draw):
    """A lookup's gradient, clipping and an update, of sizes that the host knows beforehand."""
    W = Parameter(draw.normal(40, 5))
    ids, rows = draw.ids(9, 40), draw.normal(9, 5)
    optimizer = optimizers.AdaGrad([W])

    def step():
        W.zero_grad()
        W.accumulate_rows(ids, rows)
        optimizers.clip_gradients([W], 0.25)
        optimizer.step()

    return step


def softmax(draw):
    s, b, t, dnll = draw.normal(5, 30), draw.normal(30), draw.ids(5, 30), draw.normal(5)
    return lambda: cuda.softmax_nll_backward(s, t, cuda.softmax_nll(s, b, t)[1], dnll)


def drop(draw):
    x = draw.normal(5, 30)
    return lambda: cuda.dropout_backward(x, cuda.dropout(x, x.shape, 1, 2, 0.5)[1])


def lstm(_):
    arguments = STEPS["lstm_step"].arguments(cases.DrawSteps("float32", (1, 5, 30)))
    return lambda: steps.lstm_step(*arguments)


def loop(_):
    from deepnlp.backend import xp

    d = cases.DrawSteps("float32", (4, 5, 30))
    a, Wh, start, dhs = d.all(4), d.normal(30, 120), (d.one(), d.one()), d.all()

    def new(name, shape, dtype):
        return xp.empty(shape, dtype=dtype)

    def work():
        made = cuda.lstm_steps(a, start, Wh, new)
        for t in range(4):
            made.forward(t)
        made.begin_backward()
        gradients = [xp.zeros_like(state) for state in start]
        for t in reversed(range(4)):
            gradients = made.backward(t, dhs[t], *gradients)

    return work


@pytest.mark.parametrize("make", [clip, update, sparse_step, softmax, drop, lstm, loop])
def test_no_launch_waits_for_the_device(gpu, make):
    """While the device is kept busy, the call comes back."""
    import cupy

    deepnlp.use("cupy")
    wait = cupy.RawKernel(WAIT, "wait")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        work = make(cases.Draw("float32"))
        work()  # compiles, and finds its memory
        wait((1,), (1,), (1,))
        stream.synchronize()
        wait((1,), (1,), (10**9,))  # about half a second
        work()
        assert not stream.done
        stream.synchronize()
        assert stream.done
