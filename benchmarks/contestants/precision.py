"""deepnlp: how far matrix products in float32, and in TF32, are from the exact ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contestant import Answer
from benchmarks.settings import Spec
from deepnlp import backend

DROPPED = 13  # bits of a float32's 23 of mantissa that TF32 does not have


def to_tf32(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Round float32 numbers to the 10 bits of mantissa of TF32, to the nearest, ties to even.

    Examples
    --------
    >>> to_tf32(np.array([1 + 2**-10, 1 + 2**-12, 1 + 3 * 2**-11], np.float32)).tolist()
    [1.0009765625, 1.0, 1.001953125]
    """
    bits = x.view(np.uint32)
    half = np.uint32((1 << (DROPPED - 1)) - 1)
    odd = (bits >> np.uint32(DROPPED)) & np.uint32(1)
    kept = np.uint32(0xFFFFFFFF << DROPPED & 0xFFFFFFFF)
    return ((bits + half + odd) & kept).view(np.float32)


def run(spec: Spec) -> Answer:
    """Relative errors of the output product, (N T, H) by (H, V), of random numbers.

    On a GPU both are measured; on a CPU, TF32 is what rounding the operands makes of the product.

    Returns
    -------
    dict
        The largest error by the largest entry, and the root of the mean square by that of the
        entries.
    """
    V, N, T, H = spec.model
    rng = np.random.default_rng(0)
    x, W = (rng.normal(size=shape).astype(np.float32) for shape in ((N * T, H), (H, V)))
    exact = x.astype(np.float64) @ W.astype(np.float64)
    answer = {"float32": _errors(_product(x, W), exact)}
    if backend.name() == "cupy":
        backend.use_tf32(True)
        answer["TF32"] = _errors(_product(x, W), exact)
    else:
        answer["TF32, emulated"] = _errors(_product(to_tf32(x), to_tf32(W)), exact)
    return answer


def _product(x: Any, W: Any) -> Any:
    return backend.asnumpy(backend.asarray(x) @ backend.asarray(W))


def _errors(product: Any, exact: Any) -> dict[str, float]:
    error = np.abs(product - exact)
    return {
        "largest": float(error.max() / np.abs(exact).max()),
        "mean_square": float(np.sqrt((error**2).mean() / (exact**2).mean())),
    }
