"""Counting against brute force, word by word; the decomposition against LAPACK."""

import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

from deepnlp.datasets import load_corpus
from deepnlp.vectors.counting import WEIGHTINGS, cooccurrence, ppmi, svd_vectors, truncated_svd
from tests.cases import together
from tests.datasets.conditions import needs

V = 5
texts = st.lists(st.integers(0, V - 1), max_size=25)
windows = st.integers(1, 6)


def counted_by_hand(ids, window, sentence_end=None, weight=lambda k: 1):
    """C (V, V), by looking at every position and every neighbour of it."""
    C = np.zeros((V, V))
    for t, word in enumerate(ids):
        for u in range(max(0, t - window), min(len(ids), t + window + 1)):
            between = ids[min(t, u) : max(t, u) + 1]
            if u != t and sentence_end not in between:
                C[word, ids[u]] += weight(abs(u - t))
    return C


@given(texts, windows, st.sampled_from([None, 0, 3]))
def test_counts_are_those_of_a_walk_over_the_text(ids, window, sentence_end):
    counts = cooccurrence(ids, V, window, sentence_end=sentence_end)
    np.testing.assert_array_equal(counts.toarray(), counted_by_hand(ids, window, sentence_end))
    assert counts.dtype == np.int64
    assert (counts.data > 0).all()


@given(texts, windows, st.sampled_from([None, 2]))
def test_near_pairs_weigh_more(ids, window, sentence_end):
    by_hand = {
        "harmonic": lambda k: 1 / k,
        "linear": lambda k: (window - k + 1) / window,
        "flat": lambda k: 1,
    }
    assert set(WEIGHTINGS) == set(by_hand)
    for name, weight in by_hand.items():
        counts = cooccurrence(ids, V, window, sentence_end=sentence_end, weighting=name)
        expected = counted_by_hand(ids, window, sentence_end, weight)
        np.testing.assert_allclose(counts.toarray(), expected)


def test_linear_weights_are_windows_of_random_reach_on_average():
    ids = np.random.default_rng(0).integers(0, V, 40)
    reaches = [cooccurrence(ids, V, reach).toarray() for reach in (1, 2, 3, 4)]
    linear = cooccurrence(ids, V, 4, weighting="linear").toarray()
    np.testing.assert_allclose(linear, np.mean(reaches, axis=0))


@given(texts, windows)
def test_the_counts_are_symmetric_and_nothing_is_lost(ids, window):
    counts = cooccurrence(ids, V, window)
    assert (counts != counts.T).nnz == 0
    pairs = sum(max(len(ids) - k, 0) for k in range(1, window + 1))
    assert counts.sum() == 2 * pairs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ids": [[0, 1]]}, r"expected ids of shape \(n,\)"),
        ({"ids": [0.5, 1.0]}, "whole numbers; got float64"),
        ({"ids": [0, 3]}, "ids should be from 0 to 2, got 3"),
        ({"ids": [-1, 2]}, "ids should be from 0 to 2, got -1"),
        ({"window": 0}, "window should be 1 or more, got 0"),
        ({"weighting": "cubic"}, "'cubic'; there are flat, harmonic, linear"),
    ],
)
def test_a_text_that_cannot_be_counted(arguments, message):
    with pytest.raises(ValueError, match=message):
        cooccurrence(**({"ids": [0, 1, 2], "vocab_size": 3, "window": 2} | arguments))


def ppmi_by_hand(C, smoothing, negatives):
    """Entry by entry, from probabilities."""
    joint = C / C.sum()
    word = C.sum(axis=1) / C.sum()
    context = C.sum(axis=0) ** smoothing / (C.sum(axis=0) ** smoothing).sum()
    M = np.zeros(C.shape)
    for i, j in np.argwhere(C > 0):
        M[i, j] = max(0.0, np.log(joint[i, j] / (word[i] * context[j])) - np.log(negatives))
    return M


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=5),
    st.sampled_from([1.0, 0.75, 0.5]),
    st.sampled_from([1, 5, 0.5]),
)
def test_ppmi_of_small_tables(table, smoothing, negatives):
    C = np.array(table, dtype=float)
    if not C.any():
        return
    weights = ppmi(C, smoothing=smoothing, negatives=negatives)
    np.testing.assert_allclose(
        weights.toarray(), ppmi_by_hand(C, smoothing, negatives), rtol=1e-12, atol=1e-12
    )
    assert (weights.data > 0).all()  # only what is above zero is stored


def test_ppmi_takes_any_matrix_and_leaves_it_as_it_was():
    dense = np.array([[0, 2, 1], [2, 0, 5], [1, 5, 0]])
    twice = coo_array(([1, 1, 1, 2, 5, 1, 5], ([0, 0, 0, 1, 1, 2, 2], [1, 1, 2, 0, 2, 0, 1])))
    stored_zero = csr_array(dense)
    stored_zero.data[0] = 0
    for counts in (dense, csr_array(dense), csr_array(dense).tocsc(), twice):
        before = counts.copy()
        np.testing.assert_allclose(ppmi(counts).toarray(), ppmi_by_hand(dense, 1, 1), atol=1e-14)
        assert abs(counts - before).sum() == 0
    assert ppmi(stored_zero)[0, 1] == 0


def test_smoothing_takes_pmi_off_rare_contexts():
    C = np.array([[50.0, 2.0], [50.0, 1.0]])
    assert ppmi(C, smoothing=0.5)[0, 0] > 0
    assert ppmi(C, smoothing=0.5)[0, 1] < ppmi(C)[0, 1]


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        ([[1.0, -1.0]], {}, "counts of zero and more"),
        ([[1.0, np.inf]], {}, "counts of zero and more"),
        ([[1.0, np.nan]], {}, "counts of zero and more"),
        ([[0.0, 0.0]], {}, "some of them above zero"),
        ([1.0, 2.0], {}, r"expected a matrix of numbers, got float64 of shape \(2,\)"),
        ([[1.0]], {"smoothing": 0}, "smoothing should be above 0, got 0"),
        ([[1.0]], {"negatives": -1}, "negatives should be above 0, got -1"),
        ([[1.0]], {"negatives": np.nan}, "negatives should be above 0, got nan"),
    ],
)
def test_counts_that_have_no_ppmi(counts, options, message):
    with pytest.raises(ValueError, match=message):
        ppmi(np.array(counts), **options)


def random_sparse(rows, columns, seed):
    rng = np.random.default_rng(seed)
    return csr_array(rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.3))


@pytest.mark.parametrize(("rows", "columns"), [(30, 30), (40, 25), (25, 40), (1, 7), (7, 1)])
@together(size=[1, 3, 12, 24, 25])
def test_the_decomposition_is_that_of_lapack(rows, columns, size):
    M = random_sparse(rows, columns, seed=1)
    if size > min(M.shape):
        return
    U, S, Vt = truncated_svd(M, size)
    assert U.shape == (rows, size)
    assert Vt.shape == (size, columns)
    np.testing.assert_allclose(S, np.linalg.svd(M.toarray())[1][:size], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(M @ Vt.T, U * S, atol=1e-10)
    np.testing.assert_allclose(U.T @ U, np.eye(size), atol=1e-10)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(size), atol=1e-10)


def test_signs_and_order_are_settled():
    M = random_sparse(50, 50, seed=2)
    U, S, Vt = truncated_svd(M, 6)
    assert (np.diff(S) <= 0).all()
    assert (U[np.abs(U).argmax(axis=0), np.arange(6)] > 0).all()
    for again in (truncated_svd(M, 6), truncated_svd(M.toarray(), 6)):
        for one, other in zip((U, S, Vt), again, strict=True):
            np.testing.assert_array_equal(one, other)
    dense = np.linalg.svd(M.toarray())[0][:, :6]
    np.testing.assert_allclose(np.abs(dense.T @ U), np.eye(6), atol=1e-9)


def test_a_matrix_of_lower_rank_than_the_size():
    one = random_sparse(40, 40, seed=3).toarray()
    M = np.outer(one[0], one[1]) + np.outer(one[2], one[3])
    U, S, Vt = truncated_svd(M, 5)
    np.testing.assert_allclose(S[2:], 0, atol=1e-6 * S[0])
    np.testing.assert_allclose(U * S @ Vt, M, atol=1e-6 * S[0])
    assert truncated_svd(np.zeros((20, 20)), 3)[1].tolist() == [0, 0, 0]


@given(st.floats(0, 2), st.integers(1, 5))
def test_vectors_are_left_singular_vectors_times_a_power(power, size):
    M = random_sparse(20, 20, seed=4)
    U, S, _ = truncated_svd(M, size)
    np.testing.assert_array_equal(svd_vectors(M, size, power=power), U * S**power)


def test_the_dot_products_of_power_one_are_those_of_the_rows():
    M = random_sparse(12, 9, seed=5)
    vectors = svd_vectors(M, 9, power=1.0)
    np.testing.assert_allclose(vectors @ vectors.T, (M @ M.T).toarray(), atol=1e-10)


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        (np.eye(3), {"size": 0}, "the size is 0, expected 1 to 3"),
        (np.eye(3)[:2], {"size": 3}, "the size is 3, expected 1 to 2"),
        (np.eye(3) * np.nan, {"size": 1}, "nan or infinity"),
        (np.ones(3), {"size": 1}, "expected a matrix"),
        (np.eye(3), {"size": 1, "power": -1}, "power should be 0 or more, got -1"),
    ],
)
def test_vectors_that_cannot_be_had(matrix, options, message):
    with pytest.raises(ValueError, match=message):
        svd_vectors(matrix, **options)


def test_scipy_is_imported_only_when_something_is_counted():
    code = "import deepnlp, deepnlp.vectors.counting, sys; print('scipy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


@needs("ptb/ptb.train.txt")
def test_the_penn_treebank_in_seconds():
    corpus = load_corpus("ptb")
    begun = time.process_time()
    counts = cooccurrence(corpus.train, len(corpus.vocab), 5, sentence_end=corpus.vocab.eos_id)
    weights = ppmi(counts, smoothing=0.75)
    assert time.process_time() - begun < 10
    the, of = corpus.vocab.id("the"), corpus.vocab.id("of")
    lines = np.split(corpus.train, np.flatnonzero(corpus.train == corpus.vocab.eos_id))
    near = 0
    for line in lines:
        places = {word: np.flatnonzero(line == word) for word in (the, of)}
        near += (np.abs(np.subtract.outer(places[the], places[of])) <= 5).sum()
    assert counts[the, of] == counts[of, the] == near
    assert counts[[corpus.vocab.eos_id]].sum() == 0
    assert 0 < weights.nnz < counts.nnz
