"""Mistakes that one gradient shows when it is compared with the right one, or with its parts."""

from collections.abc import Iterator
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.edges import quoted
from deepnlp.diagnosis.mistakes.steps import letter_of
from deepnlp.diagnosis.mistakes.table import say
from deepnlp.diagnosis.problem import Guess, Problem, is_one, ratio
from deepnlp.gradcheck import causes as c

# --- The gradient as a whole ----------------------------------------------------------------------


def simple(problem: Problem, name: str) -> Iterator[Guess]:
    """The gradient is zero, a multiple, transposed, not summed, or the one that comes in."""
    right, wrong = problem.right[name], problem.wrong[name]
    yield say("zero", {name: 0 * right}, name=name)
    state = letter_of(problem, name)
    if state is not None:
        cause = c.H_PATH if state == "h" else c.C_PATH
        yield say("state zero", {name: 0 * right}, cause=cause, name=name)
    factor = ratio(wrong, right)
    if factor is not None and abs(factor + 1) < 1e-6:
        yield say("minus", {name: -right}, name=name)
    elif factor and not is_one(factor) and numpy.count_nonzero(right) > 1:
        told = problem.name_factor(factor)  # of a single number, anything is a multiple
        keys = ("not averaged", "multiple")[not _is_count(problem, factor) :]
        if "1/N" in told.split(" = ") and right.ndim == 1 and list(problem.bad) == [name]:
            keys = ("mean",)  # of a bias alone: all other gradients are sums
        for key in keys:
            yield say(key, {name: factor * right}, name=name, factor=told)
    for axes in (None, *range(right.ndim)) if name not in problem.subject.input_names else ():
        spread = numpy.broadcast_to(right.sum(axis=axes, keepdims=True), right.shape)
        if right.ndim and spread.any():
            yield say("spread", {name: spread}, name=name)
    if right.ndim == 2:
        yield say("transposed", {name: right.T}, name=name)
    extra = wrong.ndim - right.ndim
    total = wrong.sum(axis=tuple(range(max(extra, 0))))
    is_sum = total.shape == right.shape and numpy.allclose(total, right, 1e-5, 1e-9)
    if extra > 0 and is_sum and wrong.size > right.size:
        axes = "axis" if extra == 1 else f"{extra} axes"
        words = {"shape": wrong.shape, "wanted": right.shape, "axes": axes}
        yield say("unsummed", {name: wrong}, name=name, **words)
    for k, weight in enumerate(problem.subject.weights):
        if weight.shape == right.shape and weight.ndim > 0:
            dy = f"`{problem.incoming(k)}`"
            cause = c.MASK_MISSING if problem.is_random else c.DERIVATIVE_MISSING
            yield say("passed through", {name: weight}, cause=cause, name=name, dy=dy)


def _is_count(problem: Problem, factor: float) -> bool:
    """Return whether all gradients of a loss are wrong, and a multiple is the number of targets."""
    targets = problem.targets
    return targets is not None and not problem.must_stay and abs(factor - targets.size) < 1e-6


# --- The parts that a gradient is the sum of ------------------------------------------------------


def sums(problem: Problem, name: str) -> Iterator[Guess]:
    """Try sums in which some uses of a weight, or some rounds of a loop, are missing.

    Wrong: ``dW = x_t.T @ da`` in a loop over time. Right: ``dW += x_t.T @ da``.
    """
    if name in problem.subject.input_names or not problem.followed.variables[name].size:
        return
    parts, trace = _parts(problem, name), problem.followed
    sites: dict[Any, list[int]] = {}
    for number in parts:
        sites.setdefault(trace.site_of(number), []).append(number)
    ops = [trace.nodes[own[0]].op for own in sites.values()]
    for own, op in zip(sites.values(), ops) if len(sites) > 1 else ():
        tied = c.TIED_LOOKUP if op == "gather" else c.TIED_OUTPUT
        cause = tied if "gather" in ops else c.TERM_MISSING
        kept = sum(value for number, value in parts.items() if number not in own)
        line = quoted(trace.nodes[own[0]])
        yield say("use lost", {name: kept}, cause=cause, name=name, line=line)
    last = len(parts) - 1
    for k in (0, last) if len(sites) == 1 <= last else ():  # the way back ends with step 0
        is_bias = k == last and problem.right[name].ndim < 2
        cause = c.NOT_SUMMED_T if is_bias else c.ASSIGNED
        words = {"name": name, "which": k, "count": len(parts)}
        yield say("one step", {name: [*parts.values()][k]}, cause=cause, **words)


def _parts(problem: Problem, name: str) -> dict[int, HostArray]:
    """Return each operation's part of the gradient of a variable, by number of the node."""
    trace, found = problem.followed, {}
    own = trace.variables[name]
    marked = numpy.zeros(trace.tape.size, dtype=bool)
    marked[own] = True
    for number in trace.nodes_with(marked):
        node, whole = trace.nodes[number], numpy.zeros(trace.tape.size)
        passed = node.vjp(trace.adjoint[node.tickets], node.arrays, node.values)
        for (_, tickets), value in zip(node.operands, passed):
            numpy.add.at(whole, numpy.broadcast_to(tickets, value.shape), value)
        found[number] = whole[own]
    return found
