"""What the tests of layers share: the examples of layers, slopes by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deepnlp import layers
from deepnlp.backend import asarray, asnumpy
from deepnlp.examples import EXAMPLES, SINGLE, SIZES
from deepnlp.layer import Sequential

LAYERS = [
    example
    for example in EXAMPLES.values()
    if example.covers in vars(layers).values() and example.covers is not Sequential
]


def as_tuple(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def is_float(array: Any) -> bool:
    return array.dtype.kind == "f"


def numbers_in(example: Any) -> int:
    """How many weights and inputs an example has."""
    layer, inputs = example.make()
    arrays = [*(p.value for p in layer.parameters()), *(x for x in inputs if is_float(x))]
    return sum(array.size for array in arrays)


QUICK = [
    example
    for example in EXAMPLES.values()
    if (example in LAYERS and example.sizes in (SIZES, SINGLE)) or numbers_in(example) < 100
]
"""Examples whose gradients take hundredths of a second: of layers not made of others, and small."""


def host(arrays: Any) -> list[np.ndarray]:
    """Copies on the host."""
    return [asnumpy(array).copy() for array in as_tuple(arrays)]


def output_weights(outputs: tuple[Any, ...], seed: int = 5) -> tuple[Any, ...]:
    """Random gradients for outputs: a number for a loss, an array else."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=y.shape).astype(y.dtype) for y in outputs]
    return tuple(float(w) if w.ndim == 0 else asarray(w) for w in weights)


def run(layer: Any, inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Outputs of a forward, and the gradients of the inputs from a weighted backward."""
    outputs = as_tuple(layer.forward(*inputs))
    return outputs, as_tuple(layer.backward(*output_weights(outputs)))


def parameter_gradients(layer: Any) -> list[np.ndarray]:
    return [asnumpy(p.grad).copy() for p in layer.parameters()]


def slopes(function: Callable[[], float], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Slope of `function` by each entry of `x`, which it reads: central differences."""
    result = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        here = x[index]
        x[index] = here + step
        above = function()
        x[index] = here - step
        below = function()
        x[index] = here
        result[index] = (above - below) / (2 * step)
    return result


def assert_close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Equal in shape and to a tolerance relative to the largest entry."""
    actual, expected = asnumpy(actual), asnumpy(expected)
    assert actual.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)
