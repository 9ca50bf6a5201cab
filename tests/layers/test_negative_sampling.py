"""EmbeddingDot and NegativeSamplingLoss against loops over pairs."""

import numpy as np
import pytest

from deepnlp.backend import asarray, asnumpy
from deepnlp.layers import EmbeddingDot, NegativeSamplingLoss
from tests.cases import together
from tests.layers.tools import assert_close

RNG = np.random.default_rng(21)
V, D = 9, 3


def log_sigmoid(s):
    return -np.log1p(np.exp(-s))


@pytest.mark.parametrize(
    ("h", "ids", "letters"),
    [
        ((4, D), (4,), "nd,nd->n"),
        ((4, D), (4, 2), "nd,nkd->nk"),
        ((4, 5, D), (4, 2), "nbd,nkd->nbk"),
        ((4, 5, D), (4,), "nbd,nd->nb"),
        ((1, 1, D), (1, 1), "nbd,nkd->nbk"),
        ((0, D), (0, 2), "nd,nkd->nk"),
    ],
)
@together(dtype=["int64", "int32", "uint16"])
def test_a_score_is_an_inner_product(array_backend, h, ids, letters, dtype):
    W, x = RNG.normal(size=(V, D)), RNG.normal(size=h)
    chosen = RNG.integers(0, V, size=ids).astype(dtype)
    dot = EmbeddingDot(asarray(W))
    expected = np.einsum(letters, x, W[chosen])
    assert_close(dot.forward(asarray(x), asarray(chosen)), expected)
    ds = RNG.normal(size=expected.shape)
    dh = dot.backward(asarray(ds))
    into, out = letters.split("->")
    left, right = into.split(",")
    assert_close(dh, np.einsum(f"{out},{right}->{left}", ds, W[chosen]))
    dW = np.zeros_like(W)
    np.add.at(dW, chosen, np.einsum(f"{out},{left}->{right}", ds, x))
    assert_close(dot.W.grad, dW)


def test_the_gradient_of_the_table_stays_sparse(array_backend):
    dot = EmbeddingDot(asarray(RNG.normal(size=(V, D))))
    dot.forward(asarray(RNG.normal(size=(2, D))), asarray(np.array([3, 3])))
    dot.backward(asarray(np.ones(2)))
    assert dot.W.sparse_grad is not None


def loss_by_pairs(h, W, targets, negatives, pairs, m):
    """One pair after the other: h (N, B, D), targets (N, J), negatives (N, K), pairs (N, B, J)."""
    N, B, J = pairs.shape
    K = negatives.shape[1]
    losses = []
    for n, b, j in np.ndindex(N, B, J):
        if not pairs[n, b, j] or targets[n, j] == -1:
            continue
        loss = -log_sigmoid(h[n, b] @ W[targets[n, j]])
        for k in range(K):
            if negatives[n, k] != targets[n, j]:
                loss -= m / K * log_sigmoid(-h[n, b] @ W[negatives[n, k]])
        losses.append(loss)
    return np.sum(losses) / max(1, len(losses))


def blocks(N, B, J, K):
    h, W = RNG.normal(size=(N, B, D)), RNG.normal(size=(V, D))
    targets, negatives = RNG.integers(0, V, size=(N, J)), RNG.integers(0, V, size=(N, K))
    targets.flat[-1], negatives[0, 0] = -1, targets[0, 0]  # one ignored, one its own negative
    return h, W, targets, negatives


@pytest.mark.parametrize(("N", "B", "J", "K"), [(3, 4, 5, 2), (2, 1, 3, 7), (1, 1, 1, 1)])
@pytest.mark.parametrize("m", [None, 5, 0.5])
def test_the_loss_of_pairs_is_the_sum_over_them(array_backend, N, B, J, K, m):
    h, W, targets, negatives = blocks(N, B, J, K)
    pairs = RNG.integers(0, 2, size=(N, B, J))
    layer = NegativeSamplingLoss(asarray(W), m)
    loss = layer.forward(*map(asarray, (h, targets, negatives, pairs)))
    assert loss.shape == ()
    assert_close(loss, loss_by_pairs(h, W, targets, negatives, pairs, m or K))
    with_bools = layer.forward(*map(asarray, (h, targets, negatives, pairs.astype(bool))))
    assert float(with_bools) == float(loss)


@pytest.mark.parametrize(("N", "B", "K"), [(3, 4, 2), (2, 1, 7), (1, 1, 1)])
@pytest.mark.parametrize("m", [None, 3])
def test_a_target_for_each_row(array_backend, N, B, K, m):
    h, W, targets, negatives = blocks(N, B, B, K)
    layer = NegativeSamplingLoss(asarray(W), m)
    loss = layer.forward(*map(asarray, (h, targets, negatives)))
    own = np.broadcast_to(np.eye(B, dtype=int), (N, B, B))
    assert_close(loss, loss_by_pairs(h, W, targets, negatives, own, m or K))
    # the textbook's form: a row, its target, its negatives
    flat = layer.forward(
        *map(asarray, (h.reshape(-1, D), targets.reshape(-1), np.repeat(negatives, B, axis=0)))
    )
    assert_close(flat, float(loss))


def test_one_list_of_negatives_for_all_rows(array_backend):
    h, W, targets, negatives = blocks(1, 6, 6, 3)
    layer = NegativeSamplingLoss(asarray(W))
    shared = layer.forward(*map(asarray, (h, targets, negatives)))
    each = layer.forward(*map(asarray, (h[0], targets[0], np.repeat(negatives, 6, axis=0))))
    assert_close(shared, float(each))


def test_no_pair_at_all_is_no_loss_and_no_gradient(array_backend):
    h, W, targets, negatives = blocks(2, 3, 3, 2)
    layer = NegativeSamplingLoss(asarray(W))
    loss = layer.forward(*map(asarray, (h, np.full_like(targets, -1), negatives)))
    assert float(loss) == 0
    np.testing.assert_array_equal(asnumpy(layer.backward()), np.zeros_like(h))
    np.testing.assert_array_equal(asnumpy(layer.W.grad), np.zeros_like(W))


def test_many_shared_negatives_are_worth_those_of_each_pair(array_backend):
    """With every word drawn once for all, the gradient is that of the expectation."""
    W, h = RNG.normal(size=(V, D)), RNG.normal(size=(1, 4, D))
    targets = RNG.integers(0, V, size=(1, 4))
    layer = NegativeSamplingLoss(asarray(W), negatives=2)
    layer.forward(*map(asarray, (h, targets, np.arange(V)[None])))
    dh = asnumpy(layer.backward())
    s = 1 / (1 + np.exp(-h[0] @ W.T))  # (4, V)
    expected = -(1 - s[np.arange(4), targets[0]])[:, None] * W[targets[0]]
    other = np.arange(V) != targets[0][:, None]
    expected += 2 / V * (s * other) @ W  # E of 2 draws from a uniform distribution
    assert_close(dh, expected[None] / 4)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"h": np.ones((2, 4, D + 1))}, ValueError, r"h .*\(N, B, D\) with D = 3, got \(2, 4, 4\)"),
        ({"targets": np.zeros((2, 5), int)}, ValueError, r"targets .*B = 4, got \(2, 5\)"),
        ({"targets": np.zeros((2, 4))}, TypeError, "targets should be integers, got float64"),
        ({"targets": np.full((2, 4), V)}, ValueError, "targets should be from 0 to 8, got 9"),
        ({"negatives": np.zeros(2, int)}, ValueError, r"negatives .*\(N, K\)"),
        ({"negatives": np.zeros((3, 2), int)}, ValueError, r"negatives .*N = 2, got \(3, 2\)"),
        ({"negatives": np.full((2, 2), -1)}, ValueError, "negatives should be from 0 to 8, got -1"),
        ({"negatives": np.zeros((2, 2))}, TypeError, "negatives should be integers, got float64"),
        ({"pairs": np.ones((2, 4))}, ValueError, r"pairs .*\(N, B, J\)"),
        ({"pairs": np.ones((2, 4, 9))}, ValueError, r"pairs .*J = 4, got \(2, 4, 9\)"),
    ],
)
def test_what_does_not_fit_is_named(change, error, message):
    inputs = {
        "h": np.ones((2, 4, D)),
        "targets": np.zeros((2, 4), int),
        "negatives": np.zeros((2, 2), int),
        **change,
    }
    with pytest.raises(error, match=message):
        NegativeSamplingLoss(np.ones((V, D))).forward(**inputs)


def test_wrong_constructions():
    for kind in (EmbeddingDot, NegativeSamplingLoss):
        with pytest.raises(ValueError, match=rf"{kind.__name__}: W .*\(V, D\), got \(3,\)"):
            kind(np.ones(3))
    with pytest.raises(ValueError, match="negatives should be above 0, got 0"):
        NegativeSamplingLoss(np.ones((V, D)), negatives=0)


def test_ids_of_a_dot_are_integers_in_range():
    dot = EmbeddingDot(np.ones((V, D)))
    with pytest.raises(TypeError, match="ids should be integers, got float64"):
        dot.forward(np.ones((2, D)), np.zeros(2))
    with pytest.raises(ValueError, match="EmbeddingDot: ids should be from 0 to 8, got 9"):
        dot.forward(np.ones((2, D)), np.array([0, 9]))
    with pytest.raises(ValueError, match=r"EmbeddingDot: ids .*N = 2, got \(3,\)"):
        dot.forward(np.ones((2, D)), np.zeros(3, int))
