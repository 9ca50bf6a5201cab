"""A weight that is used at every row, at every step or in two places: its gradient is a sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import numpy

from deepnlp.diagnosis.hypotheses.paths import letter_of
from deepnlp.diagnosis.places import shortened
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.numeric import HostArray


@dataclass
class Use:
    """One operation that took a weight, with what each of its rows gives to the gradient.

    Attributes
    ----------
    number : int
        Of the node.
    op : str
    parts : array (rows, size of the weight)
    samples, steps : array (rows,)
        Which sample and which step of the inputs a row belongs to; negative where it is unknown.
    """

    number: int
    op: str
    parts: HostArray
    samples: HostArray
    steps: HostArray


def uses_of(problem: Problem, name: str) -> list[Use]:
    """All operations that took a weight, in order."""
    found: list[Use] = problem.recall(f"uses of {name}", lambda: _find_uses(problem, name))
    return found


def _find_uses(problem: Problem, name: str) -> list[Use]:
    trace = problem.followed
    if name in problem.subject.input_names or not trace.variables[name].size:
        return []
    own = trace.variables[name]
    first, size = int(own.min()), own.size
    found: list[Use] = []

    for number, node in enumerate(trace.nodes):
        for j, (_, tickets) in enumerate(node.operands):
            if ((tickets >= first) & (tickets < first + size)).any():
                g = trace.gradient_at(number)
                found.append(_use(problem, number, node, g, j, first, size))
    return found


def _use(
    problem: Problem, number: int, node: Node, g: HostArray, j: int, first: int, size: int
) -> Use:
    trace = problem.followed
    values, tickets = node.operands[j]
    if node.op == "matmul" and values.ndim == 2 and node.operands[1 - j][0].ndim >= 2:
        other = node.operands[1 - j][0]
        if j == 1:  # y = x W: one part for each row of x
            x = other.reshape(-1, other.shape[-1])
            dy = g.reshape(-1, g.shape[-1])
            blocks = x[:, :, None] * dy[:, None, :]
            of_row = node.tickets.reshape(len(dy), -1)[:, 0]
        else:  # y = W x: one for each column
            if other.ndim > 2:
                return _whole(trace.backward(number, g), number, node, j, first, size)
            blocks = g.T[:, :, None] * other.T[:, None, :]
            of_row = node.tickets[0]
        where = numpy.broadcast_to(tickets, blocks.shape).reshape(len(blocks), -1) - first
    elif node.op in ("matmul", "sum", "einsum"):
        return _whole(trace.backward(number, g), number, node, j, first, size)
    else:
        passed = next(v for t, v in trace.backward(number, g) if t is node.operands[j][1])
        passed = numpy.broadcast_to(passed, node.tickets.shape)
        where = numpy.broadcast_to(tickets, node.tickets.shape) - first
        width = node.tickets.shape[-1] if node.tickets.ndim else 1
        blocks = passed.reshape(-1, width)
        where = where.reshape(-1, width)
        of_row = node.tickets.reshape(-1, width)[:, 0]
    blocks = blocks.reshape(len(blocks), -1)
    parts = numpy.zeros((len(blocks), size))
    inside = (where >= 0) & (where < size)
    rows = numpy.broadcast_to(numpy.arange(len(blocks))[:, None], where.shape)
    numpy.add.at(parts, (rows[inside], where[inside]), blocks[inside])
    return Use(number, node.op, parts, trace.samples[of_row], trace.steps[of_row])


def _whole(passed: Adjoints, number: int, node: Node, j: int, first: int, size: int) -> Use:
    """An operation that is not taken apart."""
    total = numpy.zeros((1, size))
    for tickets, value in passed:
        if tickets is not node.operands[j][1]:
            continue
        where = numpy.broadcast_to(tickets, value.shape) - first
        inside = (where >= 0) & (where < size)
        numpy.add.at(total[0], where[inside], value[inside])
    unknown = numpy.full(1, -2)
    return Use(number, node.op, total, unknown, unknown)


def tied(problem: Problem, name: str) -> Iterator[Guess]:
    """A weight is used in two places, and the gradient of one of them is lost.

    Wrong: ``self.dE = h.T @ dy`` after the look-up's gradient was stored in ``self.dE``.
    Right: ``self.dE += ...``, so that both uses count.
    """
    uses, site_of = uses_of(problem, name), problem.followed.site_of
    kinds = {site_of(use.number) for use in uses}
    if len(kinds) < 2:
        return
    shape = problem.right[name].shape
    has_lookup = any(use.op == "gather" for use in uses)
    for kind in sorted(kinds, key=str):
        lost = [use for use in uses if site_of(use.number) == kind]
        kept = [use for use in uses if site_of(use.number) != kind]
        line = problem.followed.line(lost[0].number)
        told = f"the gradient of {name} lacks its use in `{line}`"
        of_lookup = c.TIED_LOOKUP if lost[0].op == "gather" else c.TIED_OUTPUT
        cause = of_lookup if has_lookup else c.TERM_MISSING
        yield Guess(cause, told, {name: _total(kept, shape)})


def repeated_ids(problem: Problem, name: str) -> Iterator[Guess]:
    """Of an id that occurs twice, only one occurrence counts.

    Wrong: ``dW[ids] = dy``, or ``dW[ids] += dy``, which NumPy carries out once for each id.
    Right: ``np.add.at(dW, ids, dy)``.
    """
    uses = uses_of(problem, name)
    lookups = [use for use in uses if use.op == "gather"]
    if not lookups:
        return
    others = _total([use for use in uses if use.op != "gather"], problem.right[name].shape)
    parts = numpy.concatenate([use.parts for use in lookups])
    for which, rows in (("last", parts), ("first", parts[::-1])):
        told = (
            f"of an id that occurs more than once, only the {which} occurrence "
            f"counts in the gradient of {name}"
        )
        kept = _assigned(rows).reshape(others.shape)
        yield Guess(c.REPEATED_IDS, told, {name: kept + others})
    if len(lookups) > 1:
        # One look-up per step, each of which counts every id once; the steps add up.
        kept = numpy.sum([_assigned(use.parts) for use in lookups], axis=0)
        told = f"within a step, of a repeated id only the last one counts in {name}"
        yield Guess(c.REPEATED_IDS, told, {name: kept.reshape(others.shape) + others})


def _assigned(rows: HostArray) -> HostArray:
    """Rows assigned one after the other where they are not zero, instead of added."""
    kept = numpy.zeros(rows.shape[1])
    for row in rows:
        kept[row != 0] = row[row != 0]
    return kept


def unsummed_rows(problem: Problem, name: str) -> Iterator[Guess]:
    """Of the rows or steps where a weight is used, one counts, or their mean is taken.

    Wrong: ``db = dy[-1]`` or ``db = dy.mean(axis=0)``. Right: ``db = dy.sum(axis=0)``.
    And in a loop over time, wrong: ``db = da_t.sum(0)``. Right: ``db += da_t.sum(0)``.
    """
    uses = uses_of(problem, name)
    if not uses:
        return
    shape = problem.right[name].shape
    parts = numpy.concatenate([use.parts for use in uses])
    steps = numpy.concatenate([use.steps for use in uses])
    samples = numpy.concatenate([use.samples for use in uses])
    is_bias = len(shape) <= 1
    in_a_loop = len({use.number for use in uses}) > 1

    def guess(cause: str, told: str, kept: HostArray, factor: float = 1.0) -> Guess:
        total = factor * parts[kept].sum(axis=0).reshape(shape)
        if not total.any() and cause != c.ASSIGNED:
            total = numpy.full(shape, numpy.nan)  # that it is zero says more
        return Guess(cause, f"the gradient of {name} {told}", {name: total})

    both = [("step", steps, c.NOT_SUMMED_T), ("sample", samples, c.NOT_SUMMED_N)]
    for word, labels, cause in both:
        known = sorted(set(labels[labels >= 0].tolist()))
        if len(known) < 2:
            continue
        for which in (known[-1], known[0]):
            told = f"holds only {word} {which}"
            # The loop on the way back ends with step 0: what it assigned last is what remains.
            assigned = word == "step" and (not is_bias or (in_a_loop and which == known[0]))
            yield guess(c.ASSIGNED if assigned else cause, told, labels == which)
            if is_bias and in_a_loop and word == "step" and not assigned:
                yield guess(c.ASSIGNED, told, labels == which)
        if is_bias:
            told = f"is the mean over the {len(known)} {word}s"
            yield guess(cause, told, labels > -3, 1 / len(known))
    if is_bias and len(parts) > 1:
        rows = len(parts)
        yield guess(c.NOT_SUMMED_N, f"is the mean over all {rows} rows", steps > -3, 1 / rows)
        for which in (rows - 1, 0):
            yield guess(c.NOT_SUMMED_N, f"holds only row {which}", numpy.arange(rows) == which)
    if in_a_loop and len({problem.followed.site_of(use.number) for use in uses}) == 1:
        for which in (0, len(uses) - 1):
            total = uses[which].parts.sum(axis=0).reshape(shape)
            told = f"the gradient of {name} holds only one of {len(uses)} uses"
            yield Guess(c.ASSIGNED, told, {name: total})


def overlaps(problem: Problem, name: str) -> Iterator[Guess]:
    """An entry of the input is used several times, and the gradient of one use is kept.

    Wrong: ``dx[:, k : k + T] = dy @ K[k].T``. Right: ``dx[:, k : k + T] += dy @ K[k].T``.
    Where two statements use the whole input, nothing is overwritten: a term is left out.
    """
    trace = problem.followed
    if name not in problem.subject.input_names or letter_of(problem, name) is not None:
        return
    own = trace.variables[name]
    parts: list[tuple[HostArray, HostArray]] = []
    sites: dict[object, int] = {}

    marked = numpy.zeros(trace.tape.size, dtype=bool)
    marked[own] = True
    for number, node in enumerate(trace.nodes):
        if not any(marked[t].any() for _, t in node.operands):
            continue
        found, touched = numpy.zeros(trace.tape.size), numpy.zeros(trace.tape.size, dtype=bool)
        for tickets, value in trace.backward(number, trace.gradient_at(number)):
            numpy.add.at(found, numpy.broadcast_to(tickets, value.shape), value)
            touched[tickets] = True
        parts.append((found[own], touched[own]))
        sites[trace.site_of(number)] = number
    if len(sites) == len(parts) > 1:
        yield from _one_way(problem, name, list(sites.values()), [part for part, _ in parts])
        if all(touched.all() for _, touched in parts):
            return
    parts.reverse()
    for ordered in (parts, parts[::-1]) if len(parts) > 1 else ():
        kept = numpy.zeros(own.shape)
        for part, touched in ordered:
            kept[touched] = part[touched]
        told = f"of {len(parts)} uses of {name}, each entry keeps only one"
        yield Guess(c.ASSIGNED, told, {name: kept}, tier=int(len(sites) == len(parts)))


def _one_way(
    problem: Problem, name: str, numbers: list[int], parts: list[HostArray]
) -> Iterator[Guess]:
    """Of the ways from an input to the outputs, one is left out, or all but one."""
    lines = [way(problem, number) for number in numbers]
    for k, part in enumerate(parts):
        others = [line for j, line in enumerate(lines) if j != k]
        if len(parts) > 2:
            told = f"of the {len(parts)} ways from {name} to the outputs, only that through "
            told += f"{lines[k]} is in its gradient"
            yield Guess(c.TERM_MISSING, told, {name: part})
        told = f"the way from {name} to the outputs through {lines[k]} is missing"
        if len(others) == 1:
            told += f"; only that through {others[0]} is in its gradient"
        rest = numpy.sum([p for j, p in enumerate(parts) if j != k], axis=0)
        yield Guess(c.TERM_MISSING, told, {name: rest})


def way(problem: Problem, number: int) -> str:
    """An operation by which a value goes on: its expression, and the statement it is in."""
    node = problem.followed.nodes[number]
    expression = node.site.expression
    inside = "" if expression is None else shortened(ast.unparse(expression))
    statement = f"`{node.site.text}` (line {node.site.number})"
    return f"`{inside}` in {statement}" if inside and len(inside) < 60 else statement


def step_left_out(problem: Problem, name: str) -> Iterator[Guess]:
    """The loop over time begins or ends one step too early.

    Wrong: ``for t in range(T - 1, 0, -1)``. Right: ``for t in reversed(range(T))``.
    """
    uses = uses_of(problem, name)
    if not uses:
        return
    parts = numpy.concatenate([use.parts for use in uses])
    steps = numpy.concatenate([use.steps for use in uses])
    known = sorted(set(steps[steps >= 0].tolist()))
    if len(known) < 2:
        return
    shape = problem.right[name].shape
    for which in (known[0], known[-1]):
        told = f"the gradient of {name} lacks step {which}"
        yield Guess(c.TIME_SHIFTED, told, {name: parts[steps != which].sum(0).reshape(shape)})


def wrong_axis(problem: Problem, name: str) -> Iterator[Guess]:
    """A bias gradient that was summed over another axis.

    Wrong: ``db = dy.sum(axis=1)``. Right: ``db = dy.sum(axis=0)``, one number for each column.
    """
    trace, wrong, right = problem.followed, problem.wrong[name], problem.right[name]
    if name in problem.subject.input_names:
        return
    seen: list[HostArray] = []

    for number, node in enumerate(trace.nodes):
        if node.op in ("matmul", "sum", "einsum", "gather"):
            continue
        if not any(t.shape == right.shape for _, t in node.operands):
            continue
        for tickets, passed in trace.backward(number, trace.gradient_at(number)):
            if tickets.shape == right.shape and (tickets == trace.variables[name]).all():
                seen.append(passed)
    for passed in seen:
        for axes in _axes(passed.ndim):
            total = passed.sum(axis=axes)
            for kept in (total, passed.sum(axis=axes, keepdims=True)):
                if kept.shape == wrong.shape:
                    told = (
                        f"the gradient of {name} was summed over axis "
                        f"{', '.join(map(str, axes))} of an array of shape {passed.shape}; it "
                        f"should have shape {right.shape}"
                    )
                    yield Guess(c.WRONG_AXIS, told, {name: kept})


def _axes(ndim: int) -> list[tuple[int, ...]]:
    """All wrong choices of axes that include the last one."""
    right = tuple(range(ndim - 1))
    found = [tuple(k for k in range(ndim) if mask >> k & 1) for mask in range(1, 1 << ndim)]
    return [axes for axes in found if axes != right and (ndim - 1 in axes)]


def _total(uses: list[Use], shape: tuple[int, ...]) -> HostArray:
    total = numpy.zeros(shape)
    for use in uses:
        total += use.parts.sum(axis=0).reshape(shape)
    return total
