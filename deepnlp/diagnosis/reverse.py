"""Reverse passes over a tape, side by side, each with one edit.

The gradient of f = sum of w * y is J^T w, and the reverse pass computes it from the last operation
to the first: what an operation receives, g, it passes on to its operands, times its derivatives.
An edit alters what some operations pass on. Since a pass is a list of a few hundred small NumPy
operations, hundreds of edited passes are run at once, in the columns of the same arrays: the
adjoint has one row for each ticket and one column for each edit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from deepnlp.diagnosis.derivatives import LINEAR, HostArray, linear_vjp, partials, summed
from deepnlp.diagnosis.tape import Adjoints, Node, Tape

_NUMBERS = 3_000_000
"""As many numbers as the adjoint of one batch may have."""


@dataclass
class Run:
    """One operation as an edited pass meets it.

    Attributes
    ----------
    number : int
    node : Node
    g : array
        Gradient with respect to its result.
    passed : dict of int to array
        What it passes on, by number of the operand, for those that carry tickets.
    adjoint : array (tickets,)
        The gradient with respect to what comes later is complete here.
    """

    number: int
    node: Node
    g: HostArray
    passed: dict[int, HostArray]
    adjoint: HostArray

    def vjp(self, g: HostArray, operands: list[HostArray] | None = None) -> dict[int, HostArray]:
        """What it would pass on for another gradient, or with other operands."""
        own = self.node.arrays if operands is None else operands
        found = self.node.vjp(g, own, self.node.values)
        return {j: found[j] for j in self.passed}


Change = Callable[[Run], "dict[int, HostArray] | Adjoints | None"]
"""What is passed on instead, to some operands, or to any tickets; None where nothing changes."""


@dataclass
class Edit:
    """One alteration of the reverse pass.

    Attributes
    ----------
    change : callable, optional
        What the nodes in ``at`` pass on instead.
    at : numbers of nodes
    scaled : tuple (number of an operand, factor), optional
        In place of ``change``: multiply what is passed on to this operand, or to all (-1).
    partial : tuple (number of an operand, arrays by number of the node), optional
        In its place: the derivative with respect to this operand that is used for the right one.
    """

    change: Change | None = None
    at: Collection[int] = ()
    scaled: tuple[int, float] | None = None
    partial: tuple[int, dict[int, HostArray]] | None = None

    def __add__(self, other: Edit | Joined) -> Joined:
        """Both."""
        return Joined([self, *_parts(other)])


@dataclass
class Joined:
    """Several edits in one pass; where two alter a node, the last does, and numbers multiply.

    Attributes
    ----------
    edits : list of Edit
    """

    edits: list[Edit]

    def __add__(self, other: Edit | Joined) -> Joined:
        return Joined([*self.edits, *_parts(other)])


class Place:
    """Where the numbers of an array stand in the adjoint."""

    def __init__(self, tickets: HostArray) -> None:
        self.tickets, self.shape, self.size = tickets, tickets.shape, tickets.size
        flat = tickets.reshape(-1)
        self.start = int(flat[0]) if flat.size else 0
        self.is_run = bool((flat == numpy.arange(self.start, self.start + flat.size)).all())
        self.order: HostArray | None = None
        if not self.is_run:
            order = numpy.argsort(flat, kind="stable")
            ordered = flat[order]
            first = numpy.flatnonzero(numpy.diff(ordered, prepend=-1))
            if len(first) < flat.size:  # a number that is used twice gets two contributions
                self.order, self.first, self.unique = order, first, ordered[first]

    def take(self, adjoint: HostArray) -> HostArray:
        """The rows of an array, in its shape."""
        if self.is_run:
            return adjoint[self.start : self.start + self.size].reshape((*self.shape, -1))
        return adjoint[self.tickets]

    def add(self, adjoint: HostArray, value: HostArray) -> None:
        """Add contributions; those of a shape that the array was broadcast to are summed first."""
        value = summed(value, self.shape, columns=1)
        if self.is_run:
            own = self.take(adjoint)
            own += value
        elif self.order is None:
            adjoint[self.tickets] += value
        else:
            rows = numpy.broadcast_to(value, (*self.shape, value.shape[-1]))
            rows = rows.reshape(-1, value.shape[-1])[self.order]
            adjoint[self.unique] += numpy.add.reduceat(rows, self.first, axis=0)


class Reverse:
    """The reverse pass of a tape, made ready to run many times.

    Parameters
    ----------
    tape : Tape
    variables : dict of str to tickets
    outputs : list of tickets
    weights : list of array
        Gradients with respect to the outputs.
    """

    def __init__(
        self,
        tape: Tape,
        variables: dict[str, HostArray],
        outputs: list[HostArray],
        weights: list[HostArray],
    ) -> None:
        self.nodes, self.size = tape.nodes, tape.size
        self.weights = weights
        self.outputs = [Place(tickets) for tickets in outputs]
        self.variables = {name: Place(tickets) for name, tickets in variables.items()}
        self._results = [Place(node.tickets) for node in self.nodes]
        self._operands = [
            [(j, Place(t)) for j, (_, t) in enumerate(node.operands) if node.carries[j]]
            for node in self.nodes
        ]
        self.partials = [_partials(node) for node in self.nodes]

    def run(self, edits: Sequence[Edit | Joined]) -> Iterator[dict[str, HostArray]]:
        """The gradients of all variables under each edit."""
        columns = int(numpy.clip(_NUMBERS // max(self.size, 1), 1, 128))
        for start in range(0, len(edits), columns):
            batch = edits[start : start + columns]
            adjoint = self.adjoint(batch)
            found = {name: place.take(adjoint) for name, place in self.variables.items()}
            for k in range(len(batch)):
                yield {name: values[..., k].copy() for name, values in found.items()}

    def adjoint(self, edits: Sequence[Edit | Joined]) -> HostArray:
        """Gradient with respect to every ticket (tickets, edits)."""
        adjoint = numpy.zeros((self.size, len(edits)))
        for place, weight in zip(self.outputs, self.weights):
            place.add(adjoint, numpy.repeat(weight[..., None], len(edits), axis=-1))
        edited: dict[int, list[tuple[int, Edit]]] = {}
        for column, one in enumerate(edits):
            for edit in _parts(one):
                for number in edit.at:
                    edited.setdefault(number, []).append((column, edit))
        for number in reversed(range(len(self.nodes))):
            g = self._results[number].take(adjoint)
            values = self._passed(number, g)
            if number in edited:
                values = [v.copy() if v is g or not v.flags.writeable else v for v in values]
                for column, edit in edited[number]:
                    try:
                        self._edit(adjoint[:, column], number, g[..., column], values, column, edit)
                    except ValueError:  # shapes that differ from run to run: it would not run
                        adjoint[:, column] = numpy.nan
            for (_, place), value in zip(self._operands[number], values):
                place.add(adjoint, value)
        return adjoint

    def _passed(self, number: int, g: HostArray) -> list[HostArray]:
        """What a node passes on to its operands that carry tickets, by the chain rule."""
        node, found = self.nodes[number], self.partials[number]
        if found is None:
            values = linear_vjp(node, g, [v for v, _ in node.operands])
            return [values[j] for j, _ in self._operands[number]]
        return [
            g if isinstance(found[j], float) and found[j] == 1.0 else g * found[j]
            for j, _ in self._operands[number]
        ]

    def _edit(
        self,
        adjoint: HostArray,
        number: int,
        g: HostArray,
        values: list[HostArray],
        column: int,
        edit: Edit,
    ) -> None:
        """Alter one column of what a node passes on."""
        node = self.nodes[number]
        passed = {j: v[..., column] for (j, _), v in zip(self._operands[number], values)}
        altered: dict[int, HostArray] | Adjoints | None
        if edit.scaled is not None:
            altered = {
                j: edit.scaled[1] * v for j, v in passed.items() if edit.scaled[0] in (-1, j)
            }
        elif edit.partial is not None:
            altered = {edit.partial[0]: g * edit.partial[1][number]}
        elif edit.change is not None:
            altered = edit.change(Run(number, node, g, passed, adjoint))
        if altered is None:
            return
        if not isinstance(altered, dict):
            elsewhere, altered = altered, {j: numpy.zeros(()) for j in passed}
            for tickets, what in elsewhere:
                numpy.add.at(adjoint, numpy.broadcast_to(tickets, what.shape), what)
        for j, what in altered.items():
            if j not in passed:
                continue
            if what.shape == passed[j].shape or not what.any():
                passed[j][...] = what
            else:  # of the operand's shape, or of one that it was broadcast to
                passed[j][...] = 0.0
                shape = numpy.broadcast_shapes(what.shape, node.operands[j][1].shape)
                tickets = numpy.broadcast_to(node.operands[j][1], shape)
                numpy.add.at(adjoint, tickets, numpy.broadcast_to(what, shape))


def _parts(edit: Edit | Joined) -> list[Edit]:
    return edit.edits if isinstance(edit, Joined) else [edit]


def _partials(node: Node) -> list[Any] | None:
    """Derivatives of an entry-by-entry operation, with an axis for the columns; numbers stay."""
    if node.op in LINEAR:
        return None
    found = partials(node.op, [v for v, _ in node.operands], node.values)
    return [
        p if isinstance(p, float) else numpy.asarray(p, dtype="float64")[..., None] for p in found
    ]
