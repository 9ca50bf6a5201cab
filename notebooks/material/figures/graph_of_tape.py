"""The computation graph of a layer, read from the tape of its own forward.

:mod:`deepnlp.diagnosis` runs a forward on arrays whose numbers carry tickets and notes every
operation. What is one idea to a reader becomes one node here: the four operations of a sigmoid,
all that a whole layer does, several sums in a row. Gradients are those of the tape read backwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from deepnlp.backend import HostArray, products
from deepnlp.diagnosis import tape
from deepnlp.diagnosis.trace import Trace, follow
from deepnlp.gradcheck.subject import Subject

Point = tuple[float, float]  # in inches

FUNCTIONS = ("sigmoid",)  # one node each, whatever they compute inside
OPENED = {"Sequential", "Affine", "MatMul", "Sigmoid", "Tanh", "ReLU"}  # layers, not one node each
COMMUTING = ("add", "multiply")


class Source(NamedTuple):
    """A node, or some columns of it, as the input of another; ``via`` is a corner of its arrow."""

    node: Node
    columns: slice = slice(None)
    letters: str = ""  # of the blocks that the columns are
    via: tuple[Point, ...] = ()

    @property
    def name(self) -> str:
        """The name of the variable, with the letters of its blocks."""
        return f"{self.node.name}_{self.letters}" if self.letters else self.node.name

    def part(self, array: HostArray) -> HostArray:
        """The columns of the value, or of the gradient."""
        return array[..., self.columns] if array.ndim else array


@dataclass(eq=False)
class Node:
    """A variable: a leaf of the graph, or what an operation makes.

    Attributes
    ----------
    name : str
        A letter of an equation such as ``"h_prev"``, or an expression such as ``"i g"``.
    value, grad : array
        ``grad`` of whole numbers is empty: they have no gradient.
    operation : str
        Such as ``"matmul"``, ``"sigmoid"`` or the name of a whole layer; empty for a leaf.
    sources : list of Source
    tickets : array
        Of the value, in the tape.
    at : (float, float)
        Where it is drawn.
    shape : str
        As it is written.
    """

    name: str
    value: HostArray
    grad: HostArray
    operation: str = ""
    sources: list[Source] = field(default_factory=list)
    tickets: HostArray = field(default_factory=lambda: np.zeros(0, int))
    at: Point = (0.0, 0.0)
    shape: str = ""


def graph_of(
    layer: Any,
    inputs: Sequence[Any],
    outputs: Sequence[str],
    letters: str = "",
    equations: Mapping[str, str] | None = None,
    dys: Sequence[HostArray] | None = None,
) -> list[Node]:
    """The nodes of one forward of a layer, leaves included, in the order in which they compute.

    Parameters
    ----------
    layer : Layer
    inputs : sequence of array
        What its forward takes.
    outputs : sequence of str
        Names for what it returns.
    letters : str
        Of the blocks of H columns in its weights, such as ``"ifgo"``.
    equations : dict of str to str
        Names of nodes by what they compute, the terms of a sum in the order of the alphabet, such
        as ``{"b + h_prev Wh + x Wx": "a"}``.
    dys : sequence of array, optional
        Gradients with respect to the outputs; ones by default.
    """
    subject = Subject(layer, tuple(inputs))
    ones = [np.ones_like(y) for y in subject.forward()]
    subject.weights = ones if dys is None else list(dys)
    subject.analytic_gradients()  # after a backward, the subject knows its weights
    width = getattr(layer, "H", 0) if letters else 0
    tile, products.TILE = products.TILE, 1  # a product is drawn as written, without rows of zeros
    try:
        trace = follow(subject)
    finally:
        products.TILE = tile
    firsts = [int(output.flat[0]) for output in trace.outputs]
    names = dict(zip(firsts, outputs, strict=True))
    reader = _Reader(trace, names, letters, width, equations or {})
    reader.read({base.__qualname__ for base in type(subject.layer).__mro__} | OPENED)
    return reader.nodes


@dataclass
class _Reader:
    """Nodes from the operations of a tape; outputs and makers by their first tickets."""

    trace: Trace
    outputs: dict[int, str]
    letters: str
    width: int
    equations: Mapping[str, str]
    nodes: list[Node] = field(default_factory=list)
    maker: dict[int, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.same = np.arange(self.trace.tape.size)  # the ticket that a number times 1 had before
        read = [t for node in self.trace.nodes for _, t in node.operands] + self.trace.outputs
        used = np.concatenate([np.unique(tickets) for tickets in read])
        self.uses = np.bincount(used, minlength=self.trace.tape.size)

    def read(self, opened: set[str]) -> None:
        """Add a node for each group of operations that is one idea."""
        groups: list[tuple[Any, list[tape.Node]]] = []
        for node in self.trace.nodes:
            call = _folded_call(node, opened)
            again = groups and any(node.site.key == other.site.key for other in groups[-1][1])
            if call is None or again or not groups or call != groups[-1][0]:
                groups.append((call, []))
            groups[-1][1].append(node)
        for call, group in groups:
            self._add(group, call[0] if call else group[0].op)

    def source(self, tickets: HostArray) -> Source:
        """The node, or the columns of a node, that made some numbers."""
        tickets = self.same[tickets]
        first = int(tickets.flat[0])
        if first not in self.maker:
            return self._leaf(tickets)
        node = self.maker[first]
        whole = node.tickets.size == tickets.size
        return Source(node) if whole else Source(node, *self._block(node.tickets, tickets))

    def _block(self, whole: HostArray, part: HostArray) -> tuple[slice, str]:
        """Which columns some numbers are, and the letters of these blocks."""
        start = int(np.argwhere(whole == part.flat[0])[0][-1])
        stop = start + part.shape[-1]
        letters = self.letters[start // self.width : stop // self.width] if self.width else ""
        return slice(start, stop), letters

    def _leaf(self, tickets: HostArray) -> Source:
        """A variable; where blocks of a weight are used apart, each block is a leaf."""
        name, own = next(
            item for item in self.trace.variables.items() if (item[1] == tickets.flat[0]).any()
        )
        if own.size != tickets.size:
            columns, letters = self._block(own, tickets)
            own, name = own[..., columns], f"{name}_{letters}"
        return Source(self._node(name, own))

    def _node(self, name: str, tickets: HostArray, **details: Any) -> Node:
        value = self.trace.tape.values[tickets]
        node = Node(name, value, self.trace.adjoint[tickets], tickets=tickets, **details)
        self.maker |= dict.fromkeys(tickets.ravel().tolist(), node)
        self.nodes.append(node)
        return node

    def _add(self, group: list[tape.Node], operation: str) -> None:
        inside = {ticket for node in group for ticket in node.tickets.flat}
        pairs = [pair for node in group for pair in node.operands]
        taken = [t for _, t in pairs if t.any() and t.flat[0] not in inside]
        last = group[-1].tickets
        if operation == "matmul" and last.ndim == 3 and last.shape[1] == 1:
            last = last[:, 0]  # rows that were multiplied one by one
        if operation in ("multiply", "subtract") and len(taken) == 1:  # by or from a constant
            constant = next(v for v, t in pairs if not t.any())
            if np.all(constant == 1) and operation == "multiply":
                self.same[last] = self.same[taken[0]]
                if last.flat[0] in self.outputs:
                    self.source(last).node.name = self.outputs[last.flat[0]]
                return
            operation = "one minus" if operation == "subtract" else operation
        sources: list[Source] = []
        for source in map(self.source, taken):
            if operation == source.node.operation == "add" and self._is_only_a_term(source):
                self.nodes.remove(source.node)
                sources += source.node.sources
            elif all(source[:2] != other[:2] for other in sources):
                sources.append(source)
        name = self._name(operation, [source.name for source in sources])
        name = self.outputs.get(last.flat[0], name)
        self._node(name, last, operation=operation, sources=sources)

    def _is_only_a_term(self, source: Source) -> bool:
        """Return whether a sum without a letter of its own is used once, in another sum."""
        return " " in source.name and bool((self.uses[source.node.tickets] == 1).all())

    def _name(self, operation: str, names: list[str]) -> str:
        """The letter of an equation, or else an expression."""
        if operation in ("sigmoid", "tanh") and names[0].startswith("a_"):
            return names[0][2:]  # i = sigmoid(a_i)
        names = sorted(names) if operation in COMMUTING else names
        text = (" + " if operation == "add" else " ").join(names)
        if operation not in (*COMMUTING, "matmul"):
            text = f"{operation} {text}"
        return self.equations.get(text, text)


def _folded_call(node: tape.Node, opened: set[str]) -> Any:
    """The outermost call that is one node as a whole: its name, and where it was called."""
    for depth, (code, _) in reversed(list(enumerate(node.site.key))):
        owner, _, method = code.co_qualname.rpartition(".")
        if code.co_name in FUNCTIONS or (method == "forward" and owner not in opened):
            return owner or method, node.site.key[depth + 1 :]
    return None
