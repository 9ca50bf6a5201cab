"""One step of time at a time: every layer and model equals its forward over all of them."""

import numpy as np
import pytest

import deepnlp
from deepnlp import kernels, no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.examples import EXAMPLES
from deepnlp.layer import Layer, Sequential, map_state
from deepnlp.layers import (
    GRU,
    LSTM,
    RNN,
    Affine,
    Embedding,
    Tanh,
    TimeDropout,
    TimeGRU,
    TimeLSTM,
    TimeRNN,
)
from deepnlp.layers.recurrent import Recurrent, TimeRecurrent
from deepnlp.models.language_model import LanguageModel
from tests.cases import by_layer, together
from tests.layers.tools import assert_close, host, output_weights, parameter_gradients


def over_time(example):
    """Whether the example's forward takes one array with an axis for time, and gives another."""
    layer, inputs = example.make()
    if len(inputs) != 1 or np.ndim(layer.forward(*inputs)) == 0:
        return False
    one_step = issubclass(example.covers, Recurrent) and not issubclass(
        example.covers, TimeRecurrent
    )
    return not one_step and not example.name.endswith("N=1 T=1")


CASES = [example for example in EXAMPLES.values() if over_time(example)]
CARRYING = [e for e in CASES if e.covers in (TimeRNN, TimeLSTM, TimeGRU, Sequential)]
MODELS = [e for e in EXAMPLES.values() if issubclass(e.covers, LanguageModel)]


def with_time(example):
    """The layer, and an input (N, T, ...): layers that take any shape get one with time."""
    layer, (x,) = example.make()
    if x.ndim == 2 and x.dtype.kind == "f":
        x = asarray(np.random.default_rng(3).normal(size=(2, 4, x.shape[1])))
    return layer, x


def unroll(layer, x, state=None):
    """Outputs of T steps, (N, T, ...), and the last state."""
    outputs = []
    for t in range(x.shape[1]):
        y, state = layer.step(x[:, t], state)
        outputs.append(asnumpy(y))
    return np.stack(outputs, axis=1), state


def arrays_of(state):
    found = []
    map_state(lambda array: found.append(asnumpy(array).copy()), state)
    return found


@by_layer(CASES)
@together(form=kernels.CHOICES)
def test_steps_equal_a_forward(array_backend, case, form):
    with kernels.using(form):
        layer, x = with_time(case)
        layer.eval()
        layer.reset_state()
        expected = asnumpy(layer.forward(x))
        fresh, last = unroll(layer, x)
        started, also_last = unroll(layer, x, layer.start(len(x)))
    assert_close(fresh, expected)
    assert_close(started, fresh, 0)
    for a, e in zip(arrays_of(also_last), arrays_of(last), strict=True):
        assert_close(a, e, 0)
        assert a.shape[0] == len(x)


@by_layer(c for c in CASES if issubclass(c.covers, TimeRecurrent))
def test_the_state_is_that_of_the_layer(array_backend, case):
    layer, x = with_time(case)
    expected = asnumpy(layer.forward(x)).copy()
    state = tuple(getattr(layer, name) for name in layer._states)
    _, after = unroll(layer, x[:, :2])
    rest, last = unroll(layer, x[:, 2:], after)
    assert_close(rest, expected[:, 2:])
    for a, e in zip(last, state, strict=True):
        assert_close(a, e)


@by_layer(CARRYING)
def test_a_step_leaves_everything_as_it_was(array_backend, case):
    """A forward that waits for its backward, the carried state, the mode, a state given."""
    deepnlp.seed(0)
    layer, x = with_time(case)
    layer.eval()
    snapshot = layer.snapshot()
    y = layer.forward(x)
    weights = output_weights((y,))
    layer.backward(*weights)
    expected, states = parameter_gradients(layer), layer.snapshot()

    layer.zero_grad()
    layer.restore(snapshot)
    layer.forward(x)
    given = layer.start(len(x))
    given = map_state(lambda array: array + 1, given)
    before = arrays_of(given)
    layer.step(x[:, 0])
    layer.step(x[:, 1], given)
    for a, e in zip(arrays_of(given), before, strict=True):
        assert_close(a, e, 0)
    assert not layer.training
    after = layer.snapshot()
    assert after.keys() == states.keys()
    for name, value in states.items():
        np.testing.assert_array_equal(after[name], value)
    layer.backward(*weights)
    for a, e in zip(parameter_gradients(layer), expected, strict=True):
        assert_close(a, e, 0)
    layer.train()
    layer.step(x[:, 0])
    assert layer.training


@by_layer(CASES)
def test_a_step_saves_nothing(array_backend, case):
    layer, x = with_time(case)
    y, _ = layer.step(x[:, 0])
    with pytest.raises(RuntimeError, match="no forward to go back through"):
        layer.backward(*output_weights((y,)))


@pytest.mark.parametrize("one", [RNN, LSTM, GRU])
def test_layers_of_one_step(array_backend, one):
    layer = one.init(3, 5, rng=np.random.default_rng(0), dtype="float64")
    x = asarray(np.random.default_rng(1).normal(size=(2, 4, 3)))
    whole = {RNN: TimeRNN, LSTM: TimeLSTM, GRU: TimeGRU}[one](layer.Wx, layer.Wh, layer.b)
    actual, last = unroll(layer, x)
    expected, also_last = unroll(whole, x)
    assert_close(actual, expected)
    assert_close(actual, whole.forward(x))
    assert len(last) == len(also_last) == (2 if one is LSTM else 1)
    for a, e in zip(last, also_last, strict=True):
        assert_close(a, e)
    # a forward that waits for its backward still does
    states = layer.start(2)
    outputs = layer.forward(x[:, 0], *states)
    layer.step(x[:, 1], last)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    assert len(layer.backward(*outputs)) == 1 + len(states)


@pytest.mark.parametrize("kind", [RNN, LSTM, GRU, TimeRNN, TimeLSTM, TimeGRU])
def test_a_state_that_does_not_fit_is_named(array_backend, kind):
    layer = kind.init(3, 5, dtype="float64")
    x = asarray(np.ones((2, 3)))
    for wrong in (layer.start(1), layer.start(3), kind.init(3, 4, dtype="float64").start(2)):
        with pytest.raises(ValueError, match=rf"{kind.__name__}: h.* should have shape \(N, H\)"):
            layer.step(x, wrong)
    with pytest.raises(ValueError, match=rf"{kind.__name__}: x should have shape \(N, D\)"):
        layer.step(asarray(np.ones((2, 1, 3))))


@pytest.mark.parametrize("kind", [TimeRNN, TimeLSTM, TimeGRU])
def test_a_wider_number_type_among_the_weights_decides(array_backend, kind):
    for name in ("Wh", "b"):
        layer = kind.init(2, 3)
        getattr(layer, name).astype("float64")
        x = asarray(np.ones((1, 2), "float32"))
        y, state = layer.step(x)
        assert y.dtype == state[0].dtype == np.float64
        assert_close(y, layer.forward(x[:, None])[:, 0], 0)


# --- Layers with a forward of their own ------------------------------------------------------


class Doubled(TimeLSTM):
    """A forward of its own: the step of the class above would be another function."""

    def forward(self, x, lengths=None):
        return super().forward(2 * x, lengths)


class Halved(TimeLSTM):
    """Forward and step of its own."""

    def forward(self, x, lengths=None):
        return super().forward(x / 2, lengths)

    def step(self, x, state=None):
        return super().step(x / 2, state)


class Shifted(TimeDropout):
    def forward(self, x):
        return super().forward(x) + 1


class Residual(Sequential):
    """What is inside has no memory, so the general step, the forward, is right."""

    def forward(self, x):
        return x + super().forward(x)


@pytest.mark.parametrize("kind", [Doubled, Halved])
def test_a_recurrent_layer_with_a_forward_of_its_own(array_backend, kind):
    layer = kind.init(3, 5, rng=np.random.default_rng(0), dtype="float64", stateful=True)
    x = asarray(np.random.default_rng(1).normal(size=(2, 4, 3)))
    expected = asnumpy(layer.forward(x)).copy()
    carried = [asnumpy(a).copy() for a in (layer.h, layer.c)]
    actual, (h, c) = unroll(layer, x)
    assert_close(actual, expected)
    assert_close(h, carried[0])
    assert_close(c, carried[1])
    assert_close(layer.h, carried[0], 0)
    assert_close(layer.c, carried[1], 0)
    assert layer.backward(x[:, :, :1] + asarray(np.zeros((2, 4, 5)))).shape == (2, 4, 3)
    # a state that was set waits for the next forward
    layer.set_state(asarray(np.ones((2, 5))))
    with no_backward():
        first = asnumpy(layer.forward(x)).copy()
        layer.set_state(asarray(np.ones((2, 5))))
        layer.step(x[:, 0])
        assert_close(layer.forward(x), first, 0)


def test_layers_without_memory_with_a_forward_of_their_own(array_backend):
    x = asarray(np.random.default_rng(1).normal(size=(2, 4, 3)))
    affine = Affine.init(3, 3, rng=np.random.default_rng(0), dtype="float64")
    for layer in (Residual(affine, Tanh()), Sequential(affine, Residual(Tanh()))):
        actual, _ = unroll(layer, x)
        steps = [asnumpy(layer.forward(x[:, t])) for t in range(4)]
        assert_close(actual, np.stack(steps, axis=1))
    shifted = Shifted(0.5)
    shifted.eval()
    y, state = shifted.step(x[:, 0])
    assert state is None
    assert_close(y, shifted.forward(x[:, :1])[:, 0])


def test_a_layer_of_ones_own_has_a_step(array_backend):
    class Square(Layer):
        def forward(self, x):
            self.save_for_backward(x)
            return x * x

    layer = Square()
    x = asarray(np.arange(6.0).reshape(2, 3))
    assert layer.start(2) is None
    y, state = layer.step(x, None)
    assert state is None
    assert_close(y, asnumpy(x) ** 2)


def test_dropout_at_a_step_of_training():
    deepnlp.seed(0)
    layer = TimeDropout(0.5)
    x = asarray(np.ones((3, 100)))
    first, second = (layer.step(x)[0] for _ in range(2))
    assert sorted(set(asnumpy(first).ravel())) == [0.0, 2.0]
    assert (asnumpy(first) != asnumpy(second)).any()


# --- Models ------------------------------------------------------------------------------------


@by_layer(MODELS)
def test_steps_of_a_model_are_its_logits(array_backend, case):
    model, (ids, _) = case.make()
    model.eval()
    carried = model.snapshot()
    actual, last = unroll(model, ids)
    for name, value in model.snapshot().items():
        np.testing.assert_array_equal(value, carried[name])
    model.reset_state()
    assert_close(actual, model.logits(ids))
    started, _ = unroll(model, ids, model.start(len(ids)))
    assert_close(started, actual, 0)
    # rows of a state in another order are the texts in another order
    order = asarray(np.arange(len(ids))[::-1].copy())
    next_ids = ids[:, 0]
    expected, _ = model.step(next_ids, last)
    turned, _ = model.step(next_ids[order], map_state(lambda array: array[order], last))
    assert_close(turned, expected[order])


class TwoBack(LanguageModel):
    """A model without a hidden state whose scores depend on the last two ids only."""

    def __init__(self, V=5):
        self._remember(vocab_size=V, embed_size=1, hidden_size=1, dtype="float64")
        rng = np.random.default_rng(0)
        self.first = Embedding(rng.normal(size=(V, V)))
        self.second = Embedding(rng.normal(size=(V, V)))

    def logits(self, ids):
        with no_backward():
            y = 1 * self.first.forward(ids)
            y[:, 1:] += self.second.forward(ids[:, :-1])
        return y


def test_a_model_without_a_quick_step_reads_its_text_again(array_backend):
    model, ids = TwoBack(), asarray(np.random.default_rng(1).integers(0, 5, size=(3, 6)))
    expected = model.logits(ids)
    for state in (None, model.start(3)):
        actual, last = unroll(model, ids, state)
        assert_close(actual, expected)
    order = [2, 0, 1]
    turned, _ = model.step(ids[:, 0][asarray(np.array(order))], map_state(lambda a: a[order], last))
    plain, _ = model.step(ids[:, 0], last)
    assert_close(turned, asnumpy(plain)[order])
    assert_close(
        model.losses(ids, ids),
        -np.log(np.take_along_axis(softmax(asnumpy(expected)), asnumpy(ids)[..., None], 2))[..., 0],
    )


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


# --- States --------------------------------------------------------------------------------------


def test_map_state():
    a, b = np.arange(4.0), np.ones(4)
    state = [None, (a,), [(a, b), None], ()]
    doubled = map_state(lambda x: 2 * x, state)
    assert doubled[0] is None
    assert isinstance(doubled[1], tuple)
    assert isinstance(doubled[2], list)
    assert doubled[3] == ()
    np.testing.assert_array_equal(doubled[1][0], 2 * a)
    np.testing.assert_array_equal(doubled[2][0][1], 2 * b)
    both = map_state(np.add, state, doubled)
    np.testing.assert_array_equal(both[2][0][0], 3 * a)
    with pytest.raises(ValueError, match="argument"):
        map_state(np.add, (a, b), (a,))


def test_the_state_of_a_sequential_is_that_of_its_layers(array_backend):
    lstm = TimeLSTM.init(3, 4, dtype="float64")
    model = Sequential(Tanh(), lstm, Sequential(TimeRNN.init(4, 2, dtype="float64"), Tanh()))
    state = model.start(3)
    assert state[0] is None
    assert [s.shape for s in state[1]] == [(3, 4), (3, 4)]
    assert state[2][0][0].shape == (3, 2)
    x = asarray(np.random.default_rng(0).normal(size=(3, 5, 3)))
    actual, last = unroll(model, x, state)
    assert_close(actual, model.forward(x))
    for a, e in zip(host(last[1]), (lstm.h, lstm.c), strict=True):
        assert_close(a, e)
