"""Where the nodes of a computation graph are drawn, and how they are named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from deepnlp.backend import asnumpy
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import GRU, LSTM, RNN, SoftmaxWithLoss
from deepnlp.lessons.figures.graph_of_tape import HostArray, Node, Point, Source, graph_of

STEP = 1.25  # inches from one operation of a chain to the next


class Picture(NamedTuple):
    """A graph whose nodes have their places.

    Attributes
    ----------
    title : str
    nodes : list of Node
        Last the outputs once more, as leaves where their arrows end.
    blocks_labelled_at : float
        How far along an edge the label of a block stands, from 0 to 1.
    """

    title: str
    nodes: list[Node]
    blocks_labelled_at: float = 0.5


class Plan(NamedTuple):
    """The places of the nodes of a step by name, and the edges that turn a corner."""

    title: str
    places: Mapping[str, Point]
    exits: Mapping[str, Point]
    equations: Mapping[str, str]
    corners: frozenset[tuple[str, str]] = frozenset()
    blocks_labelled_at: float = 0.5


SUM = {"b + h_prev Wh + x Wx": "a", "b + h_prev Wh + x": "a"}
A_RNN = Plan(
    "One step of an RNN: old state and input meet in one sum",
    {
        "x": (0.0, 1.0), "h_prev": (0.0, 2.3), "Wx": (1.5, 0.05), "x Wx": (1.5, 1.0),
        "Wh": (1.5, 3.25), "h_prev Wh": (1.5, 2.3), "b": (3.0, 0.75), "a": (3.0, 1.65),
        "h": (4.4, 1.65),
    },
    {"h": (5.7, 1.65)},
    SUM,
)  # fmt: skip
AN_LSTM = Plan(
    "One step of an LSTM: from $c_{prev}$ to $c$ there is one product and one sum",
    {
        "x": (0.0, 1.0), "h_prev": (0.0, 2.6), "c_prev": (0.0, 4.9), "Wx": (1.4, 0.05),
        "x Wx": (1.4, 1.0), "Wh": (1.4, 3.55), "h_prev Wh": (1.4, 2.6), "b": (2.6, 0.85),
        "a": (2.6, 1.8), "f": (5.2, 4.1), "i": (5.2, 3.15), "g": (5.2, 1.45), "o": (5.2, 0.4),
        "c_prev f": (6.7, 4.9), "g i": (6.7, 2.3), "c": (7.7, 4.9), "tanh c": (8.7, 2.7),
        "h": (8.7, 0.4),
    },
    {"h": (10.1, 0.4), "c": (10.1, 4.9)},
    SUM | {"tanh a": "g"},
    frozenset({("c", "tanh c"), ("c", "h"), ("a", "c"), ("g", "c")}),
    0.68,
)  # fmt: skip
STAGES = {
    "n": "A memory: what comes in is added to what was there",
    "no": "An output gate: $o$ says how much of the memory is told",
    "fno": "A forget gate: $f$ says how much of the old memory stays",
    "fgo": "New memory: a tanh keeps what is added between $-1$ and 1",
    "ifgo": "An input gate: $i$ says how much of the new memory comes in",
}
A_GRU = Plan(
    "One step of a GRU, reset {} the product: $z$ weighs the old state against the new",
    {
        "x": (0.0, 0.9), "h_prev": (0.0, 5.0), "Wx": (1.25, -0.05), "x Wx": (1.25, 0.9),
        "b": (2.35, -0.05), "ax": (2.35, 0.9), "Wh": (0.15, 3.2), "Wh_rz": (0.15, 3.2),
        "h_prev Wh": (1.5, 3.2), "bh": (1.5, 2.15), "a_z": (4.4, 4.0), "z": (5.4, 4.0),
        "a_r": (4.4, 2.4), "r": (5.4, 2.4), "u": (6.3, 2.4), "Wh_n": (7.4, 3.35),
        "u Wh_n": (7.4, 2.4), "p_n r": (7.4, 2.4), "a_n": (7.4, 0.9), "n": (8.15, 0.9),
        "h_prev z": (9.0, 5.0), "one minus z": (9.0, 2.6), "n one minus z": (9.0, 0.9),
        "h": (10.3, 2.95),
    },
    {"h": (11.5, 2.95)},
    {
        "b + x Wx": "ax", "b + x": "ax", "bh + h_prev Wh": "p", "h_prev Wh_rz": "p",
        "ax_r + p_r": "a_r", "ax_z + p_z": "a_z", "h_prev r": "u", "ax_n + u Wh_n": "a_n",
        "ax_n + p_n r": "a_n",
    },
    frozenset({
        ("h_prev", "p"), ("h_prev", "h_prev Wh"), ("h_prev", "u"), ("p", "p_n r"),
        ("z", "h_prev z"), ("z", "one minus z"),
    }),
    0.44,
)  # fmt: skip


def picture_of(layer: Any, inputs: list[HostArray], targets: HostArray | None = None) -> Picture:
    """The graph of a step of a recurrent layer, or of layers in a chain, ready to be drawn.

    Parameters
    ----------
    layer : Layer
    inputs : list of array
        What its forward takes.
    targets : array of int, optional
        With them, a chain is followed by SoftmaxWithLoss.
    """
    if hasattr(layer, "parts"):
        known = STAGES.get(layer.parts, f"A cell of the parts {', '.join(layer.parts)}")
        places = {**AN_LSTM.places, **({} if "o" in layer.parts else {"h": (8.7, 2.7)})}
        exits = {"h": (10.1, places["h"][1]), "c": AN_LSTM.exits["c"]}
        plan = AN_LSTM._replace(title=known, places=places, exits=exits)
        return _step(plan, layer, inputs, layer.parts)
    if isinstance(layer, LSTM):
        return _step(AN_LSTM, layer, inputs, "ifgo")
    if isinstance(layer, GRU):
        return _step(_plan_of_gru(layer), layer, inputs, "rzn")
    if isinstance(layer, RNN):
        return _step(A_RNN, layer, inputs, "")
    return _chain(layer, inputs[0], targets)


def _plan_of_gru(layer: GRU) -> Plan:
    equations = dict(A_GRU.equations)
    places = {**A_GRU.places, "p": (2.35 if layer.bh is not None else 1.5, 3.2)}
    if layer.reset_after and layer.bh is None:
        equations["h_prev Wh"] = "p"
    title = A_GRU.title.format("after" if layer.reset_after else "before")
    return A_GRU._replace(title=title, places=places, equations=equations)


def _step(plan: Plan, layer: Any, inputs: list[HostArray], letters: str) -> Picture:
    """One step of a recurrent layer: every node has its place in the plan."""
    nodes = graph_of(layer, inputs, list(plan.exits), letters, plan.equations)
    for node in nodes:
        if node.name not in plan.places:
            raise ValueError(f"computation_graph: there is no place for {node.name!r}")
        node.at, node.shape = plan.places[node.name], _in_letters(node, layer)
        node.sources = [
            source._replace(via=((node.at[0], plan.places[source.node.name][1]),))
            if (source.node.name, node.name) in plan.corners
            else source
            for source in node.sources
        ]
    named = {node.name: node for node in nodes}
    exits = [_exit(named[name], place, "N, H") for name, place in plan.exits.items()]
    return Picture(plan.title, nodes + exits, plan.blocks_labelled_at)


def _exit(node: Node, at: Point, shape: str) -> Node:
    return Node(node.name, node.value, node.grad, sources=[Source(node)], at=at, shape=shape)


def _in_letters(node: Node, layer: Any) -> str:
    """The shape of an input, a weight or a of a recurrent layer, such as ``N, 4H``."""
    if node.operation and node.name != "a":
        return ""
    if node.name == "x":
        return "N, D"
    blocks = node.value.shape[-1] // layer.H
    wide = "H" if blocks == 1 else f"{blocks}H"
    rows = {"Wx": "D, ", "Wh": "H, ", "b": "", "bh": ""}
    return rows.get(node.name.split("_")[0], "N, ") + wide


class _WithLoss(Layer):
    """Layers, and the loss of their scores."""

    def __init__(self, net: Sequential) -> None:
        self.net, self.loss = net, SoftmaxWithLoss()

    def forward(self, x: Any, t: Any) -> Any:
        return self.loss.forward(self.net.forward(x), t)

    def backward(self, dL: Any = 1.0) -> Any:
        return self.net.backward(self.loss.backward(dL))


def _chain(layer: Layer, x: HostArray, targets: HostArray | None) -> Picture:
    """Layers one after the other: x goes right, weights come from below."""
    net = layer if isinstance(layer, Sequential) else Sequential(layer)
    if targets is None:
        nodes = graph_of(net, [x], ["y"])
    else:
        nodes = graph_of(_WithLoss(net), [x, targets], ["L"])
    leaves = {id(node) for node in nodes if not node.operation}
    steps = [node for node in nodes if node.operation]
    products = sum(node.operation == "matmul" for node in steps)
    before = next((node for node in nodes if node.name == "x"), None) or _constant("x", x)
    chain, product = [before], 0
    for number, node in enumerate(steps):
        product += node.operation == "matmul"
        index = f"_{product}" if products > 1 else ""
        after = steps[number + 1].operation if number + 1 < len(steps) else ""
        room = STEP + _extra(before) + _extra(node)
        node.at = (before.at[0] + room - 0.2 * (node.operation == "add"), 0.0)
        if after == "SoftmaxWithLoss":
            node.name = "s"
        elif after:
            is_affine = node.operation in ("matmul", "add")
            node.name = f"a{index}" if is_affine else f"z_{product or number + 1}"
            if node.operation == "matmul" and after == "add":
                node.name = "x W"  # which is not written
        below = [source for source in node.sources if id(source.node) in leaves - {id(before)}]
        if node.operation == "SoftmaxWithLoss" and targets is not None:
            below = [Source(_constant("t", targets))]
        for k, source in enumerate(below):
            place = node.at[0] + 0.9 * (k - (len(below) - 1) / 2)
            name = source.node.name.rpartition(".")[2]  # W of layers.0.W
            source.node.at, source.node.name = (place, -1.05), name + index * (name != "t")
        node.sources = [Source(before), *below]
        chain += [node, *(source.node for source in below)]
        before = node
    for node in chain:
        node.shape = _numbers(node.value)
    end = (before.at[0] + STEP + _extra(before), 0.0)
    title = "Values go right (blue), gradients come back (red, dashed)"
    return Picture(title, [*chain, _exit(before, end, before.shape)])


def _constant(name: str, value: Any) -> Node:
    return Node(name, np.asarray(asnumpy(value)), np.zeros(0))


def _extra(node: Node) -> float:
    """How much further than a circle a node reaches to its side, in inches."""
    return 0.045 * len(node.operation) if node.operation[:1].isupper() else 0.0


def _numbers(array: HostArray) -> str:
    return ", ".join(map(str, array.shape))


def road_of(steps: list[list[Node]]) -> Picture:
    """The memory cell over some steps, from the graph of each: its products and sums alone."""
    chain: list[Node] = []
    for t, nodes in enumerate(steps, start=1):
        left, named = 2.75 * (t - 1), {node.name: node for node in nodes}
        kept, total = named["c_prev f"], named["c"]
        f, new = named["f"], named["g i"]
        before = chain[-1] if chain else named["c_prev"]
        f, new = _leaf_at(f, f"f_{t}", left + 1.35), _leaf_at(new, f"new_{t}", left + 2.4)
        kept.at, kept.sources = (left + 1.35, 1.4), [Source(before), Source(f)]
        total.at, total.sources = (left + 2.4, 1.4), [Source(kept), Source(new)]
        if t == 1:
            before.name, before.at = "c_0", (0.0, 1.4)
            chain.append(before)
        total.name = f"c_{t}"
        chain += [f, new, kept, total]
    title = "The road of $c$ alone: at each step one product with $f$ and one sum"
    end = (2.75 * len(steps) + 1.0, 1.4)
    return Picture(title, [*chain, _exit(chain[-1], end, "N, H")])


def _leaf_at(node: Node, name: str, x: float) -> Node:
    """A node of another graph as a leaf below the road."""
    return Node(name, node.value, node.grad, at=(x, 0.1), shape="N, H")
