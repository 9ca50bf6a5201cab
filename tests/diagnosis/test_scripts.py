"""Lines that go on behind the gradients, and losses with a small constant, are named."""

import numpy
import pytest

from deepnlp.gradcheck import check_gradients

HEAD = """
rng = np.random.default_rng(0)
x, W, t = rng.normal(size=(5, 4)), rng.normal(size=(4, 3)), np.eye(3)[[0, 2, 1, 1, 0]]
a = x @ W
"""
SLOPE = HEAD + "h = np.tanh(a)\nloss = ((h - t) ** 2).sum()\ndh = 2 * (h - t)\n"
TAIL = "dW = x.T @ da\n"
LOSS = """
p = np.exp(a) / np.exp(a).sum(axis=1, keepdims=True)
loss = -(t * np.log(p + 1e-7)).sum() / 5
"""
CASES = [
    (SLOPE + "da = (1 - a ** 2) * dh\n" + TAIL + update, "derivative taken at the input")
    for update in ("W = W - 0.1 * dW", "W -= 0.1 * dW", "for p, d in [(W, dW)]:\n    p -= 0.1 * d")
]
CASES += [(HEAD + LOSS + "da = p - t\n" + TAIL, "constant factor")]


@pytest.mark.parametrize(("lines", "name"), CASES)
def test_the_mistake_is_named(lines: str, name: str) -> None:
    (first, *_) = check_gradients(lines, quiet=True, rng=numpy.random.default_rng(0)).causes
    assert first.name.startswith(name), first
