"""Views of weights: what they read, where their gradients go, under the gradient checker."""

import copy

import numpy as np
import pytest

from deepnlp import Sequential, no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.gradcheck import check_gradients
from deepnlp.layers import Affine, Embedding, TimeAffine, TimeGRU, TimeLSTM, TimeRNN
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD, clip_gradients
from deepnlp.parameter import Parameter, Transpose, View, as_bases
from deepnlp.views import MaskedView, SharedRows
from tests.cases import together
from tests.layers.tools import assert_close

RNG = np.random.default_rng(21)


def masked(D=4, M=3):
    mask = RNG.integers(0, 2, size=(D, M)) / 0.5
    mask[0, 0] = 0
    return MaskedView(Parameter(RNG.normal(size=(D, M)), name="W"), asarray(mask))


def shared(ids=(2, -1, 0, 2, -1), V=4, D=3):
    own = sum(id_ < 0 for id_ in ids)
    return SharedRows(Parameter(RNG.normal(size=(V, D))), ids, RNG.normal(size=(own, D)))


VIEWS = {
    "parameter": lambda: Parameter(RNG.normal(size=(5, 3))),
    "transpose": lambda: Parameter(RNG.normal(size=(3, 5))).T,
    "masked": lambda: masked(5, 3),
    "masked transpose": lambda: MaskedView(
        Parameter(RNG.normal(size=(3, 5))).T, asarray(RNG.normal(size=(5, 3)))
    ),
    "rows shared": shared,
    "all rows shared": lambda: shared((1, 1, 0, 3, 2)),
    "no row shared": lambda: shared((-1,) * 5),
    "rows of a masked weight": lambda: SharedRows(
        masked(4, 3), [0, 3, -1, -1, 2], RNG.normal(size=(2, 3))
    ),
    "rows shared with itself": lambda: (lambda W: SharedRows(W, [1, -1, -1, 0, 1], W))(
        Parameter(RNG.normal(size=(2, 3)))
    ),
}
every_view = pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS.keys())


@every_view
def test_a_view_has_what_layers_ask_for(array_backend, make):
    view = make()
    assert isinstance(view, View)
    assert view.shape == tuple(view.value.shape) == (5, 3)
    assert view.dtype == view.value.dtype == np.float64
    assert view.T.shape == (3, 5)
    assert isinstance(view, Transpose) or view.T.T is view
    assert view.T.bases == view.bases
    assert_close(view.T.value, asnumpy(view.value).T)
    assert all(isinstance(base, Parameter) for base in view.bases)
    for base in view.bases:
        base.astype("float32")
    assert view.dtype == view.value.dtype == view.T.value.dtype == np.float32
    assert str(view.shape) in repr(view)


@every_view
@together(turned=[False, True])
def test_the_three_ways_to_accumulate_agree(array_backend, make, turned):
    view = make()
    if turned:
        view = view.T
    rows, columns = view.shape
    ids, values = RNG.integers(0, rows, size=2), RNG.normal(size=(2, columns))
    A, B = np.eye(rows)[:, ids], values
    gradients = []
    for accumulate in (
        lambda: view.accumulate(asarray(A @ B)),
        lambda: view.accumulate_product(asarray(A), asarray(B)),
        lambda: view.accumulate_rows(asarray(ids), asarray(B)),
    ):
        for base in view.bases:
            base.zero_grad()
        accumulate()
        gradients.append([asnumpy(base.grad) for base in view.bases])
    for others in gradients[1:]:
        for a, e in zip(others, gradients[0], strict=True):
            assert_close(a, e)
    for wrong in ((rows + 1, columns), (1, columns)):
        with pytest.raises(ValueError, match="shape"):
            view.accumulate(asarray(np.ones(wrong)))
        with pytest.raises(ValueError, match="shape"):
            view.accumulate_rows(asarray(ids), asarray(np.ones((3, columns))))


class OwnProduct:
    """A learner's layer that keeps a view as it is."""

    def __init__(self, W):
        self.W = W

    def forward(self, x):
        self.x = x
        return x @ self.W.value

    def backward(self, dy):
        self.W.accumulate_product(self.x.T, dy)
        return dy @ self.W.value.T


@every_view
@pytest.mark.parametrize("method", ["complex", "central"])
def test_gradients_through_views(make, method):
    view = make()
    x = RNG.normal(size=(2, 4, 5))
    assert check_gradients(TimeAffine(view), x, method=method).ok
    assert check_gradients(Affine(view.T, RNG.normal(size=5)), x[0, :, :3], method=method).ok
    assert check_gradients(Embedding(view), np.array([[1, 0, 1], [4, 2, 2]]), method=method).ok
    report = check_gradients(OwnProduct(view), x[0], method=method)
    assert report.ok
    assert len(report.rows) == 1 + len(view.bases)


@pytest.mark.parametrize("make", [VIEWS["masked"], VIEWS["rows shared"]])
def test_a_lookup_through_a_view(array_backend, make):
    view = make()
    embed = Embedding(view)
    ids, dy = np.array([[1, 0, 1], [4, 2, 3]]), RNG.normal(size=(2, 3, 3))
    assert_close(embed.forward(asarray(ids)), asnumpy(view.value)[ids])
    embed.backward(asarray(dy))
    other = copy.deepcopy(view)
    for base in other.bases:
        base.zero_grad()
    dense = np.zeros((5, 3))
    np.add.at(dense, ids, dy)
    other.accumulate(asarray(dense))
    for a, e in zip(view.bases, other.bases, strict=True):
        assert_close(a.grad, asnumpy(e.grad))


@pytest.mark.parametrize(("layer", "gates"), [(TimeRNN, 1), (TimeLSTM, 4), (TimeGRU, 3)])
def test_weight_drop_on_the_recurrent_weights(layer, gates):
    """A recurrent layer takes a masked W_h as it takes a Parameter."""
    H = 3
    Wh = Parameter(0.5 * RNG.normal(size=(H, gates * H)))
    mask = RNG.integers(0, 2, size=Wh.shape) * 2.0
    Wx, b, x = (
        RNG.normal(size=(2, gates * H)),
        RNG.normal(size=gates * H),
        RNG.normal(size=(2, 4, 2)),
    )
    dropped = layer(Wx, MaskedView(Wh, mask), b)
    assert dropped.parameters()[1] is Wh
    assert check_gradients(dropped, x, method="complex").ok
    plain = layer(Wx, mask * Wh.value, b)
    with no_backward():
        assert_close(dropped.forward(x), plain.forward(x))
    dropped.Wh.mask = np.ones(Wh.shape)
    with no_backward():
        assert_close(dropped.forward(x), layer(Wx, Wh.value, b).forward(x))


def test_weight_drop_in_a_language_model(array_backend):
    model = RNNLM(11, 4, 4, layers=1, dropout=0.0)
    lstm = model.layers[1]
    mask = np.random.default_rng(0).integers(0, 2, size=(4, 16)) * 2.0
    lstm.Wh = MaskedView(lstm.Wh, asarray(mask))
    names = [name for name, _ in model.named_parameters()]
    assert names == [name for name, _ in RNNLM(11, 4, 4, layers=1, dropout=0.0).named_parameters()]
    assert "64, masked" in model.summary()
    assert "= layers.0.W, transposed" in model.summary()
    ids = np.random.default_rng(1).integers(0, 11, size=(2, 6))
    model.forward(asarray(ids[:, :-1].copy()), asarray(ids[:, 1:].copy()))
    model.backward()
    grad = asnumpy(lstm.Wh.W.grad)
    assert grad.dtype == np.float32
    np.testing.assert_array_equal(grad != 0, mask != 0)


def test_a_view_of_two_parameters_gives_both_and_trains_both(array_backend):
    embed = Embedding(RNG.normal(size=(4, 3)))
    output = SharedRows(embed.W, [2, -1, 0], RNG.normal(size=(1, 3)))
    model = Sequential(embed, TimeAffine(output.T, Parameter.zeros(3, dtype="float64")))
    assert [name for name, _ in model.named_parameters()] == [
        "layers.0.W",
        "layers.1.W.1",
        "layers.1.b",
    ]
    assert model.parameters() == as_bases([embed.W, output, model.layers[1].b])
    ids, dy = asarray(np.array([[1, 3]])), RNG.normal(size=(1, 2, 3))
    y = model.forward(ids)
    h = asnumpy(embed.W.value)[[1, 3]]
    assert_close(y[0], h @ asnumpy(output.value).T)
    model.backward(asarray(dy))
    dV, dh = dy[0].T @ h, dy[0] @ asnumpy(output.value)
    expected = np.zeros((4, 3))
    expected[2] += dV[0]
    expected[0] += dV[2]
    expected[[1, 3]] += dh
    assert_close(embed.W.grad, expected)
    assert_close(output.own.grad, dV[1:2])
    before = [asnumpy(p.value).copy() for p in model.parameters()]
    clip_gradients(model.parameters(), 1.0)
    SGD([output, embed.W], lr=0.1).step()
    for p, value in zip(model.parameters()[:2], before, strict=False):
        assert (asnumpy(p.value) != value).any()
    twin = copy.deepcopy(model)
    assert twin.layers[1].W.T.W is twin.layers[0].W


def test_a_view_met_first_names_all_its_bases(array_backend):
    view = shared()
    model = Sequential(TimeAffine(view.T), Embedding(view.W))
    assert [name for name, _ in model.named_parameters()] == ["layers.0.W.0", "layers.0.W.1"]


def test_a_view_keeps_no_gradient_of_its_own(array_backend):
    view = masked()
    with pytest.raises(AttributeError, match=r"MaskedView W .*bases"):
        _ = view.grad
    with pytest.raises(AttributeError, match="bases"):
        _ = view.T.grad


def test_what_a_view_refuses(array_backend):
    W = RNG.normal(size=(4, 3))
    with pytest.raises(ValueError, match=r"MaskedView.*\(4, 3\).*\(3,\)"):
        MaskedView(W, asarray(np.ones(3)))
    with pytest.raises(ValueError, match=r"below 4, got 4"):
        SharedRows(W, [0, 4], np.zeros((0, 3)))
    with pytest.raises(ValueError, match=r"own.*\(1, 3\).*\(2, 3\)"):
        SharedRows(W, [0, -1], np.zeros((2, 3)))


def test_rows_that_are_all_shared_need_no_others(array_backend):
    W = Parameter(RNG.normal(size=(4, 3)))
    view = SharedRows(W, [2, 0])
    assert view.bases == (W,)
    assert_close(view.value, asnumpy(W.value)[[2, 0]])
    view.accumulate(asarray(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])))
    assert_close(W.grad, [[4, 5, 6], [0, 0, 0], [1, 2, 3], [0, 0, 0]])
    assert check_gradients(TimeAffine(view.T), RNG.normal(size=(2, 2, 3))).ok
    with pytest.raises(ValueError, match=r"own.*\(1, 3\).*\(0, 3\)"):
        SharedRows(W, [0, -1])
