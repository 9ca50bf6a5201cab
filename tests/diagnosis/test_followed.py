"""Which functions of NumPy a forward may use: the tape gives their gradients, or says which not."""

import numpy as np
import pytest

from deepnlp.diagnosis.problem import Problem, distance
from deepnlp.diagnosis.trace import follow
from deepnlp.gradcheck.subject import Subject

ROWS = np.array([[0, 2, 1, 3], [1, 0, 3, 2], [3, 2, 1, 0]])
SPD = 5 * np.eye(3)


def changed(x, function):
    """A copy of x that a function has changed in place."""
    z = x.copy()
    function(z)
    return z


FOLLOWED = {
    "sort": lambda x: np.sort(x, axis=1) * np.arange(4.0),
    "sort in place": lambda x: changed(x, lambda z: z.sort(axis=1)) * np.arange(4.0),
    "argsort": lambda x: np.take_along_axis(x, x.argsort(axis=1), axis=1) * np.arange(4.0),
    "partition": lambda x: np.partition(x, 2, axis=1)[:, 2:].sum(axis=1),
    "take_along_axis": lambda x: np.take_along_axis(x, ROWS, axis=1) * x,
    "put_along_axis": lambda x: changed(x, lambda z: np.put_along_axis(z, ROWS[:, :1], 0.0, 1)) * x,
    "vectorize": lambda x: np.vectorize(lambda a: a * a + 1.0)(x),
    "result_type": lambda x: np.zeros(x.shape, dtype=np.result_type(x, np.float64)) + x**2,
    "einsum with an ellipsis": lambda x: np.einsum("...d,...d->...", x, x),
    "einsum of a diagonal": lambda x: np.einsum("ii->i", x[:, :3]) ** 2,
    "matmul of 4 dimensions": lambda x: x.reshape(1, 3, 2, 2) @ x.reshape(3, 1, 2, 2),
    "pad": lambda x: np.pad(x, ((1, 1), (2, 0)), mode="reflect") ** 2,
    "roll": lambda x: np.roll(x, 1, axis=1) * x,
    "repeat": lambda x: np.repeat(x, [1, 2, 3], axis=0) ** 2,
    "tile": lambda x: np.tile(x, (2, 1)) ** 2,
    "where": lambda x: np.where(x > 0, x**2, np.sin(x)),
    "split": lambda x: np.split(x, 2, axis=1)[0] * np.split(x, [2], axis=1)[1],
    "logaddexp": lambda x: np.logaddexp(x, 2 * x[::-1]) + np.logaddexp2(x, 0.0),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, axis=1),
    "cumsum": lambda x: np.cumsum(x, axis=1) ** 2 + np.cumprod(x, axis=1),
    "accumulate": lambda x: np.add.accumulate(x, axis=1) ** 2,
    "diff": lambda x: np.diff(x, axis=1) ** 2,
    "median": lambda x: np.median(x, axis=1) + np.quantile(x, 0.3, axis=1),
    "ptp": lambda x: np.ptp(x, axis=1),
    "cov": lambda x: np.cov(x),
    "trace": lambda x: np.trace(x[:, :3]) * np.diag(x[:, :3]) + np.diag(x[0])[1, 1],
    "fill_diagonal": lambda x: changed(x, lambda z: np.fill_diagonal(z, 0.0)) * x,
    "meshgrid": lambda x: np.meshgrid(x[0], x[1])[0] ** 2,
    "kron": lambda x: np.kron(x[:, :2], x[:2]),
    "cross": lambda x: np.cross(x[:, :3], x[:, 1:]),
    "convolve": lambda x: np.convolve(x[0], x[1], mode="same"),
    "correlate": lambda x: np.correlate(x[0], x[1][:2], mode="valid"),
    "norm": lambda x: np.linalg.norm(x, axis=1) + np.linalg.norm(x, ord=3, axis=1),
    "block": lambda x: np.block([[x, x**2], [x, x]]),
    "order": lambda x: x.reshape((4, 3), order="F") * np.arange(3.0),
    "resize": lambda x: np.resize(x, (2, 6)) ** 2,
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=1) ** 2,
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=1) ** 2,
    "clip": lambda x: x.clip(min=-0.5) * x,
    "max with an initial": lambda x: np.max(x, axis=1, initial=0.0),
    "sum of some": lambda x: np.sum(x, axis=1, where=ROWS > 1) ** 2,
    "sum into": lambda x: np.sum(x, axis=1, out=np.zeros(3)) ** 2,
    "mean of some": lambda x: np.mean(x, where=ROWS > 1) ** 2,
    "exp of some": lambda x: np.exp(x, where=ROWS > 1, out=np.zeros((3, 4))),
    "average": lambda x: np.average(x, axis=1, weights=np.arange(1, 5)) ** 2,
    "remainder": lambda x: (x % 0.7) ** 2 + x // 0.7,
    "round": lambda x: x - np.round(x, 1) + np.rint(x),
    "sinc": lambda x: np.sinc(x),
    "degrees": lambda x: np.deg2rad(x) ** 2,
    "copysign": lambda x: np.copysign(x, x[::-1]) ** 2,
    "heaviside": lambda x: np.heaviside(x, 0.5) * x,
    "select": lambda x: np.select([x > 0.5, x > 0], [x**2, x**3], default=0.0),
    "piecewise": lambda x: np.piecewise(x, [x > 0, x <= 0], [lambda a: a**2, lambda a: a**3]),
    "choose": lambda x: np.choose(ROWS % 2, [x, x**2]),
    "compress": lambda x: np.compress([True, False, True], x, axis=0) ** 2,
    "apply_along_axis": lambda x: np.apply_along_axis(lambda r: r * r.sum(), 1, x),
    "reduceat": lambda x: np.add.reduceat(x, [0, 2], axis=1) ** 2,
    "bincount": lambda x: np.bincount([0, 1, 1], weights=x[:, 0]) ** 2,
    "isclose": lambda x: x * np.isclose(x, x) * np.isfinite(x) + x[x.nonzero()].sum(),
    "asanyarray": lambda x: np.asanyarray(x) ** 2,
    "inv": lambda x: np.linalg.inv(x[:, :3] + SPD),
    "solve": lambda x: np.linalg.solve(x[:, :3] + SPD, x[:, 3]),
    "det": lambda x: np.linalg.det(x[:, :3]),
    "svd": lambda x: np.linalg.svd(x)[1],
    "cholesky": lambda x: np.linalg.cholesky(x[:, :3] @ x[:, :3].T),
    "polyval": lambda x: np.polyval([1.0, 2.0, 3.0], x),
}

NOT_FOLLOWED = {
    "numpy.fft gives complex numbers": lambda x: np.fft.fft(x).real,
    "cannot be followed takes an array": lambda x: np.c_[x, x],
}


class Layer:
    def __init__(self, function):
        self.function = function

    def forward(self, x):
        return self.function(x)

    def backward(self, dy):
        return np.zeros((3, 4))


def subject_of(function):
    rng = np.random.default_rng(0)
    subject = Subject(Layer(function), (rng.normal(size=(3, 4)),))
    subject.draw_weights(rng)
    subject.analytic_gradients()
    return subject


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_function_is_followed(name):
    subject = subject_of(FOLLOWED[name])
    found = follow(subject).right["x"]
    assert distance(found, subject.numeric_gradient("x", "central")) < 1e-6


@pytest.mark.parametrize("words", NOT_FOLLOWED)
def test_a_function_that_is_not_followed_is_named(words):
    problem = Problem(subject_of(NOT_FOLLOWED[words]), [])
    assert problem.trace is None
    assert words in problem.not_followed
    assert "(line " in problem.not_followed
