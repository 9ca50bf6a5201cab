"""Matrix products, large ones shared out between threads."""

from collections.abc import Callable
from functools import partial
from typing import Any

from deepnlp import backend
from deepnlp.backend import Array, xp
from deepnlp.backend.threads import in_parallel, in_parallel_later, one_blas_thread, slices

# A piece must be worth waking a thread for, and so wide that reading the other operand again takes
# little time beside the piece itself.
SMALLEST_SHARED = 1 << 24  # multiplications in the whole product
LARGE_MATRIX = 1 << 22  # numbers of B: reading so many takes long, however few rows A has
WIDTH, MOST_PIECES = 1024, 8  # rows or columns of a piece, where there are enough for two
TILE = 8  # rows of products in float64 whose rows must not depend on how many there are
ALIGNED = 32  # a piece ends where a block of BLAS ends


def product(A: Array, B: Array, out: Array | None = None) -> Array:
    """Return A B (n, m), in ``out`` if given; a large one is cut by rows or columns of the result.

    >>> product(xp.ones((2, 3)), xp.ones((3, 1)))
    array([[3.],
           [3.]])
    """
    n, (k, m) = len(A), B.shape
    with one_blas_thread():
        if not _is_shared(n, k, m):
            return xp.matmul(A, B, out=out)
        if out is None:
            out = xp.empty((n, m), dtype=xp.result_type(A.dtype, B.dtype))
        in_parallel(*_shares(A, B, out, _pieces(max(n, m))))
    return out


def product_later(A: Array, B: Array, end: Callable[[Array], None]) -> None:
    """Call ``end`` with A B, a large one by the end of :func:`deepnlp.backend.threads.later`."""
    if not _is_shared(len(A), *B.shape):
        end(product(A, B))
        return
    out = xp.empty((len(A), B.shape[1]), dtype=xp.result_type(A.dtype, B.dtype))
    shares = _shares(A, B, out, slices(max(out.shape), 4 * ALIGNED))
    with one_blas_thread():
        in_parallel_later(*shares, partial(end, out))


def batched_product(A: Array, B: Array, out: Array | None = None) -> Array:
    """A_n B_n for every n: (N, ..., n, k) times (N, ..., k, m), in ``out`` if given.

    >>> batched_product(xp.ones((2, 1, 3)), xp.ones((2, 3, 1))).tolist()
    [[[3.0]], [[3.0]]]
    """
    N, m = len(A), B.shape[-1]
    with one_blas_thread():
        if A.size * m < SMALLEST_SHARED or N < 2 or backend.name() != "numpy":
            return xp.matmul(A, B, out=out)
        if out is None:
            out = xp.empty((*A.shape[:-1], m), dtype=xp.result_type(A.dtype, B.dtype))
        pieces = slices(N, -(-N // MOST_PIECES))
        in_parallel(lambda r: xp.matmul(A[r], B[r], out=out[r]), pieces)
    return out


def product_by_tiles(A: Array, B: Array) -> Array:
    """Compute A B; in float64 a row has the same bits however many rows A has.

    BLAS adds up in an order that depends on the shape, for a row alone in another one than for a
    row among many. So all products are of :data:`TILE` rows, the last filled up with zeros.

    >>> A, B = (xp.cos(xp.arange(1.0, 1 + n)).reshape(-1, 60) for n in (6000, 6000))
    >>> bool((product_by_tiles(A, B.T)[7] == product_by_tiles(A[7:8], B.T)).all())
    True
    """
    n, (k, m) = len(A), B.shape
    if not (A.dtype.char == B.dtype.char == "d" and type(A) is xp.ndarray):
        return product(A, B)  # what only follows an array is followed through the plain product
    tiles = -(-n // TILE)
    with one_blas_thread():
        C = xp.matmul(filled(A, 0, TILE).reshape(tiles, TILE, k), B)
    return C.reshape(tiles * TILE, m)[:n]


def filled(x: Array, axis: int, size: int) -> Array:
    """Return an array with zeros behind, so that an axis becomes a multiple of a size.

    >>> filled(xp.ones((2, 1)), 0, 3).tolist()
    [[1.0], [1.0], [0.0]]
    """
    shape = list(x.shape)
    shape[axis] = -x.shape[axis] % size
    return xp.concatenate([x, xp.zeros(shape, x.dtype)], axis=axis)


def affine(x: Array, W: Array, b: Array | None) -> Array:
    """x W + b, (n, D) times (D, M): a bias is added in place where the types allow it."""
    y = product_by_tiles(x, W)
    if b is not None:
        y = xp.add(y, b, out=y if y.dtype == b.dtype else None)
    return y


def product_with(B: Array, n: int) -> Callable[[Array, Array], object]:
    """Return the function that writes A B into ``out``, for many A of n rows: ``times_B(A, out)``.

    For a loop over time that runs with one BLAS thread, as in a kernel: whatever can be decided
    before the loop is decided here.
    """
    k, m = B.shape
    if not _is_shared(n, k, m):
        return lambda A, out: xp.matmul(A, B, out=out)
    columns = [(c, B[:, c]) for c in _pieces(m)]
    return lambda A, out: in_parallel(lambda c: xp.matmul(A, c[1], out=out[:, c[0]]), columns)


def product_with_transpose(W: Array, n: int, dtype: Any) -> Callable[[Array], Array]:
    """Return the function that gives A W^T (n, k), in memory that its next call reuses.

    ``dtype`` is the number type of the result. On the GPU the product reads W as it is. Elsewhere
    a small W is transposed once; a large one is read row by row, as A W^T = (W A^T)^T.
    """
    k, m = W.shape
    if backend.name() == "cupy":
        out = xp.empty((n, k), dtype=dtype)
        return lambda A: xp.matmul(A, W.T, out=out)
    out = xp.empty((k, n), dtype=dtype).T
    if not _is_shared(n, m, k):
        W_T = xp.ascontiguousarray(W.T)
        return lambda A: xp.matmul(A, W_T, out=out)
    rows = [(r, W[r]) for r in _pieces(k)]

    def times_W_T(A: Array) -> Array:
        in_parallel(lambda r: xp.matmul(r[1], A.T, out=out.T[r[0]]), rows)
        return out

    return times_W_T


def _is_shared(n: int, k: int, m: int) -> bool:
    """Return whether a product of (n, k) and (k, m) is shared out between threads."""
    large = n * k * m >= SMALLEST_SHARED or k * m >= LARGE_MATRIX
    return large and max(n, m) >= 4 * ALIGNED and backend.name() == "numpy"


def _shares(A: Array, B: Array, out: Array, pieces: list[Any]) -> tuple[Any, list[Any]]:
    """Return the work of a piece of a product, rows or columns of the result, and the pieces."""
    if len(out) >= out.shape[1]:
        return lambda r: xp.matmul(A[r], B, out=out[r]), pieces
    return lambda c: xp.matmul(A, B[:, c], out=out[:, c]), pieces


def _pieces(size: int) -> list[Any]:
    pieces = min(max(2, size // WIDTH), MOST_PIECES)
    return slices(size, -(-size // (pieces * ALIGNED)) * ALIGNED)
