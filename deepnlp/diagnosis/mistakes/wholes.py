"""Mistakes that several gradients show: losses, gradients in each other's place, gates."""

import itertools
from collections.abc import Iterator

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.edges import quoted
from deepnlp.diagnosis.mistakes.slopes import activations
from deepnlp.diagnosis.mistakes.table import say
from deepnlp.diagnosis.problem import Guess, Problem, block_names, distance, is_one, ratio
from deepnlp.diagnosis.reverse import Edit, Run
from deepnlp.gradcheck import causes as c
from deepnlp.layers import GRU, LSTM

GATES = {len(cell.gates): cell.gates for cell in (LSTM, GRU)}
"""Gates of the package's layers, in the order of their blocks."""

# --- Losses: means over the targets that count ----------------------------------------------------


def wrong_average(problem: Problem) -> Iterator[Guess]:
    """The forward takes a mean; the backward does not divide, or divides by another count.

    Wrong: ``ds = p - onehot``. Right: ``ds = (p - onehot) / M``, with M the targets that count.
    """
    targets = problem.targets
    factors = [ratio(problem.wrong[name], problem.right[name]) for name in problem.bad]
    if targets is None or problem.must_stay or any(factor is None for factor in factors):
        return  # a count would be in all gradients
    factor = float(numpy.mean([f for f in factors if f is not None]))
    gradients = {name: factor * problem.right[name] for name in problem.bad}
    counts = _counts(problem, targets)
    for told, size in counts.items():
        if told in "NTD" and targets.ndim > 1 and _is_over_all(problem, targets):
            continue  # divided by one of two sizes: that is another count
        if abs(factor / size - 1) < 1e-6 and size > 1:
            yield say("not averaged", gradients, count=told, size=size)
    for wanted, right in counts.items():
        for told, size in [*counts.items(), *_other_counts(problem, targets)]:
            if size != right and size > 0 and abs(factor * size / right - 1) < 1e-6:
                words = {"count": told, "size": size, "wanted": wanted, "right": right}
                yield say("wrong count", gradients, **words)


def ignored_counted(problem: Problem) -> Iterator[Guess]:
    """Targets that the forward leaves out get a gradient.

    Wrong: ``ds = (p - onehot) / M`` in all rows. Right: times 0 where the target is ignored.
    """
    targets = problem.targets
    if targets is None or targets.dtype.kind not in "iu":
        return
    for name in problem.bad:
        right, wrong = problem.right[name], problem.wrong[name]
        if targets.shape not in (right.shape, right.shape[:-1]) or right.shape != wrong.shape:
            continue
        size = 1 if right.shape == targets.shape else right.shape[-1]
        rows_right, rows_wrong = right.reshape(-1, size), wrong.reshape(-1, size)
        ignored = ~rows_right.any(axis=1)
        if not ignored.any() or not rows_wrong[ignored].any():
            continue
        if ignored.all() or ratio(rows_wrong[~ignored], rows_right[~ignored]) is not None:
            words = {"ignored": int(ignored.sum()), "count": ignored.size, "name": name}
            yield say("ignored", {name: wrong}, **words)


def _counts(problem: Problem, targets: HostArray) -> dict[str, int]:
    """What a loss may be averaged over."""
    counts: dict[str, int] = {"the number of entries": targets.size}
    if targets.dtype.kind in "iu":
        ignored = _ignored(problem, targets)
        counts = {"the number of targets": targets.size}
        if ignored:
            counts = {"the number of targets that count": targets.size - ignored}
            counts["the number of all targets"] = targets.size
    if targets.ndim > 1:
        counts |= dict(zip("NTD", targets.shape, strict=False))
    elif targets.dtype.kind == "f":
        counts["N"] = targets.shape[0] if targets.ndim else 1
    return counts


def _is_over_all(problem: Problem, targets: HostArray) -> bool:
    """Whether a forward averages over all targets, and not over one of their axes."""
    if targets.dtype.kind in "iu" or problem.trace is None:
        return targets.dtype.kind in "iu"
    divisors = [node.arrays[1] for node in problem.trace.nodes if node.op == "divide"]
    return any(d.ndim == 0 and float(d) == targets.size for d in divisors)


def _ignored(problem: Problem, targets: HostArray) -> int:
    for name in problem.subject.input_names:
        right = problem.right.get(name)
        if right is not None and right.shape[:-1] == targets.shape:
            return int((~right.any(axis=-1)).sum())
    return int((targets < 0).sum())


def _other_counts(problem: Problem, targets: HostArray) -> list[tuple[str, int]]:
    """Counts that no mean over targets uses, but a mistake may."""
    found = [("1", 1)]
    for name in problem.subject.input_names:
        right = problem.right.get(name)
        if right is not None and right.ndim:
            found += [("the number of entries", right.size), ("V", right.shape[-1])]
            found += [*zip("NT", right.shape[:-1], strict=False)]
            found += [("N V", right.shape[0] * right.shape[-1])] if right.ndim > 1 else []
    return [*found, ("N T + 1", targets.size + 1), ("N T - 1", targets.size - 1)]


# --- Gradients in each other's place --------------------------------------------------------------


def exchanged_rows(problem: Problem) -> Iterator[Guess]:
    """Gradients were stored, or returned, in each other's place.

    Wrong: ``return dx, db, dW``. Right: ``return dx, dW, db``.
    """
    for count in (2, 3):
        for names in itertools.permutations(problem.bad, count):
            if names[0] != min(names):
                continue
            gradients = {a: problem.right[b] for a, b in zip(names, (*names[1:], names[0]))}
            if all(distance(problem.wrong[n], g) < 1e-5 for n, g in gradients.items()):
                same = len({problem.right[n].shape for n in names}) == 1
                inputs = set(names) & set(problem.subject.input_names)
                cause = c.GATES_SWAPPED if same and not inputs else c.EXCHANGED
                yield say("exchanged rows", gradients, cause=cause, names=" and ".join(names))


def exchanged_values(problem: Problem) -> Iterator[Guess]:
    """The gradients with respect to two values of forward were exchanged.

    Wrong: ``di, dg = dc * i, dc * g``. Right: ``di, dg = dc * g, dc * i``.
    """
    nodes = problem.followed.nodes
    gates = numpy.zeros(problem.followed.tape.size, dtype=bool)
    for one in (one for ones in activations(problem).values() for one in ones):
        gates[one.tickets] = gates[nodes[one.number].tickets] = True
    sites = [
        numbers
        for numbers in problem.followed.sites.values()
        if nodes[numbers[0]].op in ("tanh", "divide", "reciprocal", "multiply", "add")
        and nodes[numbers[0]].site.target is not None
    ]
    for first, second in itertools.combinations(sites, 2):
        a, b = nodes[first[0]], nodes[second[0]]
        if a.values.shape != b.values.shape or len(first) != len(second):
            continue
        if a.site.target != b.site.target:
            is_gate = gates[a.tickets].any() or gates[b.tickets].any()
            cause = c.GATES_SWAPPED if is_gate else c.EXCHANGED
            words = {"one": a.site.target, "other": b.site.target}
            yield say("exchanged", _exchanged(first, second), cause=cause, **words)


def _exchanged(one: list[int], other: list[int]) -> Edit:
    """Exchange the gradients of two values, at every step of a loop.

    When one value is reached, the gradient of the other may not be complete yet, so it is taken
    from the previous pass. Every pass corrects one more step, the last one first.
    """
    partner = {**dict(zip(one, other)), **dict(zip(other, one))}
    before: dict[int, HostArray] = {}
    now: dict[int, HostArray] = {}

    def change(run: Run) -> dict[int, HostArray]:
        now[run.number] = run.g.copy()
        return run.vjp(before.get(partner[run.number], 0 * run.g))

    return Edit(change=change, at=partner, passes=len(one) + 1, between=lambda: before.update(now))


# --- Gates in the blocks of one matrix ------------------------------------------------------------


def swapped_blocks(problem: Problem, name: str) -> Iterator[Guess]:
    """The blocks of a finished gradient stand in another order than those of the weight.

    Wrong: ``db = hstack((df, di, dg, do))``. Right: ``db = hstack((di, df, dg, do))``.
    """
    for count in _block_counts(problem, name):
        parts = numpy.split(problem.right[name], count, axis=-1)
        for order in _orders(count) if name not in problem.subject.input_names else ():
            told = _told(order, _names(problem, count))
            joined = numpy.concatenate([parts[k] for k in order], axis=-1)
            yield say("blocks", {name: joined}, name=name, moved=told)


def wrong_block(problem: Problem, name: str) -> Iterator[Guess]:
    """All blocks are right except one.

    Wrong: the gradient of one gate is left out, or has another sign.
    """
    right, wrong = problem.right[name], problem.wrong[name]
    for count in _block_counts(problem, name) if right.shape == wrong.shape else ():
        halves = zip(numpy.split(wrong, count, axis=-1), numpy.split(right, count, axis=-1))
        ratios = [ratio(w, r) for w, r in halves]
        off = [k for k, m in enumerate(ratios) if m is None or not is_one(m)]
        factor = ratios[off[0]] if len(off) == 1 else None
        if factor is None:
            continue
        gate = _names(problem, count)[off[0]]
        block = f"{'block' if gate in block_names(count) else 'the block of gate'} {gate}"
        key = {0.0: "block zero", -1.0: "block minus"}.get(round(factor, 6), "block multiple")
        words = {"name": name, "block": block, "factor": problem.name_factor(factor or 1.0)}
        yield say(key, {name: wrong}, **words)


def swapped_gates(problem: Problem) -> Iterator[Guess]:
    """The gradients of the pre-activations are joined in another order than they were split.

    Wrong: ``da = hstack((df, di, dg, do))`` where ``a`` was split into i, f, g, o.
    """
    trace = problem.followed
    for numbers in trace.sites.values():
        first = trace.nodes[numbers[0]]
        width = first.values.shape[-1] if first.values.ndim > 1 else 1
        for count in (4, 3, 2) if first.op in ("matmul", "add") else ():
            if width % count or width == 1 or not _is_split(problem, numbers[0], count):
                continue
            for order in _orders(count):

                def change(run: Run, order: tuple[int, ...] = order) -> dict[int, HostArray]:
                    parts = numpy.split(run.g, len(order), axis=-1)
                    return run.vjp(numpy.concatenate([parts[k] for k in order], axis=-1))

                told = _told(order, _names(problem, count))
                edit = Edit(change=change, at=numbers)
                yield say("gates", edit, line=quoted(first), moved=told)


def _block_counts(problem: Problem, name: str) -> list[int]:
    """In how many gates a gradient may be split."""
    right = problem.right[name]
    counts = (4, 3) if right.ndim in (1, 2) else ()
    return [n for n in counts if right.shape[-1] % n == 0 and _has_gates(problem, n)]


def _is_split(problem: Problem, number: int, count: int) -> bool:
    """Whether the blocks of a result go to different operations, or to one after the other."""
    trace = problem.followed
    row = trace.nodes[number].tickets.reshape(-1, trace.nodes[number].tickets.shape[-1])[0]
    block_of = numpy.full(trace.tape.size, -1)  # of every ticket; -1 of those that are in none
    block_of[row] = numpy.arange(row.size) // (row.size // count)
    users: list[int] = []  # how many of the blocks an operand holds
    for node in trace.nodes[number + 1 :]:
        held = [block_of[used] for _, used in node.operands]
        users += [numpy.unique(blocks[blocks >= 0]).size for blocks in held if (blocks >= 0).any()]
    return any(size < count for size in users)


def _has_gates(problem: Problem, count: int) -> bool:
    """Whether some state or output is 1/count as wide as some parameter."""
    names = [n for n in problem.right if n not in problem.subject.input_names]
    widths = {problem.right[n].shape[-1] for n in names if problem.right[n].ndim}
    arrays = [*problem.subject.weights, *problem.right.values()]
    known = {a.shape[-1] for a in arrays if a.ndim > 1}
    return any(w % count == 0 and w // count in known for w in widths)


def _orders(count: int) -> list[tuple[int, ...]]:
    """All wrong orders of the blocks; exchanges of two first."""
    right = tuple(range(count))
    orders = [order for order in itertools.permutations(right) if order != right]
    return sorted(orders, key=lambda order: sum(a != b for a, b in zip(order, right)))


def _told(order: tuple[int, ...], names: list[str]) -> str:
    others = [names[k] for k in range(len(order)) if order[k] != k]
    kind = "the gates" if names != block_names(len(names)) else "the gradient"
    if len(others) == 2:
        return f"the blocks of {kind} {others[0]} and {others[1]} are swapped"
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
    return any(b.__module__.startswith("deepnlp.layers.") for k in kinds for b in k.__mro__)


def _read_names(problem: Problem, count: int) -> list[str]:
    if _is_of_the_package(problem):
        return list(GATES.get(count, "")) or block_names(count)
    nodes = problem.trace.nodes if problem.trace is not None else []
    for number, node in enumerate(nodes):
        if node.values.ndim < 2 or node.op not in ("matmul", "add"):
            continue
        if node.values.shape[-1] % count or not _is_split(problem, number, count):
            continue
        width = node.values.shape[-1] // count
        first = node.tickets.reshape(-1, node.tickets.shape[-1])[0]
        users = [
            next((n for n in nodes[number + 1 :] if (n.operands[0][1] == ticket).any()), None)
            for ticket in first[::width]
        ]
        names = [n.site.target for n in users if n is not None and n.site.target is not None]
        if len(set(names)) == count:
            return names
    return block_names(count)
