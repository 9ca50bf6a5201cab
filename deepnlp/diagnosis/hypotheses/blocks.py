"""Gates in the blocks of one matrix, and mistakes that mix these blocks up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy

from deepnlp.diagnosis.hypotheses.patterns import is_one, ratio
from deepnlp.diagnosis.problem import Guess, Problem, block_names
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck.causes import FACTOR, GATES_SWAPPED, SIGN, ZERO
from deepnlp.gradcheck.numeric import HostArray
from deepnlp.layers import GRU, LSTM

GATES = {len(cell.gates): cell.gates for cell in (LSTM, GRU)}
"""Gates of the package's layers, in the order of their blocks."""


def swapped_blocks(problem: Problem, name: str) -> Iterator[Guess]:
    """The blocks of a finished gradient stand in another order than those of the weight.

    Wrong: ``db = hstack((df, di, dg, do))``. Right: ``db = hstack((di, df, dg, do))``.
    """
    right = problem.right[name]
    if name in problem.subject.input_names or right.ndim not in (1, 2):
        return
    for count in (4, 3):
        if right.shape[-1] % count == 0 and _has_gates(problem, count):
            parts = numpy.split(right, count, axis=-1)
            for order in _orders(count):
                told = f"in the gradient of {name}, {_told(order, _names(problem, count))}"
                moved = numpy.concatenate([parts[k] for k in order], axis=-1)
                yield Guess(GATES_SWAPPED, told, {name: moved})


def wrong_block(problem: Problem, name: str) -> Iterator[Guess]:
    """All blocks are right except one.

    Wrong: the gradient of one gate is left out, or has another sign.
    """
    right, wrong = problem.right[name], problem.wrong[name]
    if right.ndim not in (1, 2) or right.shape != wrong.shape:
        return
    for count in (4, 3):
        if right.shape[-1] % count or not _has_gates(problem, count):
            continue
        halves = zip(numpy.split(wrong, count, axis=-1), numpy.split(right, count, axis=-1))
        ratios = [ratio(w, r) for w, r in halves]
        off = [k for k, m in enumerate(ratios) if m is None or not is_one(m)]
        if len(off) != 1 or ratios[off[0]] is None:
            continue
        gate, factor = _names(problem, count)[off[0]], ratios[off[0]] or 0.0
        kind = "block" if gate in block_names(count) else "the block of gate"
        told = f"in the gradient of {name}, {kind} {gate} is "
        if factor == 0:
            yield Guess(ZERO, told + "0", {name: wrong})
        elif abs(factor + 1) < 1e-6:
            yield Guess(SIGN, told + "-1 times the right one", {name: wrong})
        else:
            multiple = problem.name_factor(factor)
            yield Guess(FACTOR, told + f"{multiple} times the right one", {name: wrong})


def swapped_rows(problem: Problem) -> Iterator[Guess]:
    """The gradients of gates with separate weights were exchanged.

    Wrong: ``self.dWi, self.dWf = x.T @ df, x.T @ di``.
    """
    for a, b in itertools.combinations(problem.bad, 2):
        if a in problem.subject.input_names or b in problem.subject.input_names:
            continue
        if problem.right[a].shape == problem.right[b].shape:
            gradients = {a: problem.right[b], b: problem.right[a]}
            told = f"the gradients of {a} and {b} are in each other's place"
            yield Guess(GATES_SWAPPED, told, gradients)


def swapped_gates(problem: Problem) -> Iterator[Guess]:
    """The gradients of the pre-activations are joined in another order than they were split.

    Wrong: ``da = hstack((df, di, dg, do))`` where ``a`` was split into i, f, g, o.
    """
    trace = problem.followed
    for numbers in trace.sites.values():
        first = trace.nodes[numbers[0]]
        if first.values.ndim < 2 or first.op not in ("matmul", "add"):
            continue
        for count in (4, 3, 2):
            width = first.values.shape[-1]
            if width % count or not _is_split(problem, numbers[0], count):
                continue
            for order in _orders(count):
                yield _permuted(problem, set(numbers), count, order)


def swapped_activations(problem: Problem) -> Iterator[Guess]:
    """The gradients with respect to two gates were exchanged.

    Wrong: ``di, dg = dc * i, dc * g``. Right: ``di, dg = dc * g, dc * i``.
    """
    trace = problem.followed
    sites = {
        site: numbers
        for site, numbers in trace.sites.items()
        if trace.nodes[numbers[0]].op in ("tanh", "divide", "reciprocal", "multiply", "add")
        and trace.nodes[numbers[0]].site.target is not None
    }
    for (_, one), (_, other) in itertools.combinations(sites.items(), 2):
        a, b = trace.nodes[one[0]], trace.nodes[other[0]]
        if a.values.shape != b.values.shape or len(one) != len(other):
            continue
        if a.site.target == b.site.target:
            continue
        yield _exchanged(problem, one, other)


def _exchanged(problem: Problem, one: list[int], other: list[int]) -> Guess:
    """Exchange the gradients of two values, at every step of a loop.

    When one value is reached, the gradient of the other may not be complete yet, so it is taken
    from the previous pass. Every pass corrects one more step, the last one first.
    """
    trace = problem.followed
    partner = {**dict(zip(one, other)), **dict(zip(other, one))}
    before: dict[int, HostArray] = {}
    now: dict[int, HostArray] = {}

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints | None:
        now[number] = g
        return trace.backward(number, before.get(partner[number], 0 * g))

    edit = Edit(mistake, partner, passes=len(one) + 1, between=lambda: before.update(now))
    a, b = trace.nodes[one[0]].site.target, trace.nodes[other[0]].site.target
    told = f"the gradients of {a} and {b} are in each other's place"
    return Guess(GATES_SWAPPED, told, edit)


def _permuted(problem: Problem, numbers: set[int], count: int, order: tuple[int, ...]) -> Guess:
    trace = problem.followed

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints | None:
        parts = numpy.split(g, count, axis=-1)
        return trace.backward(number, numpy.concatenate([parts[k] for k in order], axis=-1))

    moved = _told(order, _names(problem, count))
    told = f"in the gradient with respect to `{trace.line(min(numbers))}`, {moved}"
    return Guess(GATES_SWAPPED, told, Edit(mistake, numbers))


def _is_split(problem: Problem, number: int, count: int) -> bool:
    """Whether the blocks of a result go to different operations, or to one after the other."""
    trace = problem.followed
    tickets = trace.nodes[number].tickets
    width = tickets.shape[-1] // count
    blocks = {int(t): k // width for k, t in enumerate(tickets.reshape(-1, tickets.shape[-1])[0])}
    users: list[set[int]] = []
    for node in trace.nodes[number + 1 :]:
        for _, used in node.operands:
            found = {blocks[int(t)] for t in numpy.unique(used) if int(t) in blocks}
            if found:
                users.append(found)
    return bool(users) and any(len(found) < count for found in users)


def _has_gates(problem: Problem, count: int) -> bool:
    """Whether some state or output is 1/count as wide as some parameter."""
    names = [n for n in problem.right if n not in problem.subject.input_names]
    widths = {problem.right[n].shape[-1] for n in names if problem.right[n].ndim}
    states = [problem.right[n] for n in problem.right]
    outputs = [w.shape[-1] for w in problem.subject.weights if w.ndim > 1]
    known = outputs + [s.shape[-1] for s in states if s.ndim > 1]
    return any(w % count == 0 and w // count in known for w in widths)


def _orders(count: int) -> list[tuple[int, ...]]:
    """All wrong orders of the blocks; exchanges of two first."""
    right = tuple(range(count))
    orders = [order for order in itertools.permutations(right) if order != right]
    return sorted(orders, key=lambda order: sum(a != b for a, b in zip(order, right)))


def _told(order: tuple[int, ...], names: list[str]) -> str:
    moved = [names[k] for k in range(len(order)) if order[k] != k]
    kind = "the gates" if names != block_names(len(names)) else "the gradient"
    if len(moved) == 2:
        return f"the blocks of {kind} {moved[0]} and {moved[1]} are swapped"
    found = ", ".join(names[k] for k in order)
    return f"the blocks of {kind} stand in the order {found} instead of {', '.join(names)}"


def _names(problem: Problem, count: int) -> list[str]:
    """What the forward calls the gates, from the statements that take the blocks."""
    names: list[str] = problem.recall(f"{count} gates", lambda: _read_names(problem, count))
    return names


def _is_of_the_package(problem: Problem) -> bool:
    """Whether a layer of :mod:`deepnlp.layers`, or one derived from it, is in it."""
    if not problem.subject.is_ours:
        return False
    kinds = [type(one) for _, one in problem.subject.layer._named_layers()]
    bases = [base for kind in kinds for base in kind.__mro__]
    return any(base.__module__.startswith("deepnlp.layers.") for base in bases)


def _read_names(problem: Problem, count: int) -> list[str]:
    if _is_of_the_package(problem):
        return list(GATES.get(count, "")) or block_names(count)
    if problem.trace is None:
        return block_names(count)
    trace = problem.trace
    for number, node in enumerate(trace.nodes):
        if node.values.ndim < 2 or node.op not in ("matmul", "add"):
            continue
        if node.values.shape[-1] % count or not _is_split(problem, number, count):
            continue
        width = node.values.shape[-1] // count
        first = node.tickets.reshape(-1, node.tickets.shape[-1])[0]
        found: list[str | None] = []
        for k in range(count):
            ticket = first[k * width]
            users = (n for n in trace.nodes[number + 1 :] if (n.operands[0][1] == ticket).any())
            user = next(users, None)
            found.append(None if user is None else user.site.target)
        names = [name for name in found if name is not None]
        if len(set(names)) == count:
            return names
    return block_names(count)
