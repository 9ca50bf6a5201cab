"""Computation graphs that compute: each operation with its value, its gradient and its place.

A graph of a layer is built from the layer's weights and run on inputs. Its outputs are compared
with those of the layer's own forward, and its gradients with those of the layer's backward: a
drawing that says something else than the layer is an error, not a figure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from deepnlp.backend import asarray, asnumpy, functions

HostArray = np.ndarray
Point = tuple[float, float]  # in inches


class Operation(NamedTuple):
    """How an operation is written, what it computes, and the gradients of what it takes."""

    symbol: str
    forward: Callable[..., Any]
    backward: Callable[..., tuple[Any, ...]]


def _matmul_backward(
    dy: HostArray, _y: HostArray, a: HostArray, b: HostArray
) -> tuple[HostArray, HostArray]:
    """Of the rows of a, whatever axes they stand in."""
    return dy @ b.T, a.reshape(-1, a.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])


def _over_rows(dy: HostArray, like: HostArray) -> HostArray:
    """The gradient of what was added to every row: a sum over the rows."""
    return dy.sum(axis=tuple(range(dy.ndim - like.ndim)))


OPERATIONS = {
    "matmul": Operation("×", lambda a, b: a @ b, _matmul_backward),
    "add": Operation(
        "+",
        lambda *terms: sum(terms[1:], start=terms[0]),
        lambda dy, _y, *terms: tuple(_over_rows(dy, term) for term in terms),
    ),
    "multiply": Operation("$\\odot$", lambda a, b: a * b, lambda dy, _y, a, b: (dy * b, dy * a)),
    "one minus": Operation("$1-$", lambda a: 1 - a, lambda dy, _y, _a: (-dy,)),
    "sigmoid": Operation(
        "$\\sigma$", functions.sigmoid, lambda dy, y, _a: (dy * functions.sigmoid_grad(y),)
    ),
    "tanh": Operation("tanh", np.tanh, lambda dy, y, _a: (dy * functions.tanh_grad(y),)),
    "relu": Operation("ReLU", functions.relu, lambda dy, y, _a: (dy * functions.relu_grad(y),)),
}


class Source(NamedTuple):
    """A node, or one of the equal blocks of its columns, as the input of another.

    Attributes
    ----------
    node : Node
    block : int or None
        Number of the block; None for all columns.
    via : tuple of (float, float)
        Corners of the way its arrow takes.
    """

    node: Node
    block: int | None = None
    via: tuple[Point, ...] = ()

    def part(self, array: HostArray) -> HostArray:
        """The block of columns, as a view; all of them where there is no block."""
        if self.block is None:
            return array
        size = array.shape[-1] // len(self.node.blocks)
        return array[..., self.block * size : (self.block + 1) * size]

    @property
    def name(self) -> str:
        """The name of the variable, with the letter of its block."""
        if self.block is None:
            return self.node.name
        return f"{self.node.name}_{self.node.blocks[self.block]}"


@dataclass(eq=False)
class Node:
    """A variable: a leaf of the graph, or what an operation makes.

    Attributes
    ----------
    name : str
        In the letters of the equation, such as ``"h_prev"``.
    shape : str
        In letters, such as ``"N, 4H"``.
    at : (float, float)
        Where it is drawn.
    value : array
    operation : str
        A key of :data:`OPERATIONS`, or the name of a whole layer; empty for a leaf.
    layer : Layer or None
        Where the operation is a whole layer.
    sources : tuple of Source
    blocks : str
        Letters of the equal blocks of columns, such as ``"ifgo"``.
    grad : array or None
        After :meth:`Graph.backward`.
    parameter : str
        The name of the layer's parameter that a leaf is; empty for others.
    """

    name: str
    shape: str
    at: Point
    value: HostArray
    operation: str = ""
    layer: Any = None
    sources: tuple[Source, ...] = ()
    blocks: str = ""
    grad: HostArray | None = None
    parameter: str = ""

    @property
    def symbol(self) -> str:
        """What is written into the node."""
        if self.layer is not None or not self.operation:
            return self.operation
        return OPERATIONS[self.operation].symbol

    def passed_back(self) -> tuple[HostArray | None, ...]:
        """The gradient with respect to each source, from that of the node."""
        if self.layer is not None:
            first = self.layer.backward(asarray(self.grad))
            return (None if first is None else asnumpy(first), *[None] * (len(self.sources) - 1))
        taken = [source.part(source.node.value) for source in self.sources]
        return OPERATIONS[self.operation].backward(self.grad, self.value, *taken)


class Exit(NamedTuple):
    """Where the arrow of an output ends, and the shape that is written there."""

    at: Point
    shape: str


class Graph:
    """Nodes in the order in which they compute.

    Parameters
    ----------
    title : str
    blocks_labelled_at : float
        How far along an edge the label of a block stands, from 0 to 1.

    Attributes
    ----------
    nodes : list of Node
    outputs : list of Node
        What the layer returns.
    exits : list of Exit
        Where the arrow of each output ends.
    """

    def __init__(self, title: str, blocks_labelled_at: float = 0.5) -> None:
        self.title, self.blocks_labelled_at = title, blocks_labelled_at
        self.nodes: list[Node] = []
        self.outputs: list[Node] = []
        self.exits: list[Exit] = []

    def leaf(self, name: str, value: Any, shape: str, at: Point, parameter: str = "") -> Node:
        """Add an input or a weight.

        Parameters
        ----------
        name : str
        value : array
        shape : str
        at : (float, float)
        parameter : str
            The name of the layer's parameter that it is.

        Returns
        -------
        Node
        """
        return self._add(Node(name, shape, at, np.asarray(asnumpy(value)), parameter=parameter))

    def apply(
        self,
        name: str,
        operation: str,
        *sources: Node | Source,
        at: Point,
        shape: str = "",
        blocks: str = "",
    ) -> Node:
        """Add the result of an operation on other nodes.

        Parameters
        ----------
        name : str
            Of the result.
        operation : str
            A key of :data:`OPERATIONS`.
        *sources : Node or Source
        shape : str
        at : (float, float)
        blocks : str
            Letters of the blocks of its columns.

        Returns
        -------
        Node
        """
        taken = tuple(s if isinstance(s, Source) else Source(s) for s in sources)
        values = [source.part(source.node.value) for source in taken]
        value = OPERATIONS[operation].forward(*values)
        return self._add(Node(name, shape, at, value, operation, None, taken, blocks))

    def apply_layer(self, name: str, layer: Any, *sources: Node, at: Point) -> Node:
        """Add the output of a whole layer for other nodes; only the first has a gradient.

        Parameters
        ----------
        name : str
            Of the result.
        layer : Layer
        *sources : Node
        at : (float, float)

        Returns
        -------
        Node
        """
        value = layer.forward(*[asarray(source.value) for source in sources])
        taken = tuple(Source(source) for source in sources)
        owner = type(layer).__name__
        return self._add(Node(name, "", at, np.asarray(asnumpy(value)), owner, layer, taken))

    def output(self, node: Node, exit: Point, shape: str) -> None:
        """Make a node an output of the layer.

        Parameters
        ----------
        node : Node
        exit : (float, float)
            Where its arrow ends.
        shape : str
            As it is written there.
        """
        self.outputs.append(node)
        self.exits.append(Exit(exit, shape))

    def _add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def backward(self, *gradients: HostArray) -> None:
        """The gradient of every node, from those of the outputs: the chain rule, node by node.

        Parameters
        ----------
        *gradients : array
            One for each output.
        """
        for node in self.nodes:
            node.grad = np.zeros_like(node.value, dtype=float)
        for output, gradient in zip(self.outputs, gradients, strict=True):
            assert output.grad is not None
            np.add(output.grad, gradient, out=output.grad)
        for node in reversed(self.nodes):
            if not node.operation:
                continue
            for source, passed in zip(node.sources, node.passed_back(), strict=True):
                if passed is not None and source.node.grad is not None:
                    source.part(source.node.grad)[...] += passed

    def leaves(self) -> list[Node]:
        """Inputs and weights.

        Returns
        -------
        list of Node
        """
        return [node for node in self.nodes if not node.operation]
