"""What each head of a GPT looks at."""

import numpy as np
import pytest

from deepnlp.generation import look
from deepnlp.models import GPT, RNNLM
from deepnlp.text import Vocabulary

VOCAB = Vocabulary.build("abc", tokenizer="chars")


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    model = GPT(len(VOCAB), 8, 3, dropout=0.5, heads=2, context=8, dtype="float64", rng=rng)
    model.vocab = VOCAB
    return model


def test_each_head_sees_a_token_and_those_before_it(model):
    tokens, weights = look(model, "cabba")
    assert tokens == [*"cabba"]
    assert weights.shape == (3, 2, 5, 5)
    np.testing.assert_allclose(weights.sum(axis=-1), 1)
    assert not np.triu(weights, 1).any()


def test_the_weights_are_those_of_queries_and_keys(model):
    x = model.layers[0].W.value[VOCAB.encode([*"cab"])] + model.layers[1].P.value[:3]
    first = next(layer for layer in model.layers if hasattr(layer, "attention")).attention
    q, k, _ = np.split(first.layer.qkv.forward(first.norm.forward(x[None]))[0], 3, axis=-1)
    scores = q[:, 4:] @ k[:, 4:].T / np.sqrt(4)  # of the second head
    expected = np.tril(np.exp(scores))
    expected /= expected.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(look(model, "cab")[1][0, 1], expected)


def test_looking_leaves_the_mode_of_the_model(model):
    assert model.training
    look(model, "abc")
    assert model.training


def test_what_cannot_be_looked_at(model):
    with pytest.raises(ValueError, match="an empty text"):
        look(model, "")
    with pytest.raises(ValueError, match="reads 8 words at a time, got 9"):
        look(model, "abc" * 3)
    recurrent = RNNLM(len(VOCAB), 4, 4)
    recurrent.vocab = VOCAB
    with pytest.raises(ValueError, match="no heads of attention: train one with --model gpt"):
        look(recurrent, "abc")
