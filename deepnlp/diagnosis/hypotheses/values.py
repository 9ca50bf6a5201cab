"""A derivative that was computed with a value other than that of the forward."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from deepnlp.diagnosis.hypotheses.activations import RIGHT, Activation, activations
from deepnlp.diagnosis.hypotheses.paths import earlier
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.diagnosis.trace import Trace
from deepnlp.gradcheck.causes import CACHE, TIME_SHIFTED
from deepnlp.gradcheck.numeric import HostArray

Pair = tuple[HostArray, HostArray]
"""Tickets, and those whose values stand in their place."""


def overwritten(problem: Problem) -> Iterator[Guess]:
    """A value saved for backward was overwritten before backward used it.

    Wrong: ``self.h`` is one buffer that every step writes into. Right: one entry per step.
    """
    trace = problem.followed
    events = [(b, a) for b, a in trace.tape.overwritten if (b > 0).any() and (a > 0).any()]
    if events:
        told = "an array that backward needs was overwritten in the forward"
        real = [(before > 0) & (after > 0) for before, after in events]
        pairs = [(b[both], a[both]) for (b, a), both in zip(events, real)]
        yield Guess(CACHE, told, _with_values(problem, pairs))
    repeated = _repeated(problem)

    def frozen(numbers: list[int], which: int) -> list[Pair]:
        kept = trace.nodes[numbers[which]].tickets
        return [(trace.nodes[number].tickets, kept) for number in numbers]

    for site, numbers in repeated.items():
        for which, word in ((-1, "last"), (0, "first")):
            told = f"`{trace.line(numbers[0])}` is saved at the {word} step only"
            for consumers in (None, {site}):
                gradients = _with_values(problem, frozen(numbers, which), consumers)
                yield Guess(CACHE, told, gradients)
    for which, word in ((-1, "last"), (0, "first")):
        pairs = [pair for numbers in repeated.values() for pair in frozen(numbers, which)]
        told = f"the backward of every step uses the values of the {word} one"
        for keep_earlier in (False, True):
            yield Guess(CACHE, told, _with_values(problem, pairs, keep_earlier=keep_earlier))


def neighbouring_step(problem: Problem) -> Iterator[Guess]:
    """A value of the step before or after is used.

    Wrong: ``dWh += h[t].T @ da``. Right: ``dWh += h[t - 1].T @ da``; and c likewise.
    """
    trace = problem.followed
    for numbers in _repeated(problem).values():
        made = [trace.nodes[number].tickets for number in numbers]
        first = _first_states(problem, numbers)
        for shift, word in ((1, "after"), (-1, "before")):
            moved = [made[min(max(k + shift, 0), len(made) - 1)] for k in range(len(made))]
            pairs = list(zip(made, moved, strict=True))
            if shift == 1:
                yield from _one_round_later(problem, numbers)
                pairs += [(tickets, made[0]) for tickets in first]
            told = f"`{trace.line(numbers[0])}` is taken from the step {word}"
            for consumers in [None, *_consumers(problem, numbers, first)]:
                yield Guess(TIME_SHIFTED, told, _with_values(problem, pairs, consumers))
    yield from _shifted_rows(problem)


def _one_round_later(problem: Problem, numbers: list[int]) -> Iterator[Guess]:
    """The new value is used in place of that of the round before, from the first round on."""
    trace = problem.followed
    made = [trace.nodes[n].tickets for n in numbers]
    for users in trace.sites.values():
        if len(users) != len(numbers):
            continue
        for j, (_, tickets) in enumerate(trace.nodes[users[1]].operands):
            if tickets.shape == made[0].shape and (tickets == made[0]).all():
                told = (
                    f"behind `{trace.line(users[0])}`, the new value of "
                    f"`{trace.line(numbers[0])}` is used in place of the one before"
                )
                yield Guess(TIME_SHIFTED, told, _with_operand(problem, users, j, made))


def one_step_ahead(problem: Problem) -> Iterator[Guess]:
    """The new state is used where the one before should be.

    Wrong: ``df = dc * c``. Right: ``df = dc * c_prev``.
    """
    trace = problem.followed
    subject = problem.subject
    for name in subject.input_names[1:]:
        if name not in trace.variables:
            continue
        before = trace.variables[name]
        for after in trace.outputs:
            if after.shape != before.shape or not after.all():
                continue
            told = f"the new state is used in place of {name}"
            for chosen in [None, *({site} for site in _users(problem, before))]:
                gradients = _with_values(problem, [(before, after)], chosen)
                yield Guess(TIME_SHIFTED, told, gradients)


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
    shape = trace.nodes[numbers[0]].tickets.shape
    names = [
        name
        for name, tickets in trace.variables.items()
        if tickets.shape == shape and name.rpartition(".")[2][:1] in ("h", "c")
    ]
    letter = (trace.nodes[numbers[0]].site.target or "h")[0]
    return [trace.variables[n] for n in names if n.rpartition(".")[2][0] == letter]


def _consumers(problem: Problem, numbers: list[int], first: list[HostArray]) -> list[set[object]]:
    """The places that use a value, one by one."""
    trace = problem.followed
    own = numpy.concatenate(
        [trace.nodes[n].tickets.ravel() for n in numbers] + [t.ravel() for t in first]
    )
    return [{site} for site in _users(problem, own)]


def _users(problem: Problem, own: HostArray) -> list[object]:
    trace = problem.followed
    marked = numpy.zeros(trace.tape.size, dtype=bool)
    marked[own] = True
    found: dict[object, None] = {}
    for number, node in enumerate(trace.nodes):
        if any(marked[t].any() for _, t in node.operands):
            found[trace.site_of(number)] = None
    return list(found)


def _with_values(
    problem: Problem,
    pairs: list[Pair],
    consumers: set[object] | None = None,
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
    values_of = trace.tape.values
    known = problem.recall("activations", lambda: _activations_by_node(trace))
    changed = mapped != numpy.arange(len(mapped))

    at = trace.nodes_with(changed)
    if consumers is not None:
        at = [number for number in at if trace.site_of(number) in consumers]

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints | None:
        own = changed[node.tickets].any()
        one = known.get(number)
        if one is not None and (own or changed[one.tickets].any()):
            y = values_of[mapped[node.tickets]]
            x = values_of[mapped[one.tickets]]
            return [(one.tickets, g * RIGHT[one.function](x, y))]
        if not any(changed[t].any() for _, t in node.operands) and not own:
            return None
        operands = []
        for v, t in node.operands:
            free = (t > 0) & ~earlier(problem, node, t) if keep_earlier else t > 0
            operands.append(numpy.where(free, values_of[mapped[t]], v))
        return node.passed(g, operands, values_of[mapped[node.tickets]])

    return Edit(mistake, at)


def _activations_by_node(trace: Trace) -> dict[int, Activation]:
    return {
        one.number: one
        for (function, _), ones in activations(trace).items()
        if function in RIGHT
        for one in ones
    }


def _with_operand(problem: Problem, numbers: list[int], j: int, arrays: list[HostArray]) -> Edit:
    trace = problem.followed
    values_of = trace.tape.values
    order = {number: k for k, number in enumerate(numbers)}

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints | None:
        operands = [v for v, _ in node.operands]
        operands[j] = values_of[arrays[min(order[number], len(arrays) - 1)]]
        return node.passed(g, operands, node.values)

    return Edit(mistake, order)


def _shifted_rows(problem: Problem) -> Iterator[Guess]:
    """One product for all steps, whose input stands a step too early or too late."""
    trace = problem.followed
    for numbers in trace.sites.values():
        node = trace.nodes[numbers[0]]
        if node.op != "matmul" or len(numbers) > 1 or node.operands[0][0].ndim < 2:
            continue
        x, _tickets = node.operands[0]
        rows = x.reshape(-1, x.shape[-1])
        steps = trace.steps[node.tickets].reshape(len(rows), -1).max(axis=1)
        samples = trace.samples[node.tickets].reshape(len(rows), -1)[:, 0]
        where = {(int(n), int(t)): k for k, (n, t) in enumerate(zip(samples, steps))}
        if len(where) < len(rows) or len(set(steps.tolist())) < 2:
            continue
        for shift in (1, -1):
            moved = numpy.zeros_like(rows)
            for (n, t), k in where.items():
                if (n, t + shift) in where:
                    moved[k] = rows[where[(n, t + shift)]]
            moved = moved.reshape(x.shape)

            def mistake(_: int, one: Node, g: HostArray, moved: HostArray = moved) -> Adjoints:
                return one.passed(g, [moved, one.operands[1][0]], one.values)

            word = "after" if shift == 1 else "before"
            told = f"the input of `{node.site.text}` is that of the step {word}"
            yield Guess(TIME_SHIFTED, told, Edit(mistake, numbers))
