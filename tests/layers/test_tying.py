"""One weight with two uses: W.T, lists of parameters, copies and casts."""

import copy

import numpy as np
import pytest

from deepnlp import Sequential
from deepnlp.backend import asarray, asnumpy
from deepnlp.layers import (
    Affine,
    Embedding,
    SoftmaxWithLoss,
    Tanh,
    TimeAffine,
    TimeDropout,
    TimeLSTM,
)
from deepnlp.parameter import Parameter
from tests.layers.tools import assert_close, slopes

RNG = np.random.default_rng(15)
V, D = 6, 4


def tied_model(dtype="float64"):
    rng = np.random.default_rng(2)
    embed = Embedding.init(V, D, rng=rng, dtype=dtype)
    return Sequential(
        embed,
        TimeDropout(0.5, rng=rng),
        TimeLSTM.init(D, D, rng=rng, dtype=dtype, stateful=True),
        TimeAffine(embed.W.T, Parameter.zeros(V, dtype=dtype)),
    )


def untied_model():
    """The same numbers, with the output weight a Parameter of its own."""
    tied = tied_model()
    embed, dropout, lstm, output = tied.layers
    W = Parameter(asarray(asnumpy(embed.W.value).T.copy()))
    return Sequential(embed, dropout, lstm, TimeAffine(W, output.b))


def batch():
    rng = np.random.default_rng(4)
    return asarray(rng.integers(0, V, (2, 3))), asarray(rng.normal(size=(2, 3, V)))


def test_each_parameter_is_listed_once_with_the_name_of_its_owner(array_backend):
    model = tied_model()
    names = [name for name, _ in model.named_parameters()]
    assert names == ["layers.0.W", "layers.2.Wx", "layers.2.Wh", "layers.2.b", "layers.3.b"]
    assert [p for _, p in model.named_parameters()] == model.parameters()
    assert model.parameters()[0] is model.layers[0].W is model.layers[3].W.T
    assert len({id(p) for p in model.parameters()}) == 5


def test_a_reading_met_first_stands_for_its_base(array_backend):
    W = Parameter(RNG.normal(size=(3, 4)))
    model = Sequential(Affine(W.T), Affine(W))
    assert model.parameters() == [W]


def test_the_gradient_is_the_sum_of_both_uses(array_backend):
    ids, dy = batch()
    gradients = []
    for model in (tied_model(), untied_model()):
        model.forward(ids)
        model.backward(dy)
        gradients.append({name: asnumpy(p.grad) for name, p in model.named_parameters()})
    tied, untied = gradients
    assert_close(tied["layers.0.W"], untied["layers.0.W"] + untied["layers.3.W"].T)
    for name in tied.keys() - {"layers.0.W"}:
        assert_close(tied[name], untied[name])


def test_the_tied_gradient_is_the_slope(array_backend):
    model = tied_model()
    ids, _ = batch()
    targets = asarray(np.array([[1, 0, 5], [-1, 2, 2]]))
    loss = SoftmaxWithLoss()
    state = model.snapshot()
    loss.forward(model.forward(ids), targets)
    model.backward(loss.backward())
    W = model.layers[0].W
    values = asnumpy(W.value).copy()

    def value():
        model.restore(state)
        W.value = asarray(values.copy())
        return float(loss.forward(model.forward(ids), targets))

    assert_close(W.grad, slopes(value, values), 1e-8)


def test_copies_and_casts_keep_the_tie(array_backend):
    model = tied_model()
    twin = copy.deepcopy(model)
    assert twin.layers[3].W.T is twin.layers[0].W
    assert twin.layers[0].W is not model.layers[0].W
    before = asnumpy(model.layers[0].W.value).copy()
    twin.layers[0].W.value += 1
    assert_close(twin.layers[3].W.value, before.T + 1)
    assert_close(model.layers[0].W.value, before)
    assert model.astype("float32") is model
    assert model.layers[3].W.T is model.layers[0].W
    assert model.layers[3].W.dtype == np.float32
    assert len(model.parameters()) == 5


def test_zero_grad_reaches_every_parameter(array_backend):
    model = tied_model()
    ids, dy = batch()
    model.forward(ids)
    model.backward(dy)
    assert all(float(abs(p.grad).max()) > 0 for p in model.parameters())
    model.zero_grad()
    assert all(float(abs(p.grad).max()) == 0 for p in model.parameters())


def test_modes_and_state_reach_every_layer(array_backend):
    model = tied_model()
    ids, _ = batch()
    model.eval()
    assert not any(layer.training for layer in model.layers)
    first = asnumpy(model.forward(ids)).copy()
    second = asnumpy(model.forward(ids)).copy()
    assert (first != second).any()  # the hidden state was carried
    model.reset_state()
    assert_close(model.forward(ids), first)
    model.train()
    assert all(layer.training for layer in model.layers)


def test_a_snapshot_of_a_model_repeats_what_follows(array_backend):
    model = tied_model()
    ids, _ = batch()
    model.forward(ids)
    state = model.snapshot()
    assert {name.split(".")[1] for name in state} == {"1", "2"}
    first = [asnumpy(model.forward(ids)).copy() for _ in range(2)]
    model.reset_state()
    model.restore(state)
    again = [asnumpy(model.forward(ids)).copy() for _ in range(2)]
    np.testing.assert_array_equal(first, again)


def test_sequential_takes_layers(array_backend):
    with pytest.raises(TypeError, match=r"Sequential.*list"):
        Sequential([Tanh()])
    x = asarray(RNG.normal(size=(2, 3)))
    model = Sequential(Tanh(), Tanh())
    assert_close(model.forward(x), np.tanh(np.tanh(asnumpy(x))))


def test_a_layer_used_twice_is_refused_or_right(array_backend):
    """One layer object keeps one forward: used twice in a chain it cannot go back twice."""
    shared = Affine(asarray(RNG.normal(size=(3, 3))))
    model = Sequential(shared, Tanh(), shared)
    x = asarray(RNG.normal(size=(2, 3)))
    model.forward(x)
    with pytest.raises(RuntimeError, match="Affine"):
        model.backward(x)
