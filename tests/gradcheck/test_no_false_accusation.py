"""Right layers that a careless check would accuse."""

import copy
import random

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients
from deepnlp.gradcheck.subject import Subject
from tests.cases import together

RNG = np.random.default_rng(3)


def check_of(report, name):
    (check,) = [check for check in report.checks if check.name == name]
    return check


# --- Kinks --------------------------------------------------------------------------------------


class ReLU:
    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, dy):
        return dy * self.mask


class MaxPool:
    """Over windows of two; the first of two equal ones gets the gradient."""

    def forward(self, x):
        self.shape = x.shape
        windows = x.reshape(len(x), -1, 2)
        self.first = windows.argmax(axis=2)
        return windows.max(axis=2)

    def backward(self, dy):
        dx = np.zeros((*dy.shape, 2))
        np.put_along_axis(dx, self.first[..., None], dy[..., None], axis=2)
        return dx.reshape(self.shape)


class Absolute:
    def forward(self, x):
        self.x = x
        return np.abs(x)

    def backward(self, dy):
        return dy * np.sign(self.x)


class AffineReLU:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x, a = x, x @ self.W + self.b
        self.mask = a > 0
        return a * self.mask

    def backward(self, dy):
        da = dy * self.mask
        self.dW, self.db = self.x.T @ da, da.sum(axis=0)
        return da @ self.W.T


def zeros_among(shape):
    x = RNG.normal(size=shape)
    x.flat[::3] = 0
    return x


@pytest.mark.parametrize(
    ("layer", "x"),
    [
        (ReLU(), zeros_among((3, 4))),
        (ReLU(), np.zeros((2, 3))),
        (ReLU(), np.round(RNG.normal(size=(4, 6)), 1)),
        (Absolute(), zeros_among((3, 4))),
        (MaxPool(), np.repeat(RNG.normal(size=(3, 3)), 2, axis=1)),
        (MaxPool(), np.zeros((2, 4))),
        (MaxPool(), np.round(RNG.normal(size=(4, 6)), 0)),
        (AffineReLU(RNG.normal(size=(4, 3)), np.zeros(3)), np.zeros((2, 4))),
        (AffineReLU(np.eye(4)[:, :3], np.zeros(3)), np.round(RNG.normal(size=(5, 4)))),
    ],
)  # fmt: skip
@together(method=["auto", "central", "direction"])
def test_a_kink_is_not_wrong(layer, x, method):
    report = check_gradients(layer, x, method=method)
    assert report.ok, report
    if not isinstance(layer, Absolute):  # whose 0 is the mean of both slopes
        assert "not differentiable" in str(report)


@together(distance=[1e-3, 1e-5, 1e-7, 1e-9])
def test_near_a_kink(distance):
    x = np.array([[distance, -distance, 1.0, -2.0]])
    assert check_gradients(ReLU(), x).ok


class Doubled(ReLU):
    def backward(self, dy):
        return 2 * super().backward(dy)


class NoMask(ReLU):
    def backward(self, dy):
        return dy


@pytest.mark.parametrize("kind", [Doubled, NoMask])
def test_a_kink_excuses_no_mistake(kind):
    for x in (zeros_among((3, 4)), np.zeros((2, 3))):
        assert not check_gradients(kind(), x).ok


# --- Scaled inputs, normalised ------------------------------------------------------------------


class L2Norm:
    def forward(self, x):
        self.norm = np.sqrt((x**2).sum(axis=1, keepdims=True))
        self.y = x / self.norm
        return self.y

    def backward(self, dy):
        return (dy - self.y * (dy * self.y).sum(axis=1, keepdims=True)) / self.norm


class NormByLinalg(L2Norm):
    def forward(self, x):
        self.norm = np.linalg.norm(x, axis=1, keepdims=True)
        self.y = x / self.norm
        return self.y


class LayerNorm:
    def __init__(self, gamma, beta, eps):
        self.gamma, self.beta, self.eps = gamma, beta, eps

    def forward(self, x):
        self.std = np.sqrt(x.var(axis=1, keepdims=True) + self.eps)
        self.x_hat = (x - x.mean(axis=1, keepdims=True)) / self.std
        return self.gamma * self.x_hat + self.beta

    def backward(self, dy):
        self.dgamma, self.dbeta = (dy * self.x_hat).sum(axis=0), dy.sum(axis=0)
        d = dy * self.gamma
        mean = d.mean(axis=1, keepdims=True)
        return (d - mean - self.x_hat * (d * self.x_hat).mean(axis=1, keepdims=True)) / self.std


@together(scale=[1e-6, 1e-4, 1e-2, 1.0, 1e4], method=["auto", "central"])
def test_scaled_and_normalised(scale, method):
    x = scale * RNG.normal(size=(4, 6))
    gamma, beta = RNG.normal(size=6), RNG.normal(size=6)
    for layer in (L2Norm(), NormByLinalg(), LayerNorm(gamma, beta, 1e-12 * scale)):
        report = check_gradients(layer, x, method=method)
        assert report.ok, report


# --- Random forwards ----------------------------------------------------------------------------


GLOBAL_STATE = np.random.RandomState(5)


class DropoutBase:
    def forward(self, x):
        self.mask = (self.draw(x.shape) < 0.6) / 0.6
        return x * self.mask

    def backward(self, dy):
        return dy * self.mask


class OwnRandomState(DropoutBase):
    def __init__(self):
        self.random = np.random.RandomState(1)

    def draw(self, shape):
        return self.random.rand(*shape)


class ModuleRandomState(DropoutBase):
    def draw(self, shape):
        return GLOBAL_STATE.rand(*shape)


class PythonRandom(DropoutBase):
    def draw(self, shape):
        return np.array([random.random() for _ in range(np.prod(shape))]).reshape(shape)


class OwnPythonRandom(DropoutBase):
    def __init__(self):
        self.random = random.Random(3)

    def draw(self, shape):
        return np.array([self.random.random() for _ in range(np.prod(shape))]).reshape(shape)


class ClassGenerator(DropoutBase):
    rng = np.random.default_rng(0)

    def draw(self, shape):
        return self.rng.random(shape)


class DefaultGenerator(DropoutBase):
    def draw(self, shape, rng=np.random.default_rng(8)):  # noqa: B008
        return rng.random(shape)


class LegacyRandom(DropoutBase):
    def draw(self, shape):
        return np.random.rand(*shape)


class SeededInside(DropoutBase):
    def draw(self, shape):
        return np.random.default_rng(4).random(shape)


@pytest.mark.parametrize(
    "kind",
    [
        OwnRandomState, ModuleRandomState, PythonRandom, OwnPythonRandom, ClassGenerator,
        DefaultGenerator, LegacyRandom, SeededInside,
    ],
)  # fmt: skip
def test_a_random_forward_is_put_back(kind):
    report = check_gradients(kind(), RNG.normal(size=(4, 5)))
    assert report.ok, report


def test_generators_of_the_caller_are_left_as_they_were():
    before = random.getstate(), np.random.get_state()[1].copy(), GLOBAL_STATE.get_state()[1].copy()
    for kind in (PythonRandom, LegacyRandom, ModuleRandomState):
        check_gradients(kind(), RNG.normal(size=(4, 5)))
    assert random.getstate() == before[0]
    assert np.array_equal(np.random.get_state()[1], before[1])
    assert np.array_equal(GLOBAL_STATE.get_state()[1], before[2])


def test_a_forward_that_cannot_be_repeated_is_told():
    class MadeInside(DropoutBase):
        def draw(self, shape):
            return np.random.default_rng().random(shape)

    with pytest.raises(
        ValueError, match=r"MadeInside\.forward is not deterministic: give it a seed"
    ):
        check_gradients(MadeInside(), RNG.normal(size=(4, 5)))


# --- Losses -------------------------------------------------------------------------------------


class MeanSquare:
    def forward(self, x, t):
        self.difference = x - t
        return (self.difference**2).mean()

    def backward(self, dout=1):
        return 2 * self.difference / self.difference.size


class TakesNone(MeanSquare):
    def backward(self):
        return super().backward()


class TakesIt(MeanSquare):
    def backward(self, dout=1):
        return dout * super().backward()


class NoDefault(MeanSquare):
    def backward(self, dout):
        return super().backward()


def test_a_loss_may_ignore_dout_while_it_is_one():
    x, t = RNG.normal(size=(2, 3, 4))
    report = check_gradients(MeanSquare(), x, t)
    assert report.ok, report
    assert "ignores dout" in str(report)
    for kind in (TakesNone, TakesIt):
        report = check_gradients(kind(), x, t)
        assert report.ok, report
        assert "ignores" not in str(report)
    assert not check_gradients(NoDefault(), x, t).ok


def test_a_wrong_loss_that_ignores_dout_is_wrong():
    class Wrong(MeanSquare):
        def backward(self, dout=1):
            return self.difference / self.difference.size

    x, t = RNG.normal(size=(2, 3, 4))
    report = check_gradients(Wrong(), x, t)
    assert [row.name for row in report.rows if not row.ok] == ["x"]
    assert report.causes[0].name == "constant factor"


# --- A backward that does more ------------------------------------------------------------------


class Affine:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW, self.db = self.x.T @ dy, dy.sum(axis=0)
        return dy @ self.W.T


class UpdatesInPlace(Affine):
    def backward(self, dy):
        dx = super().backward(dy)
        self.W -= 0.1 * self.dW
        self.b -= 0.1 * self.db
        return dx


class UpdatesByAssignment(Affine):
    def backward(self, dy):
        dx = super().backward(dy)
        self.W = self.W - 0.1 * self.dW
        self.b = self.b - 0.1 * self.db
        return dx


@pytest.mark.parametrize("kind", [UpdatesInPlace, UpdatesByAssignment])
def test_a_backward_that_updates_the_weights(kind):
    layer = kind(RNG.normal(size=(4, 3)), RNG.normal(size=3))
    before = layer.W.copy()
    report = check_gradients(layer, RNG.normal(size=(5, 4)))
    assert report.ok, report
    assert [row.name for row in report.rows] == ["x", "W", "b"]
    assert np.array_equal(layer.W, before)


# --- Lists, tuples, and objects that can be called ----------------------------------------------


class GivesAList(Affine):
    def forward(self, x):
        return [super().forward(x)]


class GivesATuple(Affine):
    def forward(self, x):
        return (super().forward(x),)


class TakesAList(GivesAList):
    def backward(self, dys):
        (dy,) = dys
        return [super().backward(dy)]


class TwoOutputs:
    def forward(self, x):
        self.x = x
        return x**2, np.sin(x)


class TakesATuple(TwoOutputs):
    def backward(self, gradients):
        dy, dz = gradients
        return 2 * self.x * dy + np.cos(self.x) * dz


class TakesTwo(TwoOutputs):
    def backward(self, dy, dz):
        return 2 * self.x * dy + np.cos(self.x) * dz


class TakesAny(TwoOutputs):
    def backward(self, *gradients):
        dy, dz = gradients
        return 2 * self.x * dy + np.cos(self.x) * dz


@pytest.mark.parametrize("kind", [GivesAList, GivesATuple, TakesAList])
def test_a_list_or_tuple_of_one(kind):
    report = check_gradients(
        kind(RNG.normal(size=(4, 3)), RNG.normal(size=3)), RNG.normal(size=(5, 4))
    )
    assert report.ok, report
    assert len(report.rows) == 3
    assert report.method == "complex"


@pytest.mark.parametrize("kind", [TakesATuple, TakesTwo, TakesAny])
def test_two_outputs(kind):
    report = check_gradients(kind(), RNG.normal(size=(3, 2)))
    assert report.ok, report


class Callable(Affine):
    def __call__(self, x):
        return self.forward(x)


class CallableInside:
    def __init__(self, inner):
        self.inner = inner

    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        self.y = np.tanh(self.inner(x))
        return self.y

    def backward(self, dy):
        return self.inner.backward(dy * (1 - self.y**2))


class OnlyCalled:
    def __init__(self, W):
        self.W = W

    def __call__(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.dW = self.x.T @ dy
        return dy @ self.W.T


def test_a_class_with_call_keeps_the_complex_step():
    W, b, x = RNG.normal(size=(4, 3)), RNG.normal(size=3), RNG.normal(size=(5, 4))
    for layer, names in (
        (Callable(W, b), ["x", "W", "b"]),
        (CallableInside(Callable(W, b)), ["x", "inner.W", "inner.b"]),
        (OnlyCalled(W), ["x", "W"]),
    ):
        report = check_gradients(layer, x)
        assert report.ok, report
        assert report.method == "complex"
        assert [row.name for row in report.rows] == names


def test_the_diagnosis_of_a_class_with_call():
    class Forgets(Callable):
        def backward(self, dy):
            dx = super().backward(dy)
            self.db = np.zeros_like(self.b)
            return dx

    report = check_gradients(
        Forgets(RNG.normal(size=(4, 3)), RNG.normal(size=3)), RNG.normal(size=(5, 4))
    )
    assert [row.name for row in report.rows if not row.ok] == ["b"]
    assert report.causes[0].name == "zero or missing"


# --- States and caches --------------------------------------------------------------------------


class KeepsItsInput(Affine):
    """self.x has self.dx beside it, and is no weight."""

    def backward(self, dy):
        self.dx = super().backward(dy)
        return self.dx


class MadeInForward:
    """Its weight is made at the first forward."""

    W = None

    def forward(self, x):
        if self.W is None:
            self.W = np.random.default_rng(0).normal(size=(x.shape[1], 3))
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.dW = self.x.T @ dy
        return dy @ self.W.T


class StateByHasattr:
    def forward(self, x):
        if not hasattr(self, "h"):
            self.h = np.zeros_like(x)
        self.h = np.tanh(x + 0.5 * self.h)
        return self.h

    def backward(self, dy):
        return dy * (1 - self.h**2)


class AppendsAndPops:
    def __init__(self):
        self.stack = []

    def forward(self, x):
        self.stack.append(x)
        return x**2

    def backward(self, dy):
        return 2 * self.stack.pop() * dy


class RunningMean:
    def __init__(self, gamma):
        self.gamma, self.running_mean = gamma, np.zeros_like(gamma)

    def forward(self, x):
        self.centred = x - x.mean(axis=0)
        self.running_mean = 0.9 * self.running_mean + 0.1 * x.mean(axis=0)
        return self.gamma * self.centred

    def backward(self, dy):
        self.dgamma = (dy * self.centred).sum(axis=0)
        d = dy * self.gamma
        return d - d.mean(axis=0)


class SharedArrays:
    """One gradient array under two names, as in the book."""

    def __init__(self, W):
        self.W, self.dW = W, np.zeros_like(W)
        self.params, self.grads = [self.W], [self.dW]

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.dW += self.x.T @ dy
        return dy @ self.W.T


@pytest.mark.parametrize(
    ("layer", "names"),
    [
        (KeepsItsInput(RNG.normal(size=(4, 3)), RNG.normal(size=3)), ["x", "W", "b"]),
        (MadeInForward(), ["x", "W"]),
        (StateByHasattr(), ["x"]),
        (AppendsAndPops(), ["x"]),
        (RunningMean(RNG.normal(size=4)), ["x", "gamma"]),
        (SharedArrays(RNG.normal(size=(4, 3))), ["x", "W"]),
    ],
)
def test_what_an_object_keeps(layer, names):
    report = check_gradients(layer, RNG.normal(size=(5, 4)))
    assert report.ok, report
    assert [row.name for row in report.rows] == names


@pytest.mark.parametrize("kind", [KeepsItsInput, SharedArrays, StateByHasattr])
def test_a_subject_may_be_copied(kind):
    """As the diagnosis does, to try what a changed backward gives."""
    arrays = {KeepsItsInput: [(4, 3), (3,)], SharedArrays: [(4, 3)]}.get(kind, [])
    layer = kind(*(RNG.normal(size=size) for size in arrays))
    subject = Subject(layer, (RNG.normal(size=(5, 4)),))
    subject.draw_weights(RNG)
    analytic = subject.analytic_gradients()
    other = copy.deepcopy(subject)
    other.weights = [2 * w for w in other.weights]
    twice = other.analytic_gradients()
    again = subject.analytic_gradients()
    for name, gradient in analytic.items():
        assert np.allclose(twice[name], 2 * gradient)
        assert np.array_equal(again[name], gradient)
        assert np.allclose(other.numeric_gradient(name, "complex"), twice[name])
