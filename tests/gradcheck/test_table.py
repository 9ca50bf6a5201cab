"""The checker on the table of cases, and on gradients that are wrong."""

import numpy as np
import pytest

import deepnlp
from deepnlp import layers, models
from deepnlp.backend import asnumpy, xp
from deepnlp.examples import EXAMPLES
from deepnlp.gradcheck import check_gradients, numerical_gradient
from deepnlp.layer import Layer
from deepnlp.models import LanguageModel, Model
from tests.cases import by_layer, together
from tests.layers.tools import QUICK, numbers_in

LARGE = [
    example for example in EXAMPLES.values() if example not in QUICK and numbers_in(example) > 150
]
"""Models and decoders: the complex step costs a forward for each of their numbers."""


@by_layer(example for example in EXAMPLES.values() if example not in LARGE)
def test_every_case_passes_the_complex_step(case):
    report = case.check()
    assert report.method == "complex"
    assert report.ok, report
    assert report.error <= 1e-12
    assert report.rows


@by_layer(LARGE)
def test_large_cases_pass_along_a_direction(case):
    """A direction that moves every number: a wrong gradient of any shows."""
    passes_along_a_direction(case, seed=0)


@by_layer(QUICK)
def test_quick_cases_pass_with_other_numbers_on_the_stand_in(strict_backend, case):
    passes_along_a_direction(case, seed=1)


def passes_along_a_direction(case, seed):
    rng = np.random.default_rng(seed)
    layer, inputs = case.build(rng, case.sizes)
    report = check_gradients(layer, *inputs, method="direction", rng=rng, tolerance=1e-12)
    assert report.ok, report
    assert report.rows


@by_layer([example for example in QUICK if "T=1" not in example.name][::3])
def test_a_third_of_the_quick_cases_passes_central_differences(case):
    report = case.check("central")
    assert report.ok, report
    assert report.error <= 1e-6


def test_every_public_layer_and_model_has_a_case():
    public = {getattr(layers, name) for name in layers.__all__} - {Layer}
    public |= {getattr(models, name) for name in models.__all__}
    public = {one for one in public if isinstance(one, type) and issubclass(one, Layer)}
    covered = {case.covers for case in EXAMPLES.values()}
    assert public - {LanguageModel, Model} <= covered


def test_a_layer_without_a_case_would_be_noticed(monkeypatch):
    monkeypatch.setattr(layers, "Forgotten", type("Forgotten", (Layer,), {}), raising=False)
    monkeypatch.setattr(layers, "__all__", [*layers.__all__, "Forgotten"])
    with pytest.raises(AssertionError):
        test_every_public_layer_and_model_has_a_case()


def test_initial_states_and_tied_weights_have_rows():
    names = [row.name for row in EXAMPLES["Sequential tied LSTM"].check().rows]
    assert {"layers.2.h0", "layers.2.c0", "layers.4.h0", "layers.0.W"} <= set(names)
    assert not any(name.startswith("layers.5.W") for name in names)


def test_the_layer_is_left_as_it_was():
    deepnlp.seed(0)
    layer = layers.TimeLSTM.init(3, 4, stateful=True)
    layer.forward(xp.ones((2, 3, 3), dtype="float32"))
    before = {name: np.array(p.value) for name, p in layer.named_parameters()}
    snapshot = layer.snapshot()
    check_gradients(layer, np.random.default_rng(1).normal(size=(2, 3, 3)))
    for name, parameter in layer.named_parameters():
        assert parameter.dtype == np.float32
        assert np.array_equal(parameter.value, before[name])
    assert np.array_equal(layer.h, snapshot["h"])


def test_numerical_gradient_of_a_known_function(array_backend):
    x = np.random.default_rng(0).normal(size=(2, 3))
    for method, tolerance in (("complex", 1e-15), ("central", 1e-9)):
        gradient = numerical_gradient(lambda x: np.exp(x).sum(), x, method)
        assert np.abs(gradient / np.exp(x) - 1).max() < tolerance
    with pytest.raises(ValueError, match="method"):
        numerical_gradient(lambda x: x.sum(), x, "forward")


# --- Wrong gradients ------------------------------------------------------------------------


class Wrong(Layer):
    """A right layer whose gradients are spoilt by a function, after its backward."""

    def __init__(self, layer, spoil_parameter=None, spoil_input=None):
        self.layer = layer
        self.spoil_parameter = spoil_parameter
        self.spoil_input = spoil_input

    def forward(self, *inputs):
        return self.layer.forward(*inputs)

    def backward(self, *gradients):
        dx = self.layer.backward(*gradients)
        if self.spoil_parameter:
            name, spoil = self.spoil_parameter
            parameter = dict(self.layer.named_parameters())[name]
            parameter.grad = spoil(parameter.grad)
        return self.spoil_input(dx) if self.spoil_input else dx


def swap_gates(gradient):
    i, f, g, o = np.split(gradient, 4, axis=-1)
    return np.concatenate([f, i, g, o], axis=-1)


@pytest.fixture
def undiagnosed(monkeypatch):
    """The verdict alone: to look for the mistake takes seconds where none is found."""
    monkeypatch.setattr("deepnlp.gradcheck.explaining._diagnose", lambda *_: None)


def wrong_rows(layer, *inputs, method):
    report = check_gradients(layer, *inputs, method=method)
    assert not report.ok
    assert "WRONG" in str(report)
    return [row.name for row in report.rows if not row.ok]


METHODS = pytest.mark.parametrize("method", ["complex", "central"])


@METHODS
@together(
    parameter=["Wx", "Wh", "b"],
    spoil=[lambda g: 0 * g, lambda g: -g, swap_gates, lambda g: g * (1 + 1e-5)],
)
@pytest.mark.usefixtures("undiagnosed")
def test_a_spoilt_lstm_gradient_is_found_by_its_name(parameter, spoil, method):
    rng = np.random.default_rng(0)
    right = layers.TimeLSTM.init(2, 2, rng=rng, dtype="float64")
    x = rng.normal(size=(2, 2, 2))
    wrong = Wrong(right, (parameter, spoil))
    assert wrong_rows(wrong, x, method=method) == [f"layer.{parameter}"]


@METHODS
@together(spoil=[lambda dx: 0 * dx, lambda dx: 2 * dx, lambda dx: dx[::-1], lambda dx: dx.T])
@pytest.mark.usefixtures("undiagnosed")
def test_a_spoilt_input_gradient_is_found_by_its_name(spoil, method):
    rng = np.random.default_rng(0)
    right = layers.Affine.init(4, 4, rng=rng, dtype="float64")
    wrong = Wrong(right, spoil_input=spoil)
    assert wrong_rows(wrong, rng.normal(size=(4, 4)), method=method) == ["input 0"]


def test_the_lost_output_side_of_a_tied_weight_is_found():
    rng = np.random.default_rng(0)
    embed = layers.Embedding.init(7, 3, rng=rng, dtype="float64")
    output = layers.TimeAffine(embed.W.T)
    output.W.T.accumulate_product = lambda A, B: None
    report = check_gradients(deepnlp.Sequential(embed, output), rng.integers(0, 7, size=(2, 3)))
    assert [row.name for row in report.rows if not row.ok] == ["layers.0.W"]


def test_a_softmax_whose_backward_is_the_identity_is_found():
    """A plain sum of the outputs could not see it: its true gradient is zero everywhere."""

    class Lazy(layers.Softmax):
        def backward(self, dy):
            self.saved()
            return 0 * dy

    report = check_gradients(Lazy(), np.random.default_rng(0).normal(size=(2, 3)))
    assert not report.ok


# --- A learner's own classes -----------------------------------------------------------------


class WithPairs:
    def __init__(self, W, factor=1.0):
        self.W, self.factor = W, factor

    def forward(self, x):
        self.x = x
        return np.abs(x @ self.W)  # the complex step cannot see through abs

    def backward(self, dy):
        da = dy * np.sign(self.x @ self.W)
        self.dW = self.factor * self.x.T @ da
        return da @ self.W.T


class WithParameters:
    def __init__(self, W, factor=1.0):
        self.W, self.factor = deepnlp.Parameter(W), factor

    def forward(self, x):
        self.x = x
        return x @ self.W.value

    def backward(self, dy):
        self.W.accumulate(self.factor * self.x.T @ dy)
        return dy @ self.W.value.T


@pytest.mark.parametrize(
    ("kind", "method", "name"),
    [
        (WithPairs, "central", "W"),
        (WithParameters, "complex", "W"),
    ],
)
def test_a_class_of_ones_own(kind, method, name):
    rng = np.random.default_rng(0)
    W, x = rng.normal(size=(3, 4)), rng.normal(size=(5, 3))
    report = check_gradients(kind(W), x)
    assert report.ok, report
    assert report.method == method
    assert [row.name for row in report.rows] == ["x", name]
    report = check_gradients(kind(W, factor=1.1), x)
    assert [row.name for row in report.rows if not row.ok] == [name]


def test_errors_of_the_caller():
    with pytest.raises(ValueError, match="method"):
        check_gradients(layers.Tanh(), np.ones(2), method="guess")
    with pytest.raises(TypeError, match="no forward"):
        check_gradients(object(), np.ones(2))


def test_masks_and_states_are_put_back_before_each_forward(array_backend):
    """A dropout layer whose counter ran on would see another mask at every step."""
    rng = np.random.default_rng(0)
    layer = layers.TimeDropout(0.5, rng=rng)
    layer.forward(xp.asarray(rng.normal(size=(2, 3, 4))))
    assert check_gradients(layer, rng.normal(size=(2, 3, 4))).ok
    assert asnumpy(layer.forward(xp.ones((2, 3, 4)))).shape == (2, 3, 4)


# --- Buffers, saturation, and what is not found ----------------------------------------------


class BufferOfInput:
    def __init__(self, W):
        self.W = W

    def forward(self, x):
        self.x = x
        y = np.empty((len(x), self.W.shape[1]), dtype=x.dtype)
        for n in range(len(x)):
            y[n] = x[n] @ self.W
        return y

    def backward(self, dy):
        self.dW = self.x.T @ dy
        return dy @ self.W.T


class AddsInPlace(BufferOfInput):
    def forward(self, x):
        self.x = x
        y = np.zeros((len(x), self.W.shape[1]), dtype=x.dtype)
        y += x @ self.W
        return y


class RealBuffer(BufferOfInput):
    def forward(self, x):
        self.x = x
        y = np.zeros((len(x), self.W.shape[1]))
        y += x @ self.W
        return y


class BookTimeRNN:
    def __init__(self, Wx, Wh):
        self.params, self.grads = [Wx, Wh], [np.zeros_like(Wx), np.zeros_like(Wh)]

    def forward(self, xs):
        Wx, Wh = self.params
        N, T, _ = xs.shape
        self.xs, self.hs = xs, np.empty((N, T, len(Wh)), dtype=xs.dtype)
        h = np.zeros((N, len(Wh)), dtype=xs.dtype)
        for t in range(T):
            h = np.tanh(xs[:, t] @ Wx + h @ Wh)
            self.hs[:, t] = h
        return self.hs

    def backward(self, dhs):
        Wx, Wh = self.params
        self.grads[0][...], self.grads[1][...] = 0, 0
        dxs, dh = np.empty_like(self.xs), 0
        for t in reversed(range(self.xs.shape[1])):
            da = (dhs[:, t] + dh) * (1 - self.hs[:, t] ** 2)
            self.grads[0] += self.xs[:, t].T @ da
            if t:
                self.grads[1] += self.hs[:, t - 1].T @ da
            dxs[:, t], dh = da @ Wx.T, da @ Wh.T
        return dxs


@pytest.mark.parametrize(
    ("kind", "method"),
    [(BufferOfInput, "complex"), (AddsInPlace, "complex"), (RealBuffer, "central")],
)
def test_a_buffer_may_take_its_dtype_from_the_input(kind, method):
    rng = np.random.default_rng(0)
    W, x = rng.normal(size=(4, 3)), rng.normal(size=(5, 4))
    report = check_gradients(kind(W), x)
    assert report.ok, report
    assert report.method == method
    if method == "central":
        with pytest.raises(ValueError, match=r"RealBuffer is not analytic.*method='central'"):
            check_gradients(kind(W), x, method="complex")


def test_a_recurrent_layer_with_a_buffer_of_the_inputs_dtype():
    rng = np.random.default_rng(0)
    layer = BookTimeRNN(rng.normal(size=(3, 4)), rng.normal(size=(4, 4)))
    report = check_gradients(layer, rng.normal(size=(2, 5, 3)))
    assert report.ok, report
    assert report.method == "complex"


def test_a_norm_is_not_accused_by_the_complex_step():
    class Norm:
        def forward(self, x):
            self.x = x
            self.norm = np.linalg.norm(x)
            return self.norm

        def backward(self, dy):
            return dy * self.x / self.norm

    x = np.random.default_rng(0).normal(size=(2, 3))
    assert check_gradients(Norm(), x).ok
    with pytest.raises(ValueError, match="not analytic"):
        check_gradients(Norm(), x, method="complex")


def test_backward_may_return_none_for_ids():
    class Looked:
        def forward(self, ids, x):
            self.x = x
            return x**2 + ids[:, None]

        def backward(self, dy):
            return None, 2 * self.x * dy

    rng = np.random.default_rng(0)
    report = check_gradients(Looked(), rng.integers(0, 4, size=3), rng.normal(size=(3, 2)))
    assert [row.name for row in report.rows] == ["x"]
    assert report.ok, report


def saturated_cases():
    rng = np.random.default_rng(0)
    signs = np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])
    logits = np.array([[20.0, 0.0, -1.0], [-1.0, 20.0, 0.0]])
    yield "Tanh", layers.Tanh(), (8 * signs,)
    yield "Sigmoid", layers.Sigmoid(), (16 * signs,)
    yield "Softmax", layers.Softmax(), (logits,)
    yield "SoftmaxWithLoss", layers.SoftmaxWithLoss(), (logits, np.array([0, 1]))
    for kind in (layers.TimeRNN, layers.TimeLSTM, layers.TimeGRU):
        layer = kind.init(3, 4, rng=rng, dtype="float64")
        yield kind.__name__, layer, (30 * rng.normal(size=(2, 5, 3)),)


@pytest.mark.parametrize("case", list(saturated_cases()), ids=lambda case: case[0])
@together(method=["complex", "central", "direction"])
def test_a_saturated_layer_is_not_accused(case, method):
    _, layer, inputs = case
    report = check_gradients(layer, *inputs, method=method)
    assert report.ok, report


@together(factor=[0.0, -1.0, 1 + 1e-5, 2.0])
@pytest.mark.usefixtures("undiagnosed")
def test_a_wrong_gradient_beside_large_inputs_is_found(factor):
    rng = np.random.default_rng(0)
    right = layers.Affine.init(4, 3, rng=rng, dtype="float64")
    x = 1e6 * rng.normal(size=(5, 4))
    for wrong, name in (
        (Wrong(right, ("W", lambda g: factor * g)), "layer.W"),
        (Wrong(right, ("b", lambda g: factor * g)), "layer.b"),
        (Wrong(right, spoil_input=lambda g: factor * g), "input 0"),
    ):
        assert wrong_rows(wrong, x, method="complex") == [name]


def test_weights_without_a_gradient_are_named():
    class Forgetful:
        def __init__(self, W, inner):
            self.W, self.inner = W, inner
            self.unused = np.ones(3)

        def forward(self, x):
            self.x = x
            return self.inner.forward(x @ self.W)

        def backward(self, dy):
            return self.inner.backward(dy) @ self.W.T

    rng = np.random.default_rng(0)
    W, inner = rng.normal(size=(4, 3)), BufferOfInput(rng.normal(size=(3, 2)))
    before = W.copy(), inner.W.copy()
    report = check_gradients(Forgetful(W, inner), rng.normal(size=(5, 4)))
    assert not report.ok
    assert {row.name: row.ok for row in report.rows} == {"x": True, "inner.W": True, "W": False}
    assert "no gradient of W was found" in str(report)
    along = check_gradients(Forgetful(W, inner), rng.normal(size=(5, 4)), method="direction")
    assert [row.name for row in along.rows if not row.ok] == ["W"]
    assert np.array_equal(W, before[0])
    assert np.array_equal(inner.W, before[1])
    assert check_gradients(inner, rng.normal(size=(5, 3))).ok


def test_a_report_without_gradients_is_refused():
    class Table:
        def __init__(self, E):
            self.E = E

        def forward(self, ids):
            return self.E[ids]

        def backward(self, dy):
            return None

    class OneHot(Table):
        def forward(self, ids):
            return np.eye(4)[ids]

    rng = np.random.default_rng(0)
    ids = rng.integers(0, 4, size=4)
    report = check_gradients(Table(rng.normal(size=(5, 3))), ids)
    assert [row.name for row in report.rows if not row.ok] == ["E"]
    with pytest.raises(
        ValueError, match=r"nothing to check: OneHot .* not checked: ids \(integers\)"
    ):
        check_gradients(OneHot(None), ids)


# --- How often forward runs ---------------------------------------------------------------------


class CountedRNN(BookTimeRNN):
    calls = 0

    def forward(self, xs):
        CountedRNN.calls += 1
        return super().forward(xs)


class CountedInReals(CountedRNN):
    def forward(self, xs):
        hs = np.zeros((*xs.shape[:2], len(self.params[1])))
        hs[...] = super().forward(xs)
        return hs


@pytest.mark.parametrize(
    ("kind", "method", "forwards"), [(CountedRNN, "complex", 1), (CountedInReals, "central", 2)]
)
def test_a_right_layer_needs_few_forwards_for_each_entry(kind, method, forwards):
    rng = np.random.default_rng(0)
    layer = kind(rng.normal(size=(8, 8)) / 3, rng.normal(size=(8, 8)) / 3)
    x = rng.normal(size=(4, 10, 8))
    CountedRNN.calls = 0
    report = check_gradients(layer, x)
    assert report.ok, report
    assert report.method == method
    entries = sum(row.numeric.size for row in report.rows)
    assert CountedRNN.calls < forwards * entries + 90
