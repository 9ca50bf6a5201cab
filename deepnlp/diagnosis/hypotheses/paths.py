"""The paths by which a state reaches the next step, and what remains when one is cut."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy

from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck.causes import C_PATH, H_PATH, TERM_MISSING
from deepnlp.gradcheck.numeric import HostArray
from deepnlp.gradcheck.variables import Input, State


def state_is_cut(problem: Problem, name: str) -> Iterator[Guess]:
    """A one-step layer returns no gradient for a state.

    Wrong: ``return dx, np.zeros_like(h_prev)``. Right: ``return dx, da @ Wh.T``.
    """
    state = letter_of(problem, name)
    if state is not None:
        cause = H_PATH if state == "h" else C_PATH
        told = f"backward returns zero for {name}"
        yield Guess(cause, told, {name: numpy.zeros_like(problem.right[name])})


def cut_states(problem: Problem) -> Iterator[Guess]:
    """The gradient stops at a step instead of going on to the one before.

    Wrong: ``dh = dhs[:, t]``. Right: ``dh = dhs[:, t] + dh_next``; and likewise for c.
    """
    trace = problem.followed
    edges = _recurrent_edges(problem)
    sources = list(dict.fromkeys(source for source, _ in edges))
    for source in sources:
        letter = _letter(problem, source, sources)
        cause = H_PATH if letter == "h" else C_PATH
        consumers = [to for one, to in edges if one == source]
        for with_first in (False, True):
            told = f"no gradient goes from a step to {letter} of the step before"
            cut = {(source, to) for to in consumers}
            yield Guess(cause, told, _cut(problem, cut, with_first))
        if len(consumers) > 1:
            for to in consumers:
                line = trace.line(trace.sites[to][0])
                told = f"{letter}_prev gets no gradient through `{line}`"
                for with_first in (False, True):
                    gradients = _cut(problem, {(source, to)}, with_first)
                    yield Guess(cause, told, gradients)
    if len(sources) > 1:
        told = "no gradient goes from a step to the step before"
        for with_first in (False, True):
            cut = {(source, to) for source, to in edges}
            yield Guess(H_PATH, told, _cut(problem, cut, with_first))


def cut_inputs(problem: Problem) -> Iterator[Guess]:
    """One of the paths from h_prev or c_prev into a one-step layer is left out.

    Wrong (GRU): ``dh_prev = da @ Wh.T``. Right: ``dh_prev = da @ Wh.T + dh * z``.
    """
    trace = problem.followed
    for name, variable in problem.subject.variables.items():
        letter = letter_of(problem, name)
        own = trace.variables[name]
        if letter is None or not own.size or not isinstance(variable, Input | State):
            continue
        low, high = int(own.min()), int(own.max())
        consumers = _consumers(problem, low, high)
        if len(consumers) < 2:
            continue
        for site in consumers:

            def mistake(
                number: int, node: Node, g: HostArray, low: int = low, high: int = high
            ) -> Adjoints:
                return [(t, v * ~((t >= low) & (t <= high))) for t, v in trace.backward(number, g)]

            cause = H_PATH if letter == "h" else C_PATH
            line = trace.line(trace.sites[site][0])
            told = f"{name} gets no gradient through `{line}`"
            yield Guess(cause, told, Edit(mistake, trace.sites[site]))


def ignored_output(problem: Problem) -> Iterator[Guess]:
    """The gradient of one of several outputs is not used.

    Wrong: ``def backward(self, dh, dc)`` goes on with dh alone.
    """
    trace = problem.followed
    for k in range(len(trace.weights)) if len(trace.weights) > 1 else ():
        weights = [0 * w if j == k else w for j, w in enumerate(trace.weights)]
        cause = C_PATH if k == 1 and letter_of(problem, "c_prev") else TERM_MISSING
        told = f"the gradient with respect to output {k} is not used"
        yield Guess(cause, told, Edit(weights=weights))


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
    """Whether an input can be the state of a step: by its name, or by its shape.

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


def _recurrent_edges(problem: Problem) -> list[tuple[object, object]]:
    """Pairs of places: a value made at the first is used at the second, one step later."""
    trace = problem.followed
    found: dict[tuple[object, object], None] = {}
    for number, node in enumerate(trace.nodes):
        if node.op in ("sum", "gather"):
            continue
        for tickets in (t for _, t in node.operands if t.any()):
            late = earlier(problem, node, tickets)
            for owner in numpy.unique(trace.owner[tickets[late]]):
                if owner >= 0:
                    found[(trace.site_of(int(owner)), trace.site_of(number))] = None
    return list(found)


def earlier(problem: Problem, node: Node, tickets: HostArray) -> HostArray:
    """Which numbers of an operand come from an earlier round of a loop than the result.

    Parameters
    ----------
    problem : Problem
    node : Node
    tickets : array
        Of the operand.

    Returns
    -------
    array of bool
        Of the shape of the operand.
    """
    trace = problem.followed
    now = int(trace.rounds[node.tickets].max(initial=-1))
    then = trace.rounds[tickets]
    return (tickets > 0) & (then >= 0) & (then < now)


def _consumers(problem: Problem, low: int, high: int) -> list[object]:
    trace = problem.followed
    found: dict[object, None] = {}
    for number, node in enumerate(trace.nodes):
        for _, tickets in node.operands:
            if ((tickets >= low) & (tickets <= high)).any():
                found[trace.site_of(number)] = None
    return list(found)


def _cut(problem: Problem, edges: set[tuple[object, object]], with_first: bool) -> Edit:
    """Pass nothing from certain places to certain others, one step back; or from the first."""
    trace = problem.followed
    consumers = {to for _, to in edges}
    states = [
        trace.variables[name]
        for name, v in problem.subject.variables.items()
        if isinstance(v, State) or letter_of(problem, name) is not None
    ]
    firsts = numpy.zeros(trace.tape.size, dtype=bool)
    for tickets in states:
        firsts[tickets] = True

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        site = trace.site_of(number)
        passed = []
        for tickets, value in trace.backward(number, g):
            late = earlier(problem, node, tickets)
            gone = numpy.zeros(tickets.shape, dtype=bool)
            for owner in numpy.unique(trace.owner[tickets[late]]):
                if owner >= 0 and (trace.site_of(int(owner)), site) in edges:
                    gone |= late & (trace.owner[tickets] == owner)
            if with_first:
                gone |= firsts[tickets]
            passed.append((tickets, value * ~gone))
        return passed

    return Edit(mistake, [n for site in consumers for n in trace.sites[site]])


def _letter(problem: Problem, source: object, sources: list[object]) -> str:
    """Whether a recurrent value is h or c: by its name, otherwise h is the output."""
    trace = problem.followed
    if len(sources) == 1:
        return "h"
    numbers = trace.sites[source]
    name = (trace.nodes[numbers[0]].site.target or "").lower()
    if name.startswith(("h", "c")):
        return name[0]
    made = {int(o) for tickets in trace.outputs for o in numpy.unique(trace.owner[tickets])}
    return "h" if made & set(numbers) else "c"
