"""Matrix products, whole or cut, against the backend's own."""

import numpy as np
import pytest

from deepnlp.backend import asarray, asnumpy, products, threads
from deepnlp.backend.products import product, product_with, product_with_transpose

TOLERANCES = {"float32": 1e-5, "float64": 1e-13, "complex128": 1e-13}


@pytest.fixture(autouse=True)
def three_threads():
    before = threads.number()
    threads.use(3)
    yield
    threads.use(before)


@pytest.fixture
def pieces(monkeypatch):
    """How many pieces the products were cut into, one number for each that was cut."""
    found = []
    in_parallel = products.in_parallel

    def counted(work, pieces):
        found.append(len(pieces))
        in_parallel(work, pieces)

    monkeypatch.setattr(products, "in_parallel", counted)
    return found


def draw(rng, n, m, dtype, layout):
    """A matrix (n, m) that lies in memory row by row, column by column, or with gaps."""
    if layout == "transposed":
        return draw(rng, m, n, dtype, "dense").T
    if layout == "cut":
        return draw(rng, n + 3, 2 * m + 1, dtype, "dense")[2 : n + 2, 1 : 2 * m + 1 : 2]
    return asarray(rng.normal(size=(n, m)).astype(dtype))


def assert_equal_product(ours, A, B):
    expected = asnumpy(A) @ asnumpy(B)
    assert ours.shape == expected.shape
    assert ours.dtype == expected.dtype
    tolerance = max(TOLERANCES[x.dtype.name] for x in (A, B)) * max(1, A.shape[1])
    np.testing.assert_allclose(asnumpy(ours), expected, rtol=0, atol=tolerance)


SHAPES = [(1, 1, 1), (3, 5, 2), (127, 9, 5), (128, 9, 5), (129, 9, 5), (5, 9, 128), (5, 9, 131)]
SHAPES += [(160, 7, 160), (300, 4, 299), (299, 4, 300), (2049, 3, 2), (2, 3, 5000), (9000, 2, 3)]
EMPTY = [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0), (200, 0, 300)]
LAYOUTS = ["dense", "transposed", "cut"]


def test_a_product_equals_the_backends(array_backend, monkeypatch, pieces):
    monkeypatch.setattr(products, "SMALLEST_SHARED", 1)
    rng = np.random.default_rng(0)
    for n, k, m in [*SHAPES, *EMPTY]:
        for dtypes in [("float32",) * 2, ("float64",) * 2, ("complex128",) * 2]:
            for left, right in [("dense", "dense"), ("transposed", "cut"), ("cut", "transposed")]:
                A, B = draw(rng, n, k, dtypes[0], left), draw(rng, k, m, dtypes[1], right)
                assert_equal_product(product(A, B), A, B)
                for layout in LAYOUTS:
                    out = draw(rng, n, m, dtypes[0], layout)
                    assert product(A, B, out=out) is out
                    assert_equal_product(out, A, B)
    assert (len(set(pieces)) > 2) == (array_backend is np)


def test_two_number_types(array_backend, monkeypatch):
    rng = np.random.default_rng(0)
    for smallest in (1, 1 << 24):
        monkeypatch.setattr(products, "SMALLEST_SHARED", smallest)
        for kinds in [("float32", "float64"), ("complex128", "float32"), ("float64", "complex128")]:
            A, B = draw(rng, 150, 4, kinds[0], "dense"), draw(rng, 4, 9, kinds[1], "dense")
            assert_equal_product(product(A, B), A, B)
            assert_equal_product(product(B.T, A.T), B.T, A.T)


def test_where_a_product_is_cut(pieces):
    """Just below and just above each threshold, by rows and by columns."""
    rng = np.random.default_rng(0)
    aligned, width = products.ALIGNED, products.WIDTH
    k = products.SMALLEST_SHARED // (256 * 256)
    narrow = products.SMALLEST_SHARED // (4 * aligned - 1) ** 2 + 1
    for (n, inner, m), expected in [
        ((256, k, 255), []),
        ((256, k, 256), [2]),
        ((255, k, 256), []),
        ((4 * aligned - 1, narrow, 4 * aligned - 1), []),
        ((4 * aligned, narrow, 4 * aligned - 1), [2]),
        ((4 * aligned - 1, narrow, 4 * aligned), [2]),
        ((3 * width - 1, 64, 128), [2]),
        ((3 * width, 64, 128), [3]),
        ((128, 16, products.MOST_PIECES * width + 500), [products.MOST_PIECES]),
    ]:
        pieces.clear()
        A, B = draw(rng, n, inner, "float32", "dense"), draw(rng, inner, m, "float32", "dense")
        assert_equal_product(product(A, B), A, B)
        assert pieces == expected, (n, inner, m)


def test_pieces_cover_all_once():
    for size in (128, 129, 159, 160, 161, 1000, 2048, 3000, 8191, 8192, 8193, 100_000):
        pieces = products._pieces(size)
        covered = np.concatenate([np.arange(size)[piece] for piece in pieces])
        np.testing.assert_array_equal(covered, np.arange(size))
        assert 2 <= len(pieces) <= products.MOST_PIECES
        assert all(piece.start % products.ALIGNED == 0 for piece in pieces)


def test_every_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(0)
    for n, k, m in [(300, 300, 300), (2100, 100, 130), (20, 200, 5001), (5001, 20, 200)]:
        A, B = draw(rng, n, k, "float32", "dense"), draw(rng, k, m, "float32", "transposed")
        results = []
        for number in (1, 2, 3):
            threads.use(number)
            results.append(product(A, B))
        for other in results[1:]:
            np.testing.assert_array_equal(other, results[0])


def test_a_product_for_many_left_operands(array_backend, monkeypatch, pieces):
    rng = np.random.default_rng(0)
    for smallest in (1, 1 << 24):
        monkeypatch.setattr(products, "SMALLEST_SHARED", smallest)
        for n, k, m in [*SHAPES, *EMPTY]:
            for layout in LAYOUTS:
                B = draw(rng, k, m, "float64", layout)
                times_B = product_with(B, n)
                for _ in range(2):
                    A, out = draw(rng, n, k, "float64", layout), draw(rng, n, m, "float64", layout)
                    times_B(A, out)
                    assert_equal_product(out, A, B)
    assert bool(pieces) == (array_backend is np)


def test_operands_that_do_not_fit(array_backend):
    A, B = asarray(np.ones((3, 4))), asarray(np.ones((5, 2)))
    with pytest.raises(ValueError, match="matmul"):
        product(A, B)
    with pytest.raises(ValueError, match="matmul"):
        product(A, B[:4], out=asarray(np.ones((3, 3))))


@pytest.mark.parametrize("smallest", [1, 1 << 40])
def test_a_product_with_a_transpose_equals_the_backends(monkeypatch, smallest):
    monkeypatch.setattr(products, "SMALLEST_SHARED", smallest)
    rng = np.random.default_rng(0)
    for n, k, m in [(3, 5, 2), (7, 300, 40), (1, 129, 131)]:
        A, W = draw(rng, n, m, "float64", "dense"), draw(rng, k, m, "float64", "dense")
        assert_equal_product(product_with_transpose(W, n, A.dtype)(A), A, W.T)
