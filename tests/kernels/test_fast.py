"""The fast forms equal the plain ones, in every mode, and workspaces stay out of sight."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest

import deepnlp
from deepnlp import kernels, no_backward
from deepnlp.backend import asarray, cache_blocks
from deepnlp.errors import DeepNLPError
from deepnlp.kernels import cuda, fast
from deepnlp.layers import AffineSoftmaxWithLoss, SoftmaxWithLoss, TimeGRU, TimeLSTM, TimeRNN
from deepnlp.layers.losses import softmax_nll
from deepnlp.layers.lstm import lstm_steps
from deepnlp.parameter import at_every_place, sum_by_id
from tests.backend.test_strict_models import MODELS, OPTIMIZERS, batch, training_step
from tests.cases import by_layer, together
from tests.kernels import cases
from tests.kernels.cases import LOOPS, plain
from tests.layers.tools import LAYERS, QUICK, host, parameter_gradients, run

TOLERANCES = {"float64": 1e-12, "float32": 1e-5, "complex128": 1e-12}

every_type = pytest.mark.parametrize("dtype", ["float64", "float32"])


def assert_close(ours, reference, dtype):
    """Largest error by the largest entry, as the contract of the forms has it."""
    ours, reference = np.asarray(ours), np.asarray(reference)
    assert ours.shape == reference.shape
    assert ours.dtype == reference.dtype
    scale = np.abs(reference).max(initial=0)
    assert np.abs(ours - reference).max(initial=0) <= TOLERANCES[dtype] * max(scale, 1e-30)


def compare(compute, dtype):
    with kernels.using("plain"):
        reference = compute()
    for a, b in zip(compute(), reference, strict=True):
        assert_close(a, b, dtype)


@by_layer(LAYERS)
@together(dtype=["float64", "float32"])
def test_every_layer_agrees_with_its_plain_form(case, dtype):
    def compute():
        deepnlp.seed(0)
        layer, inputs = case.make(dtype)
        results = []
        for _ in range(2):  # the second time in the workspaces of the first
            outputs, gradients = run(layer, inputs)
            results += [*host(outputs), *host(tuple(g for g in gradients if g is not None))]
        results += parameter_gradients(layer)
        layer.eval()
        with no_backward():
            outputs = layer.forward(*inputs)
        return results + host(outputs if isinstance(outputs, tuple) else (outputs,))

    compare(compute, dtype)


@every_type
@pytest.mark.parametrize("layer", [TimeRNN, TimeLSTM, TimeGRU])
@together(sizes=[(1, 1, 1, 1), (3, 2, 5, 7), (2, 9, 4, 33), (5, 3, 2, 64)])
def test_recurrent_layers_of_many_sizes(layer, sizes, dtype):
    N, T, D, H = sizes

    def compute():
        deepnlp.seed(1)
        made = layer.init(D, H, dtype=dtype, stateful=True)
        rng = np.random.default_rng(2)
        results = []
        for _ in range(3):
            x, dy = (rng.normal(size=(N, T, size)).astype(dtype) for size in (D, H))
            results += [made.forward(asarray(x)).copy(), made.backward(asarray(dy)), made.dh0]
        return results + [p.grad for p in made.parameters()]

    compare(compute, dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_the_loop_of_the_lstm(dtype):
    for size in [*cases.SIZES, (1, 4, 5), (6, 1, 3), (5, 2, 129), (0, 2, 3)]:
        for ended in (False, True):
            reference = cases.run_loop(plain, LOOPS["lstm"], dtype, size, ended)
            ours = cases.run_loop(fast, LOOPS["lstm"], dtype, size, ended)
            for a, e in zip(ours, reference, strict=True):
                assert_close(a, e, dtype)


@pytest.mark.parametrize("model", MODELS)
def test_training_agrees(model):
    def compute():
        deepnlp.seed(0)
        made = MODELS[model]()
        for parameter in made.parameters():
            parameter.astype("float64")
        optimizer = OPTIMIZERS["SGD"](made.parameters())
        figures = [training_step(made, optimizer, *batch(seed=s)) for s in range(4)]
        return [np.asarray(x) for pair in figures for x in pair] + [
            p.value for p in made.parameters()
        ]

    with kernels.using("plain"):
        reference = compute()
    for a, b in zip(compute(), reference, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@every_type
@together(rows=[1, 3, 61], V=[1, 7, 10_001], shift=[0.0, 500.0, -500.0])
def test_softmax_in_blocks(rows, V, shift, dtype):
    rng = np.random.default_rng(0)
    s = (3 * rng.normal(size=(rows, V)) + shift).astype(dtype)
    s[0] -= shift  # rows that need the shift and rows that do not, in one block
    b, t = rng.normal(size=V).astype(dtype), rng.integers(0, V, size=rows)
    dnll = rng.normal(size=rows).astype(dtype)

    def gradient(form):
        own = s.copy()
        nll, saved = form.softmax_nll(own, b, t)
        factor = form.softmax_nll_backward(own, t, saved, dnll)
        return nll, factor[:, None] * own

    for ours, reference in zip(gradient(fast), gradient(plain), strict=True):
        scale = max(np.abs(reference).max(), 1.0)  # a likelihood of 1 has a loss of 0
        assert np.abs(ours - reference).max() <= 20 * TOLERANCES[dtype] * scale
        assert ours.dtype == dtype


# A product of few columns may compute with what stands behind an array, and warn of it.
@pytest.mark.filterwarnings("ignore:invalid value encountered in matmul")
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_affine_nll_in_blocks(monkeypatch, dtype):
    """One block, several, an odd last one, more rows than a block has; scores up to +-500."""
    monkeypatch.setattr(fast, "BLOCK", 1 << 12)
    monkeypatch.setattr(fast, "ROWS", 64)
    monkeypatch.setattr(fast, "NARROWEST", 16)
    rng = np.random.default_rng(0)
    D = 5
    for n in (0, 1, 3, 63, 64, 65, 130):
        for V in (1, 2, 15, 16, 17, 127, 129, 4097):
            for shift, bias in ((0.0, True), (0.0, False), (500.0, True), (-500.0, True)):
                x, W = rng.normal(size=(n, D)).astype(dtype), rng.normal(size=(D, V)).astype(dtype)
                b = (rng.normal(size=V) + shift).astype(dtype)
                b[::3] -= 2 * np.dtype(dtype).type(shift)
                t = rng.integers(0, V, size=n)
                ours = fast.affine_nll(x, W, b if bias else None, t)
                reference = plain.affine_nll(x, W, b if bias else None, t)
                assert ours.dtype == reference.dtype
                assert ours.shape == (n,)
                scale = max(1.0, np.abs(reference).max(initial=0), abs(shift))
                error = np.abs(ours - reference).max(initial=0)
                assert error <= TOLERANCES[dtype] * scale, (n, V, shift, bias)


def test_affine_nll_at_its_own_sizes():
    rng = np.random.default_rng(0)
    for n, V in ((1025, 300), (40, 10_007), (2049, 1)):
        x, W, b = rng.normal(size=(n, 9)), rng.normal(size=(9, V)), rng.normal(size=V)
        t = rng.integers(0, V, size=n)
        np.testing.assert_allclose(
            fast.affine_nll(x, W, b, t), plain.affine_nll(x, W, b, t), rtol=1e-12, atol=1e-12
        )


def test_words_that_are_ruled_out_by_their_bias(monkeypatch):
    """A bias of minus infinity is a probability of zero, even for all words of a block."""
    monkeypatch.setattr(fast, "BLOCK", 1)
    monkeypatch.setattr(fast, "NARROWEST", 4)
    rng = np.random.default_rng(0)
    x, W, b = rng.normal(size=(3, 2)), rng.normal(size=(2, 12)), np.zeros(12)
    b[2:9] = -np.inf
    t = np.array([0, 11, 5])
    with np.errstate(divide="ignore"):
        reference = plain.affine_nll(x, W, b, t)
        ours = fast.affine_nll(x, W, b, t)
    assert reference[2] == np.inf
    np.testing.assert_allclose(ours, reference, rtol=1e-12)


# --- What the caller holds -------------------------------------------------------------------


@by_layer(LAYERS)
def test_later_calls_do_not_overwrite_what_the_caller_holds(case):
    layer, inputs = case.make("float32")
    outputs, gradients = run(layer, inputs)
    states = [getattr(layer, name, None) for name in ("h", "c", "dh0", "dc0")]
    held = [
        array
        for array in (*outputs, *gradients, *states, *(p.grad for p in layer.parameters()))
        if array is not None
    ]
    before = [np.array(array, copy=True) for array in held]
    other = tuple(x if x.dtype.kind in "iub" else -2 * x for x in inputs)
    layer.zero_grad()
    run(layer, other)
    with no_backward():
        layer.forward(*other)
    for array, copy in zip(held, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@by_layer(LAYERS)
def test_a_forward_without_backward_leaves_the_workspace_of_one_that_waits(case):
    deepnlp.seed(0)
    layer, inputs = case.make()
    _, reference = run(layer, inputs)
    deepnlp.seed(0)
    layer, inputs = case.make()
    outputs = layer.forward(*inputs)
    states = layer.snapshot()
    with no_backward():
        layer.forward(*inputs)
    layer.restore(states)
    _, gradients = run_backward(layer, outputs)
    for a, b in zip(gradients, reference, strict=True):
        if a is not None:
            np.testing.assert_array_equal(a, b)


def run_backward(layer, outputs):
    """Backward as `run` does it, for outputs that are there already."""

    class Again:
        def forward(self, *_):
            return outputs

        def backward(self, *gradients):
            return layer.backward(*gradients)

        parameters = staticmethod(layer.parameters)
        zero_grad = staticmethod(layer.zero_grad)

    return run(Again(), ())


def test_another_size_or_type_gets_another_workspace():
    layer = TimeLSTM.init(3, 4)
    for N, T, dtype in ((2, 5, "float32"), (3, 2, "float32"), (3, 2, "float64"), (1, 1, "float64")):
        layer.astype(dtype)
        y = layer.forward(np.ones((N, T, 3), dtype))
        assert y.shape == (N, T, 4)
        assert y.dtype == dtype
        assert layer.backward(y).shape == (N, T, 3)


def test_scores_are_no_result():
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(6, 3)), rng.integers(0, 5, size=6)
    output = AffineSoftmaxWithLoss(rng.normal(size=(3, 5)))
    logits = x @ output.W.value
    loss = SoftmaxWithLoss()
    assert output.forward(x, t) == pytest.approx(float(loss.forward(logits, t)), rel=1e-14)
    kept = logits.copy()
    loss.backward()
    np.testing.assert_array_equal(logits, kept)  # the caller's own


def test_no_rows_are_a_loss_of_zero():
    output = AffineSoftmaxWithLoss(np.ones((3, 5)))
    x, t = np.ones((0, 3)), np.ones(0, int)
    with no_backward():
        assert output.forward(x, t) == 0
    assert output.forward(x, t) == 0
    assert output.backward().shape == (0, 3)


# --- Choosing a form -------------------------------------------------------------------------


def test_forms_are_chosen_by_name_and_put_back():
    assert lstm_steps.form() is fast.lstm_steps
    with kernels.using("plain", "lstm_steps"):
        assert lstm_steps.form() is lstm_steps.plain
        assert softmax_nll.form() is fast.softmax_nll
    assert lstm_steps.form() is fast.lstm_steps
    with pytest.raises(ValueError, match=r"'slow'.*'quick' or 'plain'"), kernels.using("slow"):
        pass
    with pytest.raises(ValueError, match="lstm_leap"), kernels.using("plain", "lstm_leap"):
        pass
    with pytest.raises(RuntimeError, match="inside"), kernels.using("plain"):
        raise RuntimeError("inside")
    assert lstm_steps.form() is fast.lstm_steps


def test_a_backend_without_quick_forms_has_the_plain_one(strict_backend):
    assert lstm_steps.form() is lstm_steps.plain


def test_the_environment_chooses(monkeypatch):
    def twice(x):
        return 2 * x

    monkeypatch.setenv("DEEPNLP_KERNELS", "plain")
    assert kernels.Kernel(lstm_steps.plain).form() is lstm_steps.plain
    assert kernels.Kernel(twice)(4) == 8
    monkeypatch.setenv("DEEPNLP_KERNELS", "slow")
    with pytest.raises(DeepNLPError, match=r"DEEPNLP_KERNELS.*'slow'"):
        kernels.Kernel(twice)


def test_a_form_that_declines_leaves_the_call_to_the_plain_one(monkeypatch):
    monkeypatch.setitem(fast.FORMS, "lstm_steps", lambda *arguments: NotImplemented)
    loop = LOOPS["lstm"]
    called = SimpleNamespace(lstm_steps=lstm_steps)
    ours = cases.run_loop(called, loop, "float64", (3, 2, 4), True)
    for a, e in zip(ours, cases.run_loop(plain, loop, "float64", (3, 2, 4), True), strict=True):
        np.testing.assert_array_equal(a, e)


@pytest.mark.parametrize("form", [fast, cuda], ids=lambda form: form.__name__)
def test_every_quick_form_has_the_parameters_of_its_kernel(form):
    assert set(form.FORMS) <= set(kernels.NAMES)
    for name, quick in form.FORMS.items():
        theirs = [*inspect.signature(getattr(plain, name)).parameters]
        ours = inspect.signature(quick).parameters.values()
        named = [p.name for p in ours if p.kind is not p.VAR_POSITIONAL]
        assert named == theirs[: len(named)], name
        assert len(named) == len(theirs) or len(named) < len(ours), name


def test_blocks_cover_all_rows_once():
    for shape in ((1,), (7, 3), (1000, 5000), (2, 10**7)):
        rows = np.concatenate([np.arange(shape[0])[b] for b in cache_blocks(shape, arrays=3)])
        np.testing.assert_array_equal(rows, np.arange(shape[0]))


# --- Under the gradient checker --------------------------------------------------------------


@by_layer(example for example in QUICK if "T=1" not in example.name)
def test_plain_forms_pass_the_gradient_check(case):
    with kernels.using("plain"):  # the table itself runs with the fast forms
        assert case.check("complex").ok


@together(ids=[[7, 2, 7, 9, 0, 7, 2], [3], [4] * 20, []], dtype=TOLERANCES)
def test_sums_by_id_are_the_plain_ones_with_each_id_once(ids, dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(len(ids), 3)).astype(dtype)
    ids = np.array(ids, dtype="int64")
    found, sums = fast.sum_by_id(ids, rows)
    places, expected = sum_by_id.plain(ids, rows)
    assert found.tolist() == sorted({*ids.tolist()})
    assert sums.dtype == dtype
    np.testing.assert_array_equal(sums, expected[np.searchsorted(places, found)])


def test_repeated_ids_have_their_sum_at_every_place():
    """Also in the quick form, should the sums come from the plain one."""
    ids, rows = np.array([7, 2, 7]), np.arange(6.0).reshape(3, 2)
    with kernels.using("plain"):
        sums = sum_by_id(ids, rows)
    np.testing.assert_array_equal(at_every_place(*sums), [[2, 3], [4, 6], [4, 6]])
    np.testing.assert_array_equal(at_every_place(*sum_by_id(ids, rows)), [[2, 3], [4, 6]])
