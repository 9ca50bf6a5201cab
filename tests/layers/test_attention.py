"""Attention and the decoders that use it: values by hand, loops, steps."""

import numpy as np
import pytest

from deepnlp import no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.backend.functions import masked_softmax, softmax
from deepnlp.examples import EXAMPLES, SMALL
from deepnlp.layer import Sequential, map_state
from deepnlp.layers import (
    LSTM,
    AdditiveAttention,
    Affine,
    AttentionDecoder,
    BahdanauDecoder,
    ConcatAttention,
    DotAttention,
    GeneralAttention,
    InputFeedingDecoder,
    TimeBidirectional,
    TimeGRU,
    TimeLSTM,
    TimeRNN,
    TimeStacked,
)
from deepnlp.layers.decoders import Decoder
from tests.cases import by_layer
from tests.layers.tools import assert_close, output_weights, parameter_gradients

N, T, S, D, H = 3, 5, 4, 2, 3
LENGTHS = [4, 1, 2]


def draw(seed, *shape):
    return asarray(np.random.default_rng(seed).normal(size=shape))


def softmax_of(e):
    e = np.exp(e - e.max())
    return e / e.sum()


# --- Attention ----------------------------------------------------------------------------------


def test_the_dot_product_by_hand(array_backend):
    attention = DotAttention()
    query, memory = draw(0, N, T, H), draw(1, N, S, H)
    context = asnumpy(attention.forward(query, memory, LENGTHS))
    q, m, weights = asnumpy(query), asnumpy(memory), asnumpy(attention.weights)
    for n, length in enumerate(LENGTHS):
        for t in range(T):
            a = softmax_of(np.array([q[n, t] @ m[n, s] for s in range(length)]))
            assert_close(weights[n, t, :length], a)
            assert (weights[n, t, length:] == 0).all()
            assert_close(context[n, t], sum(a[s] * m[n, s] for s in range(length)))


def test_weights_sum_to_one_whatever_the_scores(array_backend):
    attention = DotAttention()
    query = 1e4 * draw(0, N, T, H)
    memory = draw(1, N, S, H)
    attention.forward(query, memory, LENGTHS)
    assert_close(asnumpy(attention.weights).sum(axis=2), np.ones((N, T)))
    far = asnumpy(memory).copy()
    far[1, 1:] = 1e6  # in the padding: would be the largest score by far
    attention.forward(query, asarray(far), LENGTHS)
    assert_close(asnumpy(attention.weights).sum(axis=2), np.ones((N, T)))


def test_general_with_the_identity_is_dot_and_concat_is_additive(array_backend):
    query, memory, dy = draw(0, N, T, H), draw(1, N, S, H), draw(2, N, T, H)
    W, v = draw(3, 2 * H, 7), draw(4, 7)
    pairs = [
        (DotAttention(), GeneralAttention(asarray(np.eye(H)))),
        (ConcatAttention(W, v, H), AdditiveAttention(W[:H], W[H:], v)),
    ]
    for one, other in pairs:
        assert_close(one.forward(query, memory, LENGTHS), other.forward(query, memory, LENGTHS))
        for gradient, expected in zip(one.backward(dy), other.backward(dy), strict=True):
            assert_close(gradient, expected)
    one, other = pairs[1]
    halves = np.concatenate([asnumpy(other.query.W.grad), asnumpy(other.key.W.grad)])
    assert_close(one.W.grad, halves)
    assert_close(one.v.grad, other.v.grad)


def test_a_masked_softmax(array_backend):
    x = draw(0, 3, 4)
    none = asarray(np.zeros((3, 4), bool))
    assert_close(masked_softmax(x, none), softmax(x))
    assert_close(masked_softmax(x, None), softmax(x), 0)
    some = asarray(np.array([[False, True, False, True]]))
    part = asnumpy(masked_softmax(x.astype("float32"), some))
    assert part.dtype == np.float32
    assert (part[:, [1, 3]] == 0).all()
    assert_close(part[:, [0, 2]], asnumpy(softmax(asarray(asnumpy(x)[:, [0, 2]]))), 1e-6)


@pytest.mark.parametrize("kind", [ConcatAttention, AdditiveAttention, GeneralAttention])
def test_fresh_weights(array_backend, kind):
    sizes = (D, H) if kind is GeneralAttention else (D, H, 7)
    attention = kind.init(*sizes, rng=np.random.default_rng(0), dtype="float64")
    assert attention.forward(draw(0, N, T, D), draw(1, N, S, H)).shape == (N, T, H)


@pytest.mark.parametrize("case", ["DotAttention", "GeneralAttention", "AdditiveAttention"])
def test_sizes_that_do_not_fit_are_named(array_backend, case):
    layer, (query, memory, *_) = EXAMPLES[case].make()
    kind = type(layer).__name__
    with pytest.raises(ValueError, match=rf"{kind}: query should have shape \(N, T, H"):
        layer.forward(draw(0, 2, 4, 9), memory)
    with pytest.raises(ValueError, match=rf"{kind}: query should have shape .* with N = 2"):
        layer.forward(query[:1], memory)
    if case != "DotAttention":
        with pytest.raises(ValueError, match=rf"{kind}: memory .* with H = 2, got \(2, 3, 9\)"):
            layer.forward(query, draw(0, 2, 3, 9))


# --- Decoders -----------------------------------------------------------------------------------

DECODERS = [
    example
    for example in EXAMPLES.values()
    if issubclass(example.covers, Decoder) and not example.name.endswith("N=1 T=1")
]


def states_for(recurrent, rows, seed=9):
    rng = np.random.default_rng(seed)
    return map_state(lambda a: asarray(rng.normal(size=a.shape)), recurrent.start(rows))


@by_layer(DECODERS)
def test_steps_of_a_decoder_are_its_forward(array_backend, case):
    layer, (x, memory, *lengths) = case.make()
    layer.eval()
    state = states_for(layer.recurrent, len(x))
    layer.set_state(*state)
    expected = asnumpy(layer.forward(x, memory, *lengths)).copy()
    last = layer.state
    reader = getattr(layer, "attention", None)
    weights = getattr(layer, "weights", None)
    weights = reader.weights if weights is None and reader is not None else weights

    snapshot = layer.snapshot()
    state = layer.begin(state, memory, *lengths)
    for t in range(x.shape[1]):
        y, state = layer.step(x[:, t], state)
        assert_close(y, expected[:, t])
        if reader is not None:
            assert_close(reader.weights[:, 0], asnumpy(weights)[:, t])
    for name, value in layer.snapshot().items():
        np.testing.assert_array_equal(value, snapshot[name])
    # the rows of a state in another order
    order = asarray(np.arange(len(x))[::-1].copy())
    turned, _ = layer.step(x[:, 0][order], map_state(lambda a: a[order], state))
    expected, after = layer.step(x[:, 0], state)
    assert_close(turned, expected[order])
    flat = []
    map_state(lambda a: flat.append(a.shape[0]), after)
    assert set(flat) == {len(x)}
    assert len(last) == len(layer.recurrent.start(1))
    with pytest.raises(TypeError, match=f"{case.covers.__name__}: a start needs a memory"):
        layer.start(2)


@by_layer(DECODERS)
def test_steps_leave_a_waiting_forward_alone(array_backend, case):
    layer, inputs = case.make()
    layer.eval()
    y = layer.forward(*inputs)
    dy = output_weights((y,))[0]
    expected = [asnumpy(g).copy() for g in layer.backward(dy)]
    of_weights = parameter_gradients(layer)
    layer.zero_grad()
    layer.reset_state()
    layer.forward(*inputs)
    state = layer.begin(layer.recurrent.start(len(y)), *inputs[1:])
    layer.step(inputs[0][:, 0], state)
    with no_backward():
        layer.forward(*inputs)
    for gradient, value in zip(layer.backward(dy), expected, strict=True):
        assert_close(gradient, value)
    for gradient, value in zip(parameter_gradients(layer), of_weights, strict=True):
        assert_close(gradient, value)


@by_layer(DECODERS)
def test_more_and_fewer_steps_than_before(array_backend, case):
    """The caches of a loop are those of its own steps, however long the loop before was."""
    for T in (7, 2):
        layer, _ = case.make()
        layer.eval()
        _, first = case.build(np.random.default_rng(5), SMALL._replace(N=3, T=5))
        layer.backward(output_weights((layer.forward(*first),))[0])
        layer.zero_grad()
        layer.reset_state()
        _, inputs = case.build(np.random.default_rng(6), SMALL._replace(T=T))
        fresh, _ = case.make()
        fresh.eval()
        results = []
        for one in (layer, fresh):
            y = one.forward(*inputs)
            results.append([y, *one.backward(output_weights((y,))[0]), *parameter_gradients(one)])
        for a, e in zip(*results, strict=True):
            assert_close(a, e)


@pytest.mark.parametrize("case", ["DotAttention", "GeneralAttention"])
def test_a_scale_multiplies_the_scores(array_backend, case):
    """As if the queries had been multiplied, forward and backward."""
    W = [draw(1, H, H)] if case == "GeneralAttention" else []
    kind = {"DotAttention": DotAttention, "GeneralAttention": GeneralAttention}[case]
    scaled, plain = kind(*W, scale=0.25), kind(*W)
    query, memory, dcontext = draw(2, N, T, H), draw(3, N, S, H), draw(4, N, T, H)
    assert_close(
        asnumpy(scaled.forward(query, memory, LENGTHS)),
        asnumpy(plain.forward(0.25 * query, memory, LENGTHS)),
    )
    (dq, dm), (dq_plain, dm_plain) = scaled.backward(dcontext), plain.backward(dcontext)
    assert_close(asnumpy(dq), 0.25 * asnumpy(dq_plain))
    assert_close(asnumpy(dm), asnumpy(dm_plain))


def test_a_scale_is_a_number_above_zero():
    with pytest.raises(ValueError, match="DotAttention: scale"):
        DotAttention(scale=0)


def test_input_feeding_by_hand(array_backend):
    """One-step layers that share their Parameters, one for each step, in the order of the paper."""
    lstm = TimeLSTM.init(D + 6, H, rng=np.random.default_rng(0), dtype="float64")
    attention = GeneralAttention(draw(1, H, 4))
    decoder = InputFeedingDecoder(lstm, attention, draw(2, 4 + H, 6), draw(3, 6))
    x, memory, dy = draw(4, N, T, D), draw(5, N, S, 4), draw(6, N, T, 6)
    ys = asnumpy(decoder.forward(x, memory, LENGTHS))
    y, state = np.zeros((N, 6)), [asnumpy(a) for a in lstm.start(N)]
    affine = decoder.combine.layers[0]
    for t in range(T):
        one = LSTM(lstm.Wx, lstm.Wh, lstm.b)
        both = np.concatenate([asnumpy(x)[:, t], y], axis=1)
        h, c = one.forward(asarray(both), *map(asarray, state))
        context = GeneralAttention(attention.key.W.T).forward(h[:, None], memory, LENGTHS)[:, 0]
        joined = np.concatenate([asnumpy(context), asnumpy(h)], axis=1)
        y = np.tanh(asnumpy(Affine(affine.W, affine.b).forward(asarray(joined))))
        state = [asnumpy(h), asnumpy(c)]
        assert_close(ys[:, t], y)
    assert decoder.weights.shape == (N, T, S)
    dx, dmemory = decoder.backward(dy)
    assert dx.shape == x.shape
    assert dmemory.shape == memory.shape


def test_the_decoders_differ(array_backend):
    """With equal sizes and weights: what feeds what is another function in each."""
    x, memory = draw(0, N, T, H), draw(1, N, S, H)
    W = draw(2, 2 * H, H)
    found = [
        asnumpy(
            kind(TimeRNN(draw(3, D_in, H), draw(4, H, H), draw(5, H)), DotAttention(), W).forward(
                x, memory
            )
        )
        for kind, D_in in (
            (AttentionDecoder, H),
            (InputFeedingDecoder, 2 * H),
            (BahdanauDecoder, 2 * H),
        )
    ]
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert np.abs(found[one] - found[other]).max() > 0.01


# --- Bidirectional and stacked ------------------------------------------------------------------


def test_a_bidirectional_layer_is_two_layers(array_backend):
    rng = np.random.default_rng(0)
    one, other = (TimeLSTM.init(D, size, rng=rng, dtype="float64") for size in (H, 4))
    layer = TimeBidirectional(one, other)
    x = draw(1, N, T, D)
    for lengths in (None, [5, 2, 1]):
        y = asnumpy(layer.forward(x, lengths))
        assert_close(y[..., :H], one.forward(x, lengths))
        for n, length in enumerate(lengths or [T] * N):
            alone = other.forward(x[n : n + 1, :length][:, ::-1])
            assert_close(y[n : n + 1, :length, H:], asnumpy(alone)[:, ::-1])
        layer.forward(x, lengths)
        assert layer.h.shape == layer.c.shape == (N, H + 4)
        for n, length in enumerate(lengths or [T] * N):
            assert_close(layer.h[n, :H], y[n, length - 1, :H])
            assert_close(layer.h[n, H:], y[n, 0, H:])


def test_the_state_of_a_bidirectional_layer(array_backend):
    rng = np.random.default_rng(0)
    layer = TimeBidirectional(*(TimeLSTM.init(D, H, rng=rng, dtype="float64") for _ in range(2)))
    assert layer.h is None
    assert layer.c is None
    x, h, c = draw(1, N, T, D), draw(2, N, 2 * H), draw(3, N, 2 * H)
    layer.set_state(h, c)
    y = asnumpy(layer.forward(x)).copy()
    expected = TimeLSTM(layer.forward_layer.Wx, layer.forward_layer.Wh, layer.forward_layer.b)
    expected.set_state(h[:, :H], c[:, :H])
    assert_close(y[..., :H], expected.forward(x))
    layer.backward(draw(4, N, T, 2 * H), draw(5, N, 2 * H), draw(6, N, 2 * H))
    assert [g.shape for g in layer.dstate0] == [(N, 2 * H)] * 2
    assert_close(layer.dstate0[1][:, H:], layer.backward_layer.dc0)
    with pytest.raises(ValueError, match=r"TimeBidirectional: h should have shape \(N, 2H\)"):
        layer.set_state(h[:, :H])
    gru = TimeBidirectional(*(TimeGRU.init(D, H) for _ in range(2)))
    gru.forward(x.astype("float32"))
    assert gru.c is None


def test_no_step_from_right_to_left(array_backend):
    layer = TimeBidirectional(TimeRNN.init(D, H), TimeRNN.init(D, H))
    for call in (lambda: layer.start(2), lambda: layer.step(draw(0, 2, D))):
        with pytest.raises(TypeError, match="needs the whole sequence"):
            call()
    with pytest.raises(TypeError, match="needs the whole sequence"):
        Sequential(layer).start(1)
    with pytest.raises(TypeError, match="needs the whole sequence"):
        TimeStacked(layer).step(draw(0, 2, D))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TimeBidirectional(TimeRNN.init(2, 3), TimeRNN.init(4, 3)), "TimeRNN with D = 4"),
        (
            lambda: TimeBidirectional(TimeRNN.init(2, 3), TimeLSTM.init(2, 3)),
            "should be of one kind",
        ),
        (
            lambda: TimeBidirectional(TimeRNN.init(2, 3, stateful=True), TimeRNN.init(2, 3)),
            "neither layer may be stateful",
        ),
        (TimeStacked, "at least one layer"),
        (
            lambda: TimeStacked(TimeRNN.init(2, 3), TimeRNN.init(4, 3)),
            "D = 4 does not fit one below with 3 outputs",
        ),
    ],
)
def test_layers_that_do_not_fit(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_encoder_stack_learns_from_its_decoder(array_backend):
    """Two stacks that hand the state on are one over the whole sequence."""
    rng = np.random.default_rng(0)
    first, second = (TimeLSTM.init(a, b, rng=rng, dtype="float64") for a, b in ((D, H), (H, 4)))

    def stack():
        cells = (TimeLSTM(one.Wx, one.Wh, one.b) for one in (first, second))
        return TimeStacked(*cells)

    x, dy = draw(1, N, 6, D), draw(2, N, 6, 4)
    whole = stack()
    expected = asnumpy(whole.forward(x)).copy()
    dx = asnumpy(whole.backward(dy)).copy()
    gradients = parameter_gradients(whole)
    whole.zero_grad()
    encoder, decoder = stack(), stack()
    assert_close(encoder.forward(x[:, :2]), expected[:, :2])
    decoder.set_state(*encoder.state)
    assert_close(decoder.forward(x[:, 2:]), expected[:, 2:])
    assert_close(decoder.backward(dy[:, 2:]), dx[:, 2:])
    assert_close(encoder.backward(dy[:, :2], *decoder.dstate0), dx[:, :2])
    for gradient, value in zip(parameter_gradients(encoder), gradients, strict=True):
        assert_close(gradient, value)


def test_a_stack_goes_on_from_its_state(array_backend):
    rng = np.random.default_rng(0)
    layer = TimeStacked(*(TimeGRU.init(3, 3, rng=rng, dtype="float64") for _ in range(2)))
    x = draw(1, N, 6, 3)
    expected = asnumpy(layer.forward(x)).copy()
    layer.forward(x[:, :4])
    layer.keep_state()
    assert_close(layer.forward(x[:, 4:]), expected[:, 4:])
    assert_close(layer.forward(x), expected)  # and not a second time
