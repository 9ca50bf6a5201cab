"""One term of the chain rule: missing, scaled, computed from other numbers, or put elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.edges import (
    Edge,
    Value,
    edges,
    is_whole_statement,
    moves,
    name_of_operand,
    values_of,
)
from deepnlp.diagnosis.mistakes.slopes import activations
from deepnlp.diagnosis.mistakes.steps import letter_of
from deepnlp.diagnosis.mistakes.table import phrase, say
from deepnlp.diagnosis.problem import Guess, Problem, is_one
from deepnlp.diagnosis.reverse import Joined, Run
from deepnlp.gradcheck import causes as c

_PRODUCTS = ("multiply", "divide", "matmul", "einsum")
_FEWEST = 3  # entries that must agree with one factor that is free


# --- Times a number -------------------------------------------------------------------------------


def scaled_terms(problem: Problem) -> Iterator[Guess]:
    """One term of the chain rule is missing, or multiplied by a number.

    The gradient is linear in a term that is used once: wrong = rest + a term, so a is found from
    the pass without the term. In a loop a term is met again at each step, and only usual
    multiples are tried.

    Wrong: ``dz = dh * (n - h_prev)`` for h = (1 - z) n + z h_prev.
    Right: ``dz = dh * (h_prev - n)``.
    """
    every = edges(problem)
    drops = [say("dropped", e.scaled(0.0), cause=_dropped(problem, e), **e.words) for e in every]
    for edge, dropped in zip(every, problem.resolved(drops)):
        without, right = dropped.gradients, problem.followed.right
        yield dropped
        factor = _factor(problem, without)
        if factor is not None and abs(factor) > 1e-6 and not is_one(factor):
            between = {n: without[n] + factor * (right[n] - without[n]) for n in right}
            yield _scaled(edge, factor, between)
        for usual in (-1.0, 2.0, 0.5):
            if factor is None or abs(factor - usual) > 1e-6:
                yield _scaled(edge, usual, edge.scaled(usual))


def _scaled(edge: Edge, factor: float, how: Any) -> Guess:
    edit = edge.scaled(factor)
    if abs(factor + 1) < 1e-6:
        return say("term minus", how, edit=edit, tier=1, **edge.words)
    named = edge.problem.name_factor(factor)
    return say("term multiple", how, edit=edit, tier=1, factor=named, **edge.words)


def _dropped(problem: Problem, edge: Edge) -> str:
    """What the cause is called where a term is left out."""
    if _is_piece(edge):
        return c.DERIVATIVE_MISSING
    for name in problem.subject.variables if edge.j >= 0 else ():
        letter = letter_of(problem, name)
        if letter and numpy.isin(edge.tickets(), problem.followed.variables[name]).any():
            return c.H_PATH if letter == "h" else c.C_PATH
    return c.TERM_MISSING


def _is_piece(edge: Edge) -> bool:
    """Whether a result is used on one side of a threshold, as a piece of an activation is."""
    trace, node = edge.problem.followed, edge.first
    used = trace.is_used[node.tickets]
    for values, tickets in node.operands if used.any() and not used.all() and used.size > 3 else ():
        if tickets.any() and values.shape == used.shape:
            one, other = values[used], values[~used]
            if one.max() <= other.min() or other.max() <= one.min():
                return True
    return False


def _factor(problem: Problem, without: dict[str, HostArray]) -> float | None:
    """The a of wrong = without + a (right - without), over the gradients that the term changes."""
    right, wrong = problem.followed.right, problem.wrong
    for name in problem.bad:  # of each gradient alone: another may hold another mistake
        if wrong[name].shape != right[name].shape:
            continue
        term = right[name] - without[name]
        if not numpy.allclose(without[name], right[name], 1e-9, 1e-13):
            scale = float(numpy.abs(wrong[name]).max(initial=1e-300))
            factor = common_factor(term, wrong[name] - without[name], scale, fewest=2)
            if factor is not None:
                return factor
    return None


def common_factor(
    one: HostArray, other: HostArray, scale: float | None = None, fewest: int = _FEWEST
) -> float | None:
    """The number by which one array must be multiplied to give another."""
    if numpy.count_nonzero(one) < fewest or not numpy.isfinite(other).all():
        return None
    factor = float((one * other).sum() / (one * one).sum())
    scale = float(numpy.abs(other).max()) if scale is None else scale
    return factor if numpy.abs(other - factor * one).max() <= 1e-6 * scale else None


def two_signs(problem: Problem) -> Iterator[Guess]:
    """Two terms have the wrong sign at once, as where a rotation is turned the wrong way.

    Wrong: ``dx1 = dy1 * cos - dy2 * sin; dx2 = dy1 * sin + dy2 * cos``.
    Right: ``dx1 = dy1 * cos + dy2 * sin; dx2 = dy2 * cos - dy1 * sin``.
    """
    every = [
        e for e in edges(problem) if e.j >= 0 and e.first.op in ("multiply", "add", "subtract")
    ]
    for one, other in itertools.combinations(every, 2) if len(every) < 40 else ():
        if one.numbers != other.numbers:
            edit = Joined([one.scaled(-1.0), other.scaled(-1.0)])
            words = {"second": other.line, "what2": other.words["what"]}
            yield say("two signs", edit, tier=1, **one.words, **words)


# --- Another gradient comes in --------------------------------------------------------------------


def forgotten_gradients(problem: Problem) -> Iterator[Guess]:
    """A local derivative is passed on without the gradient that comes in.

    Wrong: ``do = tanh_c``. Right: ``do = dh * tanh_c``.
    """
    for edge in edges(problem):
        edit = edge.edit(incoming=lambda run: 0 * run.g + 1)
        yield say("no incoming", edit, dy=problem.incoming(), **edge.words)


def other_gradients(problem: Problem) -> Iterator[Guess]:
    """The gradient with respect to a later value is passed on.

    Wrong: ``dW = x.T @ dh`` for h = tanh(x W). Right: ``dW = x.T @ (dh * (1 - h ** 2))``.
    """
    trace = problem.followed
    sites = list(trace.sites.values())
    known = {one.number for ones in activations(problem).values() for one in ones}
    for edge in edges(problem):
        runs = len(edge.numbers)
        for numbers in sites:
            later = trace.nodes[numbers[0]]
            if later.values.shape != edge.first.values.shape or len(numbers) not in (1, runs):
                continue
            taken = dict(zip(edge.numbers, numbers if len(numbers) == runs else numbers * runs))
            if not is_whole_statement(problem, numbers[0]) or any(m <= n for n, m in taken.items()):
                continue

            def incoming(run: Run, taken: dict[int, int] = taken) -> HostArray:
                return numpy.array(run.adjoint[trace.nodes[taken[run.number]].tickets])

            value = later.site.target or f"`{later.site.text}`"
            cause = _between(problem, numbers[0], known)
            edit = edge.edit(incoming=incoming)
            yield say("later gradient", edit, cause=cause, tier=1, value=value, **edge.words)


def _between(problem: Problem, later: int, known: set[int]) -> str:
    """What lies between two values: an activation, a mask, or something else."""
    node = problem.followed.nodes[later]
    if later in known or node.op in ("maximum", "minimum"):
        return c.DERIVATIVE_MISSING
    if node.op == "multiply" and not all(node.carries):
        return c.MASK_MISSING if problem.is_random else c.TERM_MISSING
    return c.WRONG_VALUE


# --- Another value beside it ----------------------------------------------------------------------


def other_factors(problem: Problem) -> Iterator[Guess]:
    """Another value of the same shape stands in a product, of this step or the one before.

    Wrong: ``di = dc * i`` for c = f c_prev + i g. Right: ``di = dc * g``.
    """
    for edge in edges(problem):
        if edge.first.op not in _PRODUCTS or not edge.has_partner:
            continue
        shape = edge.partners()[0].shape
        if edge.first.op == "einsum":
            ones = [numpy.ones(shape)] * len(edge.numbers)
            yield say("partner left out", edge.edit(beside=ones), **edge.words)
        for value in values_of(problem):
            if value.arrays[0].shape == shape and value.arrays[0].size > 1:
                for shift in (0, -1, 1) if len(value.arrays) > 1 else (0,):
                    yield from _other_factor(edge, value, shift)


def _other_factor(edge: Edge, value: Value, shift: int) -> Iterator[Guess]:
    replaced, others = value.in_runs(len(edge.numbers), shift), edge.partners()
    if replaced is None or all(map(numpy.array_equal, others, replaced)):
        return
    edit = edge.edit(beside=replaced)
    factor = None if shift else _factor_left_out(edge, replaced)
    if factor:
        yield say("factor left out", edit, value=value.name, factor=factor, **edge.words)
        return
    when = {0: "", -1: " of the step before", 1: " of the step after"}[shift]
    cause = c.TIME_SHIFTED if shift or _is_neighbour(others, replaced) else c.WRONG_VALUE
    yield say("other factor", edit, cause=cause, value=value.name, when=when, **edge.words)


def _factor_left_out(edge: Edge, used: list[HostArray]) -> str | None:
    """The name of the factor by which what is used differs from the other operand."""
    trace = edge.problem.followed
    owners = [int(trace.owner[node.operands[1 - edge.j][1]].max()) for node in edge.nodes]
    products = [trace.nodes[n] for n in owners]
    if min(owners) < 0 or any(p.op != "multiply" for p in products):
        return None
    for k in (0, 1):
        if all(numpy.array_equal(p.operands[k][0], one) for p, one in zip(products, used)):
            return name_of_operand(edge.problem, products[0], 1 - k)
    return None


def _is_neighbour(own: list[HostArray], other: list[HostArray]) -> bool:
    """Whether one sequence is the other, a step earlier or later."""
    pairs = [(own[1:], other[:-1]), (own[:-1], other[1:])]
    return len(own) > 1 and any(all(map(numpy.array_equal, *pair)) for pair in pairs)


def transposed_products(problem: Problem) -> Iterator[Guess]:
    """A square weight, or a square gradient, is used where its transpose should be.

    Wrong: ``dx = dy @ W``. Right: ``dx = dy @ W.T``.
    """
    for edge in edges(problem):
        if edge.first.op != "matmul" or edge.j < 0:
            continue
        other, shape = edge.partners(), edge.first.values.shape
        if other[0].ndim > 1 and other[0].shape[-1] == other[0].shape[-2]:
            turned = [numpy.swapaxes(o, -1, -2) for o in other]
            yield say("square", edge.edit(beside=turned), line=edge.line)
        if len(shape) > 1 and shape[-1] == shape[-2]:
            edit = edge.edit(incoming=lambda run: numpy.swapaxes(run.g, -1, -2))
            yield say("square gradient", edit, line=edge.line)


def moved_axes(problem: Problem) -> Iterator[Guess]:
    """An operand, or what is passed on to it, is reversed, shifted, transposed or reshaped."""
    for edge in edges(problem):
        node = edge.first
        deep = max(node.values.ndim, *(v.ndim for v, _ in node.operands))
        if edge.j < 0 or (len(edge.numbers) > 1 and deep < 3):
            continue
        for cause, word, axes, move in moves(node.operands[edge.j][1].shape):
            edit, told = edge.edit(passed=move), phrase(word, **axes)
            yield say("result moved", edit, cause=cause, moved=told, **edge.words)
        if edge.has_partner and node.op in ("multiply", "matmul", "einsum", "call"):
            for cause, word, axes, move in moves(edge.partners()[0].shape):
                edit, told = (
                    edge.edit(beside=list(map(move, edge.partners()))),
                    phrase(word, **axes),
                )
                yield say("partner moved", edit, cause=cause, moved=told, **edge.words)


def other_orders(problem: Problem) -> Iterator[Guess]:
    """A reshape without the transpose, or the split, that belongs to it.

    Wrong: ``dx = dheads.reshape(N, T, D)``. Right: ``dheads.swapaxes(1, 2).reshape(N, T, D)``.
    """
    trace = problem.followed
    taken = [*trace.outputs, *(t for node in trace.nodes for _, t in node.operands)]
    for edge in edges(problem):
        own = edge.tickets()
        inner = numpy.sort(own, axis=None).reshape(own.shape)
        if len(edge.numbers) > 1:
            continue
        if edge.j >= 0 and len(numpy.unique(own)) == own.size and (inner != own).any():
            yield say("order", edge.edit(to=[inner]), **edge.words)
        made = edge.first.tickets
        for tickets in taken if is_whole_statement(problem, edge.numbers[0]) else ():
            is_all = tickets.size == made.size and set(tickets.flat) == set(made.flat)
            if is_all and (tickets.ravel() != made.ravel()).any():
                edit = edge.edit(incoming=partial(_in_order, tickets))
                yield say("order", edit, **edge.words)


def _in_order(tickets: HostArray, run: Run) -> HostArray:
    return run.adjoint[tickets].reshape(run.g.shape)
