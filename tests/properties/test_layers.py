"""Every layer over sizes from 0, number types and layouts: right, or refused in a sentence of ours.

The layers are the rows of deepnlp/examples, so that a new one is tested with the others. A
typed error is only in order where a size is 0.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepnlp import kernels
from deepnlp.examples import EXAMPLES, Example, Sizes
from deepnlp.models import Model
from tests.layers.tools import LAYERS, as_tuple, output_weights
from tests.properties.tools import LAYOUTS, check_ours

SMALL = st.integers(0, 3)
SIZES = st.builds(Sizes, N=SMALL, T=SMALL, D=SMALL, H=SMALL, V=st.integers(1, 5), S=SMALL)
ORDERS = st.lists(st.sampled_from(sorted(LAYOUTS)), min_size=1, max_size=3)
SEEDS = st.integers(0, 2**32 - 1)
LAYER_CASES = list({case.name.removesuffix(" N=1 T=1"): case for case in reversed(LAYERS)}.values())
MODEL_CASES = [
    [case for case in EXAMPLES.values() if case.covers is model]
    for model in dict.fromkeys(case.covers for case in EXAMPLES.values())
    if issubclass(model, Model)
]

Ones = Sizes(1, 1, 1, 1, 1, 1)


def arranged(arrays, orders):
    """Host arrays in other layouts, taken in turn; numbers as they are."""
    return tuple(
        LAYOUTS[orders[k % len(orders)]](x) if isinstance(x, np.ndarray) and x.ndim else x
        for k, x in enumerate(arrays)
    )


def close(actual, expected, dtype):
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    tolerance = {"float32": 3e-5, "float64": 1e-12}[dtype]
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def everything(layer, inputs, orders):
    """Outputs, gradients of the inputs and of the weights; what was given is left as it was."""
    given_ = arranged(inputs, orders)
    outputs = as_tuple(layer.forward(*given_))
    weights = output_weights(outputs)
    dy = arranged(weights, orders[::-1])
    before = [x.copy() for x in (*given_, *dy) if isinstance(x, np.ndarray)]
    gradients = as_tuple(layer.backward(*dy))
    for x, y in zip([x for x in (*given_, *dy) if isinstance(x, np.ndarray)], before, strict=True):
        np.testing.assert_array_equal(x, y)
    return outputs, gradients, weights


def check(case: Example, sizes: Sizes, dtype: str, orders: list[str], seed: int) -> None:
    """A layer in some layouts beside its plain form in the usual one; its slope in a direction."""
    case = replace(case, sizes=sizes)
    try:
        layer, inputs = case.make(dtype, seed)
        state = layer.snapshot()
        outputs, gradients, weights = everything(layer, inputs, orders)
    except Exception as error:
        check_ours(error)
        if 0 not in sizes:
            raise
        return
    found = [*outputs, *[g for g in gradients if g is not None]]
    found += [p.grad for p in layer.parameters()]
    for array in found:
        assert array.dtype == dtype
        assert np.isfinite(array).all()
    for x, dx in zip(inputs, gradients, strict=False):
        assert (dx is None) == (x.dtype.kind != "f")
        assert dx is None or dx.shape == x.shape
    plain, _ = case.make(dtype, seed)
    plain.restore(state)
    with kernels.using("plain"):
        others, other_gradients, _ = everything(plain, inputs, ["ascontiguousarray"])
    expected = [*others, *[g for g in other_gradients if g is not None]]
    expected += [p.grad for p in plain.parameters()]
    for one, other in zip(found, expected, strict=True):
        close(one, other, dtype)
    if dtype == "float64":
        check_slope(layer, state, inputs, gradients, weights, seed)


def check_slope(layer, state, inputs, gradients, weights, seed):
    """The change of the weighted outputs along a random direction is that of the gradients."""
    rng = np.random.default_rng(seed)
    parameters = layer.parameters()
    values = [p.value.copy() for p in parameters]
    along_x = [rng.normal(size=x.shape) if x.dtype.kind == "f" else None for x in inputs]
    along_p = [rng.normal(size=p.shape) * p.trainable for p in parameters]

    def output(step):
        layer.restore(state)
        for p, value, d in zip(parameters, values, along_p, strict=True):
            p.value = value + step * d
        moved = [x if d is None else x + step * d for x, d in zip(inputs, along_x, strict=True)]
        y = as_tuple(layer.forward(*moved))
        return sum(float(np.sum(w * one)) for w, one in zip(weights, y, strict=True))

    analytic = sum(
        float(np.sum(g * d)) for g, d in zip(gradients, along_x, strict=False) if d is not None
    ) + sum(float(np.sum(p.grad * d)) for p, d in zip(parameters, along_p, strict=True))
    for step, tolerance in ((1e-5, 1e-6), (1e-8, 1e-4)):  # the second where a kink is near
        slope = (output(step) - output(-step)) / (2 * step)
        wrong = abs(slope - analytic) / max(1.0, abs(analytic))
        if wrong < tolerance:
            return
    raise AssertionError(f"slope {slope}, gradient {analytic}")


@pytest.mark.parametrize("case", LAYER_CASES, ids=str)
@given(sizes=SIZES, dtype=st.sampled_from(["float32", "float64"]), orders=ORDERS, seed=SEEDS)
@example(sizes=Ones, dtype="float64", orders=["strided"], seed=0)
@example(sizes=Ones._replace(N=0), dtype="float64", orders=["fortran"], seed=0)
@example(sizes=Ones._replace(T=0), dtype="float32", orders=["fortran"], seed=0)
@example(sizes=Ones._replace(D=0), dtype="float64", orders=["fortran"], seed=0)
@example(sizes=Ones._replace(H=0), dtype="float64", orders=["fortran"], seed=0)
@example(sizes=Ones._replace(S=0), dtype="float64", orders=["fortran"], seed=0)
def test_layers(case, sizes, dtype, orders, seed):
    check(case, sizes, dtype, orders, seed)


@pytest.mark.parametrize("cases", MODEL_CASES, ids=lambda cases: str(cases[0]))
@given(N=SMALL, T=SMALL, D=st.integers(1, 3), H=st.integers(1, 3), orders=ORDERS, seed=SEEDS)
@example(N=1, T=1, D=1, H=1, orders=["strided"], seed=0)
@example(N=0, T=1, D=1, H=1, orders=["strided"], seed=1)
@example(N=1, T=0, D=1, H=1, orders=["strided"], seed=2)
def test_models(cases, N, T, D, H, orders, seed):
    check(cases[seed % len(cases)], Sizes(N, T, D, H, 7, max(1, T)), "float64", orders, seed)
