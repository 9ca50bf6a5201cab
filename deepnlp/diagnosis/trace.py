"""The tape of a subject, read backwards as it is or with a mistake in it."""

import warnings
from functools import cached_property
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.evaluating.recording import Recording
from deepnlp.diagnosis.reverse import Edit, Reverse
from deepnlp.diagnosis.traced import Traced
from deepnlp.diagnosis.traced import variable as variable_of
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.walking import copy_of


class Trace(Reverse):
    """The operations of one forward, from the variables of a subject to its outputs.

    Its reverse pass gives the gradients; the rest says from where in the program a number comes.
    """

    # --- Backwards --------------------------------------------------------------------------

    @cached_property
    def right(self) -> dict[str, HostArray]:
        """Gradient of every variable."""
        return self.of_variables(self.adjoint)

    @cached_property
    def adjoint(self) -> HostArray:
        """Gradient with respect to every ticket."""
        found: HostArray = self.adjoints([Edit()])[:, 0]
        return found

    @cached_property
    def is_used(self) -> HostArray:
        """By ticket, whether an operation takes it or an output holds it."""
        used = numpy.zeros(self.tape.size, dtype=bool)
        for tickets in [*self.outputs, *(t for node in self.nodes for _, t in node.operands)]:
            used[tickets] = True
        return used

    def nodes_with(self, marked: HostArray) -> list[int]:
        """Numbers of the nodes that take or make one of the tickets that are marked."""
        return [
            number
            for number, node in enumerate(self.nodes)
            if marked[node.tickets].any() or any(marked[t].any() for _, t in node.operands)
        ]

    @cached_property
    def owner(self) -> HostArray:
        """Number of the node that made a ticket, -1 for those of variables and constants."""
        owner = numpy.full(self.tape.size, -1)
        for number, node in enumerate(self.nodes):
            owner[node.tickets] = number
        return owner

    @cached_property
    def rounds(self) -> HostArray:
        """The round of a loop in which a ticket was made, -1 outside of loops."""
        rounds = numpy.full(self.tape.size, -1)
        for numbers in self.sites.values():
            if len(numbers) > 1:
                for one, number in enumerate(numbers):
                    rounds[self.nodes[number].tickets] = one
        return rounds

    # --- Places in the program --------------------------------------------------------------

    @cached_property
    def sites(self) -> dict[Any, list[int]]:
        """Numbers of the nodes that one place in the program made, in order."""
        found: dict[Any, list[int]] = {}
        for number, node in enumerate(self.nodes):
            found.setdefault((node.site.key, node.op), []).append(number)
        return found

    def site_of(self, number: int) -> Any:
        """The place that made a node, as a key of :attr:`sites`."""
        node = self.nodes[number]
        return (node.site.key, node.op)


def follow(subject: Subject) -> Trace:
    """Run one forward on arrays that are followed.

    Raises
    ------
    TraceError
        Where the forward cannot be followed; or whatever it raises on such arrays.
    """
    subject.restore()  # generators of random numbers that are not the object's own
    own, subject = subject, copy_of(subject)
    recording = Recording()
    tape = recording.tape
    originals = {name: v.get() for name, v in subject.variables.items()}
    followed: dict[str, Traced] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, variable in subject.variables.items():
                followed[name] = variable_of(tape, originals[name])
                variable.set(followed[name])
            for place, value in enumerate(subject.inputs):  # x.dot(W) asks x, not W
                if isinstance(value, numpy.ndarray) and value.ndim and value.dtype.kind == "f":
                    subject.inputs[place] = Traced(tape, value, numpy.zeros(value.shape, int))
            # Parameters may have been written into by the forward: remember the first tickets.
            tickets = {name: one.tickets.copy() for name, one in followed.items()}
            outputs = [
                _output_tickets(y) for y in recording.guard.call(subject.raw_forward, [], {})
            ]
    finally:
        for name, value in originals.items():  # closures and globals are not copied
            own.variables[name].set(value)
    return Trace(tape, tickets, outputs, subject.weights)


def _output_tickets(y: Any) -> HostArray:
    if isinstance(y, Traced):
        return y.tickets.copy()
    return numpy.zeros(numpy.shape(y), dtype=int)
