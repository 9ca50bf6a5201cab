"""Embedding: rows for ids, and gradients that add up over repeated ids."""

import numpy as np
import pytest

from deepnlp.backend import asarray, asnumpy
from deepnlp.layers import Affine, Embedding, EmbeddingDropout
from deepnlp.parameter import Parameter
from tests.cases import together
from tests.layers.tools import assert_close

RNG = np.random.default_rng(12)


@together(shape=[(7,), (2, 5), (1, 1), (2, 3, 2), ()], dtype=["int64", "int32", "uint16"])
def test_a_lookup_is_a_product_with_one_hot_rows(array_backend, shape, dtype):
    W = RNG.normal(size=(5, 3))
    ids = RNG.integers(0, 5, size=shape).astype(dtype)
    dy = RNG.normal(size=(*shape, 3))
    layer = Embedding(asarray(W))
    one_hot = np.eye(5)[ids]
    assert_close(layer.forward(asarray(ids)), one_hot @ W)
    assert layer.backward(asarray(dy)) is None
    assert_close(layer.W.grad, np.einsum("nv,nd->vd", one_hot.reshape(-1, 5), dy.reshape(-1, 3)))


def test_one_id_many_times(array_backend):
    layer = Embedding(asarray(RNG.normal(size=(4, 2))))
    layer.forward(asarray(np.full((3, 5), 2)))
    layer.backward(asarray(np.ones((3, 5, 2))))
    np.testing.assert_array_equal(asnumpy(layer.W.grad), [[0, 0], [0, 0], [15, 15], [0, 0]])


@pytest.mark.parametrize("wrong", [-1, 4, 100])
def test_ids_out_of_range_name_the_range(array_backend, wrong):
    layer = Embedding(asarray(RNG.normal(size=(4, 2))))
    with pytest.raises((ValueError, IndexError), match=rf"Embedding.*0 .*\b3\b.*{wrong}"):
        layer.forward(asarray(np.array([[0, wrong]])))


def test_ids_are_integers(array_backend):
    layer = Embedding(asarray(RNG.normal(size=(4, 2))))
    with pytest.raises(TypeError, match=r"Embedding.*integer.*float64"):
        layer.forward(asarray(np.array([0.0, 1.0])))


def test_wrong_shapes(array_backend):
    with pytest.raises(ValueError, match=r"Embedding: W .*V, D.*\(3,\)"):
        Embedding(asarray(np.ones(3)))
    layer = Embedding(asarray(RNG.normal(size=(4, 2))))
    layer.forward(asarray(np.array([[0, 1, 3]])))
    with pytest.raises(ValueError, match=r"Embedding.*\bD\b.*\b2\b.*\(1, 3, 3\)"):
        layer.backward(asarray(np.ones((1, 3, 3))))


def test_a_gradient_for_other_ids_is_refused(array_backend):
    layer = Embedding(asarray(RNG.normal(size=(4, 2))))
    layer.forward(asarray(np.array([[0, 1, 3]])))
    with pytest.raises(ValueError, match="shape"):
        layer.backward(asarray(np.ones((1, 4, 2))))


def test_init(array_backend):
    layer = Embedding.init(50, 8, rng=np.random.default_rng(0))
    assert layer.W.shape == (50, 8)
    assert layer.W.dtype == np.float32
    assert 0.09 < float(abs(layer.W.value).max()) <= 0.1


def test_dropout_leaves_out_a_word_wherever_it_occurs(array_backend):
    V, D = 400, 3
    E = Parameter(np.random.default_rng(0).normal(size=(V, D)))
    embed = EmbeddingDropout(E, 0.25, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    ids = np.concatenate([np.arange(V), rng.integers(0, V, size=200)]).reshape(6, 100)
    masks = []
    for _ in range(2):
        y = asnumpy(embed.forward(asarray(ids)))
        factors = y / asnumpy(E.value)[ids]
        of_word = factors.round(12).reshape(-1, D)[:V]  # each word once, in order
        np.testing.assert_allclose(factors, of_word[ids], rtol=1e-9)
        assert (of_word == of_word[:, :1]).all()
        np.testing.assert_allclose(np.unique(of_word), [0, 4 / 3], rtol=1e-9)
        assert abs((of_word > 0).mean() - 0.75) < 0.1
        masks.append(of_word)
        # an output that is tied to it has all its words
        assert (asnumpy(E.T.value) != 0).all()
    assert (masks[0] != masks[1]).any()
    embed.zero_grad()
    embed.backward(asarray(np.ones((6, 100, D))))
    counts = np.bincount(ids.ravel(), minlength=V)
    np.testing.assert_allclose(asnumpy(E.grad), masks[1] * counts[:, None])
    embed.eval()
    np.testing.assert_array_equal(asnumpy(embed.forward(asarray(ids))), asnumpy(E.value)[ids])


def test_dropout_of_words_checks_its_probability():
    with pytest.raises(ValueError, match="p should be"):
        EmbeddingDropout.init(4, 3, p=1.0)
    assert EmbeddingDropout.init(4, 3, p=0.5).W.shape == (4, 3)


@pytest.mark.parametrize(("dtype", "count"), [("float16", 5000), ("float32", 2**24 + 4)])
def test_one_id_very_often(dtype, count):
    """Added one by one, ones would stop at 2048 and at 16,777,216."""
    embed = Embedding(np.zeros((3, 1), dtype))
    embed.forward(np.ones(count, dtype="int32"))
    embed.backward(np.ones((count, 1), dtype))
    assert embed.W.grad[:, 0].tolist() == [0, float(np.asarray(count, dtype)), 0]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_many_rows_are_added_up_in_parts(dtype):
    count = 5000 if dtype == "float16" else 2**16 + 5
    rng = np.random.default_rng(0)
    ids, rows = rng.integers(0, 7, count), rng.uniform(size=(count, 2)).astype(dtype)
    expected = np.zeros((7, 2))
    np.add.at(expected, ids, rows)
    for sparse_before in (False, True):
        W = Parameter(np.zeros((7, 2), dtype))
        if sparse_before:
            W.accumulate_rows(np.array([3]), np.ones((1, 2), dtype))
        W.accumulate_rows(ids, rows)
        more = np.zeros((7, 2))
        more[3] = sparse_before
        rtol = {"float16": 2e-3, "float32": 1e-5}[dtype]
        np.testing.assert_allclose(W.grad, expected + more, rtol=rtol)


@pytest.mark.parametrize(("dtype", "count"), [("float16", 5000), ("float32", 2**17)])
def test_a_bias_of_many_rows(dtype, count):
    layer = Affine(np.ones((1, 2), dtype), np.zeros(2, dtype))
    layer.forward(np.zeros((count, 1), dtype))
    layer.backward(np.full((count, 2), 0.7, dtype))
    exact = count * float(np.asarray(0.7, dtype))
    np.testing.assert_allclose(layer.b.grad, exact, rtol=np.finfo(dtype).eps)
