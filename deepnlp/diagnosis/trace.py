"""The tape of a subject, read backwards as it is or with a mistake in it."""

import copy
import inspect
import warnings
from functools import cached_property
from typing import Any

import numpy

from deepnlp import backend
from deepnlp.diagnosis.reverse import Edit, Reverse
from deepnlp.diagnosis.standin import TracingNumpy, numpy_replaced
from deepnlp.diagnosis.tape import Tape
from deepnlp.diagnosis.traced import Traced
from deepnlp.diagnosis.traced import variable as variable_of
from deepnlp.gradcheck.numeric import HostArray
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.walking import holders, places


class Trace:
    """The operations of one forward, from the variables of a subject to its outputs.

    Parameters
    ----------
    tape : Tape
    variables : dict of str to tickets
    outputs : list of tickets
    weights : list of array
        Gradients with respect to the outputs.

    Attributes
    ----------
    owner : array
        Number of the node that made a ticket, -1 for those of variables and constants.
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
        self.owner = numpy.full(tape.size, -1)
        for number, node in enumerate(self.nodes):
            self.owner[node.tickets] = number

    # --- Backwards --------------------------------------------------------------------------

    @cached_property
    def reverse(self) -> Reverse:
        """The reverse pass, made ready to run with many edits."""
        return Reverse(self.tape, self.variables, self.outputs, self.weights)

    @cached_property
    def right(self) -> dict[str, HostArray]:
        """Gradient of every variable."""
        return {
            n: place.take(self.adjoint[:, None])[..., 0]
            for n, place in self.reverse.variables.items()
        }

    @cached_property
    def adjoint(self) -> HostArray:
        """Gradient with respect to every ticket."""
        return self.reverse.adjoint([Edit()])[:, 0]

    def gradient_at(self, number: int) -> HostArray:
        """Gradient with respect to the result of a node."""
        found: HostArray = self.adjoint[self.nodes[number].tickets]
        return found

    def gradients(self, edit: Edit | None = None) -> dict[str, HostArray]:
        """Gradient of every variable under one edit."""
        return next(iter(self.reverse.run([edit or Edit()])))

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
    own, subject = subject, copy.deepcopy(subject)
    tape = Tape()
    stand_in = TracingNumpy(tape)
    originals = {name: v.get() for name, v in subject.variables.items()}
    followed: dict[str, Traced] = {}
    module = backend.xp._module
    backend.use_module(stand_in)
    try:
        with (
            numpy_replaced(_namespaces(subject.layer, subject.functions), stand_in),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            for name, variable in subject.variables.items():
                followed[name] = variable_of(tape, originals[name])
                variable.set(followed[name])
            for place, value in enumerate(subject.inputs):  # x.dot(W) asks x, not W
                if isinstance(value, numpy.ndarray) and value.ndim and value.dtype.kind == "f":
                    subject.inputs[place] = Traced(tape, value, numpy.zeros(value.shape, int))
            # Parameters may have been written into by the forward: remember the first tickets.
            tickets = {name: one.tickets.copy() for name, one in followed.items()}
            outputs = [_output_tickets(y) for y in subject.raw_forward()]
    finally:
        backend.use_module(module)
        for name, value in originals.items():  # closures and globals are not copied
            own.variables[name].set(value)
    return Trace(tape, tickets, outputs, subject.weights)


def _output_tickets(y: Any) -> HostArray:
    if isinstance(y, Traced):
        return y.tickets.copy()
    return numpy.zeros(numpy.shape(y), dtype=int)


def _namespaces(layer: Any, functions: list[Any]) -> list[dict[str, Any]]:
    """Global names of the modules in which an object's methods and their helpers are written."""
    found: dict[int, dict[str, Any]] = {}

    def add(function: Any, depth: int) -> None:
        names = getattr(inspect.unwrap(function), "__globals__", None)
        if names is None or id(names) in found or depth == 0:
            return
        if names.get("__name__", "").split(".")[0] in ("numpy", "deepnlp"):
            return
        found[id(names)] = names
        for value in list(names.values()):
            if inspect.isfunction(value):
                add(value, depth - 1)
            elif inspect.isclass(value):
                for method in vars(value).values():
                    if inspect.isfunction(method):
                        add(method, depth - 1)

    for function in functions:
        add(getattr(function, "__func__", function), 4)
    for one in [layer, *(value for _, _, value in places(holders(layer)))]:
        for base in type(one).__mro__:
            for method in vars(base).values():
                if inspect.isfunction(method):
                    add(method, 4)
    return list(found.values())
