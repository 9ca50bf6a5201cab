"""An LSTM in the making, the road of its memory, and the layers of a model over time."""

import numpy as np
import pytest

from deepnlp import Layer, Parameter, Sequential
from deepnlp.backend.functions import sigmoid
from deepnlp.layers import GRU, LSTM, RNN, Embedding, TimeAffine, TimeLSTM, TimeRNN, Unrolled
from deepnlp.lessons.figures import computation_graph, layers_in_time, memory_road
from deepnlp.lessons.figures.graph_of_layer import graph_of
from deepnlp.models import RNNLM
from tests.gradflow.test_gradflow import overlaps

RNG = np.random.default_rng(0)
WORDS = ["the", "function", "returns", "a"]


class Cell(Layer):
    """The cell of lesson 6."""

    def __init__(self, parts, D, H):
        self.parts, self.D, self.H, width = parts, D, H, len(parts) * H
        self.Wx, self.Wh = (
            Parameter(RNG.normal(size=(D, width))),
            Parameter(RNG.normal(size=(H, width))),
        )
        self.b = Parameter(RNG.normal(size=width))

    def forward(self, x, h_prev, c_prev):
        a = x @ self.Wx.value + h_prev @ self.Wh.value + self.b.value
        block = dict(zip(self.parts, np.split(a, len(self.parts), axis=1), strict=True))
        i, f, o = (sigmoid(block[gate]) if gate in block else 1.0 for gate in "ifo")
        g = np.tanh(block["g"]) if "g" in block else block["n"]
        c = f * c_prev + i * g
        u = np.tanh(c)
        self.save_for_backward(x, h_prev, c_prev, i, f, g, o, u)
        return o * u, c

    def backward(self, dh, dc):
        x, h_prev, c_prev, i, f, g, o, u = self.saved()
        do = dh * u
        dc = dc + dh * o * (1 - u**2)
        di, df, dg = dc * g, dc * c_prev, dc * i
        block = {"i": di * i * (1 - i), "f": df * f * (1 - f), "o": do * o * (1 - o)}
        block |= {"g": dg * (1 - g**2), "n": dg}
        da = np.concatenate([block[part] for part in self.parts], axis=1)
        self.Wx.accumulate(x.T @ da)
        self.Wh.accumulate(h_prev.T @ da)
        self.b.accumulate(da.sum(axis=0))
        return da @ self.Wx.value.T, da @ self.Wh.value.T, dc * f


@pytest.mark.parametrize("parts", ["n", "no", "fno", "fgo", "ifgo", "g"])
@pytest.mark.parametrize("N", [1, 3])
def test_a_stage_is_drawn_as_the_cell_computes_it(parts, N):
    cell = Cell(parts, 3, 2)
    inputs = [RNG.normal(size=(N, size)) for size in (3, 2, 2)]
    graph = graph_of(cell, inputs)  # compares values and gradients of weights itself
    outputs = cell.forward(*inputs)
    gradients = cell.backward(*[np.ones_like(output) for output in outputs])
    leaves = {leaf.name: leaf for leaf in graph.leaves()}
    for leaf, gradient in zip(["x", "h_prev", "c_prev"], gradients, strict=True):
        np.testing.assert_allclose(leaves[leaf].grad, gradient, atol=1e-12)


@pytest.mark.parametrize("parts", ["n", "no", "fno", "fgo", "ifgo"])
def test_no_text_of_a_stage_lies_over_another(parts):
    figure = computation_graph(Cell(parts, 3, 4))
    assert overlaps(figure) == []


def test_an_lstm_and_a_cell_with_all_parts_are_the_same_picture():
    cell = Cell("ifgo", 3, 4)
    step = LSTM(cell.Wx.value, cell.Wh.value, cell.b.value)
    inputs = [RNG.normal(size=(2, size)) for size in (3, 4, 4)]
    one, other = graph_of(cell, inputs), graph_of(step, inputs)
    assert [node.at for node in one.outputs] == [node.at for node in other.outputs]
    for mine, theirs in zip(one.outputs, other.outputs, strict=True):
        np.testing.assert_allclose(mine.value, theirs.value)


def test_the_road_of_the_memory_is_the_product_of_the_gates():
    layer = TimeLSTM.init(2, 1, np.random.default_rng(1), "float64")
    x = RNG.normal(size=(1, 3, 2))
    texts = [text.get_text() for text in memory_road(layer, x).axes[0].texts]
    layer.forward(x)
    assert f"$c_{{3}}$\n{layer.c[0, 0]:.3g}" in texts


def test_dropout_and_tying_are_seen():
    def discs(model):
        patches = layers_in_time(model, WORDS, title="").axes[0].patches
        return [patch.get_facecolor() for patch in patches if type(patch).__name__ == "Circle"]

    assert discs(RNNLM(9, 4, 4, layers=2, dropout=0.0)) == []
    fresh = discs(RNNLM(9, 4, 4, layers=2, dropout=0.5))
    locked = discs(RNNLM(9, 4, 4, layers=2, dropout=0.5, locked_dropout=True))
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


@pytest.mark.parametrize(("cell", "layer"), [(LSTM, TimeLSTM), (RNN, TimeRNN)])
def test_an_unrolled_cell_computes_what_its_layer_over_time_does(cell, layer):
    one = layer.init(3, 4, np.random.default_rng(0), "float64")
    other = Unrolled(cell(*(p.value.copy() for p in one.parameters())))
    x, dhs = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(2, 5, 4))
    np.testing.assert_allclose(one.forward(x), other.forward(x), atol=1e-12)
    np.testing.assert_allclose(one.backward(dhs), other.backward(dhs), atol=1e-12)
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(mine.grad, theirs.grad, atol=1e-12)


def test_dropout_of_an_unrolled_cell_is_gone_in_evaluation_and_locked_where_asked():
    step = LSTM.init(3, 4, np.random.default_rng(0), "float64")
    x = RNG.normal(size=(2, 6, 3))
    noisy = Unrolled(step, (0.5, 0.5), rng=np.random.default_rng(1))
    assert not np.allclose(noisy.forward(x), noisy.forward(x))
    np.testing.assert_allclose(noisy.eval().forward(x), Unrolled(step).forward(x))
    locked = Unrolled(step, (0.5,), True, np.random.default_rng(1))
    locked.forward(x)
    _, masks, _ = locked.saved()
    assert len(masks) == 1
    assert masks[0][1] == 1  # c is left alone
