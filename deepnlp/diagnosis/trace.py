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
from deepnlp.gradcheck.walking import containers


class Trace:
    """The operations of one forward, from the variables of a subject to its outputs.

    Parameters
    ----------
    tape : Tape
    variables : dict of str to tickets
    outputs : list of tickets
    weights : list of array
        Gradients with respect to the outputs.
    inputs : dict of str to array
        The arguments of forward, for their axes.

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
        inputs: dict[str, Any],
    ) -> None:
        self.tape, self.nodes = tape, tape.nodes
        self.variables, self.outputs, self.weights = variables, outputs, weights
        self.inputs = inputs
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

    # --- Which input a number depends on --------------------------------------------------------

    def reach(self, labels: HostArray) -> HostArray:
        """The largest label of all tickets that a ticket was computed from.

        Parameters
        ----------
        labels : array
            By ticket, of the variables; -1 where there is none.

        Returns
        -------
        array
            By ticket.
        """
        labels = labels.copy()
        for node in self.nodes:
            parts = [labels[t] * (t > 0) - (t == 0) for _, t in node.operands]
            if node.op == "matmul":
                A, B = parts
                A = A[None, :] if A.ndim == 1 else A
                B = B[:, None] if B.ndim == 1 else B
                found = numpy.maximum(A.max(-1)[..., :, None], B.max(-2)[..., None, :])
                found = found.reshape(node.tickets.shape)
            elif node.op in ("sum", "extreme"):
                found = parts[0].max(axis=node.axes) if node.axes else parts[0]
            elif node.op in ("einsum", "call"):
                found = numpy.full(node.tickets.shape, max(int(p.max()) for p in parts))
            else:
                found = parts[0]
                for part in parts[1:]:
                    found = numpy.maximum(found, part)
            own = labels[node.tickets]
            labels[node.tickets] = numpy.maximum(own, found)
        return labels

    def _axis_labels(self, axis: int) -> HostArray:
        """Position along an axis of the inputs, by ticket, before it spreads."""
        labels = numpy.full(self.tape.size, -1)
        lookups: dict[Any, int] = {}
        for name, value in self.inputs.items():
            if name not in self.variables or value.ndim <= axis:
                continue
            if axis == 1 and value.ndim < 3:
                continue
            tickets = self.variables[name]
            shape = [1] * value.ndim
            shape[axis] = value.shape[axis]
            labels[tickets] = numpy.arange(value.shape[axis]).reshape(shape)
        ids = [
            v for v in self.inputs.values() if isinstance(v, numpy.ndarray) and v.dtype.kind in "iu"
        ]
        for node in self.nodes:
            if node.op != "gather" or not ids or (labels[node.operands[0][1]] >= 0).any():
                continue
            shape, full = node.tickets.shape, ids[0].shape
            if shape[: len(full)] == full:
                if axis < len(full):
                    index = [1] * len(shape)
                    index[axis] = full[axis]
                    labels[node.tickets] = numpy.arange(full[axis]).reshape(index)
            elif shape[:1] == full[:1] and len(full) == 2:  # one step at a time
                step = lookups.get(node.site.key, 0)
                lookups[node.site.key] = step + 1
                if axis == 1:
                    labels[node.tickets] = step
                elif axis == 0:
                    labels[node.tickets] = numpy.arange(full[0]).reshape(
                        [full[0]] + [1] * (len(shape) - 1)
                    )
        return labels

    def _range(self, axis: int) -> tuple[HostArray, HostArray]:
        """First and last position along an axis of the inputs that a ticket depends on."""
        labels = self._axis_labels(axis)
        top = int(labels.max()) + 1
        flipped = numpy.where(labels >= 0, top - labels, -1)
        first = self.reach(flipped)
        return numpy.where(first >= 0, top - first, -1), self.reach(labels)

    @cached_property
    def time_axis(self) -> int:
        """The axis of the inputs along which one position goes into the next."""
        mixed = []
        for axis in (1, 0):
            low, high = self._range(axis)
            mixed.append(
                sum(
                    1
                    for node in self.nodes
                    if node.tickets.ndim > 1 and (low[node.tickets] != high[node.tickets]).any()
                )
            )
        return 0 if mixed[1] > mixed[0] and self._has_time else 1

    @cached_property
    def _has_time(self) -> bool:
        return any(
            isinstance(v, numpy.ndarray) and v.ndim >= (3 if v.dtype.kind == "f" else 2)
            for v in self.inputs.values()
        )

    @cached_property
    def steps(self) -> HostArray:
        """The step to which a ticket belongs, -1 if none.

        The last step of the inputs that it depends on; or, in a loop with one round per step,
        the round: h_(t-1) Wh belongs to step t, though it depends on x_(t-1) alone.
        """
        steps = self._range(self.time_axis)[1]
        count = int(steps.max(initial=-1)) + 1
        for numbers in self.sites.values():
            if len(numbers) == count > 1:
                for step, number in enumerate(numbers):
                    own = self.nodes[number].tickets
                    steps[own] = numpy.maximum(steps[own], step)
        return steps

    @cached_property
    def rounds(self) -> HostArray:
        """The round of a loop in which a ticket was made, -1 outside of loops."""
        rounds = numpy.full(self.tape.size, -1)
        for numbers in self.sites.values():
            if len(numbers) > 1:
                for one, number in enumerate(numbers):
                    rounds[self.nodes[number].tickets] = one
        return rounds

    @cached_property
    def samples(self) -> HostArray:
        """The one sample of the inputs that a ticket depends on; -1 if none, -2 if several."""
        low, high = self._range(1 - self.time_axis)
        return numpy.where(low == high, high, -2)

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
    inputs = dict(zip(subject.input_names, subject.inputs))
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
    return Trace(tape, tickets, outputs, subject.weights, inputs)


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
    objects = [layer] + [v for h in containers(layer) if isinstance(h, dict) for v in h.values()]
    objects += [v for h in containers(layer) if isinstance(h, list | tuple) for v in h]
    for one in objects:
        for base in type(one).__mro__:
            for method in vars(base).values():
                if inspect.isfunction(method):
                    add(method, 4)
    return list(found.values())
