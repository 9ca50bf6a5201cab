"""RNN, LSTM and GRU: one step against the equations, T steps against the layers over time."""

import ast
import copy
import inspect
import pickle
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import deepnlp
from benchmarks.lines import code_lines
from deepnlp import kernels, no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.layer import backward_for_each
from deepnlp.layers import GRU, LSTM, RNN, TimeGRU, TimeLSTM, TimeRNN
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.parameter import Parameter
from tests.cases import together
from tests.layers.tools import assert_close, parameter_gradients


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def blocks(array, gates):
    """Columns by gate."""
    return np.split(array, gates, axis=-1)


def rnn_step(x, state, weights, activation=np.tanh):
    Wx, Wh, b = weights
    (h_prev,) = state
    from_input = x if Wx is None else np.einsum("nd,dh->nh", x, Wx)
    return (activation(from_input + np.einsum("nk,kh->nh", h_prev, Wh) + b),)


def relu_step(x, state, weights):
    return rnn_step(x, state, weights, lambda a: np.maximum(a, 0))


def lstm_step(x, state, weights):
    h_prev, c_prev = state
    Wx, Wh, b = (blocks(w, 4) for w in weights)
    a_i, a_f, a_g, a_o = (x @ Wx[k] + h_prev @ Wh[k] + b[k] for k in range(4))
    c = sigmoid(a_f) * c_prev + sigmoid(a_i) * np.tanh(a_g)
    return sigmoid(a_o) * np.tanh(c), c


def gru_step(x, state, weights):
    (h_prev,) = state
    Wx, Wh, b = (blocks(w, 3) for w in weights)
    r = sigmoid(x @ Wx[0] + h_prev @ Wh[0] + b[0])
    z = sigmoid(x @ Wx[1] + h_prev @ Wh[1] + b[1])
    n = np.tanh(x @ Wx[2] + (r * h_prev) @ Wh[2] + b[2])
    return ((1 - z) * n + z * h_prev,)


def gru_reset_after_step(x, state, weights):
    (h_prev,) = state
    Wx, Wh, b, bh = (blocks(w, 3) for w in weights)
    r = sigmoid(x @ Wx[0] + b[0] + h_prev @ Wh[0] + bh[0])
    z = sigmoid(x @ Wx[1] + b[1] + h_prev @ Wh[1] + bh[1])
    n = np.tanh(x @ Wx[2] + b[2] + r * (h_prev @ Wh[2] + bh[2]))
    return ((1 - z) * n + z * h_prev,)


class Kind:
    """A recurrent layer in its two forms, its options, its equations, the sizes it needs."""

    def __init__(self, name, step, time, equations, gates=1, biases=1, no_input=False, **options):
        self.name, self.step, self.time, self.equations = name, step, time, equations
        self.gates, self.biases, self.no_input, self.options = gates, biases, no_input, options
        self.states = 2 if step is LSTM else 1

    def weights(self, D, H, seed=0, dtype="float64"):
        rng = np.random.default_rng(seed)
        Wx = None if self.no_input else rng.normal(size=(D, self.gates * H)).astype(dtype)
        Wh = rng.normal(scale=H**-0.5, size=(H, self.gates * H)).astype(dtype)
        biases = [rng.normal(size=self.gates * H).astype(dtype) for _ in range(self.biases)]
        return [Wx, Wh, *biases]

    def parameters(self, weights):
        return [None if w is None else Parameter(w) for w in weights]

    def make_step(self, parameters):
        return self.step(*parameters, **self.options)

    def make_time(self, parameters, stateful=False):
        return self.time(*parameters, **self.options, stateful=stateful)


KINDS = [
    Kind("rnn", RNN, TimeRNN, rnn_step),
    Kind("relu", RNN, TimeRNN, relu_step, activation="relu"),
    Kind("rnn no Wx", RNN, TimeRNN, rnn_step, no_input=True),
    Kind("lstm", LSTM, TimeLSTM, lstm_step, gates=4),
    Kind("gru", GRU, TimeGRU, gru_step, gates=3),
    Kind(
        "gru reset after", GRU, TimeGRU, gru_reset_after_step, gates=3, biases=2, reset_after=True
    ),
]
SIZES = [(3, 5, 4, 6), (1, 1, 2, 3), (2, 1, 3, 1), (1, 4, 1, 5)]

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace(" ", "-"))
every_size = together(sizes=SIZES)


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def setting(kind, sizes, seed=0):
    """Weights, input (N, T, D), initial states and gradient of the output."""
    N, T, D, H = sizes
    D = H if kind.no_input else D
    states = [draw(seed + 20 + i, N, H) for i in range(kind.states)]
    return kind.weights(D, H, seed), draw(seed + 10, N, T, D), states, draw(seed + 30, N, T, H)


def to_device(arrays):
    return [asarray(array) for array in arrays]


def as_list(values):
    return list(values) if isinstance(values, tuple) else [values]


def unroll(kind, parameters, x, states, dhs, inner=None):
    """T one-step layers that share Parameters: outputs, dx, gradients of the initial states."""
    _N, T, _ = x.shape
    steps = [kind.make_step(parameters) for _ in range(T)]
    hs = []
    for t, step in enumerate(steps):
        states = as_list(step.forward(x[:, t].copy(), *states))
        hs.append(states[0])
    dstates = [asarray(np.zeros(s.shape)) for s in states]
    dxs = [None] * T
    for t in reversed(range(T)):
        dstates[0] = dstates[0] + dhs[:, t]
        dxs[t], *dstates = steps[t].backward(*dstates)
    return hs, states, dxs, dstates


def assert_steps_close(over_time, steps, tolerance=1e-12):
    """An array (N, T, ...) against a list of T arrays (N, ...)."""
    assert_close(over_time, np.stack([asnumpy(step) for step in steps], axis=1), tolerance)


def reset(layer, states):
    """Put initial states in place."""
    layer.set_state(*[asarray(s) for s in states])


# One step.


@every_kind
@every_size
def test_one_step_is_the_equation(array_backend, kind, sizes):
    weights, x, states, _ = setting(kind, sizes)
    step = kind.make_step(kind.parameters(weights))
    actual = as_list(step.forward(asarray(x[:, 0].copy()), *to_device(states)))
    expected = kind.equations(x[:, 0], states, weights)
    assert len(actual) == kind.states
    for a, e in zip(actual, expected, strict=True):
        assert_close(a, e)


@every_kind
def test_names_and_order_of_the_parameters(array_backend, kind):
    parameters = kind.parameters(kind.weights(5, 5))
    names = ["Wx", "Wh", "b", "bh"][: 2 + kind.biases]
    expected = [(name, p) for name, p in zip(names, parameters, strict=True) if p is not None]
    assert kind.make_step(parameters).named_parameters() == expected
    assert kind.make_time(parameters).named_parameters() == expected


# T steps.


@every_kind
@every_size
@together(stateful=[False, True])
def test_the_layer_over_time_is_t_steps(array_backend, kind, sizes, stateful):
    """Truncated BPTT: a state goes on from window to window, its gradient does not go back."""
    weights, _, states, _ = setting(kind, sizes)
    over_time, by_hand = kind.parameters(weights), kind.parameters(weights)
    layer = kind.make_time(over_time, stateful)
    if stateful:
        reset(layer, states)
    carried, zeros = to_device(states), to_device([np.zeros_like(s) for s in states])
    for window in range(3):
        _, x, _, dhs = setting(kind, sizes, seed=window)
        y = layer.forward(asarray(x))
        dx = layer.backward(asarray(dhs))
        start = carried if stateful else zeros
        hs, carried, dxs, dstates = unroll(kind, by_hand, asarray(x), start, asarray(dhs))
        assert_steps_close(y, hs)
        assert_steps_close(dx, dxs)
        assert_close(layer.h, carried[0])
        assert_close(layer.dh0, dstates[0])
        if kind.states == 2:
            assert_close(layer.c, carried[1])
            assert_close(layer.dc0, dstates[1])
    for a, e in zip(over_time, by_hand, strict=True):
        if a is not None:
            assert_close(a.grad, e.grad)


@every_kind
def test_state_is_given_and_taken(array_backend, kind):
    weights, x, states, _ = setting(kind, (2, 3, 4, 5))
    layer = kind.make_time(kind.parameters(weights), stateful=True)
    reset(layer, states)
    assert_close(layer.h, states[0])
    if kind.states == 2:
        assert_close(layer.c, states[1])
    expected = states
    for t in range(3):
        expected = kind.equations(x[:, t], expected, weights)
    y = layer.forward(asarray(x))
    assert_close(y[:, -1], expected[0])
    assert_close(layer.h, expected[0])
    if kind.states == 2:
        assert_close(layer.c, expected[1])
    # A snapshot repeats what follows; what a caller holds is not touched by it.
    state, held = layer.snapshot(), layer.h
    before = asnumpy(held).copy()
    first = asnumpy(layer.forward(asarray(x))).copy()
    layer.reset_state()
    layer.restore(state)
    assert_close(layer.forward(asarray(x)), first, 0)
    assert_close(held, before, 0)


@every_kind
def test_given_states_are_not_overwritten(array_backend, kind):
    weights, x, states, dhs = setting(kind, (2, 3, 4, 5))
    layer = kind.make_time(kind.parameters(weights), stateful=True)
    given = to_device([s.copy() for s in states])
    layer.set_state(*given)
    for _ in range(2):
        layer.forward(asarray(x))
        layer.backward(asarray(dhs))
    for g, s in zip(given, states, strict=True):
        assert_close(g, s, 0)


@every_kind
def test_a_caller_may_write_into_an_output_once_backward_is_done(array_backend, kind):
    weights, x, _, dhs = setting(kind, (2, 4, 4, 5))
    whole = asnumpy(kind.make_time(kind.parameters(weights)).forward(asarray(x)))
    layer = kind.make_time(kind.parameters(weights), stateful=True)
    y = layer.forward(asarray(x[:, :2].copy()))
    layer.backward(asarray(dhs[:, :2].copy()))
    y[...] = 0.0
    assert_close(layer.forward(asarray(x[:, 2:].copy())), whole[:, 2:])


@every_kind
def test_state_goes_on_without_backward(array_backend, kind):
    weights, x, _, _ = setting(kind, (2, 4, 4, 5))
    whole = asnumpy(kind.make_time(kind.parameters(weights)).forward(asarray(x)))
    layer = kind.make_time(kind.parameters(weights), stateful=True)
    with no_backward():
        for t in range(4):
            assert_close(layer.forward(asarray(x[:, t : t + 1].copy()))[:, 0], whole[:, t])


@every_kind
def test_lengths_may_change_from_call_to_call(array_backend, kind):
    weights, *_ = setting(kind, (2, 3, 4, 5))
    reused = kind.make_time(kind.parameters(weights))
    for sizes in [(2, 3, 4, 5), (4, 7, 4, 5), (1, 1, 4, 5), (2, 3, 4, 5)]:
        _, x, _, dhs = setting(kind, sizes)
        fresh = kind.make_time(kind.parameters(weights))
        reused.zero_grad()
        assert_close(reused.forward(asarray(x)), fresh.forward(asarray(x)))
        assert_close(reused.backward(asarray(dhs)), fresh.backward(asarray(dhs)))
        for a, e in zip(parameter_gradients(reused), parameter_gradients(fresh), strict=True):
            assert_close(a, e)


@every_kind
def test_one_parameter_in_two_layers_collects_both_gradients(array_backend, kind):
    weights, x, _, dhs = setting(kind, (2, 3, 5, 5))
    shared, alone = kind.parameters(weights), kind.parameters(weights)
    first, second = kind.make_time(shared), kind.make_time(shared)
    first.forward(asarray(x))
    second.forward(asarray(x))
    second.backward(asarray(dhs))
    first.backward(asarray(dhs))
    layer = kind.make_time(alone)
    layer.forward(asarray(x))
    layer.backward(asarray(dhs))
    for both, one in zip(shared, alone, strict=True):
        if both is not None:
            assert_close(both.grad, 2 * one.grad)


@every_kind
def test_large_inputs_stay_finite(array_backend, kind):
    weights, x, _, dhs = setting(kind, (2, 3, 4, 5))
    weights = [None if w is None else w.astype("float32") for w in weights]
    layer = kind.make_time(kind.parameters(weights))
    y = asnumpy(layer.forward(asarray((1e4 * x).astype("float32"))))
    dx = asnumpy(layer.backward(asarray(dhs.astype("float32"))))
    assert np.isfinite(y).all()
    assert np.isfinite(dx).all()


# What init draws.


@pytest.mark.parametrize(
    ("layer", "gates", "options"),
    [
        (RNN, 1, {}),
        (TimeRNN, 1, {"activation": "relu", "stateful": True}),
        (LSTM, 4, {}),
        (TimeLSTM, 4, {"stateful": True}),
        (GRU, 3, {}),
        (TimeGRU, 3, {"stateful": True}),
        (TimeGRU, 3, {"reset_after": True}),
    ],
)
def test_init(array_backend, layer, gates, options):
    D, H = 7, 11
    made = layer.init(D, H, rng=np.random.default_rng(0), **options)
    shapes = {name: p.shape for name, p in made.named_parameters()}
    expected = {"Wx": (D, gates * H), "Wh": (H, gates * H), "b": (gates * H,)}
    if options.get("reset_after"):
        expected["bh"] = (gates * H,)
    assert shapes == expected
    assert all(p.dtype == np.float32 for p in made.parameters())
    again = layer.init(D, H, rng=np.random.default_rng(0), dtype="float64", **options)
    for a, b in zip(made.parameters(), again.parameters(), strict=True):
        assert b.dtype == np.float64
        assert_close(a.value.astype("float64"), b.value, 1e-6)
    for name in ("Wx", "Wh"):
        spread = asnumpy(getattr(made, name).value).std()
        assert 0.2 * H**-0.5 < spread < 2 * H**-0.5
    deepnlp.seed(5)
    one = layer.init(D, H, **options)
    two = layer.init(D, H, **options)
    deepnlp.seed(5)
    three = layer.init(D, H, **options)
    assert_close(one.Wh.value, three.Wh.value, 0)
    assert float(abs(one.Wh.value - two.Wh.value).max()) > 0


# Mistakes.


def test_a_second_bias_needs_reset_after(array_backend):
    weights = [asarray(draw(1, *shape)) for shape in ((4, 9), (3, 9), (9,), (9,))]
    for layer in (GRU, TimeGRU):
        with pytest.raises(ValueError, match=rf"{layer.__name__}.*reset_after"):
            layer(*weights)


def test_an_unknown_activation_is_named(array_backend):
    weights = [asarray(draw(1, *shape)) for shape in ((4, 3), (3, 3), (3,))]
    for layer in (RNN, TimeRNN):
        with pytest.raises(ValueError, match=rf"{layer.__name__}.*tanh.*relu.*gelu"):
            layer(*weights, activation="gelu")


@every_kind
def test_weights_that_do_not_fit(array_backend, kind):
    for position in range(2 + kind.biases):
        weights = kind.weights(5, 5)
        if weights[position] is None:
            continue
        weights[position] = np.ones(np.array(weights[position].shape) + 1)
        if position == 0:
            weights[0] = np.ones((5, kind.gates * 5 + 1))
        for make in (kind.make_step, kind.make_time):
            with pytest.raises(ValueError, match=r"(RNN|LSTM|GRU).*H.*\("):
                make(kind.parameters(weights))


@every_kind
def test_inputs_that_do_not_fit(array_backend, kind):
    weights, x, states, _dhs = setting(kind, (2, 3, 4, 5))
    D = x.shape[2]
    layer, name = kind.make_time(kind.parameters(weights)), kind.time.__name__
    with pytest.raises(ValueError, match=rf"{name}.*N, T, .*\b{D}\b.*\(2, 3, {D + 1}\)"):
        layer.forward(asarray(np.ones((2, 3, D + 1))))
    with pytest.raises(ValueError, match=rf"{name}.*N, T, .*\(2, {D}\)"):
        layer.forward(asarray(np.ones((2, D))))
    layer.forward(asarray(x))
    with pytest.raises(ValueError, match=rf"{name}.*N, T, .*\(2, 3, 6\)"):
        layer.backward(asarray(np.ones((2, 3, 6))))
    with pytest.raises(ValueError, match=rf"{name}.*\(3, 6\)"):
        layer.set_state(*[asarray(np.ones((3, 6))) for _ in states])

    step, name = kind.make_step(kind.parameters(weights)), kind.step.__name__
    states = to_device(states)
    with pytest.raises(ValueError, match=rf"{name}.*N, .*\(2, {D + 1}\)"):
        step.forward(asarray(np.ones((2, D + 1))), *states)
    for i in range(kind.states):
        wrong = list(states)
        wrong[i] = asarray(np.ones((3, 5)))
        with pytest.raises(ValueError, match=rf"{name}.*N, H.*\(3, 5\)"):
            step.forward(asarray(x[:, 0].copy()), *wrong)
    step.forward(asarray(x[:, 0].copy()), *states)
    with pytest.raises(ValueError, match=rf"{name}.*\(2, 6\)"):
        step.backward(*[asarray(np.ones((2, 6))) for _ in states])


@every_kind
def test_a_carried_state_of_another_batch_is_an_error(array_backend, kind):
    weights, x, _, _ = setting(kind, (3, 3, 4, 5))
    layer = kind.make_time(kind.parameters(weights), stateful=True)
    layer.forward(asarray(x))
    with pytest.raises(ValueError, match=rf"{kind.time.__name__}.*3.*2.*reset_state"):
        layer.forward(asarray(x[:2].copy()))
    layer.reset_state()
    layer.forward(asarray(x[:2].copy()))


@pytest.mark.parametrize("kind", [TimeRNN, TimeLSTM, TimeGRU])
def test_a_wider_number_type_among_the_weights_decides(array_backend, kind):
    layer = kind.init(2, 3)
    layer.Wh.astype("float64")
    x = array_backend.ones((1, 2, 2), dtype="float32")
    assert layer.forward(x).dtype == np.float64
    layer = kind.init(2, 3)
    layer.b.astype("float64")
    assert layer.forward(x).dtype == np.float64


@pytest.mark.parametrize("kind", [TimeRNN, TimeGRU])
def test_only_an_lstm_has_a_memory_cell(array_backend, kind):
    layer = kind.init(2, 3)
    h = array_backend.ones((1, 3), dtype="float32")
    layer.set_state(h, None)
    assert layer.c is None
    assert layer.dc0 is None
    with pytest.raises(ValueError, match="no memory cell"):
        layer.set_state(h, h)


@pytest.mark.parametrize("kind", [TimeRNN, TimeLSTM, TimeGRU])
def test_a_list_is_no_state(array_backend, kind):
    with pytest.raises(TypeError, match=f"{kind.__name__}: h should be an array"):
        kind.init(2, 3).set_state([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match=rf"{kind.__name__}: h should have shape \(N, H\)"):
        kind.init(2, 3).set_state(array_backend.asarray(1.0, dtype="float32"))


def test_mistakes_in_making_a_layer(array_backend):
    with pytest.raises(ValueError, match="should be whole numbers, 1 or more, got 0"):
        TimeLSTM.init(3, 0)
    with pytest.raises(TypeError, match=r"rng should be a numpy\.random\.Generator"):
        TimeLSTM.init(3, 2, rng=3)


# Loops that call a layer at each step.


@every_kind
def test_the_blocks_have_a_letter_each(kind):
    assert kind.step.gates == kind.time.gates
    assert len(kind.time.gates) == kind.gates


@pytest.mark.parametrize("make", [lambda: RNN.init(2, 3), lambda: TimeLSTM.init(2, 3)])
def test_a_loop_in_a_loop_goes_back_step_by_step(make):
    """Four forwards of one layer, and the gradients of four layers that share its weights."""
    layer = make()
    alone = [copy.copy(layer) for _ in range(4)]
    inputs = draw_inputs(layer, 4)
    with backward_for_each(layer):
        for k in range(0, 4, 2):
            with backward_for_each(layer):
                ys = [layer.forward(*inputs[k + j]) for j in range(2)]
    for one, given in zip(alone, inputs):
        one.forward(*given)
    for one in reversed(alone):
        expected = one.backward(np.ones_like(ys[0]))
        for a, e in zip(as_list(layer.backward(np.ones_like(ys[0]))), as_list(expected)):
            np.testing.assert_array_equal(a, e)
    with pytest.raises(RuntimeError, match=f"{type(layer).__name__}.backward: no forward"):
        layer.backward(np.ones_like(ys[0]))


def draw_inputs(layer, count):
    shapes = [(2, 2), (2, 3)] if isinstance(layer, RNN) else [(2, 4, 2)]
    return [[draw(k, *shape).astype("float32") for shape in shapes] for k in range(count)]


def test_a_loop_forgets_what_was_saved_before_but_not_without_backward():
    layer, x = TimeGRU.init(2, 3), draw(0, 2, 4, 2).astype("float32")
    y = layer.forward(x)
    with no_backward(), backward_for_each(layer):
        layer.forward(x)
    layer.backward(y)
    layer.forward(x)
    with backward_for_each(layer):
        pass
    with pytest.raises(RuntimeError, match="no forward"):
        layer.backward(y)


@pytest.mark.parametrize("choice", ["quick", "plain"])
@pytest.mark.parametrize("layer", [TimeRNN, TimeLSTM, TimeGRU])
def test_a_copy_goes_back_through_the_forward_of_the_original(layer, choice):
    with kernels.using(choice):
        made, x = layer.init(2, 3), draw(0, 2, 4, 2).astype("float32")
        y = made.forward(x)
        twins = [copy.deepcopy(made), pickle.loads(pickle.dumps(made)), made]
        gradients = [twin.backward(y) for twin in twins]
    for gradient in gradients[:2]:
        np.testing.assert_array_equal(gradient, gradients[2])


def test_the_file_of_the_lstm_checks_itself():
    command = [sys.executable, "-m", "deepnlp.examples.lstm"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not done.stderr
    error = float(re.search(r"by (\S+) at most", done.stdout)[1])
    rows = [(line[:26].strip(), float(line.split()[-1])) for line in done.stdout.splitlines()[-5:]]
    assert error < 1e-14
    (rnn, of_rnn), (short, of_short), (_, c_short), (long, _), (_, c_long) = rows
    assert (rnn, short, long) == ("RNN", "LSTM, f near 0.73", "LSTM, f near 0.98")
    assert of_rnn < 1e-10 < c_short < 1e-5 < of_short < 0.1 < c_long < 1


@pytest.mark.parametrize("method", [TimeRecurrent.forward, TimeRecurrent.backward])
def test_the_loop_over_time_is_bare(method):
    source = textwrap.dedent(inspect.getsource(method))
    assert code_lines(source) < 20
    loops = [node.iter for node in ast.walk(ast.parse(source)) if isinstance(node, ast.For)]
    assert [ast.unparse(loop) for loop in loops] in (["range(T)"], ["reversed(range(T))"])
