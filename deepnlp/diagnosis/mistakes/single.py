"""Mistakes that one gradient shows when it is compared with the right one, or with its parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

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
    """What one operation, or a part of its results, gives to the gradient of a variable.

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


_MOST_ROWS = 256


def parts_of(problem: Problem, name: str) -> list[Part]:
    """What each operation that takes a variable gives to its gradient, in order."""

    def parts() -> list[Part]:
        marked = numpy.zeros(problem.followed.tape.size, dtype=bool)
        marked[problem.followed.variables[name]] = True
        return [_part(problem, name, n) for n in problem.followed.nodes_with(marked)]

    found: list[Part] = problem.recall(f"parts of {name}", parts)
    return found


def _part(problem: Problem, name: str, number: int, chosen: HostArray | float = 1.0) -> Part:
    """What an operation gives to a gradient; ``chosen`` is 0 where its results do not count."""
    trace = problem.followed
    node, own = trace.nodes[number], trace.variables[name]
    whole, touched = numpy.zeros(trace.tape.size), numpy.zeros(trace.tape.size, dtype=bool)
    passed = node.vjp(trace.gradient_at(number) * chosen, node.arrays, node.values)
    for (_, tickets), value in zip(node.operands, passed):
        numpy.add.at(whole, numpy.broadcast_to(tickets, value.shape), value)
        touched[tickets] = True
    return Part(number, whole[own], touched[own])


def sums(problem: Problem, name: str) -> Iterator[Guess]:
    """Of the rows, steps or places where a weight is used, some do not count.

    Wrong: ``db = dy[-1]``, ``db = dy.mean(axis=0)``, ``dW = x_t.T @ da`` in a loop over time.
    Right: ``db = dy.sum(axis=0)``, ``dW += x_t.T @ da``.
    """
    if name in problem.subject.input_names or not problem.followed.variables[name].size:
        return
    parts, trace = parts_of(problem, name), problem.followed
    lookups = [p for p in parts if trace.nodes[p.number].op == "gather"]
    if lookups:
        yield from _repeated_ids(problem, name, parts, lookups)
    kinds = list(dict.fromkeys(trace.site_of(p.number) for p in parts))
    for kind in kinds if len(kinds) > 1 else ():
        kept = [p for p in parts if trace.site_of(p.number) != kind]
        lost = next(p for p in parts if trace.site_of(p.number) == kind)
        side = c.TIED_LOOKUP if lost in lookups else c.TIED_OUTPUT
        cause, line = side if lookups else c.TERM_MISSING, quoted(trace.nodes[lost.number])
        yield say("use lost", {name: _total(kept)}, cause=cause, name=name, line=line)
    if len(parts) > 1 and len(kinds) == 1:
        yield from _some_runs(problem, name, parts)
    elif len(parts) == 1 and problem.right[name].ndim <= 1:
        yield from _some_rows(problem, name, parts[0].number)


def _total(parts: list[Part]) -> HostArray:
    return numpy.sum([p.value for p in parts], axis=0)


def _repeated_ids(
    problem: Problem, name: str, parts: list[Part], lookups: list[Part]
) -> Iterator[Guess]:
    """Of an id that occurs twice, only one occurrence counts.

    Wrong: ``dW[ids] = dy``, or ``dW[ids] += dy``, which NumPy carries out once for each id.
    Right: ``np.add.at(dW, ids, dy)``.
    """
    others = [p for p in parts if p not in lookups]
    rest = _total(others) if others else 0.0
    rows = [_rows(problem, name, p.number) for p in lookups]
    every = [row for several in rows for row in several]
    for which, ordered in (("last", every), ("first", every[::-1])):
        yield say("last id", {name: _assigned(ordered) + rest}, name=name, which=which)
    if len(lookups) > 1:  # one look-up per step, each of which counts every id once; they add up
        steps = numpy.sum([_assigned(several) for several in rows], axis=0)
        yield say("id in a step", {name: steps + rest}, name=name)


def _rows(problem: Problem, name: str, number: int) -> list[HostArray]:
    """What the rows of a look-up give to a gradient."""
    shape = problem.followed.nodes[number].values.shape
    count = int(numpy.prod(shape[:-1]))
    lead = numpy.arange(count).reshape((*shape[:-1], 1))
    rows = range(min(count, _MOST_ROWS))
    return [_part(problem, name, number, 1.0 * (lead == row)).value for row in rows]


def _assigned(values: list[HostArray]) -> HostArray:
    """Parts assigned one after the other where they are not zero, instead of added."""
    kept = numpy.zeros(values[0].shape)
    for value in values:
        kept = numpy.where(value != 0, value, kept)
    return kept


def _some_runs(problem: Problem, name: str, parts: list[Part]) -> Iterator[Guess]:
    """One run of a loop alone; the mean over them; or all without one."""
    is_bias, last = problem.right[name].ndim <= 1, len(parts) - 1
    for which in (last, 0):  # the loop on the way back ends with step 0: what it assigned last
        for cause in (c.NOT_SUMMED_T, c.ASSIGNED) if is_bias and which else (c.ASSIGNED,):
            kept = {name: parts[which].value}
            yield say("only step", kept, cause=cause, name=name, which=which)
        rest = {name: _total([p for p in parts if p is not parts[which]])}
        yield say("step left out", rest, name=name, which=which)
    if is_bias:
        mean = {name: _total(parts) / len(parts)}
        yield say("mean of steps", mean, name=name, count=len(parts))


def _some_rows(problem: Problem, name: str, number: int) -> Iterator[Guess]:
    """One sample or step of a bias alone; or the mean over them, or over all rows."""
    shape = problem.followed.nodes[number].values.shape
    total = problem.right[name]
    for axis, size in enumerate(shape[:-1]):
        kind = "sample" if axis == 0 else "step"
        for which in (size - 1, 0) if size > 1 else ():
            chosen = numpy.zeros(shape)
            chosen[(slice(None),) * axis + (which,)] = 1.0
            value = _part(problem, name, number, chosen).value
            cause = "" if kind == "sample" else c.NOT_SUMMED_T
            if value.any():  # that it is zero says more
                yield say(f"only {kind}", {name: value}, cause=cause, name=name, which=which)
        if size > 1:
            yield say(f"mean of {kind}s", {name: total / size}, name=name, count=size)
    rows = int(numpy.prod(shape[:-1]))
    if len(shape) > 2 and rows > 1:
        yield say("mean of rows", {name: total / rows}, name=name, count=rows)


def overlaps(problem: Problem, name: str) -> Iterator[Guess]:
    """An entry of the input is used several times, and the gradient of one use is kept.

    Wrong: ``dx[:, k : k + T] = dy @ K[k].T``. Right: ``dx[:, k : k + T] += dy @ K[k].T``.
    Where two statements use the whole input, nothing is overwritten: a term is left out.
    """
    if name not in problem.subject.input_names or letter_of(problem, name) is not None:
        return
    parts = parts_of(problem, name)
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
