"""What else a layer must do, and the check along one direction."""

import numpy as np

from deepnlp import Parameter, layers
from deepnlp.gradcheck import check_gradients


def checks_of(layer, *inputs):
    report = check_gradients(layer, *inputs)
    return report, {check.name: check for check in report.checks}


def test_the_checks_of_a_right_layer():
    rng = np.random.default_rng(0)
    report, checks = checks_of(layers.TimeLSTM.init(3, 4, rng=rng), rng.normal(size=(2, 3, 3)))
    assert report.ok
    assert {name: check.note for name, check in checks.items()} == {
        "second backward": "refused",
        "two passes": "added up",
        "inputs": "left as they were",
        "outputs": "left as they were",
        "linear in dy": "the gradient for a sum of two dy is the sum",
        "state": "h is the last output",
    }


def test_a_layer_that_lets_backward_run_twice():
    class Lenient(layers.Tanh):
        __module__ = "deepnlp.layers.lenient"

        def saved(self):
            return self._kept[-1]

    report, checks = checks_of(Lenient(), np.ones((2, 2)))
    assert not report.ok
    assert not checks["second backward"].ok
    assert report.causes[0].name == "second backward not refused"


def test_an_output_that_is_written_over():
    class Buffer:
        def __init__(self):
            self.y = np.zeros((2, 2))

        def forward(self, x):
            self.y[...] = x
            return self.y

        def backward(self, dy):
            return dy

    report, checks = checks_of(Buffer(), np.random.default_rng(0).normal(size=(2, 2)))
    assert checks["outputs"].note == "an output is overwritten by the next forward"
    assert report.ok


def test_a_state_that_is_not_the_last_output():
    class Late(layers.TimeRNN):
        def _finish(self, h):
            super()._finish(0.5 * h)

    rng = np.random.default_rng(0)
    report, checks = checks_of(Late.init(2, 3, rng=rng), rng.normal(size=(2, 3, 2)))
    assert not checks["state"].ok
    assert report.causes[0].name == "state is not the last output"


def test_gradients_that_are_assigned_to_a_parameter():
    class Assigns:
        def __init__(self, W):
            self.W = Parameter(W)

        def forward(self, x):
            self.x = x
            return x @ self.W.value

        def backward(self, dy):
            self.W.grad = self.x.T @ dy
            return dy @ self.W.value.T

    rng = np.random.default_rng(0)
    report, checks = checks_of(Assigns(rng.normal(size=(3, 2))), rng.normal(size=(4, 3)))
    assert [row.name for row in report.rows if not row.ok] == ["two passes"]
    assert "W" in checks["two passes"].note
    assert report.causes[0].name == "assigned instead of accumulated"


def test_random_numbers_and_states_of_ones_own_class_are_put_back():
    class Noisy:
        def __init__(self):
            self.h, self.calls, self.rng = None, 0, np.random.default_rng(0)

        def forward(self, x):
            self.h = np.zeros_like(x) if self.h is None else self.h
            self.calls += 1
            self.scale = self.calls * (self.rng.random(x.shape) + np.random.rand(*x.shape))
            self.h = np.tanh(self.scale * x + self.h)
            return self.h

        def backward(self, dy):
            return dy * (1 - self.h**2) * self.scale

    layer = Noisy()
    assert check_gradients(layer, np.random.default_rng(0).normal(size=(2, 3))).ok
    assert layer.calls == 0


# --- Along one direction ----------------------------------------------------------------------


def test_one_direction_for_a_large_model():
    rng = np.random.default_rng(0)
    layer = layers.TimeLSTM.init(20, 50, rng=rng)
    x = rng.normal(size=(4, 7, 20))
    report = check_gradients(layer, x, method="direction")
    assert report.ok
    assert [row.name for row in report.rows] == ["all gradients"]
    assert report.error < 1e-12


def test_one_direction_finds_the_wrong_gradient():
    class Wrong(layers.TimeLSTM):
        def backward(self, dhs):
            dx = super().backward(dhs)
            self.Wh.grad = 1.01 * self.Wh.grad
            return dx

    rng = np.random.default_rng(0)
    layer = Wrong.init(3, 4, rng=rng)
    report = check_gradients(layer, rng.normal(size=(2, 3, 3)), method="direction")
    assert [row.name for row in report.rows if not row.ok] == ["all gradients", "Wh"]


def test_one_direction_steps_around_kinks():
    rng = np.random.default_rng(0)
    layer = layers.TimeRNN.init(3, 4, rng=rng, activation="relu")
    assert check_gradients(layer, rng.normal(size=(2, 3, 3)), method="direction").ok
