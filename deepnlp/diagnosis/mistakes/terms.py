"""One term of the chain rule: missing, scaled, computed from other numbers, or put elsewhere."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.edges import Edge, edges, name_of_ticket
from deepnlp.diagnosis.mistakes.steps import letter_of
from deepnlp.diagnosis.mistakes.table import say
from deepnlp.diagnosis.problem import Guess, Problem, is_one, ratio
from deepnlp.diagnosis.reverse import Edit, Run
from deepnlp.gradcheck import causes as c

_PARTS = {
    "first": (slice(0, 1), "0"),
    "last": (slice(-1, None), "-1"),
    "all but the first": (slice(1, None), "1:"),
    "all but the last": (slice(0, -1), ":-1"),
}
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
    """Return the name of the cause if a term is left out."""
    if _is_piece(edge):
        return c.DERIVATIVE_MISSING
    for name in problem.subject.variables if edge.j >= 0 else ():
        letter = letter_of(problem, name)
        if letter and numpy.isin(edge.tickets(), problem.followed.variables[name]).any():
            return c.H_PATH if letter == "h" else c.C_PATH
    return c.TERM_MISSING


def _is_piece(edge: Edge) -> bool:
    """Return whether a result is used on one side of a threshold, as of an activation."""
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
            factor = ratio(wrong[name] - without[name], term, fewest=2, scale=scale)
            if factor is not None:
                return factor
    return None


# --- Another gradient comes in --------------------------------------------------------------------


def some_entries(problem: Problem) -> Iterator[Guess]:
    """Try gradients of which one entry along an axis, first or last, counts alone or is missing.

    Wrong: ``np.add.at(dE, ids, ds[:, :1] * O)``. Right: with all columns of ``ds``.
    """
    for edge in edges(problem):
        node = edge.first
        if edge.j >= 0 and node.op not in ("add", "multiply", "sum", "einsum", "matmul"):
            continue
        for axis, size in enumerate(node.values.shape):
            for part, (kept, index) in _PARTS.items() if size > 1 else ():
                mask = numpy.zeros(node.values.shape)
                mask[(slice(None),) * axis + (kept,)] = 1.0
                cause = c.TIME_SHIFTED if "all but" in part and size > 2 else c.TERM_MISSING
                if cause == c.TERM_MISSING and _is_weight_along(edge, axis):
                    cause = c.NOT_SUMMED_T if axis else c.NOT_SUMMED_N
                edit = Edit([(edge.numbers, partial(_masked, mask, edge.j))])
                kind, name = _result(edge)
                words = {"index": f"[{', '.join([':'] * axis + [index])}]", "incoming": name}
                words |= {"count": size, "axis": str(axis), "part": part, "kind": kind}
                yield say("some entries", edit, cause=cause, **words, **edge.words)


def _masked(mask: HostArray, j: int, run: Run) -> dict[int, HostArray]:
    """Return what a part of the gradient passes on to operand j, or to all (-1)."""
    return {k: value for k, value in run.vjp(run.g * mask).items() if j in (-1, k)}


def _is_weight_along(edge: Edge, axis: int) -> bool:
    """Return whether a weight serves all places along an axis, which are then summed."""
    if edge.j < 0 or edge.first.op in ("sum", "einsum", "matmul"):
        return False
    name = name_of_ticket(edge.problem, int(edge.tickets().max(initial=0)))
    if name is None or name in edge.problem.subject.input_names:
        return False
    shape = edge.tickets().shape
    own = axis - (edge.first.values.ndim - len(shape))
    return own < 0 or shape[own] == 1


def _result(edge: Edge) -> tuple[str, str]:
    """Return the names of a result's entries and of the gradient with respect to it."""
    own, target = edge.first.tickets, edge.first.site.target
    for k, tickets in enumerate(edge.problem.followed.outputs):
        if own.shape == tickets.shape and (target is None or (own == tickets).all()):
            return "outputs", edge.problem.incoming(k)
    return "entries of its result", f"d{target}" if target else edge.problem.incoming()


def transposed_products(problem: Problem) -> Iterator[Guess]:
    """A square matrix is not transposed, or once too often.

    Wrong: ``dh_prev = da @ Wh``. Right: ``dh_prev = da @ Wh.T``.
    """
    for edge in edges(problem):
        shape: tuple[int, ...] = ()
        if edge.has_partner:
            shape = edge.first.arrays[1 - edge.j].shape
        if edge.first.op == "matmul" and len(shape) > 1 and shape[-1] == shape[-2]:
            edit = Edit([(edge.numbers, partial(_turned, edge.j))])
            yield say("square", edit, **edge.words)


def _turned(j: int, run: Run) -> dict[int, HostArray]:
    """Return the gradient of operand j with the other operand transposed."""
    operands = run.node.arrays
    operands[1 - j] = numpy.swapaxes(operands[1 - j], -1, -2)
    return {k: value for k, value in run.vjp(run.g, operands).items() if k == j}


# --- Losses ---------------------------------------------------------------------------------------


def loss_gradients(problem: Problem) -> Iterator[Guess]:
    """The gradient with respect to the scores of a loss is another value, times a number.

    Wrong: ``ds = p`` for a cross entropy. Right: ``ds = p - t``.
    """
    trace = problem.followed
    if any(w.ndim for w in trace.weights):
        return
    for name in problem.bad:
        right, wrong = problem.right[name], problem.wrong[name]
        for value, own in _values(problem).items():
            if own.shape != right.shape or wrong.shape != right.shape or not own.any():
                continue
            factor = ratio(wrong, own, fewest=_FEWEST)
            is_itself = hasattr(problem.subject.caller.code.forward, "lines") and factor == 1
            if factor is None or abs(factor) < 1e-12 or is_itself:  # a gradient that lines compute
                continue
            missing = _subtracted(problem, right / factor - own)
            key = "not subtracted" if missing else "alone"
            times = problem.name_factor(factor / float(trace.weights[0]))
            words = {"value": value, "factor": times, "missing": missing, "name": name}
            cause = "" if missing else c.WRONG_VALUE
            yield say(key, {name: factor * own}, cause=cause, **words)


def _values(problem: Problem) -> dict[str, HostArray]:
    """The variables and the results of statements, by name."""
    trace = problem.followed
    found = {name: trace.tape.values[tickets] for name, tickets in trace.variables.items()}
    return found | {n.site.target or f"`{n.site.text}`": n.values for n in trace.nodes}


def _subtracted(problem: Problem, rest: HostArray) -> str:
    """The name of what is missing: a target, or another value of the forward."""
    for name, own in _values(problem).items():
        if own.shape == rest.shape and numpy.allclose(rest, -own):
            return name
    onehot = numpy.allclose(rest * rest, -rest, atol=1e-9) and numpy.allclose(-rest.sum(-1), 1)
    if not onehot:
        return ""
    subject = problem.subject
    names = [name for name in subject.input_names if name not in subject.variables]
    return f"the target `{names[0]}` (1 at the right class)" if names else "the target"
