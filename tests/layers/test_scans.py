"""Scans, and the layers made of them: every form of a sequence gives the same numbers."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import deepnlp
from deepnlp import kernels
from deepnlp.backend import asarray, asnumpy
from deepnlp.gradflow import gradient_flow
from deepnlp.gradflow.cells import step_jacobian
from deepnlp.kernels import fast
from deepnlp.layers import (
    MultiHeadAttention,
    TimeGRU,
    TimeLinearAttention,
    TimeMinGRU,
    TimeMLSTM,
    WeightDrop,
    scans,
)
from deepnlp.models import RNNLM, RegularisedRNNLM, Seq2Seq, Tagger
from deepnlp.models.options import CELLS
from deepnlp.optimizers import Adam
from tests.cases import together
from tests.layers.tools import assert_close, host, parameter_gradients, slopes

NAMES = ("scan", "scan_backward", "linear_attention", "linear_attention_backward")
PLAIN = SimpleNamespace(**{name: getattr(scans, name).plain for name in NAMES})
LENGTHS = [*range(1, 20), 31, 32, 33, 64, 100]
KINDS = {
    "mingru": (CELLS["mingru"], {}),
    "minlstm": (CELLS["minlstm"], {}),
    "gla": (CELLS["gla"], {"heads": 2}),
    "retention": (CELLS["gla"], {"heads": 3, "decay": "fixed"}),
    "ssm": (CELLS["ssm"], {"size": 3}),
    "mlstm": (CELLS["mlstm"], {"heads": 2}),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def draw_gates(*shape):
    """From 0 to 1, both included: a fifth of them is 0, a fifth is 1."""
    gates = np.random.default_rng(shape).uniform(-0.3, 1.3, size=shape)
    return gates.clip(0, 1)


def make(kind, D=3, H=6, dtype="float64"):
    cell, options = KINDS[kind]
    layer = cell.init(D, H, np.random.default_rng(0), dtype, **options)
    for k, parameter in enumerate(layer.parameters()):
        parameter.value = asarray(draw(*parameter.shape, seed=k).astype(dtype))
    return layer


# --- The functions -----------------------------------------------------------------------------


def run_scan(form, T, shape, of_gates):
    a, b, h_0 = draw_gates(T, *of_gates), draw(T, *shape), draw(*shape)
    dy, dh = draw(T, *shape, seed=1), draw(*shape, seed=1)
    return [form.scan(a, b, h_0), form.scan_backward(a, dy, dh)]


def run_attention(form, T, d=4, e=5, of_decay=4):
    q, k, v = (draw(T, 2, 3, size, seed=size) for size in (d, d, e))
    f, S_0 = draw_gates(T, 2, 3, of_decay), draw(2, 3, d, e)
    y, S, saved = form.linear_attention(q, k, v, f, S_0)
    dS = draw(2, 3, d, e, seed=2)
    *gradients, g = form.linear_attention_backward(draw(*v.shape), dS, saved, q, k, v, f)
    return [y, S, *gradients, g[0]]


@pytest.mark.parametrize("L", [None, 1, 2, 3, 7, 16, 50])
def test_blocks_of_any_size_are_the_loop(monkeypatch, L):
    if L:
        monkeypatch.setattr(fast, "steps_of_a_block", lambda b: L)
        monkeypatch.setattr(fast, "PLACES", L)
    for T in (0, *LENGTHS):
        runs = [(run_scan, (2, 3), (2, 3)), (run_scan, (2, 3, 4, 5), (2, 3, 4, 1))]
        runs += [(run_scan, (1, 1), (1, 1)), (run_attention,), (run_attention, 3, 3, 1)]
        for run, *sizes in runs:
            for ours, loop in zip(run(fast, T, *sizes), run(PLAIN, T, *sizes), strict=True):
                assert_close(ours, loop)


def slopes_of_fractions(a, b, h_0, weights):
    """Exact gradients of sum_t w_t h_t: it is linear in each number, so two values make a slope."""

    def loss(a, b, h):
        total = weights[0] * h
        for a_t, b_t, w in zip(a, b, weights[1:]):
            h = a_t * h + b_t
            total += w * h
        return total

    def slope(numbers, t, rest):
        ends = [[*numbers[:t], Fraction(end), *numbers[t + 1 :]] for end in (1, 0)]
        above, below = (loss(*rest(end)) for end in ends)
        return above - below

    da = [slope(a, t, lambda x: (x, b, h_0)) for t in range(len(a))]
    db = [slope(b, t, lambda x: (a, x, h_0)) for t in range(len(b))]
    return da, db, slope([h_0], 0, lambda x: (a, b, x[0]))


@pytest.mark.parametrize("form", [PLAIN, fast], ids=["plain", "quick"])
@pytest.mark.parametrize(
    "gates",
    [
        [0.0] * 40,
        [1.0] * 40,
        [0.0, 1.0] * 20,
        [0.5, 0.0, 1.0, 1.0] * 10,
        [2.0**-60] * 40,
        [1e-300] * 5,
    ],
    ids=["zeros", "ones", "both", "some", "products that underflow", "squares that underflow"],
)
def test_gradients_of_gates_at_their_ends_are_exact(form, gates):
    a, T = [Fraction(g) for g in gates], len(gates)
    b, weights = ([Fraction(float(x)) for x in draw(n, seed=n)] for n in (T, T + 1))
    h_0 = Fraction(float(draw(1)[0]))
    da, db, dh_0 = slopes_of_fractions(a, b, h_0, weights)

    def column(numbers):
        return np.array([float(x) for x in numbers])[:, None, None]

    a, b, dy = column(a), column(b), column(weights[1:])
    h = form.scan(a, b, column([h_0])[0])
    g = form.scan_backward(a, dy, 0 * h[0])
    np.testing.assert_allclose(g[1:] * h[:-1], column(da), rtol=1e-12, atol=1e-307)
    np.testing.assert_allclose(g[1:], column(db), rtol=1e-12, atol=1e-307)
    expected = float(dh_0 - weights[0])
    np.testing.assert_allclose(g[0].item(), expected, rtol=1e-12, atol=1e-307)


# --- The layers --------------------------------------------------------------------------------


@every_kind
def test_all_steps_at_once_one_by_one_and_in_windows(array_backend, kind):
    layer, x = make(kind), asarray(draw(2, 100, 3))
    results = []
    for form in kernels.CHOICES:
        with kernels.using(form):
            layer.reset_state()
            whole = host(layer.forward(x))[0]
            last, state, steps = asnumpy(layer.h), layer.start(2), []
            for t in range(100):
                y, state = layer.step(x[:, t], state)
                steps.append(asnumpy(y))
            layer.reset_state()
            layer.stateful, windows = True, []
            for start, end in ((0, 1), (1, 17), (17, 50), (50, 100)):
                windows.append(asnumpy(layer.forward(x[:, start:end])))
            layer.stateful = False
        assert_close(np.stack(steps, axis=1), whole)
        assert_close(np.concatenate(windows, axis=1), whole)
        assert_close(state[0], last)
        assert_close(layer.h, last)
        results.append(whole)
    assert_close(*results)


@every_kind
@together(T=LENGTHS)
def test_both_forms_of_a_layer_have_the_same_gradients(kind, T):
    results = []
    for form in kernels.CHOICES:
        with kernels.using(form):
            layer, seen = make(kind), []
            layer.set_state(draw(3, layer.state_size))
            layer.forward(draw(3, T, 3), [T, T // 2, 0])
            if T < 5:
                layer.watch = lambda t, *arrays, seen=seen: seen.extend(arrays)
            dx = layer.backward(draw(3, T, 6), draw(3, layer.state_size, seed=9))
            results.append([dx, layer.dh0, *parameter_gradients(layer), *seen])
    for quick, plain in zip(*results, strict=True):
        assert_close(quick, plain)


@every_kind
@together(lengths=[None, [3, 0, 2]])
def test_gradients_of_a_loss_of_the_final_state_are_slopes(kind, lengths):
    layer = make(kind, 2, 6)
    x, dy = draw(3, 3, 2), draw(3, 3, 6, seed=1)
    start, final = (draw(3, layer.state_size, seed=s) for s in (2, 3))

    def loss():
        layer.set_state(start)
        y = layer.forward(x, lengths)
        return float((dy * y).sum() + (final * layer.h).sum())

    loss()
    dx = layer.backward(dy, final)
    dh_0, gradients = layer.dh0, parameter_gradients(layer)
    assert_close(dx, slopes(loss, x), 1e-7)
    assert_close(dh_0, slopes(loss, start), 1e-7)
    for gradient, parameter in zip(gradients, layer.parameters(), strict=True):
        assert_close(gradient, slopes(loss, parameter.value), 1e-7)


@every_kind
def test_an_observer_sees_states_and_gradients(kind):
    layer, seen = make(kind), {}
    layer.watch = lambda t, x, h_prev, dh: seen.update({t: (x, h_prev, dh)})
    x, dy = draw(2, 4, 3), draw(2, 4, 6)
    layer.forward(x)
    layer.backward(dy)
    assert [*seen] == [3, 2, 1, 0]
    state, rest = layer.start(2), make(kind)
    for t in range(4):
        assert_close(seen[t][0], x[:, t])
        assert_close(seen[t][1], state[0])
        _, state = layer.step(x[:, t], state)
        # the gradient of the state after step t: from the steps behind it, and from what is shown
        if layer.shows_state and t < 3:
            rest.set_state(*state)
            rest.forward(x[:, t + 1 :])
            rest.backward(dy[:, t + 1 :])
            assert_close(seen[t][2], rest.dh0 + dy[:, t])
    if not layer.shows_state:  # all that does not read the last state reads it in no way
        layer.forward(x)
        layer.backward(0 * dy, draw(2, layer.state_size))
        assert_close(seen[3][2][:, :5], draw(2, layer.state_size)[:, :5])


def saturated(kind, *biases, H=2):
    """A layer with no weights but biases, each of a block of H numbers (or H / heads)."""
    layer = make(kind, H=H)
    layer.Wx.value[...] = 0
    layer.b.value[...] = np.concatenate([np.full(n, bias) for n, bias in biases])
    return layer


def test_gates_that_are_shut_or_open_for_good():
    h_0, x, dy = draw(1, 2), draw(1, 50, 3), draw(1, 50, 2)
    cases = [
        ("mingru", [(2, -1e4), (2, 3.0)], lambda t: h_0, dy.sum(axis=1)),
        ("mingru", [(2, 1e4), (2, 3.0)], lambda t: 3.0 + 0 * h_0, 0 * h_0),
        ("minlstm", [(2, 1e4), (2, -1e4), (2, 3.0)], lambda t: h_0, dy.sum(axis=1)),
        ("minlstm", [(2, -1e4), (2, 1e4), (2, 3.0)], lambda t: 3.0 + 0 * h_0, 0 * h_0),
        (
            "minlstm",  # both shut: half of the old, half of the new
            [(2, -1e4), (2, -1e4), (2, 3.0)],
            lambda t: 3 + (h_0 - 3) / 2**t,
            (dy / 2.0 ** np.arange(1, 51)[:, None]).sum(axis=1),
        ),
    ]
    for kind, biases, expected, dh_0 in cases:
        layer = saturated(kind, *biases)
        layer.set_state(h_0)
        y = layer.forward(x)
        layer.backward(dy)
        for t in range(50):
            assert_close(y[:, t], expected(t + 1))
        assert_close(layer.dh0, dh_0)
        assert all(np.isfinite(gradient).all() for gradient in parameter_gradients(layer))


@together(dtype=["float32", "float64"], a_i=[-1e4, -50.0, 0.0, 50.0, 1e4], a_f=[-1e4, 0.0, 1e4])
def test_an_exponential_gate_of_any_size(dtype, a_i, a_f):
    """Where all places weigh the same, what is read is a weighted mean of values, or less."""
    H = 4
    biases = [(H, 1.0), (H, 1.0), (H, 2.0), (H, 1e4), (2, a_i), (2, a_f)]
    layer = saturated("mlstm", *biases, H=H).astype(dtype)
    y = layer.forward(draw(1, 30, 3).astype(dtype))
    dx = layer.backward(draw(1, 30, H).astype(dtype))
    assert np.isfinite(dx).all()
    assert all(np.isfinite(gradient).all() for gradient in parameter_gradients(layer))
    assert_close(y, np.full((1, 30, H), 2.0 if a_i >= 0 else 0.0 * y), 1e-6) if a_i != -50 else None


@every_kind
@together(sizes=[(1, 1, 1, 6), (1, 5, 2, 6), (3, 1, 1, 12)])
def test_odd_sizes(kind, sizes):
    N, T, D, H = sizes
    layer = make(kind, D, H, "float32")
    y = layer.forward(draw(N, T, D).astype("float32"))
    assert y.shape == (N, T, H)
    assert layer.backward(y).shape == (N, T, D)


# --- In models ---------------------------------------------------------------------------------

SCANS = ("mingru", "minlstm", "gla", "ssm", "mlstm")


@pytest.mark.parametrize("cell", SCANS)
def test_models_take_a_cell_that_is_a_scan(cell):
    deepnlp.seed(0)
    ids, lengths = np.arange(12).reshape(2, 6) % 5, np.array([6, 3])
    usual = {"cell": cell, "dropout": 0.0}
    models = [
        (RNNLM(5, 6, 6, tie="tied", **usual), (ids, ids)),
        (Tagger(5, 4, 6, 6, **usual), (ids, lengths, ids % 4)),
        (Seq2Seq(5, 5, 6, 6, **usual), (ids, lengths, ids, ids)),
        (
            Seq2Seq(5, 5, 6, 6, attention="general", bidirectional=True, **usual),
            (ids, lengths, ids, ids),
        ),
    ]
    for model, batch in models:
        before = float(model.forward(*batch))
        model.zero_grad()
        model.backward()
        optimizer = Adam(model.parameters(), lr=0.01)
        for _ in range(8):
            optimizer.step()
            model.reset_state()
            after = float(model.forward(*batch))
            model.zero_grad()
            model.backward()
        assert after < before


def test_a_state_of_a_fixed_size():
    """Whatever has been read, a text is as many numbers."""
    model = RNNLM(5, 6, 6, layers=1, cell="gla", dropout=0.0)
    state, sizes = model.start(1), []
    for token in range(20):
        _, state = model.step(np.array([token % 5]), state)
        arrays = []
        deepnlp.layer.map_state(arrays.append, state)
        sizes.append(sum(array.size for array in arrays))
    assert {*sizes} == {36}


@pytest.mark.parametrize("cell", SCANS)
def test_the_microscope_looks_at_a_scan(cell):
    model = RNNLM(9, 6, 6, layers=1, cell=cell, dropout=0.0, dtype="float64")
    flow = gradient_flow(model, np.arange(100) % 9, steps=6, batch_size=2).layers[0]
    gates = {"mingru": "z", "minlstm": "fi", "gla": "f", "ssm": "f", "mlstm": "of"}[cell]
    assert [*flow.gates] == [*gates]
    assert all(0 <= use.mean <= 1 for use in flow.gates.values())
    assert not flow.weights
    assert (flow.dh > 0).all()
    assert (flow.jacobians is None) == (cell not in ("mingru", "minlstm"))
    if cell == "mingru":  # a diagonal matrix, of what is kept
        layer, x, h = model._layers()[2], np.ones((1, 6)), np.ones(6)
        z = layer.gate_values(layer._input_product(x))["z"]
        np.testing.assert_allclose(step_jacobian(layer, x[0], h), np.diag(1 - z[0]))


def test_mistakes():
    with pytest.raises(ValueError, match="kv_heads should divide the 4 heads, got 3"):
        MultiHeadAttention.init(8, 4, kv_heads=3)
    with pytest.raises(
        ValueError, match=r"W should have shape \(D, D \+ 2 kv_heads d\) = \(8, 16\)"
    ):
        MultiHeadAttention(np.ones((8, 24)), None, np.ones((8, 8)), None, heads=4, kv_heads=2)
    with pytest.raises(ValueError, match="H = 6 should be a multiple of 4 heads"):
        TimeLinearAttention.init(3, 6, heads=4)
    with pytest.raises(ValueError, match="H = 6 should be a multiple of 4 heads"):
        TimeMLSTM.init(3, 6, heads=4)
    with pytest.raises(ValueError, match="decay should be 'data' or 'fixed', got 'slow'"):
        TimeLinearAttention.init(3, 6, decay="slow")
    with pytest.raises(
        ValueError, match="forget_bias should be from -1000 to 1000, got 1000000000"
    ):
        TimeMinGRU.init(3, 6, forget_bias=1e9)
    with pytest.raises(ValueError, match=r"TimeMinGRU: Wx should have shape \(D, 2H\)"):
        TimeMinGRU(np.ones((3, 4)), np.ones(6))
    with pytest.raises(ValueError, match=r"TimeMLSTM: h should have shape \(N, M\) with M = 43"):
        TimeMLSTM.init(3, 6, heads=1).set_state(np.ones((2, 6)))
    with pytest.raises(TypeError, match="with a Wh, such as TimeLSTM, got a TimeMinGRU"):
        WeightDrop(TimeMinGRU.init(3, 6), 0.5)
    with pytest.raises(ValueError, match="weight_drop is of cells with a Wh"):
        RegularisedRNNLM(5, 6, 6, cell="mingru", weight_drop=0.5)
    for options in ({"context": "every"}, {"attention": "additive"}):
        with pytest.raises(ValueError, match="a state that is an output, which cell='gla' has not"):
            Seq2Seq(5, 5, 6, 6, cell="gla", **options)
    assert WeightDrop(TimeGRU.init(3, 6), 0.5).H == 6
