"""The layers of a model over time: dropout, tying and names are seen."""

import pytest

from deepnlp import Sequential
from deepnlp.layers import GRU, LSTM, Embedding, TimeAffine, Unrolled
from deepnlp.models import RNNLM, RegularisedRNNLM
from material.figures import layers_in_time
from tests.gradflow.test_gradflow import overlaps

WORDS = ["the", "function", "returns", "a"]


def test_dropout_and_tying_are_seen():
    def discs(model):
        patches = layers_in_time(model, WORDS, title="").axes[0].patches
        return [patch.get_facecolor() for patch in patches if type(patch).__name__ == "Circle"]

    assert discs(RNNLM(9, 4, 4, layers=2, dropout=0.0)) == []
    fresh = discs(RNNLM(9, 4, 4, layers=2, dropout=0.5))
    locked = discs(RegularisedRNNLM(9, 4, 4, layers=2, dropout=0.5, locked_dropout=True))
    assert len(fresh) == len(locked) == 9  # three places, three words
    assert len(set(locked)) == 3 < len(set(fresh))
    cells = [Unrolled(LSTM.init(4, 4), (0.5, 0.0)), Unrolled(GRU.init(4, 4), (0.5,), True)]
    assert len(discs(Sequential(Embedding.init(9, 4), *cells, TimeAffine.init(4, 9)))) == 4

    def names(model):
        texts = layers_in_time(model, WORDS, title="").axes[0].texts
        return [text.get_text() for text in texts if text.get_gid() == "t = 1"]

    assert names(RNNLM(9, 3, 4, layers=1, cell="gru", tie="tied+L")) == ["E", "GRU", "L", "$E^T$"]
    assert names(RNNLM(9, 3, 4, layers=1, cell="rnn", tie="none")) == ["E", "RNN", "W"]


def test_one_word_predicts_nothing():
    with pytest.raises(ValueError, match="two or more tokens"):
        layers_in_time(RNNLM(9, 4, 4), ["the"], title="")


@pytest.mark.parametrize("tie", ["tied", "none"])
def test_no_text_lies_over_another(tie):
    model = RNNLM(9, 4, 4, layers=2, dropout=0.5, tie=tie)
    assert overlaps(layers_in_time(model, WORDS, title="Two layers\nand dropout")) == []
