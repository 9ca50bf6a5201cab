"""Computation graphs: they compute what the layer does, and no text lies over another."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from deepnlp import Sequential
from deepnlp.layers import GRU, LSTM, RNN, Affine, Dropout, MatMul, ReLU, Sigmoid, Softmax, Tanh
from deepnlp.lessons.figures import computation_graph
from deepnlp.lessons.figures import graph_of_layer as module
from deepnlp.lessons.figures.graph_of_layer import graph_of

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.standard_normal(shape)


def gru(D, H, **options):
    step = GRU.init(D, H, RNG, "float64", **options)
    for parameter in step.parameters():
        parameter.value += 0.1 * draw(*parameter.shape)
    return step


STEPS = {
    "rnn": (RNN.init(3, 4, RNG), 2),
    "relu": (RNN.init(1, 3, RNG, activation="relu"), 2),
    "without Wx": (RNN(None, draw(3, 3), draw(3)), 2),
    "lstm": (LSTM.init(3, 5, RNG), 3),
    "gru before": (gru(2, 3), 2),
    "gru after": (gru(2, 3, reset_after=True), 2),
    "gru after, no bh": (GRU(draw(2, 9), draw(3, 9), draw(9), reset_after=True), 2),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("N", [1, 3])
def test_a_step_is_drawn_as_the_layer_computes_it(name, N):
    step, count = STEPS[name]
    inputs = [draw(N, step.D)] + [draw(N, step.H) for _ in range(count - 1)]
    graph = graph_of(step, inputs)  # compares values and gradients of weights itself

    step = step.astype("float64")
    outputs = step.forward(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    dys = [np.ones_like(output) for output in outputs]
    gradients = step.backward(*dys)
    for node, output in zip(graph.outputs, outputs, strict=True):
        np.testing.assert_allclose(node.value, output, atol=1e-12)
    leaves = {leaf.name: leaf for leaf in graph.leaves()}
    for leaf, gradient in zip(["x", "h_prev", "c_prev"], gradients, strict=False):
        np.testing.assert_allclose(leaves[leaf].grad, gradient, atol=1e-12)


def test_a_drawing_that_disagrees_with_its_layer_is_refused(monkeypatch):
    step = RNN.init(2, 3)
    right = module._rnn

    def wrong(layer, x, h):
        return right(layer, x, -h)

    monkeypatch.setattr(module, "_rnn", wrong)
    with pytest.raises(AssertionError):
        computation_graph(step)


CHAINS = {
    "affine": Affine.init(3, 2, RNG),
    "matmul": MatMul.init(3, 2, RNG),
    "two": Sequential(Affine.init(3, 4, RNG), ReLU(), Affine(draw(4, 2))),
    "other layers": Sequential(Affine.init(3, 4, RNG), Dropout(0.0), Tanh(), Softmax()),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("with_loss", [False, True])
def test_a_chain_computes_what_its_layers_do(name, with_loss):
    x = draw(5, 3)
    targets = np.array([0, 1, 1, 0, 1]) if with_loss else None
    graph = graph_of(CHAINS[name], [x], targets)  # compares with the layers itself
    assert graph.outputs[0].name == ("L" if with_loss else "y")
    assert all(leaf.grad is not None for leaf in graph.leaves())


def test_over_time_and_without_a_gradient():
    graph = graph_of(Sequential(Affine.init(3, 2), Sigmoid()), [draw(2, 4, 3)])
    assert graph.outputs[0].value.shape == (2, 4, 2)


def boxes(figure):
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    axes = figure.axes[0]
    shown = [*axes.texts, axes._left_title]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in shown]


def drawings():
    for name, (step, _) in STEPS.items():
        yield name, step, ()
    one = [draw(1, 1) for _ in range(3)]
    yield "rnn with values", RNN.init(1, 1, RNG), one[:2]
    yield "lstm with values", LSTM.init(1, 1, RNG), one
    yield "chain", CHAINS["two"], ()
    yield "chain with values", Sequential(Affine([[2.0]], [1.0]), Sigmoid()), one[:1]
    yield "chain of others", CHAINS["other layers"], ()


@pytest.mark.parametrize(
    ("layer", "inputs"), [d[1:] for d in drawings()], ids=[d[0] for d in drawings()]
)
def test_no_text_lies_over_another_or_leaves_the_figure(layer, inputs):
    figure = computation_graph(layer, *inputs)
    found = boxes(figure)
    for i, (text, box) in enumerate(found):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text
        for other, over in found[:i]:
            assert not box.overlaps(over), (text, other)


def texts(figure):
    return {text.get_text() for text in figure.axes[0].texts}


def test_names_shapes_values_and_gradients_are_written():
    with_shapes = texts(computation_graph(LSTM.init(3, 4)))
    assert {"$x$\n(N, D)", "$W_{h}$\n(H, 4H)", "$a_{f}$", "$da_{f}$", "$df$"} <= with_shapes
    figure = computation_graph(Affine([[2.0]], [0.5]), np.array([[3.0]]))
    assert {"$x$\n3", "$W$\n2", "$y$\n6.5", "$dW$\n3", "$dx$\n2", "$db$\n1"} <= texts(figure)


def test_without_gradients():
    figure = computation_graph(RNN.init(2, 3), backward=False, title="Forward")
    assert not any("$d" in text for text in texts(figure))
    assert figure.axes[0].get_title(loc="left") == "Forward"


def test_mistakes():
    with pytest.raises(ValueError, match="a RNN takes 2 inputs, got 1"):
        computation_graph(RNN.init(2, 3), draw(1, 2))
    with pytest.raises(ValueError, match="a Tanh does not say how wide its input is"):
        computation_graph(Tanh())


def test_saving(tmp_path):
    computation_graph(GRU.init(2, 3), path=tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").stat().st_size > 5000
