"""Steps in the wrong order, or a step too early or too late."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck.causes import TIME_REVERSED, TIME_SHIFTED
from deepnlp.gradcheck.numeric import HostArray


def moved_in_time(problem: Problem, name: str) -> Iterator[Guess]:
    """The gradients of the steps were joined in another order.

    Wrong: ``dxs.append(dx)`` in a loop that runs backwards. Right: ``dxs[:, t] = dx``.
    """
    if name not in problem.subject.input_names or problem.right[name].ndim != 3:
        return
    axis = problem.trace.time_axis if problem.trace is not None else 1
    for cause, told, moved in _moves(problem.right[name], axis):
        yield Guess(cause, f"the gradient of {name} {told}", {name: moved})
    shares = _shares(problem, name)
    for share in shares if len(shares) > 1 else []:
        rest = problem.right[name] - share
        for cause, told, moved in _moves(share, axis):
            evidence = f"one of {len(shares)} parts of the gradient of {name} {told}"
            yield Guess(cause, evidence, {name: rest + moved})


def outputs_moved(problem: Problem) -> Iterator[Guess]:
    """The incoming gradient is read at the wrong step.

    Wrong: ``dh = dhs[:, T - 1 - t] + dh_next``. Right: ``dh = dhs[:, t] + dh_next``.
    """
    trace = problem.followed
    for k, weight in enumerate(trace.weights):
        if weight.ndim != 3:
            continue
        used = "the gradient with respect to the outputs that is used"

        def guess(cause: str, told: str, changed: HostArray, k: int = k) -> Guess:
            weights = [changed if j == k else w for j, w in enumerate(trace.weights)]
            return Guess(cause, told, Edit(weights=weights))

        for cause, told, moved in _moves(weight, trace.time_axis):
            yield guess(cause, f"{used} {told}", moved)
        groups = _groups(problem, trace.outputs[k])
        for group in groups if len(groups) > 1 else []:
            for cause, told, moved in _moves(weight * group, trace.time_axis):
                evidence = f"a part of the gradient with respect to the outputs {told}"
                yield guess(cause, evidence, weight * ~group + moved)
        only_last = numpy.zeros_like(weight)
        last = (slice(None), -1) if trace.time_axis == 1 else (-1,)
        only_last[last] = weight[last]
        yield guess(TIME_SHIFTED, f"{used} is only that of the last step", only_last)
        yield guess(TIME_SHIFTED, f"{used} lacks that of the last step", weight - only_last)


def step_skipped(problem: Problem) -> Iterator[Guess]:
    """The loop over time leaves out its first or its last step.

    Wrong: ``for t in range(T - 1, 0, -1)``. Right: ``for t in range(T - 1, -1, -1)``.
    """
    trace = problem.followed
    last = int(trace.steps.max(initial=-1))
    for step in (0, last) if last > 0 else ():
        skipped = trace.steps == step

        def mistake(
            number: int, node: Node, g: HostArray, skipped: HostArray = skipped
        ) -> Adjoints:
            return trace.backward(number, g * ~skipped[node.tickets])

        at = [k for k, node in enumerate(trace.nodes) if skipped[node.tickets].any()]
        told = f"step {step} (of 0 to {last}) is left out of the way back"
        yield Guess(TIME_SHIFTED, told, Edit(mistake, at))


def _shares(problem: Problem, name: str) -> list[HostArray]:
    """What each place that uses an input gives to its gradient."""
    trace = problem.followed
    own = trace.variables[name]
    shares: dict[object, HostArray] = {}

    marked = numpy.zeros(trace.tape.size, dtype=bool)
    marked[own] = True
    for number, node in enumerate(trace.nodes):
        if not any(marked[t].any() for _, t in node.operands):
            continue
        found = numpy.zeros(trace.tape.size)
        for tickets, value in trace.backward(number, trace.gradient_at(number)):
            numpy.add.at(found, numpy.broadcast_to(tickets, value.shape), value)
        site = trace.site_of(number)
        if found[own].any():
            shares[site] = shares.get(site, 0.0) + found[own]
    return list(shares.values())


def _groups(problem: Problem, tickets: HostArray) -> list[HostArray]:
    """Which entries of an output each place in the program made."""
    trace = problem.followed
    owners = trace.owner[tickets]
    places: dict[object, list[int]] = {}
    for owner in numpy.unique(owners):
        places.setdefault(trace.site_of(int(owner)) if owner >= 0 else None, []).append(int(owner))
    return [numpy.isin(owners, numbers) for numbers in places.values()]


def _moves(array: HostArray, axis: int) -> Iterator[tuple[str, str, HostArray]]:
    size = array.shape[axis]
    if size < 2:
        return
    yield TIME_REVERSED, "stands in reversed order of steps", numpy.flip(array, axis)
    for shift, word in ((1, "later"), (-1, "earlier")):
        rolled = numpy.roll(array, shift, axis)
        edge = 0 if shift == 1 else size - 1
        index = tuple(edge if k == axis else slice(None) for k in range(array.ndim))
        padded = rolled.copy()
        padded[index] = 0
        repeated = rolled.copy()
        repeated[index] = array[index]
        for moved in (padded, rolled, repeated):
            if moved.any():
                yield TIME_SHIFTED, f"stands one step {word}", moved
