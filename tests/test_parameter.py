"""Parameter: value, gradient, the three ways to accumulate, sparse gradients, the transpose."""

import copy

import numpy as np
import pytest

from deepnlp.backend import asarray, asnumpy
from deepnlp.parameter import Parameter
from tests.cases import together

RNG = np.random.default_rng(7)
W0 = RNG.normal(size=(4, 3))


def same(array, expected):
    np.testing.assert_allclose(asnumpy(array), expected, rtol=0, atol=1e-14)


def test_value_is_copied_from_the_host_or_the_device(array_backend):
    device = asarray(W0.copy())
    W = Parameter(device)
    device += 1
    same(W.value, W0)
    same(Parameter(W0).value, W0)
    assert W.shape == (4, 3)
    assert W.dtype == np.float64


def test_accumulate_adds_and_zero_grad_forgets(array_backend):
    W = Parameter(W0)
    same(W.grad, np.zeros((4, 3)))
    g = RNG.normal(size=(4, 3))
    given = asarray(g)
    W.accumulate(given)
    W.accumulate(given)
    same(W.grad, 2 * g)
    same(given, g)
    W.zero_grad()
    same(W.grad, np.zeros((4, 3)))
    W.accumulate(given)
    W.accumulate(asarray(W0))
    same(W.grad, g + W0)
    same(given, g)


@pytest.mark.parametrize("n", [1, 5])
def test_accumulate_product_and_rows(array_backend, n):
    A, B = RNG.normal(size=(4, n)), RNG.normal(size=(n, 3))
    ids = RNG.integers(0, 4, size=n)
    ids[-1] = ids[0]
    W = Parameter(W0)
    W.accumulate_product(asarray(A), asarray(B))
    W.accumulate_product(asarray(A), asarray(B))
    W.accumulate_rows(asarray(ids), asarray(B))
    one_hot = np.eye(4)[ids]
    same(W.grad, 2 * A @ B + one_hot.T @ B)


def test_rows_into_a_fresh_gradient_add_up_over_repeated_ids(array_backend):
    W = Parameter(W0)
    rows = RNG.normal(size=(3, 3))
    W.accumulate_rows(asarray([2, 0, 2]), asarray(rows))
    expected = np.zeros((4, 3))
    expected[2] = rows[0] + rows[2]
    expected[0] = rows[1]
    same(W.grad, expected)


def test_the_transpose_reads_the_same_parameter(array_backend):
    W = Parameter(W0, name="W")
    assert W.T.T is W
    assert W.T.bases == (W,)
    assert W.T.shape == (3, 4)
    same(W.T.value, W0.T)
    g = RNG.normal(size=(3, 4))
    A, B = RNG.normal(size=(3, 2)), RNG.normal(size=(2, 4))
    rows = RNG.normal(size=(2, 4))
    W.T.accumulate(asarray(g))
    W.T.accumulate_product(asarray(A), asarray(B))
    W.T.accumulate_rows(asarray([1, 1]), asarray(rows))
    expected = g + A @ B
    expected[1] += rows.sum(axis=0)
    same(W.grad, expected.T)
    W.value[0, 1] = 9.0
    assert float(W.T.value[1, 0]) == 9.0


def test_a_square_weight_is_transposed_too(array_backend):
    square = RNG.normal(size=(3, 3))
    W = Parameter(square)
    g, A, B, rows = RNG.normal(size=(4, 3, 3))
    W.T.accumulate(asarray(g))
    W.T.accumulate_product(asarray(A), asarray(B))
    W.T.accumulate_rows(asarray([2, 2, 0]), asarray(rows))
    expected = g + A @ B
    expected[2] += rows[0] + rows[1]
    expected[0] += rows[2]
    same(W.grad, expected.T)
    same(W.T.value, square.T)


def test_wrong_shapes_name_the_parameter_and_both_shapes(array_backend):
    W = Parameter(W0, name="Wx")
    wrong = asarray(np.ones((3, 4)))
    for act in (
        lambda: W.accumulate(wrong),
        lambda: W.accumulate(asarray(np.ones(3))),
        lambda: W.accumulate_product(wrong, wrong.T),
        lambda: W.T.accumulate(asarray(W0)),
        lambda: W.accumulate_rows(asarray([0, 1]), asarray(np.ones((2, 4)))),
        lambda: W.accumulate_rows(asarray([0, 1, 2]), asarray(np.ones((2, 3)))),
    ):
        with pytest.raises(ValueError, match=r"Wx.*\(.*\).*\("):
            act()
    same(W.grad, np.zeros((4, 3)))
    with pytest.raises(ValueError, match="shape"):
        W.value = wrong


def test_a_parameter_is_made_of_real_or_complex_floats(array_backend):
    with pytest.raises(TypeError, match="float"):
        Parameter(np.arange(3))
    assert Parameter(np.ones(2, dtype="complex128")).dtype == np.complex128


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_types_are_kept(array_backend, dtype):
    W = Parameter(W0.astype(dtype))
    assert W.value.dtype == W.grad.dtype == W.T.value.dtype == dtype
    W.accumulate(asarray(W0.astype(dtype)))
    assert W.grad.dtype == dtype
    zeros = Parameter.zeros(2, 3, dtype=dtype)
    assert zeros.value.dtype == dtype
    assert zeros.shape == (2, 3)
    W.astype("complex128")
    assert W.dtype == np.complex128


def test_a_frozen_parameter_collects_nothing(array_backend):
    W = Parameter(W0, trainable=False)
    W.accumulate(asarray(W0))
    W.accumulate_product(asarray(W0), asarray(np.ones((3, 3))))
    W.accumulate_rows(asarray([0]), asarray(W0[:1]))
    W.T.accumulate(asarray(W0.T))
    same(W.grad, np.zeros((4, 3)))


def test_copies_share_nothing_but_keep_the_transpose(array_backend):
    W = Parameter(W0)
    pair = copy.deepcopy([W, W.T])
    assert pair[1].T is pair[0]
    pair[0].value += 1
    same(W.value, W0)
    same(pair[1].value, W0.T + 1)


def test_what_is_assigned_stays_the_callers(array_backend):
    mine = array_backend.asarray([1.0, 2.0])
    p = Parameter([0.0, 0.0])
    p.value = mine
    p.grad = mine
    p.value -= p.grad
    p.accumulate(mine)
    assert asnumpy(mine).tolist() == [1.0, 2.0]
    assert asnumpy(p.grad).tolist() == [2.0, 4.0]


def test_a_gradient_has_the_number_type_of_its_parameter(array_backend):
    p = Parameter(array_backend.zeros((2, 2), dtype="float32"))
    for _ in range(2):
        p.accumulate_product(array_backend.ones((2, 3)), array_backend.ones((3, 2)))
        assert p.grad.dtype == np.float32


def test_a_list_is_no_gradient():
    with pytest.raises(TypeError, match="expected an array, got a list"):
        Parameter([1.0]).accumulate([1.0])


# Sparse gradients.

V, D = 40, 3
IDS = {
    "repeated": [7, 2, 7, 39, 0, 7, 2],
    "distinct": [5, 3, 9],
    "one": [11],
    "all the same": [4] * 12,
    "none": [],
}
every_ids = pytest.mark.parametrize("ids", IDS.values(), ids=IDS.keys())


def lookups(ids, seed=0, dtype="float64"):
    """Ids and rows, and the dense array that they add up to, in the order of the rows."""
    ids = np.array(ids, dtype="int64")
    rows = np.random.default_rng(seed).normal(size=(len(ids), D)).astype(dtype)
    dense = np.zeros((V, D), dtype)
    np.add.at(dense, ids, rows)
    return asarray(ids), asarray(rows), dense


def table(dtype="float64"):
    return Parameter(np.random.default_rng(1).normal(size=(V, D)).astype(dtype))


@every_ids
@together(dtype=["float64", "float32", "complex128"])
def test_the_gradient_of_a_lookup_is_sparse_until_it_is_asked_for(array_backend, ids, dtype):
    W = table(dtype)
    indices, rows, dense = lookups(ids, dtype=dtype)
    W.accumulate_rows(indices, rows)
    found, sums = (asnumpy(a) for a in W.sparse_grad)
    assert found.tolist() in (sorted(ids), sorted({*ids}))  # the plain form, the quick one
    assert sums.dtype == dtype
    for place, id_ in enumerate(found):
        first = place == 0 or found[place - 1] != id_
        np.testing.assert_array_equal(sums[place], dense[id_] if first else 0)
    np.testing.assert_array_equal(asnumpy(W.grad), dense)
    assert W.grad.dtype == dtype
    assert W.sparse_grad is None
    W.accumulate_rows(indices, rows)
    assert W.sparse_grad is None
    np.testing.assert_allclose(asnumpy(W.grad), 2 * dense, rtol=1e-5, atol=1e-6)
    W.zero_grad()
    same(W.grad, np.zeros((V, D)))


@every_ids
def test_two_backward_passes_add_up_and_stay_sparse(array_backend, ids):
    W = table()
    (first, rows, dense), (second, more, dense_too) = lookups(ids), lookups([2, 8, 2], seed=5)
    W.accumulate_rows(first, rows)
    W.accumulate_rows(second, more)
    assert W.sparse_grad is not None
    same(W.grad, dense + dense_too)


@every_ids
@together(order=["dense first", "sparse first"], kind=["array", "product", "transpose"])
def test_a_tied_weight_has_the_sum_of_both_in_either_order(array_backend, ids, order, kind):
    W = table()
    indices, rows, dense = lookups(ids)
    A, B = (
        np.random.default_rng(2).normal(size=(V, 2)),
        np.random.default_rng(3).normal(size=(2, D)),
    )
    uses = [
        {
            "array": lambda: W.accumulate(asarray(A @ B)),
            "product": lambda: W.accumulate_product(asarray(A), asarray(B)),
            "transpose": lambda: W.T.accumulate_product(asarray(B.T), asarray(A.T)),
        }[kind],
        lambda: W.accumulate_rows(indices, rows),
    ]
    for use in uses if order == "dense first" else reversed(uses):
        use()
    assert W.sparse_grad is None
    same(W.grad, A @ B + dense)


def test_a_sparse_gradient_is_a_copy_and_is_forgotten(array_backend):
    W = table()
    indices, rows, dense = lookups([3, 1, 3])
    W.accumulate_rows(indices, rows)
    rows *= 0
    indices *= 0
    same(W.grad, dense)
    W.zero_grad()
    W.accumulate_rows(*lookups([3, 1, 3])[:2])
    W.grad = asarray(dense)
    assert W.sparse_grad is None
    same(W.grad, dense)
    W.zero_grad()
    W.accumulate_rows(*lookups([3])[:2])
    W.zero_grad()
    assert W.sparse_grad is None
    same(W.grad, np.zeros((V, D)))


def test_as_many_ids_as_rows_make_it_dense(array_backend):
    W = table()
    for count in range(3):
        W.accumulate_rows(*lookups(range(V // 2))[:2])
        assert (W.sparse_grad is None) == (count > 0)
    same(W.grad, 3 * lookups(range(V // 2))[2])


def test_rows_of_a_frozen_parameter_are_not_kept(array_backend):
    W = table()
    W.trainable = False
    W.accumulate_rows(*lookups([3, 1])[:2])
    assert W.sparse_grad is None
    same(W.grad, np.zeros((V, D)))


def test_ids_of_mixed_integer_types(array_backend):
    W = table()
    for dtype in ("uint64", "int32", "uint8"):
        W.accumulate_rows(asarray(np.array([3, 9], dtype)), asarray(np.ones((2, D))))
    assert float(W.grad.sum()) == 6 * D
