"""A term of the chain rule is left out, has the wrong sign, or is multiplied by a number."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy

from deepnlp.diagnosis.edits.edge import Edge, edges, name_of_ticket
from deepnlp.diagnosis.hypotheses.paths import letter_of
from deepnlp.diagnosis.hypotheses.patterns import is_one
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.diagnosis.reverse import Edit, Joined
from deepnlp.diagnosis.tape import Adjoints, Node
from deepnlp.gradcheck.causes import (
    ASSIGNED,
    C_PATH,
    DERIVATIVE_MISSING,
    FACTOR,
    H_PATH,
    NOT_SUMMED_N,
    NOT_SUMMED_T,
    SIGN,
    TERM_MISSING,
    TIME_SHIFTED,
)
from deepnlp.gradcheck.numeric import HostArray

_PARTS = ("first", "last", "all but the first", "all but the last")


def scaled_terms(problem: Problem) -> Iterator[Guess]:
    """One term of the chain rule is missing, or multiplied by a number.

    The gradient is linear in a term that is used once: wrong = rest + a term, so a is found from
    the pass without the term. In a loop a term is met again at each step, and only usual
    multiples are tried.

    Wrong: ``dz = dh * (n - h_prev)`` for h = (1 - z) n + z h_prev.
    Right: ``dz = dh * (h_prev - n)``.
    """
    found = list(edges(problem))
    drops = [Guess(TERM_MISSING, "", Edit(scaled=(edge.j, 0.0), at=edge.numbers)) for edge in found]
    for edge, dropped in zip(found, problem.resolved(drops)):
        without, edit = dropped.gradients, dropped.edit
        place = f"behind {edge.line}, the gradient {_what(edge)}"
        told = f"behind {edge.line}, no gradient goes back {_to(edge)}: this way is missing"
        yield Guess(_dropped(problem, edge), told, without, edit)
        factor = _factor(problem, without)
        if factor is not None and abs(factor) > 1e-6 and not is_one(factor):
            yield _scaled(edge, place, factor, _between(problem, without, factor))
        for usual in (-1.0, 2.0, 0.5):
            if factor is None or abs(factor - usual) > 1e-6:
                yield _scaled(edge, place, usual, Edit(scaled=(edge.j, usual), at=edge.numbers))


def some_runs(problem: Problem) -> Iterator[Guess]:
    """A term counts only in one run of a loop, or lacks one.

    Wrong: ``dx[:, i : i + k] = ...`` in a loop over i. Right: ``dx[:, i : i + k] += ...``.
    """
    for edge in edges(problem):
        n = edge.numbers
        if len(n) < 2 or edge.j < 0:
            continue
        for told, dropped in zip(_PARTS, (n[1:], n[:-1], n[:1], n[-1:])):
            evidence = (
                f"of the {len(n)} runs of {edge.line}, only {told} counts in the gradient "
                f"{_what(edge)}"
            )
            cause = TIME_SHIFTED if "all but" in told and len(n) > 2 else ASSIGNED
            yield Guess(cause, evidence, Edit(scaled=(edge.j, 0.0), at=dropped))


def some_entries(problem: Problem) -> Iterator[Guess]:
    """Of a gradient, only the first or the last entry along an axis counts, or one is left out.

    Wrong: ``np.add.at(dE, ids, ds[:, :1] * O)``. Right: with all columns of ``ds``.
    """
    for edge in edges(problem):
        node = edge.first
        if edge.j >= 0 and node.op not in ("multiply", "sum", "einsum", "matmul"):
            continue
        for axis, size in enumerate(node.values.shape):
            for told, kept in zip(
                _PARTS, (slice(0, 1), slice(-1, None), slice(1, None), slice(0, -1))
            ):
                if size < 2:
                    continue
                mask = numpy.zeros(node.values.shape)
                mask[tuple(kept if k == axis else slice(None) for k in range(mask.ndim))] = 1.0
                cause = TIME_SHIFTED if "all but" in told and size > 2 else TERM_MISSING
                if cause == TERM_MISSING and _is_weight_along(edge, axis):
                    cause = NOT_SUMMED_T if axis else NOT_SUMMED_N
                index = f"[{', '.join([':'] * axis + [_INDICES[told]])}]"
                evidence = (
                    f"behind {edge.line}, of the {size} {_kind(edge)} along axis {axis}, only "
                    f"{told} counts in the gradient {_what(edge)}: only "
                    f"`{_incoming(edge)}{index}` is used"
                )
                yield Guess(cause, evidence, _masked(edge, mask))


_INDICES = dict(zip(_PARTS, ("0", "-1", "1:", ":-1")))


def _is_weight_along(edge: Edge, axis: int) -> bool:
    """Whether a weight serves all places along an axis of the result, so that they are summed."""
    if edge.j < 0 or edge.first.op in ("sum", "einsum", "matmul"):
        return False
    problem, tickets = edge.problem, edge.first.operands[edge.j][1]
    name = name_of_ticket(problem, int(tickets.max(initial=0)))
    if name is None or name in problem.subject.input_names:
        return False
    shape, deep = tickets.shape, edge.first.values.ndim
    own = axis - (deep - len(shape))
    return own < 0 or shape[own] == 1


def _output(edge: Edge) -> int | None:
    """The number of the output that a result is, or is returned with something added."""
    own, is_returned = edge.first.tickets, edge.first.site.target is None
    outputs = edge.problem.followed.outputs
    same = [k for k, t in enumerate(outputs) if own.shape == t.shape]
    same = [k for k in same if is_returned or (own == outputs[k]).all()]
    return same[0] if same else None


def _kind(edge: Edge) -> str:
    return "entries of its result" if _output(edge) is None else "outputs"


def _incoming(edge: Edge) -> str:
    """What backward calls the gradient with respect to a result."""
    k = _output(edge)
    if k is not None:
        return edge.problem.incoming(k)
    target = edge.first.site.target
    return f"d{target}" if target else edge.problem.incoming()


def _masked(edge: Edge, mask: HostArray) -> Edit:
    trace = edge.problem.followed

    def mistake(number: int, node: Node, g: HostArray) -> Adjoints:
        right, masked = trace.backward(number, g), trace.backward(number, g * mask)
        own = node.operands[edge.j][1]
        return [m if edge.j < 0 or m[0] is own else r for r, m in zip(right, masked)]

    return Edit(mistake, edge.numbers)


def one_user(problem: Problem) -> Iterator[Guess]:
    """Of several uses of a value, only one counts.

    Wrong: three times ``dx = ...``. Right: ``dx = ...`` and two times ``dx += ...``.
    """
    trace = problem.followed
    users: dict[object, list[Edge]] = {}
    for edge in edges(problem):
        if edge.j < 0:
            continue
        ticket = int(edge.tickets(edge.numbers[-1]).max(initial=0))
        owner = int(trace.owner[ticket])
        source = trace.site_of(owner) if owner >= 0 else ticket
        users.setdefault(source, []).append(edge)
    for found in users.values():
        if len(found) < 3:
            continue
        for kept in found:
            others = [edge for edge in found if edge is not kept]
            if len({n for edge in others for n in edge.numbers}) < sum(
                len(edge.numbers) for edge in others
            ):
                continue
            edit = Joined([Edit(scaled=(edge.j, 0.0), at=edge.numbers) for edge in others])
            told = (
                f"of the {len(found)} uses of {kept.operand}, only that in {kept.line} "
                "counts in its gradient"
            )
            yield Guess(TERM_MISSING, told, edit)
        for one, other in itertools.combinations(found, 2) if 3 < len(found) < 7 else ():
            if set(one.numbers) & set(other.numbers):
                continue
            edit = Joined([Edit(scaled=(e.j, 0.0), at=e.numbers) for e in (one, other)])
            told = f"the ways back to {one.operand} through {one.line} and {other.line} are missing"
            yield Guess(TERM_MISSING, told, edit)


def constant_statistics(problem: Problem) -> Iterator[Guess]:
    """Sums and means that go into every entry again are taken for constants, all of them.

    Wrong: ``dx = dy / std`` for y = (x - mean) / std.
    """
    found = [
        edge
        for edge in edges(problem)
        if edge.first.op == "sum" and edge.j == 0 and _is_spread(problem, edge)
    ]
    if len(found) < 2:
        return
    edit = Joined([Edit(scaled=(0, 0.0), at=edge.numbers) for edge in found])
    lines = " and ".join(dict.fromkeys(edge.line for edge in found))
    told = (
        f"the ways through the sums or means in {lines} are missing: they are taken for constants"
    )
    yield Guess(TERM_MISSING, told, edit)


def _is_spread(problem: Problem, edge: Edge) -> bool:
    """Whether a sum is combined with arrays that are larger again."""
    trace = problem.followed
    marked = numpy.zeros(trace.tape.size, dtype=bool)
    for number in edge.numbers:
        marked[trace.nodes[number].tickets] = True
    for node in trace.nodes[edge.numbers[0] + 1 :]:
        own = [t for _, t in node.operands if marked[t].any()]
        if own and len(node.operands) == 2 and any(t.size < node.values.size for t in own):
            return node.op not in ("matmul", "einsum")
        if own:
            marked[node.tickets] = True
    return False


def _scaled(edge: Edge, place: str, factor: float, how: Edit | dict[str, HostArray]) -> Guess:
    edit = Edit(scaled=(edge.j, factor), at=edge.numbers)
    if abs(factor + 1) < 1e-6:
        return Guess(SIGN, f"{place} has the wrong sign", how, edit, tier=1)
    told = f"{place} is {edge.problem.name_factor(factor)} times the right one"
    return Guess(FACTOR, told, how, edit, tier=1)


def _to(edge: Edge) -> str:
    return "through it" if edge.j < 0 else f"to {edge.operand}"


def _what(edge: Edge) -> str:
    return "through it" if edge.j < 0 else f"with respect to {edge.operand}"


def _dropped(problem: Problem, edge: Edge) -> str:
    """What the cause is called where a term is left out."""
    if problem.followed.is_piece(edge.numbers[0]):
        return DERIVATIVE_MISSING
    if edge.j < 0:
        return TERM_MISSING
    tickets = edge.tickets(edge.numbers[0])
    for name in problem.subject.variables:
        letter = letter_of(problem, name)
        if letter and numpy.isin(tickets, problem.followed.variables[name]).any():
            return {"h": H_PATH, "c": C_PATH}[letter]
    return TERM_MISSING


def _factor(problem: Problem, without: dict[str, HostArray]) -> float | None:
    """The a of wrong = without + a (right - without), over the gradients that the term changes."""
    right, wrong = problem.followed.right, problem.wrong
    names = [
        n
        for n in problem.bad
        if wrong[n].shape == right[n].shape
        and not numpy.allclose(without[n], right[n], 1e-9, 1e-13)
    ]
    if not names:
        return None
    fits = []
    for name in names:  # of each gradient alone: another may hold another mistake
        term = (right[name] - without[name]).ravel()
        rest = (wrong[name] - without[name]).ravel()
        if numpy.count_nonzero(term) < 2 or not numpy.isfinite(rest).all():
            continue
        factor = float((term * rest).sum() / (term * term).sum())
        if numpy.abs(rest - factor * term).max() <= 1e-6 * numpy.abs(wrong[name]).max(
            initial=1e-300
        ):
            fits.append(factor)
    return fits[0] if fits else None


def _between(
    problem: Problem, without: dict[str, HostArray], factor: float
) -> dict[str, HostArray]:
    right = problem.followed.right
    return {name: without[name] + factor * (right[name] - without[name]) for name in right}
