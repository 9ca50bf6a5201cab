"""One term of the chain rule: missing, scaled, computed from other numbers, or put elsewhere."""

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
    name_of_ticket,
    values_of,
)
from deepnlp.diagnosis.mistakes.slopes import activations
from deepnlp.diagnosis.mistakes.steps import letter_of
from deepnlp.diagnosis.mistakes.table import phrase, say
from deepnlp.diagnosis.problem import Guess, Problem, is_one
from deepnlp.diagnosis.reverse import Edit, Joined, Run
from deepnlp.gradcheck import causes as c

_PARTS = {
    "first": (slice(0, 1), "0"),
    "last": (slice(-1, None), "-1"),
    "all but the first": (slice(1, None), "1:"),
    "all but the last": (slice(0, -1), ":-1"),
}
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


def some_runs(problem: Problem) -> Iterator[Guess]:
    """A term counts only in one run of a loop, or lacks one.

    Wrong: ``dx[:, i : i + k] = ...`` in a loop over i. Right: ``dx[:, i : i + k] += ...``.
    """
    for edge in edges(problem):
        n = edge.numbers
        for part, (kept, _) in _PARTS.items() if len(n) > 1 and edge.j >= 0 else ():
            cause = c.TIME_SHIFTED if "all but" in part and len(n) > 2 else c.ASSIGNED
            edit = edge.scaled(0.0, sorted(set(n) - set(n[kept])))
            yield say("some runs", edit, cause=cause, count=len(n), part=part, **edge.words)


def constant_statistics(problem: Problem) -> Iterator[Guess]:
    """Sums and means that go into every entry again are taken for constants, all of them.

    Wrong: ``dx = dy / std`` for y = (x - mean) / std.
    """
    sums = [e for e in edges(problem) if e.first.op == "sum" and e.j == 0 and _is_spread(e)]
    if len(sums) > 1:
        lines = " and ".join(dict.fromkeys(edge.line for edge in sums))
        yield say("statistics", Joined([edge.scaled(0.0) for edge in sums]), lines=lines)


def _is_spread(edge: Edge) -> bool:
    """Whether a sum is combined with arrays that are larger again."""
    trace = edge.problem.followed
    marked = numpy.zeros(trace.tape.size, dtype=bool)
    for node in edge.nodes:
        marked[node.tickets] = True
    for node in trace.nodes[edge.numbers[0] + 1 :]:
        own = [t for _, t in node.operands if marked[t].any()]
        if own and len(node.operands) == 2 and any(t.size < node.values.size for t in own):
            return node.op not in ("matmul", "einsum")
        if own:
            marked[node.tickets] = True
    return False


# --- Another gradient comes in --------------------------------------------------------------------


def _always(g: HostArray, _: Run) -> HostArray:
    return g


def _masked(mask: HostArray, run: Run) -> HostArray:
    return run.g * mask


def forgotten_gradients(problem: Problem) -> Iterator[Guess]:
    """A local derivative is passed on without the gradient that comes in.

    Wrong: ``do = tanh_c``. Right: ``do = dh * tanh_c``.
    """
    for edge in edges(problem):
        edit = edge.edit(incoming=lambda run: 0 * run.g + 1)
        yield say("no incoming", edit, dy=problem.incoming(), **edge.words)


def unused_conditions(problem: Problem) -> Iterator[Guess]:
    """The gradient that comes in is used where a condition should have cut it off.

    Wrong: ``da = (dy * x).sum(0)`` for a rectifier that leaks.
    Right: ``da = (dy * x * (x <= 0)).sum(0)``.
    """
    for edge in edges(problem):
        for dy in problem.followed.weights:
            if dy.shape == edge.first.values.shape and dy.ndim and len(edge.numbers) == 1:
                edit = edge.edit(incoming=partial(_always, dy))
                yield say("incoming", edit, tier=2, dy=f"`{problem.incoming()}`", **edge.words)


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


def some_entries(problem: Problem) -> Iterator[Guess]:
    """Of a gradient, only the first or the last entry along an axis counts, or one is left out.

    Wrong: ``np.add.at(dE, ids, ds[:, :1] * O)``. Right: with all columns of ``ds``.
    """
    for edge in edges(problem):
        node = edge.first
        if edge.j >= 0 and node.op not in ("multiply", "sum", "einsum", "matmul"):
            continue
        for axis, size in enumerate(node.values.shape):
            for part, (kept, index) in _PARTS.items() if size > 1 else ():
                mask = numpy.zeros(node.values.shape)
                mask[(slice(None),) * axis + (kept,)] = 1.0
                cause = c.TIME_SHIFTED if "all but" in part and size > 2 else c.TERM_MISSING
                if cause == c.TERM_MISSING and _is_weight_along(edge, axis):
                    cause = c.NOT_SUMMED_T if axis else c.NOT_SUMMED_N
                edit = edge.edit(incoming=partial(_masked, mask))
                kind, name = _result(edge)
                words = {"index": f"[{', '.join([':'] * axis + [index])}]", "incoming": name}
                words |= {"count": str(size), "axis": str(axis), "part": part, "kind": kind}
                yield say("some entries", edit, cause=cause, **words, **edge.words)


def _is_weight_along(edge: Edge, axis: int) -> bool:
    """Whether a weight serves all places along an axis of the result, so that they are summed."""
    if edge.j < 0 or edge.first.op in ("sum", "einsum", "matmul"):
        return False
    name = name_of_ticket(edge.problem, int(edge.tickets().max(initial=0)))
    if name is None or name in edge.problem.subject.input_names:
        return False
    shape = edge.tickets().shape
    own = axis - (edge.first.values.ndim - len(shape))
    return own < 0 or shape[own] == 1


def _result(edge: Edge) -> tuple[str, str]:
    """What the entries of a result are, and what backward calls the gradient with respect to it."""
    own, target = edge.first.tickets, edge.first.site.target
    for k, tickets in enumerate(edge.problem.followed.outputs):
        if own.shape == tickets.shape and (target is None or (own == tickets).all()):
            return "outputs", edge.problem.incoming(k)
    return "entries of its result", f"d{target}" if target else edge.problem.incoming()


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


def updated_weights(problem: Problem) -> Iterator[Guess]:
    """A weight is updated, by a multiple of its gradient, before backward uses it.

    Wrong: ``self.W -= lr * self.dW; return dy @ self.W.T``. Right: ``dx`` first, then the update.
    """
    trace, wrong = problem.followed, problem.wrong
    for edge in edges(problem):
        if not edge.has_partner or edge.first.op == "add":
            continue
        weight = edge.first.operands[1 - edge.j][1]
        for name, tickets in trace.variables.items():
            is_same = numpy.array_equal(tickets, weight) and wrong[name].shape == tickets.shape
            if name in problem.subject.input_names or not is_same:
                continue
            step = [wrong[name]] * len(edge.numbers)
            other = trace.gradients(edge.edit(beside=step))
            dropped = trace.gradients(edge.scaled(0.0))
            change = {n: other[n] - dropped[n] for n in other}
            if any(wrong[n].shape != change[n].shape for n in problem.bad):
                continue
            off = [(change[n].ravel(), (wrong[n] - problem.right[n]).ravel()) for n in problem.bad]
            one, rest = (numpy.concatenate(each) for each in zip(*off))
            if numpy.count_nonzero(one) < _FEWEST:
                continue
            rate = float((one * rest).sum() / (one * one).sum())
            gradients = {n: trace.right[n] + rate * change[n] for n in trace.right}
            yield say("updated", gradients, name=name, factor=f"{rate:.6g}", line=edge.line)


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


def loss_gradients(problem: Problem) -> Iterator[Guess]:
    """The gradient with respect to the scores of a loss is another value, times a number.

    Wrong: ``ds = p`` for a cross entropy. Right: ``ds = p - t``.
    """
    trace = problem.followed
    if any(w.ndim for w in trace.weights):
        return
    places: list[tuple[str, int, HostArray]] = [
        (f"the gradient with respect to {name}", -1, trace.variables[name]) for name in problem.bad
    ]
    for number, *others in trace.sites.values():
        node = trace.nodes[number]
        if not others and is_whole_statement(problem, number) and node.values.ndim:
            line = Edge(problem, [number], -1).line
            told = f"the gradient with respect to the result of {line}"
            places.append((told, number, node.tickets))
    for what, number, tickets in places:
        right = trace.adjoint[tickets]
        if not problem.reached([tickets]) & set(problem.bad) or right.size < _FEWEST:
            continue
        for value in values_of(problem):
            own = value.arrays[0]
            if len(value.arrays) > 1 or own.shape != tickets.shape or not own.any():
                continue
            gradients = _with_gradient(problem, number, tickets, own)
            same = [n for n in problem.bad if n in gradients]
            if not same or any(gradients[n].shape != problem.wrong[n].shape for n in same):
                continue
            factor = common_factor(
                numpy.concatenate([gradients[n].ravel() for n in same]),
                numpy.concatenate([problem.wrong[n].ravel() for n in same]),
            )
            if factor is None or abs(factor) < 1e-12:
                continue
            scaled = {name: factor * g for name, g in gradients.items()}
            missing = _subtracted(problem, right / factor - own)
            key = "not subtracted" if missing else "alone"
            times = problem.name_factor(factor / float(trace.weights[0]))
            words = {"value": value.name, "factor": times, "missing": missing}
            yield say(key, scaled, cause="" if missing else c.WRONG_VALUE, what=what, **words)


def _subtracted(problem: Problem, rest: HostArray) -> str:
    """The name of what is missing: a target, or another value of the forward."""
    for value in values_of(problem):
        if value.arrays[0].shape == rest.shape and numpy.allclose(rest, -value.arrays[0]):
            return value.name
    onehot = numpy.allclose(rest * rest, -rest, atol=1e-9) and numpy.allclose(-rest.sum(-1), 1)
    if not onehot:
        return ""
    subject = problem.subject
    names = [name for name in subject.input_names if name not in subject.variables]
    return f"the target `{names[0]}` (1 at the right class)" if names else "the target"


def _with_gradient(
    problem: Problem, number: int, tickets: HostArray, g: HostArray
) -> dict[str, HostArray]:
    """The gradients if that with respect to one value is g, and nothing else counts for them."""
    trace = problem.followed
    if number < 0:
        return {next(n for n, t in trace.variables.items() if t is tickets): g}
    found = trace.gradients(Edit(change=partial(_pass_on, g), at=[number]))
    return {name: found[name] for name in problem.reached([tickets])}


def _pass_on(g: HostArray, run: Run) -> dict[int, HostArray]:
    return run.vjp(g)
