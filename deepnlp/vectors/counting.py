r"""Word vectors by counting: which words occur near which, how much more often than by chance.

The road from a text to vectors has three steps, one function each::

    counts = cooccurrence(corpus.train, len(corpus.vocab), window=5)   # (V, V), sparse
    weights = ppmi(counts, smoothing=0.75)                             # (V, V), sparse
    vectors = svd_vectors(weights, size=100)                           # (V, 100)

Everything here lives on the host, in NumPy arrays and SciPy's sparse matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from deepnlp.backend import HostArray, check_ids, check_number
from deepnlp.backend.threads import one_blas_thread

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["cooccurrence", "ppmi", "svd_vectors", "truncated_svd"]

#: By name, how much a pair of words counts at the distances k (window,) = 1, 2, ..., window.
WEIGHTINGS: dict[str, Callable[[HostArray], HostArray]] = {
    "flat": np.ones_like,
    "harmonic": lambda k: 1.0 / k,
    "linear": lambda k: (len(k) - k + 1) / len(k),
}


def cooccurrence(
    ids: HostArray,
    vocab_size: int,
    window: int = 5,
    *,
    sentence_end: int | None = None,
    weighting: str = "flat",
) -> csr_array:
    r"""Return how often each word occurs near each other word.

    .. math:: C_{ij} = \sum_{t}\; \sum_{1 \le |k| \le \mathrm{window}} f(|k|)\,
              [w_t = i]\,[w_{t+k} = j]

    Each pair of positions counts in both directions, so C is symmetric; a word that occurs twice
    within a window counts as its own neighbour.

    Parameters
    ----------
    ids : array of int, shape (n,)
        A text, such as ``corpus.train``.
    vocab_size : int
        V; every id is below it.
    window : int
        The largest distance of a pair, in words.
    sentence_end : int, optional
        Id of the token that ends a sentence, such as ``corpus.vocab.eos_id``. Windows then stop at
        it: no pair of words has one between them, and the token itself is in no pair. By default
        the text is one long line.
    weighting : {"flat", "harmonic", "linear"}
        f(k), the weight of a pair at distance k: 1; 1 / k (GloVe); (window - k + 1) / window, which
        is what word2vec's windows of random reach give on average.

    Returns
    -------
    scipy.sparse.csr_array, shape (V, V)
        int64 where the weighting is flat, else float64.

    Raises
    ------
    ValueError
        If the ids are not a row of whole numbers from 0 to V - 1, the window is below 1, or the
        weighting has no such name.

    Notes
    -----
    The loop runs over the distances 1 to ``window``, not over the words: at each distance all
    pairs are taken at once. Counting the Penn Treebank takes a fraction of a second. Weighting by
    distance is compared with other choices by Levy, Goldberg and Dagan, *Improving distributional
    similarity with lessons learned from word embeddings* (TACL 2015), section 3.1.

    Examples
    --------
    >>> cooccurrence([0, 1, 2, 1], vocab_size=3, window=1).toarray()
    array([[0, 1, 0],
           [1, 0, 2],
           [0, 2, 0]])
    """
    from scipy.sparse import coo_array, csr_array

    ids = np.asarray(ids)
    if ids.ndim != 1 or (len(ids) and ids.dtype.kind not in "iu"):
        raise ValueError(
            f"cooccurrence: expected ids of shape (n,), whole numbers; got {ids.dtype} of shape"
            f" {ids.shape}"
        )
    check_ids("cooccurrence", ids, vocab_size)
    check_number("window", window, whole=True, low=1)
    if weighting not in WEIGHTINGS:
        raise ValueError(
            f"cooccurrence: no weighting is called {weighting!r}; there are {', '.join(WEIGHTINGS)}"
        )
    weights = WEIGHTINGS[weighting](np.arange(1, window + 1))  # (window,)
    ends = np.zeros(len(ids), dtype=bool) if sentence_end is None else ids == sentence_end
    words = ~ends
    sentence = np.cumsum(ends)  # (n,): number of the sentence that a position belongs to
    counts = csr_array((vocab_size, vocab_size), dtype=weights.dtype)
    for k in range(1, min(window + 1, len(ids))):
        together = (sentence[:-k] == sentence[k:]) & words[:-k] & words[k:]
        left, right = ids[:-k][together], ids[k:][together]
        pairs = coo_array((np.full(len(left), weights[k - 1]), (left, right)), counts.shape)
        counts += pairs.tocsr()  # adds up a pair that occurs more than once
    return (counts + counts.T).tocsr()


def ppmi(counts: Any, *, smoothing: float = 1.0, negatives: float = 1.0) -> csr_array:
    r"""Return the positive pointwise mutual information of words and contexts.

    .. math:: \mathrm{PMI}_{ij} = \log \frac{P(i, j)}{P(i)\, P_\alpha(j)}, \qquad
              P_\alpha(j) = \frac{C_{\cdot j}^\alpha}{\sum_l C_{\cdot l}^\alpha}, \qquad
              M_{ij} = \max(\mathrm{PMI}_{ij} - \log k,\; 0)

    Parameters
    ----------
    counts : matrix, shape (V, n)
        Counts of words (rows) with contexts (columns), sparse or dense, as of
        :func:`cooccurrence`.
    smoothing : float
        alpha. Below 1 it makes rare contexts more probable, and so takes PMI off them; 0.75 is
        usual.
    negatives : float
        k, the number of negative samples of the word2vec that this corresponds to; log k is
        subtracted. With 1, nothing is.

    Returns
    -------
    scipy.sparse.csr_array, shape (V, n)
        float64, in nats; only entries above zero are stored.

    Raises
    ------
    ValueError
        If the counts are not a matrix, hold a negative or infinite entry, or are zero everywhere,
        or if smoothing or negatives is not above zero.

    Notes
    -----
    PMI as a measure of association of words: Church and Hanks, *Word association norms, mutual
    information, and lexicography* (1990), equation 1, there in bits. The shift by log k: Levy and
    Goldberg, *Neural word embedding as implicit matrix factorization* (2014), equation 11. The
    smoothed context distribution: Levy, Goldberg and Dagan (2015), equation 3.

    A pair that never occurs has a PMI of minus infinity, and 0 here. So the result is as sparse as
    the counts.

    Examples
    --------
    >>> ppmi([[0, 2, 0], [2, 0, 2], [0, 2, 0]]).toarray().round(3)
    array([[0.   , 0.693, 0.   ],
           [0.693, 0.   , 0.693],
           [0.   , 0.693, 0.   ]])
    """
    from scipy.sparse import csr_array

    C = _checked_matrix(counts, "ppmi").tocoo()
    if not np.isfinite(C.data).all() or (C.data < 0).any() or not C.data.any():
        raise ValueError("ppmi: expected counts of zero and more, some of them above zero")
    check_number("smoothing", smoothing, above=0)
    check_number("negatives", negatives, above=0)
    C.data = C.data.astype(np.float64)
    of_word, of_context = C.sum(axis=1), C.sum(axis=0)  # (V,), (n,)
    smoothed = of_context**smoothing
    expected = of_word[C.row] * (smoothed / smoothed.sum())[C.col]  # by chance, of each pair
    with np.errstate(divide="ignore"):  # a stored zero has log 0, which the maximum takes off
        pmi = np.log(C.data / expected)
    C.data = np.maximum(pmi - np.log(negatives), 0.0)
    weights = csr_array(C)
    weights.eliminate_zeros()
    return weights


def truncated_svd(matrix: Any, size: int) -> tuple[HostArray, HostArray, HostArray]:
    r"""Return the largest singular values of a matrix and their vectors.

    .. math:: M \approx U \,\mathrm{diag}(S)\, V^\top

    Of all matrices of rank ``size``, the product is nearest to M in squares.

    Parameters
    ----------
    matrix : matrix, shape (V, n)
        Sparse or dense.
    size : int
        How many singular values, from 1 to min(V, n).

    Returns
    -------
    U : ndarray, shape (V, size)
        Left singular vectors in columns; in each the entry of largest size is positive.
    S : ndarray, shape (size,)
        Singular values, the largest first.
    Vt : ndarray, shape (size, n)
        Right singular vectors in rows.

    Raises
    ------
    ValueError
        If it is not a matrix of finite numbers, or the size is out of range.

    Notes
    -----
    SciPy's ``svds`` (ARPACK), started from a fixed vector, so that a matrix has the same result
    every time. ARPACK gives only part of the singular values; where half of them or more are wanted
    the matrix is small, and LAPACK's complete decomposition is cut.

    Examples
    --------
    >>> U, S, Vt = truncated_svd([[3.0, 0.0], [0.0, -2.0], [0.0, 0.0]], size=2)
    >>> S.round(6).tolist(), (U * S @ Vt).round(6).tolist()
    ([3.0, 2.0], [[3.0, 0.0], [0.0, -2.0], [0.0, 0.0]])
    """
    from scipy.sparse.linalg import svds

    M = _checked_matrix(matrix, "truncated_svd").astype(np.float64)
    least = min(M.shape)
    if not 1 <= size <= least:
        raise ValueError(f"truncated_svd: the size is {size}, expected 1 to {least} of {M.shape}")
    if not np.isfinite(M.data).all():
        raise ValueError("truncated_svd: the matrix holds nan or infinity")
    with one_blas_thread():
        if 2 * size >= least or not M.nnz:
            U, S, Vt = np.linalg.svd(M.toarray(), full_matrices=False)
        else:
            start = np.random.default_rng(0).standard_normal(least)
            U, S, Vt = svds(M, k=size, v0=start)
    order = np.argsort(-S, kind="stable")[:size]
    U, S, Vt = U[:, order], S[order], Vt[order]
    signs = np.where(U[np.abs(U).argmax(axis=0), np.arange(size)] < 0, -1.0, 1.0)
    return U * signs, S, Vt * signs[:, None]


def svd_vectors(matrix: Any, size: int, *, power: float = 0.5) -> HostArray:
    r"""Return the word vectors: the rows of a matrix in its leading directions.

    .. math:: W = U \,\mathrm{diag}(S)^p

    Parameters
    ----------
    matrix : matrix, shape (V, n)
        A row for each word, sparse or dense, as of :func:`ppmi`.
    size : int
        D, numbers in a vector.
    power : float
        p. With 1, dot products are those of the rows of the best approximation; with 0.5 the
        values are shared equally between words and contexts; with 0 all directions count alike.

    Returns
    -------
    ndarray, shape (V, D)
        float64.

    Raises
    ------
    ValueError
        As :func:`truncated_svd`; or if the power is negative.

    Notes
    -----
    Powers of 0.5 and 0 gave better vectors than 1 in Levy, Goldberg and Dagan (2015), section 3.3.

    Examples
    --------
    >>> svd_vectors([[4.0, 0.0], [0.0, 1.0], [0.0, 0.0]], size=2).round(6).tolist()
    [[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    check_number("power", power, low=0)
    U, S, _ = truncated_svd(matrix, size)
    return np.asarray(U * S**power)


def _checked_matrix(matrix: Any, who: str) -> csr_array:
    """Return the matrix in sparse form, a copy; a ValueError where it is none."""
    from scipy.sparse import csr_array, issparse

    M = matrix if issparse(matrix) else np.asarray(matrix)
    if M.ndim != 2 or M.dtype.kind not in "biuf":
        raise ValueError(f"{who}: expected a matrix of numbers, got {M.dtype} of shape {M.shape}")
    M = csr_array(M, copy=True)
    M.sum_duplicates()
    return M
