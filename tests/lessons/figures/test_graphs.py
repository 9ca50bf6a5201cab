"""Computation graphs: they hold what the layer computes, and no text lies over another."""

import numpy as np
import pytest

from deepnlp import Layer, Parameter, Sequential
from deepnlp.backend.functions import sigmoid
from deepnlp.layers import (
    GRU,
    LSTM,
    RNN,
    Affine,
    Embedding,
    MatMul,
    ReLU,
    Sigmoid,
    Softmax,
    SoftmaxWithLoss,
    Tanh,
    TimeLSTM,
)
from material.figures import computation_graph, memory_road
from material.figures.graph_places import picture_of
from tests.gradflow.test_gradflow import overlaps

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.standard_normal(shape)


class Cell(Layer):
    """The cell of lesson 6."""

    def __init__(self, parts, D, H):
        self.parts, self.D, self.H, width = parts, D, H, len(parts) * H
        self.Wx, self.Wh = Parameter(draw(D, width)), Parameter(draw(H, width))
        self.b = Parameter(draw(width))

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


def gru(D, H, **options):
    step = GRU.init(D, H, RNG, "float64", **options)
    for parameter in step.parameters():
        parameter.value += 0.1 * draw(*parameter.shape)
    return step


STEPS = {
    "rnn": RNN.init(3, 4, RNG),
    "relu": RNN.init(1, 3, RNG, activation="relu"),
    "without Wx": RNN(None, draw(3, 3), draw(3)),
    "lstm": LSTM.init(3, 5, RNG),
    "gru before": gru(2, 3),
    "gru after": gru(2, 3, reset_after=True),
    "gru after, no bh": GRU(draw(2, 9), draw(3, 9), draw(9), reset_after=True),
    **{f"cell {parts}": Cell(parts, 3, 4) for parts in ("n", "no", "fno", "fgo", "ifgo", "g")},
}
CHAINS = {
    "affine": Affine.init(3, 2, RNG),
    "matmul": MatMul.init(3, 2, RNG),
    "two": Sequential(Affine.init(3, 4, RNG), ReLU(), Affine(draw(4, 2))),
    "other layers": Sequential(Affine.init(3, 4, RNG), Tanh(), Softmax()),
    "twice the same": Sequential(Sigmoid(), Sigmoid()),
    "over time": Sequential(Affine.init(3, 2), Sigmoid()),
}


def inputs_of(step, N):
    states = 2 if isinstance(step, LSTM | Cell) else 1
    return [draw(N, step.D), *(draw(N, step.H) for _ in range(states))]


def exits(picture):
    return [node for node in picture.nodes if node.sources and not node.operation]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("N", [1, 3])
def test_a_step_is_drawn_as_the_layer_computes_it(name, N):
    step = STEPS[name].astype("float64")
    inputs = inputs_of(step, N)
    picture = picture_of(step, inputs)
    outputs = step.forward(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    step.zero_grad()
    gradients = step.backward(*map(np.ones_like, outputs))
    for node, output in zip(exits(picture), outputs, strict=True):
        np.testing.assert_allclose(node.value, output, atol=1e-12)
    named = {node.name: node for node in picture.nodes}
    for leaf, gradient in zip(["x", "h_prev", "c_prev"], gradients, strict=False):
        np.testing.assert_allclose(named[leaf].grad, gradient, atol=1e-12)
    for parameter in step.parameters():
        parts = [named[p] for p in named if p.split("_")[0] == parameter.name]
        grad = np.concatenate([part.grad for part in parts], axis=-1) if parts else 0
        np.testing.assert_allclose(grad, parameter.grad if parts else 0, atol=1e-12)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("with_loss", [False, True])
def test_a_chain_computes_what_its_layers_do(name, with_loss):
    net, x, targets = CHAINS[name].astype("float64"), draw(5, 3), np.array([0, 1, 1, 0, 1])
    y = net.forward(x)
    picture = picture_of(net, [x], targets if with_loss else None)
    (node,) = exits(picture)
    expected = SoftmaxWithLoss().forward(y, targets) if with_loss else y
    assert node.name == ("L" if with_loss else "y")
    np.testing.assert_allclose(node.value, expected, atol=1e-12)
    leaves = {leaf.name for leaf in picture.nodes if not leaf.sources and leaf.grad.size}
    assert len(leaves) == 1 + len(list(net.parameters()))


def test_what_one_layer_computes_is_one_node():
    picture = picture_of(CHAINS["twice the same"], [draw(2, 3)])
    assert [node.operation for node in picture.nodes] == ["", "sigmoid", "sigmoid", ""]
    ids = picture_of(Sequential(Embedding.init(9, 4), Affine.init(4, 2)), [np.array([[1, 2]])])
    assert [node.operation for node in ids.nodes if node.operation] == [
        "Embedding", "matmul", "add",
    ]  # fmt: skip
    assert computation_graph(Sequential(Embedding.init(9, 4)), np.array([[1, 2]]))


ONE = [draw(1, 1) for _ in range(3)]
DRAWINGS = {
    **{name: (STEPS[name],) for name in ("relu", "lstm", "gru before", "gru after", "cell fno")},
    "rnn with values": (RNN.init(1, 1, RNG), *ONE[:2]),
    "lstm with values": (LSTM.init(1, 1, RNG), *ONE),
    "chain": (CHAINS["two"],),
    "chain with values": (Sequential(Affine([[2.0]], [1.0]), Sigmoid()), ONE[0]),
    "chain of others": (CHAINS["other layers"],),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_text_lies_over_another_or_leaves_the_figure(name):
    assert overlaps(computation_graph(*DRAWINGS[name])) == []


def test_no_text_lies_over_another_beside_a_loss():
    figure = computation_graph(CHAINS["two"], draw(5, 3), targets=np.array([0, 1, 1, 0, 1]))
    assert overlaps(figure) == []
    assert {"$t$\n(5)", "$s$\n(5, 2)", "$dL$\n1"} <= texts(figure)


def test_other_letters_may_be_given():
    figure = computation_graph(CHAINS["two"], draw(5, 3), names={"W_1": "E"})
    assert {"$E$", "$dE$"} <= {text.partition("\n")[0] for text in texts(figure)}


def texts(figure):
    return {text.get_text() for text in figure.axes[0].texts}


def test_names_shapes_values_and_gradients_are_written():
    with_shapes = texts(computation_graph(LSTM.init(3, 4)))
    assert {"$x$\n(N, D)", "$W_{h}$\n(H, 4H)", "$a_{f}$", "$da_{f}$", "$df$"} <= with_shapes
    figure = computation_graph(Affine([[2.0]], [0.5]), np.array([[3.0]]))
    assert {"$x$\n3", "$W$\n2", "$y$\n6.5", "$dW$\n3", "$dx$\n2", "$db$\n1"} <= texts(figure)
    figure = computation_graph(RNN.init(2, 3), title="A step")
    assert figure.axes[0].get_title(loc="left") == "A step"


def test_mistakes():
    with pytest.raises(ValueError, match="a RNN takes 2 inputs, got 1"):
        computation_graph(RNN.init(2, 3), draw(1, 2))
    with pytest.raises(ValueError, match="a Tanh does not say how wide its input is"):
        computation_graph(Tanh())


def test_an_lstm_and_a_cell_with_all_parts_are_the_same_picture():
    cell = Cell("ifgo", 3, 4)
    step = LSTM(cell.Wx.value, cell.Wh.value, cell.b.value)
    pictures = [picture_of(one, inputs_of(step, 2)) for one in (cell, step)]
    ours, theirs = ({(n.name, n.at, n.operation) for n in p.nodes} for p in pictures)
    assert ours == theirs


def test_the_road_of_c_holds_the_memories_and_the_products_of_the_gates():
    layer, x = TimeLSTM.init(2, 1, np.random.default_rng(3), "float64"), draw(1, 3, 2)
    written = texts(memory_road(layer, x))
    layer.forward(x)
    assert f"$c_{{3}}$\n{layer.c[0, 0]:.3g}" in written
    gates = [float(text.split("\n")[1]) for text in written if text.startswith("$f_")]
    (first,) = [float(text.split("\n")[1]) for text in written if text.startswith("$dc_{0}$")]
    assert first == pytest.approx(np.prod(gates), rel=0.01)
