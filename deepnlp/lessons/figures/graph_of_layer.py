"""The computation graph of a layer, built from its weights and compared with the layer itself."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import GRU, LSTM, RNN, Affine, MatMul, ReLU, Sigmoid, SoftmaxWithLoss, Tanh
from deepnlp.lessons.figures.graph_model import Graph, HostArray, Node, Source
from deepnlp.lessons.figures.graph_of_stage import stage_graph

ELEMENT_WISE = {Sigmoid: "sigmoid", Tanh: "tanh", ReLU: "relu"}
STEP = 1.25  # inches from one operation of a chain to the next


def graph_of(layer: Layer, inputs: list[HostArray], targets: HostArray | None = None) -> Graph:
    """The computation graph of a layer, run forward and backward.

    Parameters
    ----------
    layer : Layer
        A one-step RNN, LSTM or GRU; or a Sequential, or any other layer of one input.
    inputs : list of array
        What its forward takes.
    targets : array of int, optional
        With them, a Sequential is followed by SoftmaxWithLoss.

    Returns
    -------
    Graph

    Raises
    ------
    AssertionError
        If the graph computes something else than the layer.
    """
    layer = copy.deepcopy(layer).astype("float64")
    layer.zero_grad()
    inputs = [x.astype("float64") if x.dtype.kind == "f" else x for x in inputs]
    builders: dict[type, Callable[..., Graph]] = {RNN: _rnn, LSTM: _lstm, GRU: _gru}
    if hasattr(layer, "parts"):
        graph = stage_graph(layer, *inputs)
    elif type(layer) in builders:
        graph = builders[type(layer)](layer, *inputs)
    else:
        graph = _chain(copy.deepcopy(layer), inputs[0], targets)
    graph.backward(*[np.ones_like(node.value) for node in graph.outputs])
    _agree(graph, layer, inputs, targets)
    return graph


def _agree(graph: Graph, layer: Any, inputs: list[HostArray], targets: HostArray | None) -> None:
    """Run the layer beside its graph: outputs and gradients are the same numbers."""
    outputs = layer.forward(*map(asarray, inputs))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    gradients = [asarray(np.ones_like(asnumpy(output))) for output in outputs]
    if targets is not None:
        loss = SoftmaxWithLoss()
        outputs = (loss.forward(outputs[0], asarray(targets)),)
        gradients = [loss.backward()]
    layer.backward(*gradients)
    for node, output in zip(graph.outputs, outputs, strict=True):
        np.testing.assert_allclose(node.value, asnumpy(output), atol=1e-12)
    drawn = _gradients_of_weights(graph)
    for name, parameter in layer.named_parameters():
        if name in drawn:
            np.testing.assert_allclose(drawn[name], asnumpy(parameter.grad), atol=1e-12)


def _gradients_of_weights(graph: Graph) -> dict[str, HostArray]:
    """By the name of the parameter; one that is used in parts has several leaves."""
    parts: dict[str, list[HostArray]] = {}
    for leaf in graph.leaves():
        if leaf.parameter and leaf.grad is not None:
            parts.setdefault(leaf.parameter, []).append(leaf.grad)
    return {name: np.concatenate(grads, axis=-1) for name, grads in parts.items()}


def _product(graph: Graph, layer: Any, x: Node, at: tuple[float, float], letters: str) -> Node:
    """The node x Wx, or x itself where there is no Wx."""
    if layer.Wx is None:
        return x
    Wx = graph.leaf("Wx", layer.Wx.value, f"D, {letters}", (at[0], at[1] - 0.95), "Wx")
    return graph.apply("x Wx", "matmul", x, Wx, at=at)


def _rnn(layer: Any, x_value: HostArray, h_value: HostArray) -> Graph:
    """h = f(x Wx + h_prev Wh + b)."""
    graph = Graph("One step of an RNN: old state and input meet in one sum")
    x = graph.leaf("x", x_value, "N, D", (0.0, 1.0))
    h_prev = graph.leaf("h_prev", h_value, "N, H", (0.0, 2.3))
    xw = _product(graph, layer, x, (1.5, 1.0), "H")
    Wh = graph.leaf("Wh", layer.Wh.value, "H, H", (1.5, 3.25), "Wh")
    hw = graph.apply("h_prev Wh", "matmul", h_prev, Wh, at=(1.5, 2.3))
    b = graph.leaf("b", layer.b.value, "H", (3.0, 0.75), "b")
    a = graph.apply("a", "add", xw, hw, b, shape="N, H", at=(3.0, 1.65))
    h = graph.apply("h", layer.activation, a, shape="N, H", at=(4.4, 1.65))
    graph.output(h, (5.7, 1.65), "N, H")
    return graph


def _lstm(layer: Any, x_value: HostArray, h_value: HostArray, c_value: HostArray) -> Graph:
    """a = x Wx + h_prev Wh + b; c = f c_prev + i g; h = o tanh(c)."""
    graph = Graph(
        "One step of an LSTM: from $c_{prev}$ to $c$ there is one product and one sum", 0.68
    )
    c_prev = graph.leaf("c_prev", c_value, "N, H", (0.0, 4.9))
    x = graph.leaf("x", x_value, "N, D", (0.0, 1.0))
    h_prev = graph.leaf("h_prev", h_value, "N, H", (0.0, 2.6))
    xw = _product(graph, layer, x, (1.4, 1.0), "4H")
    Wh = graph.leaf("Wh", layer.Wh.value, "H, 4H", (1.4, 3.55), "Wh")
    hw = graph.apply("h_prev Wh", "matmul", h_prev, Wh, at=(1.4, 2.6))
    b = graph.leaf("b", layer.b.value, "4H", (2.6, 0.85), "b")
    a = graph.apply("a", "add", xw, hw, b, shape="N, 4H", at=(2.6, 1.8), blocks="ifgo")
    f = graph.apply("f", "sigmoid", Source(a, 1), at=(5.2, 4.1))
    i = graph.apply("i", "sigmoid", Source(a, 0), at=(5.2, 3.15))
    g = graph.apply("g", "tanh", Source(a, 2), at=(5.2, 1.45))
    o = graph.apply("o", "sigmoid", Source(a, 3), at=(5.2, 0.4))
    kept = graph.apply("f c_prev", "multiply", f, c_prev, at=(6.7, 4.9))
    new = graph.apply("i g", "multiply", i, g, at=(6.7, 2.3))
    c = graph.apply("c", "add", kept, new, at=(7.7, 4.9))
    to_tanh = Source(c, via=((8.7, 4.9),))
    tanh_c = graph.apply("tanh c", "tanh", to_tanh, at=(8.7, 2.7))
    h = graph.apply("h", "multiply", o, tanh_c, at=(8.7, 0.4))
    graph.output(h, (10.1, 0.4), "N, H")
    graph.output(c, (10.1, 4.9), "N, H")
    return graph


def _gru(layer: Any, x_value: HostArray, h_value: HostArray) -> Graph:
    """h = (1 - z) n + z h_prev, with the reset gate before or after its product."""
    where = "after" if layer.reset_after else "before"
    graph = Graph(
        f"One step of a GRU, reset {where} the product: $z$ weighs the old state against the new",
        0.44,
    )
    h_prev = graph.leaf("h_prev", h_value, "N, H", (0.0, 5.0))
    x = graph.leaf("x", x_value, "N, D", (0.0, 0.9))
    xw = _product(graph, layer, x, (1.25, 0.9), "3H")
    b = graph.leaf("b", layer.b.value, "3H", (2.35, -0.05), "b")
    ax = graph.apply("ax", "add", xw, b, at=(2.35, 0.9), blocks="rzn")
    parts = _reset_after if layer.reset_after else _reset_before
    z, n = parts(graph, layer, h_prev, ax)
    at_z = ((9.0, 4.0),)
    old = graph.apply("z h_prev", "multiply", Source(z, via=at_z), h_prev, at=(9.0, 5.0))
    rest = graph.apply("1 - z", "one minus", Source(z, via=at_z), at=(9.0, 2.6))
    new = graph.apply("(1 - z) n", "multiply", rest, n, at=(9.0, 0.9))
    h = graph.apply("h", "add", old, new, at=(10.3, 2.95))
    graph.output(h, (11.5, 2.95), "N, H")
    return graph


def _reset_before(graph: Graph, layer: Any, h_prev: Node, ax: Node) -> tuple[Node, Node]:
    """n = tanh(ax_n + (r h_prev) Wh_n)."""
    H = layer.H
    Wh = layer.Wh.value
    Wh_rz = graph.leaf("Wh_rz", Wh[:, : 2 * H], "H, 2H", (0.15, 3.2), "Wh")
    down = Source(h_prev, via=((1.5, 5.0),))
    p = graph.apply("p", "matmul", down, Wh_rz, at=(1.5, 3.2), blocks="rz")
    z, r = _gates(graph, p, ax)
    down = Source(h_prev, via=((6.3, 5.0),))
    u = graph.apply("u", "multiply", r, down, at=(6.3, 2.4))
    Wh_n = graph.leaf("Wh_n", Wh[:, 2 * H :], "H, H", (7.4, 3.35), "Wh")
    un = graph.apply("u Wh_n", "matmul", u, Wh_n, at=(7.4, 2.4))
    a_n = graph.apply("a_n", "add", Source(ax, 2), un, at=(7.4, 0.9))
    return z, graph.apply("n", "tanh", a_n, at=(8.15, 0.9))


def _reset_after(graph: Graph, layer: Any, h_prev: Node, ax: Node) -> tuple[Node, Node]:
    """n = tanh(ax_n + r (h_prev Wh_n + bh_n))."""
    Wh = graph.leaf("Wh", layer.Wh.value, "H, 3H", (0.15, 3.2), "Wh")
    down = Source(h_prev, via=((1.5, 5.0),))
    p = graph.apply("p", "matmul", down, Wh, at=(1.5, 3.2), blocks="rzn")
    if layer.bh is not None:
        bh = graph.leaf("bh", layer.bh.value, "3H", (1.5, 2.15), "bh")
        p = graph.apply("p", "add", p, bh, at=(2.35, 3.2), blocks="rzn")
    z, r = _gates(graph, p, ax)
    to_n = Source(p, 2, via=((4.0, 3.2), (7.4, 3.2)))
    rp = graph.apply("r p_n", "multiply", r, to_n, at=(7.4, 2.4))
    a_n = graph.apply("a_n", "add", Source(ax, 2), rp, at=(7.4, 0.9))
    return z, graph.apply("n", "tanh", a_n, at=(8.15, 0.9))


def _gates(graph: Graph, p: Node, ax: Node) -> tuple[Node, Node]:
    """z and r: the sigmoid of a sum of two blocks each."""
    a_z = graph.apply("a_z", "add", Source(p, 1), Source(ax, 1), at=(4.4, 4.0))
    z = graph.apply("z", "sigmoid", a_z, at=(5.4, 4.0))
    a_r = graph.apply("a_r", "add", Source(p, 0), Source(ax, 0), at=(4.4, 2.4))
    return z, graph.apply("r", "sigmoid", a_r, at=(5.4, 2.4))


def _chain(layer: Layer, x_value: HostArray, targets: HostArray | None) -> Graph:
    """Layers one after the other, the products and sums of an Affine apart."""
    layers = layer.layers if isinstance(layer, Sequential) else [layer]
    graph = Graph("Values go right (blue), gradients come back (red, dashed)")
    node = graph.leaf("x", x_value, _numbers(x_value), (0.0, 0.0))
    prefix = "layers.{}." if isinstance(layer, Sequential) else ""
    affine = 0
    for number, one in enumerate(layers, start=1):
        last = number == len(layers)
        place = node.at[0] + STEP
        if isinstance(one, Affine | MatMul):
            affine += 1
            several = sum(isinstance(other, Affine | MatMul) for other in layers) > 1
            index = f"_{affine}" if several else ""
            node = _affine(graph, one, node, index, prefix.format(number - 1), last)
            continue
        name = "y" if last else f"z_{affine}" if affine else f"z_{number}"
        if type(one) in ELEMENT_WISE:
            operation = ELEMENT_WISE[type(one)]
            node = graph.apply(name, operation, node, at=(place, 0.0))
        else:
            place += _extra(node) + 0.045 * len(type(one).__name__)
            node = graph.apply_layer(name, one, node, at=(place, 0.0))
        node.shape = _numbers(node.value)
    if targets is not None:
        node.name = "s"
        place = node.at[0] + STEP + 0.65
        t = graph.leaf("t", targets, _numbers(targets), (place, -1.05))
        loss = SoftmaxWithLoss()
        node = graph.apply_layer("L", loss, node, t, at=(place, 0.0))
    graph.output(node, (node.at[0] + STEP + _extra(node), 0.0), node.shape)
    return graph


def _affine(
    graph: Graph, layer: Affine | MatMul, x: Node, index: str, prefix: str, last: bool
) -> Node:
    """y = x W + b as a product and a sum."""
    place = x.at[0] + STEP + _extra(x)
    W = graph.leaf(
        f"W{index}", layer.W.value, _numbers(layer.W.value), (place, -1.05), f"{prefix}W"
    )
    b = getattr(layer, "b", None)
    name = "y" if last else f"a{index}"
    product = graph.apply(
        f"x{index} W{index}" if b is not None else name, "matmul", x, W, at=(place, 0.0)
    )
    if b is None:
        product.shape = _numbers(product.value)
        return product
    place += STEP - 0.2
    bias = graph.leaf(f"b{index}", b.value, _numbers(b.value), (place, -1.05), f"{prefix}b")
    total = graph.apply(name, "add", product, bias, at=(place, 0.0))
    total.shape = _numbers(total.value)
    return total


def _extra(node: Node) -> float:
    """How much further than a circle a node reaches to its side, in inches."""
    return 0.0 if node.layer is None else 0.045 * len(node.operation)


def _numbers(array: HostArray) -> str:
    return ", ".join(map(str, array.shape))
