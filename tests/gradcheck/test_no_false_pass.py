"""Wrong layers that a careless check would call right."""

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients


def wrong_names(report):
    assert not report.ok, report
    return [row.name for row in report.rows if not row.ok]


def told(report):
    """All that the report says about what is not ok."""
    return "\n".join(str(cause) for row in report.rows if not row.ok for cause in row.causes)


# --- The output weights are not those that a student's seed gives -------------------------------


class ReLUMasksTheGradient:
    def forward(self, x):
        return np.maximum(x, 0)

    def backward(self, dy):
        dx = dy.copy()
        dx[dx <= 0] = 0
        return dx


class SquareWithoutDy:
    def forward(self, x):
        self.x = x
        return x**2

    def backward(self, dy):
        return 2 * self.x * self.x


class Tanh:
    def forward(self, x):
        self.y = np.tanh(x)
        return self.y

    def backward(self, dy):
        return dy * (1 - self.y**2)


class TanhWithX:
    def forward(self, x):
        self.x, self.y = x, np.tanh(x)
        return self.y

    def backward(self, dy):
        return self.x * (1 - self.y**2)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [(ReLUMasksTheGradient, 0), (ReLUMasksTheGradient, 42), (SquareWithoutDy, 1), (TanhWithX, 0)],
)
def test_x_in_the_place_of_dy(kind, seed):
    x = np.random.default_rng(seed).normal(size=(4, 5))
    assert wrong_names(check_gradients(kind(), x))[0] == "x"
    report = check_gradients(kind(), x, rng=np.random.default_rng(seed))
    assert wrong_names(report)[0] == "x"


def test_a_seed_gives_the_same_report_twice():
    x = np.random.default_rng(0).normal(size=(4, 5))

    def error(rng):
        """Which depends on the output weights, and of a right layer is hardly ever zero."""
        return check_gradients(Tanh(), x, rng=rng).rows[0].error

    assert error(None) == error(None)
    assert error(np.random.default_rng(7)) == error(np.random.default_rng(7))
    assert error(np.random.default_rng(8)) != error(np.random.default_rng(7)) != 0


# --- A backward pass is linear in dy ------------------------------------------------------------


class Identity:
    def forward(self, x):
        return 1.0 * x


class ClipsInside(Identity):
    def backward(self, dy):
        return np.clip(dy, -5, 5)


class ClipsTheNorm(Identity):
    def backward(self, dy):
        return dy * min(1, 100 / np.linalg.norm(dy))


class MasksTiny(Identity):
    def backward(self, dy):
        return np.where(abs(dy) < 50, dy, 0)


@pytest.mark.parametrize("kind", [ClipsInside, ClipsTheNorm, MasksTiny])
def test_a_backward_that_is_right_for_small_gradients_only(kind):
    report = check_gradients(kind(), np.random.default_rng(0).normal(size=(3, 4)))
    assert "linear in dy" in wrong_names(report)
    assert "linear in dy" in told(report)


@pytest.mark.parametrize("kind", [ReLUMasksTheGradient, SquareWithoutDy])
def test_what_is_wrong_at_once_is_also_told_not_to_be_linear(kind):
    report = check_gradients(kind(), np.random.default_rng(0).normal(size=(4, 5)))
    assert wrong_names(report) == ["x", "linear in dy"]


def test_a_right_layer_is_linear():
    class Right(Identity):
        def backward(self, dy):
            return dy

    report = check_gradients(Right(), np.ones((2, 3)))
    assert report.ok
    assert {check.name for check in report.checks} >= {"linear in dy"}


def test_a_backward_that_is_right_for_one_output_gradient_only():
    """The second, independent dy."""

    class Remembers(Identity):
        first = None

        def backward(self, dy):
            kind = type(self)
            kind.first = dy.copy() if kind.first is None else kind.first
            return dy if np.array_equal(dy, kind.first) else 3 * dy

    assert not check_gradients(Remembers(), np.random.default_rng(0).normal(size=(2, 3))).ok


# --- What is not finite -------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_an_output_that_is_not_finite_is_never_ok(bad):
    class Wrong:
        def forward(self, x):
            return 2 * x

        def backward(self, dy):
            return 7 * dy

    x = np.random.default_rng(0).normal(size=(3, 4))
    x[1, 2] = bad
    report = check_gradients(Wrong(), x)
    assert not report.ok
    assert "1 of 12" in str(report)
    assert "not finite" in str(report)
    assert not check_gradients(Wrong(), x, method="direction").ok


def test_one_output_of_several_that_is_not_finite():
    class Two:
        def forward(self, x):
            return x, x / np.zeros_like(x)

        def backward(self, dy, dz):
            return dy

    with np.errstate(all="ignore"):
        report = check_gradients(Two(), np.ones((2, 2)))
    assert not report.ok
    assert "not finite" in str(report)


def test_a_gradient_that_is_not_finite_is_never_ok():
    class Broken(Identity):
        def backward(self, dy):
            dx = dy.copy()
            dx[0, 0] = np.inf
            return dx

    assert wrong_names(check_gradients(Broken(), np.ones((2, 2))))[0] == "x"


# --- Weights without a gradient -----------------------------------------------------------------


class Affine:
    """A base whose backward is written by each style."""

    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b


def affine(kind, seed=0):
    rng = np.random.default_rng(seed)
    return kind(rng.normal(size=(4, 3)), rng.normal(size=3)), rng.normal(size=(5, 4))


class NoGradient(Affine):
    def backward(self, dy):
        return dy @ self.W.T


class OneGradient(Affine):
    def backward(self, dy):
        self.dW = self.x.T @ dy
        return dy @ self.W.T


class LocalGradient(Affine):
    def backward(self, dy):
        dW = self.x.T @ dy  # noqa: F841
        self.db = dy.sum(axis=0)
        return dy @ self.W.T


def test_a_weight_without_a_gradient_is_never_ok():
    layer, x = affine(NoGradient)
    report = check_gradients(layer, x)
    assert wrong_names(report) == ["W", "b"]
    for name in ("dW", "dw", "grad_W", "W_grad", 'grads["W"]'):
        assert name in str(report)
    layer, x = affine(OneGradient)
    assert wrong_names(check_gradients(layer, x)) == ["b"]
    assert not check_gradients(layer, x, method="direction").ok


def test_a_local_gradient_is_told():
    layer, x = affine(LocalGradient)
    report = check_gradients(layer, x)
    assert wrong_names(report) == ["W"]
    assert "self.dW" in told(report)
    assert "local" in told(report)


def test_a_weight_inside_an_object_or_a_list():
    class Stack:
        def __init__(self, layers):
            self.layers = layers

        def forward(self, x):
            for layer in self.layers:
                x = layer.forward(x)
            return x

        def backward(self, dy):
            for layer in reversed(self.layers):
                dy = layer.backward(dy)
            return dy

    rng = np.random.default_rng(0)
    sizes = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(3, 2)), rng.normal(size=2)
    stack = Stack([PairsOf(*sizes[:2]), OneGradient(*sizes[2:])])
    report = check_gradients(stack, rng.normal(size=(5, 4)))
    assert wrong_names(report) == ["layers.1.b"]
    assert {row.name for row in report.rows if row.ok} == {
        "x", "layers.0.W", "layers.0.b", "layers.1.W",
    }  # fmt: skip


# --- The usual names ----------------------------------------------------------------------------


class PairsOf(Affine):
    def backward(self, dy):
        self.dW, self.db = self.x.T @ dy, dy.sum(axis=0)
        return dy @ self.W.T


class SmallLetters(Affine):
    def backward(self, dy):
        self.dw, self.db = self.x.T @ dy, dy.sum(axis=0)
        return dy @ self.W.T


class GradBefore(Affine):
    def backward(self, dy):
        self.grad_W, self.grad_b = self.x.T @ dy, dy.sum(axis=0)
        return dy @ self.W.T


class GradBehind(Affine):
    def backward(self, dy):
        self.W_grad, self.b_grad = self.x.T @ dy, dy.sum(axis=0)
        return dy @ self.W.T


class DictOfGrads(Affine):
    def backward(self, dy):
        self.grads = {"W": self.x.T @ dy, "b": dy.sum(axis=0)}
        return dy @ self.W.T


class DictOfGradsWithD(Affine):
    def backward(self, dy):
        self.grads = {"dW": self.x.T @ dy, "db": dy.sum(axis=0)}
        return dy @ self.W.T


class TwoDicts:
    def __init__(self, W, b):
        self.params, self.grads = {"W": W, "b": b}, {}

    def forward(self, x):
        self.x = x
        return x @ self.params["W"] + self.params["b"]

    def backward(self, dy):
        self.grads["W"], self.grads["b"] = self.x.T @ dy, dy.sum(axis=0)
        return dy @ self.params["W"].T


class ListsInOrder:
    def __init__(self, W, b):
        self.params, self.grads = [W, b], []

    def forward(self, x):
        self.x = x
        W, b = self.params
        return x @ W + b

    def backward(self, dy):
        self.grads = [self.x.T @ dy, dy.sum(axis=0)]
        return dy @ self.params[0].T


class TupleOfParams(ListsInOrder):
    def __init__(self, W, b):
        self.params = (W, b)


class AttributesAndLists(Affine):
    def __init__(self, W, b):
        super().__init__(W, b)
        self.params = [self.W, self.b]
        self.grads = [np.zeros_like(W), np.zeros_like(b)]

    def backward(self, dy):
        self.grads[0][...], self.grads[1][...] = self.x.T @ dy, dy.sum(axis=0)
        return dy @ self.W.T


class Returned(Affine):
    def backward(self, dy):
        return dy @ self.W.T, self.x.T @ dy, dy.sum(axis=0)


class ReturnedInOtherOrder(Affine):
    def backward(self, dy):
        db, dW = dy.sum(axis=0), self.x.T @ dy
        dx = dy @ self.W.T
        return dx, db, dW


class ReturnedNested(Affine):
    def backward(self, dy):
        return dy @ self.W.T, (self.x.T @ dy, dy.sum(axis=0))


class ReturnedDict(Affine):
    def backward(self, dy):
        return dy @ self.W.T, {"W": self.x.T @ dy, "b": dy.sum(axis=0)}


class ReturnedAllInADict(Affine):
    def backward(self, dy):
        return {"dx": dy @ self.W.T, "dW": self.x.T @ dy, "db": dy.sum(axis=0)}


class DxKept(Affine):
    def backward(self, dy):
        self.dW, self.db, self.dx = self.x.T @ dy, dy.sum(axis=0), dy @ self.W.T


class Box:
    def __init__(self, data):
        self.data, self.grad = data, None


class Boxes:
    def __init__(self, W, b):
        self.W, self.b = Box(W), Box(b)

    def forward(self, x):
        self.x = x
        return x @ self.W.data + self.b.data

    def backward(self, dy):
        self.W.grad, self.b.grad = self.x.T @ dy, dy.sum(axis=0)
        return dy @ self.W.data.T


STYLES = [
    PairsOf, SmallLetters, GradBefore, GradBehind, DictOfGrads, DictOfGradsWithD, TwoDicts,
    ListsInOrder, TupleOfParams, AttributesAndLists, Returned, ReturnedInOtherOrder,
    ReturnedNested, ReturnedDict, ReturnedAllInADict, DxKept, Boxes,
]  # fmt: skip


@pytest.mark.parametrize("kind", STYLES)
def test_the_usual_names_of_gradients_are_found(kind):
    layer, x = affine(kind)
    report = check_gradients(layer, x)
    assert report.ok, report
    assert [row.numeric.shape for row in report.rows] == [(5, 4), (4, 3), (3,)]
    assert "not checked" not in str(report)


@pytest.mark.parametrize("kind", STYLES)
def test_under_each_name_a_wrong_gradient_is_found(kind, monkeypatch):
    """The forward that is compared is another one: 1.5 times the products."""
    monkeypatch.setattr(
        "deepnlp.gradcheck.explaining._diagnose", lambda *_: None
    )  # the verdict alone

    def forward(self, x):
        return 1.5 * kind.forward(self, x)

    wrong = type(f"Wrong{kind.__name__}", (kind,), {"forward": forward})
    layer, x = affine(wrong)
    report = check_gradients(layer, x)
    assert len(wrong_names(report)) == 3


# --- Integers, and constants --------------------------------------------------------------------


def test_integer_inputs_and_weights_with_a_gradient_are_checked():
    layer, _ = affine(PairsOf)
    layer.b = np.array([1, 2, 3])
    report = check_gradients(layer, np.arange(20).reshape(5, 4))
    assert report.ok, report
    assert {row.name for row in report.rows} == {"x", "W", "b"}


class WithConstants(PairsOf):
    def __init__(self, W, b):
        super().__init__(W, b)
        rng = np.random.default_rng(0)
        self.mask = (rng.random(b.shape) < 0.5) / 0.5
        self.running_mean = rng.normal(size=4)
        self.eps = 1e-5

    def forward(self, x):
        self.x = x - self.running_mean
        return (self.x @ self.W + self.b) * self.mask

    def backward(self, dy):
        return super().backward(dy * self.mask)


def test_masks_and_running_means_are_constants_and_listed():
    layer, x = affine(WithConstants)
    report = check_gradients(layer, x)
    assert report.ok, report
    (check,) = [check for check in report.checks if check.name == "not checked"]
    assert "mask" in check.note
    assert "running_mean" in check.note


def test_constants_may_be_named():
    class Scaled(PairsOf):
        def __init__(self, W, b):
            super().__init__(W, b)
            self.table = np.random.default_rng(1).normal(size=b.shape)

        def forward(self, x):
            return super().forward(x) * self.table

        def backward(self, dy):
            return super().backward(dy * self.table)

    layer, x = affine(Scaled)
    assert wrong_names(check_gradients(layer, x)) == ["table"]
    report = check_gradients(layer, x, constants=["table"])
    assert report.ok, report
    with pytest.raises(ValueError, match=r"constants.*'tabel'.*table"):
        check_gradients(layer, x, constants=["tabel"])
