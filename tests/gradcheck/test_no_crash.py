"""Input that is not as it should be ends in one sentence that a student understands."""

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients
from tests.cases import together

RNG = np.random.default_rng(5)


def told(report):
    assert not report.ok, report
    return "\n".join(str(cause) for row in report.rows if not row.ok for cause in row.causes)


# --- dx of a wrong shape ------------------------------------------------------------------------


class Product:
    def __init__(self, W):
        self.W = W

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.dW = self.x.T @ dy
        return self.dx_of(dy)


class ReturnsDy(Product):
    def dx_of(self, dy):
        return dy


class ReturnsZero(Product):
    def dx_of(self, dy):
        return 0


class SumsDx(Product):
    def dx_of(self, dy):
        return (dy @ self.W.T).sum(axis=0)


class Transposes(Product):
    def dx_of(self, dy):
        return (dy @ self.W.T).T


class SumsAll(Product):
    def dx_of(self, dy):
        return (dy @ self.W.T).sum()


class KeepsAnAxis(Product):
    def dx_of(self, dy):
        return (dy @ self.W.T)[None]


class Flattens(Product):
    def dx_of(self, dy):
        return (dy @ self.W.T).ravel()


@pytest.mark.parametrize(
    ("kind", "shape", "reason"),
    [
        (ReturnsDy, (5, 3), "shape of dy"),
        (ReturnsZero, (), "a number"),
        (SumsDx, (4,), "axis 0"),
        (Transposes, (4, 5), "transposed"),
        (SumsAll, (), "a number"),
        (KeepsAnAxis, (1, 5, 4), "axis"),
        (Flattens, (20,), "reshape"),
    ],
)
@together(method=["auto", "direction"])
def test_a_wrong_shape_is_told_with_the_likely_reason(kind, shape, reason, method):
    report = check_gradients(kind(RNG.normal(size=(4, 3))), RNG.normal(size=(5, 4)), method=method)
    assert f"dx has shape {shape}, should have (5, 4)" in str(report)
    assert reason in told(report)


def test_a_weight_gradient_of_a_wrong_shape():
    class Outer(Product):
        def backward(self, dy):
            self.dW = dy.T @ self.x
            return dy @ self.W.T

    report = check_gradients(Outer(RNG.normal(size=(4, 3))), RNG.normal(size=(5, 4)))
    assert "dW has shape (3, 4), should have (4, 3)" in str(report)
    assert "transposed" in told(report)


def test_a_bias_gradient_that_is_not_summed():
    class Adds:
        def __init__(self, b):
            self.b = b

        def forward(self, x):
            return x + self.b

        def backward(self, dy):
            self.db = dy
            return dy

    report = check_gradients(Adds(RNG.normal(size=4)), RNG.normal(size=(5, 4)))
    assert "db has shape (5, 4), should have (4,)" in str(report)
    assert report.causes[0].name == "bias gradient not summed over N"


# --- None, classes, arguments -------------------------------------------------------------------


class Tanh:
    def forward(self, x):
        self.y = np.tanh(x)
        return self.y

    def backward(self, dy):
        return dy * (1 - self.y**2)


class Forgets(Tanh):
    def backward(self, dy):
        dx = dy * (1 - self.y**2)  # noqa: F841


class ReturnsOnlyTheWeights(Product):
    def backward(self, dy):
        dW = self.x.T @ dy
        return dW


def test_a_backward_that_returns_the_gradient_of_a_weight_alone():
    report = check_gradients(
        ReturnsOnlyTheWeights(RNG.normal(size=(4, 3))), RNG.normal(size=(5, 4))
    )
    assert [row.name for row in report.rows if not row.ok] == ["x"]
    assert report.causes[0].name == "zero or missing"


class Text(Tanh):
    def backward(self, dy):
        return "dx"


class GivesNone(Tanh):
    def forward(self, x):
        self.y = np.tanh(x)


def test_a_backward_that_returns_none():
    report = check_gradients(Forgets(), RNG.normal(size=(2, 3)))
    assert "backward returned None" in told(report)
    assert "return dx" in told(report)


def test_a_backward_that_returns_a_text():
    with pytest.raises(TypeError, match=r"Text\.backward .*str.*dx should be an array"):
        check_gradients(Text(), RNG.normal(size=(2, 3)))


def test_a_forward_that_returns_none():
    with pytest.raises(TypeError, match=r"GivesNone\.forward .* returned None.*return"):
        check_gradients(GivesNone(), RNG.normal(size=(2, 3)))


def test_none_for_a_layer():
    with pytest.raises(TypeError, match="got None"):
        check_gradients(None, np.ones(2))


def test_a_class_instead_of_an_object():
    with pytest.raises(TypeError, match=r"Product is a class.*Product\(W\)"):
        check_gradients(Product, np.ones((2, 4)))
    with pytest.raises(TypeError, match=r"Tanh is a class.*Tanh\(\)"):
        check_gradients(Tanh, np.ones((2, 4)))


class Masked:
    def forward(self, x, mask):
        self.mask = mask
        return x * mask

    def backward(self, dy):
        return dy * self.mask


class KeywordOnly(Masked):
    def forward(self, x, *, mask):
        return super().forward(x, mask)


def test_an_argument_that_is_missing():
    x = RNG.normal(size=(2, 3))
    mask = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    with pytest.raises(TypeError, match=r"Masked\.forward takes x, mask; mask was not given"):
        check_gradients(Masked(), x)
    with pytest.raises(TypeError, match=r"KeywordOnly\.forward takes x, mask; .*mask=\.\.\."):
        check_gradients(KeywordOnly(), x)
    with pytest.raises(TypeError, match=r"Tanh\.forward takes x; 2 inputs were given"):
        check_gradients(Tanh(), x, x)
    with pytest.raises(TypeError, match=r"Tanh\.forward takes x; it takes no 'mask'"):
        check_gradients(Tanh(), x, mask=mask)
    for layer, inputs, named in (
        (Masked(), (x, mask), {}),
        (Masked(), (x,), {"mask": mask}),
        (KeywordOnly(), (x,), {"mask": mask}),
        (KeywordOnly(), (x,), {"mask": mask > 0}),
        (Masked(), (), {"x": x, "mask": mask}),
    ):
        report = check_gradients(layer, *inputs, **named)
        assert report.ok, report
        assert [row.name for row in report.rows] == ["x"]


def test_a_mask_that_is_not_given():
    class Optional(Masked):
        def forward(self, x, mask=None):
            return super().forward(x, mask)

    x = RNG.normal(size=(2, 3))
    with pytest.raises(TypeError, match=r"Optional\.forward ended in TypeError: .*mask=\.\.\."):
        check_gradients(Optional(), x)
    assert check_gradients(Optional(), x, mask=x > 0).ok


class Switched:
    """As in the book: dropout that takes a switch."""

    def __init__(self, ratio=0.5):
        self.ratio = ratio

    def forward(self, x, train_flg=True):
        if not train_flg:
            return x * (1 - self.ratio)
        self.mask = np.random.rand(*x.shape) > self.ratio
        return x * self.mask

    def backward(self, dy):
        return dy * self.mask


def test_options_of_forward_are_given_by_name():
    class Either(Switched):
        def forward(self, x, train_flg=True):
            self.mask = 1 - self.ratio
            return super().forward(x, train_flg)

    x = RNG.normal(size=(3, 4))
    for options in ({}, {"train_flg": True}, {"train_flg": False}):
        report = check_gradients(Either(), x, **options)
        assert report.ok, report


class KeywordState:
    def __init__(self, W):
        self.W = W

    def forward(self, x, *, h_prev):
        self.x, self.h_prev = x, h_prev
        return x @ self.W + h_prev

    def backward(self, dh):
        self.dW = self.x.T @ dh
        return dh @ self.W.T, dh


class ForgetsTheState(KeywordState):
    def backward(self, dh):
        return super().backward(dh)[0]


def test_arrays_given_by_name_are_checked():
    W, x, h = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 4)), RNG.normal(size=(5, 3))
    report = check_gradients(KeywordState(W), x, h_prev=h)
    assert report.ok, report
    assert [row.name for row in report.rows] == ["x", "h_prev", "W"]
    report = check_gradients(ForgetsTheState(W), x, h_prev=h)
    assert [row.name for row in report.rows if not row.ok] == ["h_prev"]


def test_a_backward_that_takes_what_is_not_there():
    class TakesThree(Tanh):
        def backward(self, dy, dz, dc):
            return dy

    with pytest.raises(
        TypeError, match=r"TakesThree\.backward takes dy, dz, dc; forward gave 1 output"
    ):
        check_gradients(TakesThree(), RNG.normal(size=(2, 3)))


def test_an_error_in_the_class_is_passed_on():
    class Stumbles(Tanh):
        def backward(self, dy):
            return dy * self.missing

    with pytest.raises(AttributeError, match="missing"):
        check_gradients(Stumbles(), RNG.normal(size=(2, 3)))


def test_numbers_and_lists_are_inputs():
    class Square:
        def forward(self, x):
            self.x = x
            return x**2

        def backward(self, dy):
            return 2 * self.x * dy

    for x in (3.0, np.float64(3.0), [1.0, 2.0], np.array(2.0), np.float32([1, 2])):
        report = check_gradients(Square(), x)
        assert report.ok, report
        assert len(report.rows) == 1


def test_empty_arrays():
    report = check_gradients(Tanh(), np.zeros((0, 3)))
    assert report.ok
