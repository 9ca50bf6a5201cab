"""Products with other rounding errors are right, and differ from NumPy's own."""

import numpy as np
import pytest

from tests.rounding.__main__ import missing, run

SHAPES = [(1, 1, 1), (2, 3, 1), (4, 5, 7), (1, 9, 6), (8, 9, 1), (33, 65, 17)]


def products():
    """Products of all number types and layouts: of matrices, vectors, a matrix with itself."""
    rng = np.random.default_rng(0)
    for dtype in ("float32", "float64", "complex64", "complex128"):
        for m, k, n in SHAPES:
            A, B = (
                (rng.normal(size=shape) + 1j * rng.normal(size=shape) * (dtype[0] == "c"))
                for shape in ((m, k), (k, n))
            )
            A, B = (X.astype(dtype) if dtype[0] == "c" else X.real.astype(dtype) for X in (A, B))
            turned = np.asfortranarray
            for left, right in ((A, B), (turned(A), B), (A, turned(B)), (turned(A), turned(B))):
                yield left @ right
            yield from (A @ B[:, 0], A[0] @ B, A[0] @ B[:, 0], A @ A.T, A.T @ A)


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_products_differ_by_rounding_alone(tmp_path):
    program = (
        "import numpy as np, sys; from tests.rounding.test_rounding import products; "
        "np.savez(sys.argv[1], *products())"
    )
    assert run("-c", program, str(tmp_path / "others.npz")) == 0
    others = np.load(tmp_path / "others.npz")
    equal = []
    for number, product in enumerate(products()):
        other = others[f"arr_{number}"]
        assert other.dtype == product.dtype
        tolerance = 8 * np.finfo(product.dtype).eps * np.abs(product).max(initial=1)
        np.testing.assert_allclose(other, product, rtol=0, atol=tolerance)
        equal.append(np.array_equal(other, product))
    assert 0.2 < np.mean(equal) < 0.8
