"""Steps over time: a path that is cut, a gradient or a value of another step."""

import re
from collections.abc import Iterator

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.edges import Edge, all_edges, edges, quoted, reduced, shifted
from deepnlp.diagnosis.mistakes.slopes import Activation, activations
from deepnlp.diagnosis.mistakes.table import functions, phrase, say
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit, Joined, Run
from deepnlp.diagnosis.tape import Adjoints, Node
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
            yield say("step cut", Joined(cuts), **details)
            for (edge, _), one in zip(several, cuts) if len(several) > 1 else ():
                yield say("step way cut", one, line=edge.line, **details)
    for with_first in (False, True) if len(ways) > 1 else ():
        every = [_cut(problem, *way, with_first) for several in ways.values() for way in several]
        yield say("steps cut", Joined(every))


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

    return Edit(change=change, at=edge.numbers)


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


# --- Outputs --------------------------------------------------------------------------------------


def ignored_output(problem: Problem) -> Iterator[Guess]:
    """The gradient of one of several outputs is not used.

    Wrong: ``def backward(self, dh, dc)`` goes on with dh alone.
    """
    weights = problem.followed.weights
    for k in range(len(weights)) if len(weights) > 1 else ():
        others = [0 * w if j == k else w for j, w in enumerate(weights)]
        cause = c.C_PATH if k == 1 and letter_of(problem, "c_prev") else c.TERM_MISSING
        yield say("output ignored", Edit(weights=others), cause=cause, k=k)


def outputs_moved(problem: Problem) -> Iterator[Guess]:
    """The incoming gradient is read at the wrong step.

    Wrong: ``dh = dhs[:, T - 1 - t] + dh_next``. Right: ``dh = dhs[:, t] + dh_next``.
    """
    trace = problem.followed
    for k, weight in enumerate(trace.weights):
        if weight.ndim != 3:
            continue

        def edit(changed: HostArray, k: int = k) -> Edit:
            return Edit(weights=[changed if j == k else w for j, w in enumerate(trace.weights)])

        for cause, told, array in moved_steps(weight, trace.time_axis):
            yield say("output moved", edit(array), cause=cause, moved=told)
        groups = _groups(problem, trace.outputs[k])
        for group in groups if len(groups) > 1 else []:
            for cause, told, array in moved_steps(weight * group, trace.time_axis):
                whole = edit(weight * ~group + array)
                yield say("output part moved", whole, cause=cause, moved=told)
        only_last = numpy.zeros_like(weight)
        last = (slice(None), -1) if trace.time_axis == 1 else (-1,)
        only_last[last] = weight[last]
        yield say("last output", edit(only_last))
        yield say("no last output", edit(weight - only_last))


def _groups(problem: Problem, tickets: HostArray) -> list[HostArray]:
    """Which entries of an output each place in the program made."""
    trace = problem.followed
    owners = trace.owner[tickets]
    places: dict[object, list[int]] = {}
    for owner in numpy.unique(owners).tolist():
        places.setdefault(trace.site_of(owner) if owner >= 0 else None, []).append(owner)
    return [numpy.isin(owners, numbers) for numbers in places.values()]


def moved_steps(array: HostArray, axis: int) -> Iterator[tuple[str, str, HostArray]]:
    """An array over time in another order of steps: the cause, how it is moved, and the array."""
    size = array.shape[axis]
    if size < 2:
        return
    yield c.TIME_REVERSED, phrase("steps_reversed"), numpy.flip(array, axis)
    for shift, word in ((1, "steps_later"), (-1, "steps_earlier")):
        rolled, padded = numpy.roll(array, shift, axis), shifted(array, shift, axis)
        edge = (slice(None),) * axis + (0 if shift == 1 else size - 1,)
        repeated = rolled.copy()
        repeated[edge] = array[edge]
        for one in (padded, rolled, repeated):
            if one.any():
                yield c.TIME_SHIFTED, phrase(word), one


def step_skipped(problem: Problem) -> Iterator[Guess]:
    """The loop over time leaves out its first or its last step.

    Wrong: ``for t in range(T - 1, 0, -1)``. Right: ``for t in range(T - 1, -1, -1)``.
    """
    trace = problem.followed
    last = int(trace.steps.max(initial=-1))
    for step in (0, last) if last > 0 else ():
        skipped = trace.steps == step

        def change(run: Run, skipped: HostArray = skipped) -> dict[int, HostArray]:
            return run.vjp(run.g * ~skipped[run.node.tickets])

        at = [k for k, node in enumerate(trace.nodes) if skipped[node.tickets].any()]
        yield say("step skipped", Edit(change=change, at=at), step=step, last=last)


# --- Values of another step -----------------------------------------------------------------------


def other_steps(problem: Problem) -> Iterator[Guess]:
    """A value of the step before or after is used, or that of one step for all.

    Wrong: ``dWh += h[t].T @ da``. Right: ``dWh += h[t - 1].T @ da``; and c likewise.
    """
    trace = problem.followed
    one_for_all: dict[str, list[tuple[Edit, bool]]] = {"last": [], "first": []}
    for edge in (e for e in all_edges(problem) if e.reaches & set(problem.bad)):
        if not edge.has_partner or len({p.shape for p in edge.partners()}) > 1:
            continue
        beside = edge.nodes[-1].operands[1 - edge.j][1]
        if beside.size == 1 and not beside.any():  # a count, say: no value of a step
            continue
        is_late = bool(_earlier(problem, edge.nodes[-1], beside).any())
        own, is_over_time = edge.partners(), _is_over_time(problem, edge.numbers)
        for key, word, order in orders(len(own)):
            if key == "one step" and not (is_over_time and own[order[0]].any()):
                continue  # a first state of zeros says that a term is missing
            edit = edge.edit(beside=[own[k] for k in order])
            yield say(key, edit, word=word, subject=edge.words["other"], line=edge.line)
            if key == "one step":
                one_for_all[word].append((edit, is_late))
    for (function, _), ones in activations(problem).items():
        line = quoted(trace.nodes[ones[0].number])
        for key, word, order in orders(len(ones)) if "slope" in functions()[function] else ():
            edit = _with_slopes_of(problem, ones, order)
            yield say(key, edit, word=word, line=line, subject=f"what {function} gave")
            if key == "one step":
                one_for_all[word].append((edit, False))
    for word, several in one_for_all.items():
        for kept in (True, False):  # with what comes from the step before, and without it
            shared = [edit for edit, is_late in several if kept or not is_late]
            if len(shared) > 1:
                yield say("steps share", Joined(shared), word=word)


def _is_over_time(problem: Problem, numbers: list[int]) -> bool:
    """Whether each run of a loop belongs to another step."""
    trace = problem.followed
    steps = [int(trace.steps[trace.nodes[n].tickets].max(initial=-1)) for n in numbers]
    return len(set(steps)) == len(steps)


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
        yield say("overwritten", Edit(change=change, at=at))


def orders(runs: int) -> Iterator[tuple[str, str, list[int]]]:
    """Which run a value is taken from in each run of a loop, with the row of the table."""
    own = list(range(runs))
    if runs > 1:
        yield "other step", "after", [*own[1:], own[-1]]
        yield "other step", "before", [0, *own[:-1]]
        yield "other order", "reversed", own[::-1]
        yield "one step", "last", own[-1:] * runs
        yield "one step", "first", [0] * runs


def _with_slopes_of(problem: Problem, ones: list[Activation], order: list[int]) -> Edit:
    """The derivatives of a function with what goes in and comes out in other runs."""
    nodes = problem.followed.nodes
    taken = {one.number: (one, ones[k]) for one, k in zip(ones, order)}

    def change(run: Run) -> Adjoints:
        one, other = taken[run.number]
        slope = functions()[one.function]["slope"](x=other.x, y=nodes[other.number].values)
        return [(one.tickets, numpy.broadcast_to(run.g * slope, one.tickets.shape))]

    return Edit(change=change, at=taken)


def new_states(problem: Problem) -> Iterator[Guess]:
    """The new state is used where the one before should be, in a loop or in a single step.

    Wrong: ``df = dc * c``. Right: ``df = dc * c_prev``.
    """
    trace = problem.followed
    new: dict[object, list[Edit]] = {}
    for edge in (e for e in all_edges(problem) if e.has_partner):
        shapes = {p.shape for p in edge.partners()}
        owner = int(trace.owner[edge.nodes[-1].operands[1 - edge.j][1].max(initial=0)])
        made = trace.sites[trace.site_of(owner)] if owner >= 0 else []
        values = [trace.nodes[n].values for n in made]
        is_before = len(made) == len(edge.numbers) > 1 and made[-2] == owner
        if is_before and {v.shape for v in values} == shapes:
            new.setdefault(trace.site_of(owner), []).append(edge.edit(beside=values))
    for source, edits in new.items():
        line = quoted(trace.nodes[trace.sites[source][0]])
        yield say("new values", Joined(edits), line=line)
    for edge in (e for e in edges(problem) if e.has_partner):
        before = edge.first.operands[1 - edge.j][1]
        for name in set(problem.subject.input_names[1:]) & set(trace.variables):
            for after in trace.outputs if numpy.array_equal(trace.variables[name], before) else ():
                if after.shape == edge.partners()[0].shape and after.all():
                    edit = edge.edit(beside=[trace.tape.values[after]] * len(edge.numbers))
                    yield say("new state", edit, name=name, line=edge.line)
