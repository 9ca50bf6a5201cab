"""Sequences of different lengths in one batch, and gradients with respect to the final state."""

import numpy as np
import pytest

from deepnlp import kernels, no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.examples import EXAMPLES
from deepnlp.gradcheck import check_gradients
from deepnlp.layers.recurrent import TimeRecurrent
from tests.cases import by_layer
from tests.layers.test_recurrent import draw, every_kind, setting
from tests.layers.tools import assert_close, parameter_gradients, slopes

LENGTHS = [6, 0, 3, 1, 5]
N, T, D, H = len(LENGTHS), 6, 4, 5


@pytest.fixture(params=["plain", "quick"], autouse=True)
def form(request):
    with kernels.using(request.param):
        yield request.param


def state_of(layer):
    return [getattr(layer, name) for name in layer._states]


def first_gradients(layer):
    return [getattr(layer, f"d{name}0") for name in layer._states]


def final_gradients(kind, seed=77):
    return [draw(seed + k, N, H) for k in range(kind.states)]


def padded(array, lengths=LENGTHS, filling=np.nan):
    """A copy with something else past the end of each sequence."""
    array = array.copy()
    for n, length in enumerate(lengths):
        array[n, length:] = filling
    return array


def one_by_one(kind, parameters, x, states, dhs, final, lengths):
    """Each sequence on its own: outputs, final states, dx, gradients of the states at the start.

    What no sequence reaches is zero.
    """
    outputs, dx = np.zeros(dhs.shape), np.zeros(x.shape)
    ends, starts = [s.copy() for s in states], [g.copy() for g in final]
    for n, length in enumerate(lengths):
        if length == 0:
            continue
        layer, here = kind.make_time(parameters), slice(n, n + 1)
        layer.set_state(*(asarray(s[here]) for s in states))
        outputs[here, :length] = asnumpy(layer.forward(asarray(x[here, :length])))
        gradients = (asarray(g[here]) for g in final)
        dx[here, :length] = asnumpy(layer.backward(asarray(dhs[here, :length]), *gradients))
        for k in range(kind.states):
            ends[k][here] = asnumpy(state_of(layer)[k])
            starts[k][here] = asnumpy(first_gradients(layer)[k])
    return outputs, ends, dx, starts


@every_kind
def test_a_padded_batch_is_its_sequences_one_by_one(array_backend, kind):
    """Whatever stands in the padding has no influence, NaN included."""
    for stateful in (False, True):
        weights, *_, states, _ = setting(kind, (N, T, D, H))
        together, alone = kind.parameters(weights), kind.parameters(weights)
        layer = kind.make_time(together, stateful)
        if stateful:
            layer.set_state(*map(asarray, states))
        else:
            states = [np.zeros((N, H)) for _ in states]
        for window, lengths in enumerate((LENGTHS, LENGTHS[::-1], [0] * N, [T] * N)):
            _, x, _, dhs = setting(kind, (N, T, D, H), seed=window)
            final = final_gradients(kind, window)
            y = layer.forward(asarray(padded(x, lengths)), lengths)
            ends = [asnumpy(s).copy() for s in state_of(layer)]
            dx = layer.backward(asarray(padded(dhs, lengths)), *map(asarray, final))
            expected = one_by_one(kind, alone, x, states, dhs, final, lengths)
            outputs, expected_ends, expected_dx, starts = expected
            assert_close(y, outputs)
            assert_close(dx, expected_dx)
            np.testing.assert_array_equal(padded(asnumpy(y), lengths, 0), asnumpy(y))
            np.testing.assert_array_equal(padded(asnumpy(dx), lengths, 0), asnumpy(dx))
            for actual, end in zip(ends, expected_ends, strict=True):
                assert_close(actual, end)
            for actual, start in zip(first_gradients(layer), starts, strict=True):
                assert_close(actual, start)
            for a, e in zip(together, alone, strict=True):
                if a is not None:
                    assert_close(a.grad, e.grad)
            if stateful:
                states = expected_ends


@every_kind
def test_lengths_without_a_backward_and_between_other_calls(array_backend, kind):
    weights, x, _, dhs = setting(kind, (N, T, D, H))
    reused = kind.make_time(kind.parameters(weights))
    for lengths in (LENGTHS, None, LENGTHS[::-1]):
        fresh = kind.make_time(kind.parameters(weights))
        with no_backward():
            quiet = reused.forward(asarray(x), [2] * N)
        y = fresh.forward(asarray(x), lengths)
        assert_close(reused.forward(asarray(x), lengths), y, 0)
        with no_backward():
            assert_close(reused.forward(asarray(x), [2] * N), quiet, 0)
        assert_close(reused.backward(asarray(dhs)), fresh.backward(asarray(dhs)), 0)


@by_layer(e for e in EXAMPLES.values() if issubclass(e.covers, TimeRecurrent))
def test_gradients_with_lengths_pass_the_check(case):
    rng = np.random.default_rng(0)
    layer, (x, *_) = case.build(rng, case.sizes._replace(N=4, D=2, H=3))
    lengths = np.array([x.shape[1], 0, 1, max(0, x.shape[1] - 1)])
    report = check_gradients(layer, x, lengths, method="complex", rng=rng, tolerance=1e-12)
    assert report.ok, report
    assert {"x", "h0", "Wx" if layer.Wh is None else "Wh", "b"} <= {row.name for row in report.rows}


# --- Gradients with respect to the final state -----------------------------------------------


@every_kind
def test_gradients_of_a_loss_of_the_final_state_are_slopes(array_backend, kind):
    sizes = (3, 3, 2, 2)
    weights, x, states, dhs = setting(kind, sizes)
    final = [draw(40 + k, 3, 2) for k in range(kind.states)]
    for lengths in (None, [3, 0, 2]):
        layer = kind.make_time(kind.parameters(weights))
        layer.set_state(*map(asarray, states))
        layer.forward(asarray(x), lengths)
        dx = layer.backward(asarray(dhs), *map(asarray, final))

        def loss(lengths=lengths):
            other = kind.make_time(kind.parameters(weights))
            other.set_state(*map(asarray, states))
            total = (dhs * asnumpy(other.forward(asarray(x), lengths))).sum()
            for gradient, state in zip(final, state_of(other), strict=True):
                total += (gradient * asnumpy(state)).sum()
            return float(total)

        assert_close(dx, slopes(loss, x), 1e-8)
        for gradient, state in zip(first_gradients(layer), states, strict=True):
            assert_close(gradient, slopes(loss, state), 1e-8)
        given = [w for w in weights if w is not None]
        for gradient, weight in zip(parameter_gradients(layer), given, strict=True):
            assert_close(gradient, slopes(loss, weight), 1e-8)


@every_kind
def test_no_gradient_of_the_final_state_is_one_of_zeros(array_backend, kind):
    weights, x, _, dhs = setting(kind, (N, T, D, H))
    zeros = [asarray(np.zeros((N, H))) for _ in range(kind.states)]
    results = []
    for given in ((), (None,) * kind.states, zeros, zeros[:1]):
        layer = kind.make_time(kind.parameters(weights))
        layer.forward(asarray(x))
        results.append([layer.backward(asarray(dhs), *given), *first_gradients(layer)])
        results[-1] += parameter_gradients(layer)
    for result in results[1:]:
        for a, e in zip(result, results[0], strict=True):
            assert_close(a, e, 0)


@every_kind
def test_an_encoder_learns_from_its_decoder(array_backend, kind):
    """Two layers that hand the state on are one over the whole sequence."""
    weights, x, states, dhs = setting(kind, (N, T, D, H))
    dhs[:, :4] = 0  # the loss is of the second part
    whole = kind.make_time(kind.parameters(weights))
    whole.set_state(*map(asarray, states))
    y = whole.forward(asarray(x))
    dx = asnumpy(whole.backward(asarray(dhs)))

    shared = kind.parameters(weights)
    encoder, decoder = kind.make_time(shared), kind.make_time(shared)
    encoder.set_state(*map(asarray, states))
    read = encoder.forward(asarray(x[:, :4]))
    decoder.set_state(*state_of(encoder))
    assert_close(decoder.forward(asarray(x[:, 4:])), y[:, 4:])
    assert_close(decoder.backward(asarray(dhs[:, 4:])), dx[:, 4:])
    handed = first_gradients(decoder)
    before = [asnumpy(g).copy() for g in handed]
    assert_close(encoder.backward(0 * read, *handed), dx[:, :4])
    for gradient, value in zip(handed, before, strict=True):
        assert_close(gradient, value, 0)  # what the caller gave is left alone
    for a, e in zip(first_gradients(encoder), first_gradients(whole), strict=True):
        assert_close(a, e)
    for a, e in zip(parameter_gradients(encoder), parameter_gradients(whole), strict=True):
        assert_close(a, e)


@every_kind
def test_wrong_gradients_of_the_final_state(array_backend, kind):
    weights, x, _, dhs = setting(kind, (N, T, D, H))
    layer, name = kind.make_time(kind.parameters(weights)), kind.time.__name__
    good, wrong = asarray(np.ones((N, H))), asarray(np.ones((N, H + 1)))

    def backward(*final):
        layer.forward(asarray(x))
        layer.backward(asarray(dhs), *final)

    with pytest.raises(ValueError, match=rf"{name}: dh .*N, H.*\({N}, {H + 1}\)"):
        backward(wrong)
    with pytest.raises(TypeError, match=f"{name}: dh should be an array"):
        backward([[0.0] * H] * N)
    if kind.states == 2:
        with pytest.raises(ValueError, match=rf"{name}: dc .*N, H.*\({N}, {H + 1}\)"):
            backward(good, wrong)
    else:
        with pytest.raises(ValueError, match=f"{name}: has no memory cell"):
            backward(good, good)
