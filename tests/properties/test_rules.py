"""The search for wrong gradients that a rule lets pass, over scales, offsets, fills, mistakes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deepnlp.gradcheck import check_gradients

FORWARDS = (
    (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    (np.abs, np.sign),
    (np.square, lambda x: 2 * x),
    (lambda x: x / (1 + np.abs(x)), lambda x: 1 / (1 + np.abs(x)) ** 2),
    (lambda x: np.sqrt(np.abs(x)), lambda x: np.sign(x) / (2 * np.sqrt(np.abs(x)))),
    (lambda x: x, np.ones_like),
)


class Layer:
    """y = f(x) W + b + small norm(v), with fills in the output, and gradients that are changed."""

    def __init__(self, rng, which, scales, fill, wrong, factor):
        self.f, self.slope = FORWARDS[which]
        self.W, self.b, self.v = (
            s * rng.normal(size=n) for s, n in zip(scales, [(4, 3), 3, 4], strict=True)
        )
        self.fill, self.wrong, self.factor = fill, wrong, factor

    def forward(self, x):
        self.x = x
        self.mask = np.arange(3) < 2
        y = self.f(x) @ self.W + self.b + np.sqrt((self.v**2).sum())
        return np.where(self.mask, y, self.fill)

    def backward(self, dy):
        dy = dy * self.mask
        found = {
            "W": self.f(self.x).T @ dy,
            "b": dy.sum(0),
            "v": dy.sum() * self.v / np.sqrt((self.v**2).sum()),
            "x": dy @ self.W.T * self.slope(self.x),
        }
        gradient = found[self.wrong]
        gradient[...] = self.factor * gradient
        self.dW, self.db, self.dv = found["W"], found["b"], found["v"]
        return found["x"]


SCALES = st.sampled_from([1e-12, 1e-8, 1e-4, 1.0, 1e3, 1e6, 1e12])
FILLS = st.sampled_from([0.0, -1e9, -1e30, float(np.finfo("f4").min)])
FACTORS = st.sampled_from([1.0, 1.01, 2.0, 0.0, -1.0])


@given(
    st.integers(0, 2**32 - 1), st.integers(0, len(FORWARDS) - 1), st.tuples(SCALES, SCALES, SCALES),
    SCALES, FILLS, st.sampled_from("Wbvx"), FACTORS, st.sampled_from(["auto", "central"]),
)  # fmt: skip
def test_no_wrong_gradient_passes_in_silence(
    seed, which, scales, of_x, fill, wrong, factor, method
):
    rng = np.random.default_rng(seed)
    layer = Layer(rng, which, scales, fill, wrong, factor)
    with np.errstate(all="ignore"):
        report = check_gradients(layer, of_x * rng.normal(size=(5, 4)), method=method)
    (row,) = [row for row in report.rows if row.name == wrong]
    if factor == 1.0:  # of numbers of 1e-12 alone the complex step of abs is all there is
        assert report.ok or max(*scales, of_x) < 1e-10, report
    elif row.numeric.any() and np.isfinite(row.numeric).all():
        assert not row.ok, report
