"""The record of a forward, number by number.

A forward is run once on arrays in which every number carries a ticket. Slicing, reshaping, joining
and writing into a buffer move tickets about; an operation that computes something new hands out
new ones and notes in the tape which tickets it took. Read backwards, the tape gives the gradient
of everything, by the chain rule; read with one operation altered, it gives the gradient of a
backward with that mistake, which is compared with the wrong gradient.

The tape does not decide what is right: that comes from numerical gradients alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy

from deepnlp.diagnosis.derivatives import LINEAR, HostArray, jacobians, linear_vjp, partials
from deepnlp.gradcheck.places import Site

Adjoints = list[tuple[HostArray, HostArray]]
"""Tickets, and what is to be added to the gradient of each."""

LARGEST = 30_000
"""A forward of more operations than this is not followed: searching it would take too long."""


class TraceError(Exception):
    """A forward does something that the tape cannot follow; the message says what."""


@dataclass
class Node:
    """One operation.

    Attributes
    ----------
    op : str
        Such as ``"multiply"``, ``"matmul"``, ``"sum"`` or ``"gather"`` (a look-up by ids).
    operands : list of (values, tickets)
        As they entered; ticket 0 marks a constant.
    values, tickets : array
        What came out.
    site : Site
    subscripts : str
        Of an ``einsum``.
    axes : tuple of int
        Of a ``sum``.
    function : callable, optional
        Of the operands, where the operation is a call of a function without a formula here.
    """

    op: str
    operands: list[tuple[HostArray, HostArray]]
    values: HostArray
    tickets: HostArray
    site: Site
    subscripts: str = ""
    axes: tuple[int, ...] = ()
    function: Callable[..., Any] | None = None

    @cached_property
    def carries(self) -> list[bool]:
        """True if each operand carries tickets; the others are constants."""
        return [bool(t.any()) for _, t in self.operands]

    @property
    def arrays(self) -> list[HostArray]:
        """The operands without their tickets."""
        return [numpy.asarray(v, dtype="float64") for v, _ in self.operands]

    def vjp(self, g: HostArray, operands: list[HostArray], y: HostArray) -> list[HostArray]:
        """Gradient with respect to each operand, from values of the operands and of the result.

        Parameters
        ----------
        g : array
            Gradient with respect to the result.
        operands : list of array
        y : array

        Returns
        -------
        list of array
            Of a shape to which the operand's tickets broadcast.
        """
        if self.op in LINEAR:
            return [found[..., 0] for found in linear_vjp(self, g[..., None], operands)]
        return [g * partial for partial in partials(self.op, operands, y)]

    @cached_property
    def _own_jacobians(self) -> list[HostArray]:
        return jacobians(self.function, [v for v, _ in self.operands])

    def jacobians(self, operands: list[HostArray]) -> list[HostArray]:
        """Derivatives of a call with respect to each operand; once for its own operands."""
        is_own = all(a is b for a, (b, _) in zip(operands, self.operands))
        return self._own_jacobians if is_own else jacobians(self.function, operands)


@dataclass
class Tape:
    """All operations in order, and the value that belongs to each ticket.

    Attributes
    ----------
    nodes : list of Node
    overwritten : list of (tickets before, tickets after)
        What was written in place, over what.
    site : callable
        Gives the place of what is computed.
    """

    nodes: list[Node] = field(default_factory=list)
    overwritten: list[tuple[HostArray, HostArray]] = field(default_factory=list)
    site: Callable[[], Site] = field(default_factory=lambda: partial(Site.of, []))
    _values: list[HostArray] = field(default_factory=lambda: [numpy.zeros(1)])
    _size: int = 1

    @property
    def size(self) -> int:
        """Number of tickets."""
        return self._size

    @property
    def values(self) -> HostArray:
        """Value by ticket; that of ticket 0 has no meaning."""
        if len(self._values) > 1:
            self._values = [numpy.concatenate(self._values)]
        return self._values[0]

    def hand_out(self, values: HostArray) -> HostArray:
        """New tickets for numbers, one after the other."""
        tickets = numpy.arange(self._size, self._size + values.size).reshape(values.shape)
        self._size += values.size
        self._values.append(numpy.array(values, dtype="float64").reshape(-1))
        return tickets

    def record(
        self, op: str, values: HostArray, pairs: list[tuple[HostArray, HostArray]], **details: Any
    ) -> HostArray:
        """Note an operation and give the tickets of its result; a constant's are 0."""
        if not any(tickets.any() for _, tickets in pairs):
            return numpy.zeros(values.shape, dtype=int)
        if len(self.nodes) >= LARGEST:
            raise TraceError("the forward takes too many operations to be followed")
        tickets = self.hand_out(values)
        copies = [(numpy.array(v), numpy.array(t)) for v, t in pairs]
        self.nodes.append(Node(op, copies, values.copy(), tickets, self.site(), **details))
        return tickets.copy()
