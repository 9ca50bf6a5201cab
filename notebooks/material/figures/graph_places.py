"""Where the nodes of a computation graph are drawn, and how they are named."""

import tomllib
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deepnlp.backend import HostArray, asnumpy
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import GRU, LSTM, RNN, SoftmaxWithLoss
from material.figures.graph_of_tape import Node, Point, Source, graph_of

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
    """A table of ``graph_places.toml``: where the nodes of a step stand, by name."""

    title: str
    letters: str  # of the blocks in the weights
    outputs: list[str]
    right: float
    corners: list[list[str]]
    blocks_labelled_at: float
    places: dict[str, Point]
    equations: dict[str, str]


TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
STAGES: dict[str, str] = TABLES.pop("stages")
PLANS = {name: Plan(**table) for name, table in TABLES.items()}


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
    plan = _plan(layer)
    return _step(plan, layer, inputs) if plan else _chain(layer, inputs[0], targets)


def _plan(layer: Any) -> Plan | None:
    """The plan of a recurrent layer."""
    if hasattr(layer, "parts"):
        plan = PLANS["lstm"]
        title = STAGES.get(layer.parts, f"A cell of the parts {', '.join(layer.parts)}")
        at_h = plan.places["h" if "o" in layer.parts else "tanh c"]
        return plan._replace(title=title, letters=layer.parts, places=plan.places | {"h": at_h})
    if isinstance(layer, GRU):
        plan = PLANS["gru"]
        title = plan.title.replace("before", "after") if layer.reset_after else plan.title
        product = {"h_prev Wh": "p"} if layer.bh is None else {}
        return plan._replace(title=title, equations=plan.equations | product)
    if isinstance(layer, LSTM | RNN):
        return PLANS["lstm" if isinstance(layer, LSTM) else "rnn"]
    return None


def _step(plan: Plan, layer: Any, inputs: list[HostArray]) -> Picture:
    """One step of a recurrent layer: every node has its place in the plan."""
    nodes = graph_of(layer, inputs, plan.outputs, plan.letters, plan.equations)
    for node in nodes:
        if node.name not in plan.places:
            raise ValueError(f"computation_graph: there is no place for {node.name!r}")
        x, y = plan.places[node.name]
        node.at, node.shape = (x, y), _in_letters(node, layer)
        for k, source in enumerate(node.sources):
            if [source.node.name, node.name] in plan.corners:
                corner = x, plan.places[source.node.name][1]
                node.sources[k] = source._replace(via=(corner,))
    named = {node.name: node for node in nodes}
    ends = [(named[name], (plan.right, plan.places[name][1])) for name in plan.outputs]
    exits = [_exit(node, at, "N, H") for node, at in ends]
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
    steps = [node for node in nodes if node.operation]
    products = sum(node.operation == "matmul" for node in steps)
    before = next((node for node in nodes if node.name == "x"), None) or _constant("x", x)
    chain, product = [before], 0
    for node, after in zip_longest(steps, steps[1:]):
        product += node.operation == "matmul"
        index = f"_{product}" if products > 1 else ""
        room = STEP + _extra(before) + _extra(node)
        node.at = (before.at[0] + room - 0.2 * (node.operation == "add"), 0.0)
        if after is not None:
            node.name = _between(node.operation, after.operation, index, product or len(chain))
        below = [source for source in node.sources if not source.node.operation]
        below = [source for source in below if source.node is not before]
        if after is None and targets is not None:
            below = [Source(_constant("t", targets))]
        for k, (leaf, *_) in enumerate(below):
            leaf.at = (node.at[0] + 0.9 * (k - (len(below) - 1) / 2), -1.05)
            leaf.name = leaf.name.rpartition(".")[2] + index * (leaf.name != "t")  # layers.0.W: W_1
        node.sources = [Source(before), *below]
        chain += [node, *(source.node for source in below)]
        before = node
    for node in chain:
        node.shape = ", ".join(map(str, node.value.shape))
    end = (before.at[0] + STEP + _extra(before), 0.0)
    title = "Values go right (blue), gradients come back (red, dashed)"
    return Picture(title, [*chain, _exit(before, end, before.shape)])


def _between(operation: str, after: str, index: str, number: int) -> str:
    """The name of what goes from one operation of a chain to the next."""
    if after == "SoftmaxWithLoss":
        return "s"
    if operation == "matmul" and after == "add":
        return "x W"  # which is not written
    return f"a{index}" if operation in ("matmul", "add") else f"z_{number}"


def _constant(name: str, value: Any) -> Node:
    return Node(name, np.asarray(asnumpy(value)), np.zeros(0))


def _extra(node: Node) -> float:
    """How much further than a circle a node reaches to its side, in inches."""
    return 0.045 * len(node.operation) if node.operation[:1].isupper() else 0.0


def road_of(steps: list[list[Node]]) -> Picture:
    """The memory cell over some steps, from the graph of each: its products and sums alone."""
    chain: list[Node] = []
    for t, nodes in enumerate(steps, start=1):
        left, named = 2.1 * (t - 1), {node.name: node for node in nodes}
        kept, total = named["c_prev f"], named["c"]
        f, new = named["f"], named["g i"]
        before = chain[-1] if chain else named["c_prev"]
        f, new = _leaf_at(f, f"f_{t}", left + 1.05), _leaf_at(new, f"new_{t}", left + 1.9)
        kept.at, kept.sources = (left + 1.05, 1.4), [Source(before), Source(f)]
        total.at, total.sources = (left + 1.9, 1.4), [Source(kept), Source(new)]
        if t == 1:
            before.name, before.at = "c_0", (0.0, 1.4)
            chain.append(before)
        total.name = f"c_{t}"
        chain += [f, new, kept, total]
    title = "The road of $c$ alone: at each step one product with $f$ and one sum"
    end = (2.1 * len(steps) + 0.8, 1.4)
    return Picture(title, [*chain, _exit(chain[-1], end, "N, H")])


def _leaf_at(node: Node, name: str, x: float) -> Node:
    """A node of another graph as a leaf below the road."""
    return Node(name, node.value, node.grad, at=(x, 0.1), shape="N, H")
