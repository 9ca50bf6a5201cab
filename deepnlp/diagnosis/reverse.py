"""Reverse passes over a tape, side by side, each with one edit.

The gradient of f = sum of w * y is J^T w, and the reverse pass computes it from the last operation
to the first: what an operation receives, g, it passes on to its operands, times its derivatives.
An edit alters what some operations pass on. Since a pass is a list of a few hundred small NumPy
operations, hundreds of edited passes are run at once, in the columns of the same arrays: the
adjoint has one row for each ticket and one column for each edit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
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
    """

    number: int
    node: Node
    g: HostArray
    passed: dict[int, HostArray]

    def vjp(self, g: HostArray, operands: list[HostArray] | None = None) -> dict[int, HostArray]:
        """Return the gradient that it would pass on for another gradient or other operands."""
        own = self.node.arrays if operands is None else operands
        found = self.node.vjp(g, own, self.node.values)
        return {j: found[j] for j in self.passed}


Change = Callable[[Run], "dict[int, HostArray] | Adjoints"]
"""What is passed on instead, to some operands, or to any tickets."""


@dataclass
class Edit:
    """Alterations of the reverse pass.

    Attributes
    ----------
    parts : list of (numbers of nodes, Change)
        Where two alter a node, the later one meets what the earlier one passes on.
    """

    parts: list[tuple[Collection[int], Change]] = field(default_factory=list)

    def __add__(self, other: Edit) -> Edit:
        """Both."""
        return Edit([*self.parts, *other.parts])


def times(factor: float, j: int = -1) -> Change:
    """Return what is passed on to operand j, or to all (-1), times a number."""
    return lambda run: {k: factor * v for k, v in run.passed.items() if j in (-1, k)}


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
        self.tape, self.nodes = tape, tape.nodes
        self.variables, self.outputs, self.weights = variables, outputs, weights
        self._starts = [Place(tickets) for tickets in outputs]
        self._results = [Place(node.tickets) for node in self.nodes]
        self._operands = [
            [(j, Place(t)) for j, (_, t) in enumerate(node.operands) if node.carries[j]]
            for node in self.nodes
        ]
        self._partials = [_partials(node) for node in self.nodes]

    def run(self, edits: Sequence[Edit]) -> Iterator[dict[str, HostArray]]:
        """The gradients of all variables under each edit."""
        columns = int(numpy.clip(_NUMBERS // self.tape.size, 1, 128))
        for start in range(0, len(edits), columns):
            batch = edits[start : start + columns]
            adjoint = self.adjoints(batch)
            for k in range(len(batch)):
                yield self.of_variables(adjoint[:, k])

    def of_variables(self, adjoint: HostArray) -> dict[str, HostArray]:
        """The gradient of every variable, from those with respect to all tickets."""
        return {name: numpy.asarray(adjoint[t]) for name, t in self.variables.items()}

    def adjoints(self, edits: Sequence[Edit]) -> HostArray:
        """Gradient with respect to every ticket (tickets, edits)."""
        adjoint = numpy.zeros((self.tape.size, len(edits)))
        for place, weight in zip(self._starts, self.weights):
            place.add(adjoint, numpy.repeat(weight[..., None], len(edits), axis=-1))
        edited: dict[int, list[tuple[int, Change]]] = {}
        for column, edit in enumerate(edits):
            for numbers, change in edit.parts:
                for number in numbers:
                    edited.setdefault(number, []).append((column, change))
        for number in reversed(range(len(self.nodes))):
            g = self._results[number].take(adjoint)
            values = self._passed(number, g)
            if number in edited:
                values = [v.copy() if v is g or not v.flags.writeable else v for v in values]
                for column, change in edited[number]:
                    passed = {
                        j: v[..., column] for (j, _), v in zip(self._operands[number], values)
                    }
                    run = Run(number, self.nodes[number], g[..., column], passed)
                    try:
                        _alter(run, change, adjoint[:, column])
                    except ValueError:  # shapes that differ from run to run: it would not run
                        adjoint[:, column] = numpy.nan
            for (_, place), value in zip(self._operands[number], values):
                place.add(adjoint, value)
        return adjoint

    def _passed(self, number: int, g: HostArray) -> list[HostArray]:
        """Return a node's gradients of its operands with tickets, by the chain rule."""
        node, found = self.nodes[number], self._partials[number]
        if found is None:
            values = linear_vjp(node, g, [v for v, _ in node.operands])
            return [values[j] for j, _ in self._operands[number]]
        return [
            g if isinstance(found[j], float) and found[j] == 1.0 else g * found[j]
            for j, _ in self._operands[number]
        ]


def _alter(run: Run, change: Change, adjoint: HostArray) -> None:
    """Write what is passed on instead over what a node passes on."""
    altered, passed = change(run), run.passed
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
            own = run.node.operands[j][1]
            shape = numpy.broadcast_shapes(what.shape, own.shape)
            numpy.add.at(adjoint, numpy.broadcast_to(own, shape), numpy.broadcast_to(what, shape))


def _partials(node: Node) -> list[Any] | None:
    """Derivatives of an entry-by-entry operation, with an axis for the columns; numbers stay."""
    if node.op in LINEAR:
        return None
    found = partials(node.op, [v for v, _ in node.operands], node.values)
    return [
        p if isinstance(p, float) else numpy.asarray(p, dtype="float64")[..., None] for p in found
    ]
