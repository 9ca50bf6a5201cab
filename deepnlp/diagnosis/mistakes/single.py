"""Mistakes that one gradient shows when it is compared with the right one, or with its parts."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.edges import quoted
from deepnlp.diagnosis.mistakes.steps import letter_of
from deepnlp.diagnosis.mistakes.table import say
from deepnlp.diagnosis.places import shortened
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
        yield say("multiple", {name: factor * right}, name=name, factor=told)
    for axes in (None, *range(right.ndim)) if name not in problem.subject.input_names else ():
        spread = numpy.broadcast_to(right.sum(axis=axes, keepdims=True), right.shape)
        if right.ndim and spread.any():
            yield say("spread", {name: spread}, name=name)
    if right.ndim == 2:
        yield say("transposed", {name: right.T}, name=name)
    extra = wrong.ndim - right.ndim
    total = wrong.sum(axis=tuple(range(max(extra, 0))))
    if extra > 0 and total.shape == right.shape and numpy.allclose(total, right, 1e-5, 1e-9):
        axes = "axis" if extra == 1 else f"{extra} axes"
        words = {"shape": wrong.shape, "wanted": right.shape, "axes": axes}
        yield say("unsummed", {name: wrong}, name=name, **words)
    for k, weight in enumerate(problem.subject.weights):
        if weight.shape == right.shape and weight.ndim > 0:
            dy = f"`{problem.incoming(k)}`"
            yield say("passed through", {name: weight}, name=name, dy=dy)


def other_pieces(problem: Problem, name: str) -> Iterator[Guess]:
    """A function made of straight pieces, with the slopes of another one.

    Wrong: ``dx = dy * (x > 0)`` for a rectifier that leaks.
    Right: ``dx = dy * np.where(x > 0, 1, a)``.
    """
    right, wrong = problem.right[name], problem.wrong[name]
    for dy in problem.subject.weights:
        if dy.shape != right.shape or wrong.shape != right.shape or not dy.all() or right.size < 5:
            continue
        if ratio(wrong, right) is not None:  # a factor is wrong, not where it is cut off
            continue
        slopes = [numpy.unique((g / dy).round(6)) for g in (wrong, right)]
        if len(slopes[0]) <= 2 <= len(slopes[1]) <= 3:
            told, wanted = (" and ".join(f"{slope + 0.0:g}" for slope in s) for s in slopes)
            turned = (numpy.abs(wrong - right) > 1e-6 * numpy.abs(dy)).all()
            key = (
                "slopes" if told != wanted else "slopes inverted" if turned else "slopes elsewhere"
            )
            yield say(key, {name: wrong}, name=name, slopes=told, wanted=wanted)


# --- The parts that a gradient is the sum of ------------------------------------------------------


@dataclass(eq=False)
class Part:
    """What one operation gives to the gradient of a variable.

    Attributes
    ----------
    number : int
        Of the node.
    value : array
        Of the shape of the variable.
    touched : array of bool
        Which of its entries the operation takes.
    """

    number: int
    value: HostArray
    touched: HostArray


def parts_of(problem: Problem, name: str) -> list[Part]:
    """What each operation that takes a variable gives to its gradient, in order."""
    found: list[Part] = problem.recall(f"parts of {name}", lambda: list(_parts(problem, name)))
    return found


def _parts(problem: Problem, name: str) -> Iterator[Part]:
    trace = problem.followed
    own = trace.variables[name]
    marked = numpy.zeros(trace.tape.size, dtype=bool)
    marked[own] = True
    for number in trace.nodes_with(marked):
        node = trace.nodes[number]
        whole, touched = numpy.zeros(trace.tape.size), numpy.zeros(trace.tape.size, dtype=bool)
        passed = node.vjp(trace.gradient_at(number), node.arrays, node.values)
        for (_, tickets), value in zip(node.operands, passed):
            touched[tickets] = True
            numpy.add.at(whole, numpy.broadcast_to(tickets, value.shape), value)
        yield Part(number, whole[own], touched[own])


def sums(problem: Problem, name: str) -> Iterator[Guess]:
    """Of the places where a weight is used, or of the rounds of a loop, some do not count.

    Wrong: ``dW = x_t.T @ da`` in a loop over time. Right: ``dW += x_t.T @ da``.
    """
    if name in problem.subject.input_names or not problem.followed.variables[name].size:
        return
    parts, trace = parts_of(problem, name), problem.followed
    sites: dict[Any, list[Part]] = {}
    for part in parts:
        sites.setdefault(trace.site_of(part.number), []).append(part)
    ops = [trace.nodes[own[0].number].op for own in sites.values()]
    for own, op in zip(sites.values(), ops) if len(sites) > 1 else ():
        tied = c.TIED_LOOKUP if op == "gather" else c.TIED_OUTPUT
        cause = tied if "gather" in ops else c.TERM_MISSING
        kept, line = [p for p in parts if p not in own], quoted(trace.nodes[own[0].number])
        yield say("use lost", {name: _total(kept)}, cause=cause, name=name, line=line)
    last = len(parts) - 1
    for k in (0, last) if len(sites) == 1 <= last else ():  # the way back ends with step 0
        is_bias = k == last and problem.right[name].ndim < 2
        cause = c.NOT_SUMMED_T if is_bias else c.ASSIGNED
        words = {"name": name, "which": k, "count": len(parts)}
        yield say("one step", {name: parts[k].value}, cause=cause, **words)


def _total(parts: list[Part]) -> HostArray:
    return numpy.sum([p.value for p in parts], axis=0)


def overlaps(problem: Problem, name: str) -> Iterator[Guess]:
    """An entry of the input is used several times, and the gradient of one use is kept.

    Wrong: ``dx[:, k : k + T] = dy @ K[k].T``. Right: ``dx[:, k : k + T] += dy @ K[k].T``.
    Where two statements use the whole input, nothing is overwritten: a term is left out.
    """
    if name not in problem.subject.input_names or letter_of(problem, name) is not None:
        return
    parts = [part for part in parts_of(problem, name) if part.value.any()]
    count = len(parts)
    sites = {problem.followed.site_of(p.number) for p in parts}
    if len(sites) == count > 1:
        yield from _ways(problem, name, parts)
    if count < 2 or (len(sites) == count and all(p.touched.all() for p in parts)):
        return
    for ordered in (parts[::-1], parts):
        kept = numpy.zeros(problem.right[name].shape)
        for part in ordered:
            kept[part.touched] = part.value[part.touched]
        tier = int(len(sites) == count)
        yield say("overlap", {name: kept}, tier=tier, count=count, name=name)


def _ways(problem: Problem, name: str, parts: list[Part]) -> Iterator[Guess]:
    """Of the ways from an input to the outputs, one is left out, or all but one."""
    ways = [_way(problem, part.number) for part in parts]
    for k, part in enumerate(parts):
        others = [p for p in parts if p is not part]
        if len(parts) > 2:
            words = {"count": len(parts), "name": name, "way": ways[k]}
            yield say("only way", {name: part.value}, **words)
        rest = f"; only that through {ways[1 - k]} is in its gradient" if len(parts) == 2 else ""
        yield say("way missing", {name: _total(others)}, name=name, way=ways[k], rest=rest)


def _way(problem: Problem, number: int) -> str:
    """An operation by which a value goes on: its expression, and the statement it is in."""
    node = problem.followed.nodes[number]
    expression = node.site.expression
    inside = "" if expression is None else shortened(ast.unparse(expression))
    return f"`{inside}` in {quoted(node)}" if inside and len(inside) < 60 else quoted(node)
