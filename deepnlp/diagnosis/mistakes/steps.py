"""Steps over time: a path that is cut, a gradient or a value of another step."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import partial

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.edges import quoted, shifted
from deepnlp.diagnosis.mistakes.slopes import by_node
from deepnlp.diagnosis.mistakes.table import functions, phrase, say
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit, Run
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
    edges = _recurrent_edges(problem)
    sources = list(dict.fromkeys(source for source, _ in edges))
    for source in sources:
        letter = _letter(problem, source, sources)
        cause = c.H_PATH if letter == "h" else c.C_PATH
        consumers = [to for one, to in edges if one == source]
        for with_first in (False, True):
            cut = _cut(problem, {(source, to) for to in consumers}, with_first)
            yield say("step cut", cut, cause=cause, letter=letter)
        for to in consumers if len(consumers) > 1 else ():
            line = quoted(trace.nodes[trace.sites[to][0]])
            for with_first in (False, True):
                cut = _cut(problem, {(source, to)}, with_first)
                yield say("step way cut", cut, cause=cause, letter=letter, line=line)
    for with_first in (False, True) if len(sources) > 1 else ():
        yield say("steps cut", _cut(problem, set(edges), with_first))


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
    """Which numbers of an operand come from an earlier round of a loop than the result."""
    rounds = problem.followed.rounds
    now, then = int(rounds[node.tickets].max(initial=-1)), rounds[tickets]
    return (tickets > 0) & (then >= 0) & (then < now)


def _cut(problem: Problem, edges: set[tuple[object, object]], with_first: bool) -> Edit:
    """Pass nothing from certain places to certain others, one step back; or from the first."""
    trace = problem.followed
    firsts = numpy.zeros(trace.tape.size, dtype=bool)
    for name, variable in problem.subject.variables.items():
        if isinstance(variable, State) or letter_of(problem, name) is not None:
            firsts[trace.variables[name]] = with_first

    def change(run: Run) -> Adjoints:
        site, passed = trace.site_of(run.number), []
        for j, value in run.passed.items():
            tickets = run.node.operands[j][1]
            late, gone = earlier(problem, run.node, tickets), firsts[tickets]
            for owner in numpy.unique(trace.owner[tickets[late]]):
                if owner >= 0 and (trace.site_of(int(owner)), site) in edges:
                    gone = gone | late & (trace.owner[tickets] == owner)
            passed.append((tickets, value * ~gone))
        return passed

    consumers = {to for _, to in edges}
    return Edit(change=change, at=[n for site in consumers for n in trace.sites[site]])


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


def overwritten(problem: Problem) -> Iterator[Guess]:
    """A value saved for backward was overwritten before backward used it.

    Wrong: ``self.h`` is one buffer that every step writes into. Right: one entry per step.
    """
    trace = problem.followed
    pairs = [
        (b[both], a[both]) for b, a in trace.tape.overwritten if (both := (b > 0) & (a > 0)).any()
    ]
    if pairs:
        yield say("overwritten", _with_values(problem, pairs))
    repeated = _repeated(problem)
    frozen = {
        (site, word): [
            (trace.nodes[n].tickets, trace.nodes[numbers[which]].tickets) for n in numbers
        ]
        for site, numbers in repeated.items()
        for word, which in (("last", -1), ("first", 0))
    }
    for (site, word), own in frozen.items():
        line = quoted(trace.nodes[repeated[site][0]])
        for consumers in (None, {site}):
            yield say("saved once", _with_values(problem, own, consumers), line=line, word=word)
    for word in ("last", "first"):
        every = [pair for (_, w), own in frozen.items() if w == word for pair in own]
        for keep in (False, True):
            yield say("steps share", _with_values(problem, every, keep_earlier=keep), word=word)


def neighbouring_step(problem: Problem) -> Iterator[Guess]:
    """A value of the step before or after is used.

    Wrong: ``dWh += h[t].T @ da``. Right: ``dWh += h[t - 1].T @ da``; and c likewise.
    """
    trace = problem.followed
    for numbers in _repeated(problem).values():
        made = [trace.nodes[number].tickets for number in numbers]
        first, line = _first_states(problem, numbers), quoted(trace.nodes[numbers[0]])
        users = _users(problem, numpy.concatenate([t.ravel() for t in (*made, *first)]))
        for shift, word in ((1, "after"), (-1, "before")):
            pairs = [(t, made[min(max(k + shift, 0), len(made) - 1)]) for k, t in enumerate(made)]
            if shift == 1:
                pairs += [(tickets, made[0]) for tickets in first]
            for consumers in (None, *({site} for site in users)):
                yield say(
                    "neighbour", _with_values(problem, pairs, consumers), line=line, word=word
                )
    yield from _shifted_rows(problem)


def one_step_ahead(problem: Problem) -> Iterator[Guess]:
    """The new state is used where the one before should be.

    Wrong: ``df = dc * c``. Right: ``df = dc * c_prev``.
    """
    trace = problem.followed
    for name in [n for n in problem.subject.input_names[1:] if n in trace.variables]:
        before = trace.variables[name]
        for after in trace.outputs:
            if after.shape == before.shape and after.all():
                for consumers in (None, *({site} for site in _users(problem, before))):
                    edit = _with_values(problem, [(before, after)], consumers)
                    yield say("new state", edit, name=name)


def _repeated(problem: Problem) -> dict[object, list[int]]:
    """Places inside a loop over time, each with its nodes in the order of steps."""
    trace = problem.followed
    found = {}
    for site, numbers in trace.sites.items():
        shapes = {trace.nodes[n].tickets.shape for n in numbers}
        steps = [int(trace.steps[trace.nodes[n].tickets].max(initial=-1)) for n in numbers]
        if len(numbers) > 1 and len(shapes) == 1 and len(set(steps)) == len(steps):
            found[site] = numbers
    return found


def _first_states(problem: Problem, numbers: list[int]) -> list[HostArray]:
    """Tickets of the variables that take the place of a value at the first step."""
    trace = problem.followed
    node = trace.nodes[numbers[0]]
    letter = (node.site.target or "h")[0]
    return [
        tickets
        for name, tickets in trace.variables.items()
        if tickets.shape == node.tickets.shape
        and letter in "hc"
        and name.rpartition(".")[2].startswith(letter)
    ]


def _users(problem: Problem, own: HostArray) -> list[object]:
    """The places that take some numbers."""
    trace = problem.followed
    marked = numpy.zeros(trace.tape.size, dtype=bool)
    marked[own] = True
    return list(
        dict.fromkeys(
            trace.site_of(number)
            for number, node in enumerate(trace.nodes)
            if any(marked[t].any() for _, t in node.operands)
        )
    )


def _with_values(
    problem: Problem,
    pairs: list[tuple[HostArray, HostArray]],
    consumers: Collection[object] | None = None,
    keep_earlier: bool = False,
) -> Edit:
    """The gradients from derivatives that are computed with the values of other tickets.

    Of each pair, the values of the second stand for those of the first; ``consumers`` says at which
    places, or everywhere; ``keep_earlier`` leaves what comes from an earlier round of a loop.
    """
    trace = problem.followed
    mapped = numpy.arange(trace.tape.size)
    for own, other in pairs:
        mapped[own] = other
    known, values_of = by_node(problem), trace.tape.values
    changed = mapped != numpy.arange(len(mapped))

    def change(run: Run) -> dict[int, HostArray] | Adjoints | None:
        node, one = run.node, known.get(run.number)
        own = changed[node.tickets].any()
        y = values_of[mapped[node.tickets]]
        if one is not None and (own or changed[one.tickets].any()):
            slope: Callable[..., HostArray] = functions()[one.function]["slope"]
            value = run.g * slope(x=values_of[mapped[one.tickets]], y=y)
            return [(one.tickets, numpy.broadcast_to(value, one.tickets.shape))]
        if not any(changed[t].any() for _, t in node.operands) and not own:
            return None
        operands = []
        for v, t in node.operands:
            free = (t > 0) & ~earlier(problem, node, t) if keep_earlier else t > 0
            operands.append(numpy.where(free, values_of[mapped[t]], v))
        found = node.vjp(run.g, operands, y)
        return {j: found[j] for j in run.passed}

    at = trace.nodes_with(changed)
    if consumers is not None:
        at = [number for number in at if trace.site_of(number) in consumers]
    return Edit(change=change, at=at)


def _vjp(operands: list[HostArray], run: Run) -> dict[int, HostArray]:
    return run.vjp(run.g, operands)


def _shifted_rows(problem: Problem) -> Iterator[Guess]:
    """One product for all steps, whose input stands a step too early or too late."""
    trace = problem.followed
    for numbers in trace.sites.values():
        node = trace.nodes[numbers[0]]
        if node.op != "matmul" or len(numbers) > 1 or node.operands[0][0].ndim < 2:
            continue
        x, rest = node.arrays
        rows = x.reshape(-1, x.shape[-1])
        steps = trace.steps[node.tickets].reshape(len(rows), -1).max(axis=1)
        samples = trace.samples[node.tickets].reshape(len(rows), -1)[:, 0]
        where = {(int(n), int(t)): k for k, (n, t) in enumerate(zip(samples, steps))}
        if len(where) < len(rows) or len(set(steps.tolist())) < 2:
            continue
        for shift, word in ((1, "after"), (-1, "before")):
            other = numpy.zeros_like(rows)
            for (n, t), k in where.items():
                if (n, t + shift) in where:
                    other[k] = rows[where[(n, t + shift)]]
            edit = Edit(change=partial(_vjp, [other.reshape(x.shape), rest]), at=numbers)
            yield say("neighbour", edit, line=f"the input of {quoted(node)}", word=word)
