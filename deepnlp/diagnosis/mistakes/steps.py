"""Steps over time: a path that is cut, and a new state in place of the one before."""

import re
from collections.abc import Iterator

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.edges import Edge, all_edges, quoted, reduced
from deepnlp.diagnosis.mistakes.table import say
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit, Run
from deepnlp.diagnosis.tape import Node
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.variables import Input, State

# --- States ---------------------------------------------------------------------------------------


def letter_of(problem: Problem, name: str) -> str | None:
    """``"h"`` or ``"c"`` where a variable is a state, by its name or its place."""
    variable = problem.subject.variables.get(name)
    if isinstance(variable, State):
        return name.rpartition(".")[2][0]
    if not isinstance(variable, Input) or variable.position == 0:
        return None
    if not _may_be_state(problem, name):
        return None
    lowered = name.lower()
    if lowered.startswith(("h", "s", "prev")):
        return "h"
    return "c" if lowered.startswith(("c", "m")) else None


_STATE = re.compile(r"(h|s|c|state|hidden|cell|prev)s?_?(0|prev\w*|old|last|init|tm1|state)$")


def _may_be_state(problem: Problem, name: str) -> bool:
    """Return whether an input can be the state of a step: by its name, or by its shape.

    A cell is a state only beside a hidden state: the memory of an attention is none.
    """
    subject, lowered = problem.subject, name.lower()
    if _STATE.match(lowered):
        return True
    shape = subject.variables[name].get().shape
    if len(shape) > 2 or not any(w.shape == shape for w in subject.weights):
        return False
    if not lowered.startswith(("c", "m")):
        return True
    others = [n for n in subject.input_names[1:] if n != name and n in subject.variables]
    beside = [n for n in others if n.lower().startswith(("h", "s", "prev"))]
    return any(subject.variables[n].get().shape == shape for n in beside)


def cut_states(problem: Problem) -> Iterator[Guess]:
    """The gradient stops at a step instead of going on to the one before.

    Wrong: ``dh = dhs[:, t]``. Right: ``dh = dhs[:, t] + dh_next``; and likewise for c.
    """
    trace = problem.followed
    ways: dict[object, list[tuple[Edge, list[HostArray]]]] = {}
    for edge in (e for e in all_edges(problem) if e.j >= 0 and e.first.op not in ("sum", "gather")):
        late = [_earlier(problem, n, n.operands[edge.j][1]) for n in edge.nodes]
        if late[-1].any():
            owners = trace.owner[edge.tickets(-1)[late[-1]]]
            ways.setdefault(trace.site_of(int(owners.max())), []).append((edge, late))
    for source, several in ways.items():
        letter = _letter(problem, source, list(ways))
        details = {"cause": c.H_PATH if letter == "h" else c.C_PATH, "letter": letter}
        for with_first in (False, True):
            cuts = [_cut(problem, edge, late, with_first) for edge, late in several]
            yield say("step cut", sum(cuts, Edit()), **details)
            for (edge, _), one in zip(several, cuts) if len(several) > 1 else ():
                yield say("step way cut", one, line=quoted(edge.first), **details)


def _earlier(problem: Problem, node: Node, tickets: HostArray) -> HostArray:
    """Which numbers of an operand come from an earlier round of a loop than the result."""
    rounds = problem.followed.rounds
    now, then = int(rounds[node.tickets].max(initial=-1)), rounds[tickets]
    return (tickets > 0) & (then >= 0) & (then < now)


def _cut(problem: Problem, edge: Edge, late: list[HostArray], with_first: bool) -> Edit:
    """Pass nothing one step back; with the first step, nothing to an initial state either."""
    firsts = numpy.zeros(problem.followed.tape.size, dtype=bool)
    for name, variable in problem.subject.variables.items():
        if isinstance(variable, State) or letter_of(problem, name) is not None:
            firsts[problem.followed.variables[name]] = with_first
    initial = [firsts[edge.tickets(k)] for k in range(len(late))]
    gone = {n: one | other for n, one, other in zip(edge.numbers, late, initial)}

    def change(run: Run) -> dict[int, HostArray]:
        if edge.j not in run.passed:
            return {}
        here = gone[run.number]
        return {edge.j: reduced(run.passed[edge.j], here.shape) * ~here}

    return Edit([(edge.numbers, change)])


def _letter(problem: Problem, source: object, sources: list[object]) -> str:
    """Return whether a recurrent value is h or c: by its name, otherwise h is the output."""
    trace = problem.followed
    if len(sources) == 1:
        return "h"
    numbers = trace.sites[source]
    name = (trace.nodes[numbers[0]].site.target or "").lower()
    if name.startswith(("h", "c")):
        return name[0]
    made = {int(o) for tickets in trace.outputs for o in numpy.unique(trace.owner[tickets])}
    return "h" if made & set(numbers) else "c"


def overwritten(problem: Problem) -> Iterator[Guess]:
    """A value saved for backward was overwritten in forward.

    Wrong: ``self.y = y; y *= 2``. Right: ``self.y = y.copy()``.
    """
    trace = problem.followed
    mapped = numpy.arange(trace.tape.size)
    for before, after in trace.tape.overwritten:
        both = (before > 0) & (after > 0)
        mapped[before[both]] = after[both]
    values = trace.tape.values[mapped]

    def change(run: Run) -> dict[int, HostArray]:
        node = run.node
        operands = [numpy.where(t > 0, values[t], v) for v, t in node.operands]
        found = node.vjp(run.g, operands, values[node.tickets])
        return {j: found[j] for j in run.passed}

    at = trace.nodes_with(mapped != numpy.arange(len(mapped)))
    if at:
        yield say("overwritten", Edit([(at, change)]))
