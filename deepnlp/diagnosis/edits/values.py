"""Values of the forward by name: what a backward may use in place of the right one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from deepnlp.diagnosis.edits.edge import name_of_operand
from deepnlp.diagnosis.problem import Problem
from deepnlp.gradcheck.numeric import HostArray


@dataclass
class Value:
    """A value of the forward, in every run of the statement that makes or takes it.

    Attributes
    ----------
    name : str
        What the learner calls it.
    arrays : list of array
    call : tuple
        Of the statement that makes it, or takes it.
    is_constant : bool
        Whether it was not computed from a variable.
    """

    name: str
    arrays: list[HostArray]
    call: object
    is_constant: bool

    def at(self, k: int, runs: int) -> HostArray | None:
        """The array that goes with run k of a statement that is run so many times."""
        if len(self.arrays) == 1:
            return self.arrays[0]
        return self.arrays[k] if len(self.arrays) == runs and 0 <= k < runs else None


def values_of(problem: Problem) -> list[Value]:
    """All values that have a name, each once: variables, results and operands."""
    found: list[Value] = problem.recall("values", lambda: _collect(problem))
    return found


def _collect(problem: Problem) -> list[Value]:
    trace = problem.followed
    found: dict[bytes, Value] = {}

    def add(name: str, arrays: list[HostArray], call: object, is_constant: bool) -> None:
        key = b"".join(numpy.ascontiguousarray(a).tobytes() for a in arrays)
        found.setdefault(
            key + str(arrays[0].shape).encode(), Value(name, arrays, call, is_constant)
        )

    values = trace.tape.values
    for name, tickets in trace.variables.items():
        add(name, [values[tickets]], None, False)
    for numbers in trace.sites.values():
        nodes = [trace.nodes[n] for n in numbers]
        if len({node.values.shape for node in nodes}) > 1:
            continue
        call = nodes[0].site.call
        if is_whole_statement(problem, numbers[0]):
            site = nodes[0].site
            made = site.target or (f"`{site.text}`" if site.text else "a value between")
            add(made, [n.values for n in nodes], call, False)
        for j, (_, tickets) in enumerate(nodes[0].operands):
            arrays = [numpy.asarray(node.operands[j][0], dtype="float64") for node in nodes]
            if len({a.shape for a in arrays}) == 1:
                name = name_of_operand(problem, nodes[0], j)
                add(name, arrays, call, not tickets.any())
    return list(found.values())


def is_whole_statement(problem: Problem, number: int) -> bool:
    """Whether a node gives the result of its statement, and not a part of it."""
    last: dict[object, int] = problem.recall("last of statements", lambda: _last(problem))
    node = problem.followed.nodes[number]
    return last[node.site.call] == number or node.site.key == node.site.call


def _last(problem: Problem) -> dict[object, int]:
    found: dict[object, int] = {}
    sites = problem.followed.sites
    for numbers in sites.values():
        call = problem.followed.nodes[numbers[0]].site.call
        found[call] = max(found.get(call, -1), numbers[0])
    return found


def is_mask(array: HostArray) -> bool:
    """Whether it holds zeros and one other number."""
    kinds = numpy.unique(numpy.asarray(array, dtype="float64").round(12))
    return len(kinds) == 2 and kinds[0] == 0
