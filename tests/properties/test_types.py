"""Inputs of other number types, and of none: computed, or refused in a sentence of ours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layers.tools import as_tuple, output_weights
from tests.properties.test_layers import LAYER_CASES
from tests.properties.tools import check_ours

NUMBERS = ["?", "u1", "i8", "u8", "f2", "f4", "f8", ">f8", "g"]
OTHERS = ["c8", "c16", "U3", "S3", "O", "M8[s]", "m8[s]"]
TOLERANCES = {"f2": 1e-2, "?": 1e-2, "u1": 1e-2, "f4": 1e-5}  # NumPy takes tanh of a byte in half


def of_type(x, code):
    """The numbers of an array in another type, or other things in their place."""
    x = np.asarray(x)
    if code == "O":
        return np.full(x.shape, None, dtype=object)
    if code[0] in "MmUS" or code in ("u1", "u8"):
        x = np.abs(x).astype("i8")
    return x.astype(code)


def plain(x, original):
    """The same numbers in the usual types; a mask stays one."""
    if x.dtype == original.dtype:
        return x
    return x.astype("float64" if x.dtype.kind == "f" else "int64")


def results(case, change, backward):
    """All outputs and gradients where an input, or the gradient of an output, is changed."""
    layer, inputs = case.make()
    inputs, k = list(inputs), change[0] % len(inputs)
    if not backward:
        inputs[k] = change[1](inputs[k])
    outputs = as_tuple(layer.forward(*inputs))
    if any(y.dtype.kind == "c" for y in outputs):
        return outputs
    weights = output_weights(outputs)
    if backward:
        weights = tuple(change[1](w) if np.ndim(w) else w for w in weights)
    gradients = as_tuple(layer.backward(*weights))
    found = [*outputs, *[g for g in gradients if g is not None]]
    return found + [p.grad for p in layer.parameters()]


@pytest.mark.parametrize("case", LAYER_CASES, ids=str)
@given(which=st.integers(0, 3), code=st.sampled_from(NUMBERS + OTHERS), backward=st.booleans())
def test_other_types(case, which, code, backward):
    try:
        found = results(case, (which, lambda x: of_type(x, code)), backward)
    except Exception as error:
        check_ours(error)
        return
    expected = found
    if code in NUMBERS:
        change = which, lambda x: plain(of_type(x, code), np.asarray(x))
        expected = results(case, change, backward)
    for one, other in zip(found, expected, strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_allclose(
            one.astype("c16"), other.astype("c16"), rtol=0, atol=TOLERANCES.get(code, 1e-9)
        )
